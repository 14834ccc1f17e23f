//! The MCP server: what a client sees of 9plan.
//!
//! Owns the answers to the protocol's requests, in both of its eras. Everything that a tool does is behind
//! [`routes`]; this module and those below it are the only ones that name rmcp.

mod arguments;
mod call;
mod routes;
mod schema;
pub mod stdio;

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListToolsResult, PaginatedRequestParams,
    Prompt, PromptArgument, PromptMessage, ProtocolVersion, Role, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::plan::clip;
use crate::sessions::Sessions;
use crate::tools::{Connection, Unnamed};
use call::Caller;
use routes::{Route, with_prefix};

const INSTRUCTIONS: &str = include_str!("instructions.md");
const BOOTSTRAP: &str = include_str!("bootstrap.md");
const BOOTSTRAP_NAME: &str = "bootstrap";

/// The most bytes of JSON that the prompt repeats of a task; it says what to do where the task looks cut.
const PROMPT_TASK: usize = 50_000;

/// The server of one connection.
pub struct Server {
    connection: Mutex<Connection>,
    routes: Vec<Route>,
    config: ServerConfig,
    bootstrap: String,
}

impl Server {
    /// A server over `sessions`, its tools' names beginning with `prefix`.
    pub fn new(sessions: Arc<Sessions>, prefix: String) -> Self {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().build();
        let config = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("9plan", env!("CARGO_PKG_VERSION")).with_title("9plan"))
            .with_instructions(with_prefix(INSTRUCTIONS, &prefix));
        Self {
            routes: routes::core(&prefix),
            bootstrap: with_prefix(BOOTSTRAP, &prefix),
            connection: Mutex::new(Connection::new(sessions, prefix)),
            config,
        }
    }

    fn route(&self, name: &str) -> Result<&Route, ErrorData> {
        self.routes
            .iter()
            .find(|route| route.tool.name == name)
            .ok_or_else(|| ErrorData::invalid_params(format!("Unknown tool: {}", echo(name)), None))
    }

    fn bootstrap(&self, task: Option<&str>) -> GetPromptResult {
        let mut text = self.bootstrap.clone();
        if let Some(task) = task {
            text.push_str(&format!("\n\nTHE TASK\n{}", clip(task, PROMPT_TASK)));
        }
        GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
            .with_description("Set up a 9plan session for a task that takes several plans")
    }
}

/// Whether a call belongs to the era in which each request stands alone and state is named. Versions are dates and compare
/// as such.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// A caller's own word in a message, within reason.
fn echo(word: &str) -> String {
    clip(word, 100)
}

/// The lists are short enough for one page, so that no cursor was ever given out.
fn first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|page| page.cursor) {
        Some(_) => Err(ErrorData::invalid_params("Unknown cursor: the list has one page", None)),
        None => Ok(()),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        first_page(request)?;
        Ok(ListToolsResult::with_all_items(self.routes.iter().map(|route| route.tool.clone()).collect()))
    }

    // The tool runs on the thread that reads the connection: calls that a client sends without waiting then take effect
    // in the order sent.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let route = self.route(&request.name)?;
        let caller = Caller {
            unnamed: if is_stateless(&context) { Unnamed::CurrentIfClear } else { Unnamed::Current },
            client: context.client_info().map(|client| client.name),
        };
        call::run(&self.connection, route, request.arguments.unwrap_or_default(), caller).map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        first_page(request)?;
        let task = PromptArgument::new("task").with_description("What to plan").with_required(false);
        let prompt = Prompt::new(
            BOOTSTRAP_NAME,
            Some("Set up a session: clarify the task, break it into plans, queue them, start"),
            Some(vec![task]),
        );
        Ok(ListPromptsResult::with_all_items(vec![prompt.with_title("Plan a task with 9plan")]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != BOOTSTRAP_NAME {
            return Err(ErrorData::invalid_params(format!("Unknown prompt: {}", echo(&request.name)), None));
        }
        let arguments = request.arguments.unwrap_or_default();
        if let Some(other) = arguments.keys().find(|name| *name != "task") {
            return Err(ErrorData::invalid_params(
                format!("Unknown argument: {}; the prompt takes task", echo(other)),
                None,
            ));
        }
        match arguments.get("task") {
            None | Some(Value::Null) => Ok(self.bootstrap(None).into()),
            Some(Value::String(task)) => Ok(self.bootstrap(Some(task.trim()).filter(|task| !task.is_empty())).into()),
            Some(_) => Err(ErrorData::invalid_params("The argument task must be a string", None)),
        }
    }

    // A request whose parameters do not fit its method comes here. For a call of a tool that is known, what does not fit
    // is the arguments, and that is for the model to hear.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "tools/call" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, echo(&request.method), None));
        }
        let name = request.params.as_ref().and_then(|params| params.get("name")).and_then(Value::as_str);
        let name = name.ok_or_else(|| ErrorData::invalid_params("tools/call needs the name of a tool", None))?;
        let mut result = call::not_an_object(&self.connection, self.route(name)?);
        if !is_stateless(&context) {
            // As the library does for the results that it knows.
            result.result_type = None;
        }
        serde_json::to_value(result).map(CustomResult::new).map_err(|fault| {
            tracing::error!(%fault, "a result does not serialise");
            ErrorData::internal_error("The result could not be written", None)
        })
    }
}
