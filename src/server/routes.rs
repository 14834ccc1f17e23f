//! The one table of tools: what a client sees of each, and the function that serves it.
//!
//! Owns names, titles, annotations and order. What a tool does is in [`crate::tools`]; what is said of it to a model
//! stands in `tools/*.md`, with every tool's name under the usual prefix.

use std::fmt::Display;
use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::schema;
use crate::error::Error;
use crate::tools::{Call, admin, history, plan, queue, session};

/// The prefix that our own texts are written with.
const WRITTEN_PREFIX: &str = "9plan_";

/// A tool: its definition, and what runs it.
pub struct Route {
    pub tool: Tool,
    pub run: Box<Run>,
}

impl Route {
    /// Whether a call may be about a session that is there.
    pub fn is_about_session(&self) -> bool {
        let properties = self.tool.input_schema.get("properties");
        properties.is_some_and(|properties| properties.get("session_name").is_some())
    }
}

/// Runs a tool with arguments that were checked against its schema.
pub type Run = dyn Fn(&mut Call<'_>, JsonObject) -> Result<Reply, Error> + Send + Sync;

/// What a tool replies, in both forms.
pub struct Reply {
    pub text: String,
    pub fields: JsonObject,
}

/// What a tool does to a session, for the client's permission dialog. No tool reaches outside.
#[derive(Clone, Copy)]
enum Effect {
    /// Looks only. That opening a session may repair its files is no effect of a tool.
    Reads,
    /// Adds or moves something.
    Adds,
    /// Takes something from sight that no tool brings back.
    Destroys,
}

/// A table of tools, a line each: name, title, effect, function.
macro_rules! table {
    ($prefix:expr; $($name:literal $title:literal $effect:ident $handler:path;)*) => {
        vec![$(route($prefix, $name, $title, include_str!(concat!("tools/", $name, ".md")), Effect::$effect, $handler)),*]
    };
}

/// The twelve tools of the core, in the order in which clients list them.
pub fn core(prefix: &str) -> Vec<Route> {
    table! { prefix;
        "session_create"  "Create session"         Adds      session::create;
        "session_resume"  "Resume session"         Reads     session::resume;
        "queue_add"       "Add plan"               Adds      queue::add;
        "queue_pull"      "Pull next plan"         Adds      queue::pull;
        "plan_defer"      "Defer active plan"      Adds      plan::defer;
        "plan_complete"   "Complete active plan"   Adds      plan::complete;
        "plan_discard"    "Discard active plan"    Destroys  plan::discard;
        "history_search"  "Search history"         Reads     history::search;
        "history_get"     "Get completed plan"     Reads     history::get;
        "admin_validate"  "Validate session"       Reads     admin::validate;
        "admin_sessions"  "List sessions"          Reads     admin::sessions;
        "admin_state"     "Show session state"     Reads     admin::state;
    }
}

/// The tools by which an agent finds back. A client that loads tools on demand has these at hand.
const ALWAYS_LOADED: [&str; 3] = ["session_create", "session_resume", "queue_pull"];

/// The tool that is about no session, so that its reply may name none.
const ABOUT_NO_SESSION: &str = "admin_sessions";

/// Our own text with the prefix that is in force.
pub fn with_prefix(text: &str, prefix: &str) -> String {
    text.trim().replace(WRITTEN_PREFIX, prefix)
}

fn route<A, R>(
    prefix: &str,
    name: &str,
    title: &str,
    description: &str,
    effect: Effect,
    handler: fn(&mut Call<'_>, A) -> Result<R, Error>,
) -> Route
where
    A: DeserializeOwned + JsonSchema + 'static,
    R: Serialize + JsonSchema + Display + 'static,
{
    let mut session_name = json!({ "type": "string" });
    if name == ABOUT_NO_SESSION {
        session_name = json!({ "anyOf": [session_name, { "type": "null" }] });
    }
    let mut tool =
        Tool::new(format!("{prefix}{name}"), with_prefix(description, prefix), Arc::new(schema::input::<A>()))
            .with_title(title)
            .with_raw_output_schema(Arc::new(schema::output::<R>(session_name)))
            .with_annotations(effect.annotations(title));
    if ALWAYS_LOADED.contains(&name) {
        let mut meta = MetaObject::new();
        meta.0.insert("anthropic/alwaysLoad".to_owned(), json!(true));
        tool = tool.with_meta(meta);
    }
    Route { tool, run: Box::new(move |call, arguments| run(handler, call, arguments)) }
}

impl Effect {
    fn annotations(self, title: &str) -> ToolAnnotations {
        ToolAnnotations::with_title(title)
            .read_only(matches!(self, Self::Reads))
            .destructive(matches!(self, Self::Destroys))
            .idempotent(matches!(self, Self::Reads))
            .open_world(false)
    }
}

fn run<A, R>(
    handler: fn(&mut Call<'_>, A) -> Result<R, Error>,
    call: &mut Call<'_>,
    arguments: JsonObject,
) -> Result<Reply, Error>
where
    A: DeserializeOwned,
    R: Serialize + Display,
{
    // The schema that the arguments were checked against is made from the same type.
    let arguments = serde_json::from_value(Value::Object(arguments)).map_err(|fault| {
        tracing::error!(%fault, "checked arguments do not decode");
        Error::validation("The arguments do not fit the tool's input schema.", "Call again with arguments that do.")
    })?;
    let reply = handler(call, arguments)?;
    let text = reply.to_string();
    let fields = match serde_json::to_value(reply) {
        Ok(Value::Object(fields)) => fields,
        // Replies are structs of texts, numbers and lists.
        _ => JsonObject::new(),
    };
    Ok(Reply { text, fields })
}
