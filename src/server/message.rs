//! A message as a client wrote it, before the protocol sees it.
//!
//! Owns the promise that whoever asks something and gives an id is answered, however the message is spoiled: what the
//! library would drop is mended or refused here. Pure; knows neither transport.

use std::fmt;

use rmcp::model::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::skim::{LONGEST_ID, Skim};

/// The longest message, in bytes.
pub const LONGEST: usize = 8 * 1024 * 1024;

/// The most values in one message or batch. Each takes much more memory than it has text.
const MOST_VALUES: usize = 100_000;

/// The longest name of a version that is looked at, in bytes. An answer repeats it.
const LONGEST_VERSION: usize = 64;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What came in.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A request or a notification: an object with a method, and with an id that can be answered if it has one.
    Message(Value),
    /// What is no message, or one that cannot be taken.
    Refused(Refusal),
    /// An answer. Nobody here asks a client anything.
    Answer,
}

/// The answer to a message that is not taken. As text it is one line of JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// As the client wrote it. Without one nobody waits for an answer.
    pub id: Option<String>,
    pub code: ErrorCode,
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = json!({ "code": self.code, "message": self.message });
        write!(out, r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, self.id.as_deref().unwrap_or("null"))
    }
}

impl Refusal {
    /// Says in the log that a message is not taken.
    pub fn log(&self) {
        tracing::warn!(id = self.id, reason = self.message, "a message is not taken");
    }

    /// The refusal of a message that is longer than [`LONGEST`].
    pub fn too_long(skimmed: Skim) -> Self {
        let message = format!("Invalid Request: longer than {} MiB", LONGEST / (1024 * 1024));
        Self { id: skimmed.id(), code: ErrorCode::INVALID_REQUEST, message }
    }

    /// The refusal of a message that is JSON, but not what it must be.
    pub fn invalid(id: Option<String>, what: impl fmt::Display) -> Self {
        Self { id, code: ErrorCode::INVALID_REQUEST, message: format!("Invalid Request: {what}") }
    }
}

/// Reads one line or body: a message, several in a list (a batch, which revisions up to 2025-03-26 have), or nothing but
/// white space.
pub fn read(text: &[u8]) -> Vec<Incoming> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii();
    if text.is_empty() {
        return Vec::new();
    }
    if text.len() > MOST_VALUES && parts(text) > MOST_VALUES {
        return vec![Incoming::Refused(Refusal::invalid(id(text), "more values than any message has"))];
    }
    let batch = if text.starts_with(b"[") { batch(String::from_utf8_lossy(text).as_bytes()) } else { None };
    batch.unwrap_or_else(|| vec![read_one(text)])
}

/// The messages of a batch, each read as it was written, so that its id can be given back so.
fn batch(text: &[u8]) -> Option<Vec<Incoming>> {
    let messages: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
    let messages: Vec<Incoming> = messages.into_iter().map(|message| read_one(message.get().as_bytes())).collect();
    (!messages.is_empty()).then_some(messages)
}

fn read_one(text: &[u8]) -> Incoming {
    let message = match parsed(text) {
        Ok(message) => message,
        Err(refusal) => return Incoming::Refused(refusal),
    };
    let (code, wrong) = match fault(&message) {
        None => return Incoming::Message(message),
        Some(Fault::Answer) => return Incoming::Answer,
        Some(Fault::Request(what)) => (ErrorCode::INVALID_REQUEST, format!("Invalid Request: {what}")),
        Some(Fault::Params(what)) => (ErrorCode::INVALID_PARAMS, format!("Invalid params: {what}")),
    };
    // As it was written, where a parser would not give it back.
    let id = message.get("id").filter(|id| is_id(id)).map(Value::to_string).or_else(|| id(text));
    Incoming::Refused(Refusal { id, code, message: wrong })
}

