//! Transactions.
//!
//! Owns that one which is not committed is undone. As the library's own does, whose statements are prepared anew each time.

use std::ops::Deref;

use rusqlite::Connection;

use crate::error::Error;

/// A transaction of a session's database, undone when dropped.
pub struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    /// A consistent view, to read from.
    pub fn view(db: &'a mut Connection) -> Result<Self, Error> {
        run(db, "BEGIN DEFERRED")?;
        Ok(Self(db))
    }

    /// The only change that is made at a time.
    pub fn change(db: &'a mut Connection) -> Result<Self, Error> {
        run(db, "BEGIN IMMEDIATE")?;
        Ok(Self(db))
    }

    /// Keeps what was changed.
    pub fn commit(self) -> Result<(), Error> {
        run(self.0, "COMMIT")
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // It is over when it was committed, and where a failure has undone it already.
        if !self.0.is_autocommit()
            && let Err(error) = run(self.0, "ROLLBACK")
        {
            tracing::error!(%error, "a transaction cannot be undone");
        }
    }
}

fn run(db: &Connection, sql: &str) -> Result<(), Error> {
    db.prepare_cached(sql)?.execute(())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_committed_is_undone() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
        for kept in [false, true] {
            let tx = Transaction::change(&mut db).unwrap();
            tx.execute("INSERT INTO numbers VALUES (1)", ()).unwrap();
            if kept {
                tx.commit().unwrap();
            } else {
                drop(tx);
            }
            assert!(db.is_autocommit());
            let view = Transaction::view(&mut db).unwrap();
            let count: i64 = view.query_row("SELECT count(*) FROM numbers", (), |row| row.get(0)).unwrap();
            assert_eq!(count, i64::from(kept));
        }
        assert!(db.is_autocommit());
    }
}
