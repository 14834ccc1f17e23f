//! What the plain schema allowed and ours does not.
//!
//! Owns the change of such rows on the way to version 1, after which nothing else need know that they were ever possible:
//! identifiers of another form, and times that are missing or unreadable.

use rusqlite::Connection;

use crate::error::Error;
use crate::plan::PlanId;

/// Puts the rows of a session of the plain schema into our form, and says which plans have another id now: the old and the
/// new, for their files to follow.
///
/// # Errors
///
/// `DATABASE_ERROR`.
pub fn normalise(db: &Connection) -> Result<Vec<(String, PlanId)>, Error> {
    db.execute_batch(
        "UPDATE sessions SET created_at = coalesce(datetime(created_at), datetime('now'));
         UPDATE plans SET created_at =
             coalesce(datetime(created_at), datetime(completed_at), (SELECT created_at FROM sessions));
         UPDATE plans SET completed_at = coalesce(datetime(completed_at), created_at) WHERE status = 'completed';",
    )?;
    let mut statement = db.prepare("SELECT id FROM plans")?;
    let ids: Vec<String> = statement.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut renamed = Vec::new();
    for old in ids.into_iter().filter(|id| PlanId::exact(id).is_none()) {
        let new = free_id(db, &old)?;
        db.execute("UPDATE plans SET id = ?2 WHERE id = ?1", (&old, new.as_str()))?;
        tracing::warn!(old, %new, "a plan has an id of another form and gets a new one");
        renamed.push((old, new));
    }
    Ok(renamed)
}

/// An identifier that no plan has, as like the old one as can be.
fn free_id(db: &Connection, old: &str) -> Result<PlanId, Error> {
    let alike: String = old.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).take(11).collect();
    let mut number = 0_u32;
    loop {
        let candidate = if number == 0 { alike.clone() } else { format!("{alike}{number:05}") };
        number += 1;
        let Some(id) = PlanId::exact(&candidate) else { continue };
        let taken: bool =
            db.query_row("SELECT EXISTS (SELECT 1 FROM plans WHERE id = ?1)", [id.as_str()], |row| row.get(0))?;
        if !taken {
            return Ok(id);
        }
    }
}
