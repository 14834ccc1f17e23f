//! What a client is told before it calls anything, and that every reply is as was told.

use serde_json::{Map, Value, json};

use crate::harness::{Client, STATELESS, World, only_text, plan};

/// The tools, in the contract's order, each with what it does to a session.
const TOOLS: [(&str, Effect); 12] = [
    ("session_create", Effect::Adds),
    ("session_resume", Effect::Reads),
    ("queue_add", Effect::Adds),
    ("queue_pull", Effect::Adds),
    ("plan_defer", Effect::Adds),
    ("plan_complete", Effect::Adds),
    ("plan_discard", Effect::Destroys),
    ("history_search", Effect::Reads),
    ("history_get", Effect::Reads),
    ("admin_validate", Effect::Reads),
    ("admin_sessions", Effect::Reads),
    ("admin_state", Effect::Reads),
];

#[derive(PartialEq)]
enum Effect {
    Reads,
    Adds,
    Destroys,
}

#[track_caller]
fn tools(client: &mut Client) -> Vec<Value> {
    match client.request("tools/list", json!({}))["result"]["tools"].take() {
        Value::Array(tools) => tools,
        other => panic!("{other}"),
    }
}

#[test]
fn the_twelve_tools_are_listed_in_order_in_both_eras() {
    let world = World::new();
    let wanted: Vec<String> = TOOLS.iter().map(|(name, _)| format!("9plan_{name}")).collect();
    for protocol in ["2024-11-05", "2025-11-25", STATELESS] {
        let listed = tools(&mut world.server().protocol(protocol).start());
        assert_eq!(listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn titles_and_annotations_are_all_set() {
    for (tool, (name, effect)) in tools(&mut World::new().client()).iter().zip(TOOLS) {
        let title = tool["title"].as_str().unwrap();
        assert!(!title.is_empty() && !title.contains('_'), "{title}");
        let expected = json!({
            "title": title,
            "readOnlyHint": effect == Effect::Reads,
            "destructiveHint": effect == Effect::Destroys,
            "idempotentHint": effect == Effect::Reads,
            "openWorldHint": false,
        });
        assert_eq!(tool["annotations"], expected, "{name}");
        let always = ["session_create", "session_resume", "queue_pull"].contains(&name);
        let meta = if always { json!({ "anthropic/alwaysLoad": true }) } else { Value::Null };
        assert_eq!(tool.get("_meta").cloned().unwrap_or_default(), meta, "{name}");
    }
}

/// Fails where a schema says something that some client chokes on.
fn assert_plain(schema: &Value, place: &str) {
    let object = schema.as_object().unwrap();
    for keyword in ["$schema", "$ref", "$defs", "format", "oneOf", "anyOf", "allOf", "const"] {
        assert!(!object.contains_key(keyword), "{keyword} in {place}");
    }
    assert!(object["type"].is_string(), "the type of {place} is {}", object["type"]);
    for (name, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        assert_plain(property, &format!("{place}.{name}"));
    }
    if let Some(choices) = object.get("enum") {
        assert!(choices.as_array().unwrap().iter().all(Value::is_string), "{choices} in {place}");
    }
}

#[test]
fn input_schemas_fit_every_client() {
    for tool in tools(&mut World::new().client()) {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        assert_plain(schema, name);
        assert_eq!(schema["type"], "object", "{name}");
        let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("{name} has no properties"));
        let session_is_named = properties.contains_key("session_name");
        assert_eq!(session_is_named, !["9plan_session_create", "9plan_admin_sessions"].contains(&name), "{name}");
        for required in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{required} of {name}");
        }
        for (property, schema) in properties {
            assert!(schema["description"].as_str().is_some_and(|text| !text.is_empty()), "{property} of {name}");
        }
    }
}

#[test]
fn required_arguments_and_choices_are_those_of_the_contract() {
    let listed = tools(&mut World::new().client());
    let schema = |name: &str| {
        let name = format!("9plan_{name}");
        &listed.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"]
    };
    for (name, required) in [
        ("session_create", json!(null)),
        ("session_resume", json!(["session_name"])),
        ("queue_add", json!(["context", "goal", "approach", "success_criteria"])),
        ("queue_pull", json!(null)),
        ("plan_defer", json!(["reason"])),
        ("plan_complete", json!(["outcome"])),
        ("plan_discard", json!(["reason"])),
        ("history_search", json!(["query"])),
        ("history_get", json!(["plan_id"])),
        ("admin_validate", json!(null)),
        ("admin_sessions", json!(null)),
        ("admin_state", json!(null)),
    ] {
        assert_eq!(schema(name).get("required").cloned().unwrap_or_default(), required, "{name}");
    }
    for name in ["queue_add", "plan_defer"] {
        assert_eq!(schema(name)["properties"]["position"]["enum"], json!(["front", "back"]), "{name}");
    }
    for (name, argument, most, usual) in
        [("history_search", "max_results", 50, 10), ("admin_sessions", "limit", 200, 50)]
    {
        let number = &schema(name)["properties"][argument];
        let bounds = ["type", "minimum", "maximum", "default"].map(|keyword| number[keyword].clone());
        assert_eq!(bounds, [json!("integer"), json!(1), json!(most), json!(usual)], "{argument}");
    }
}

#[test]
fn what_a_model_is_shown_is_short() {
    let world = World::new();
    let listed = tools(&mut world.client());
    let shown: Vec<Value> = listed
        .iter()
        .map(|tool| {
            assert!(tool["description"].as_str().unwrap().chars().count() <= 600, "{}", tool["name"]);
            json!({ "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"] })
        })
        .collect();
    let bytes = serde_json::to_string(&shown).unwrap().len();
    assert!(bytes <= 8_000, "{bytes} bytes");
}

