//! JSON schemas as every client takes them.
//!
//! Owns the clean-up of what schemars makes: no `$schema`, `$ref`, `$defs`, `format`, title or array of types. An optional
//! argument is just one that is not required; a field of a reply that may be null has `anyOf`. Knows no tool.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> JsonObject {
    let mut schema = generate::<T>(SchemaSettings::for_deserialize);
    schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            not_null(property);
        }
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// The schema of a tool's structured content: the session's name, the reply's own fields, and what was repaired.
pub fn output<T: JsonSchema>(session_name: Value) -> JsonObject {
    let mut schema = generate::<T>(SchemaSettings::for_serialize);
    if let Some(Value::Object(own)) = schema.remove("properties") {
        let mut properties = JsonObject::new();
        properties.insert("session_name".to_owned(), session_name);
        properties.extend(own);
        properties.insert("repaired".to_owned(), json!({ "type": "array", "items": { "type": "string" } }));
        schema.insert("properties".to_owned(), Value::Object(properties));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.insert(0, json!("session_name"));
    }
    schema
}

fn generate<T: JsonSchema>(contract: fn(SchemaSettings) -> SchemaSettings) -> JsonObject {
    let settings = contract(SchemaSettings::draft2020_12()).with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip(&mut schema);
    match schema {
        Value::Object(object) => object,
        // A struct has no other schema.
        _ => JsonObject::new(),
    }
}

/// Takes the keywords out that some client chokes on, at every level. A property may well be called `title`, so that only
/// what stands in a schema's own place goes.
fn strip(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for keyword in ["title", "format"] {
        object.remove(keyword);
    }
    for (keyword, value) in object {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for property in properties.values_mut() {
                    strip(property);
                    split_null(property);
                }
            }
            ("items" | "additionalProperties", inner) => strip(inner),
            ("anyOf" | "oneOf" | "allOf", Value::Array(inner)) => inner.iter_mut().for_each(strip),
            _ => {}
        }
    }
}

/// Writes `"type": [T, "null"]` as two branches with a type each; the description stays outside.
fn split_null(property: &mut Value) {
    let Value::Object(object) = property else { return };
    let Some(Value::Array(types)) = object.get("type") else { return };
    let Some(own) = types.iter().find(|name| *name != "null").cloned() else { return };
    let mut branch = std::mem::take(object);
    let description = branch.remove("description");
    branch.insert("type".to_owned(), own);
    object.extend(description.map(|text| ("description".to_owned(), text)));
    object.insert("anyOf".to_owned(), json!([branch, { "type": "null" }]));
}

/// Leaves only the branch that is not null: an argument that may be null may as well be left out.
fn not_null(property: &mut Value) {
    let Value::Object(object) = property else { return };
    let Some(Value::Array(branches)) = object.remove("anyOf") else { return };
    if let Some(Value::Object(own)) = branches.into_iter().next() {
        object.extend(own);
    }
}
