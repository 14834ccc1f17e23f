//! The rows of one session: plans, counts and events.
//!
//! Owns the SQL that several transitions share, and how a row becomes a plan. Decides nothing: what may follow what is for
//! the transitions to say.

use rusqlite::{Connection, OptionalExtension, Row};

use super::schema::count;
use super::transaction::Transaction;
use crate::error::{DatabaseFault, Error};
use crate::files::{Leftover, Staged};
use crate::plan::{Plan, PlanId, Position, Status, clip};

/// The most bytes of a reason or an outcome that an event repeats.
const EVENT_DETAIL: usize = 200;

/// The columns of a plan's text, in the order of the sections.
pub(super) const TEXT_COLUMNS: &str = "context, goal, inputs, outputs, approach, success_criteria, notes";

/// A plan in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPlan {
    pub id: PlanId,
    pub goal: String,
}

/// How many plans there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub queued: u64,
    pub completed: u64,
}

/// Stores the text of a plan as its file has it, or will have it once what is staged is published. `note` is what the file
/// must still get, should that fail.
pub(super) fn set_text(
    tx: &Transaction<'_>,
    id: &PlanId,
    plan: &Plan,
    staged: Option<&dyn Staged>,
    note: Option<&str>,
) -> Result<(), Error> {
    tx.prepare_cached(
        "UPDATE plans SET context = ?2, goal = ?3, inputs = ?4, outputs = ?5, approach = ?6, success_criteria = ?7,
             notes = ?8, staged_file = ?9, pending_note = ?10
         WHERE id = ?1",
    )?
    .execute((
        id.as_str(),
        &plan.context,
        &plan.goal,
        &plan.inputs,
        &plan.outputs,
        &plan.approach,
        &plan.success_criteria,
        &plan.notes,
        staged.map(Staged::name),
        note,
    ))?;
    Ok(())
}

/// What a plan's file may not have got of the last change: the temporary file that was to take its place, and a note.
pub(super) fn unfinished(db: &Connection, id: &PlanId) -> Result<(Option<Leftover>, Option<String>), Error> {
    let (staged, note): (Option<String>, Option<String>) = db
        .prepare_cached("SELECT staged_file, pending_note FROM plans WHERE id = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((staged.and_then(|name| Leftover::of(id, name)), note))
}

/// The place in the queue for a plan at one of its ends: no other row is touched.
pub(super) fn place(tx: &Transaction<'_>, position: Position) -> Result<i64, Error> {
    let sql = match position {
        Position::Front => "SELECT coalesce(min(queue_position), 0) - 1 FROM plans WHERE status = 'queued'",
        Position::Back => "SELECT coalesce(max(queue_position), 0) + 1 FROM plans WHERE status = 'queued'",
    };
    Ok(tx.prepare_cached(sql)?.query_row((), |row| row.get(0))?)
}

/// Writes the event of a transition. `detail` is cut, `by` is the client's name.
pub(super) fn record(
    tx: &Transaction<'_>,
    id: &PlanId,
    what: &str,
    detail: Option<&str>,
    by: Option<&str>,
) -> Result<(), Error> {
    let detail = detail.map(|text| clip(text, EVENT_DETAIL));
    tx.prepare_cached("INSERT INTO events (plan_id, what, detail, client) VALUES (?1, ?2, ?3, ?4)")?.execute((
        id.as_str(),
        what,
        detail,
        by,
    ))?;
    Ok(())
}

/// How many plans are queued and completed, as the triggers count them.
pub(super) fn counts(db: &Connection) -> Result<Counts, Error> {
    Ok(db
        .prepare_cached("SELECT queued_count, completed_count FROM sessions")?
        .query_row((), |row| Ok(Counts { queued: count(row.get(0)?), completed: count(row.get(1)?) }))?)
}

/// The first `most` plans of the queue, front first.
pub(super) fn queue(db: &Connection, most: usize) -> Result<Vec<QueuedPlan>, Error> {
    let mut statement =
        db.prepare_cached("SELECT id, goal FROM plans WHERE status = 'queued' ORDER BY queue_position LIMIT ?1")?;
    let mut rows = statement.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
    let mut plans = Vec::new();
    while let Some(row) = rows.next()? {
        plans.push(QueuedPlan { id: stored_id(row, 0)?, goal: row.get(1)? });
    }
    Ok(plans)
}

/// The active plan, as it is stored.
pub(super) fn active(db: &Connection) -> Result<Option<(PlanId, Plan)>, Error> {
    first_plan(db, "status = 'active'")
}

/// The identifier of the active plan, without its text.
pub(super) fn active_id(db: &Connection) -> Result<Option<PlanId>, Error> {
    let mut statement = db.prepare_cached("SELECT id FROM plans WHERE status = 'active'")?;
    let mut rows = statement.query(())?;
    rows.next()?.map(|row| stored_id(row, 0)).transpose()
}

/// The plan at the front of the queue, as it is stored.
pub(super) fn front(db: &Connection) -> Result<Option<(PlanId, Plan)>, Error> {
    first_plan(db, "status = 'queued' ORDER BY queue_position LIMIT 1")
}

fn first_plan(db: &Connection, condition: &str) -> Result<Option<(PlanId, Plan)>, Error> {
    let mut statement = db.prepare_cached(&format!("SELECT {TEXT_COLUMNS}, id FROM plans WHERE {condition}"))?;
    let mut rows = statement.query(())?;
    rows.next()?.map(|row| Ok((stored_id(row, 7)?, stored_plan(row)?))).transpose()
}

/// The state and the stored text of a plan.
pub(super) fn row_of(db: &Connection, id: &PlanId) -> Result<Option<(Status, Plan)>, Error> {
    let found = db
        .prepare_cached(&format!("SELECT {TEXT_COLUMNS}, status FROM plans WHERE id = ?1"))?
        .query_row([id.as_str()], |row| Ok((row.get::<_, String>(7)?, stored_plan(row)?)))
        .optional()?;
    // The table's own check leaves only known words.
    Ok(found.and_then(|(status, plan)| Some((Status::parse(&status)?, plan))))
}

/// What came of a plan: its outcome, or why it was discarded.
pub(super) fn outcome(db: &Connection, id: &PlanId) -> Result<String, Error> {
    let said: Option<String> =
        db.prepare_cached("SELECT outcome FROM plans WHERE id = ?1")?.query_row([id.as_str()], |row| row.get(0))?;
    Ok(said.unwrap_or_default())
}

/// The plan whose sections are the first seven columns of a row.
pub(super) fn stored_plan(row: &Row<'_>) -> rusqlite::Result<Plan> {
    let text = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.unwrap_or_default());
    Ok(Plan::from_sections([text(0)?, text(1)?, text(2)?, text(3)?, text(4)?, text(5)?, text(6)?]))
}

/// An identifier out of the database; one that is not of our form never becomes a path.
pub(super) fn stored_id(row: &Row<'_>, column: usize) -> Result<PlanId, Error> {
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    PlanId::exact(text).ok_or(Error::Database(DatabaseFault::NotASession("a plan has an id that is none")))
}
