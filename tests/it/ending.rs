//! How the server ends: with its input, on a signal, and when nobody reads its answers any more; within a second, unless
//! somebody is still reading.

use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Client, PATIENCE, STATELESS, World, failure, list_tools, plan};

/// How long an end may take.
const SOON: Duration = Duration::from_secs(1);

/// Sends a signal, on systems that have them.
#[track_caller]
fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
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
    for mut client in [
        world.client(),
        #[cfg(unix)]
        world.server().sockets().start(),
    ] {
        client.create("t");
        let sent: Vec<u64> = (0..50).map(|_| client.send_call("queue_add", plan("goal"))).collect();
        client.end_input();
        for (position, id) in (1..).zip(sent) {
            assert_eq!(client.reply(id).fields["queue_position"], position);
        }
        assert_ends(&mut client, Instant::now());
    }
}

#[cfg(unix)]
#[test]
fn a_signal_among_many_calls_ends_the_server_soon_and_what_it_did_is_answered() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let sent: Vec<u64> = (0..900).map(|_| client.send_call("queue_add", plan("goal"))).collect();
    client.reply(sent[0]);
    let now = Instant::now();
    signal(client.process_id(), "-TERM");
    let answered = 1 + sent[1..].iter().take_while(|id| client.last_result(**id).is_some()).count();
    assert_ends(&mut client, now);
    let resumed = world.client().ok("session_resume", json!({ "session_name": session }));
    let added = resumed.fields["queue_length"].as_u64().unwrap();
    // When the time is over, one may be done and not answered yet, and the next one under way.
    assert!((answered as u64..=answered as u64 + 2).contains(&added), "{added} added, {answered} answered");
}

#[test]
fn calls_that_wait_for_a_busy_database_are_answered_when_the_input_ends() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    client.add("A");
    let held = world.hold(&session);
    let waiting: Vec<u64> = (0..30).map(|_| client.send_call("queue_add", plan("B"))).collect();
    let now = Instant::now();
    client.end_input();
    for id in waiting {
        let text = failure(&client.result(id));
        assert!(text.starts_with(&format!("[Session: {session}] Error: DATABASE_ERROR\n\n")), "{text}");
    }
    assert_ends(&mut client, now);
    drop(held);
    let resumed = world.client().ok("session_resume", json!({ "session_name": session }));
    assert_eq!(resumed.fields["queue_length"], 1);
}

#[test]
fn answers_are_written_to_the_end_for_who_reads_slowly() {
    let world = World::new();
    let (mut child, mut input, mut output) = world.pipes();
    for id in 0..100 {
        input.write_all(list_tools(id).as_bytes()).unwrap();
    }
    drop(input);
    // More than a pipe holds, and byte by byte, so that it takes a while.
    let (mut byte, mut lines, mut bytes) = ([0], 0, 0);
    while output.read(&mut byte).unwrap() == 1 {
        bytes += 1;
        lines += usize::from(byte == *b"\n");
    }
    assert_eq!((lines, child.wait().unwrap().code()), (100, Some(0)));
    assert!(bytes > 1 << 20, "{bytes} bytes");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_well_with_its_input_open() {
    for name in ["-TERM", "-INT"] {
        let world = World::new();
        for mut client in [world.client(), world.server().protocol(STATELESS).start(), world.server().sockets().start()]
        {
            client.create("t");
            let now = Instant::now();
            signal(client.process_id(), name);
            assert_ends(&mut client, now);
        }
        let mut unused = world.server().connect();
        // A question before any handshake shows that it is up.
        unused.write_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        unused.line();
        let now = Instant::now();
        signal(unused.process_id(), name);
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
    let waiting: Vec<u64> = (0..20).map(|_| client.send_call("queue_add", plan("B"))).collect();
    // The answer shows that the calls were read.
    client.request("ping", json!({}));
    let now = Instant::now();
    signal(client.process_id(), "-TERM");
    for id in waiting {
        assert!(failure(&client.result(id)).contains("Error: DATABASE_ERROR"));
    }
    assert_ends(&mut client, now);
    drop(held);
}

/// Waits for the end of a process, which must be a good one.
#[track_caller]
fn assert_ended(mut child: Child) {
    let (ended, end) = channel();
    thread::spawn(move || ended.send(child.wait().unwrap().code()));
    assert_eq!(end.recv_timeout(PATIENCE), Ok(Some(0)));
}

#[test]
fn a_server_whose_answers_nobody_reads_ends() {
    let world = World::new();
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    // The output is closed; the input stays open until the server has ended.
    let (child, mut input, output) = world.pipes();
    drop(output);
    input.write_all(ping).unwrap();
    assert_ended(child);

    // Both stay open, but nothing is read: the input ends, or there is a signal.
    for signalled in [false, cfg!(unix)] {
        let (child, mut input, output) = world.pipes();
        for _ in 0..10_000 {
            input.write_all(ping).unwrap();
        }
        let input = if signalled {
            signal(child.id(), "-TERM");
            Some(input)
        } else {
            drop(input);
            None
        };
        assert_ended(child);
        drop((input, output));
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_call_that_never_ends_keeps_no_server() {
    let world = World::new();
    for signalled in [false, cfg!(unix)] {
        let mut client = world.client();
        client.send("tools/call", json!({ "name": "hang" }));
        client.request("ping", json!({}));
        let now = Instant::now();
        if signalled {
            signal(client.process_id(), "-TERM");
        } else {
            client.end_input();
        }
        assert_ends(&mut client, now);
    }
}

#[cfg(all(unix, debug_assertions))]
#[test]
fn a_call_that_holds_up_all_others_does_not_hold_up_a_signal() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    // After one that took long, calls are made where nothing else waits for them; after many that did not, where all is done.
    for _ in 0..100 {
        client.ok("admin_state", json!({}));
    }
    // After a call others have their turn first. Now they have had it.
    client.request("ping", json!({}));
    client.send("tools/call", json!({ "name": "hang_here" }));
    // It is not answered, since nothing else is done where requests are taken up.
    client.send("ping", json!({}));
    let now = Instant::now();
    signal(client.process_id(), "-TERM");
    assert_ends(&mut client, now);
}
