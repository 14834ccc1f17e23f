//! One session: its queue, its active plan and its history.
//!
//! Owns the transitions, one method and one transaction each. A change to a plan file is staged, the transaction commits,
//! the file is published, in this order; a file is removed after the commit. So whatever instant the process dies at,
//! [`recovery`] finds all it needs. Knows nothing of other sessions, of tools or of the protocol.
//!
//! The database is the truth for structure, a plan's file for its content: it is read back at each transition.

mod audit;
mod bindings;
mod content;
mod history;
mod legacy;
mod recovery;
mod results;
mod rows;
pub mod schema;
#[cfg(test)]
mod search_tests;
mod spelling;
mod stems;
#[cfg(test)]
mod tests;
mod transaction;
mod view;
pub mod waiting;
mod words;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

pub use audit::{Audit, FileList, Invariant};
pub use bindings::Binding;
pub use history::{Found, Remembered};
pub use results::{ActivePlan, Done, Ending, Finished, Placed, Pulled, State};
pub use rows::{Counts, QueuedPlan};
pub use schema::Summary;
pub use view::SessionView;

use crate::error::Error;
use crate::files::{PlanFiles, Staged};
use crate::ids::{DRAWS_BEFORE_LONGER, IdGenerator, PLAN_ID_LENGTH};
use crate::plan::{self, Plan, PlanId, Position, SessionName, Status};
use crate::plan_text;
use crate::steps::step;
use content::{Content, read_back, text_for_reading};
use recovery::Recovered;
use rows::{active, active_id, counts, front, place, queue, record, row_of, set_text};
use transaction::Transaction;
use waiting::Place;

/// How many queued plans a reply lists.
pub const QUEUE_SHOWN: usize = 100;

/// An open session.
pub struct SessionStore {
    name: SessionName,
    db: Connection,
    files: Box<dyn PlanFiles>,
    ids: Arc<dyn IdGenerator>,
    repaired: Vec<String>,
    untidy: bool,
}

impl SessionStore {
    /// Opens the session whose database is at `database`, and puts right what a crash left behind.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR` where the database cannot be used.
    pub fn open(
        name: SessionName,
        database: &Path,
        files: Box<dyn PlanFiles>,
        ids: Arc<dyn IdGenerator>,
    ) -> Result<Self, Error> {
        let mut db = schema::open(database, &name)?;
        let Recovered { repaired, untidy } = recovery::recover(&mut db, files.as_ref())?;
        for repair in &repaired {
            tracing::warn!(session = %name, repair, "repaired on opening");
        }
        Ok(Self { name, db, files, ids, repaired, untidy })
    }

    /// Whether something could not be put in order or is damaged, so that the session is to be opened anew.
    pub fn is_untidy(&self) -> bool {
        self.untidy
    }

    /// Writes the log of the database back into it, as far as that can be done now.
    pub fn write_back(&mut self) {
        match schema::write_back(&self.db) {
            Ok(true) => {}
            Ok(false) => tracing::debug!(session = %self.name, "a part of the log is still needed by others"),
            Err(error) => {
                tracing::warn!(session = %self.name, %error, "the log of the database cannot be written back");
            }
        }
    }

    /// What opening the session repaired; empty when asked again.
    pub fn take_repaired(&mut self) -> Vec<String> {
        std::mem::take(&mut self.repaired)
    }

    /// Puts a new plan into the queue. `by` is the client's name, here and below.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`; nothing was added.
    pub fn add(&mut self, plan: &Plan, position: Position, by: Option<&str>) -> Result<Placed, Error> {
        let tx = begin(&mut self.db)?;
        let id = unused_id(&tx, self.ids.as_ref(), self.files.as_ref())?;
        tx.prepare_cached(
            "INSERT INTO plans (id, session_name, status, queue_position, goal)
             VALUES (?1, (SELECT name FROM sessions), 'queued', ?2, ?3)",
        )?
        .execute((id.as_str(), place(&tx, position)?, &plan.goal))?;
        let staged = self.files.stage(&id, &plan_text::render(plan))?;
        set_text(&tx, &id, plan, Some(staged.as_ref()), None)?;
        record(&tx, &id, "created", None, by)?;
        let counts = counts(&tx)?;
        let active = active_id(&tx)?;
        tx.commit()?;
        self.publish(&id, staged, None);
        self.log_state("plan added", &id, counts);
        Ok(Placed { path: self.files.path(&id), id, position: rank(position, counts), counts, active })
    }

