//! Whatever a client writes: who asks something and gives an id gets exactly one answer, and the server lives on.
//!
//! Holds the real program to the tables in [`cases`]: each case has a server of its own, and after each one the next
//! question is answered next.

mod cases;

use serde_json::{Value, json};

use crate::harness::{Client, STATELESS, World};
use cases::{NO_VERSION, ODD_ID, TOO_LONG};

/// What a client has said before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    Handshake,
    /// One request that stands alone.
    Request,
}

/// What the server says.
enum Answer {
    /// This line.
    Line(String),
    /// The result of `initialize` with this id: the version that is agreed on.
    Agreed(&'static str, &'static str),
    /// The result of `server/discover` with this id.
    Versions(&'static str),
    /// The twelve tools, as the result of `tools/list` with this id.
    Tools(&'static str),
}

struct Case {
    name: &'static str,
    after: After,
    sent: Vec<u8>,
    answers: Vec<Answer>,
}

/// The line of a result.
fn result(id: &str, result: &Value) -> Vec<Answer> {
    vec![Answer::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))]
}

/// The line of an error of the protocol.
fn error(id: &str, code: i32, message: &str) -> Vec<Answer> {
    let error = json!({ "code": code, "message": message });
    vec![Answer::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))]
}

fn pong(id: &str) -> Vec<Answer> {
    result(id, &json!({}))
}

/// A request for `ping` with this id, or whatever stands in its place.
fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#) + "\n"
}

/// A request with the id 1 and these parameters, or whatever stands in their place.
fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#) + "\n"
}

/// A request with the id 1 that stands alone and names its version.
fn alone(method: &str, version: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(method, &json!({ "_meta": meta }).to_string())
}

