//! What a session is bound to: the folders and the conversations in which it was made or resumed.
//!
//! Owns the rows that say so. Knows neither how a folder's name is spelt nor who asks.

use rusqlite::Connection;

use super::{SessionStore, begin, schema, waiting};
use crate::error::Error;

/// Something that a session can be bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The working folder of a client, an absolute path.
    Folder(String),
    /// The id that a client gives one of its conversations.
    Client(String),
}

impl Binding {
    /// The kind, as the database spells it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Folder(_) => "folder",
            Self::Client(_) => "client",
        }
    }

    /// The folder's path, or the id.
    pub fn value(&self) -> &str {
        match self {
            Self::Folder(value) | Self::Client(value) => value,
        }
    }
}

impl SessionStore {
    /// Binds the session, as far as it is not yet. It is tried for a moment only, since nobody's work depends on it.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR`.
    pub fn bind(&mut self, bindings: &[Binding]) -> Result<(), Error> {
        let mut missing = false;
        for binding in bindings {
            missing |= !is_bound(&self.db, binding)?;
        }
        if !missing {
            return Ok(());
        }
        waiting::takes_long()?;
        waiting::briefly(|| {
            let tx = begin(&mut self.db)?;
            bind(&tx, bindings)?;
            tx.commit()
        })
    }
}

/// Binds a session. One that is bound already stays so.
pub(super) fn bind(db: &Connection, bindings: &[Binding]) -> Result<(), Error> {
    let mut insert = db.prepare_cached("INSERT OR IGNORE INTO bindings (kind, value) VALUES (?1, ?2)")?;
    for binding in bindings {
        insert.execute((binding.kind(), binding.value()))?;
    }
    Ok(())
}

/// Whether a session is bound so. One of an earlier version of the schema is bound to nothing.
pub(super) fn is_bound(db: &Connection, binding: &Binding) -> Result<bool, Error> {
    if schema::check_version(db)? < schema::BINDINGS_SINCE {
        return Ok(false);
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM bindings WHERE kind = ?1 AND value = ?2)";
    Ok(db.prepare_cached(sql)?.query_row((binding.kind(), binding.value()), |row| row.get(0))?)
}
