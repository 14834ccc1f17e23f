//! The command line.
//!
//! Owns the commands and their help. Without one, the program serves.

use std::io::{self, Write};

use clap::builder::PossibleValue;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::hook::Moment;
use crate::setup::Client;

/// Keeps a coding agent's plans outside its context: an MCP server.
///
/// Without a command it serves MCP over standard input and output; an MCP
/// client starts it so, once `9plan setup` has told it to. It can also serve
/// many clients over HTTP. A session with a three-word name holds one queue of
/// plans, and `9plan demo` plays one from start to end.
#[derive(Debug, Parser)]
#[command(name = "9plan", version, verbatim_doc_comment, after_help = ENVIRONMENT)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Connect a client, or list the clients that are there
    ///
    /// Writes 9plan into the client's own configuration, with a copy of the
    /// file beside it, and for Claude Code the hooks by which it recovers by
    /// itself after its context is gone. All else in the file stays as it is;
    /// a file that cannot be read, for instance because of comments, is left
    /// alone. Without a client it lists those that it finds, and what each has.
    #[command(
        verbatim_doc_comment,
        after_help = "\
Examples:
  9plan setup                      Which clients are there?
  9plan setup claude-code          Connect Claude Code, with hooks
  9plan setup cursor --print       See what would be written, and where
  9plan setup codex --env NINEPLAN_SESSIONS_PATH=/srv/plans
  9plan setup gemini --remove      Take it out again"
    )]
    Setup(Setup),
    /// Check the sessions, the server and what its tools cost
    ///
    /// Looks at every session and says what is wrong and what opening it would
    /// repair, starts the server as a client does and calls it once. Nothing
    /// is changed without --fix. Exits with 1 where something is wrong.
    #[command(
        verbatim_doc_comment,
        after_help = "\
The fields of --json: ok; program; version; sessions_root {path, problem};
sessions [{name, ok, repairs_due, repaired, issues, note}];
unfinished_folders; server {ok, problem, milliseconds, tools,
tool_list_bytes, model_bytes}."
    )]
    Doctor(Doctor),
    /// Play a whole session against the real server, in a temporary folder
    Demo,
    /// Print the task of a session, or one of its plans, whole
    #[command(after_help = "\
Examples:
  9plan show amber-quiet-river
  9plan show --plan k7f3m amber-quiet-river")]
    Show {
        /// The session's three words
        session: String,
        /// The id of a plan
        #[arg(long, value_name = "ID")]
        plan: Option<String>,
    },
    /// Answer a hook of a client, as `9plan setup claude-code` writes them
    ///
    /// Reads the JSON of the hook on standard input and prints what the model
    /// is to see: after a compaction all that it needs to go on, in a folder
    /// with an unfinished session two lines that say so, else nothing. It never
    /// fails and never holds the client up; what is wrong goes to standard
    /// error.
    #[command(verbatim_doc_comment)]
    Hook(Hook),
    /// Print the script by which a shell completes commands
    #[command(after_help = "\
Examples:
  9plan completions bash > ~/.local/share/bash-completion/completions/9plan
  9plan completions fish > ~/.config/fish/completions/9plan.fish
  9plan completions zsh > ~/.zfunc/_9plan")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub struct Setup {
    /// The client; without one, those that are there are listed
    pub client: Option<Client>,
    /// Show what would be written, and where
    #[arg(long, requires = "client")]
    pub print: bool,
    /// Take 9plan out again
    #[arg(long, requires = "client", conflicts_with = "variables")]
    pub remove: bool,
    /// Leave the hooks of Claude Code alone
    #[arg(long, requires = "client")]
    pub no_hooks: bool,
    /// Give the server a variable; for each one more
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = variable, requires = "client")]
    pub variables: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Make the repairs that are due: those that opening a session makes
    #[arg(long)]
    pub fix: bool,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

impl ValueEnum for Client {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

#[derive(Debug, Args)]
pub struct Hook {
    /// The moment
    pub moment: Moment,
    /// Set a variable, as for the server
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = variable)]
    pub variables: Vec<(String, String)>,
}

impl ValueEnum for Moment {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::SessionStart, Self::PreCompact, Self::Prompt]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// Prints the script by which a shell completes commands.
///
/// # Errors
///
/// Where standard output cannot be written to.
pub fn complete(shell: clap_complete::Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "9plan", &mut script);
    io::stdout().write_all(&script)
}

/// A variable and its value.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if is_name(name) => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".to_owned()),
    }
}

/// Whether a text can be the name of a variable wherever the program runs.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

const ENVIRONMENT: &str = "\
Environment:
  NINEPLAN_SESSIONS_PATH  Where sessions are kept
                          [default: 9plan/sessions in the user's data folder]
  NINEPLAN_LOG_LEVEL      debug, info, warn or error [default: info]
  NINEPLAN_TRANSPORT      stdio or http [default: stdio]
  NINEPLAN_HTTP_HOST      Where HTTP is served, at /mcp [default: 127.0.0.1]
  NINEPLAN_HTTP_PORT      [default: 8080]
  NINEPLAN_HTTP_TOKEN     What clients must show as a bearer token; required
                          where the host is not a loopback one
  NINEPLAN_TOOL_PREFIX    What the tools' names begin with [default: 9plan_]
  NINEPLAN_TOOLSETS       Which tools are served [default: core]
  NO_COLOR                Set to anything, terminals get no colour

Start here: `9plan setup`, then `9plan doctor`.";
