//! A session that is only looked at.
//!
//! Owns reading one without opening it for work: nothing is repaired, migrated or written, and nobody is waited for long.

use std::path::Path;

use rusqlite::Connection;

use super::audit::Audit;
use super::bindings::{self, Binding};
use super::content::text_for_reading;
use super::recovery::{self, Untouched};
use super::results::{ActivePlan, Done, State};
use super::rows::{active, counts, queue, stored_id};
use super::schema::{self, Summary};
use super::transaction::Transaction;
use super::{QUEUE_SHOWN, audit};
use crate::error::Error;
use crate::files::PlanFiles;
use crate::plan::PlanId;

/// A session, and its plan files.
pub struct SessionView {
    db: Connection,
    files: Untouched,
}

impl SessionView {
    /// Looks at the session whose database is at `database`.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR`.
    pub fn open(database: &Path, files: Box<dyn PlanFiles>) -> Result<Self, Error> {
        Ok(Self { db: schema::connect(database)?, files: Untouched(files) })
    }

    /// What a list of sessions says of it.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR`; the same for all of the following.
    pub fn summary(&mut self) -> Result<Summary, Error> {
        let tx = Transaction::view(&mut self.db)?;
        schema::summary_of(&tx)
    }

    /// Whether it is bound to this.
    pub fn is_bound(&self, binding: &Binding) -> Result<bool, Error> {
        bindings::is_bound(&self.db, binding)
    }

    /// Whether it is bound to one of these.
    pub fn is_bound_to_any(&self, bindings: &[Binding]) -> Result<bool, Error> {
        for binding in bindings {
            if self.is_bound(binding)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where it stands.
    pub fn state(&mut self) -> Result<State, Error> {
        let tx = Transaction::view(&mut self.db)?;
        state(&tx, &self.files)
    }

    /// The text of the active plan's file or, where that cannot be read, the stored one and why.
    pub fn text_of_active(&self, active: &ActivePlan) -> (String, Option<Error>) {
        text_for_reading(&self.files, &active.id, &active.stored)
    }

    /// The last `most` completed plans, the last one first.
    pub fn last_outcomes(&self, most: u32) -> Result<Vec<Done>, Error> {
        let mut statement = self.db.prepare(
            "SELECT id, goal, outcome FROM plans WHERE history_no IS NOT NULL ORDER BY history_no DESC LIMIT ?1",
        )?;
        let mut rows = statement.query([most])?;
        let mut outcomes = Vec::new();
        while let Some(row) = rows.next()? {
            let outcome = row.get::<_, Option<String>>(2)?.unwrap_or_default();
            outcomes.push(Done { id: stored_id(row, 0)?, goal: row.get(1)?, outcome });
        }
        Ok(outcomes)
    }

    /// Whether it is of the plain schema, which opening it for work brings up to date. Then there is nothing else to look at.
    pub fn is_plain(&self) -> Result<bool, Error> {
        Ok(schema::check_version(&self.db)? == 0)
    }

    /// What opening it for work would repair: of which plan the file, and a phrase that fits after "would".
    pub fn repairs_due(&mut self) -> Result<Vec<(PlanId, String)>, Error> {
        recovery::due(&mut self.db, &self.files)
    }

    /// Whether its database can be read and not be written to.
    pub fn is_read_only(&self) -> Result<bool, Error> {
        Ok(self.db.is_readonly(rusqlite::MAIN_DB)?)
    }

    /// Checks it against its invariants, what is to be repaired included.
    pub fn audit(&mut self) -> Result<Audit, Error> {
        let tx = Transaction::view(&mut self.db)?;
        audit::audit(&tx, &self.files)
    }
}

/// Where a session stands, in the view of one transaction.
pub(super) fn state(tx: &Transaction<'_>, files: &dyn PlanFiles) -> Result<State, Error> {
    let task_description =
        tx.prepare_cached("SELECT task_description FROM sessions")?.query_row((), |row| row.get(0))?;
    let active = active(tx)?.map(|(id, stored)| ActivePlan { path: files.path(&id), id, stored });
    Ok(State { task_description, queue: queue(tx, QUEUE_SHOWN)?, counts: counts(tx)?, active })
}
