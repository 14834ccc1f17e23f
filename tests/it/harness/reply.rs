//! What a tool replies, in the frame that every reply has.

use serde_json::{Value, json};

/// What a tool replied.
#[derive(Debug)]
pub struct Reply {
    /// The text, without the line that names the session.
    pub text: String,
    /// The structured content.
    pub fields: Value,
}

impl Reply {
    /// A field that is a text.
    #[track_caller]
    pub fn str(&self, field: &str) -> &str {
        self.fields[field].as_str().unwrap_or_else(|| panic!("{field} in {}", self.fields))
    }

    /// The reply in the result of a call that must have succeeded, its frame checked.
    #[track_caller]
    pub fn of(mut result: Value) -> Self {
        let text = only_text(&result);
        assert_eq!(result["isError"], false, "{text}");
        let fields = result["structuredContent"].take();
        let session = fields["session_name"].as_str().unwrap_or("none");
        let text = text.strip_prefix(&format!("[Session: {session}]\n\n")).unwrap_or_else(|| panic!("{text}"));
        Self { text: text.to_owned(), fields }
    }
}

/// The whole text in the result of a call that must have failed.
#[track_caller]
pub fn failure(result: &Value) -> String {
    let text = only_text(result);
    assert_eq!(result["isError"], true, "{text}");
    assert_eq!(result.get("structuredContent"), None);
    text
}

/// The text of a result, which must be its only content.
#[track_caller]
pub fn only_text(result: &Value) -> String {
    let content = result["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
    content[0]["text"].as_str().unwrap().to_owned()
}

/// The arguments of a plan that is told from others by its goal.
pub fn plan(goal: &str) -> Value {
    json!({ "context": "A context.", "goal": goal, "approach": "1. A step.", "success_criteria": "It shows." })
}

/// The whole text of an error.
pub fn error(session: &str, category: &str, message: &str, suggestion: &str) -> String {
    format!("[Session: {session}] Error: {category}\n\n{message}\n\nSuggested action: {suggestion}")
}
