//! A disk without room, as a bound on the size of files.

use std::fs;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use super::Patient;
use crate::calls::tools_that_change_a_session;
use crate::harness::{Client, sessions_in};

/// Sets how large the server's files may grow, and gives what it was before.
fn limit(client: &Client, limit: Rlimit) -> Rlimit {
    let server = Pid::from_raw(client.process_id().try_into().unwrap());
    prlimit(server, Resource::Fsize, limit).unwrap()
}

#[test]
fn a_full_disk_fails_what_writes_and_changes_nothing() {
    // With no room at all, and with room for a plan file but not for the log of the database.
    for (bytes, adding) in [(0, "FILE_SYSTEM_ERROR"), (8_192, "DATABASE_ERROR")] {
        let mut patient = Patient::new();
        let log = fs::metadata(patient.world.log(&patient.session)).unwrap().len();
        assert!(log > 8_192, "the log grows beyond the bound: {log}");
        let before = limit(&patient.client, Rlimit { current: Some(bytes), ..getrlimit(Resource::Fsize) });
        for (tool, arguments) in tools_that_change_a_session() {
            match tool {
                // One is active.
                "queue_pull" => {
                    let arguments = patient.named(arguments);
                    let text = patient.client.fails(tool, arguments);
                    assert!(text.contains("PLAN_ALREADY_ACTIVE"), "{text}");
                }
                "queue_add" | "plan_defer" => drop(patient.fails(tool, arguments, adding)),
                _ => drop(patient.fails(tool, arguments, "DATABASE_ERROR")),
            }
        }
        for (tool, arguments) in [
            ("session_resume", json!({})),
            ("admin_state", json!({})),
            ("admin_validate", json!({})),
            ("history_search", json!({ "query": "outcome" })),
            ("admin_sessions", json!({ "limit": 1 })),
        ] {
            let arguments = if tool == "admin_sessions" { arguments } else { patient.named(arguments) };
            patient.client.ok(tool, arguments);
        }
        let text = patient.client.fails("session_create", json!({}));
        assert!(text.starts_with("[Session: none] Error: "), "{text}");
        assert_eq!(sessions_in(&patient.world.root()).len(), 2, "nothing is left of it");
        limit(&patient.client, before);
        patient.is_as_it_was();
    }
}
