//! What replies tell an agent to do next: it must be what then works.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Client, World, error, plan};

/// The next step of a call, which both faces must say.
#[track_caller]
fn next(client: &mut Client, tool: &str, arguments: Value) -> String {
    let reply = client.ok(tool, arguments);
    let step = reply.str("next_step").to_owned();
    assert!(reply.text.ends_with(&format!("\n\nNext: {step}")), "{}", reply.text);
    step
}

#[test]
fn an_addition_says_whether_a_plan_is_active() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    let step = next(&mut client, "queue_add", plan("A"));
    assert_eq!(step, "Add the next plan; when all are in, take the first with 9plan_queue_pull.");
    let active = client.ok("queue_pull", json!({})).str("plan_id").to_owned();
    let step = next(&mut client, "queue_add", plan("A.1"));
    assert_eq!(
        step,
        format!(
            "Plan {active} is still active: go on with it, or, where you are splitting it, add its other parts and put it \
             back with 9plan_plan_defer."
        )
    );
}

#[test]
fn a_deferral_that_leaves_the_plan_in_front_says_that_it_comes_next_again() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    client.add("A");
    client.ok("queue_pull", json!({}));
    let again = "It comes next again: first see to what it waits for, by 9plan_queue_add at the front or by asking the user, \
                 then go on with 9plan_queue_pull.";
    assert_eq!(next(&mut client, "plan_defer", json!({ "reason": "r", "position": "back" })), again);
    client.add("B");
    client.ok("queue_pull", json!({}));
    assert_eq!(next(&mut client, "plan_defer", json!({ "reason": "r", "position": "front" })), again);
    client.ok("queue_pull", json!({}));
    let other = next(&mut client, "plan_defer", json!({ "reason": "r", "position": "back" }));
    assert_eq!(other, "Take the plan at the front with 9plan_queue_pull.");
}

#[test]
fn a_task_of_which_all_was_given_up_is_not_called_complete() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    client.add("A");
    client.ok("queue_pull", json!({}));
    let step = next(&mut client, "plan_discard", json!({ "reason": "r" }));
    assert_eq!(
        step,
        "Nothing is queued, and nothing was completed: tell the user, or add what is to be done with 9plan_queue_add."
    );
    assert_eq!(
        client.fails("queue_pull", json!({})),
        error(
            &session,
            "QUEUE_EMPTY",
            "Task complete! 🎉 The queue is empty; 0 plans completed.",
            "Nothing was completed: tell the user, or add what is to be done with 9plan_queue_add."
        )
    );
    let step = next(&mut client, "session_resume", json!({ "session_name": session }));
    assert_eq!(step, "Nothing is queued: add each plan with 9plan_queue_add.");
}

#[test]
fn a_task_that_is_done_is_to_be_reported() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    client.add("A");
    client.ok("queue_pull", json!({}));
    let step = next(&mut client, "plan_complete", json!({ "outcome": "o" }));
    assert!(step.starts_with("Task complete! 🎉 "), "{step}");
    let step = next(&mut client, "session_resume", json!({ "session_name": session }));
    assert!(step.starts_with("All plans are done: "), "{step}");
}

#[test]
fn who_comes_back_is_told_that_the_active_plan_cannot_be_read() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("A");
    client.ok("queue_pull", json!({}));
    let path = world.plan_file(&session, &id);
    let stored = fs::read_to_string(&path).unwrap();
    fs::write(&path, b"# Notes\nprogr\xe8s\n").unwrap();

    let resumed = client.ok("session_resume", json!({ "session_name": session }));
    assert_eq!(resumed.str("plan"), stored);
    assert_eq!(
        resumed.str("next_step"),
        format!(
            "Cannot read {}: it is not UTF-8 at byte 13. The text of plan {id} in this reply is as it was stored before. Put \
             the file right first, then go on with the plan and end it with 9plan_plan_complete.",
            path.display()
        )
    );
    fs::write(&path, "# Notes\nprogress\n").unwrap();
    let resumed = client.ok("session_resume", json!({ "session_name": session }));
    assert_eq!(resumed.str("plan"), "# Notes\nprogress\n");
    assert!(resumed.str("next_step").starts_with(&format!("Go on with plan {id}; ")));
}
