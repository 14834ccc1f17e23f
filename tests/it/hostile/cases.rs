//! What a client may write, and the exact answer to each.
//!
//! Lines are written as they go over the pipe, and answers as they come back. An empty list says that there is none.

use serde_json::json;

use super::After::{self, Handshake, Nothing, Request};
use super::Answer::{self, Agreed, Line, Tools, Versions};
use super::{Case, alone, error, initialize, ping, pong, request, result, with_id};
use crate::harness::STATELESS;

/// A table of cases: what was said before, a name, what is sent, what is answered.
macro_rules! table {
    ($($after:ident, $name:literal: $sent:expr => $answers:expr;)*) => {
        vec![$(case($after, $name, $sent, $answers)),*]
    };
}

fn case(after: After, name: &'static str, sent: impl AsRef<[u8]>, answers: impl IntoIterator<Item = Answer>) -> Case {
    Case { name, after, sent: sent.as_ref().to_owned(), answers: answers.into_iter().collect() }
}

pub const NO_VERSION: &str = "Send initialize first, or name the version of the protocol in the request's _meta";
pub const TOO_LONG: &str = "Invalid Request: longer than 8 MiB";
pub const ODD_ID: &str = "Invalid Request: the id must be a string of up to 8 KiB or a signed whole number of 64 bits";
const TOO_MANY: &str = "Invalid Request: more values than any message has";
const NO_JSONRPC: &str = "Invalid Request: jsonrpc must be \"2.0\"";
const NO_METHOD: &str = "Invalid Request: method must be a string";
const NO_OBJECT: &str = "Invalid params: params must be an object";
const CALL_TAKES: &str =
    "The parameters do not fit: tools/call takes the name of a tool, a string, and its arguments, an object";
const PROMPT_TAKES: &str =
    "The parameters do not fit: prompts/get takes the name of a prompt, a string, and its arguments, an object";
const INITIALIZE_TAKES: &str =
    "The parameters do not fit: initialize takes protocolVersion, capabilities and clientInfo (name and version)";

pub fn all() -> Vec<Case> {
    [lines(), texts(), envelopes(), requests(), notifications(), handshakes(), eras()].into_iter().flatten().collect()
}

fn lines() -> Vec<Case> {
    let line = ping("1").trim().to_owned();
    table! {
        Handshake, "a carriage return": format!("{line}\r\n") => pong("1");
        Handshake, "a byte order mark": format!("\u{feff}{line}\n") => pong("1");
        Handshake, "blank lines": "\n\r\n  \n\t\r\n" => [];
        Handshake, "white space around a message": format!(" \t{line} \r\n") => pong("1");
        Handshake, "white space in a message": "{ \"jsonrpc\": \"2.0\",\t\"id\": 1 , \"method\":\"ping\" }\n" => pong("1");
        Handshake, "two messages on a line": format!("{line}{}", ping("2")) =>
            error("1", -32700, "Parse error: trailing characters at line 1 column 41");
        Handshake, "a line of 7 MiB": long(7) => failure(
            "`task_description` has 7340032 bytes; at most 65536 are allowed, so put the rest into a file.",
            "Call 9plan_session_create again. Allowed: optional task_description.",
        );
        Handshake, "a line of 20 MiB": long(20) => error("1", -32600, TOO_LONG);
        Handshake, "a line of 20 MiB with its id at the end":
            format!("{{\"x\":[\"{}\"],\"method\":\"ping\",\"id\":\"z\"}}\n", "id".repeat(10 << 20)) =>
            error("\"z\"", -32600, TOO_LONG);
        Handshake, "a line of 20 MiB without an id": format!("{{\"x\":\"{}\"}}\n", "x".repeat(20 << 20)) => [];
        Handshake, "more values than a message has": request("ping", &format!("{{\"x\":[{}0]}}", "0,".repeat(100_000))) =>
            error("1", -32600, TOO_MANY);
        Handshake, "a batch of millions": format!("[{}0]\n", "0,".repeat(4_000_000)) => [];
        Handshake, "a long text of commas": request("ping", &json!({ "x": "\\\",".repeat(200_000) }).to_string()) => pong("1");
        Handshake, "a line of 8 MiB": sized(8 << 20) => pong("1");
        Handshake, "a line of a byte more": sized((8 << 20) + 1) => error("1", -32600, TOO_LONG);
        Handshake, "a line of 20 MiB that is no message": "x".repeat(20 << 20) + "\n" => [];
    }
}

