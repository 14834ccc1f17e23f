//! The command line.
//!
//! Owns the commands and their help. Without one, the program serves.

use std::io::{self, Write};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::hook::Moment;

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
    /// Reads the hook's JSON on standard input (session_id, cwd, source) and
    /// prints what the model is to see: after a compaction all that it needs to
    /// go on, in a folder with an unfinished session two lines that say so,
    /// else nothing. It never fails and never holds the client up; what is
    /// wrong goes to standard error.
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

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()))
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
