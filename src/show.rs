//! `9plan show`: a task or a plan whole, for what a reply had to cut.
//!
//! Owns its output on standard output. Changes nothing but what opening a session repairs.

use std::io::{self, Write};
use std::path::Path;

use crate::error::Error;
use crate::plan::{PlanId, SessionName};
use crate::sessions::Sessions;

/// Prints the plan in the form of its file, with what came of it, or else the task of the session. A reader that stops
/// early, as `head` does, is no failure.
///
/// # Errors
///
/// The categories of the tools.
pub fn run(sessions: &Sessions, session: &str, plan: Option<&str>) -> Result<(), Error> {
    let name = SessionName::parse(session)?;
    let plan = plan.map(PlanId::parse).transpose()?;
    let store = sessions.store(&name)?;
    for repair in store.lock().take_repaired() {
        // Standard error may be closed, which is no reason to fail.
        let _ = writeln!(io::stderr(), "9plan: {repair}");
    }
    let text = match plan {
        Some(id) => store.lock().text_of(&id)?,
        None => format!("{}\n", store.lock().state()?.task_description.unwrap_or_default()),
    };
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::file("write to", Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}