#[test]
fn instructions_are_short_and_the_same_in_both_eras() {
    let world = World::new();
    let older = world.client().greeting.take();
    let newer = world.server().protocol(STATELESS).start().request("server/discover", json!({}))["result"].take();
    let instructions = older["instructions"].as_str().unwrap();
    assert!(instructions.chars().count() <= 2_000, "{} characters", instructions.chars().count());
    assert!(instructions.contains("9plan_session_resume"));
    assert_eq!(newer["instructions"], instructions);
    assert!(newer["supportedVersions"].as_array().unwrap().contains(&json!(STATELESS)), "{newer}");
}

#[test]
fn the_bootstrap_prompt_is_listed_with_its_argument() {
    let mut client = World::new().client();
    let listed = client.request("prompts/list", json!({}))["result"]["prompts"].take();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["name"], "bootstrap");
    let arguments = listed[0]["arguments"].as_array().unwrap();
    assert_eq!((arguments.len(), &arguments[0]["name"], &arguments[0]["required"]), (1, &json!("task"), &json!(false)));
}

#[test]
fn the_bootstrap_prompt_holds_the_task_where_there_is_one() {
    let mut client = World::new().client();
    let mut prompt = |arguments: Value| {
        let id = client.send("prompts/get", json!({ "name": "bootstrap", "arguments": arguments }));
        let messages = client.result(id)["messages"].take();
        assert_eq!((messages.as_array().unwrap().len(), &messages[0]["role"]), (1, &json!("user")));
        messages[0]["content"]["text"].as_str().unwrap().to_owned()
    };
    let without = prompt(json!({}));
    let steps = ["CLARIFY", "9plan_session_create", "DECOMPOSE", "Inputs", "9plan_queue_add", "9plan_queue_pull"];
    let places: Vec<usize> = steps.iter().map(|step| without.find(step).unwrap_or_else(|| panic!("{step}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    for point in ["three to five plans", "\"write tests\"", "reverse order", "whole message"] {
        assert!(without.contains(point), "{point}");
    }
    assert_eq!(prompt(json!({ "task": "Show posts" })), format!("{without}\n\nTHE TASK\nShow posts"));
    for nothing in [json!({ "task": "" }), json!({ "task": " \n" }), json!({ "task": null })] {
        assert_eq!(prompt(nothing), without);
    }
    for bad in [json!({ "task": 7 }), json!({ "what": "x" })] {
        let answer = client.request("prompts/get", json!({ "name": "bootstrap", "arguments": bad }));
        assert_eq!(answer["error"]["code"], -32602);
    }
}

/// Fails where `value` does not conform to `schema`, or the schema has a keyword that this does not know.
fn assert_conforms(schema: &Value, value: &Value, place: &str) {
    for (keyword, wanted) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "description" => {}
            "minimum" => assert!(value.as_f64() >= wanted.as_f64(), "{place} is {value}"),
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                assert!(types.iter().any(|kind| is(kind.as_str().unwrap(), value)), "{place} is {value}, not {wanted}");
            }
            "anyOf" => {
                let of_its_type = |schema: &&Value| is(schema["type"].as_str().unwrap(), value);
                let schema = wanted.as_array().unwrap().iter().find(of_its_type);
                assert_conforms(schema.unwrap_or_else(|| panic!("{place}: {value}")), value, place);
            }
            "properties" => {
                let known: &Map<String, Value> = wanted.as_object().unwrap();
                for (name, inner) in value.as_object().into_iter().flatten() {
                    let inner_schema = known.get(name).unwrap_or_else(|| panic!("{place}.{name} is not declared"));
                    assert_conforms(inner_schema, inner, &format!("{place}.{name}"));
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    let has = value.get(name.as_str().unwrap()).is_some();
                    assert!(has || !value.is_object(), "{place} lacks {name}");
                }
            }
            "items" => {
                for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
                    assert_conforms(wanted, inner, &format!("{place}[{index}]"));
                }
            }
            other => panic!("the checker does not know {other} in {place}"),
        }
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

