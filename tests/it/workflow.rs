//! One task from its first plan to its last, as an agent works on it.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Client, STATELESS, World, plan};

/// The goals of the queue, front first.
fn goals(fields: &Value) -> Vec<&str> {
    fields["queue"].as_array().unwrap().iter().map(|item| item["goal"].as_str().unwrap()).collect()
}

fn at_front(goal: &str) -> Value {
    let mut arguments = plan(goal);
    arguments["position"] = json!("front");
    arguments
}

/// Pulls the plan at the front, which must be this one, and completes it.
#[track_caller]
fn finish(client: &mut Client, goal: &str, outcome: &str) -> Value {
    assert_eq!(client.ok("queue_pull", json!({})).str("goal"), goal);
    client.ok("plan_complete", json!({ "outcome": outcome })).fields
}

#[test]
fn a_decomposed_task_survives_a_restart_and_is_found_again() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("Show blog posts");
    let a = client.add("A");
    for goal in ["B", "C"] {
        client.add(goal);
    }
    assert_eq!(client.ok("queue_pull", json!({})).str("plan_id"), a);
    for goal in ["A.3", "A.2", "A.1"] {
        assert_eq!(client.ok("queue_add", at_front(goal)).fields["queue_position"], 1);
    }
    let deferred = client.ok("plan_defer", json!({ "reason": "split", "position": "back" })).fields;
    assert_eq!((&deferred["queue_position"], &deferred["queue_length"]), (&json!(6), &json!(6)));
    assert!(client.exit().status.success());

    let mut client = world.client();
    let resumed = client.ok("session_resume", json!({ "session_name": session })).fields;
    assert_eq!(resumed["task_description"], "Show blog posts");
    assert_eq!(goals(&resumed), ["A.1", "A.2", "A.3", "B", "C", "A"]);
    assert_eq!((&resumed["active_plan"], &resumed["plan"]), (&Value::Null, &Value::Null));

    finish(&mut client, "A.1", "GhostClient in src/lib/ghost.ts fetches posts");
    finish(&mut client, "A.2", "cache in src/lib/cache.ts");
    finish(&mut client, "A.3", "retries");
    finish(&mut client, "B", "a page");
    let last_but_one = finish(&mut client, "C", "a feed");
    assert_eq!(last_but_one["next"], json!({ "id": a, "goal": "A" }));
    let last = finish(&mut client, "A", "all of A");
    assert_eq!((&last["next"], &last["completed_count"]), (&Value::Null, &json!(6)));

    let found = client.ok("history_search", json!({ "query": "fetching with the ghost client" })).fields;
    assert_eq!(found["matches"][0]["goal"], "A.1");
    let id = found["matches"][0]["id"].clone();
    let got = client.ok("history_get", json!({ "plan_id": id })).fields;
    assert_eq!(got["outcome"], "GhostClient in src/lib/ghost.ts fetches posts");
    assert_eq!(client.ok("admin_validate", json!({})).fields["valid"], true);
}

/// The rest of the line that begins with `label`.
#[track_caller]
fn after<'a>(text: &'a str, label: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_else(|| panic!("{label:?} in {text}"))
}

