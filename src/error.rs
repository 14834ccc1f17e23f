//! Everything that can go wrong in a way that the caller can act on.
//!
//! Owns the eight categories and their words: what happened, and what to do next. Knows no protocol: the frame around a
//! message is the server's. No message prints a destructive command, since agents copy what they read.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::plan::{PlanId, SessionName, Status, clip, plans};

/// The most bytes of a caller's own text that a message repeats.
const ECHO: usize = 200;

/// A failure, one variant a category.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    SessionNotFound(MissingSession),
    #[error("{}", plan_not_found(id, *found))]
    PlanNotFound { id: PlanId, found: Option<Status> },
    #[error("No plan is active, so there is nothing to {verb}.")]
    NoActivePlan { verb: &'static str, queued: u64 },
    #[error("Plan {id} is already active: {}\nIts file: {}", clip(goal, ECHO), file.display())]
    PlanAlreadyActive { id: PlanId, goal: String, file: PathBuf },
    #[error("{}", queue_empty(*completed, *ever_queued))]
    QueueEmpty { completed: u64, ever_queued: bool },
    #[error("{problem}")]
    Validation { problem: String, remedy: String },
    #[error("Cannot {doing} {}: {reason}", path.display())]
    FileSystem { doing: &'static str, path: PathBuf, reason: String, remedy: &'static str },
    #[error("{0}")]
    Database(DatabaseFault),
}

/// Why there is no session to work in.
#[derive(Debug)]
pub enum MissingSession {
    /// The call named none and the connection has none. `recent` holds up to five names, newest use first.
    NoneCurrent { recent: Vec<SessionName> },
    /// The call named one that does not exist. `close` holds existing names that look like it.
    Unknown { name: SessionName, close: Vec<SessionName>, recent: Vec<SessionName> },
}

/// What is wrong with a session's database.
#[derive(Debug)]
pub enum DatabaseFault {
    /// SQLite reported it.
    Sqlite(rusqlite::Error),
    /// The schema is from a later version of the program.
    Newer { found: i64, known: i64 },
    /// The file opens, but is not a session.
    NotASession(&'static str),
}

/// The remedy for most file system failures: they come before the commit, so that trying again is safe.
const CHECK_AND_RETRY: &str =
    "Nothing was changed. See that the folder exists, is writable and has room, then call again.";

/// The remedy for a database that is lost. A log of the old one beside a restored one would spoil that too.
const RESTORE: &str = "Move session.db aside, with session.db-wal and session.db-shm if they are there, and put a backup of \
                       session.db in its place. The plan files beside it are as they were.";

impl Error {
    /// The category, as it stands in a reply.
    pub fn category(&self) -> &'static str {
        match self {
            Self::SessionNotFound(_) => "SESSION_NOT_FOUND",
            Self::PlanNotFound { .. } => "PLAN_NOT_FOUND",
            Self::NoActivePlan { .. } => "NO_ACTIVE_PLAN",
            Self::PlanAlreadyActive { .. } => "PLAN_ALREADY_ACTIVE",
            Self::QueueEmpty { .. } => "QUEUE_EMPTY",
            Self::Validation { .. } => "VALIDATION_ERROR",
            Self::FileSystem { .. } => "FILE_SYSTEM_ERROR",
            Self::Database(_) => "DATABASE_ERROR",
        }
    }

    /// Whether the cause may lie in how a session's database was when it was opened, so that opening it anew may help. Where
    /// somebody else is using it or the disk is full it does not, and to open it takes room.
    pub fn may_be_of_the_past(&self) -> bool {
        use rusqlite::ErrorCode::{DiskFull, SystemIoFailure};
        matches!(self, Self::Database(fault) if !fault.is_busy() && !fault.is(&[DiskFull, SystemIoFailure]))
    }

