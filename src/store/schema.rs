//! Opening, making and migrating `session.db`.
//!
//! Owns the pragmas, the version of the schema and the steps that lead to it, and the summary of a session that is read
//! without opening it. Knows no transition.

use std::fs::{self, OpenOptions};
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::bindings::{self, Binding};
use super::{history, legacy, waiting};
use crate::error::{DatabaseFault, Error};
use crate::files::{FOLDER_NAME, own, sync_folder};
use crate::plan::{PlanId, SessionName};
use crate::steps::step;

/// The database's name in a session's folder.
pub const FILE_NAME: &str = "session.db";

/// The name of the log that is written ahead of it.
pub const LOG_NAME: &str = "session.db-wal";

/// The name of the index of that log, which all share who have the database open.
pub const INDEX_NAME: &str = "session.db-shm";

/// The longest path of a database that SQLite takes, in bytes: its own bound is 512, with room for what it appends.
const LONGEST_PATH: usize = 504;

/// The steps from one version of the schema to the next, by the version that they start from. Append only.
const MIGRATIONS: [Migration; 2] = [
    |db, folder| {
        db.execute_batch(include_str!("migrations/1-tables.sql"))?;
        for (old, new) in legacy::normalise(db)? {
            rename_plan_file(folder, &old, &new);
        }
        db.execute_batch(include_str!("migrations/1.sql"))?;
        history::index_all(db)
    },
    |db, _| Ok(db.execute_batch(include_str!("migrations/2.sql"))?),
];

/// The version without which nothing can be done; what comes after that only adds.
const NEEDED: i64 = 1;

/// The version from which on a session can be bound to something.
pub const BINDINGS_SINCE: i64 = 2;

/// A step: the database in a transaction, and the session's folder.
type Migration = fn(&Connection, &Path) -> Result<(), Error>;

/// The version that this program writes.
fn latest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// What a list of sessions says of one.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary {
    pub task_description: Option<String>,
    /// RFC 3339, UTC.
    pub created: String,
    pub queued: u64,
    pub completed: u64,
    pub active: bool,
    /// Whether any plan was ever added.
    pub started: bool,
}

impl Summary {
    /// Whether work is left: something is queued or active, or nothing was ever added.
    pub fn is_unfinished(&self) -> bool {
        self.active || self.queued > 0 || !self.started
    }
}

/// Makes the database of a new session in `folder`, where nobody looks for it before it is whole. `bound` is what the session
/// is bound to.
///
/// # Errors
///
/// `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`.
pub fn create(folder: &Path, name: &SessionName, task: Option<&str>, bound: &[Binding]) -> Result<(), Error> {
    let path = folder.join(FILE_NAME);
    let io = |error| Error::file("write", &path, &error);
    step("make database", || private_file(&path)).map_err(io)?;
    let mut db = connect(&path)?;
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    migrate(&tx, folder, 0)?;
    tx.execute("INSERT INTO sessions (name, task_description) VALUES (?1, ?2)", (name.as_str(), task))?;
    bindings::bind(&tx, bound)?;
    step("commit", || tx.commit())?;
    set_journal(&db)?;
    step("close database", || db.close().map_err(|(_, error)| error))?;
    sync_folder(folder).map_err(io)
}

/// Opens an existing database and brings its schema up to date. `name` is for the log.
///
/// # Errors
///
/// `DATABASE_ERROR` where it cannot be used; a newer schema is refused before anything is written.
pub fn open(path: &Path, name: &SessionName) -> Result<Connection, Error> {
    let mut db = connect(path)?;
    trace_sql(&mut db, name)?;
    let version = version(&db)?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.set_prepared_statement_cache_capacity(64);
    // Else a statement is prepared anew whenever the bound of its LIMIT is bound.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    set_journal(&db)?;
    // SQLite would write the log back, whatever has become of the database by then, and remove it by its name, whatever
    // stands there by then.
    keep_log(&db, true)?;
    if version < NEEDED {
        bring_up_to_date(&mut db, path, name)?;
    } else if version < latest()
        && let Err(error) = waiting::briefly(|| bring_up_to_date(&mut db, path, name))
    {
        // On a disk that is full or can only be read a session can still be read.
        tracing::warn!(session = %name, %error, "the session stays in an earlier form");
    }
    Ok(db)
}

/// Migrates a session to the latest version.
fn bring_up_to_date(db: &mut Connection, path: &Path, name: &SessionName) -> Result<(), Error> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been here in the meantime.
    let from = check_version(&tx)?;
    if from < latest() {
        tracing::info!(session = %name, from, to = latest(), "migrating a session");
        migrate(&tx, path.parent().unwrap_or(path), from)?;
    }
    Ok(step("commit", || tx.commit())?)
}

/// Reads a session's summary without changing anything, not even its schema.
///
/// # Errors
///
/// `DATABASE_ERROR`.
pub fn summary(path: &Path) -> Result<Summary, Error> {
    let mut db = connect(path)?;
    let view = db.transaction()?;
    summary_of(&view)
}

