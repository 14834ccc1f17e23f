//! Checking a tool's arguments against its input schema, in our own words.
//!
//! Owns what is said to an agent that calls a tool wrongly: everything that is wrong, at once. Knows no tool: the schema
//! that the client was given is all it goes by.

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::error::Error;
use crate::plan::{MAX_FIELD_BYTES, clip};

/// How much of a caller's own words a message repeats.
const ECHO: usize = 100;

/// How many unknown arguments are named.
const UNKNOWN_NAMED: usize = 10;

/// The arguments as the handler takes them: nulls left out, texts trimmed, whole numbers as integers.
///
/// # Errors
///
/// `VALIDATION_ERROR` with all that is wrong. `tool` is the name by which the client knows the tool.
pub fn check(tool: &str, schema: &JsonObject, given: &JsonObject) -> Result<JsonObject, Error> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut checked = JsonObject::new();
    let mut unknown = Vec::new();
    let mut missing = required.clone();
    let mut unfit = Vec::new();
    for (name, value) in given {
        match properties.and_then(|properties| properties.get(name)) {
            None => unknown.push(format!("`{}`", clip(name, ECHO))),
            Some(_) if value.is_null() => {}
            Some(property) => {
                missing.retain(|other| other != name);
                match checked_value(property, value, required.contains(&name.as_str())) {
                    Ok(value) => drop(checked.insert(name.clone(), value)),
                    Err(problem) => unfit.push(format!("`{name}` {problem}.")),
                }
            }
        }
    }
    if unknown.is_empty() && missing.is_empty() && unfit.is_empty() {
        return Ok(checked);
    }
    let mut problems = Vec::new();
    if !unknown.is_empty() {
        let more = unknown.len().saturating_sub(UNKNOWN_NAMED);
        unknown.truncate(UNKNOWN_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        problems.push(format!("Unknown: {}{more}.", unknown.join(", ")));
    }
    if !missing.is_empty() {
        problems.push(format!("Missing: `{}`.", missing.join("`, `")));
    }
    problems.extend(unfit);
    let optional = properties.into_iter().flat_map(JsonObject::keys).map(String::as_str);
    let optional: Vec<&str> = optional.filter(|name| !required.contains(name)).collect();
    Err(Error::validation(problems.join(" "), allowed(tool, &required, &optional)))
}

/// The arguments that a tool takes, as a suggestion.
fn allowed(tool: &str, required: &[&str], optional: &[&str]) -> String {
    let kinds = [("required", required), ("optional", optional)];
    let listed = kinds.iter().filter(|(_, names)| !names.is_empty());
    let listed: Vec<String> = listed.map(|(kind, names)| format!("{kind} {}", names.join(", "))).collect();
    format!("Call {tool} again. Allowed: {}.", listed.join("; "))
}

fn checked_value(property: &Value, value: &Value, required: bool) -> Result<Value, String> {
    let wanted = property.get("type").and_then(Value::as_str).unwrap_or_default();
    match (wanted, value) {
        ("string", Value::String(text)) => checked_text(property, text, required).map(Value::String),
        ("integer", Value::Number(number)) => checked_number(property, number),
        (wanted, value) => Err(format!("must be {}, not {}", article(wanted), kind(value))),
    }
}

fn checked_text(property: &Value, text: &str, required: bool) -> Result<String, String> {
    let text = text.trim();
    if text.len() > MAX_FIELD_BYTES {
        return Err(format!(
            "has {} bytes; at most {MAX_FIELD_BYTES} are allowed, so put the rest into a file",
            text.len()
        ));
    }
    if required && text.is_empty() {
        return Err("is blank".to_owned());
    }
    if let Some(choices) = property.get("enum").and_then(Value::as_array)
        && !choices.iter().any(|choice| choice == text)
    {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return Err(format!("must be {}, not {:?}", choices.join(" or "), clip(text, ECHO)));
    }
    Ok(text.to_owned())
}

fn checked_number(property: &Value, number: &serde_json::Number) -> Result<Value, String> {
    let bound = |name: &str| property.get(name).and_then(Value::as_i64);
    let (least, most) = (bound("minimum").unwrap_or(i64::MIN), bound("maximum").unwrap_or(i64::MAX));
    // Some clients write every number with a decimal point.
    let text = number.to_string();
    let whole = text.strip_suffix(".0").unwrap_or(&text).parse::<i64>().ok();
    match whole {
        Some(whole) if (least..=most).contains(&whole) => Ok(Value::from(whole)),
        _ => Err(format!("must be a whole number from {least} to {most}, not {}", clip(&text, ECHO))),
    }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "integer" => "a whole number",
        _ => "a string",
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
