//! Any bytes as a message or a batch: whoever asks and gives an id is answered with that id, and no id is made up.

#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use nineplan_fuzz::message::{Incoming, read};
use nineplan_fuzz::skim::LONGEST_ID;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, from_slice, from_str, from_value, to_string};

fuzz_target!(|bytes: &[u8]| {
    let incoming = read(bytes);
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    let batch = from_slice::<Vec<&RawValue>>(text).ok().filter(|batch| !batch.is_empty());
    let messages = match batch {
        Some(batch) => batch.into_iter().map(|message| message.get().as_bytes()).collect(),
        None if text.is_empty() => Vec::new(),
        // The messages of a broken batch are not told apart here.
        None if text.starts_with(b"[") => vec![text; incoming.len().max(1)],
        None => vec![text],
    };
    assert_eq!(incoming.len(), messages.len());
    for (text, incoming) in messages.into_iter().zip(incoming) {
        check(text, answered(incoming).as_deref());
    }
});

/// The id with which a message is answered, as it stands in the answer.
fn answered(incoming: Incoming) -> Option<String> {
    match incoming {
        Incoming::Answer => None,
        Incoming::Refused(refusal) => {
            let line = refusal.to_string();
            assert!(!line.contains('\n') && from_str::<IgnoredAny>(&line).is_ok(), "{line}");
            refusal.id
        }
        Incoming::Message(value) => {
            let id = value.get("id").map(Value::to_string);
            match from_value::<ClientJsonRpcMessage>(value).expect("a message for the library") {
                JsonRpcMessage::Request(request) => assert_eq!(to_string(&request.id).ok(), id),
                JsonRpcMessage::Notification(_) => assert_eq!(id, None),
                other => panic!("{other:?}"),
            }
            id
        }
    }
}

fn check(text: &[u8], answered: Option<&str>) {
    let fields = from_slice::<HashMap<String, &RawValue>>(text).unwrap_or_default();
    let asks = fields.contains_key("method") || !fields.contains_key("result") && !fields.contains_key("error");
    let id = fields.get("id").map(|id| id.get()).filter(|id| asks && !id.starts_with(['{', '[', 't', 'f', 'n']));
    match (id, answered) {
        (Some(id), Some(answered)) => assert!(id == answered || meant(id) == meant(answered), "{answered} for {id}"),
        (Some(id), None) => assert!(id.len() > LONGEST_ID, "no answer for {id}"),
        (None, Some(answered)) if !answered.starts_with('"') => {
            assert!(text.windows(answered.len()).any(|part| part == answered.as_bytes()), "{answered} is nowhere");
        }
        (None, _) => {}
    }
}

/// An id that is the same however it is written.
fn meant(id: &str) -> String {
    from_str(id).unwrap_or_else(|_| id.to_owned())
}