fn texts() -> Vec<Case> {
    let deep = |levels: usize| request("ping", &format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels)));
    let too_deep = || error("1", -32700, "Parse error: recursion limit exceeded at line 1 column 180");
    let control = "Parse error: control character (\\u0000-\\u001F) found while parsing a string at line 1 column 37";
    let cut = "Parse error: EOF while parsing a string at line 1 column 38";
    let odd_id = "Invalid Request: the id is not Unicode text";
    table! {
        Handshake, "no JSON at all": "hello\n" => [];
        Handshake, "bad JSON without an id": "{\"jsonrpc\":\"2.0\",}\n" => [];
        Handshake, "bad JSON after the id": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":ping}\n" =>
            error("1", -32700, "Parse error: expected value at line 1 column 34");
        Handshake, "bad JSON before the id": "{\"jsonrpc\":2.0.0,\"method\":\"ping\",\"id\":1}\n" =>
            error("1", -32700, "Parse error: expected `,` or `}` at line 1 column 15");
        Handshake, "JSON cut after the id": "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"pi\n" => error("\"a\"", -32700, cut);
        Handshake, "JSON cut in the id": "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1\n" => [];
        Handshake, "single quotes": "{'jsonrpc':'2.0','id':1,'method':'ping'}\n" => [];
        Handshake, "a NUL as it is": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\0ng\"}\n" => error("1", -32700, control);
        Handshake, "a NUL": resume(br"a\u0000b") => no_session("\"a\\0b\"");
        Handshake, "U+2028": resume("a\u{2028}b".as_bytes()) => no_session("\"a\\u{2028}b\"");
        Handshake, "bytes that are not UTF-8": resume(b"caf\xe9") => no_session("\"caf\u{fffd}\"");
        Handshake, "half of a pair of surrogates": resume(br"a\ud83d") => no_session("\"a\u{fffd}\"");
        Handshake, "a pair the wrong way round": resume(br"\ude00\ud83d") => no_session("\"\u{fffd}\u{fffd}\"");
        Handshake, "a pair of surrogates": resume(br"\ud83d\ude00") => no_session("\"\u{1f600}\"");
        Handshake, "half of a pair in the id": ping(r#""\ud83d""#) => error(r#""\ud83d""#, -32600, odd_id);
        Handshake, "no UTF-8 in the id": b"{\"jsonrpc\":\"2.0\",\"id\":\"\xe9\",\"method\":\"ping\"}\n" => [];
        Handshake, "100 levels": deep(100) => pong("1");
        Handshake, "200 levels": deep(200) => too_deep();
        Handshake, "20,000 levels": deep(20_000) => too_deep();
        Handshake, "the id and the method twice":
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"tools/list\",\"method\":\"ping\"}\n" => pong("2");
        Handshake, "an argument twice": resume(br#"a","session_name":"b"#) => no_session("\"b\"");
    }
}