#[test]
fn a_client_that_shows_only_text_gets_through() {
    let world = World::new();
    let mut client = world.client();
    let mut call = |tool: &str, arguments: Value| client.ok(tool, arguments).text;

    let created = call("session_create", json!({ "task_description": "Show blog posts" }));
    assert!(after(&created, "Next: ").contains("9plan_queue_add"));
    let session = after(&created, "Next: Keep the name ").split(':').next().unwrap().to_owned();
    let mut arguments = plan("Fetch posts");
    arguments["inputs"] = json!("- API key: from the user");
    arguments["outputs"] = json!("- a client for Ghost");
    assert!(after(&call("queue_add", arguments), "Next: ").contains("9plan_queue_pull"));
    assert_eq!(after(&call("queue_add", plan("Show posts")), "Queue position: "), "2");

    let pulled = call("queue_pull", json!({}));
    let file = fs::read_to_string(after(&pulled, "File: ")).unwrap();
    assert!(pulled.contains(file.trim_end()), "{pulled}");
    for tool in ["9plan_history_search", "9plan_plan_complete", "9plan_plan_defer", "# Notes"] {
        assert!(after(&pulled, "Next: ").contains(tool), "{pulled}");
    }

    // Another process: all that is known is what a list says.
    let mut client = world.client();
    let mut call = |tool: &str, arguments: Value| client.ok(tool, arguments).text;
    let listed = call("admin_sessions", json!({}));
    let line = after(&listed, &format!("- {session}: "));
    assert!(line.starts_with("1 queued, 1 active, 0 completed") && line.ends_with(" Show blog posts"), "{line}");
    let resumed = call("session_resume", json!({ "session_name": session }));
    assert_eq!(after(&resumed, "Task: "), "Show blog posts");
    assert!(resumed.contains(file.trim_end()), "{resumed}");
    assert!(resumed.contains("Queue (showing 1 of 1):\n1. "), "{resumed}");
    assert!(after(&resumed, "Next: ").contains("9plan_plan_complete"));
    let completed = call("plan_complete", json!({ "outcome": "GhostClient in src/ghost.ts" }));
    assert!(after(&completed, "Next: ").contains("9plan_queue_pull"));
    assert!(after(&completed, "Next in the queue: ").ends_with(": Show posts"));
    assert!(after(&call("queue_pull", json!({})), "Plan ").contains("is now active; 0 plans left"));

    let found = call("history_search", json!({ "query": "a client for ghost" }));
    assert_eq!(found.lines().next(), Some("Showing 1 of 1, best first:"));
    let id = after(&found, "1. ").split(' ').next().unwrap();
    let got = call("history_get", json!({ "plan_id": id }));
    for part in [
        "# Outcome\nGhostClient in src/ghost.ts\n",
        "# Context\nA context.\n",
        "# Goal\nFetch posts\n",
        "# Inputs\n- API key: from the user\n",
        "# Outputs\n- a client for Ghost\n",
        "# Approach\n1. A step.\n",
        "# Success Criteria\nIt shows.",
    ] {
        assert!(got.contains(part), "{part:?} in {got}");
    }
    let finished = call("plan_complete", json!({ "outcome": "shown" }));
    assert!(after(&finished, "Next: ").starts_with("Task complete! 🎉"), "{finished}");
}

#[test]
fn a_client_that_shows_only_structured_content_gets_through() {
    let world = World::new();
    let mut client = world.client();
    let mut call = |tool: &str, arguments: Value| client.ok(tool, arguments).fields;

    let created = call("session_create", json!({ "task_description": "Show blog posts" }));
    let next = |fields: &Value| fields["next_step"].as_str().unwrap().to_owned();
    assert!(next(&created).contains("9plan_queue_add"));
    assert!(next(&created).contains(created["session_name"].as_str().unwrap()));
    assert!(next(&call("queue_add", plan("Fetch posts"))).contains("9plan_queue_pull"));
    call("queue_add", plan("Show posts"));
    let pulled = call("queue_pull", json!({}));
    assert_eq!(pulled["plan"], fs::read_to_string(pulled["plan_path"].as_str().unwrap()).unwrap());
    assert!(next(&pulled).contains("9plan_plan_complete"));
    assert!(next(&call("plan_defer", json!({ "reason": "wait" }))).contains("9plan_queue_pull"));

    let mut client = world.client();
    let mut call = |tool: &str, arguments: Value| client.ok(tool, arguments).fields;
    let listed = call("admin_sessions", json!({}));
    let session = listed["sessions"][0]["name"].clone();
    let resumed = call("session_resume", json!({ "session_name": session }));
    assert_eq!(goals(&resumed), ["Show posts", "Fetch posts"]);
    assert!(next(&resumed).contains("9plan_queue_pull"));
    call("queue_pull", json!({}));
    let completed = call("plan_complete", json!({ "outcome": "a page" }));
    assert!(next(&completed).contains("9plan_queue_pull"));
    call("queue_pull", json!({}));
    let discarded = call("plan_discard", json!({ "reason": "needless" }));
    assert!(next(&discarded).starts_with("Task complete! 🎉"));
    let found = call("history_search", json!({ "query": "pages" }));
    let got = call("history_get", json!({ "plan_id": found["matches"][0]["id"] }));
    assert_eq!((&got["goal"], &got["outcome"]), (&json!("Show posts"), &json!("a page")));
}

const EDITED: &str = "\
# Context
A context.

# Goal
Another goal

# Inputs

# Outputs
- the page

# Approach
1. A step.
# Not one of the seven

# Success Criteria
It shows.

# Notes
Half done:

```sh
# Notes
# install, then build
make all   # goal
```

The rest tomorrow.
";