/// The JSON of a text. What is not Unicode in it is replaced, so that one bad character does not cost a plan.
fn parsed(text: &[u8]) -> Result<Value, Refusal> {
    if let Ok(value) = serde_json::from_slice(text) {
        return Ok(value);
    }
    let mended = mended(text);
    match serde_json::from_str::<Value>(&mended) {
        Ok(value) if is_replaced(&value["id"]) => Err(Refusal::invalid(id(text), "the id is not Unicode text")),
        Ok(value) => {
            tracing::warn!("a message had characters that are not Unicode; they were replaced");
            Ok(value)
        }
        Err(fault) => {
            Err(Refusal { id: id(text), code: ErrorCode::PARSE_ERROR, message: format!("Parse error: {fault}") })
        }
    }
}

/// How many signs there are that part one value from another: no less than one for each value but the first.
fn parts(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Why something is no message for the library.
enum Fault {
    Answer,
    Request(&'static str),
    Params(&'static str),
}

fn fault(message: &Value) -> Option<Fault> {
    let Value::Object(fields) = message else { return Some(Fault::Request("a message is an object")) };
    let has = |name: &str| fields.contains_key(name);
    let object_or_none = |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value.is_object());
    let params = fields.get("params");
    let meta = params.and_then(|params| params.get("_meta"));
    let version = meta.and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion")).and_then(Value::as_str);
    if !has("method") && (has("result") || has("error")) {
        Some(Fault::Answer)
    } else if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        Some(Fault::Request("jsonrpc must be \"2.0\""))
    } else if !fields.get("method").is_some_and(Value::is_string) {
        Some(Fault::Request("method must be a string"))
    } else if !fields.get("id").is_none_or(is_id) {
        Some(Fault::Request("the id must be a string of up to 8 KiB or a signed whole number of 64 bits"))
    } else if has("result") || has("error") {
        Some(Fault::Request("neither a request nor a notification"))
    } else if !object_or_none(params) {
        Some(Fault::Params("params must be an object"))
    } else if !object_or_none(meta) {
        Some(Fault::Params("_meta must be an object"))
    } else if version.is_some_and(|version| version.len() > LONGEST_VERSION) {
        Some(Fault::Params("the version of the protocol is no date"))
    } else {
        None
    }
}

/// Whether an id may have had another character where now one stands for it.
fn is_replaced(id: &Value) -> bool {
    id.as_str().is_some_and(|id| id.contains(char::REPLACEMENT_CHARACTER))
}

fn is_id(id: &Value) -> bool {
    id.is_i64() || id.is_string() && id.to_string().len() <= LONGEST_ID
}

fn id(text: &[u8]) -> Option<String> {
    let mut skim = Skim::default();
    skim.read(text);
    skim.id()
}

/// The text with U+FFFD in the place of whatever is no character: bytes that are not UTF-8, and halves of surrogate pairs
/// that stand alone.
fn mended(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut mended = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, written) = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, &rest[..12]),
            (Some(0xd800..=0xdfff), _) => (6, r"\ufffd"),
            _ => {
                let length = rest.chars().take(2).map(char::len_utf8).sum();
                (length, &rest[..length])
            }
        };
        mended.push_str(written);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    mended
}