fn envelopes() -> Vec<Case> {
    let (one, two) = (ping("1").trim().to_owned(), ping("\"2\"").trim().to_owned());
    let (long, too_long) = (json!("x".repeat(8_000)).to_string(), json!("x".repeat(10_000)).to_string());
    let huge = "36893488147419103232";
    table! {
        Handshake, "a number": "7\n" => [];
        Handshake, "a string": "\"ping\"\n" => [];
        Handshake, "null": "null\n" => [];
        Handshake, "an empty object": "{}\n" => [];
        Handshake, "a batch": format!("[{one},{two},7]\n") => [pong("1"), pong("\"2\"")].into_iter().flatten();
        Handshake, "an empty batch": "[]\n" => [];
        Handshake, "a batch with an odd id": format!("[{}]\n", ping(huge).trim()) => error(huge, -32600, ODD_ID);
        Handshake, "a batch with bytes that are not UTF-8":
            [b"[", two.as_bytes(), b",", resume(b"caf\xe9").trim_ascii(), b"]\n"].concat() =>
            pong("\"2\"").into_iter().chain(no_session("\"caf\u{fffd}\""));
        Handshake, "a batch with text that is not Unicode": format!("[{}]\n", ping("\"\\ud83d\"").trim()) =>
            error("\"\\ud83d\"", -32600, "Invalid Request: the id is not Unicode text");
        Handshake, "an id with an escape in its name": ping("1").replace("\"id\"", "\"\\u0069d\"").replace("2.0", "1.0") =>
            error("1", -32600, NO_JSONRPC);
        Handshake, "a batch in a batch": format!("[[{one}]]\n") => [];
        Handshake, "an id that is null": ping("null") => [];
        Handshake, "an id that is a boolean": ping("true") => [];
        Handshake, "an id that is an object": ping("{\"id\":1}") => [];
        Handshake, "an id that is a list": ping("[1]") => [];
        Handshake, "an id with a fraction": ping("1.50") => error("1.50", -32600, ODD_ID);
        Handshake, "an id with a decimal point": ping("5.0") => error("5.0", -32600, ODD_ID);
        Handshake, "an id of 64 bits": ping("18446744073709551615") => error("18446744073709551615", -32600, ODD_ID);
        Handshake, "an id of more than 64 bits": ping(huge) => error(huge, -32600, ODD_ID);
        Handshake, "a negative id": ping("-9223372036854775808") => pong("-9223372036854775808");
        Handshake, "an id of zero": ping("0") => pong("0");
        Handshake, "an id that is an empty string": ping("\"\"") => pong("\"\"");
        Handshake, "an id that is a long string": ping(&long) => pong(&long);
        Handshake, "an id that is too long": ping(&too_long) => [];
        Handshake, "no jsonrpc": "{\"id\":1,\"method\":\"ping\"}\n" => error("1", -32600, NO_JSONRPC);
        Handshake, "another jsonrpc": ping("1").replace("2.0", "1.0") => error("1", -32600, NO_JSONRPC);
        Handshake, "jsonrpc as a number": ping("1").replace("\"2.0\"", "2.0") => error("1", -32600, NO_JSONRPC);
        Handshake, "no method": "{\"jsonrpc\":\"2.0\",\"id\":1}\n" => error("1", -32600, NO_METHOD);
        Handshake, "a method that is a number": ping("1").replace("\"ping\"", "7") => error("1", -32600, NO_METHOD);
        Handshake, "fields that nobody knows": ping("1").replace('{', "{\"x\":{\"id\":9},") => pong("1");
        Handshake, "a request that is an answer too": ping("1").replace('}', ",\"result\":{}}") =>
            error("1", -32600, "Invalid Request: neither a request nor a notification");
        Handshake, "an answer": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n" => [];
        Handshake, "an answer that is an error": "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}\n" => [];
        Handshake, "an answer that is broken": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n" => [];
    }
}