    /// Makes the plan at the front of the queue the active one.
    ///
    /// # Errors
    ///
    /// `PLAN_ALREADY_ACTIVE`, `QUEUE_EMPTY`, `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`; nothing was changed.
    pub fn pull(&mut self, by: Option<&str>) -> Result<Pulled, Error> {
        let tx = begin(&mut self.db)?;
        if let Some((id, plan)) = active(&tx)? {
            let file = self.files.path(&id);
            return Err(Error::PlanAlreadyActive { id, goal: plan.goal, file });
        }
        let Some((id, stored)) = front(&tx)? else {
            let ever_queued = tx.query_row("SELECT EXISTS (SELECT 1 FROM plans)", (), |row| row.get(0))?;
            return Err(Error::QueueEmpty { completed: counts(&tx)?.completed, ever_queued });
        };
        let Content { plan, file, missing_note, overtaken } = read_back(&tx, self.files.as_ref(), &id, stored)?;
        let lost = file.is_none() && !overtaken;
        let (text, staged) = match &file {
            Some(bytes) if missing_note.is_none() => (String::from_utf8_lossy(bytes).into_owned(), None),
            _ => {
                let text = plan_text::render(&plan);
                let staged = self.files.stage(&id, &text)?;
                (text, Some(staged))
            }
        };
        if lost {
            record(&tx, &id, "repaired", Some("wrote the missing file again"), None)?;
        }
        tx.prepare_cached("UPDATE plans SET status = 'active', queue_position = NULL WHERE id = ?1")?
            .execute([id.as_str()])?;
        set_text(&tx, &id, &plan, staged.as_deref(), missing_note.as_deref())?;
        record(&tx, &id, "pulled", None, by)?;
        let counts = counts(&tx)?;
        tx.commit()?;
        let published = staged.is_some_and(|staged| self.publish(&id, staged, file.as_deref()));
        if published && lost {
            tracing::warn!(session = %self.name, plan = %id, "the plan file was missing and is written again");
            self.repaired.push(format!("wrote the missing file of plan {id} again"));
        }
        tracing::info!(session = %self.name, plan = %id, "plan pulled");
        self.log_state("plan pulled", &id, counts);
        Ok(Pulled { path: self.files.path(&id), id, goal: plan.goal, text, counts })
    }

    /// Puts the active plan back into the queue, with a note that says why.
    ///
    /// # Errors
    ///
    /// `NO_ACTIVE_PLAN`, `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`; nothing was changed.
    pub fn defer(&mut self, reason: &str, position: Position, by: Option<&str>) -> Result<Placed, Error> {
        let tx = begin(&mut self.db)?;
        let (id, stored) = expect_active(&tx, "defer")?;
        let Content { mut plan, file, missing_note, .. } = read_back(&tx, self.files.as_ref(), &id, stored)?;
        let stamp: String = tx.query_row("SELECT strftime('%Y-%m-%d %H:%M', 'now')", (), |row| row.get(0))?;
        let note = plan::note(&stamp, "Deferred", reason);
        plan.add_note(&note);
        let pending: Vec<String> = missing_note.into_iter().chain([note]).collect();
        tx.prepare_cached("UPDATE plans SET status = 'queued', queue_position = ?2 WHERE id = ?1")?
            .execute((id.as_str(), place(&tx, position)?))?;
        let staged = self.files.stage(&id, &plan_text::render(&plan))?;
        set_text(&tx, &id, &plan, Some(staged.as_ref()), Some(&pending.join("\n\n")))?;
        record(&tx, &id, "deferred", Some(reason), by)?;
        let counts = counts(&tx)?;
        tx.commit()?;
        self.publish(&id, staged, file.as_deref());
        self.log_state("plan deferred", &id, counts);
        Ok(Placed { path: self.files.path(&id), id, position: rank(position, counts), counts, active: None })
    }

