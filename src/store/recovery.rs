//! Bringing the plan files back in order with the database, when a session is opened.
//!
//! Owns the table of repairs of the contract: what a crash leaves behind is finished or undone, and nothing that may hold
//! somebody's words is removed. Knows no transition and no tool.

use rusqlite::Connection;

use super::audit::{open_plans, plan_files};
use super::begin;
use super::rows::{record, row_of};
use crate::error::Error;
use crate::files::{Entry, Fate, Leftover, PlanFiles};
use crate::plan::{Plan, PlanId};
use crate::plan_text;

/// Repairs the files of a session and says what was done, a short phrase each.
///
/// A repair that the disk refuses is logged and left for the call that needs the file: the history and the queue can be
/// read all the same.
///
/// # Errors
///
/// `DATABASE_ERROR`.
pub fn recover(db: &mut Connection, files: &dyn PlanFiles) -> Result<Vec<String>, Error> {
    let mut repairs = Vec::new();
    for entry in listed(files) {
        if let Entry::Leftover(leftover) = entry
            && let Some(said) = logged(settle(db, files, &leftover))?
        {
            repairs.push((leftover.id, said));
        }
    }
    let present = plan_files(listed(files));
    let open = open_plans(db)?;
    for id in open.difference(&present) {
        if let Some(said) = logged(write_again(db, files, id))? {
            repairs.push((id.clone(), said));
        }
    }
    for id in present.difference(&open) {
        if let Some(said) = logged(remove_finished(db, files, id))? {
            repairs.push((id.clone(), said));
        }
    }

    if !repairs.is_empty() {
        let tx = begin(db)?;
        for (id, said) in &repairs {
            record(&tx, id, "repaired", Some(said), None)?;
        }
        tx.commit()?;
    }
    Ok(repairs.into_iter().map(|(_, said)| said).collect())
}

/// What stands in the folder, or nothing where it cannot be listed.
fn listed(files: &dyn PlanFiles) -> Vec<Entry> {
    files.list().unwrap_or_else(|error| {
        tracing::error!(%error, "the plan files cannot be checked");
        Vec::new()
    })
}

/// A failure of the disk is logged and becomes no repair; a failure of the database goes on.
fn logged(repair: Result<Option<String>, Error>) -> Result<Option<String>, Error> {
    match repair {
        Err(error @ Error::FileSystem { .. }) => {
            tracing::error!(%error, "a plan file cannot be repaired");
            Ok(None)
        }
        repair => repair,
    }
}

/// Finishes a write whose transaction committed, and removes one whose transaction did not.
///
/// The temporary file of a committed write says just what the row says. It is then put in place, unless the plan's file
/// was edited since.
fn settle(db: &Connection, files: &dyn PlanFiles, leftover: &Leftover) -> Result<Option<String>, Error> {
    let (bytes, newer) = files.read_leftover(leftover)?;
    let row = row_of(db, &leftover.id)?;
    let committed = row.is_some_and(|(status, plan)| status.has_file() && says(&bytes, &plan));
    let id = &leftover.id;
    Ok(Some(if committed && newer {
        files.settle(leftover, Fate::Published)?;
        format!("finished writing the file of plan {id}")
    } else {
        files.settle(leftover, Fate::Removed)?;
        format!("removed an unfinished write of plan {id}")
    }))
}

fn write_again(db: &Connection, files: &dyn PlanFiles, id: &PlanId) -> Result<Option<String>, Error> {
    let Some((status, plan)) = row_of(db, id)? else { return Ok(None) };
    if !status.has_file() || files.read(id)?.is_some() {
        return Ok(None);
    }
    files.stage(id, &plan_text::render(&plan))?.publish()?;
    Ok(Some(format!("wrote the missing file of {} plan {id} again", status.as_str())))
}

/// Removes the file of a plan that is finished, if it says nothing that the row does not.
fn remove_finished(db: &Connection, files: &dyn PlanFiles, id: &PlanId) -> Result<Option<String>, Error> {
    let Some((status, plan)) = row_of(db, id)? else { return Ok(None) };
    if status.has_file() {
        return Ok(None);
    }
    match files.read(id)? {
        Some(bytes) if says(&bytes, &plan) => {
            files.remove(id, &bytes)?;
            Ok(Some(format!("removed the file of {} plan {id}", status.as_str())))
        }
        _ => Ok(None),
    }
}

/// Whether a file holds just the text of a plan. A goal that was taken out of the file is still the plan's.
pub(super) fn says(bytes: &[u8], plan: &Plan) -> bool {
    let stored = plan.clone().tidied();
    plan_text::parse(bytes).is_ok_and(|mut read| {
        if read.goal.is_empty() {
            read.goal.clone_from(&stored.goal);
        }
        read == stored
    })
}
