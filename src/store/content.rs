//! The content of a plan: what its file says, as long as it has one.
//!
//! Owns the reading of a plan file beside its row. Changes no row; a write that another process has not got to publishing
//! is finished first.

use rusqlite::Connection;

use super::rows::staged_file;
use crate::error::Error;
use crate::files::PlanFiles;
use crate::plan::{Plan, PlanId};
use crate::plan_text;

/// The content of a plan as its file has it, and the bytes of that file if there is one.
pub(super) fn read_back(
    db: &Connection,
    files: &dyn PlanFiles,
    id: &PlanId,
    stored: Plan,
) -> Result<(Plan, Option<Vec<u8>>), Error> {
    // Another process may have committed a write of the file and not have got to publishing it.
    if let Some(leftover) = staged_file(db, id)? {
        files.finish(&leftover)?;
    }
    let Some(bytes) = files.read(id)? else { return Ok((stored, None)) };
    let mut plan = plan_text::parse(&bytes).map_err(|fault| {
        Error::in_the_way("read", &files.path(id), format!("it is not UTF-8 at byte {}", fault.offset))
    })?;
    if plan.goal.is_empty() {
        plan.goal = stored.goal;
    }
    Ok((plan, Some(bytes)))
}

/// A plan's file as text, or its stored text and why the file cannot be read.
pub(super) fn text_for_reading(
    db: &Connection,
    files: &dyn PlanFiles,
    id: &PlanId,
    stored: Plan,
) -> (String, Option<Error>) {
    let as_stored = plan_text::render(&stored);
    match read_back(db, files, id, stored) {
        Ok((_, Some(bytes))) => (String::from_utf8_lossy(&bytes).into_owned(), None),
        Ok((_, None)) => (as_stored, None),
        Err(fault) => (as_stored, Some(fault)),
    }
}
