//! 9plan: an MCP server that keeps an agent's plans outside its context.
//!
//! The code map. Arrows point one way, and `tests/it/tidy.rs` holds them:
//!
//! ```text
//! main -> server -> tools -> sessions -> store -> files, ids -> plan_text, plan, error
//! ```
//!
//! - [`server`] speaks MCP over standard input and output or HTTP, and alone names rmcp, tokio and axum;
//!   `server/routes.rs` is the one table of tools.
//! - [`tools`] is what each tool does: arguments in, a reply out, no protocol.
//! - [`sessions`] is the folder of all sessions, [`store`] one of them; only the store and [`error`] name rusqlite.
//! - [`files`] is a session's `plans/`; [`ids`] draws names; [`plan_text`] is the form of a plan file; [`plan`] the words
//!   of the domain; [`steps`] the instants of a change at which tests have the process die.
//! - [`config`] alone reads the environment; [`logging`] writes to standard error and never waits for it.
//! - [`cli`] is the command line; [`demo`], [`show`], [`hook`], [`setup`] and [`doctor`] are its commands, and [`client`] the
//!   client that two of them are.
//!
//! A call: `server/message.rs` takes the message, whatever it is, from `server/pipe.rs` or `server/http.rs`; the table maps
//! the name of the tool to a function in `tools`; `server/call.rs` checks the arguments and runs it; the function asks
//! `sessions` for a store and makes one transition; and `server/call.rs` frames the reply.

mod cli;
mod client;
mod config;
mod demo;
mod doctor;
mod error;
mod files;
mod hook;
mod ids;
mod logging;
mod plan;
mod plan_text;
mod server;
mod sessions;
mod setup;
mod show;
mod steps;
mod store;
mod tools;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use cli::{Cli, Command};
use config::{Config, LogLevel, Transport};
use doctor::Repairs;
use files::DiskPlanFiles;
use hook::Hook;
use ids::RandomIds;
use sessions::{Place, Sessions};
use setup::{Action, Part, Setup, Surroundings, System, Task};

/// What is said to a person who starts the server by hand.
const WAITING: &str = "\
9plan is an MCP server and waits for a client on standard input.
An MCP client starts it by itself once it is told to, for example so:
  claude mcp add 9plan -- 9plan
`9plan demo` shows a session without a client; `9plan --help` says more.
Ctrl-D or Ctrl-C ends it.";

/// The exit code of a failure.
const FAILURE: u8 = 1;

/// The exit code for a wrong use of the program, as clap has it too.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        // Clients take the code for wrong usage as a word to stop what they are doing.
        Err(fault) if fault.use_stderr() && std::env::args().nth(1).is_some_and(|word| word == "hook") => {
            say(&fault.to_string());
            return ExitCode::SUCCESS;
        }
        Err(fault) => fault.exit(),
    };
    match command {
        None => configured(serve),
        Some(Command::Demo) => configured(|config| ended(demo::run(config.colour))),
        Some(Command::Show { session, plan }) => configured(|config| {
            let root = config.sessions_root.clone();
            match show::run(&sessions_below(config.sessions_root), &session, plan.as_deref()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail(&format!("{error}\nSessions are looked for in {}.", root.display()), FAILURE),
            }
        }),
        Some(Command::Setup(order)) => set_up(order),
        Some(Command::Doctor(order)) => configured(|config| examine(order, config)),
        Some(Command::Hook(call)) => answer(call),
        Some(Command::Completions { shell }) => ended(cli::complete(shell)),
    }
}

/// Does something that depends on the configuration.
fn configured(work: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    match Config::from_env(&[]) {
        Ok(config) => work(config),
        Err(bad) => fail(&bad.to_string(), USAGE),
    }
}

fn sessions_below(root: PathBuf) -> Sessions {
    Sessions::new(root, Arc::new(RandomIds), |folder| Box::new(DiskPlanFiles::new(folder)))
}

