//! How a server over HTTP ends.

use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use serde_json::json;
use ureq::http::Request;

use super::{SOON, Served, WAITS, plan_in, read_failure, within};
use crate::harness::{STATELESS, World};

/// Waits for the end, which must be a good one and come soon.
#[track_caller]
fn assert_ends(served: &mut Served, since: Instant) {
    assert_eq!(served.ended().code(), Some(0));
    let taken = since.elapsed();
    assert!(taken < SOON, "{taken:?}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_well() {
    for signal in ["-TERM", "-INT"] {
        let world = World::new();
        let mut served = Served::start(&world);
        let mut client = served.client("2025-11-25");
        client.create();
        // A stream on which the server could speak by itself stays open.
        let stream = Request::get(&client.url)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", client.session.as_deref().unwrap());
        let stream = client.agent.run(stream.body(()).unwrap()).unwrap();
        assert_eq!(stream.status(), 200);
        served.signal(signal);
        assert_ends(&mut served, Instant::now());
        drop(stream);
    }
}

#[cfg(unix)]
#[test]
fn calls_that_are_under_way_at_a_signal_are_answered() {
    let world = World::new();
    let mut served = Served::launch(world.server().env("NINEPLAN_LOG_LEVEL", "debug"));
    let client = served.stranger(STATELESS);
    let sessions = [served.client(STATELESS).create(), served.client(STATELESS).create()];
    let held = sessions.each_ref().map(|session| world.hold(session));
    // One waits for each database, the others for their turn.
    let calls: Vec<_> = sessions
        .iter()
        .flat_map(|session| [session; 5])
        .map(|it| client.leave("queue_add", plan_in(it, "A")))
        .collect();
    let mut connected = served.client("2025-11-25");
    thread::scope(|scope| {
        let last = scope.spawn(|| connected.fails("queue_add", plan_in(&sessions[0], "A")));
        served.wait_for_log(WAITS, 9);
        let now = Instant::now();
        served.signal("-TERM");
        for text in calls.into_iter().map(read_failure).chain([last.join().unwrap()]) {
            assert!(text.contains("Error: DATABASE_ERROR"), "{text}");
        }
        assert_ends(&mut served, now);
    });
    drop(held);
    for session in &sessions {
        let state = world.client().ok("admin_state", within(session, json!({}))).fields;
        assert_eq!(state["queue_length"], 0);
    }
}

#[test]
fn an_address_that_is_taken_is_a_failure_that_names_it() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let server = world.server().env("NINEPLAN_TRANSPORT", "http").env("NINEPLAN_HTTP_PORT", &port.to_string());
    let output = server.run(&[]);
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(log.contains(&format!("http://127.0.0.1:{port}/mcp: ")), "{log}");
    assert_eq!(log.lines().count(), 1, "{log}");
}
