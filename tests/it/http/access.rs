//! Who may speak to the server, and what is no request at all.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use ureq::http::{Method, Request};

use super::{Client, Served};
use crate::harness::{PATIENCE, STATELESS, World};

/// Methods and paths of all kinds; access does not depend on them.
const PLACES: [(Method, &str); 5] =
    [(Method::POST, "/mcp"), (Method::GET, "/mcp"), (Method::DELETE, "/mcp"), (Method::GET, "/"), (Method::POST, "/x")];

/// The status of a request with one header more.
#[track_caller]
fn status(client: &Client, method: &Method, path: &str, header: (&str, &str)) -> u16 {
    let url = client.url.replace("/mcp", path);
    let request = Request::builder().method(method).uri(url).header(header.0, header.1);
    client.run(request.body(String::new()).unwrap()).status
}

#[test]
fn a_request_by_another_name_or_from_another_page_is_refused() {
    let world = World::new();
    let served = Served::start(&world);
    let client = served.stranger(STATELESS);
    for (method, path) in &PLACES {
        for header in [
            ("host", "evil.example"),
            ("host", "localhost.evil.example:8080"),
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("origin", "http://203.0.113.5"),
        ] {
            assert_eq!(status(&client, method, path, header), 403, "{method} {path} {header:?}");
        }
        for header in [("host", "localhost"), ("host", "[::1]:8080"), ("origin", "http://localhost:6274")] {
            assert_ne!(status(&client, method, path, header), 403, "{method} {path} {header:?}");
        }
    }
}

#[test]
fn the_name_that_is_configured_is_one_to_call_the_server_by() {
    let world = World::new();
    let open = world.server().env("NINEPLAN_HTTP_HOST", "0.0.0.0").env("NINEPLAN_HTTP_TOKEN", "s3cret");
    let served = Served::launch(open);
    let mut client = served.stranger(STATELESS);
    client.url = client.url.replace("0.0.0.0", "127.0.0.1");
    client.token = Some("s3cret");
    let seen = |host| client.send("", &[("host", host)]).status;
    assert_eq!(["0.0.0.0", "10.1.2.3:80", "localhost"].map(seen), [400; 3]);
    assert_eq!(["evil.example", "10.1.2.3.evil.example"].map(seen), [403; 2]);
}

#[test]
fn with_a_token_a_request_without_it_is_unauthorized() {
    let world = World::new();
    assert_eq!(Served::start(&world).token, "none");
    let served = Served::launch(world.server().env("NINEPLAN_HTTP_TOKEN", "s3cret"));
    assert_eq!(served.token, "required");
    let stranger = served.stranger(STATELESS);
    for (method, path) in &PLACES {
        for token in ["Bearer wrong", "Bearer", "Basic s3cret", "s3cret"] {
            assert_eq!(status(&stranger, method, path, ("authorization", token)), 401, "{method} {path} {token}");
        }
        assert_eq!(status(&stranger, method, path, ("x", "y")), 401);
        assert_ne!(status(&stranger, method, path, ("authorization", "Bearer s3cret")), 401);
    }
    let refused = stranger.send("", &[]);
    assert_eq!((refused.status, refused.headers["www-authenticate"].to_str().unwrap()), (401, "Bearer"));

    for protocol in [STATELESS, "2025-06-18"] {
        let mut known = served.stranger(protocol);
        known.token = Some("s3cret");
        let said = if protocol == STATELESS { "server/discover" } else { "initialize" };
        let client = json!({ "name": "it", "version": "1" });
        let hello = json!({ "protocolVersion": protocol, "capabilities": {}, "clientInfo": client });
        assert!(known.result(said, hello)["instructions"].is_string());
    }
}

#[test]
fn a_host_that_others_can_reach_is_not_served_without_a_token() {
    let world = World::new();
    for host in ["0.0.0.0", "plans.example.com"] {
        let open = world.server().env("NINEPLAN_TRANSPORT", "http").env("NINEPLAN_HTTP_HOST", host);
        let output = open.run(&[]);
        let line = format!(
            "9plan: NINEPLAN_HTTP_HOST={host:?} is not allowed: set NINEPLAN_HTTP_TOKEN too, or use a loopback host\n"
        );
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(2), line));
        assert_eq!(output.stdout, b"");
    }
}

#[test]
fn what_is_no_message_is_refused_and_says_why() {
    let world = World::new();
    let served = Served::start(&world);
    let client = served.stranger(STATELESS);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (body, id, code, message) in [
        ("", Value::Null, -32700, "Parse error: the body is empty"),
        ("{bad", Value::Null, -32700, "Parse error: key must be a string at line 1 column 2"),
        (r#"{"id":7,"method":"#, json!(7), -32700, "Parse error: EOF while parsing a value at line 1 column 17"),
        ("7", Value::Null, -32600, "Invalid Request: a message is an object"),
        (r#"{"id":"a","method":"ping"}"#, json!("a"), -32600, "Invalid Request: jsonrpc must be \"2.0\""),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            json!(1),
            -32600,
            "Invalid Request: neither a request nor a notification",
        ),
        (&format!("[{ping},{ping}]"), Value::Null, -32600, "Invalid Request: send one message in a request"),
    ] {
        let answer = client.send(body, &[]);
        let expected = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
        assert_eq!((answer.status, answer.message()), (400, expected), "{body}");
    }
    // An answer is taken, whatever it is; nobody has asked.
    for answer in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"id":1,"error":{"code":"x"}}"#] {
        assert_eq!(client.send(answer, &[]).status, 202, "{answer}");
    }
    assert_eq!(client.run(Request::get(client.url.replace("/mcp", "/")).body(String::new()).unwrap()).status, 404);
}

#[test]
fn a_body_is_read_up_to_eight_mebibytes() {
    let world = World::new();
    let served = Served::start(&world);
    let mut client = served.client(STATELESS);
    let text = client.fails("session_create", json!({ "task_description": "x".repeat(7 << 20) }));
    assert!(text.contains("`task_description` has 7340032 bytes"), "{text}");

    // By hand, since the server reads neither to the end: one that says how long it is, and one that does not.
    let address = client.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let length = format!("Content-Length: {}\r\n\r\n", (8 << 20) + 1).into_bytes();
    let chunk = [b"Transfer-Encoding: chunked\r\n\r\n800001\r\n".as_slice(), &vec![b' '; (8 << 20) + 1]].concat();
    let broken = b"Transfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec();
    for (body, status) in [(length, "413"), (chunk, "413"), (broken, "400")] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "POST /mcp HTTP/1.1\r\nHost: {address}\r\n").unwrap();
        stream.write_all(&body).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {status}"));
    }
    client.create();
}

#[test]
fn text_that_is_not_unicode_does_not_cost_a_plan() {
    let world = World::new();
    let served = Served::start(&world);
    let mut client = served.client("2025-11-25");
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "9plan_session_create", "arguments": { "task_description": "caf@" } },
    });
    let answer = client.send(&call.to_string().replace('@', r"\ud83d"), &[]);
    let session = answer.message()["result"]["structuredContent"]["session_name"].clone();
    let resumed = client.ok("session_resume", json!({ "session_name": session }));
    assert_eq!(resumed.str("task_description"), "caf\u{fffd}");
}
