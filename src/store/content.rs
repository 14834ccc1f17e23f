//! The content of a plan: what its file says, as long as it has one.
//!
//! Owns the reading of a plan file beside its row, and what becomes of a change that has not got from the row into the
//! file. Changes no row.

use super::rows::unfinished;
use super::transaction::Transaction;
use crate::error::Error;
use crate::files::PlanFiles;
use crate::plan::{Plan, PlanId};
use crate::plan_text;

/// A plan as it stands, and the file that it was read from.
pub(super) struct Content {
    pub plan: Plan,
    /// The bytes of the file, if there is one.
    pub file: Option<Vec<u8>>,
    /// The note that the plan has and the file has not, so that the file is to be written again.
    pub missing_note: Option<String>,
    /// Whether the last change of the file was just about to be published: a file that is missing is not lost.
    pub overtaken: bool,
}

/// Reads a plan for a transition, which holds the write lock. Of a change that was committed and not published, by this
/// process or another, nothing is lost: a missing file is replaced by the row, a missing note is added.
///
/// # Errors
///
/// `FILE_SYSTEM_ERROR` where the file cannot be read, or `DATABASE_ERROR`.
pub(super) fn read_back(
    tx: &Transaction<'_>,
    files: &dyn PlanFiles,
    id: &PlanId,
    stored: Plan,
) -> Result<Content, Error> {
    let (leftover, note) = unfinished(tx, id)?;
    let overtaken = match leftover {
        Some(leftover) => files.abandon(&leftover)?,
        None => false,
    };
    Ok(Content { overtaken, ..content_of(files, id, stored, note)? })
}

/// The same where somebody may still publish a change. `note` is what the file may not have got of the last one.
pub(super) fn content_of(
    files: &dyn PlanFiles,
    id: &PlanId,
    stored: Plan,
    note: Option<String>,
) -> Result<Content, Error> {
    let file = files.read(id)?;
    let mut plan = match &file {
        Some(bytes) => parsed(files, id, bytes, stored)?,
        None => stored,
    };
    let missing_note = note.filter(|note| !plan.notes.contains(note.as_str()));
    if let Some(note) = &missing_note {
        plan.add_note(note);
    }
    Ok(Content { plan, file, missing_note, overtaken: false })
}

/// A plan's file as text, or its stored text and, if there is a file, why it cannot be read.
pub(super) fn text_for_reading(files: &dyn PlanFiles, id: &PlanId, stored: &Plan) -> (String, Option<Error>) {
    let read = files.read(id).and_then(|file| match file {
        Some(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|fault| not_utf8(files, id, fault.utf8_error().valid_up_to()))
        }
        None => Ok(None),
    });
    match read {
        Ok(Some(text)) => (text, None),
        Ok(None) => (plan_text::render(stored), None),
        Err(fault) => (plan_text::render(stored), Some(fault)),
    }
}

/// The plan that a file holds. Its goal may not be empty, so that it then stays as it was.
fn parsed(files: &dyn PlanFiles, id: &PlanId, bytes: &[u8], stored: Plan) -> Result<Plan, Error> {
    let mut plan = plan_text::parse(bytes).map_err(|fault| not_utf8(files, id, fault.offset))?;
    if plan.goal.is_empty() {
        plan.goal = stored.goal;
    }
    Ok(plan)
}

fn not_utf8(files: &dyn PlanFiles, id: &PlanId, offset: usize) -> Error {
    Error::in_the_way("read", &files.path(id), format!("it is not UTF-8 at byte {offset}"))
}

/// Whether a file holds just the text of a plan.
pub(super) fn says(files: &dyn PlanFiles, id: &PlanId, bytes: &[u8], plan: &Plan) -> bool {
    let stored = plan.clone().tidied();
    parsed(files, id, bytes, stored.clone()).is_ok_and(|read| read == stored)
}