    /// Ends the active plan. A completed one goes to the history; a discarded one stays in the database only.
    ///
    /// # Errors
    ///
    /// `NO_ACTIVE_PLAN`, `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`; nothing was changed.
    pub fn finish(&mut self, ending: Ending<'_>, by: Option<&str>) -> Result<Finished, Error> {
        let (status, said, verb) = match ending {
            Ending::Completed { outcome } => (Status::Completed, outcome, "complete"),
            Ending::Discarded { reason } => (Status::Discarded, reason, "discard"),
        };
        let tx = begin(&mut self.db)?;
        let (id, stored) = expect_active(&tx, verb)?;
        let Content { plan, file, .. } = read_back(&tx, self.files.as_ref(), &id, stored)?;
        tx.prepare_cached(
            "UPDATE plans SET status = ?2, outcome = ?3, completed_at = iif(?2 = 'completed', datetime('now'), NULL)
             WHERE id = ?1",
        )?
        .execute((id.as_str(), status.as_str(), said))?;
        set_text(&tx, &id, &plan, None, None)?;
        if status == Status::Completed {
            history::append(&tx, &id, &plan, said)?;
        }
        record(&tx, &id, status.as_str(), Some(said), by)?;
        let counts = counts(&tx)?;
        let next = queue(&tx, 1)?.pop();
        tx.commit()?;
        if let Some(bytes) = file
            && let Err(error) = self.files.remove(&id, &bytes)
        {
            tracing::warn!(session = %self.name, plan = %id, %error, "the file of a finished plan stays");
            self.untidy = true;
        }
        tracing::info!(session = %self.name, plan = %id, "plan {}", status.as_str());
        self.log_state("plan finished", &id, counts);
        Ok(Finished { id, counts, next })
    }

    /// Where the session stands, in one consistent view.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR`.
    pub fn state(&mut self) -> Result<State, Error> {
        let tx = Transaction::view(&mut self.db)?;
        view::state(&tx, self.files.as_ref())
    }

    /// The text of the active plan's file or, where that cannot be read, the stored one and why.
    pub fn text_of_active(&self, active: &ActivePlan) -> (String, Option<Error>) {
        text_for_reading(self.files.as_ref(), &active.id, &active.stored)
    }

    /// Searches the completed plans.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR`; never for the text of the query.
    pub fn search(&mut self, query: &str, most: usize) -> Result<Found, Error> {
        let view = Transaction::view(&mut self.db)?;
        history::search(&view, query, most)
    }

    /// A completed plan, whole.
    ///
    /// # Errors
    ///
    /// `PLAN_NOT_FOUND`, which says where the plan is if it is not completed, or `DATABASE_ERROR`.
    pub fn remembered(&mut self, id: &PlanId) -> Result<Remembered, Error> {
        history::get(&self.db, id)
    }

    /// The text of any plan of the session, in the form of a plan file; a finished one's with what came of it at the end.
    ///
    /// # Errors
    ///
    /// `PLAN_NOT_FOUND` or `DATABASE_ERROR`.
    pub fn text_of(&mut self, id: &PlanId) -> Result<String, Error> {
        let (status, plan) =
            row_of(&self.db, id)?.ok_or_else(|| Error::PlanNotFound { id: id.clone(), found: None })?;
        let heading = match status {
            Status::Queued | Status::Active => {
                return Ok(text_for_reading(self.files.as_ref(), id, &plan).0);
            }
            Status::Completed => "Outcome",
            Status::Discarded => "Discarded",
        };
        Ok(format!("{}\n# {heading}\n{}\n", plan_text::render(&plan), rows::outcome(&self.db, id)?))
    }