/// `initialize` with the id 1.
fn initialize(version: &str) -> String {
    let client = json!({ "name": "it", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    request("initialize", &params.to_string())
}

/// A request that has the id 1, with another one.
fn with_id(id: &str, request: &str) -> String {
    request.replacen(":1,", &format!(":{id},"), 1)
}

/// A server to which `after` was said.
fn started(world: &World, after: After) -> Client {
    let mut client = world.server().connect();
    match after {
        After::Nothing => {}
        After::Handshake => {
            client.write_bytes(initialize("2025-11-25").as_bytes());
            assert_answer(&mut client, &Answer::Agreed("1", "2025-11-25"), "the handshake");
        }
        After::Request => {
            client.write_bytes(alone("tools/list", STATELESS).as_bytes());
            assert_answer(&mut client, &Answer::Tools("1"), "the first request");
        }
    }
    client
}

/// Reads the next line, which must be this answer.
#[track_caller]
fn assert_answer(client: &mut Client, expected: &Answer, name: &str) {
    let line = client.line();
    let parsed = |id: &str| {
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"].to_string(), id, "{name}: {line}");
        answer
    };
    match expected {
        Answer::Line(expected) => assert_eq!(&line, expected, "{name}"),
        Answer::Agreed(id, version) => {
            let answer = parsed(id);
            assert_eq!(answer["result"]["protocolVersion"], *version, "{name}: {line}");
            assert!(answer["result"]["instructions"].is_string(), "{name}: {line}");
        }
        Answer::Versions(id) => {
            assert_eq!(parsed(id)["result"]["supportedVersions"].as_array().map(Vec::len), Some(5), "{name}: {line}");
        }
        Answer::Tools(id) => {
            assert_eq!(parsed(id)["result"]["tools"].as_array().map(Vec::len), Some(12), "{name}: {line}");
        }
    }
}

/// Asks the next thing, which must be answered next.
#[track_caller]
fn assert_lives(client: &mut Client, after: After, name: &str) {
    let (question, answer) = match after {
        After::Request => (alone("tools/list", STATELESS), Answer::Tools("\"after\"")),
        After::Nothing | After::Handshake => (ping("1"), pong("\"after\"").remove(0)),
    };
    client.write_bytes(with_id("\"after\"", &question).as_bytes());
    assert_answer(client, &answer, name);
}

#[test]
fn whatever_arrives_is_answered_as_it_should_be_and_the_server_lives_on() {
    let cases = cases::all();
    assert!(cases.len() > 100, "{} cases", cases.len());
    let world = World::new();
    for Case { name, after, sent, answers } in cases {
        let mut client = started(&world, after);
        client.write_bytes(&sent);
        for answer in &answers {
            assert_answer(&mut client, answer, name);
        }
        assert_lives(&mut client, after, name);
        assert_eq!(client.exit().status.code(), Some(0), "{name}");
    }
}

#[test]
fn an_id_is_free_again_when_its_request_is_answered() {
    let world = World::new();
    let mut client = started(&world, After::Handshake);
    for _ in 0..2 {
        client.write_bytes(request("x", "{}").as_bytes());
        assert_answer(&mut client, &error("1", -32601, "Unknown method: x")[0], "an error");
        client.write_bytes(ping("1").as_bytes());
        assert_answer(&mut client, &pong("1")[0], "a result");
    }
}

#[test]
fn the_end_of_input_ends_the_last_line_and_what_was_asked_is_answered() {
    let cut = error("1", -32700, "Parse error: EOF while parsing a string at line 1 column 29");
    let world = World::new();
    for (after, last, answers) in [
        (After::Handshake, ping("1"), pong("1")),
        (After::Handshake, ping("1").trim().to_owned(), pong("1")),
        (After::Nothing, ping("1").trim().to_owned(), pong("1")),
        (After::Request, alone("tools/list", STATELESS).trim().to_owned(), vec![Answer::Tools("1")]),
        (After::Handshake, cases::long(20).trim().to_owned(), error("1", -32600, TOO_LONG)),
        (After::Handshake, r#"{"jsonrpc":"2.0","id":1,"meth"#.to_owned(), cut),
        (After::Nothing, request("tools/list", "{}").trim().to_owned(), error("1", -32602, NO_VERSION)),
        (After::Handshake, "  ".to_owned(), Vec::new()),
    ] {
        let mut client = started(&world, after);
        client.write_bytes(last.as_bytes());
        client.end_input();
        for answer in &answers {
            assert_answer(&mut client, answer, &last[..last.len().min(80)]);
        }
        assert_eq!(client.exit().status.code(), Some(0));
    }
}

#[test]
fn what_cannot_be_answered_is_logged() {
    let world = World::new();
    let mut client = world.server().logging("warn").connect();
    client.write_bytes(b"7\n{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}\n{]\n");
    client.write_bytes(ping("null").as_bytes());
    let log = client.exit().log;
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: Vec<Value> = lines.map(|line| json!([line["level"], line["fields"]["reason"]])).collect();
    let reasons = [
        "Invalid Request: a message is an object",
        "Invalid Request: a request without an id",
        "Parse error: key must be a string at line 1 column 2",
        ODD_ID,
    ];
    assert_eq!(told, reasons.map(|reason| json!(["WARN", reason])), "{log}");
}

#[test]
fn text_that_is_not_unicode_does_not_cost_a_plan() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    let fields = r#""context":"c","goal":"caf@","approach":"a","success_criteria":"s""#;
    let call = request("tools/call", &format!(r#"{{"name":"9plan_queue_add","arguments":{{{fields}}}}}"#));
    for (id, broken) in [(101, b"\xe9".as_slice()), (102, br"\ud83d")] {
        let call = with_id(&id.to_string(), &call);
        let (before, after) = call.split_once('@').unwrap();
        client.write_bytes(&[before.as_bytes(), broken, after.as_bytes()].concat());
        client.reply(id);
    }
    let queue = client.ok("admin_state", json!({})).fields["queue"].take();
    assert_eq!([&queue[0]["goal"], &queue[1]["goal"]], ["caf\u{fffd}"; 2]);
}
