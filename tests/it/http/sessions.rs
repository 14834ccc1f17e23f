//! Many clients on one server: what each sees of the others, and what one holds up.

use std::sync::mpsc::channel;
use std::thread;

use serde_json::json;

use super::{Client, Served, plan_in, within};
use crate::harness::{STATELESS, World, plan};

#[test]
fn a_session_from_start_to_end_in_every_version() {
    let world = World::new();
    let served = Served::start(&world);
    for protocol in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS] {
        let mut client = served.client(protocol);
        assert_eq!(client.result("tools/list", json!({}))["tools"].as_array().map(Vec::len), Some(12));
        let prompt = client.result("prompts/get", json!({ "name": "bootstrap", "arguments": { "task": "a task" } }));
        assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().ends_with("THE TASK\na task"));
        let session = client.create();
        let id = client.ok("queue_add", plan_in(&session, "A")).str("plan_id").to_owned();
        client.ok("queue_add", plan_in(&session, "B"));
        client.ok("queue_pull", within(&session, json!({})));
        client.ok("plan_defer", within(&session, json!({ "reason": "r", "position": "front" })));
        client.ok("queue_pull", within(&session, json!({})));
        client.ok("plan_complete", within(&session, json!({ "outcome": "made it" })));
        client.ok("queue_pull", within(&session, json!({})));
        client.ok("plan_discard", within(&session, json!({ "reason": "r" })));
        let found = client.ok("history_search", within(&session, json!({ "query": "made" })));
        assert_eq!(found.fields["matches"][0]["id"], id);
        client.ok("history_get", within(&session, json!({ "plan_id": id })));
        assert_eq!(client.ok("admin_validate", within(&session, json!({}))).fields["valid"], true);
        assert_eq!(client.ok("admin_state", within(&session, json!({}))).fields["completed_count"], 1);
        client.ok("session_resume", within(&session, json!({})));
        assert_eq!(client.ok("admin_sessions", json!({})).fields["sessions"][0]["name"], session);
    }
}

#[test]
fn two_connections_do_not_see_each_others_current_session() {
    let world = World::new();
    let served = Served::start(&world);
    let (mut one, mut other) = (served.client("2025-11-25"), served.client("2025-06-18"));
    let mine = one.create();
    let text = other.fails("queue_add", plan("A"));
    assert!(text.starts_with("[Session: none] Error: SESSION_NOT_FOUND"), "{text}");
    let theirs = other.create();
    assert_eq!(one.ok("queue_add", plan("A")).str("session_name"), mine);
    assert_eq!(other.ok("queue_add", plan("B")).str("session_name"), theirs);
    // Naming a session makes it this connection's own, and only this one's.
    other.ok("admin_state", within(&mine, json!({})));
    assert_eq!(other.ok("queue_pull", json!({})).str("goal"), "A");
    assert_eq!(one.ok("admin_state", json!({})).str("session_name"), mine);
}

#[test]
fn a_call_that_stands_alone_names_its_session() {
    let world = World::new();
    let served = Served::start(&world);
    let mut client = served.client(STATELESS);
    let session = client.create();
    assert_eq!(
        client.fails("queue_pull", json!({})),
        crate::harness::error(
            "none",
            "SESSION_NOT_FOUND",
            "No session is in use on this connection, and the call names none.",
            &format!(
                "Call again with a session_name, resume one with 9plan_session_resume, or start a session with \
                 9plan_session_create. Most recent: {session}."
            ),
        )
    );
    client.ok("queue_add", plan_in(&session, "A"));
    assert_eq!(client.ok("queue_pull", within(&session, json!({}))).str("goal"), "A");
}