/// The summary of a session of any version.
pub fn summary_of(db: &Connection) -> Result<Summary, Error> {
    let counts = if check_version(db)? == 0 {
        "(SELECT count(*) FROM plans WHERE status = 'queued'), (SELECT count(*) FROM plans WHERE status = 'completed')"
    } else {
        "queued_count, completed_count"
    };
    let sql = format!(
        "SELECT task_description, strftime('%Y-%m-%dT%H:%M:%SZ', created_at), {counts},
             EXISTS (SELECT 1 FROM plans WHERE status = 'active'), EXISTS (SELECT 1 FROM plans)
         FROM sessions WHERE (SELECT count(*) FROM sessions) = 1"
    );
    let summary = db.query_row(&sql, (), |row| {
        Ok(Summary {
            task_description: row.get(0)?,
            created: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
            queued: count(row.get(2)?),
            completed: count(row.get(3)?),
            active: row.get(4)?,
            started: row.get(5)?,
        })
    });
    // What cannot be read may be no session, which says more than that it cannot be read.
    summary.or_else(|error| version(db).and(Err(error.into())))
}

/// A count as SQLite gives it.
pub fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Logs each statement, without its values, where anybody listens.
fn trace_sql(db: &mut Connection, session: &SessionName) -> Result<(), Error> {
    if tracing::enabled!(tracing::Level::DEBUG) {
        let session = session.clone();
        let log = move |event: TraceEvent<'_>| {
            if let TraceEvent::Stmt(_, sql) = event {
                tracing::debug!(%session, sql);
            }
        };
        db.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(log))?;
    }
    Ok(())
}

/// Opens a database that exists; none is made. Whoever has the connection is alone with it. It may write, even where it is
/// not going to: otherwise it would leave the files of an empty log behind when it closes.
pub fn connect(path: &Path) -> Result<Connection, Error> {
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(Error::long_path(path, LONGEST_PATH));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags)?;
    db.busy_handler(Some(waiting::wait))?;
    // To look at a session must not change it, and where the database is not in order its log may hold all there is. An
    // empty log is better cleared away.
    keep_log(&db, fs::metadata(path.with_file_name(LOG_NAME)).is_ok_and(|log| log.len() > 0))?;
    Ok(db)
}

/// Says whether closing the database leaves its log as it is, rather than to write it back and remove it.
pub fn keep_log(db: &Connection, keep: bool) -> Result<(), Error> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)?;
    Ok(())
}

/// Writes the log back into the database, as far as nobody is in the way, and leaves it. Whether all of it was written.
pub fn write_back(db: &Connection) -> Result<bool, Error> {
    let pages = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| Ok((row.get(1)?, row.get(2)?)))?;
    let (in_log, written): (i64, i64) = pages;
    Ok(in_log == written)
}

/// The failure for a database without content.
pub fn is_empty() -> Error {
    Error::Database(DatabaseFault::NotASession("it is empty"))
}

/// The version of a session's schema, where it is a session of a version known here.
fn version(db: &Connection) -> Result<i64, Error> {
    let found = check_version(db)?;
    let tables: i64 = db.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('sessions', 'plans')",
        (),
        |row| row.get(0),
    )?;
    if tables < 2 {
        return Err(Error::Database(DatabaseFault::NotASession("it has no plans")));
    }
    let sessions: i64 = db.query_row("SELECT count(*) FROM sessions", (), |row| row.get(0))?;
    match sessions {
        1 => Ok(found),
        0 => Err(Error::Database(DatabaseFault::NotASession("it names no session"))),
        _ => Err(Error::Database(DatabaseFault::NotASession("it holds more than one session"))),
    }
}

/// The version of the schema, which must not be a later one than is known here.
pub fn check_version(db: &Connection) -> Result<i64, Error> {
    let found = db.prepare_cached("PRAGMA user_version")?.query_row((), |row| row.get(0))?;
    if found > latest() {
        return Err(Error::Database(DatabaseFault::Newer { found, known: latest() }));
    }
    Ok(found)
}

/// Lets a plan file follow its plan to another id. It happens before the transaction commits: after a crash in between, the
/// file waits under the name that the next try gives the plan.
fn rename_plan_file(folder: &Path, old: &str, new: &PlanId) {
    // Only a plain name is a file of that folder. A file that is missing is written again from its row.
    if old.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        let file = |id: &str| folder.join(FOLDER_NAME).join(format!("{id}.txt"));
        let (from, to) = (file(old), file(new.as_str()));
        // What stands there already may hold somebody's words; then both stay as they are. Where case makes no difference to
        // the disk, it is the same file.
        if !to.exists() || fs::canonicalize(&from).ok() == fs::canonicalize(&to).ok() {
            let _ = fs::rename(from, to);
        }
    }
}

fn migrate(db: &Connection, folder: &Path, from: i64) -> Result<(), Error> {
    for step in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or_default()) {
        step(db, folder)?;
    }
    db.pragma_update(None, "user_version", latest())?;
    Ok(())
}

/// Write-ahead logging, synced at each commit. Where the file system refuses it (shared memory is missing on some network
/// drives) SQLite stays with the rollback journal, which is as safe and lets readers wait for a writer.
fn set_journal(db: &Connection) -> Result<(), Error> {
    let _mode: String = db.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0))?;
    db.pragma_update(None, "synchronous", "FULL")?;
    Ok(())
}

/// A new and empty file that only its owner can read, whatever the umask is; SQLite gives its companions the same mode.
fn private_file(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    own(&options.open(path)?)
}
