//! Tools with faults, by which tests see through the real program what becomes of a caller and of the disk.
//!
//! Owns a tool that panics, two that never end, and one that has the process die. They are on no list, and in no release.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::routes::{Reply, Route, Run};
use crate::steps;

/// The tool of this name, where it is one of them.
pub fn tool(name: &str) -> Option<Route> {
    let mut properties = JsonObject::new();
    let run: Box<Run> = match name {
        "panic" => Box::new(|_, _| panic!("as was asked for")),
        "hang" => Box::new(|_, _| never_end()),
        // As it is about a session, it is tried where requests are taken up.
        "hang_here" => {
            properties.insert("session_name".to_owned(), json!({ "type": "string" }));
            Box::new(|_, _| never_end())
        }
        "watch" => {
            properties.insert("die_at".to_owned(), json!({ "type": "integer" }));
            Box::new(|_, arguments| Ok(watch(&arguments)))
        }
        _ => return None,
    };
    let schema = JsonObject::from_iter([("properties".to_owned(), properties.into())]);
    Some(Route { tool: Tool::new(name.to_owned(), "", Arc::new(schema)), run })
}

fn never_end() -> ! {
    loop {
        std::thread::park();
    }
}

/// Watches the steps of the calls that follow, and lists those since the last time.
fn watch(arguments: &JsonObject) -> Reply {
    let die_at = arguments.get("die_at").and_then(Value::as_u64).and_then(|instant| usize::try_from(instant).ok());
    let passed = steps::watch(die_at);
    Reply { text: passed.join("\n"), fields: JsonObject::from_iter([("passed".to_owned(), json!(passed))]) }
}