    /// What the caller should do. `prefix` is what the names of the tools begin with.
    pub fn suggestion(&self, prefix: &str) -> String {
        match self {
            Self::SessionNotFound(missing) => missing.suggestion(prefix),
            Self::PlanNotFound { found: Some(Status::Queued), .. } => {
                format!(
                    "It has no outcome yet. Work through the queue with {prefix}queue_pull; {prefix}admin_state shows the queue."
                )
            }
            Self::PlanNotFound { found: Some(Status::Active), .. } => {
                format!(
                    "It is the plan being worked on: finish it with {prefix}plan_complete, then it is in the history."
                )
            }
            Self::PlanNotFound { found: Some(Status::Discarded), .. } => {
                format!("Discarded plans are not shown again; {prefix}history_search finds the completed ones.")
            }
            Self::PlanNotFound { .. } => format!("Find the plan with {prefix}history_search."),
            Self::NoActivePlan { queued: 0, .. } => {
                format!(
                    "The queue is empty too: add a plan with {prefix}queue_add, then take it with {prefix}queue_pull."
                )
            }
            Self::NoActivePlan { .. } => format!("Take the next plan with {prefix}queue_pull."),
            Self::PlanAlreadyActive { .. } => format!(
                "Finish it first: {prefix}plan_complete when it is done, {prefix}plan_defer to put it back, {prefix}plan_discard to give it up."
            ),
            Self::QueueEmpty { ever_queued: true, completed: 0 } => {
                format!("Nothing was completed: tell the user, or add what is to be done with {prefix}queue_add.")
            }
            Self::QueueEmpty { ever_queued: true, .. } => {
                format!("Report the result to the user. If work is left, add it with {prefix}queue_add.")
            }
            Self::QueueEmpty { ever_queued: false, .. } => format!("Add the first plan with {prefix}queue_add."),
            Self::Validation { remedy, .. } => remedy.clone(),
            Self::FileSystem { remedy, .. } => (*remedy).to_owned(),
            Self::Database(fault) => fault.suggestion().to_owned(),
        }
    }

    /// A `VALIDATION_ERROR`.
    pub fn validation(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Validation { problem: problem.into(), remedy: remedy.into() }
    }

    /// The text is not the name of a session.
    pub fn bad_session_name(text: &str) -> Self {
        Self::validation(
            format!("{:?} is not a session name.", clip(text, ECHO)),
            "Give the three lower-case words joined by hyphens that stand in every reply, such as amber-quiet-river.",
        )
    }

    /// The text is not the identifier of a plan.
    pub fn bad_plan_id(text: &str) -> Self {
        Self::validation(
            format!("{:?} is not a plan id.", clip(text, ECHO)),
            "Give the id that a reply named: 5 to 16 letters a-z and digits, such as k7f3m.",
        )
    }

    /// A failed operation on a file, before anything was changed. `doing` fits after "Cannot".
    pub fn file(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::FileSystem { doing, path: path.to_owned(), reason: error.to_string(), remedy: CHECK_AND_RETRY }
    }

    /// A session would be too deep in the file system: the database takes a path of at most `most` bytes.
    pub fn long_path(path: &Path, most: usize) -> Self {
        Self::FileSystem {
            doing: "open",
            path: path.to_owned(),
            reason: format!("the path has {} bytes, and SQLite takes at most {most}", path.as_os_str().len()),
            remedy: "Nothing was changed. Tell the user to set NINEPLAN_SESSIONS_PATH to a folder with a shorter path.",
        }
    }

