//! The MCP server: what a client sees of 9plan.
//!
//! Owns the answers to the protocol's requests, in both of its eras. What is offered is [`offer`], what a tool does is
//! behind [`routes`], and what a client writes comes in through [`stdio`] or [`http`]. This module and those below it are
//! the only ones that name rmcp.

pub mod access;
mod arguments;
mod call;
mod connections;
#[cfg(debug_assertions)]
mod faulty;
pub mod http;
mod lines;
mod message;
mod offer;
mod pipe;
mod routes;
mod runtime;
mod schema;
mod skim;
pub mod stdio;
mod turns;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::plan::clip;
use crate::sessions::Sessions;
use crate::tools::{Connection, Unnamed};
use call::Caller;
use routes::Route;

pub use offer::Offer;

/// The methods that are served, and what each takes.
const METHODS: [(&str, &str); 7] = [
    ("initialize", "protocolVersion, capabilities and clientInfo (name and version)"),
    ("ping", "nothing"),
    ("server/discover", "_meta, with io.modelcontextprotocol/protocolVersion and clientCapabilities"),
    ("tools/list", "nothing"),
    ("tools/call", "the name of a tool, a string, and its arguments, an object"),
    ("prompts/list", "nothing"),
    ("prompts/get", "the name of a prompt, a string, and its arguments, an object"),
];

/// How long a call may take to be called brief.
const BRIEF: Duration = Duration::from_millis(50);

/// How many brief calls follow one that was not, before a call is tried again where requests are taken up.
const WARY: u32 = 16;

/// The server of one connection.
pub struct Server {
    offer: Arc<Offer>,
    connection: Arc<Mutex<Connection>>,
    clients: Clients,
    /// How many brief calls are still to follow on one that was not.
    wary: AtomicU32,
    /// Whether a call has been made here since anything else was.
    held_up: Arc<AtomicBool>,
}

/// How many clients the process serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// One, whose calls are made one after the other.
    One,
    /// Many, none of which may hold up another.
    Many,
}

impl Server {
    /// The server of a client that has just connected.
    pub fn new(offer: &Arc<Offer>, clients: Clients) -> Self {
        let connection = Connection::new(Arc::clone(&offer.sessions), offer.prefix.clone(), offer.place.clone());
        Self {
            offer: Arc::clone(offer),
            connection: Arc::new(Mutex::new(connection)),
            clients,
            wary: AtomicU32::new(0),
            held_up: Arc::default(),
        }
    }

    /// Does something with the connection when it is this call's turn: first on its connection, then at the session that it
    /// is about. Both queues are fair, and requests are taken up on one thread: what a client sends without waiting is done
    /// in the order sent.
    ///
    /// It is done on a thread that may wait for the disk. To hand it over and its answer back takes as long as most calls do,
    /// so that it is tried here before, in haste, where nobody else is held up; `work` gives nothing where it then gave up.
    async fn in_turn<R: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        route: Arc<Route>,
        named: Option<&str>,
        work: impl Fn(&mut Connection, &Route) -> Option<R> + Send + 'static,
    ) -> Result<R, ErrorData> {
        let made = Instant::now();
        let mut connection = Arc::clone(&self.connection).lock_owned().await;
        let turn = match route.is_about_session().then(|| connection.session(named)).flatten() {
            Some(session) => Some(self.offer.turns.next(session).await),
            None => None,
        };
        let here = self.clients == Clients::One && turn.is_some() && self.wary.load(Ordering::Relaxed) == 0;
        if here && self.held_up.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        if context.ct.is_cancelled() {
            return Err(ErrorData::internal_error("Cancelled before it began", None));
        }
        let begun = Instant::now();
        if here {
            let guarded = AssertUnwindSafe(|| work(&mut connection, &route));
            let done = Sessions::in_haste(|| catch_unwind(guarded)).map_err(|_panic| call::broken())?;
            if let Some(done) = done {
                self.note(begun);
                self.held_up_others();
                if let Some(turn) = turn {
                    turn.end(None);
                }
                return Ok(done);
            }
        }
        let sessions = Arc::clone(&self.offer.sessions);
        let done = tokio::task::spawn_blocking(move || {
            let since = turn.as_ref().map_or_else(Instant::now, |turn| turn.waits_since(made));
            Sessions::wait_since(since);
            let done = work(&mut connection, &route);
            if let Some(turn) = turn {
                turn.end(Sessions::waited_in_vain().then_some(since));
            }
            sessions.close_idle();
            done
        });
        let done = done.await;
        self.note(begun);
        done.map_err(|fault| tracing::error!(%fault, "a call did not end")).ok().flatten().ok_or_else(call::broken)
    }

    /// Notes that a call was made here, during which nothing else was done. The next one leaves time for that first: for
    /// answers, the end of input, a cancellation.
    fn held_up_others(&self) {
        self.held_up.store(true, Ordering::Relaxed);
        let held_up = Arc::clone(&self.held_up);
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            held_up.store(false, Ordering::Relaxed);
        });
    }

    /// Notes how long a call took that began then.
    fn note(&self, begun: Instant) {
        let wary = if begun.elapsed() < BRIEF { self.wary.load(Ordering::Relaxed).saturating_sub(1) } else { WARY };
        self.wary.store(wary, Ordering::Relaxed);
    }

    /// The answer to a call of a known tool whose arguments are no object: that is for the model to hear.
    async fn call_without_object(
        &self,
        tool: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let era = Era::of(context)?;
        let route = self.offer.route(tool)?;
        let refuse = |connection: &mut Connection, route: &Route| Some(call::not_an_object(connection, route));
        let mut result = self.in_turn(context, route, None, refuse).await?.with_meta(self.meta(era));
        if era == Era::Handshake {
            // As the library does for the results that it knows.
            result.result_type = None;
        }
        serde_json::to_value(result).map(CustomResult::new).map_err(|fault| {
            tracing::error!(%fault, "a result does not serialise");
            call::broken()
        })
    }

    /// What the revisions without a handshake ask each result to carry.
    fn meta(&self, era: Era) -> Option<MetaObject> {
        (era == Era::Stateless).then(|| self.offer.meta.clone())
    }
}

