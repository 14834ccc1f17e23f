//! Calls that are sent without waiting: their order, their cancellation, and what a busy session holds up.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{PATIENCE, STATELESS, World, failure, list_tools, only_text, plan};

const ID_IN_USE: &str = "Invalid Request: the id is that of a request that is not answered yet, or was cancelled";

#[test]
fn five_hundred_pipelined_calls_of_all_kinds_take_effect_in_the_order_sent() {
    let world = World::new();
    for mut client in [
        world.client(),
        world.server().protocol(STATELESS).start(),
        #[cfg(unix)]
        world.server().sockets().start(),
    ] {
        client.create("t");
        let mut sent = Vec::new();
        for step in 0..500 {
            let (tool, arguments) = match step % 10 {
                0 | 3 => {
                    let mut arguments = plan(&format!("goal {step}"));
                    arguments["position"] = json!(if step % 10 == 0 { "back" } else { "front" });
                    ("queue_add", arguments)
                }
                1 | 6 => ("queue_pull", json!({})),
                2 => ("plan_defer", json!({ "reason": "r", "position": "back" })),
                7 if step % 20 == 7 => ("plan_discard", json!({ "reason": "r" })),
                7 => ("plan_complete", json!({ "outcome": format!("outcome {step}") })),
                4 => ("admin_state", json!({})),
                5 => ("queue_add", plan(&format!("goal {step}"))),
                8 => ("history_search", json!({ "query": "outcome" })),
                _ => ("admin_validate", json!({})),
            };
            sent.push((step, client.send_call(tool, arguments)));
        }
        let mut queue = VecDeque::new();
        let (mut active, mut completed) = (None, 0);
        for (step, id) in sent {
            let reply = client.reply(id).fields;
            match step % 10 {
                0 | 5 => queue.push_back(format!("goal {step}")),
                3 => queue.push_front(format!("goal {step}")),
                1 | 6 => {
                    active = queue.pop_front();
                    assert_eq!(reply["goal"], json!(active), "{step}");
                }
                2 => queue.extend(active.take()),
                7 => {
                    active = None;
                    completed += u64::from(step % 20 != 7);
                    assert_eq!(reply["completed_count"], completed, "{step}");
                }
                4 => {
                    let goals: Vec<_> =
                        reply["queue"].as_array().unwrap().iter().map(|item| item["goal"].clone()).collect();
                    let expected: Vec<_> = queue.iter().take(100).map(|goal| json!(goal)).collect();
                    assert_eq!(goals, expected, "{step}");
                }
                8 => assert_eq!(reply["total_matches"], completed, "{step}"),
                _ => assert_eq!(reply["valid"], true, "{step}"),
            }
        }
    }
}

#[test]
fn a_busy_database_is_waited_for_and_holds_up_nothing_but_its_session() {
    let world = World::new();
    let (mut client, mut other) = (world.client(), world.client());
    let session = client.create("t");
    let held = world.hold(&session);
    let waiting = client.send_call("queue_add", plan("A"));
    // The same connection still answers what is about no session, and another one goes on.
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"].as_array().map(Vec::len), Some(12));
    other.create("u");
    other.add("B");
    drop(held);
    assert_eq!(client.reply(waiting).fields["queue_position"], 1);
}

#[test]
fn a_call_that_is_cancelled_before_its_turn_does_nothing_and_is_not_answered() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let held = world.hold(&session);
    let [first, second, third] = ["A", "B", "C"].map(|goal| client.send_call("queue_add", plan(goal)));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": second } });
    client.write_bytes(format!("{cancel}\n").as_bytes());
    // The answer shows that the cancellation was read.
    client.request("ping", json!({}));
    // Its id is not free again: an answer under it would be that of the one or the other.
    client.write_bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{second},\"method\":\"ping\"}}\n").as_bytes());
    assert_eq!(client.answer(second)["error"]["message"], ID_IN_USE);
    drop(held);
    assert_eq!(client.reply(first).fields["queue_position"], 1);
    assert_eq!(client.reply(third).fields["queue_position"], 2);
    // Nothing else was written: that is looked at when the server has ended.
    assert_eq!(client.exit().status.code(), Some(0));
}