/// The number in an escape `\uXXXX` that a text begins with.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(id: Option<&str>, code: i32, message: &str) -> Incoming {
        Incoming::Refused(Refusal { id: id.map(str::to_owned), code: ErrorCode(code), message: message.to_owned() })
    }

    #[test]
    fn a_refusal_is_one_line_with_the_id_as_it_was_written() {
        let line = Refusal::invalid(Some("1.50".to_owned()), "a \"word\"\nand more").to_string();
        let expected =
            r#"{"jsonrpc":"2.0","id":1.50,"error":{"code":-32600,"message":"Invalid Request: a \"word\"\nand more"}}"#;
        assert_eq!(line, expected);
        assert!(Refusal::invalid(None, "x").to_string().starts_with(r#"{"jsonrpc":"2.0","id":null,"#));
    }

    #[test]
    fn a_batch_is_read_one_by_one() {
        let text = r#"[{"jsonrpc":"2.0","method":"m","id":1}, 7, {"id":"a"}, {"id":2,"result":{}}]"#;
        let expected = [
            Incoming::Message(json!({ "jsonrpc": "2.0", "method": "m", "id": 1 })),
            refused(None, -32600, "Invalid Request: a message is an object"),
            refused(Some("\"a\""), -32600, "Invalid Request: jsonrpc must be \"2.0\""),
            Incoming::Answer,
        ];
        assert_eq!(read(text.as_bytes()), expected);
        assert_eq!(read(b"[]"), [refused(None, -32600, "Invalid Request: a message is an object")]);
    }

    #[test]
    fn halves_of_surrogate_pairs_are_replaced_and_nothing_else() {
        for (text, expected) in [
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"\ud83d", r"\ufffd"),
            (r"\ude00\ud83d", r"\ufffd\ufffd"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\ud83dx\\ud83d", r"\ufffdx\\ud83d"),
            (r"\\\ud83d\n\", r"\\\ufffd\n\"),
            (r"\ud8", r"\ud8"),
            (r"\é\ud83d", r"\é\ufffd"),
        ] {
            assert_eq!(mended(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(mended(b"a\xffb\xe4\xb8"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn an_id_that_would_be_changed_is_refused_with_the_id_that_was_given() {
        let message = |name: &str, id: &str| format!(r#"{{"jsonrpc":"2.0","{name}":{id},"method":"ping"}}"#);
        let expected = |id| refused(id, -32600, "Invalid Request: the id is not Unicode text");
        let id = r#""\ud800""#;
        for name in ["id", r"\u0069d"] {
            assert_eq!(read(message(name, id).as_bytes()), [expected(Some(id))]);
        }
        let long = format!("\"{}\"", r"\ud800".repeat(LONGEST_ID / 6 + 1));
        assert_eq!(read(message("id", &long).as_bytes()), [expected(None)], "as it is written it is too long");
        let batch = [b"[", message("id", id).as_bytes(), b",\"\xff\"]"].concat();
        assert_eq!(read(&batch)[0], expected(Some(id)));
    }

    #[test]
    fn what_has_a_method_is_no_answer_too() {
        for name in ["result", "error"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","{name}":{{}}}}"#);
            let expected = refused(Some("1"), -32600, "Invalid Request: neither a request nor a notification");
            assert_eq!(read(text.as_bytes()), [expected]);
        }
    }

    #[test]
    fn so_many_values_are_taken_and_no_more() {
        let list = |zeros: usize| format!("{{\"x\":[{}]}}", vec!["0"; zeros].join(","));
        // A colon and two brackets are counted with the commas.
        let most = list(MOST_VALUES - 2);
        assert_eq!(parts(most.as_bytes()), MOST_VALUES);
        let reason = |text: String| match read(text.as_bytes()).remove(0) {
            Incoming::Refused(refusal) => refusal.message,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(most), "Invalid Request: jsonrpc must be \"2.0\"");
        assert_eq!(reason(list(MOST_VALUES - 1)), "Invalid Request: more values than any message has");
        assert_eq!(parts(br#"{"a\\":"\",:[{","b":[]}"#), 5);
    }

    #[test]
    fn a_version_may_be_so_long_and_no_longer() {
        let taken = |length: usize| {
            let meta = json!({ "io.modelcontextprotocol/protocolVersion": "x".repeat(length) });
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "m", "params": { "_meta": meta } });
            matches!(read(message.to_string().as_bytes())[..], [Incoming::Message(_)])
        };
        assert!(taken(LONGEST_VERSION) && !taken(LONGEST_VERSION + 1));
    }

    proptest! {
        #[test]
        fn a_good_message_is_taken_as_it_is(text: String, id: i64) {
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": text, "params": { text: [id] } });
            prop_assert_eq!(read(message.to_string().as_bytes()), [Incoming::Message(message)]);
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            for incoming in read(&bytes) {
                if let Incoming::Refused(refusal) = incoming {
                    prop_assert!(serde_json::from_str::<Value>(&refusal.to_string()).is_ok());
                }
            }
        }
    }
}
