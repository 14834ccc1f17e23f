//! Replies stay short whatever they are about, say what they leave out, and where it stands.
//!
//! That no line is too long is checked in `harness.rs`, of every answer to every test.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Client, MAX_LINE, World, plan};

/// The most bytes of one argument.
const LONGEST: usize = 64 * 1024;

/// A text of the longest length that repeats a piece.
fn longest(piece: &str) -> String {
    piece.repeat(LONGEST / piece.len())
}

/// The text before the sentence that says what is left out, and how many bytes that is; checks where it points to.
#[track_caller]
fn excerpt<'a>(text: &'a str, whole: &str) -> (&'a str, usize) {
    let (start, cut) = text.rsplit_once("…\n\n[Cut here: ").unwrap_or_else(|| panic!("{text} is not cut"));
    let (count, place) = cut.split_once(" more bytes. The whole text: ").unwrap();
    assert_eq!(place, format!("{whole}]"));
    (start, count.parse().unwrap())
}

#[track_caller]
fn assert_excerpt_of(text: &str, all: &str, whole: &str) {
    let (start, left_out) = excerpt(text, whole);
    assert!(start.len() > 400 && all.starts_with(start), "{start}");
    assert_eq!(start.len() + left_out, all.len());
}

#[track_caller]
fn shown(world: &World, session: &str, id: &str) -> String {
    let output = world.run(&["show", "--plan", id, session]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// One plan whose texts all are as long as can be, from its adding to its end.
fn assert_long_plans_are_cut(piece: &str) {
    let world = World::new();
    let mut client = world.client();
    let text = longest(piece);
    let session = client.create(&text);
    let sections = ["context", "goal", "inputs", "outputs", "approach", "success_criteria"];
    let arguments: Value = sections.iter().map(|name| ((*name).to_owned(), json!(text))).collect();
    let id = client.ok("queue_add", arguments).str("plan_id").to_owned();
    let path = world.plan_file(&session, &id);
    let file = fs::read_to_string(&path).unwrap();
    assert!(file.len() > 6 * (LONGEST - 100));

    let pulled = client.ok("queue_pull", json!({}));
    assert_excerpt_of(pulled.str("plan"), &file, pulled.str("plan_path"));
    assert!(pulled.text.contains(pulled.str("plan")), "both faces are cut alike");
    assert!(pulled.str("goal").ends_with('…'));
    let resumed = client.ok("session_resume", json!({ "session_name": session }));
    assert_excerpt_of(resumed.str("plan"), &file, &path.display().to_string());
    assert!(resumed.text.contains(resumed.str("plan")));
    let command = format!("9plan show {session}");
    assert_excerpt_of(resumed.str("task_description"), &text, &command);
    assert_excerpt_of(client.ok("admin_state", json!({})).str("task_description"), &text, &command);
    assert_eq!(String::from_utf8(world.run(&["show", &session]).stdout).unwrap(), format!("{text}\n"));
    assert_eq!(shown(&world, &session, &id), file);

    assert!(client.fails("queue_pull", json!({})).len() < 1_500);
    client.ok("plan_defer", json!({ "reason": "r" }));
    client.ok("queue_pull", json!({}));
    let file = fs::read_to_string(&path).unwrap();
    client.ok("plan_complete", json!({ "outcome": "done" }));
    let got = client.ok("history_get", json!({ "plan_id": id }));
    for section in sections {
        assert_excerpt_of(got.str(section), &text, &format!("9plan show --plan {id} {session}"));
        assert!(got.text.contains(got.str(section)), "both faces are cut alike");
    }
    assert!(shown(&world, &session, &id).starts_with(&file), "the command shows what was cut");
    assert!(client.ok("admin_sessions", json!({})).fields["sessions"][0]["task_description"].is_string());
}

#[test]
fn a_long_plan_of_plain_letters_is_cut() {
    assert_long_plans_are_cut("word. ".trim_end());
}

#[test]
fn a_long_plan_of_quotes_and_line_ends_is_cut() {
    assert_long_plans_are_cut("a\"\\\n\"z");
}

#[test]
fn a_long_plan_in_chinese_is_cut() {
    assert_long_plans_are_cut("汉字");
}

#[test]
fn a_long_plan_of_control_characters_is_cut() {
    assert_long_plans_are_cut("\u{1}\u{2}");
}

#[test]
fn a_queue_of_a_hundred_and_fifty_is_listed_up_to_a_hundred() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let sent: Vec<u64> = (0..150)
        .map(|number| client.send_call("queue_add", plan(&format!("{number} {}", "long \"goal\"\n".repeat(300)))))
        .collect();
    for id in sent {
        client.reply(id);
    }
    for (tool, arguments) in [("session_resume", json!({ "session_name": session })), ("admin_state", json!({}))] {
        let reply = client.ok(tool, arguments);
        let queue = reply.fields["queue"].as_array().unwrap();
        assert_eq!((queue.len(), &reply.fields["queue_length"]), (100, &json!(150)), "{tool}");
        for (number, item) in queue.iter().enumerate() {
            let goal = item["goal"].as_str().unwrap();
            assert!(goal.starts_with(&format!("{number} long")) && goal.ends_with('…'), "{goal}");
        }
        assert!(reply.text.contains("150 plans queued"), "{tool}");
        assert!(reply.text.contains("Queue (showing 100 of 150):\n1. "), "{tool}");
    }
    let state = client.ok("admin_state", json!({}));
    assert_eq!(state.fields["plan_files"].as_array().unwrap().len(), 100);
    assert!(state.text.contains("Plan files (showing 100 of 150): "), "{}", state.text);
}

#[test]
fn fifty_matches_with_long_outcomes_are_all_listed() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    let sent: Vec<u64> = (0..60)
        .flat_map(|number| {
            let outcome = format!("outcome {number} {}", "found \"it\"\n".repeat(400));
            [
                client.send_call("queue_add", plan(&format!("{number} {}", "found ".repeat(400)))),
                client.send_call("queue_pull", json!({})),
                client.send_call("plan_complete", json!({ "outcome": outcome })),
            ]
        })
        .collect();
    for id in sent {
        client.reply(id);
    }
    let found = client.ok("history_search", json!({ "query": "found", "max_results": 50 }));
    let matches = found.fields["matches"].as_array().unwrap();
    assert_eq!((matches.len(), &found.fields["total_matches"]), (50, &json!(60)));
    for (item, rank) in matches.iter().zip(1..) {
        assert_eq!(item["relevance_rank"], rank);
        for field in ["goal", "outcome"] {
            assert!(item[field].as_str().unwrap().ends_with('…'), "{item}");
        }
    }
    assert_eq!(found.text.lines().next(), Some("Showing 50 of 60, best first:"));
}

