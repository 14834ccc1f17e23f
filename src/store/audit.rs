//! Checking a session against its invariants.
//!
//! Owns what "in order" means and how a fault is worded. Changes nothing: repairs are made when a session is opened.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::content::says;
use super::rows::{counts, row_of, stored_id};
use crate::error::Error;
use crate::files::{Entry, PlanFiles};
use crate::plan::PlanId;
use crate::plan_text;

/// What holds of a session in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    SingleActivePlan,
    QueueOrderPreserved,
    FilesMatchDatabase,
    NoOrphanedFiles,
    /// The database itself is whole, and its counters count right.
    SoundDatabase,
}

/// What is wrong with a session: which invariant does not hold, and a sentence.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub issues: Vec<(Invariant, String)>,
}

/// The files of a session beside its plans.
#[derive(Debug)]
pub struct FileList {
    /// The names of the plan files, in order.
    pub names: Vec<String>,
    /// Whether the queued and active plans are just those that have a file.
    pub match_plans: bool,
}

/// Lists the plan files and compares them by name with the plans that should have one.
///
/// # Errors
///
/// `FILE_SYSTEM_ERROR`.
pub fn list_files(files: &dyn PlanFiles, open: &BTreeSet<PlanId>) -> Result<FileList, Error> {
    let present = plan_files(files.list()?);
    Ok(FileList { match_plans: present == *open, names: present.iter().map(|id| format!("{id}.txt")).collect() })
}

/// Checks everything, in the consistent view that the caller's transaction gives.
///
/// # Errors
///
/// `FILE_SYSTEM_ERROR` or `DATABASE_ERROR` where a check cannot be made.
pub fn audit(db: &Connection, files: &dyn PlanFiles) -> Result<Audit, Error> {
    let mut audit = Audit::default();
    audit.check_queue(db)?;
    audit.check_database(db)?;
    audit.check_files(db, files)?;
    Ok(audit)
}

impl Audit {
    /// Whether an invariant holds.
    pub fn holds(&self, invariant: Invariant) -> bool {
        self.issues.iter().all(|(broken, _)| *broken != invariant)
    }

    fn report(&mut self, invariant: Invariant, issue: String) {
        self.issues.push((invariant, issue));
    }

    fn check_queue(&mut self, db: &Connection) -> Result<(), Error> {
        let active = number(db, "SELECT count(*) FROM plans WHERE status = 'active'")?;
        if active > 1 {
            self.report(Invariant::SingleActivePlan, format!("{active} plans are active; at most one may be."));
        }
        for (condition, fault) in [
            ("status = 'queued' AND queue_position IS NULL", "queued plans have no place in the queue"),
            ("status <> 'queued' AND queue_position IS NOT NULL", "plans that are not queued have a place in the queue"),
            (
                "status = 'queued' AND queue_position IN (
                     SELECT queue_position FROM plans WHERE status = 'queued' GROUP BY queue_position HAVING count(*) > 1
                 )",
                "queued plans share their place in the queue",
            ),
        ] {
            let plans = number(db, &format!("SELECT count(*) FROM plans WHERE {condition}"))?;
            if plans > 0 {
                self.report(Invariant::QueueOrderPreserved, format!("{plans} {fault}."));
            }
        }
        Ok(())
    }

    fn check_database(&mut self, db: &Connection) -> Result<(), Error> {
        let kept = counts(db)?;
        for (what, kept, counted) in [
            ("queued", kept.queued, "SELECT count(*) FROM plans WHERE status = 'queued'"),
            ("completed", kept.completed, "SELECT count(*) FROM plans WHERE status = 'completed'"),
            ("searchable", kept.completed, "SELECT count(*) FROM plans_fts"),
        ] {
            let real = number(db, counted)?;
            if kept != real {
                self.report(
                    Invariant::SoundDatabase,
                    format!("There are {real} {what} plans, but {kept} should be there by the session's count."),
                );
            }
        }
        let mut statement = db.prepare("PRAGMA quick_check(5)")?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let finding: String = row.get(0)?;
            if finding != "ok" {
                self.report(Invariant::SoundDatabase, format!("session.db is damaged: {finding}."));
            }
        }
        Ok(())
    }

    fn check_files(&mut self, db: &Connection, files: &dyn PlanFiles) -> Result<(), Error> {
        let open = open_plans(db)?;
        let mut entries = files.list()?;
        entries.sort_by_key(Entry::name);
        for entry in &entries {
            match entry {
                Entry::Plan(id) if open.contains(id) => {}
                Entry::Plan(id) => self.report(Invariant::NoOrphanedFiles, orphan(db, files, id)?),
                Entry::Leftover(_) => {
                    let issue = format!("{} is left over from an unfinished write.", entry.name());
                    self.report(Invariant::NoOrphanedFiles, issue);
                }
                // What stands in the place of a plan's file is said where that file is read.
                Entry::Other(name) if open.iter().any(|id| *name == format!("{id}.txt")) => {}
                Entry::Other(name) => {
                    self.report(Invariant::NoOrphanedFiles, format!("{name:?} is not a plan file."));
                }
            }
        }
        for id in &open {
            if let Some(issue) = unreadable(files, id) {
                self.report(Invariant::FilesMatchDatabase, issue);
            }
        }
        Ok(())
    }
}

/// Why the file of an open plan would not be accepted at a transition.
fn unreadable(files: &dyn PlanFiles, id: &PlanId) -> Option<String> {
    match files.read(id) {
        Err(error) => Some(format!("{error}.")),
        Ok(None) => Some(format!("Plan {id} has no file.")),
        Ok(Some(bytes)) => plan_text::parse(&bytes)
            .err()
            .map(|fault| format!("The file of plan {id} is not UTF-8 at byte {}.", fault.offset)),
    }
}

/// What a plan file that no open plan has is.
fn orphan(db: &Connection, files: &dyn PlanFiles, id: &PlanId) -> Result<String, Error> {
    let Some((status, plan)) = row_of(db, id)? else {
        return Ok(format!("{id}.txt belongs to no plan of this session."));
    };
    let same = matches!(files.read(id), Ok(Some(bytes)) if says(files, id, &bytes, &plan));
    let content = if same { "is still there" } else { "is still there and differs from what is stored" };
    Ok(format!("The file of {} plan {id} {content}.", status.as_str()))
}

/// The plans that a folder's files are named for.
pub(super) fn plan_files(entries: Vec<Entry>) -> BTreeSet<PlanId> {
    entries.into_iter().filter_map(|entry| if let Entry::Plan(id) = entry { Some(id) } else { None }).collect()
}

/// The plans that should have a file.
pub(super) fn open_plans(db: &Connection) -> Result<BTreeSet<PlanId>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT id FROM plans WHERE status = 'queued' UNION ALL SELECT id FROM plans WHERE status = 'active'",
    )?;
    let mut rows = statement.query(())?;
    let mut ids = BTreeSet::new();
    while let Some(row) = rows.next()? {
        ids.insert(stored_id(row, 0)?);
    }
    Ok(ids)
}

fn number(db: &Connection, sql: &str) -> Result<u64, Error> {
    Ok(db.query_row(sql, (), |row| row.get(0)).map(super::schema::count)?)
}
