//! What is wrong with the arguments of a call, and what is no tool result at all.

use serde_json::{Value, json};

use crate::harness::{Client, STATELESS, World, error, only_text, plan};

const ADD: &str = "Call 9plan_queue_add again. Allowed: required context, goal, approach, success_criteria; \
                   optional inputs, outputs, position, session_name.";
const SEARCH: &str = "Call 9plan_history_search again. Allowed: required query; optional max_results, session_name.";

/// A client with a session, and its name.
fn with_session(world: &World) -> (Client, String) {
    let mut client = world.client();
    let session = client.create("t");
    (client, session)
}

/// A plan with one argument more, or another value for one.
fn plan_with(name: &str, value: Value) -> Value {
    let mut arguments = plan("goal");
    arguments[name] = value;
    arguments
}

#[test]
fn arguments_that_do_not_fit_are_all_named_at_once() {
    let world = World::new();
    let (mut client, session) = with_session(&world);
    for (tool, arguments, message, suggestion) in [
        ("queue_add", plan_with("priority", json!(1)), "Unknown: `priority`.", ADD),
        ("queue_add", json!({ "goal": "g", "context": "c" }), "Missing: `approach`, `success_criteria`.", ADD),
        ("queue_add", json!({}), "Missing: `context`, `goal`, `approach`, `success_criteria`.", ADD),
        ("queue_add", plan_with("goal", json!(" \n\t")), "`goal` is blank.", ADD),
        ("queue_add", plan_with("goal", json!(null)), "Missing: `goal`.", ADD),
        ("queue_add", plan_with("goal", json!(7)), "`goal` must be a string, not a number.", ADD),
        ("queue_add", plan_with("inputs", json!(["x"])), "`inputs` must be a string, not an array.", ADD),
        ("queue_add", plan_with("position", json!("middle")), "`position` must be front or back, not \"middle\".", ADD),
        (
            "queue_add",
            plan_with("outputs", json!("x".repeat(65_537))),
            "`outputs` has 65537 bytes; at most 65536 are allowed, so put the rest into a file.",
            ADD,
        ),
        (
            "queue_add",
            json!({ "goal": "", "context": true, "approach": "a", "why": "w" }),
            "Unknown: `why`. Missing: `success_criteria`. `goal` is blank. `context` must be a string, not a boolean.",
            ADD,
        ),
        ("history_search", json!({ "query": "" }), "`query` is blank.", SEARCH),
        (
            "history_search",
            json!({ "query": "q", "max_results": 0 }),
            "`max_results` must be a whole number from 1 to 50, not 0.",
            SEARCH,
        ),
        (
            "history_search",
            json!({ "query": "q", "max_results": 51 }),
            "`max_results` must be a whole number from 1 to 50, not 51.",
            SEARCH,
        ),
        (
            "history_search",
            json!({ "query": "q", "max_results": 2.5 }),
            "`max_results` must be a whole number from 1 to 50, not 2.5.",
            SEARCH,
        ),
        (
            "history_search",
            json!({ "query": "q", "max_results": "9" }),
            "`max_results` must be a whole number, not a string.",
            SEARCH,
        ),
        (
            "admin_sessions",
            json!({ "limit": 201 }),
            "`limit` must be a whole number from 1 to 200, not 201.",
            "Call 9plan_admin_sessions again. Allowed: optional limit.",
        ),
        (
            "admin_sessions",
            json!({ "session_name": session }),
            "Unknown: `session_name`.",
            "Call 9plan_admin_sessions again. Allowed: optional limit.",
        ),
        (
            "plan_defer",
            json!({ "reason": "r", "position": "Back" }),
            "`position` must be front or back, not \"Back\".",
            "Call 9plan_plan_defer again. Allowed: required reason; optional position, session_name.",
        ),
        (
            "session_resume",
            json!({}),
            "Missing: `session_name`.",
            "Call 9plan_session_resume again. Allowed: required session_name.",
        ),
    ] {
        let text = client.fails(tool, arguments);
        assert_eq!(text, error(&session, "VALIDATION_ERROR", message, suggestion), "{tool}");
    }
    assert_eq!(client.ok("admin_state", json!({})).fields["queue_length"], 0);
}

