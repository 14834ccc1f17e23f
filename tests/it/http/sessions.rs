//! Many clients on one server: what each sees of the others, and what one holds up.

use std::io::{ErrorKind, Read};
use std::thread;

use serde_json::json;

use super::{BEGIN, Client, Served, WAITS, plan_in, within};
use crate::harness::{STATELESS, World, names_in, plan};

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
        let served = Served::launch(world.server().env("NINEPLAN_LOG_LEVEL", "debug"));
        let mut client = served.client(STATELESS);
        if opened {
            (busy, free) = (client.create(), client.create());
            client.ok("queue_add", plan_in(&busy, "A"));
        }
        client.ok("queue_add", plan_in(&free, "B"));
        let held = world.hold(&busy);
        let waiting: Vec<_> = (0..40).map(|_| client.leave("queue_add", plan_in(&busy, "C"))).collect();
        served.wait_for_log(WAITS, waiting.len() - 1);
        // Who waits takes no thread: those are for the sessions that can go on.
        #[cfg(target_os = "linux")]
        {
            let threads = std::fs::read_dir(format!("/proc/{}/task", served.child.id())).unwrap().count();
            assert!(threads < 20, "{threads} threads");
        }
        for mut client in [served.client(STATELESS), served.client("2025-11-25")] {
            client.ok("session_resume", within(&free, json!({})));
            assert_eq!(client.ok("history_search", within(&free, json!({ "query": "x" }))).fields["total_matches"], 0);
        }
        assert_eq!(client.ok("queue_pull", within(&free, json!({}))).str("goal"), "B");
        client.ok("plan_complete", within(&free, json!({ "outcome": "o" })));
        client.ok("admin_sessions", json!({}));
        // All that was answered while none of the others was.
        for stream in &waiting {
            stream.set_nonblocking(true).unwrap();
            assert!(stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
            stream.set_nonblocking(false).unwrap();
        }
        drop(held);
        for mut stream in waiting {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.contains("\"isError\":false"), "{answer}");
        }
    }
}

#[test]
fn a_call_whose_client_has_gone_before_its_turn_does_nothing() {
    let world = World::new();
    let served = Served::launch(world.server().env("NINEPLAN_LOG_LEVEL", "debug"));
    let mut client = served.client(STATELESS);
    let session = client.create();
    let held = world.hold(&session);
    let first = client.leave("queue_add", plan_in(&session, "first"));
    served.wait_for_log(BEGIN, 1);
    let gone: Vec<_> = (0..3).map(|_| client.leave("queue_add", plan_in(&session, "gone"))).collect();
    served.wait_for_log(WAITS, gone.len());
    drop(gone);
    // What these ask comes after the news that the others have gone.
    client.ok("admin_sessions", json!({}));
    client.ok("admin_sessions", json!({}));
    drop(held);
    let queue = client.ok("admin_state", within(&session, json!({}))).fields["queue"].take();
    let goals: Vec<_> = queue.as_array().unwrap().iter().map(|item| item["goal"].clone()).collect();
    assert_eq!(goals, ["first"]);
    drop(first);
}

#[test]
fn an_id_that_is_still_in_use_is_refused() {
    let world = World::new();
    let served = Served::launch(world.server().env("NINEPLAN_LOG_LEVEL", "debug"));
    let mut client = served.client("2025-11-25");
    let session = client.create();
    let held = world.hold(&session);
    let twin = Client { last_id: client.last_id, session: client.session.clone(), ..served.stranger("2025-11-25") };
    let mut twins = [twin, served.client("2025-11-25")];
    twins[1].last_id = client.last_id;
    thread::scope(|scope| {
        let first = scope.spawn(|| client.ok("queue_add", plan_in(&session, "A")).fields);
        served.wait_for_log(BEGIN, 1);
        let refused = twins[0].post("ping", json!({}));
        let message = "Invalid Request: the id is that of a request that is not answered yet";
        assert_eq!((refused.status, &refused.message()["error"]["message"]), (400, &json!(message)));
        // On another connection it is another one.
        assert_eq!(twins[1].result("ping", json!({})), json!({}));
        drop(held);
        assert_eq!(first.join().unwrap()["queue_position"], 1);
    });
    // Answered, it is free again; that it is used twice is then the client's own affair.
    twins[0].last_id -= 1;
    assert_eq!(twins[0].result("ping", json!({})), json!({}));
}

#[test]
fn a_further_connection_takes_the_place_of_the_one_that_was_silent_for_longest() {
    let world = World::new();
    let served = Served::start(&world);
    let mut clients: Vec<Client> = (0..500).map(|_| served.client("2025-11-25")).collect();
    let mut asks = |number: usize| clients[number].post("ping", json!({})).status;
    assert_eq!(asks(0), 200);
    served.client("2025-11-25");
    assert_eq!([asks(0), asks(1), asks(2)], [200, 404, 200]);
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
        // SQLite may keep a file open twice for a while, lest closing it lose the locks on it.
        targets.filter(|path| path.ends_with("session.db")).collect::<std::collections::BTreeSet<_>>().len()
    };
    let sessions: Vec<String> = (0..50).map(|_| client.create()).collect();
    for goal in ["A", "B"] {
        for session in &sessions {
            client.ok("queue_add", plan_in(session, goal));
        }
        assert_eq!(open(), 32);
    }
    thread::scope(|scope| {
        for session in &sessions {
            let mut client = served.client(STATELESS);
            scope.spawn(move || client.ok("queue_pull", within(session, json!({}))));
        }
    });
    // However many were used at once.
    assert!(open() <= 32, "{} are open", open());
    for session in &sessions {
        assert_eq!(client.ok("admin_state", within(session, json!({}))).fields["queue_length"], 1);
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
    let again = ureq::http::Request::delete(&client.url).header("mcp-session-id", &id).body(String::new()).unwrap();
    assert_eq!(client.run(again).status, 404);
    client.session = Some("nonsense".to_owned());
    assert_eq!(ask(&mut client), 404);
    client.session = None;
    assert_eq!(ask(&mut client), 400);
    let unnamed = ureq::http::Request::delete(&client.url).body(String::new()).unwrap();
    assert_eq!(client.run(unnamed).status, 400);
}

#[test]
fn nothing_is_bound_to_where_the_server_happens_to_have_been_started() {
    let world = World::new();
    let at_home = || world.server().env("CLAUDE_CODE_SESSION_ID", "c-1");
    let served = Served::launch(at_home());
    let mut client = served.client("2025-11-25");
    let session = client.create();
    client.ok("session_resume", within(&session, json!({})));
    assert_eq!(names_in(&world.root()), [session.clone()].into());
    // A session that is bound there is offered to who works there, and not to who comes over HTTP.
    at_home().start().ok("session_resume", json!({ "session_name": session }));
    let last_line =
        |greeting: &serde_json::Value| greeting["instructions"].as_str().unwrap().lines().last().unwrap().to_owned();
    assert!(last_line(&at_home().start().greeting).contains(&session));
    let mut discovered = served.client(STATELESS).result("server/discover", json!({}));
    assert!(!last_line(&discovered.take()).contains(&session));
    assert!(served.client("2025-11-25").fails("admin_state", json!({})).starts_with("[Session: none]"));
}
