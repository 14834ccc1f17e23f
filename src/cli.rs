//! The command line.
//!
//! Owns the commands and their help. Without one, the program serves.

use clap::{Parser, Subcommand};

/// Keeps a coding agent's plans outside its context: an MCP server.
///
/// Without a command it serves MCP over standard input and output; an MCP
/// client starts it so. It can also serve many clients over HTTP. A session
/// with a three-word name holds one queue of plans, and `9plan demo` plays one
/// from start to end.
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
    Show {
        /// The session's three words
        session: String,
        /// The id of a plan
        #[arg(long, value_name = "ID")]
        plan: Option<String>,
    },
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
  NO_COLOR                Set to anything, terminals get no colour";
