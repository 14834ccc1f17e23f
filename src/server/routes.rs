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
    /// Looks only.
    Reads,
    /// Adds or moves something; called twice it does it twice.
    Adds,
    /// Takes something from sight that no tool brings back.
    Destroys,
}

/// The twelve tools of the core, in the order in which clients list them.
pub fn core(prefix: &str) -> Vec<Route> {
    use Effect::{Adds, Destroys, Reads};
    let text = json!({ "type": "string" });
    let text_or_null = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    let table = Table { prefix };
    vec![
        table.row(
            "session_create",
            "Create session",
            include_str!("tools/session_create.md"),
            Adds,
            &text,
            session::create,
        ),
        table.row(
            "session_resume",
            "Resume session",
            include_str!("tools/session_resume.md"),
            Reads,
            &text,
            session::resume,
        ),
        table.row("queue_add", "Add plan", include_str!("tools/queue_add.md"), Adds, &text, queue::add),
        table.row("queue_pull", "Pull next plan", include_str!("tools/queue_pull.md"), Adds, &text, queue::pull),
        table.row("plan_defer", "Defer active plan", include_str!("tools/plan_defer.md"), Adds, &text, plan::defer),
        table.row(
            "plan_complete",
            "Complete active plan",
            include_str!("tools/plan_complete.md"),
            Adds,
            &text,
            plan::complete,
        ),
        table.row(
            "plan_discard",
            "Discard active plan",
            include_str!("tools/plan_discard.md"),
            Destroys,
            &text,
            plan::discard,
        ),
        table.row(
            "history_search",
            "Search history",
            include_str!("tools/history_search.md"),
            Reads,
            &text,
            history::search,
        ),
        table.row(
            "history_get",
            "Get completed plan",
            include_str!("tools/history_get.md"),
            Reads,
            &text,
            history::get,
        ),
        table.row(
            "admin_validate",
            "Validate session",
            include_str!("tools/admin_validate.md"),
            Reads,
            &text,
            admin::validate,
        ),
        table.row(
            "admin_sessions",
            "List sessions",
            include_str!("tools/admin_sessions.md"),
            Reads,
            &text_or_null,
            admin::sessions,
        ),
        table.row(
            "admin_state",
            "Show session state",
            include_str!("tools/admin_state.md"),
            Reads,
            &text,
            admin::state,
        ),
    ]
}

/// Our own text with the prefix that is in force.
pub fn with_prefix(text: &str, prefix: &str) -> String {
    text.trim().replace(WRITTEN_PREFIX, prefix)
}

struct Table<'a> {
    prefix: &'a str,
}

impl Table<'_> {
    fn row<A, R>(
        &self,
        name: &str,
        title: &str,
        description: &str,
        effect: Effect,
        session_name: &Value,
        handler: fn(&mut Call<'_>, A) -> Result<R, Error>,
    ) -> Route
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + Display + 'static,
    {
        let mut tool = Tool::new(
            format!("{}{name}", self.prefix),
            with_prefix(description, self.prefix),
            Arc::new(schema::input::<A>()),
        )
        .with_title(title)
        .with_raw_output_schema(Arc::new(schema::output::<R>(session_name.clone())))
        .with_annotations(effect.annotations(title));
        // These are the ones by which an agent finds back; a client that loads tools on demand has them at hand.
        if ["session_create", "session_resume", "queue_pull"].contains(&name) {
            let mut meta = MetaObject::new();
            meta.0.insert("anthropic/alwaysLoad".to_owned(), json!(true));
            tool = tool.with_meta(meta);
        }
        Route { tool, run: Box::new(move |call, arguments| run(handler, call, arguments)) }
    }
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
