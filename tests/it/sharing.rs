//! Which session a call is about, and what two servers on one session see of each other.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::calls::tools_that_change_a_session;
use crate::harness::{Client, STATELESS, World, error, failure, plan};

fn goal_at_front(client: &mut Client) -> String {
    client.ok("admin_state", json!({})).fields["queue"][0]["goal"].as_str().unwrap().to_owned()
}

#[test]
fn the_current_session_is_the_one_last_created_resumed_or_named() {
    let world = World::new();
    let mut client = world.client();
    let first = client.create("first");
    client.add("in the first");
    let second = client.create("second");
    client.add("in the second");
    assert_eq!(goal_at_front(&mut client), "in the second");
    client.ok("session_resume", json!({ "session_name": first }));
    assert_eq!(goal_at_front(&mut client), "in the first");
    client.ok("admin_state", json!({ "session_name": second }));
    assert_eq!(goal_at_front(&mut client), "in the second");
    client.fails("admin_state", json!({ "session_name": "no-such-session" }));
    assert_eq!(goal_at_front(&mut client), "in the second");
    // A call that was refused for another reason is about the session that it names, too.
    client.fails("plan_complete", json!({ "session_name": first, "outcome": "o" }));
    assert_eq!(goal_at_front(&mut client), "in the first");
}

#[test]
fn the_older_eras_let_the_last_session_stand() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let world = World::new();
        let mut client = world.server().protocol(version).start();
        let first = client.create("first");
        client.create("second");
        client.add("in the second");
        client.ok("admin_state", json!({ "session_name": first }));
        client.add("in the first");
        assert_eq!(goal_at_front(&mut client), "in the first");
    }
}

#[test]
fn in_the_stateless_era_a_change_must_say_which_of_two_sessions_it_means() {
    let world = World::new();
    let mut client = world.server().protocol(STATELESS).start();
    let first = client.create("first");
    client.add("in the first");
    let second = client.create("second");
    let mut names = [first.as_str(), second.as_str()];
    names.sort_unstable();
    let expected = error(
        &second,
        "VALIDATION_ERROR",
        "This connection has used more than one unfinished session, and the call does not say which it means.",
        &format!("Call again with session_name: {} or {}.", names[0], names[1]),
    );
    for (tool, arguments) in tools_that_change_a_session() {
        assert_eq!(client.fails(tool, arguments), expected, "{tool}");
    }
    for (tool, arguments) in
        [("admin_state", json!({})), ("admin_validate", json!({})), ("history_search", json!({ "query": "q" }))]
    {
        assert_eq!(client.ok(tool, arguments).str("session_name"), second);
    }
    let mut arguments = plan("in the second");
    arguments["session_name"] = json!(second);
    assert_eq!(client.ok("queue_add", arguments).fields["queue_position"], 1);

    // Once the first is finished there is no doubt any more.
    client.ok("queue_pull", json!({ "session_name": first }));
    client.ok("plan_complete", json!({ "session_name": first, "outcome": "o" }));
    client.ok("admin_state", json!({ "session_name": second }));
    assert_eq!(client.ok("queue_pull", json!({})).str("goal"), "in the second");
}

#[test]
fn a_session_that_cannot_be_looked_at_yet_does_not_count_as_finished() {
    let world = World::new();
    let mut client = world.server().protocol(STATELESS).start();
    let first = client.create("first");
    // As many as stay open at once, so that the first one is closed.
    for _ in 0..32 {
        let name = client.create("done with");
        let mut arguments = plan("goal");
        arguments["session_name"] = json!(name);
        client.ok("queue_add", arguments);
        client.ok("queue_pull", json!({ "session_name": name }));
        client.ok("plan_complete", json!({ "session_name": name, "outcome": "o" }));
    }
    let second = client.create("second");
    let busy = rusqlite::Connection::open(world.database(&first)).unwrap();
    busy.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let call = client.send_call("queue_add", plan("whose?"));
    // It waits, and holds up nothing else.
    assert_eq!(client.request("tools/list", json!({}))["error"], json!(null));
    drop(busy);
    let refused = failure(&client.result(call));
    assert!(refused.starts_with(&format!("[Session: {second}] Error: VALIDATION_ERROR\n\n")), "{refused}");
}

#[test]
fn two_servers_on_one_session_see_each_others_changes() {
    let world = World::new();
    let (mut one, mut other) = (world.client(), world.client());
    let session = one.create("t");
    other.ok("session_resume", json!({ "session_name": session }));
    let id = one.add("goal");
    assert_eq!(goal_at_front(&mut other), "goal");
    assert_eq!(other.ok("queue_pull", json!({})).str("plan_id"), id);
    let refused = one.fails("queue_pull", json!({}));
    assert!(
        refused.starts_with(&format!("[Session: {session}] Error: PLAN_ALREADY_ACTIVE\n\nPlan {id} ")),
        "{refused}"
    );
    one.ok("plan_complete", json!({ "outcome": "made by the first" }));
    other.fails("plan_complete", json!({ "outcome": "o" }));
    let got = other.ok("history_get", json!({ "plan_id": id }));
    assert_eq!(got.str("outcome"), "made by the first");
    assert_eq!(other.ok("history_search", json!({ "query": "made" })).fields["total_matches"], 1);
}

#[test]
fn listing_sessions_does_not_count_as_using_them() {
    let world = World::new();
    let mut client = world.client();
    for task in ["one", "two", "three"] {
        client.create(task);
    }
    assert!(client.exit().status.success());
    let listed = || world.client().ok("admin_sessions", json!({})).fields["sessions"].take();
    let first = listed();
    assert_eq!(first.as_array().unwrap().len(), 3);
    assert_eq!(listed(), first);
    assert_eq!(listed(), first);
}

#[test]
fn to_resume_a_session_is_to_use_it() {
    let world = World::new();
    let mut client = world.client();
    let names = ["one", "two"].map(|task| client.create(task));
    client.exit();
    for (hours, name) in (1..).zip(&names) {
        let then = SystemTime::now() - Duration::from_secs(hours * 3_600);
        for path in [world.plans(name), world.database(name)] {
            fs::File::open(path).unwrap().set_modified(then).unwrap();
        }
    }
    let mut client = world.client();
    let first = |client: &mut Client| client.ok("admin_sessions", json!({})).fields["sessions"][0]["name"].take();
    assert_eq!(first(&mut client), json!(names[0]));
    client.ok("session_resume", json!({ "session_name": names[1] }));
    assert_eq!(first(&mut client), json!(names[1]));
}
