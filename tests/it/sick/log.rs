//! The log of a database, taken away while the session is open.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Patient;
use crate::harness::plan;
use crate::model::seen::look;

/// A way to take it away, or the index that belongs to it.
type Taken = (&'static str, fn(&Path));

const TAKEN: [Taken; 4] = [
    ("log removed", |log| fs::remove_file(log).unwrap()),
    ("log moved", |log| fs::rename(log, log.with_extension("aside")).unwrap()),
    ("index removed", |log| fs::remove_file(log.with_file_name("session.db-shm")).unwrap()),
    ("both removed", |log| {
        fs::remove_file(log).unwrap();
        fs::remove_file(log.with_file_name("session.db-shm")).unwrap();
    }),
];

#[test]
fn a_log_that_is_taken_away_takes_nothing_along() {
    for (name, take) in TAKEN {
        let mut patient = Patient::new();
        take(&patient.world.log(&patient.session));
        patient.is_as_it_was();
        let (face, _) = look(&mut patient.client, &patient.world, &patient.session);
        patient.restart();
        assert_eq!(look(&mut patient.client, &patient.world, &patient.session), (face, 0), "{name}");
        patient.goes_on();
    }
}

#[test]
fn a_server_that_comes_when_the_index_was_taken_away_and_one_that_was_there_lose_nothing() {
    let mut patient = Patient::new();
    let named = json!({ "session_name": patient.session });
    fs::remove_file(patient.world.log(&patient.session).with_file_name("session.db-shm")).unwrap();
    let mut other = patient.world.client();
    other.ok("session_resume", named.clone());
    for goal in ["one", "two", "three"] {
        let added = patient.named(plan(goal));
        patient.client.ok("queue_add", added);
        other.ok("queue_add", plan(goal));
    }
    let state = patient.client.ok("admin_state", named).fields;
    assert_eq!((&state["queue_length"], &state["file_db_match"]), (&json!(8), &json!(true)));
    look(&mut patient.client, &patient.world, &patient.session);
}

#[test]
fn a_server_that_comes_when_a_log_was_taken_away_is_not_disturbed_by_one_that_was_there_and_ends() {
    for (name, take) in TAKEN {
        let mut patient = Patient::new();
        let named = json!({ "session_name": patient.session });
        take(&patient.world.log(&patient.session));
        let mut client = patient.world.client();
        // As long as the old index is there, the log is missed.
        client.call("session_resume", named.clone());
        assert!(std::mem::replace(&mut patient.client, client).exit().status.success());
        let added = patient.named(plan("goal"));
        patient.client.ok("queue_add", added);
        let client = patient.world.client();
        for mut client in [std::mem::replace(&mut patient.client, client), patient.world.client()] {
            let said = client.ok("admin_validate", named.clone()).text;
            assert!(!said.contains("should be there by the session's count"), "{name}: {said}");
            assert!(!said.contains("session.db is damaged"), "{name}: {said}");
        }
    }
}

#[test]
fn two_servers_on_a_session_whose_log_is_taken_away_lose_nothing() {
    for ((name, take), written_back) in TAKEN.into_iter().flat_map(|taken| [(taken, false), (taken, true)]) {
        let mut patient = Patient::new();
        let named = json!({ "session_name": patient.session });
        let mut other = patient.world.client();
        other.ok("session_resume", named.clone());
        if written_back {
            let database = rusqlite::Connection::open(patient.world.database(&patient.session)).unwrap();
            database.query_row("PRAGMA wal_checkpoint", (), |_| Ok(())).unwrap();
            other.ok("session_resume", named.clone());
            patient.client.ok("session_resume", named.clone());
        }
        take(&patient.world.log(&patient.session));
        for goal in ["one", "two", "three"] {
            let added = patient.named(plan(goal));
            patient.client.ok("queue_add", added);
        }
        for goal in ["four", "five"] {
            other.ok("queue_add", plan(goal));
            let added = patient.named(plan(goal));
            patient.client.ok("queue_add", added);
        }
        assert!(other.exit().status.success());
        patient.restart();
        let state = patient.client.ok("admin_state", named).fields;
        assert_eq!(
            (&state["queue_length"], &state["file_db_match"]),
            (&json!(9), &json!(true)),
            "{name} {written_back}"
        );
        look(&mut patient.client, &patient.world, &patient.session);
    }
}
