//! Bringing the plan files back in order with the database, when a session is opened.
//!
//! Owns the table of repairs of the contract: what a crash leaves behind is finished or undone, and nothing that may hold
//! somebody's words is removed. Knows no transition and no tool.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use rusqlite::Connection;

use super::audit::{open_plans, plan_files};
use super::begin;
use super::content::{Content, content_of, says};
use super::rows::{record, row_of, unfinished};
use super::transaction::Transaction;
use crate::error::Error;
use crate::files::{Entry, Leftover, PlanFiles, Staged};
use crate::plan::{PlanId, Status};
use crate::plan_text;

/// What came of a recovery.
pub(super) struct Recovered {
    /// What was done, a short phrase each.
    pub repaired: Vec<String>,
    /// Whether something is left that the disk refused.
    pub untidy: bool,
}

/// Repairs the files of a session.
///
/// A repair that the disk refuses is logged and left for the call that needs the file: the history and the queue can be
/// read all the same.
///
/// # Errors
///
/// `DATABASE_ERROR`.
pub(super) fn recover(db: &mut Connection, files: &dyn PlanFiles) -> Result<Recovered, Error> {
    let mut repairs = Repairs::default();
    if in_order(&listed(files), &open_plans(db)?) {
        return Ok(repairs.finished());
    }
    // Whoever stages a file holds the write lock until it commits, and what was committed stands in the row. With the lock
    // here, no temporary file is needed any more.
    let tx = begin(db)?;
    make(&tx, files, &mut repairs)?;
    // The files are in order by now, whether that can be written down or not.
    let written = repairs.done.iter().try_for_each(|repair| {
        let said = repair.to_string();
        record(&tx, &repair.id, "repaired", Some(&said), None)
    });
    if let Err(error) = written.and_then(|()| tx.commit()) {
        tracing::error!(%error, "what was repaired cannot be written down");
    }
    Ok(repairs.finished())
}

/// What [`recover`] would do, without doing it: to which plan, and a phrase that fits after "would". It takes the lock as well, without which a write that is under way looks like
/// one that was left.
///
/// # Errors
///
/// `DATABASE_ERROR`.
pub(super) fn due(db: &mut Connection, files: &Untouched) -> Result<Vec<(PlanId, String)>, Error> {
    let mut repairs = Repairs::default();
    if !in_order(&listed(files), &open_plans(db)?) {
        make(&*begin(db)?, files, &mut repairs)?;
    }
    Ok(repairs.done.into_iter().map(|repair| (repair.id.clone(), repair.due())).collect())
}

fn make(tx: &Transaction<'_>, files: &dyn PlanFiles, repairs: &mut Repairs) -> Result<(), Error> {
    for entry in listed(files) {
        if let Entry::Leftover(leftover) = entry {
            repairs.made(&leftover.id, clear(tx, files, &leftover))?;
        }
    }
    let present = plan_files(listed(files));
    let open = open_plans(tx)?;
    for id in open.difference(&present) {
        repairs.made(id, write_again(tx, files, id))?;
    }
    for id in present.difference(&open) {
        repairs.made(id, remove_finished(tx, files, id))?;
    }
    Ok(())
}

/// A repair of a plan's file.
struct Repair {
    id: PlanId,
    deed: Deed,
}

/// What is done.
enum Deed {
    FinishWriting,
    RemoveUnfinished,
    WriteAgain(Status),
    RemoveFile(Status),
}

impl Repair {
    /// What is still to be done.
    fn due(&self) -> String {
        self.phrase("finish", "remove", "write")
    }

    fn phrase(&self, finish: &str, remove: &str, write: &str) -> String {
        let id = &self.id;
        match self.deed {
            Deed::FinishWriting => format!("{finish} writing the file of plan {id}"),
            Deed::RemoveUnfinished => format!("{remove} an unfinished write of plan {id}"),
            Deed::WriteAgain(status) => format!("{write} the missing file of {} plan {id} again", status.as_str()),
            Deed::RemoveFile(status) => format!("{remove} the file of {} plan {id}", status.as_str()),
        }
    }
}

/// What was done.
impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.phrase("finished", "removed", "wrote"))
    }
}

/// Plan files that are read and not touched.
pub(super) struct Untouched(pub Box<dyn PlanFiles>);