#[test]
fn clients_share_a_session_and_lose_nothing() {
    let world = World::new();
    let served = Served::start(&world);
    let session = served.client(STATELESS).create();
    let versions = ["2025-03-26", "2025-06-18", "2025-11-25", STATELESS];
    thread::scope(|scope| {
        for (version, client) in versions.map(|version| (version, served.client(version))) {
            let (session, mut client) = (&session, client);
            scope.spawn(move || {
                for number in 0..25 {
                    client.ok("queue_add", plan_in(session, &format!("{version} {number}")));
                }
            });
        }
    });
    let state = served.client(STATELESS).ok("admin_state", within(&session, json!({}))).fields;
    assert_eq!((&state["queue_length"], &state["file_db_match"]), (&json!(100), &json!(true)));
    let queue = state["queue"].as_array().unwrap();
    for version in versions {
        let goals = queue.iter().map(|item| item["goal"].as_str().unwrap()).filter(|goal| goal.starts_with(version));
        let expected: Vec<String> = (0..25).map(|number| format!("{version} {number}")).collect();
        assert_eq!(goals.collect::<Vec<_>>(), expected, "each one's own plans are in its order");
    }
}

#[test]
fn a_session_that_is_busy_holds_up_no_other() {
    let world = World::new();
    let (mut busy, mut free) = (String::new(), String::new());
    // Once with both sessions open in the server, once with neither.
    for opened in [true, false] {
        let served = Served::start(&world);
        let mut client = served.client(STATELESS);
        if opened {
            (busy, free) = (client.create(), client.create());
            client.ok("queue_add", plan_in(&busy, "A"));
        }
        client.ok("queue_add", plan_in(&free, "B"));
        let held = world.hold(&busy);
        thread::scope(|scope| {
            let (done, waiting) = channel();
            for version in ["2025-11-25", STATELESS] {
                let (done, busy) = (done.clone(), &busy);
                let mut client = served.client(version);
                scope.spawn(move || done.send(client.ok("queue_add", plan_in(busy, "C")).str("plan_id").to_owned()));
            }
            for mut client in [served.client(STATELESS), served.client("2025-11-25")] {
                client.ok("session_resume", within(&free, json!({})));
                assert_eq!(
                    client.ok("history_search", within(&free, json!({ "query": "x" }))).fields["total_matches"],
                    0
                );
            }
            assert_eq!(client.ok("queue_pull", within(&free, json!({}))).str("goal"), "B");
            client.ok("plan_complete", within(&free, json!({ "outcome": "o" })));
            // All that was answered while the others still wait.
            assert_eq!(waiting.try_recv().ok(), None);
            drop(held);
            drop(done);
            assert_eq!(waiting.iter().count(), 2);
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn only_so_many_sessions_stay_open_and_all_can_be_used() {
    let world = World::new();
    let served = Served::start(&world);
    let mut client = served.client(STATELESS);
    let open = || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", served.child.id())).unwrap();
        let targets = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        targets.filter(|path| path.ends_with("session.db")).count()
    };
    let sessions: Vec<String> = (0..50).map(|_| client.create()).collect();
    for goal in ["A", "B"] {
        for session in &sessions {
            client.ok("queue_add", plan_in(session, goal));
        }
        assert_eq!(open(), 32);
    }
    for session in &sessions {
        assert_eq!(client.ok("admin_state", within(session, json!({}))).fields["queue_length"], 2);
    }
}

#[test]
fn a_connection_that_was_ended_is_not_found() {
    let world = World::new();
    let served = Served::start(&world);
    let mut client = served.client("2025-11-25");
    client.create();
    let id = client.session.clone().unwrap();
    let end = ureq::http::Request::delete(&client.url).header("mcp-session-id", &id).body(String::new()).unwrap();
    assert_eq!(client.run(end).status, 204);
    let ask = |client: &mut Client| client.post("tools/list", json!({})).status;
    assert_eq!(ask(&mut client), 404);
    client.session = Some("nonsense".to_owned());
    assert_eq!(ask(&mut client), 404);
    client.session = None;
    assert_eq!(ask(&mut client), 400);
}