/// Writes a plan's file anew while it is active, and gives what the history holds of it.
#[track_caller]
fn remembered_after_edit(bytes: &[u8]) -> Value {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    let id = client.add("First goal");
    let pulled = client.ok("queue_pull", json!({}));
    fs::write(pulled.str("plan_path"), bytes).unwrap();
    client.ok("plan_complete", json!({ "outcome": "done" }));
    let mut got = client.ok("history_get", json!({ "plan_id": id })).fields;
    assert_eq!(got["id"].take(), json!(id));
    for field in ["session_name", "id", "created_at", "completed_at"] {
        got.as_object_mut().unwrap().remove(field).unwrap();
    }
    got
}

#[test]
fn what_was_edited_by_hand_is_what_the_history_holds() {
    let expected = json!({
        "goal": "Another goal",
        "context": "A context.",
        "inputs": "",
        "outputs": "- the page",
        "approach": "1. A step.\n# Not one of the seven",
        "success_criteria": "It shows.",
        "notes": "Half done:\n\n```sh\n# Notes\n# install, then build\nmake all   # goal\n```\n\nThe rest tomorrow.",
        "outcome": "done",
    });
    assert_eq!(remembered_after_edit(EDITED.as_bytes()), expected);
    let crlf = EDITED.replace('\n', "\r\n");
    assert_eq!(remembered_after_edit(crlf.as_bytes()), expected);
    let marked = format!("\u{feff}{crlf}");
    assert_eq!(remembered_after_edit(marked.as_bytes()), expected);
}

#[test]
fn a_section_that_was_taken_out_is_empty_but_for_the_goal() {
    let expected = json!({
        "goal": "First goal",
        "context": "",
        "inputs": "",
        "outputs": "",
        "approach": "only this",
        "success_criteria": "",
        "notes": "before all headings",
        "outcome": "done",
    });
    assert_eq!(remembered_after_edit(b"before all headings\n# approach  \nonly this\n# GOAL\n"), expected);
}

#[test]
fn an_edit_before_the_pull_shows_in_the_reply_to_it() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("First goal");
    fs::write(world.plan_file(&session, &id), EDITED).unwrap();
    let pulled = client.ok("queue_pull", json!({}));
    assert_eq!((pulled.str("goal"), pulled.str("plan")), ("Another goal", EDITED));
}

#[test]
fn a_deferred_plan_says_why_at_the_end_of_its_notes() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    client.add("Another goal");
    let path = client.ok("queue_pull", json!({})).str("plan_path").to_owned();
    fs::write(&path, EDITED).unwrap();
    client.ok("plan_defer", json!({ "reason": "  waits for the key \n", "position": "front" }));
    let file = fs::read_to_string(&path).unwrap();
    // Written by the server, a look-alike of a heading carries its backslash.
    let kept = EDITED.replace("\n# Notes\n# install", "\n\\# Notes\n# install");
    let note = file.strip_prefix(&kept).unwrap_or_else(|| panic!("{file}"));
    let (stamp, reason) = note.trim_start().split_once("] ").unwrap();
    assert_eq!(
        stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>(),
        "[0000-00-00 00:00"
    );
    assert_eq!(reason, "Deferred: waits for the key\n");
    assert!(note.starts_with("\n["), "{note:?}");
}

fn assert_two_hundred_are_queued_in_the_order_sent(protocol: &'static str) {
    let world = World::new();
    let mut client = world.server().protocol(protocol).start();
    client.create("t");
    let wanted: Vec<String> = (1..=200).map(|number| format!("plan {number}")).collect();
    let sent: Vec<u64> = wanted.iter().map(|goal| client.send_call("queue_add", plan(goal))).collect();
    for (position, id) in (1..).zip(sent) {
        assert_eq!(client.reply(id).fields["queue_position"], position);
    }
    let state = client.ok("admin_state", json!({})).fields;
    assert_eq!(
        (goals(&state), &state["queue_length"]),
        (wanted[..100].iter().map(String::as_str).collect(), &json!(200))
    );
    let worked: Vec<(u64, u64)> = (0..100)
        .map(|_| {
            (client.send_call("queue_pull", json!({})), client.send_call("plan_discard", json!({ "reason": "r" })))
        })
        .collect();
    for (goal, (pull, discard)) in wanted.iter().zip(worked) {
        assert_eq!(client.reply(pull).str("goal"), goal);
        client.reply(discard);
    }
    assert_eq!(goals(&client.ok("admin_state", json!({})).fields), wanted[100..]);
}

#[test]
fn two_hundred_pipelined_plans_are_queued_in_the_order_sent() {
    assert_two_hundred_are_queued_in_the_order_sent("2025-11-25");
}

#[test]
fn two_hundred_pipelined_plans_are_queued_in_the_order_sent_without_a_handshake() {
    assert_two_hundred_are_queued_in_the_order_sent(STATELESS);
}