    /// Checks the session against its invariants.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` or `DATABASE_ERROR` where the checks cannot be made.
    pub fn audit(&mut self) -> Result<Audit, Error> {
        waiting::takes_long()?;
        let view = Transaction::view(&mut self.db)?;
        let audit = audit::audit(&view, self.files.as_ref())?;
        // A spoiled page stays in memory after it was mended on disk.
        self.untidy |= !audit.holds(Invariant::SoundDatabase);
        Ok(audit)
    }

    /// The plan files by name, and whether they are those of the plans that should have one. `state` is the session's, just
    /// read.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`.
    pub fn files(&mut self, state: &State) -> Result<FileList, Error> {
        let open = match state.open_plans() {
            Some(open) => open,
            None => audit::open_plans(&self.db)?,
        };
        audit::list_files(self.files.as_ref(), &open)
    }

    /// Puts a file in its place, if that can be done.
    fn publish(&mut self, id: &PlanId, staged: Box<dyn Staged>, seen: Option<&[u8]>) -> bool {
        // The transaction has committed: the change stands in the row. Whoever needs the plan next takes from there what
        // has not got into the file, so that this is no failure of the call.
        let published = staged.publish(seen);
        if let Err(error) = &published {
            tracing::error!(session = %self.name, plan = %id, %error, "a plan file could not be put in place");
            self.untidy = true;
        }
        published.is_ok()
    }

    fn log_state(&self, event: &str, id: &PlanId, counts: Counts) {
        tracing::debug!(session = %self.name, plan = %id, queued = counts.queued, completed = counts.completed, event);
    }
}

/// A transaction that changes a session, and its place at the head of the line.
struct Change<'a> {
    tx: Transaction<'a>,
    _place: Option<Place>,
}

impl Change<'_> {
    fn commit(self) -> Result<(), Error> {
        step("commit", || self.tx.commit())
    }
}

impl<'a> Deref for Change<'a> {
    type Target = Transaction<'a>;

    fn deref(&self) -> &Self::Target {
        &self.tx
    }
}

fn begin(db: &mut Connection) -> Result<Change<'_>, Error> {
    let place = match db.path().and_then(|path| Path::new(path).parent()) {
        Some(folder) => waiting::stand_in_line(folder)?,
        None => None,
    };
    let tx = Transaction::change(db)?;
    // Another process may have come with a later version since the session was opened.
    schema::check_version(&tx)?;
    Ok(Change { tx, _place: place })
}

/// An identifier that no plan of the session has, and no file in its folder.
fn unused_id(tx: &Transaction<'_>, ids: &dyn IdGenerator, files: &dyn PlanFiles) -> Result<PlanId, Error> {
    let mut draws = 0;
    loop {
        let id = ids.plan_id(PLAN_ID_LENGTH + draws / DRAWS_BEFORE_LONGER);
        let row: bool = tx
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM plans WHERE id = ?1)")?
            .query_row([id.as_str()], |row| row.get(0))?;
        // A folder that cannot be read is no reason to draw for ever.
        if !row && files.read(&id)?.is_none() {
            return Ok(id);
        }
        tracing::warn!(plan = %id, "the plan id is taken, drawing again");
        draws += 1;
    }
}

fn expect_active(tx: &Transaction<'_>, verb: &'static str) -> Result<(PlanId, Plan), Error> {
    match active(tx)? {
        Some(found) => Ok(found),
        None => Err(Error::NoActivePlan { verb, queued: counts(tx)?.queued }),
    }
}

/// The 1-based rank of a plan that has just gone in at one of the ends.
fn rank(position: Position, counts: Counts) -> u64 {
    match position {
        Position::Front => 1,
        Position::Back => counts.queued,
    }
}
