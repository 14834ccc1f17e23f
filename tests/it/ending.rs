//! How the server ends: with its input, on a signal, and when nobody reads its answers any more; always within a second.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Client, STATELESS, World, only_text, plan};

/// How long an end may take.
const SOON: Duration = Duration::from_secs(1);

#[cfg(unix)]
#[track_caller]
fn signal(client: &Client, signal: &str) {
    let process = client.process_id().to_string();
    assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
}

/// Waits for the end, which must be a good one and come soon.
#[track_caller]
fn assert_ends(client: &mut Client, since: Instant) {
    assert_eq!(client.ended().status.code(), Some(0));
    let taken = since.elapsed();
    assert!(taken < SOON, "{taken:?}");
}

#[test]
fn the_end_of_input_ends_the_server_well() {
    let world = World::new();
    for mut client in [world.server().connect(), world.client(), world.server().protocol(STATELESS).start()] {
        let now = Instant::now();
        client.end_input();
        assert_ends(&mut client, now);
    }
    let empty = world.run(&[]);
    assert_eq!((empty.status.code(), empty.stdout), (Some(0), Vec::new()));
}

#[test]
fn calls_that_are_in_flight_when_the_input_ends_are_answered() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    let sent: Vec<u64> = (0..50).map(|_| client.send_call("queue_add", plan("goal"))).collect();
    client.end_input();
    for (position, id) in (1..).zip(sent) {
        assert_eq!(client.reply(id).fields["queue_position"], position);
    }
    assert_ends(&mut client, Instant::now());
}

#[test]
fn a_call_that_waits_for_a_busy_database_is_answered_when_the_input_ends() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    client.add("A");
    let held = world.hold(&session);
    let id = client.send_call("queue_add", plan("B"));
    let now = Instant::now();
    client.end_input();
    let text = only_text(&client.result(id));
    assert!(text.starts_with(&format!("[Session: {session}] Error: DATABASE_ERROR\n\n")), "{text}");
    assert_ends(&mut client, now);
    drop(held);
    let mut client = world.client();
    let resumed = client.ok("session_resume", json!({ "session_name": session }));
    assert_eq!(resumed.fields["queue_length"], 1);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_well_with_its_input_open() {
    for name in ["-TERM", "-INT"] {
        let world = World::new();
        for mut client in [world.client(), world.server().protocol(STATELESS).start()] {
            client.create("t");
            let now = Instant::now();
            signal(&client, name);
            assert_ends(&mut client, now);
        }
        let mut unused = world.server().connect();
        // A question before any handshake shows that it is up.
        unused.write_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        unused.line();
        let now = Instant::now();
        signal(&unused, name);
        assert_ends(&mut unused, now);
    }
}

#[cfg(unix)]
#[test]
fn a_signal_is_not_kept_waiting_by_a_busy_database() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    client.add("A");
    let held = world.hold(&session);
    let waiting: Vec<u64> = (0..2).map(|_| client.send_call("queue_add", plan("B"))).collect();
    // The answer shows that both calls were read.
    client.request("ping", json!({}));
    let now = Instant::now();
    signal(&client, "-TERM");
    for id in waiting {
        assert!(only_text(&client.result(id)).contains("DATABASE_ERROR"));
    }
    assert_ends(&mut client, now);
    drop(held);
}

#[test]
fn a_server_whose_answers_nobody_reads_ends() {
    let world = World::new();
    let mut server = world.server().command;
    let mut child = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    // The input stays open until the server has ended.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(input);
}