fn requests() -> Vec<Case> {
    let call = |params: &str| request("tools/call", params);
    let arguments = |arguments: &str| call(&format!(r#"{{"name":"9plan_queue_pull","arguments":{arguments}}}"#));
    let again = "Call 9plan_queue_pull again with its arguments as an object.";
    let not_arguments = || failure("The arguments must be a JSON object.", again);
    let mut cases = table! {
        Handshake, "a call without params": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n" => error("1", -32602, CALL_TAKES);
        Handshake, "a call with null for params": call("null") => error("1", -32602, CALL_TAKES);
        Handshake, "a call with a list for params": call("[\"9plan_queue_pull\"]") => error("1", -32602, NO_OBJECT);
        Handshake, "a list with a string for params": request("tools/list", "\"x\"") => error("1", -32602, NO_OBJECT);
        Handshake, "a ping with a list for params": request("ping", "[]") => error("1", -32602, NO_OBJECT);
        Handshake, "a ping with params": request("ping", "{\"x\":1}") => pong("1");
        Handshake, "arguments that are a string": arguments("\"{}\"") => not_arguments();
        Handshake, "arguments that are a list": arguments("[]") => not_arguments();
        Handshake, "a tool name that is a number": call(r#"{"name":7,"arguments":{}}"#) => error("1", -32602, CALL_TAKES);
        Handshake, "no tool name": call(r#"{"arguments":{}}"#) => error("1", -32602, CALL_TAKES);
        Handshake, "an unknown tool": call(r#"{"name":"x"}"#) => error("1", -32602, "Unknown tool: x");
        Handshake, "_meta that is a string": call(r#"{"name":"9plan_queue_pull","_meta":"x"}"#) =>
            error("1", -32602, "Invalid params: _meta must be an object");
        Handshake, "a cursor that was never given": request("tools/list", r#"{"cursor":"x"}"#) =>
            error("1", -32602, "Unknown cursor: the list has one page");
        Handshake, "a cursor that is none": request("tools/list", r#"{"cursor":7}"#) => [Tools("1")];
        Handshake, "an unknown method": request("tools/dance", "{}") => error("1", -32601, "Unknown method: tools/dance");
        Handshake, "what is not offered": request("resources/list", "{}") => error("1", -32601, "resources/list");
        Handshake, "arguments of a prompt that are a list": request("prompts/get", r#"{"name":"bootstrap","arguments":[]}"#) =>
            error("1", -32602, PROMPT_TAKES);
        Handshake, "an empty method": request("", "{}") => error("1", -32601, "Unknown method: ");
    };
    let left_out = [
        ("absent", r#"{"name":"9plan_admin_sessions"}"#),
        ("null", r#"{"name":"9plan_admin_sessions","arguments":null}"#),
    ];
    let sessions = json!({ "session_name": null, "sessions": [], "total": 0, "unreadable": [] });
    let text = "[Session: none]\n\nThere are no sessions yet.";
    for (name, params) in left_out {
        let content = json!([{ "type": "text", "text": text }]);
        let listed = json!({ "content": content, "structuredContent": sessions, "isError": false });
        cases.push(case(Handshake, name, call(params), result("1", &listed)));
    }
    // Only a debug build has the tool that panics.
    if cfg!(debug_assertions) {
        let said = "The tool failed unexpectedly; the log says more.";
        cases.push(case(Handshake, "a panic in a handler", call(r#"{"name":"panic"}"#), error("1", -32603, said)));
    }
    cases
}

fn notifications() -> Vec<Case> {
    let notification = |method: &str, rest: &str| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"{rest}}}\n");
    let cancel = |rest: &str| notification("notifications/cancelled", rest);
    table! {
        Handshake, "a request without an id": notification("tools/list", "") => [];
        Handshake, "an unknown notification": notification("notifications/x", r#","params":{"a":1}"#) => [];
        Handshake, "a notification with a string for params": notification("notifications/progress", r#","params":"x""#) => [];
        Handshake, "a notification without jsonrpc": "{\"method\":\"notifications/initialized\"}\n" => [];
        Handshake, "a second notification of the handshake": notification("notifications/initialized", "") => [];
        Handshake, "a cancel without params": cancel("") => [];
        Handshake, "a cancel of nothing": cancel(r#","params":{}"#) => [];
        Handshake, "a cancel of null": cancel(r#","params":{"requestId":null}"#) => [];
        Handshake, "a cancel of an object": cancel(r#","params":{"requestId":{"x":1}}"#) => [];
        Handshake, "a cancel of half a request": cancel(r#","params":{"requestId":1.5}"#) => [];
        Handshake, "a cancel of a request that was never made": cancel(r#","params":{"requestId":99}"#) => [];
        Handshake, "a cancel of a request that is made later": cancel(r#","params":{"requestId":2}"#) + &ping("2") => pong("2");
        Handshake, "a cancel of a request that was answered": cancel(r#","params":{"requestId":1}"#) => [];
        Handshake, "a cancel with an id": cancel(r#","id":1,"params":{"requestId":99}"#) =>
            error("1", -32601, "Unknown method: notifications/cancelled");
    }
}

fn handshakes() -> Vec<Case> {
    let no_client = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
    let again = || with_id("2", &initialize("2025-06-18"));
    let initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let cancelled = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n";
    table! {
        Nothing, "initialize 2024-11-05": initialize("2024-11-05") => [Agreed("1", "2024-11-05")];
        Nothing, "initialize 2025-03-26": initialize("2025-03-26") => [Agreed("1", "2025-03-26")];
        Nothing, "initialize 2025-06-18": initialize("2025-06-18") => [Agreed("1", "2025-06-18")];
        Nothing, "initialize 2025-11-25": initialize("2025-11-25") => [Agreed("1", "2025-11-25")];
        Nothing, "initialize with the version that has none": initialize(STATELESS) => [Agreed("1", "2025-11-25")];
        Nothing, "initialize with a version of the future": initialize("2031-01-01") => [Agreed("1", "2025-11-25")];
        Nothing, "initialize with an unknown version": initialize("2024-12-24") => [Agreed("1", "2025-11-25")];
        Nothing, "initialize with nonsense for a version": initialize("x") => [Agreed("1", "2025-11-25")];
        Nothing, "initialize with a number for a version": initialize("x").replace("\"x\"", "7") => error("1", -32602, INITIALIZE_TAKES);
        Nothing, "initialize without clientInfo": request("initialize", no_client) => error("1", -32602, INITIALIZE_TAKES);
        Nothing, "initialize without params": ping("1").replace("ping", "initialize") => error("1", -32602, INITIALIZE_TAKES);
        Nothing, "initialize after one that failed": request("initialize", "{}") + &again() =>
            error("1", -32602, INITIALIZE_TAKES).into_iter().chain([Agreed("2", "2025-06-18")]);
        Nothing, "initialize twice in a row": initialize("2025-11-25") + &again() =>
            [Agreed("1", "2025-11-25"), Agreed("2", "2025-06-18")];
        Handshake, "initialize once more": initialize("2025-03-26") => [Agreed("1", "2025-03-26")];
        Handshake, "initialize once more with a version of the future":
            initialize("2031-01-01") + &with_id("2", &request("tools/list", "{}")) => [Agreed("1", "2025-11-25"), Tools("2")];
        Nothing, "a ping first": ping("1") => pong("1");
        Nothing, "a list first": request("tools/list", "{}") => error("1", -32602, NO_VERSION);
        Nothing, "a call first": request("tools/call", r#"{"name":"9plan_admin_sessions"}"#) => error("1", -32602, NO_VERSION);
        Nothing, "a call with odd arguments first": request("tools/call", r#"{"name":"9plan_queue_pull","arguments":[]}"#) =>
            error("1", -32602, NO_VERSION);
        Nothing, "a prompt first": request("prompts/get", r#"{"name":"bootstrap"}"#) => error("1", -32602, NO_VERSION);
        Nothing, "a list of prompts first": request("prompts/list", "{}") => error("1", -32602, NO_VERSION);
        Nothing, "an unknown method first": request("x", "{}") => error("1", -32601, "Unknown method: x");
        Nothing, "a notification first": initialized => [];
        Nothing, "a cancel first": cancelled => [];
        Nothing, "an answer first": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n" => [];
        Nothing, "junk first": "\u{0}\u{1}junk\n{]\n" => [];
    }
}

fn eras() -> Vec<Case> {
    let list = request("tools/list", "{}");
    let and = |id, request: &str| with_id(id, request);
    let version = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    let missing = "request _meta is missing or has malformed required fields: ";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let both = format!("{missing}io.modelcontextprotocol/protocolVersion, {capabilities}");
    let discover_takes = "The parameters do not fit: server/discover takes _meta, with \
                          io.modelcontextprotocol/protocolVersion and clientCapabilities";
    let known = json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);
    let data = json!({ "requested": "2031-01-01", "supported": known });
    let unknown = json!({ "code": -32022, "message": "Unsupported protocol version", "data": data });
    table! {
        Nothing, "server/discover": alone("server/discover", STATELESS) => [Versions("1")];
        Nothing, "server/discover and initialize": alone("server/discover", STATELESS) + &and("2", &initialize("2025-06-18")) =>
            [Versions("1"), Agreed("2", "2025-06-18")];
        Handshake, "server/discover after a handshake": alone("server/discover", STATELESS) => [Versions("1")];
        Nothing, "server/discover without _meta": request("server/discover", "{}") => error("1", -32602, &both);
        Nothing, "server/discover without params": ping("1").replace("ping", "server/discover") => error("1", -32602, discover_takes);
        Nothing, "half of a _meta": request("tools/list", version) => error("1", -32602, &format!("{missing}{capabilities}"));
        Nothing, "a version of the future": alone("tools/list", "2031-01-01") =>
            [Line(format!(r#"{{"jsonrpc":"2.0","id":1,"error":{unknown}}}"#))];
        Nothing, "a version that is a book": alone("tools/list", &"x".repeat(100_000)) =>
            error("1", -32602, "Invalid params: the version of the protocol is no date");
        Nothing, "an older version in _meta": alone("tools/list", "2025-06-18") => [Tools("1")];
        Request, "a ping where there is none": alone("ping", STATELESS) => error("1", -32601, "ping");
        Request, "a call without a tool": alone("tools/call", STATELESS) => error("1", -32602, CALL_TAKES);
        Request, "initialize where there is none": alone("initialize", STATELESS) =>
            error("1", -32601, "Unknown method: initialize");
        Request, "a list without _meta": &list => error("1", -32602, NO_VERSION);
        Request, "a handshake after a request that stands alone": initialize("2025-06-18") => [Agreed("1", "2025-06-18")];
        Handshake, "a request that stands alone after a handshake": alone("tools/list", STATELESS) => [Tools("1")];
        Request, "both eras on one pipe":
            initialize("2025-06-18") + &and("2", &list) + &and("3", &alone("tools/list", STATELESS)) + &and("4", &list) =>
            [Agreed("1", "2025-06-18"), Tools("2"), Tools("3"), Tools("4")];
    }
}

/// A request of so many bytes.
fn sized(bytes: usize) -> String {
    let request = |padding: usize| request("ping", &format!("{{\"x\":\"{}\"}}", "x".repeat(padding)));
    // The end of the line is not counted.
    request(bytes + 1 - request(0).len())
}

/// A call with a text of so many mebibytes.
pub fn long(mebibytes: usize) -> String {
    let text = "x".repeat(mebibytes << 20);
    request("tools/call", &format!(r#"{{"name":"9plan_session_create","arguments":{{"task_description":"{text}"}}}}"#))
}

/// A call that asks for a session by what is no name of one.
fn resume(name: &[u8]) -> Vec<u8> {
    let call = request("tools/call", r#"{"name":"9plan_session_resume","arguments":{"session_name":"@"}}"#);
    let (before, after) = call.split_once('@').unwrap();
    [before.as_bytes(), name, after.as_bytes()].concat()
}

/// The answer to it, which repeats the name.
fn no_session(name: &str) -> Vec<Answer> {
    let form = "the three lower-case words joined by hyphens that stand in every reply, such as amber-quiet-river";
    failure(&format!("{name} is not a session name."), &format!("Give {form}."))
}

/// The result of a tool whose arguments do not fit.
fn failure(message: &str, suggestion: &str) -> Vec<Answer> {
    let text = crate::harness::error("none", "VALIDATION_ERROR", message, suggestion);
    result("1", &json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
}
