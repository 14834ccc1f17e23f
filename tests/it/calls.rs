//! A right call of each tool that is about a session, for tests that go through all of them.

use serde_json::{Value, json};

use crate::harness::plan;

/// Every tool that takes the name of a session, with arguments that are right otherwise.
pub fn tools_with_a_session() -> [(&'static str, Value); 10] {
    [
        ("session_resume", json!({})),
        ("queue_add", plan("goal")),
        ("queue_pull", json!({})),
        ("plan_defer", json!({ "reason": "r" })),
        ("plan_complete", json!({ "outcome": "o" })),
        ("plan_discard", json!({ "reason": "r" })),
        ("history_search", json!({ "query": "q" })),
        ("history_get", json!({ "plan_id": "k7f3m" })),
        ("admin_validate", json!({})),
        ("admin_state", json!({})),
    ]
}

/// Those of them that change it.
pub fn tools_that_change_a_session() -> [(&'static str, Value); 5] {
    let [_, add, pull, defer, complete, discard, ..] = tools_with_a_session();
    [add, pull, defer, complete, discard]
}