#[test]
fn a_call_that_is_cancelled_while_it_runs_is_whole_and_not_answered() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let held = world.hold(&session);
    let running = client.send_call("queue_add", plan("A"));
    client.request("ping", json!({}));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": running } });
    client.write_bytes(format!("{cancel}\n").as_bytes());
    client.request("ping", json!({}));
    drop(held);
    let state = client.ok("admin_state", json!({})).fields;
    assert_eq!((&state["queue_length"], &state["file_db_match"]), (&json!(1), &json!(true)));
    assert_eq!(client.exit().status.code(), Some(0));
}

#[test]
fn an_id_that_is_still_in_use_is_refused() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let held = world.hold(&session);
    let id = client.send_call("queue_add", plan("A"));
    client.write_bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").as_bytes());
    let refused = client.answer(id);
    assert_eq!(refused["error"], json!({ "code": -32600, "message": ID_IN_USE }));
    drop(held);
    assert_eq!(only_text(&client.result(id)).lines().next(), Some(&*format!("[Session: {session}]")));
}

#[test]
fn a_database_that_stays_busy_is_reported_to_all_that_wait_for_it_at_once() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    client.add("A");
    let held = world.hold(&session);
    let now = Instant::now();
    let waiting: Vec<u64> = (0..10).map(|_| client.send_call("queue_add", plan("B"))).collect();
    for id in waiting {
        let text = failure(&client.result(id));
        assert!(text.starts_with(&format!("[Session: {session}] Error: DATABASE_ERROR\n\n")), "{text}");
    }
    let taken = now.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_secs(10)).contains(&taken), "{taken:?}");
    drop(held);
    assert_eq!(client.ok("admin_state", json!({})).fields["queue_length"], 1);
}

#[test]
fn a_client_that_reads_all_the_time_may_ask_for_any_amount() {
    let world = World::new();
    let (mut child, mut input, mut output) = world.pipes();
    let writing = thread::spawn(move || (0..3_000).for_each(|id| input.write_all(list_tools(id).as_bytes()).unwrap()));
    let (done, read) = channel();
    thread::spawn(move || {
        let (mut buffer, mut lines, mut bytes) = (vec![0; 1 << 16], 0, 0);
        while let Ok(read @ 1..) = output.read(&mut buffer) {
            bytes += read;
            lines += buffer[..read].split(|byte| *byte == b'\n').count() - 1;
        }
        let _ = done.send((lines, bytes));
    });
    let (lines, bytes) = read.recv_timeout(PATIENCE).expect("all answers");
    writing.join().unwrap();
    assert_eq!((lines, child.wait().unwrap().code()), (3_000, Some(0)));
    // More than may wait to be read.
    assert!(bytes > 40 << 20, "{bytes} bytes");
}

#[test]
fn more_calls_than_may_be_under_way_are_all_made() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let held = world.hold(&session);
    let first = client.send_call("queue_add", plan("A"));
    let pings: Vec<String> =
        (10_000..13_000).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}")).collect();
    client.write_bytes(format!("[{}]\n", pings.join(",")).as_bytes());
    let states: Vec<u64> = (0..1_500).map(|_| client.send_call("admin_state", json!({}))).collect();
    drop(held);
    assert_eq!(client.reply(first).fields["queue_position"], 1);
    for id in 10_000..13_000 {
        assert_eq!(client.answer(id)["result"], json!({}));
    }
    for id in states {
        assert_eq!(client.reply(id).fields["queue_length"], 1);
    }
}

#[test]
fn answers_and_pings_come_between_calls_that_are_sent_without_waiting() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    let mut calls: VecDeque<u64> = (0..400).map(|_| client.send_call("queue_add", plan("goal"))).collect();
    let ping = client.send("ping", json!({}));
    let mut before = 0;
    loop {
        let id = serde_json::from_str::<serde_json::Value>(&client.line()).unwrap()["id"].as_u64().unwrap();
        if id == ping {
            break;
        }
        assert_eq!(Some(id), calls.pop_front());
        before += 1;
    }
    // The ping waits for no call but the one under way when it is read, and those before it may be answered first.
    assert!(before < 300, "{before} calls were answered before the ping");
    for id in calls {
        client.reply(id);
    }
}