/// How a command ends that prints.
fn ended(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        Err(error) => fail(&error.to_string(), FAILURE),
    }
}

fn serve(config: Config) -> ExitCode {
    let logging = match logging::start(config.log_level, config.colour) {
        Ok(logging) => logging,
        Err(error) => return fail(&format!("the log cannot be written: {error}"), FAILURE),
    };
    let sessions = Arc::new(sessions_below(config.sessions_root));
    // Where the clients of a server over HTTP work, nobody knows.
    let folder = config.project.as_deref().or(config.current.as_deref());
    #[cfg(unix)]
    let process = Some(std::os::unix::process::parent_id());
    #[cfg(not(unix))]
    let process = None;
    let place = (config.transport == Transport::Stdio)
        .then(|| Place { process, ..Place::new(folder, config.conversation.as_deref()) });
    let offer = Arc::new(server::Offer::new(Arc::clone(&sessions), config.tool_prefix, place));
    let served = match config.transport {
        Transport::Stdio => {
            if io::stdin().is_terminal() {
                say(WAITING);
            }
            server::stdio::serve(&offer)
        }
        Transport::Http(endpoint) => server::http::serve(&offer, endpoint),
    };
    if let Err(error) = &served {
        tracing::error!(%error, "serving failed");
    }
    sessions.close_all();
    drop(logging);
    // Not by returning: a thread that waits for standard input would be waited for.
    std::process::exit(i32::from(served.is_err()))
}

fn set_up(order: cli::Setup) -> ExitCode {
    let Some(home) = config::home() else { return fail("there is no home folder", FAILURE) };
    let program = match std::env::current_exe().map(PathBuf::into_os_string) {
        Ok(program) => program.into_string(),
        Err(error) => return fail(&format!("the program does not know where it is: {error}"), FAILURE),
    };
    let Ok(program) = program else { return fail("the path of the program is not Unicode", FAILURE) };
    let at = Surroundings { system: System::this(), home, variable: &config::variable };
    let setup = Setup { at, program };
    let Some(client) = order.client else { return ended(setup.list()) };
    let action = match (order.print, order.remove) {
        (false, false) => Action::Write,
        (false, true) => Action::Remove,
        (true, false) => Action::Print,
        (true, true) => Action::PrintRemoval,
    };
    let parts = if order.no_hooks { vec![Part::Server] } else { vec![Part::Server, Part::Hooks] };
    match setup.run(&Task { client, action, parts, variables: order.variables }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILURE),
        Err(error) => ended(Err(error)),
    }
}

fn examine(order: cli::Doctor, config: Config) -> ExitCode {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return fail(&format!("the program does not know where it is: {error}"), FAILURE),
    };
    let repairs = if order.fix { Repairs::Made } else { Repairs::Told };
    let report = doctor::examine(&sessions_below(config.sessions_root), &program, &config.tool_prefix, repairs);
    let text = if order.json { serde_json::json!(report).to_string() + "\n" } else { report.to_string() };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) if report.ok => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(FAILURE),
        Err(error) => ended(Err(error)),
    }
}

/// Answers a hook, which succeeds whatever happens.
fn answer(call: cli::Hook) -> ExitCode {
    let answered = Config::from_env(&call.variables).map_err(|bad| bad.to_string()).and_then(|config| {
        let _logging = logging::start(LogLevel::Warn, config.colour);
        hook::run(Hook {
            moment: call.moment,
            sessions: sessions_below(config.sessions_root),
            project: config.project,
            current: config.current,
            client_process: config.client_process,
            prefix: config.tool_prefix,
        })
    });
    if let Err(fault) = answered {
        say(&format!("9plan: hook {}: {fault}", call.moment.name()));
    }
    // As above.
    std::process::exit(0)
}

fn fail(message: &str, code: u8) -> ExitCode {
    say(&format!("9plan: {message}"));
    ExitCode::from(code)
}

/// Standard error may be closed, which is no reason to fail.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}