/// Calls every tool, most of them both when there is much to tell and when there is little.
pub fn scenario(session: &str, completed: &str) -> Vec<(&'static str, Value)> {
    let mut with_all = plan("all fields");
    with_all["inputs"] = json!("- an input");
    with_all["outputs"] = json!("- an output");
    with_all["position"] = json!("front");
    vec![
        ("admin_sessions", json!({})),
        ("session_create", json!({})),
        ("admin_state", json!({})),
        ("session_resume", json!({ "session_name": session })),
        ("history_search", json!({ "query": "nothing yet" })),
        ("queue_add", plan("goal")),
        ("queue_add", with_all),
        ("queue_pull", json!({})),
        ("session_resume", json!({ "session_name": session })),
        ("admin_state", json!({})),
        ("plan_defer", json!({ "reason": "r" })),
        ("queue_pull", json!({})),
        ("plan_complete", json!({ "outcome": "an outcome" })),
        ("queue_pull", json!({})),
        ("plan_discard", json!({ "reason": "r" })),
        ("history_search", json!({ "query": "outcome" })),
        ("history_search", json!({ "query": "outcone" })),
        ("history_get", json!({ "plan_id": completed })),
        ("admin_validate", json!({})),
        ("admin_sessions", json!({ "limit": 1 })),
    ]
}

/// A text with every run of white space as one space, since lists put a text on one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Fails where a text or a whole number of the structured content does not stand in the text of the reply.
fn assert_says(text: &str, value: &Value, place: &str) {
    match value {
        Value::String(part) => assert!(text.contains(&words(part)), "{place} is {part:?}, which is not in {text}"),
        Value::Number(number) => {
            // Nothing may be said in words, and a score is rounded.
            let said = number.is_f64() || *value == 0 || text.contains(&number.to_string());
            assert!(said, "{place} is {number}, which is not in {text}");
        }
        Value::Array(items) => items.iter().for_each(|item| assert_says(text, item, place)),
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| *name != "session_name") {
                assert_says(text, field, &format!("{place}.{name}"));
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn every_reply_conforms_to_the_output_schema_of_its_tool_and_says_it_in_words() {
    for protocol in ["2025-06-18", STATELESS] {
        let world = World::new();
        let mut client = world.server().protocol(protocol).start();
        let listed = tools(&mut client);
        let session = client.create("t");
        let completed = client.add("first");
        client.ok("queue_pull", json!({}));
        client.ok("plan_complete", json!({ "outcome": "first outcome" }));
        let mut called: Vec<String> = Vec::new();
        for (tool, mut arguments) in scenario(&session, &completed) {
            if !["session_create", "admin_sessions"].contains(&tool) {
                arguments["session_name"] = json!(session);
            }
            let reply = client.ok(tool, arguments);
            let name = format!("9plan_{tool}");
            let schema = &listed.iter().find(|listed| listed["name"] == name).unwrap()["outputSchema"];
            assert_conforms(schema, &reply.fields, tool);
            assert_says(&words(&reply.text), &reply.fields, tool);
            called.push(name);
        }
        for tool in &listed {
            assert!(called.iter().any(|name| tool["name"] == *name), "{} was not called", tool["name"]);
        }
    }
}

#[test]
fn a_list_of_no_sessions_conforms_too() {
    let world = World::new();
    let mut client = world.client();
    let schema = tools(&mut client)[10]["outputSchema"].take();
    let result = client.call("admin_sessions", json!({}));
    assert_eq!(only_text(&result), "[Session: none]\n\nThere are no sessions yet.");
    let expected = json!({ "session_name": null, "sessions": [], "total": 0, "unreadable": [] });
    assert_eq!(result["structuredContent"], expected);
    assert_conforms(&schema, &expected, "admin_sessions");
}

#[test]
fn the_readme_lists_the_tools_as_they_are() {
    let readme = include_str!("../../README.md");
    let table: Vec<&str> = readme.lines().filter(|line| line.starts_with("| `9plan_")).collect();
    let expected: Vec<String> = tools(&mut World::new().client())
        .iter()
        .map(|tool| {
            let description = tool["description"].as_str().unwrap();
            let end = description.find('.').unwrap();
            format!("| `{}` | {} |", tool["name"].as_str().unwrap(), &description[..=end])
        })
        .collect();
    assert_eq!(table, expected);
}
