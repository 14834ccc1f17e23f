//! What the server offers: its tools, its prompt, its instructions, and its name.
//!
//! Owns what is the same for every client and every connection; it is made once. Knows no request.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, Implementation, JsonObject, MetaObject, Prompt, PromptArgument, PromptMessage, Role,
    ServerCapabilities, ServerConfig, Tool,
};
use serde_json::{Value, json};

use super::routes::{self, Route, with_prefix};
use super::turns::Turns;
use super::{echo, invalid};
use crate::plan::clip;
use crate::sessions::{Place, Sessions};
use crate::tools::reminder::Names;

const INSTRUCTIONS: &str = include_str!("instructions.md");
const BOOTSTRAP: &str = include_str!("bootstrap.md");
const BOOTSTRAP_NAME: &str = "bootstrap";

/// The most characters that the instructions have.
const MOST_INSTRUCTIONS: usize = 2_000;

/// The most bytes of JSON that the prompt repeats of a task; it says what to do where the task looks cut.
const PROMPT_TASK: usize = 50_000;

/// What is offered, and the sessions that it is about.
pub struct Offer {
    pub sessions: Arc<Sessions>,
    pub turns: Turns,
    /// What the names of the tools begin with.
    pub prefix: String,
    /// Where the client works, if there is only one.
    pub place: Option<Place>,
    /// What a client is told of the server when it connects, [`Self::instructions`] aside.
    pub config: ServerConfig,
    /// The same in short, for the results of the revisions in which nobody connects.
    pub meta: MetaObject,
    /// The definition of the one prompt.
    pub prompt: Prompt,
    routes: Vec<Arc<Route>>,
    instructions: String,
    bootstrap: String,
}

impl Offer {
    /// The tools over `sessions`, their names beginning with `prefix`, for a client that works at `place` or, without one,
    /// for many.
    pub fn new(sessions: Arc<Sessions>, prefix: String, place: Option<Place>) -> Self {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().build();
        let server = Implementation::new("9plan", env!("CARGO_PKG_VERSION")).with_title("9plan");
        let mut meta = MetaObject::new();
        meta.0.insert("io.modelcontextprotocol/serverInfo".to_owned(), json!(server));
        let config = ServerConfig::new(capabilities).with_server_info(server);
        let task = PromptArgument::new("task").with_description("What to plan").with_required(false);
        let purpose = "Set up a session: clarify the task, break it into plans, queue them, start";
        let prompt = Prompt::new(BOOTSTRAP_NAME, Some(purpose), Some(vec![task]));
        Self {
            sessions,
            turns: Turns::default(),
            place,
            config,
            meta,
            prompt: prompt.with_title("Plan a task with 9plan"),
            routes: routes::core(&prefix).into_iter().map(Arc::new).collect(),
            instructions: with_prefix(INSTRUCTIONS, &prefix),
            bootstrap: with_prefix(BOOTSTRAP, &prefix),
            prefix,
        }
    }

    /// The instructions as they are now: the last line names the session that is unfinished where the client works, if one is.
    pub fn instructions(&self) -> String {
        let look = |place: &Place| {
            // Of two in one folder the one of the client's own conversation is meant.
            let own = self.sessions.continued(place);
            own.or_else(|| self.sessions.unfinished(place.folder.as_ref()?, &[]))
        };
        // Whoever connects is not to wait.
        let found = self.place.as_ref().and_then(|place| Sessions::briefly(|| look(place)));
        let Some((name, summary)) = found else { return self.instructions.clone() };
        let room = MOST_INSTRUCTIONS.saturating_sub(self.instructions.chars().count() + 2);
        format!("{}\n\n{}", self.instructions, Names { prefix: &self.prefix }.line(&name, &summary, room))
    }

    /// The definitions of the tools, in the order in which clients list them.
    pub fn tools(&self) -> Vec<Tool> {
        self.routes.iter().map(|route| route.tool.clone()).collect()
    }

    /// The tool of this name.
    ///
    /// # Errors
    ///
    /// `-32602` where there is none.
    pub fn route(&self, name: &str) -> Result<Arc<Route>, ErrorData> {
        let found = self.routes.iter().find(|route| route.tool.name == name).map(Arc::clone);
        #[cfg(debug_assertions)]
        let found = found.or_else(|| super::faulty::tool(name).map(Arc::new));
        found.ok_or_else(|| invalid(format!("Unknown tool: {}", echo(name))))
    }

    /// The prompt of this name, for the task in `arguments`, if any.
    ///
    /// # Errors
    ///
    /// `-32602` where there is no such prompt or it takes no such arguments.
    pub fn prompted(&self, name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
        if name != BOOTSTRAP_NAME {
            return Err(invalid(format!("Unknown prompt: {}", echo(name))));
        }
        if let Some(other) = arguments.keys().find(|name| *name != "task") {
            return Err(invalid(format!("Unknown argument: {}; the prompt takes task", echo(other))));
        }
        let task = match arguments.get("task") {
            None | Some(Value::Null) => "",
            Some(Value::String(task)) => task.trim(),
            Some(_) => return Err(invalid("The argument task must be a string")),
        };
        let mut text = self.bootstrap.clone();
        if !task.is_empty() {
            text.push_str(&format!("\n\nTHE TASK\n{}", clip(task, PROMPT_TASK)));
        }
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
            .with_description("Set up a 9plan session for a task that takes several plans"))
    }
}