#[test]
fn null_is_the_same_as_absent() {
    let world = World::new();
    let (mut client, session) = with_session(&world);
    let mut arguments = plan("goal");
    for name in ["inputs", "outputs", "position", "session_name"] {
        arguments[name] = Value::Null;
    }
    assert_eq!(client.ok("queue_add", arguments).fields["queue_position"], 1);
    let found = client.ok("history_search", json!({ "query": "q", "max_results": null, "session_name": null }));
    assert_eq!(
        found.fields,
        json!({ "session_name": session, "matches": [], "total_matches": 0, "note": "Try fewer or other words." })
    );
    client.ok("admin_sessions", json!({ "limit": null }));
    let unnamed = client.ok("session_create", json!({ "task_description": null })).str("session_name").to_owned();
    let resumed = client.ok("session_resume", json!({ "session_name": unnamed })).fields;
    assert_eq!(resumed["task_description"], Value::Null);
}

#[test]
fn the_longest_text_allowed_is_taken_and_text_is_trimmed() {
    let world = World::new();
    let (mut client, session) = with_session(&world);
    let longest = "x".repeat(65_536);
    client.ok("queue_add", plan_with("context", json!(longest)));
    let id = client.ok("queue_add", plan_with("goal", json!(" \n the goal \n"))).str("plan_id").to_owned();
    let queue = client.ok("session_resume", json!({ "session_name": format!(" {session}\n") })).fields["queue"].take();
    assert_eq!(queue[1], json!({ "id": id, "goal": "the goal", "position": 2 }));
}

#[test]
fn arguments_that_are_no_object_are_a_validation_error() {
    let world = World::new();
    let (mut client, session) = with_session(&world);
    for arguments in [json!([]), json!(["goal"]), json!("goal"), json!(7), json!(true)] {
        let expected = error(
            &session,
            "VALIDATION_ERROR",
            "The arguments must be a JSON object.",
            "Call 9plan_queue_pull again with its arguments as an object.",
        );
        assert_eq!(client.fails("queue_pull", arguments), expected);
    }
}

#[test]
fn left_out_arguments_are_an_empty_object() {
    let world = World::new();
    let (mut client, _) = with_session(&world);
    for params in [json!({ "name": "9plan_admin_state" }), json!({ "name": "9plan_admin_state", "arguments": null })] {
        let id = client.send("tools/call", params);
        let result = client.result(id);
        assert_eq!(result["isError"], false, "{}", only_text(&result));
    }
}

#[test]
fn what_the_protocol_does_not_know_is_a_json_rpc_error() {
    let world = World::new();
    let (mut client, _) = with_session(&world);
    for (method, params, code) in [
        ("tools/call", json!({ "name": "9plan_queue_drop", "arguments": {} }), -32602),
        ("tools/call", json!({ "name": "queue_pull", "arguments": {} }), -32602),
        ("tools/call", json!({ "arguments": {} }), -32602),
        ("prompts/get", json!({ "name": "nonsense" }), -32602),
        ("tools/dance", json!({}), -32601),
    ] {
        let answer = client.request(method, params.clone());
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        assert_eq!(answer.get("result"), None);
    }
    client.add("the server lives on");
}

#[test]
fn a_list_has_one_page_and_no_cursor() {
    let mut client = World::new().client();
    for method in ["tools/list", "prompts/list"] {
        assert_eq!(client.request(method, json!({ "cursor": "2" }))["error"]["code"], -32602, "{method}");
    }
}

#[test]
fn a_whole_number_may_be_written_with_a_decimal_point() {
    let world = World::new();
    let (mut client, _) = with_session(&world);
    client.ok("history_search", json!({ "query": "q", "max_results": 5.0 }));
    client.fails("history_search", json!({ "query": "q", "max_results": 5.5 }));
}

#[test]
fn arguments_that_are_no_object_are_answered_in_the_form_of_their_era() {
    let world = World::new();
    let (mut client, _) = with_session(&world);
    let odd = json!({ "name": "9plan_admin_state", "arguments": [] });
    let answered = client.request("tools/call", odd.clone());
    assert_eq!((answered["result"].get("resultType"), &answered["result"]["isError"]), (None, &json!(true)));
    let answered = world.server().protocol(STATELESS).start().request("tools/call", odd);
    assert_eq!(answered["result"]["resultType"], "complete");
}

#[test]
fn an_error_names_no_session_that_is_not_there() {
    let world = World::new();
    let (mut client, session) = with_session(&world);
    let head = |text: String| text.lines().next().unwrap().to_owned();
    let mut odd = |name: &str| head(client.fails("admin_state", json!({ "session_name": name, "odd": 1 })));
    assert_eq!(odd("no-such-session"), "[Session: none] Error: VALIDATION_ERROR");
    assert_eq!(odd(&session), format!("[Session: {session}] Error: VALIDATION_ERROR"));
}