/// The two forms of the protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    /// A connection begins with `initialize` and has a state.
    Handshake,
    /// Each request stands alone: it names its version, and the state that it is about.
    Stateless,
}

impl Era {
    /// The era of the version that a request names, else of the one that was agreed on with `initialize`.
    fn of(context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        match context.protocol_version() {
            Some(version) if version.has_initialize() => Ok(Self::Handshake),
            Some(_) => Ok(Self::Stateless),
            None => Err(invalid("Send initialize first, or name the version of the protocol in the request's _meta")),
        }
    }
}

/// The failure of a request whose parameters are wrong.
fn invalid(message: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

/// A caller's own word in a message, within reason.
fn echo(word: &str) -> String {
    clip(word, 100)
}

/// The lists are short enough for one page, so that no cursor was ever given out.
fn first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|page| page.cursor) {
        Some(_) => Err(invalid("Unknown cursor: the list has one page")),
        None => Ok(()),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.offer.config.clone()
    }

    // The library's own would take the version that a client asks for as the one that was agreed on.
    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = Some(self.offer.instructions());
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut config = self.get_info();
        config.instructions = Some(self.offer.instructions());
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), config))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let meta = self.meta(Era::of(&context)?);
        first_page(request)?;
        Ok(ListToolsResult { meta, ..ListToolsResult::with_all_items(self.offer.tools()) })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let era = Era::of(&context)?;
        let route = self.offer.route(&request.name)?;
        let given = request.arguments.unwrap_or_default();
        let named = given.get("session_name").and_then(Value::as_str).map(str::to_owned);
        let caller = Caller {
            unnamed: if era == Era::Stateless { Unnamed::CurrentIfClear } else { Unnamed::Current },
            client: context.client_info().map(|client| client.name),
            named: named.clone(),
        };
        let run = move |connection: &mut Connection, route: &Route| call::run(connection, route, &given, &caller);
        let result = self.in_turn(&context, route, named.as_deref(), run).await??;
        Ok(result.with_meta(self.meta(era)).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let meta = self.meta(Era::of(&context)?);
        first_page(request)?;
        Ok(ListPromptsResult { meta, ..ListPromptsResult::with_all_items(vec![self.offer.prompt.clone()]) })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let meta = self.meta(Era::of(&context)?);
        let mut result = self.offer.prompted(&request.name, &request.arguments.unwrap_or_default())?;
        result.meta = meta;
        Ok(result.into())
    }

    // A request whose parameters do not fit its method comes here, as well as one whose method is not known.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let unknown = || {
            let message = format!("Unknown method: {}", echo(&request.method));
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
        };
        let (method, wanted) = METHODS.iter().find(|(method, _)| *method == request.method).ok_or_else(unknown)?;
        if *method == "initialize" && Era::of(&context).is_ok_and(|era| era == Era::Stateless) {
            // The revisions without a handshake do not have it.
            return Err(unknown());
        }
        let param = |name: &str| request.params.as_ref().and_then(|params| params.get(name));
        let no_object = param("arguments").is_some_and(|arguments| !arguments.is_null() && !arguments.is_object());
        match param("name").and_then(Value::as_str) {
            Some(tool) if *method == "tools/call" && no_object => self.call_without_object(tool, &context).await,
            _ => Err(invalid(format!("The parameters do not fit: {method} takes {wanted}"))),
        }
    }
}
