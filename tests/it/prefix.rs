//! `NINEPLAN_TOOL_PREFIX`: no text names a tool that there is not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::contract::scenario;
use crate::harness::{World, plan};

/// Everything that a server says in one whole conversation, errors of each kind that names tools included.
fn all_that_is_said(prefix: Option<&'static str>) -> (BTreeSet<String>, Vec<String>) {
    let world = World::new();
    let server = || match prefix {
        Some(prefix) => world.server().prefix(prefix),
        None => world.server(),
    };
    let mut client = server().start();
    let mut said = vec![client.greeting.to_string()];
    let listed = client.request("tools/list", json!({}))["result"]["tools"].take();
    let names = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    said.push(listed.to_string());
    said.push(client.request("prompts/list", json!({})).to_string());
    said.push(client.request("prompts/get", json!({ "name": "bootstrap" })).to_string());
    said.push(client.call("queue_pull", json!({})).to_string());
    let session = client.create("t");
    let completed = client.add("first");
    said.push(client.call("history_get", json!({ "plan_id": completed })).to_string());
    said.push(client.call("session_resume", json!({ "session_name": session })).to_string());
    said.push(client.call("plan_complete", json!({ "outcome": "o" })).to_string());
    client.ok("queue_pull", json!({}));
    for (tool, arguments) in [
        ("queue_pull", json!({})),
        ("history_get", json!({ "plan_id": completed })),
        ("history_get", json!({ "plan_id": "zzzzz" })),
        ("history_get", json!({})),
        ("history_get", json!([])),
        ("plan_complete", json!({ "outcome": "o" })),
        ("plan_complete", json!({ "outcome": "o" })),
        ("queue_pull", json!({})),
        ("session_resume", json!({ "session_name": session })),
        ("session_resume", json!({ "session_name": format!("{session}x") })),
        ("session_resume", json!({ "session_name": "zzzzz-zzzzz-zzzzz" })),
        ("queue_add", plan("second")),
        ("plan_complete", json!({ "outcome": "o" })),
    ] {
        said.push(client.call(tool, arguments).to_string());
    }
    let mut tools = scenario(&session, &completed);
    // What is queued was not put there by the scenario.
    tools.insert(0, ("plan_discard", json!({ "reason": "r", "session_name": session })));
    tools.insert(0, ("queue_pull", json!({ "session_name": session })));
    for (tool, mut arguments) in tools {
        if !["session_create", "admin_sessions"].contains(&tool) {
            arguments["session_name"] = json!(session);
        }
        said.push(client.ok(tool, arguments).fields.to_string());
    }
    said.push(server().start().call("queue_pull", json!({})).to_string());
    (names, said)
}

/// The words of a text that name a tool, if it is one of the twelve or looks like one.
fn tools_named(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').filter(|word| {
        [
            "session_create",
            "session_resume",
            "queue_",
            "plan_defer",
            "plan_complete",
            "plan_discard",
            "history_",
            "admin_",
        ]
        .iter()
        .any(|part| word.contains(part))
            && !["queue_position", "queue_length", "queue_order_preserved"].contains(word)
    })
}

fn assert_named_tools_exist(prefix: Option<&'static str>) {
    let (tools, said) = all_that_is_said(prefix);
    assert_eq!(tools.len(), 12);
    let mut named = BTreeSet::new();
    for text in &said {
        for tool in tools_named(text) {
            assert!(tools.contains(tool), "{tool} is no tool: {text}");
            named.insert(tool.to_owned());
        }
        if prefix.is_some() {
            assert!(!text.contains("9plan_"), "{text}");
        }
    }
    assert_eq!(named, tools, "the search for names finds all of them");
}

#[test]
fn every_tool_that_a_text_names_exists() {
    assert_named_tools_exist(None);
}

#[test]
fn another_prefix_stands_in_every_text() {
    assert_named_tools_exist(Some("nineplan_"));
}

#[test]
fn names_without_the_prefix_are_no_tools_under_another_one() {
    let world = World::new();
    let mut client = world.server().prefix("nineplan_").start();
    for name in ["9plan_session_create", "session_create"] {
        let answer = client.request("tools/call", json!({ "name": name, "arguments": {} }));
        assert_eq!((&answer["error"]["code"], answer.get("result")), (&json!(-32602), None::<&Value>));
    }
    client.create("t");
    assert_eq!(client.add("goal").len(), 5);
}
