//! Finding the sessions below the root, and naming some to a caller that has to choose.
//!
//! Owns their order, and what becomes of folders in which a session was never finished. Knows nothing of what is in one.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::Sessions;
use super::folders::{is_hidden, last_use, remove_unfinished, taken};
use crate::error::{Error, MissingSession};
use crate::plan::SessionName;
use crate::steps::step;
use crate::store::{Summary, schema, waiting};

/// How many sessions an error names.
const SUGGESTED: usize = 5;

/// How many edits a mistyped session name may be away from one that is suggested; or two of its words are right.
const CLOSE: usize = 4;

/// Some of the sessions there are.
#[derive(Debug, Default)]
pub struct Listing {
    /// Newest use first.
    pub sessions: Vec<(SessionName, Summary)>,
    /// Those that could not be read, and why.
    pub unreadable: Vec<(SessionName, Error)>,
    /// How many there are in all, the unreadable ones included.
    pub total: usize,
}

/// All that is below the root.
#[derive(Debug, Default)]
pub struct Survey {
    /// Newest use first.
    pub sessions: Vec<SessionName>,
    /// The folders of sessions that are being made, or were and are not any more.
    pub unfinished: Vec<PathBuf>,
}

impl Sessions {
    /// The summaries of the `most` sessions used last.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` where the root cannot be read.
    pub fn list(&self, most: usize) -> Result<Listing, Error> {
        let names = self.by_last_use()?;
        let mut listing = Listing { total: names.len(), ..Listing::default() };
        for name in names.into_iter().take(most) {
            match self.summary(&name) {
                Ok(summary) => listing.sessions.push((name, summary)),
                Err(error) => listing.unreadable.push((name, error)),
            }
        }
        Ok(listing)
    }

    /// Whether work is left in a session: something is queued or active, or nothing was ever added.
    ///
    /// # Errors
    ///
    /// As [`Self::store`].
    pub fn is_unfinished(&self, name: &SessionName) -> Result<bool, Error> {
        Ok(self.summary(name)?.is_unfinished())
    }

    /// The failure to tell a caller that names no session and has none in use.
    pub fn none_current(&self) -> Error {
        let mut recent = match self.by_last_use() {
            Ok(recent) => recent,
            Err(unreadable) => return unreadable,
        };
        recent.truncate(SUGGESTED);
        Error::SessionNotFound(MissingSession::NoneCurrent { recent })
    }

    fn summary(&self, name: &SessionName) -> Result<Summary, Error> {
        self.standing(name)?;
        schema::summary(&self.path(name).join(schema::FILE_NAME))
    }

    pub(super) fn unknown(&self, name: &SessionName) -> Error {
        let mut recent = match self.by_last_use() {
            Ok(recent) => recent,
            Err(unreadable) => return unreadable,
        };
        let mut close: Vec<(usize, SessionName)> = recent
            .iter()
            .map(|other| (strsim::osa_distance(name.as_str(), other.as_str()), other.clone()))
            .filter(|(distance, other)| *distance <= CLOSE || common_words(name, other) > 1)
            .collect();
        close.sort_by_key(|(distance, _)| *distance);
        let close = close.into_iter().take(SUGGESTED).map(|(_, other)| other).collect();
        recent.truncate(SUGGESTED);
        Error::SessionNotFound(MissingSession::Unknown { name: name.clone(), close, recent })
    }

    /// Removes what processes left behind that died while they made a session: nobody was ever told of it.
    ///
    /// Where folders cannot be locked (on Windows, and on some network drives) it stays, hidden.
    pub fn sweep(&self, left: &[PathBuf]) {
        if left.is_empty() {
            return;
        }
        let alone = File::open(&self.root).ok().filter(|root| root.try_lock().is_ok());
        if alone.is_none() {
            return;
        }
        for folder in left {
            let removed = step("sweep", || remove_unfinished(folder));
            tracing::warn!(folder = %folder.display(), ?removed, "a session was left unfinished");
        }
    }

    /// The names of all sessions, newest use first. A missing root has none.
    pub(super) fn by_last_use(&self) -> Result<Vec<SessionName>, Error> {
        waiting::takes_long()?;
        let survey = self.survey()?;
        self.sweep(&survey.unfinished);
        Ok(survey.sessions)
    }

    /// What is below the root, without changing anything. A missing root holds nothing.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` where the root cannot be read.
    pub fn survey(&self) -> Result<Survey, Error> {
        let unreadable = |error: io::Error| Error::file("list", &self.root, &error);
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !taken(&self.root) => {
                return Ok(Survey::default());
            }
            Err(error) => return Err(unreadable(error)),
        };
        let mut found = Vec::new();
        let mut unfinished = Vec::new();
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if let Some(name) = SessionName::exact(&name)
                && let Some(used) = last_use(&entry.path())
            {
                found.push((used, name));
            } else if is_hidden(&name) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                unfinished.push(entry.path());
            }
        }
        found.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.cmp(y)));
        Ok(Survey { sessions: found.into_iter().map(|(_, name)| name).collect(), unfinished })
    }

    /// Whether sessions can be made below the root, which need not be there yet.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` where they cannot.
    pub fn check_root(&self) -> Result<(), Error> {
        let root = self.root.ancestors().find(|folder| taken(folder)).unwrap_or(&self.root);
        // It has no name, and is gone at once.
        tempfile::tempfile_in(root).map(drop).map_err(|error| Error::file("write below", root, &error))
    }
}

/// How many of the three words of two names are the same, each in its place.
fn common_words(one: &SessionName, other: &SessionName) -> usize {
    one.as_str().split('-').zip(other.as_str().split('-')).filter(|(a, b)| a == b).count()
}
