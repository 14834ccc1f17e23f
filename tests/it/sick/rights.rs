//! Folders and files without the rights that are needed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use super::Patient;
use crate::harness::{World, plan, sessions_in};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A patient whose server has no rights but those that the modes give: not those of an administrator.
fn patient() -> Patient {
    let world = World::new();
    let client = world.unprivileged().start();
    Patient::of(world, client)
}

impl Patient {
    fn restart_unprivileged(&mut self) {
        let client = self.world.unprivileged().start();
        drop(std::mem::replace(&mut self.client, client));
    }
}

#[test]
fn a_root_that_cannot_be_written_to_takes_no_new_session_and_all_else_goes_on() {
    let mut patient = patient();
    chmod(&patient.world.root(), 0o500);
    let text = patient.client.fails("session_create", json!({}));
    assert!(text.starts_with("[Session: none] Error: FILE_SYSTEM_ERROR\n\nCannot make "), "{text}");
    assert!(
        text.contains("\n\nSuggested action: Nothing was changed. See that the folder exists, is writable"),
        "{text}"
    );
    patient.is_as_it_was();
    chmod(&patient.world.root(), 0o700);
    patient.client.create("t");
}

#[test]
fn plans_that_cannot_be_written_to_take_no_new_file() {
    let mut patient = patient();
    let plans = patient.world.plans(&patient.session);
    chmod(&plans, 0o500);
    for (tool, arguments) in [("queue_add", plan("goal")), ("plan_defer", json!({ "reason": "r" }))] {
        let text = patient.fails(tool, arguments, "FILE_SYSTEM_ERROR");
        assert!(text.starts_with(&format!("Cannot write to {}: Permission denied", plans.display())), "{text}");
    }
    patient.rest_goes_on(false);
    // What is finished is in the database; its file is removed as soon as that can be done.
    let outcome = patient.named(json!({ "outcome": "o" }));
    let id = patient.client.ok("plan_complete", outcome).str("plan_id").to_owned();
    assert!(patient.world.plan_file(&patient.session, &id).exists());
    chmod(&plans, 0o700);
    let checked = patient.named(json!({}));
    let checked = patient.client.ok("admin_validate", checked).fields;
    assert_eq!(
        (&checked["valid"], &checked["repaired"]),
        (&json!(true), &json!([format!("removed the file of completed plan {id}")]))
    );
    assert!(!patient.world.plan_file(&patient.session, &id).exists());
}

#[test]
fn an_unfinished_write_that_cannot_be_removed_is_removed_as_soon_as_it_can_be() {
    let mut patient = patient();
    let plans = patient.world.plans(&patient.session);
    fs::write(plans.join(".zzzzz.x.tmp"), "half a pl").unwrap();
    patient.restart_unprivileged();
    chmod(&plans, 0o500);
    for (mode, repaired) in [(0o500, json!(null)), (0o700, json!(["removed an unfinished write of plan zzzzz"]))] {
        chmod(&plans, mode);
        let state = patient.named(json!({}));
        assert_eq!(patient.client.ok("admin_state", state).fields["repaired"], repaired);
    }
    patient.is_as_it_was();
}

#[test]
fn what_cannot_be_made_durable_is_logged_in_a_plan_and_no_new_session() {
    let mut patient = patient();
    patient.client = patient.world.unprivileged().logging("error").start();
    let (root, plans) = (patient.world.root(), patient.world.plans(&patient.session));
    // To sync a folder takes the right to read it.
    chmod(&root, 0o300);
    let text = patient.client.fails("session_create", json!({}));
    assert!(text.starts_with("[Session: none] Error: FILE_SYSTEM_ERROR\n\nCannot make "), "{text}");
    chmod(&root, 0o700);
    assert_eq!(sessions_in(&root).len(), 2, "nothing is left of it");

    chmod(&plans, 0o300);
    for _ in 0..2 {
        let added = patient.named(plan("goal"));
        let added = patient.client.ok("queue_add", added).fields;
        assert_eq!(added["repaired"], json!(null), "the plans that cannot be listed are there");
    }
    chmod(&plans, 0o700);
    let checked = patient.named(json!({}));
    let checked = patient.client.ok("admin_validate", checked).fields;
    assert_eq!((&checked["valid"], &checked["repaired"]), (&json!(true), &json!(null)));
    let client = patient.world.client();
    let log = std::mem::replace(&mut patient.client, client).exit().log;
    for said in ["a plan file could not be put in place", "the plan files cannot be checked"] {
        assert!(log.contains(said), "{said}: {log}");
    }
}

#[test]
fn plans_or_a_session_that_cannot_be_looked_into_are_said_to_be_so() {
    for restarted in [false, true] {
        let mut patient = patient();
        if restarted {
            patient.restart_unprivileged();
        }
        let plans = patient.world.plans(&patient.session);
        chmod(&plans, 0o000);
        for (tool, arguments) in [("queue_add", plan("goal")), ("plan_complete", json!({ "outcome": "o" }))] {
            let text = patient.fails(tool, arguments, "FILE_SYSTEM_ERROR");
            assert!(text.contains("Permission denied"), "{text}");
        }
        patient.rest_goes_on(false);
        chmod(&plans, 0o700);
        patient.is_as_it_was();

        let folder = patient.world.root().join(&patient.session);
        chmod(&folder, 0o000);
        patient.every_tool_fails("FILE_SYSTEM_ERROR", "Permission denied");
        patient.rest_goes_on(true);
        chmod(&folder, 0o700);
        patient.goes_on();
    }
}

#[test]
fn a_database_that_cannot_be_read_is_said_to_be_so() {
    let mut patient = patient();
    patient.restart_unprivileged();
    let path = patient.world.database(&patient.session);
    chmod(&path, 0o000);
    patient.every_tool_fails("DATABASE_ERROR", "unable to open database file");
    patient.rest_goes_on(true);
    chmod(&path, 0o600);
    patient.is_as_it_was();
}

#[test]
fn a_session_that_was_opened_while_it_could_not_be_written_to_can_be_written_to_afterwards() {
    for killed in [false, true] {
        let mut patient = patient();
        if killed {
            patient.restart_unprivileged();
        } else {
            let client = patient.world.unprivileged().start();
            assert!(std::mem::replace(&mut patient.client, client).exit().status.success());
            // Without a log, one is made with the rights that the database has.
            let log = patient.world.log(&patient.session);
            fs::remove_file(log.with_file_name("session.db-shm")).unwrap();
            fs::remove_file(log).unwrap();
        }
        let path = patient.world.database(&patient.session);
        chmod(&path, 0o400);
        let text = patient.fails("queue_add", plan("goal"), "DATABASE_ERROR");
        assert!(text.contains("session.db") && text.contains("can be read and written"), "{text}");
        let state = patient.named(json!({}));
        patient.client.ok("admin_state", state);
        chmod(&path, 0o600);
        patient.goes_on();
    }
}