    /// Something stands in a plan's or a session's place that the server will not touch.
    pub fn in_the_way(doing: &'static str, path: &Path, reason: impl Into<String>) -> Self {
        Self::FileSystem {
            doing,
            path: path.to_owned(),
            reason: reason.into(),
            remedy: "Nothing was changed. Put what belongs there in its place, or move it aside, then call again.",
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(DatabaseFault::Sqlite(error))
    }
}

impl MissingSession {
    fn suggestion(&self, prefix: &str) -> String {
        let (close, recent) = match self {
            Self::NoneCurrent { recent } => (&[][..], recent),
            Self::Unknown { close, recent, .. } => (close.as_slice(), recent),
        };
        let start = format!("start a session with {prefix}session_create");
        match (close, recent.as_slice()) {
            ([], []) => format!("There is no session to go on with by {prefix}session_resume: {start}."),
            ([], recent) => format!(
                "Call again with a session_name, resume one with {prefix}session_resume, or {start}. Most recent: {}.",
                join(recent)
            ),
            (close, _) => format!("Did you mean {}? {prefix}admin_sessions lists all; {start}.", join(close)),
        }
    }
}

impl fmt::Display for MissingSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneCurrent { .. } => {
                f.write_str("No session is in use on this connection, and the call names none.")
            }
            Self::Unknown { name, .. } => write!(f, "There is no session {name}."),
        }
    }
}

impl DatabaseFault {
    fn is(&self, codes: &[rusqlite::ErrorCode]) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code().is_some_and(|code| codes.contains(&code)))
    }

    fn is_busy(&self) -> bool {
        self.is(&[rusqlite::ErrorCode::DatabaseBusy, rusqlite::ErrorCode::DatabaseLocked])
    }

    fn suggestion(&self) -> &'static str {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseCorrupt, DiskFull, NotADatabase, PermissionDenied, ReadOnly, SystemIoFailure,
        };
        match self {
            Self::Newer { .. } => "Update 9plan to the version that made this session. Nothing was changed.",
            Self::NotASession(_) => RESTORE,
            fault if fault.is_busy() => "Nothing was changed. Call again in a moment.",
            fault if fault.is(&[DatabaseCorrupt, NotADatabase]) => RESTORE,
            fault if fault.is(&[DiskFull, SystemIoFailure, ReadOnly, CannotOpen, PermissionDenied]) => {
                "Nothing was changed. See that the disk has room, and that the session's folder and session.db, \
                 session.db-wal and session.db-shm in it can be read and written, then call again."
            }
            Self::Sqlite(_) => "Nothing was changed. Call again; if it stays, tell the user what this message says.",
        }
    }
}

impl fmt::Display for DatabaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { found, known } => {
                write!(f, "The session was made by a newer 9plan (schema {found}; this one knows up to {known}).")
            }
            Self::NotASession(what) => write!(f, "session.db is not a 9plan session: {what}."),
            fault if fault.is_busy() => f.write_str("Another process keeps the session's database busy."),
            Self::Sqlite(error) => write!(f, "The session's database failed: {error}."),
        }
    }
}

fn plan_not_found(id: &PlanId, found: Option<Status>) -> String {
    match found {
        Some(Status::Queued) => format!("Plan {id} is not in the history: it is still queued."),
        Some(Status::Active) => format!("Plan {id} is not in the history: it is the active plan."),
        Some(Status::Discarded) => format!("Plan {id} is not in the history: it was discarded."),
        Some(Status::Completed) | None => format!("There is no plan {id} in this session."),
    }
}

fn queue_empty(completed: u64, ever_queued: bool) -> String {
    if !ever_queued {
        return "Nothing is queued yet.".to_owned();
    }
    format!("Task complete! 🎉 The queue is empty; {} completed.", plans(completed))
}

fn join(names: &[SessionName]) -> String {
    names.iter().map(SessionName::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_database_is_opened_anew_where_it_may_have_been_spoiled_but_not_where_it_is_busy_or_the_disk_is_full() {
        for (code, expected) in [
            (ffi::SQLITE_BUSY, false),
            (ffi::SQLITE_LOCKED, false),
            (ffi::SQLITE_FULL, false),
            (ffi::SQLITE_IOERR, false),
            (ffi::SQLITE_CORRUPT, true),
            (ffi::SQLITE_READONLY, true),
        ] {
            let error = Error::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert_eq!(error.may_be_of_the_past(), expected, "{error}");
        }
        assert!(!Error::in_the_way("read", Path::new("/file"), "it is a link").may_be_of_the_past());
    }
}
