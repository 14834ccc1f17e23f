//! How a server over HTTP ends.

use std::io::BufRead;
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use serde_json::json;
use ureq::http::Request;

use super::{SOON, Served, plan_in, within};
use crate::harness::{STATELESS, World};

/// Waits for the end, which must be a good one and come soon.
#[track_caller]
fn assert_ends(served: &mut Served, since: Instant) {
    assert_eq!(served.ended().0.code(), Some(0));
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
        let now = Instant::now();
        served.signal(signal);
        assert_ends(&mut served, now);
        drop(stream);
    }
}

#[cfg(unix)]
#[test]
fn calls_that_are_under_way_at_a_signal_are_answered() {
    let world = World::new();
    let mut served = Served::launch(world.server().env("NINEPLAN_LOG_LEVEL", "debug"));
    let sessions = ["2025-11-25", STATELESS].map(|version| (version, served.client(STATELESS).create()));
    let held = sessions.each_ref().map(|(_, session)| world.hold(session));
    thread::scope(|scope| {
        let calls = sessions.each_ref().map(|(version, session)| {
            let mut client = served.client(version);
            scope.spawn(move || client.fails("queue_add", plan_in(session, "A")))
        });
        // Each waits for its database when its statement stands in the log.
        let mut waiting = 0;
        while waiting < calls.len() {
            let mut line = String::new();
            assert_ne!(served.stderr.read_line(&mut line).unwrap(), 0, "the server has ended");
            waiting += usize::from(line.contains("BEGIN IMMEDIATE"));
        }
        let now = Instant::now();
        served.signal("-TERM");
        for (call, (_, session)) in calls.into_iter().zip(&sessions) {
            let text = call.join().unwrap();
            assert!(text.starts_with(&format!("[Session: {session}] Error: DATABASE_ERROR")), "{text}");
        }
        assert_ends(&mut served, now);
    });
    drop(held);
    for (_, session) in &sessions {
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