#[test]
fn two_hundred_sessions_with_long_tasks_are_listed_with_their_number() {
    let world = World::new();
    let mut client = world.client();
    let task = "a \"long\" task\n".repeat(1_000);
    let sent: Vec<u64> =
        (0..200).map(|_| client.send_call("session_create", json!({ "task_description": task }))).collect();
    for id in sent {
        client.reply(id);
    }
    let listed = client.ok("admin_sessions", json!({ "limit": 200 }));
    let sessions = listed.fields["sessions"].as_array().unwrap();
    assert_eq!(listed.fields["total"], 200);
    let head = format!("Showing {} of 200, newest use first:", sessions.len());
    assert_eq!(listed.text.lines().next(), Some(head.as_str()));
    assert!(sessions.len() > 100, "{head}");
    assert!(sessions.iter().all(|item| item["task_description"].as_str().is_some_and(|task| task.ends_with('…'))));
    let few = client.ok("admin_sessions", json!({ "limit": 3 }));
    assert_eq!(few.fields["sessions"].as_array().unwrap().len(), 3);
    assert_eq!(few.text.lines().next(), Some("Showing 3 of 200, newest use first:"));
}

#[test]
fn what_is_repaired_or_wrong_is_listed_up_to_a_number() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let sent: Vec<u64> = (0..150).map(|_| client.send_call("queue_add", plan("goal"))).collect();
    for id in sent {
        client.reply(id);
    }
    assert!(client.exit().status.success());
    for entry in fs::read_dir(world.plans(&session)).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for number in 0..300 {
        fs::write(world.plans(&session).join(format!("{number} {}", "\"".repeat(200))), "").unwrap();
    }
    let mut client = world.client();
    let validated = client.ok("admin_validate", json!({ "session_name": session })).fields;
    let repaired = validated["repaired"].as_array().unwrap();
    assert_eq!((repaired.len(), &repaired[20]), (21, &json!("130 more (showing 20 of 150)")));
    let issues = validated["issues"].as_array().unwrap();
    assert_eq!((issues.len(), &issues[100]), (101, &json!("Showing 100 of 300 issues.")));
}

