//! Each of the eight categories, reached over the wire, its text whole.
//!
//! What is wrong with a call's arguments is in `refusals.rs`.

use std::fs;

use serde_json::json;

use crate::calls::tools_with_a_session;
use crate::harness::{World, error, plan};

const CORRUPT: &str = "Move session.db aside, with session.db-wal and session.db-shm if they are there, and put a backup of \
                       session.db in its place. The plan files beside it are as they were.";
const IN_THE_WAY: &str = "Nothing was changed. Put what belongs there in its place, or move it aside, then call again.";

#[test]
fn with_no_session_at_all_session_not_found_names_create_and_resume() {
    let world = World::new();
    let expected = error(
        "none",
        "SESSION_NOT_FOUND",
        "No session is in use on this connection, and the call names none.",
        "There is no session to go on with by 9plan_session_resume: start a session with 9plan_session_create.",
    );
    let mut client = world.client();
    for (tool, arguments) in tools_with_a_session().into_iter().filter(|(tool, _)| *tool != "session_resume") {
        assert_eq!(client.fails(tool, arguments), expected, "{tool}");
    }
    assert!(!world.root().exists(), "a failed call makes no folder");
}

#[test]
fn plan_not_found_says_where_a_plan_is_that_is_not_completed() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let (discarded, active, queued) = (client.add("1"), client.add("2"), client.add("3"));
    client.ok("queue_pull", json!({}));
    client.ok("plan_discard", json!({ "reason": "r" }));
    client.ok("queue_pull", json!({}));
    let search = "Find the plan with 9plan_history_search.";
    for (id, message, suggestion) in [
        (
            &queued,
            format!("Plan {queued} is not in the history: it is still queued."),
            "It has no outcome yet. Work through the queue with 9plan_queue_pull; 9plan_admin_state shows the queue.",
        ),
        (
            &active,
            format!("Plan {active} is not in the history: it is the active plan."),
            "It is the plan being worked on: finish it with 9plan_plan_complete, then it is in the history.",
        ),
        (
            &discarded,
            format!("Plan {discarded} is not in the history: it was discarded."),
            "Discarded plans are not shown again; 9plan_history_search finds the completed ones.",
        ),
        (&"abcdefgh".to_owned(), "There is no plan abcdefgh in this session.".to_owned(), search),
    ] {
        let text = client.fails("history_get", json!({ "plan_id": id }));
        assert_eq!(text, error(&session, "PLAN_NOT_FOUND", &message, suggestion));
    }
}

#[test]
fn no_active_plan_says_what_there_is_to_take() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    for (verb, arguments) in [
        ("defer", json!({ "reason": "r" })),
        ("complete", json!({ "outcome": "o" })),
        ("discard", json!({ "reason": "r" })),
    ] {
        let expected = error(
            &session,
            "NO_ACTIVE_PLAN",
            &format!("No plan is active, so there is nothing to {verb}."),
            "The queue is empty too: add a plan with 9plan_queue_add, then take it with 9plan_queue_pull.",
        );
        assert_eq!(client.fails(&format!("plan_{verb}"), arguments), expected);
    }
    client.add("1");
    let expected = error(
        &session,
        "NO_ACTIVE_PLAN",
        "No plan is active, so there is nothing to complete.",
        "Take the next plan with 9plan_queue_pull.",
    );
    assert_eq!(client.fails("plan_complete", json!({ "outcome": "o" })), expected);
}

#[test]
fn pull_with_an_active_plan_is_refused() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("First goal");
    client.add("Second goal");
    client.ok("queue_pull", json!({}));
    let expected = error(
        &session,
        "PLAN_ALREADY_ACTIVE",
        &format!("Plan {id} is already active: First goal\nIts file: {}", world.plan_file(&session, &id).display()),
        "Finish it first: 9plan_plan_complete when it is done, 9plan_plan_defer to put it back, \
         9plan_plan_discard to give it up.",
    );
    assert_eq!(client.fails("queue_pull", json!({})), expected);
}

#[test]
fn an_empty_queue_is_told_apart_from_a_finished_one() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let nothing_yet =
        error(&session, "QUEUE_EMPTY", "Nothing is queued yet.", "Add the first plan with 9plan_queue_add.");
    assert_eq!(client.fails("queue_pull", json!({})), nothing_yet);
    for count in ["1 plan", "2 plans"] {
        client.add("goal");
        client.ok("queue_pull", json!({}));
        client.ok("plan_complete", json!({ "outcome": "o" }));
        let finished = error(
            &session,
            "QUEUE_EMPTY",
            &format!("Task complete! 🎉 The queue is empty; {count} completed."),
            "Report the result to the user. If work is left, add it with 9plan_queue_add.",
        );
        assert_eq!(client.fails("queue_pull", json!({})), finished);
    }
}

