//! `9plan show`: one plan whole, for what a reply had to cut.
//!
//! Owns its output on standard output. Changes nothing but what opening a session repairs.

use std::io::{self, Write};
use std::path::Path;

use crate::error::Error;
use crate::plan::{PlanId, SessionName};
use crate::sessions::Sessions;

/// Prints the plan's text in the form of its file, and what came of it. A reader that stops early, as `head` does, is no failure.
///
/// # Errors
///
/// The categories of the tools.
pub fn run(sessions: &Sessions, session: &str, plan: &str) -> Result<(), Error> {
    let name = SessionName::parse(session)?;
    let id = PlanId::parse(plan)?;
    let text = sessions.store(&name)?.lock().text_of(&id)?;
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::file("write to", Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}