/// Says something longer than any reply may be, and gives the answer.
#[track_caller]
fn answer(client: &mut Client, method: &str, params: Value) -> Value {
    assert!(params.to_string().len() > MAX_LINE);
    client.request(method, params)
}

#[test]
fn long_nonsense_gets_a_short_answer() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let long = longest("\u{1}\"");
    let unknown: Value = (0..3_000).map(|number| (format!("{number} \"\"\"\"\"\"\"\""), json!(1))).collect();
    for arguments in [unknown, json!({ long.clone(): 1 }), json!({ "position": long })] {
        let result = answer(&mut client, "tools/call", json!({ "name": "9plan_queue_add", "arguments": arguments }));
        assert_eq!(result["result"]["isError"], true);
    }
    for (tool, arguments) in [
        ("9plan_history_search", json!({ "query": "word ".repeat(13_000) })),
        ("9plan_history_search", json!({ "query": long })),
        ("9plan_history_get", json!({ "plan_id": long })),
        ("9plan_admin_state", json!({ "session_name": long })),
        ("9plan_admin_state", json!({ "session_name": format!("{session}{}", longest("a")) })),
    ] {
        assert!(
            answer(&mut client, "tools/call", json!({ "name": tool, "arguments": arguments }))["result"].is_object()
        );
    }
}

#[test]
fn the_prompt_repeats_as_much_of_a_task_as_fits() {
    let mut client = World::new().client();
    let task = "a long task ".repeat(20_000);
    let params = json!({ "name": "bootstrap", "arguments": { "task": task } });
    let prompted = answer(&mut client, "prompts/get", params)["result"]["messages"][0]["content"]["text"].take();
    let (_, repeated) = prompted.as_str().unwrap().split_once("\n\nTHE TASK\n").unwrap();
    assert!(task.starts_with(repeated.trim_end_matches('…')) && repeated.len() > 40_000, "{} bytes", repeated.len());
}

#[test]
fn a_long_outcome_is_shown_whole_by_the_command_that_the_cut_names() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    client.ok("queue_pull", json!({}));
    let outcome = longest("word. ".trim_end());
    client.ok("plan_complete", json!({ "outcome": outcome }));
    let got = client.ok("history_get", json!({ "plan_id": id }));
    assert_excerpt_of(got.str("outcome"), &outcome, &format!("9plan show --plan {id} {session}"));
    assert!(shown(&world, &session, &id).contains(&outcome));
}

#[test]
fn a_long_name_is_not_echoed() {
    let mut client = World::new().client();
    let long = longest("x");
    for (method, params, code) in [
        ("tools/call", json!({ "name": long, "arguments": {} }), -32602),
        ("prompts/get", json!({ "name": long }), -32602),
        ("prompts/get", json!({ "name": "bootstrap", "arguments": { long.clone(): "x" } }), -32602),
    ] {
        assert_eq!(answer(&mut client, method, params)["error"]["code"], code);
    }
    assert_eq!(client.request(&long, json!({}))["error"]["code"], -32601);
}
