//! Every version of the protocol: the same tools, prompt and instructions, each result in the form of its time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::calls::tools_with_a_session;
use crate::harness::{Client, STATELESS, World, only_text, plan};

const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The result of a request.
#[track_caller]
fn result(client: &mut Client, method: &str, params: Value) -> Value {
    let id = client.send(method, params);
    client.result(id)
}

fn names(result: &Value) -> BTreeSet<&str> {
    result.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Everything that is not about one session, and a call.
fn questions() -> [(&'static str, Value, &'static [&'static str]); 4] {
    [
        ("tools/list", json!({}), &["tools"]),
        ("prompts/list", json!({}), &["prompts"]),
        ("prompts/get", json!({ "name": "bootstrap" }), &["description", "messages"]),
        ("tools/call", json!({ "name": "9plan_admin_sessions" }), &["content", "isError", "structuredContent"]),
    ]
}

#[test]
fn with_a_handshake_results_have_the_form_of_their_version() {
    let world = World::new();
    for version in HANDSHAKES {
        let mut client = world.server().protocol(version).start();
        let hello = ["capabilities", "instructions", "protocolVersion", "serverInfo"];
        assert_eq!(names(&client.greeting), hello.into(), "{version}");
        for (method, params, fields) in questions() {
            let answered = result(&mut client, method, params);
            assert_eq!(names(&answered), fields.iter().copied().collect(), "{version} {method}");
        }
    }
}

#[test]
fn without_a_handshake_results_say_what_they_are_how_long_they_hold_and_who_answers() {
    let world = World::new();
    let mut client = world.server().protocol(STATELESS).start();
    let server = json!({ "name": "9plan", "title": "9plan", "version": env!("CARGO_PKG_VERSION") });
    let meta = json!({ "io.modelcontextprotocol/serverInfo": server });
    for (method, params, fields) in questions() {
        let answered = result(&mut client, method, params);
        let mut expected: BTreeSet<&str> = fields.iter().copied().collect();
        expected.extend(["resultType", "_meta"]);
        if method.ends_with("/list") {
            expected.extend(["ttlMs", "cacheScope"]);
            assert_eq!((&answered["ttlMs"], &answered["cacheScope"]), (&json!(0), &json!("private")), "{method}");
        }
        assert_eq!(names(&answered), expected, "{method}");
        assert_eq!((&answered["resultType"], &answered["_meta"]), (&json!("complete"), &meta), "{method}");
    }
    for arguments in [json!({}), json!([])] {
        let failed = result(&mut client, "tools/call", json!({ "name": "9plan_queue_pull", "arguments": arguments }));
        assert_eq!(names(&failed), ["_meta", "content", "isError", "resultType"].into(), "{arguments}");
        assert_eq!((&failed["resultType"], &failed["_meta"]), (&json!("complete"), &meta), "{arguments}");
    }
}

#[test]
fn discovery_says_what_a_handshake_says() {
    let world = World::new();
    let greeting = world.client().greeting.clone();
    let mut client = world.server().protocol(STATELESS).start();
    let discovered = result(&mut client, "server/discover", json!({}));
    for field in ["capabilities", "instructions"] {
        assert_eq!(discovered[field], greeting[field], "{field}");
    }
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"], greeting["serverInfo"]);
    let versions: Vec<&str> = HANDSHAKES.into_iter().chain([STATELESS]).collect();
    assert_eq!(discovered["supportedVersions"], json!(versions));
    let hints = [&discovered["resultType"], &discovered["ttlMs"], &discovered["cacheScope"]];
    assert_eq!(hints, [&json!("complete"), &json!(0), &json!("private")]);
}

#[test]
fn every_version_offers_the_same_and_every_tool_works_in_it() {
    let world = World::new();
    let mut first: Option<Vec<Value>> = None;
    for version in HANDSHAKES.into_iter().chain([STATELESS]) {
        let mut client = world.server().protocol(version).start();
        let task = json!({ "name": "bootstrap", "arguments": { "task": "a task" } });
        let offered = vec![
            result(&mut client, "tools/list", json!({}))["tools"].take(),
            result(&mut client, "prompts/list", json!({}))["prompts"].take(),
            result(&mut client, "prompts/get", task)["messages"].take(),
        ];
        assert_eq!(first.get_or_insert_with(|| offered.clone()), &offered, "{version}");

        let session = client.create("t");
        let ids = ["A", "B", "C"].map(|goal| client.add(goal));
        client.ok("queue_pull", json!({}));
        client.ok("plan_defer", json!({ "reason": "r" }));
        client.ok("queue_pull", json!({}));
        client.ok("plan_complete", json!({ "outcome": "the outcome" }));
        client.ok("queue_pull", json!({}));
        client.ok("plan_discard", json!({ "reason": "r" }));
        let found = client.ok("history_search", json!({ "query": "outcome" }));
        assert_eq!(found.fields["matches"][0]["id"], ids[1], "{version}");
        assert_eq!(client.ok("history_get", json!({ "plan_id": ids[1] })).str("outcome"), "the outcome");
        assert_eq!(client.ok("admin_validate", json!({})).fields["valid"], true);
        assert_eq!(client.ok("admin_state", json!({})).fields["queue_length"], 1);
        assert_eq!(client.ok("admin_sessions", json!({})).fields["sessions"][0]["name"], session);
        client.ok("session_resume", json!({ "session_name": session }));
        // The same calls fail in the same words.
        for (tool, _) in tools_with_a_session() {
            let text = client.fails(tool, json!({ "nonsense": 1 }));
            assert!(text.starts_with(&format!("[Session: {session}] Error: VALIDATION_ERROR\n\n")), "{version} {text}");
        }
    }
}

#[test]
fn the_eras_share_what_a_connection_has_done() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let mut alone = json!({ "name": "9plan_queue_add", "arguments": plan("A") });
    alone["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let added = result(&mut client, "tools/call", alone);
    assert!(only_text(&added).starts_with(&format!("[Session: {session}]\n\n")));
    assert_eq!(added["resultType"], "complete");
    assert_eq!(client.ok("queue_pull", json!({})).str("goal"), "A");
}