#[test]
fn a_database_of_junk_is_a_database_error_and_the_rest_goes_on() {
    let world = World::new();
    let session = world.client().create("t");
    fs::write(world.database(&session), "junk ".repeat(1_000)).unwrap();
    let mut client = world.client();
    let named = json!({ "session_name": session });
    let message = "The session's database failed: file is not a database.";
    assert_eq!(client.fails("admin_state", named), error(&session, "DATABASE_ERROR", message, CORRUPT));
    let listed = client.ok("admin_sessions", json!({})).fields;
    assert_eq!(listed["unreadable"], json!([{ "name": session, "error": format!("{message} {CORRUPT}") }]));
    assert_eq!((&listed["sessions"], &listed["total"]), (&json!([]), &json!(1)));
    client.create("another");
    client.add("goal");
}

/// The bytes 60 to 63 of an SQLite file are `PRAGMA user_version`, the highest byte first.
const USER_VERSION: std::ops::Range<usize> = 60..64;

#[test]
fn a_newer_schema_is_a_database_error_and_nothing_is_written() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    assert!(client.exit().status.success());
    let mut bytes = fs::read(world.database(&session)).unwrap();
    let known = u32::from_be_bytes(bytes[USER_VERSION].try_into().unwrap());
    bytes[USER_VERSION].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(world.database(&session), &bytes).unwrap();
    let mut client = world.client();
    let expected = error(
        &session,
        "DATABASE_ERROR",
        &format!("The session was made by a newer 9plan (schema 9999; this one knows up to {known})."),
        "Update 9plan to the version that made this session. Nothing was changed.",
    );
    let mut arguments = plan("goal");
    arguments["session_name"] = json!(session);
    assert_eq!(client.fails("queue_add", arguments), expected);
    assert_eq!(client.fails("session_resume", json!({ "session_name": session })), expected);
    assert_eq!(fs::read(world.database(&session)).unwrap(), bytes);
    assert_eq!(fs::read_dir(world.plans(&session)).unwrap().count(), 0);
}

#[test]
fn a_plan_file_that_is_not_utf8_is_refused_and_left_alone() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    let path = world.plan_file(&session, &id);
    let bytes = b"# Goal\nna\xefve\n";
    let expected = error(
        &session,
        "FILE_SYSTEM_ERROR",
        &format!("Cannot read {}: it is not UTF-8 at byte 9", path.display()),
        IN_THE_WAY,
    );
    let good = fs::read(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    assert_eq!(client.fails("queue_pull", json!({})), expected);
    fs::write(&path, good).unwrap();
    client.ok("queue_pull", json!({}));
    fs::write(&path, bytes).unwrap();
    for (tool, arguments) in [
        ("plan_complete", json!({ "outcome": "o" })),
        ("plan_defer", json!({ "reason": "r" })),
        ("plan_discard", json!({ "reason": "r" })),
    ] {
        assert_eq!(client.fails(tool, arguments), expected);
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(client.ok("admin_state", json!({})).fields["active_plan"]["id"], json!(id));
}

#[test]
fn a_plan_file_that_is_a_folder_is_refused() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    let path = world.plan_file(&session, &id);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let message = format!("Cannot read {}: it is not a file", path.display());
    assert_eq!(client.fails("queue_pull", json!({})), error(&session, "FILE_SYSTEM_ERROR", &message, IN_THE_WAY));
    assert!(path.is_dir());
    assert_eq!(client.ok("admin_state", json!({})).fields["queue_length"], 1);
}

#[cfg(unix)]
#[test]
fn a_plan_file_that_is_a_link_is_not_followed() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    let path = world.plan_file(&session, &id);
    let secret = world.home().join("secret");
    fs::write(&secret, "# Goal\nhunter2\n").unwrap();
    let link = || {
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
    };
    let message = format!("Cannot read {}: it is a symbolic link, which is not followed", path.display());
    let expected = error(&session, "FILE_SYSTEM_ERROR", &message, IN_THE_WAY);
    let good = fs::read(&path).unwrap();
    link();
    assert_eq!(client.fails("queue_pull", json!({})), expected);
    fs::remove_file(&path).unwrap();
    fs::write(&path, good).unwrap();
    client.ok("queue_pull", json!({}));
    link();
    assert_eq!(client.fails("plan_complete", json!({ "outcome": "o" })), expected);
    assert_eq!(client.fails("plan_defer", json!({ "reason": "r" })), expected);

    let resumed = client.ok("session_resume", json!({ "session_name": session }));
    assert!(!resumed.text.contains("hunter2") && !resumed.fields.to_string().contains("hunter2"));
    let shown = world.run(&["show", "--plan", &id, &session]);
    assert!(!String::from_utf8(shown.stdout).unwrap().contains("hunter2"));
    let validated = client.ok("admin_validate", json!({})).fields;
    assert_eq!(validated["invariants"]["files_match_database"], false);
    assert_eq!(validated["issues"], json!([format!("{message}.")]));
    assert_eq!(fs::read_to_string(&secret).unwrap(), "# Goal\nhunter2\n");
}