impl PlanFiles for Untouched {
    fn path(&self, id: &PlanId) -> PathBuf {
        self.0.path(id)
    }

    fn stage(&self, _: &PlanId, _: &str) -> Result<Box<dyn Staged>, Error> {
        Ok(Box::new(NotStaged))
    }

    fn read(&self, id: &PlanId) -> Result<Option<Vec<u8>>, Error> {
        self.0.read(id)
    }

    fn remove(&self, _: &PlanId, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn list(&self) -> Result<Vec<Entry>, Error> {
        self.0.list()
    }

    fn abandon(&self, _: &Leftover) -> Result<bool, Error> {
        Ok(true)
    }
}

/// A text that goes nowhere.
struct NotStaged;

impl Staged for NotStaged {
    fn name(&self) -> &'static str {
        ""
    }

    fn publish(self: Box<Self>, _: Option<&[u8]>) -> Result<(), Error> {
        Ok(())
    }
}

/// The repairs so far.
#[derive(Default)]
struct Repairs {
    done: Vec<Repair>,
    refused: bool,
}

impl Repairs {
    /// Takes what came of one. A failure of the disk is logged; a failure of the database goes on.
    fn made(&mut self, id: &PlanId, repair: Result<Option<Deed>, Error>) -> Result<(), Error> {
        match repair {
            Err(error @ Error::FileSystem { .. }) => {
                tracing::error!(%error, "a plan file cannot be repaired");
                self.refused = true;
            }
            repair => self.done.extend(repair?.map(|deed| Repair { id: id.clone(), deed })),
        }
        Ok(())
    }

    fn finished(self) -> Recovered {
        Recovered { repaired: self.done.iter().map(Repair::to_string).collect(), untidy: self.refused }
    }
}

/// Whether just the plans that should have a file have one, and no write is unfinished.
fn in_order(entries: &[Entry], open: &BTreeSet<PlanId>) -> bool {
    let mut files = 0;
    let expected = entries.iter().all(|entry| match entry {
        Entry::Plan(id) => {
            files += 1;
            open.contains(id)
        }
        Entry::Leftover(_) => false,
        Entry::Other(_) => true,
    });
    expected && files == open.len()
}

/// What stands in the folder, or nothing where it cannot be listed.
fn listed(files: &dyn PlanFiles) -> Vec<Entry> {
    files.list().unwrap_or_else(|error| {
        tracing::error!(%error, "the plan files cannot be checked");
        Vec::new()
    })
}

/// Removes a temporary file, and brings into the plan's file what it may have been for.
fn clear(tx: &Transaction<'_>, files: &dyn PlanFiles, leftover: &Leftover) -> Result<Option<Deed>, Error> {
    let id = &leftover.id;
    if let Some((_, plan)) = row_of(tx, id)?
        && let (_, note @ Some(_)) = unfinished(tx, id)?
        && let Content { plan, file: Some(bytes), missing_note: Some(_), .. } = content_of(files, id, plan, note)?
    {
        // Until the file is whole there is a temporary one, by which the next opening sees that something is to be done.
        let staged = files.stage(id, &plan_text::render(&plan))?;
        files.abandon(leftover)?;
        staged.publish(Some(&bytes))?;
        return Ok(Some(Deed::FinishWriting));
    }
    files.abandon(leftover)?;
    Ok(Some(Deed::RemoveUnfinished))
}

fn write_again(db: &Connection, files: &dyn PlanFiles, id: &PlanId) -> Result<Option<Deed>, Error> {
    let Some((status, plan)) = row_of(db, id)? else { return Ok(None) };
    if files.read(id)?.is_some() {
        return Ok(None);
    }
    files.stage(id, &plan_text::render(&plan))?.publish(None)?;
    Ok(Some(Deed::WriteAgain(status)))
}

/// Removes the file of a plan that is finished, if it says nothing that the row does not.
fn remove_finished(db: &Connection, files: &dyn PlanFiles, id: &PlanId) -> Result<Option<Deed>, Error> {
    let Some((status, plan)) = row_of(db, id)? else { return Ok(None) };
    match files.read(id)? {
        Some(bytes) if says(files, id, &bytes, &plan) => {
            files.remove(id, &bytes)?;
            Ok(Some(Deed::RemoveFile(status)))
        }
        _ => Ok(None),
    }
}
