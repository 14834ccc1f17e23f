//! The folders of sessions, as they stand on disk.
//!
//! Owns how a session's folder is made and told from what is none, that only its owner can enter it, when it was last used,
//! and whether its files are still those that they were. Knows neither which sessions are open nor what is in them.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Error;
use crate::files::{FOLDER_NAME as PLANS, own, sync_folder};
use crate::plan::SessionName;
use crate::steps::step;
use crate::store::schema;

/// How the hidden name ends under which a session is made; it begins with a dot and the name that the session will have.
const HIDDEN_SUFFIX: &str = ".new";

/// Where a session is made that will have this name.
pub fn hidden(root: &Path, name: &SessionName) -> PathBuf {
    root.join(format!(".{name}{HIDDEN_SUFFIX}"))
}

/// Whether this is the hidden name of a session that is being made, or was and is not any more.
pub fn is_hidden(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(HIDDEN_SUFFIX));
    inner.and_then(SessionName::exact).is_some()
}

/// Removes the folder of a session that was never whole, with what is made there. Anything else stays, and the folder.
pub fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == PLANS {
            fs::remove_dir(entry.path())?;
        } else if name.to_string_lossy().starts_with(schema::FILE_NAME) {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// Whether anything stands at `path`.
pub fn taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// When a session was last changed or resumed; none where there is no session. One that cannot be looked at comes last.
///
/// A change is written to the log, and resuming marks it. The time of the database is that of the log being written back, which
/// may be long after. Only where there is no log the others have to tell.
pub fn last_use(folder: &Path) -> Option<SystemTime> {
    let modified = |file: fs::Metadata| file.modified().ok();
    if let Some(log) = log_in_use(folder) {
        return modified(log).or(Some(SystemTime::UNIX_EPOCH));
    }
    let look = |name: &str| fs::symlink_metadata(folder.join(name));
    let database = match look(schema::FILE_NAME) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_orphaned(folder) => None,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return None,
        Err(_) => return Some(SystemTime::UNIX_EPOCH),
    };
    [database, look(PLANS).ok()].into_iter().flatten().filter_map(modified).max()
}

/// Marks a session as used at this time.
///
/// The mark is never at the database: to open and close that file beside SQLite would drop the locks that this process holds
/// on it.
pub fn mark_use(folder: &Path, at: SystemTime) {
    let name = if log_in_use(folder).is_some() { schema::LOG_NAME } else { PLANS };
    // Only the order of a list depends on it.
    let _ = File::open(folder.join(name)).and_then(|marked| marked.set_modified(at));
}

/// The log, where there is anything in it: it appears, empty, as soon as anybody reads.
fn log_in_use(folder: &Path) -> Option<fs::Metadata> {
    fs::symlink_metadata(folder.join(schema::LOG_NAME)).ok().filter(|log| log.is_file() && log.len() > 0)
}

/// Whether there is something of a session in a folder without a database.
fn is_orphaned(folder: &Path) -> bool {
    log_in_use(folder).is_some() || fs::read_dir(folder.join(PLANS)).is_ok_and(|mut plans| plans.next().is_some())
}

/// How the files of a session stood when they were looked at.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Which files they are: the database, its log, the log's index, and the folder of plans.
    files: [Option<FileIdentity>; 4],
    /// The length and the time of the database. A commit goes into the log and does not count; writing the log back does.
    content: (u64, Option<SystemTime>),
    /// Whether there is nothing in the log.
    log_is_empty: bool,
}

impl Standing {
    /// The files of the session in `folder`, if there is one.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` where something else stands in the place of one of them, or where the database alone is missing,
    /// and `DATABASE_ERROR` where it is empty: SQLite would take that for a new one, and remove the log of the old one.
    pub fn of(folder: &Path) -> Result<Option<Self>, Error> {
        if real_folder(folder)?.is_none() {
            return Ok(None);
        }
        let path = folder.join(schema::FILE_NAME);
        let plans = real_folder(&folder.join(PLANS))?;
        let log = regular_file(&folder.join(schema::LOG_NAME))?;
        let index = regular_file(&folder.join(schema::INDEX_NAME))?;
        match regular_file(&path)? {
            Some(database) if database.len() == 0 => Err(schema::is_empty()),
            Some(database) => Ok(Some(Self {
                content: (database.len(), database.modified().ok()),
                log_is_empty: log.as_ref().is_none_or(|log| log.len() == 0),
                files: [Some(database), log, index, plans].map(|file| file.map(|file| FileIdentity::of(&file))),
            })),
            None if is_orphaned(folder) => {
                Err(Error::in_the_way("open", &path, "it is missing, while other files of the session are there"))
            }
            None => Ok(None),
        }
    }

    /// Whether there is a folder of plans.
    pub fn has_plans(&self) -> bool {
        self.files[3].is_some()
    }

    /// Whether each is the same file as before.
    pub fn same_files(&self, now: &Self) -> bool {
        self.files == now.files
    }

    /// Whether somebody who has had the files open since then may write the log back: the database is as it was, and its
    /// log too, unless somebody has taken it away. Where another one has taken its place, whoever made that was here first,
    /// and to write the old one back would spoil what stands in the new one. The same where there is another index: whoever
    /// made it knows nothing of the old one, and would go on with what was read of the database before.
    pub fn lets_write_back(&self, now: &Self) -> bool {
        let [database, log, index, _] = now.files;
        self.files[0] == database
            && self.content == now.content
            && (self.files[1] == log || now.log_is_empty)
            && (self.files[2] == index || index.is_none())
    }
}

/// What stands at `path`, a folder or nothing. Anything else is refused; a link could lead out of the root.
fn real_folder(path: &Path) -> Result<Option<fs::Metadata>, Error> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(Some(metadata)),
        Ok(metadata) if metadata.is_symlink() => {
            Err(Error::in_the_way("open", path, "it is a symbolic link, which is not followed"))
        }
        Ok(_) => Err(Error::in_the_way("open", path, "it is not a folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("open", path, &error)),
    }
}

/// What stands at `path`, a regular file or nothing.
fn regular_file(path: &Path) -> Result<Option<fs::Metadata>, Error> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        Ok(_) => Err(Error::in_the_way("open", path, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("open", path, &error)),
    }
}

/// Which file a path led to when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity(u64, u64, Option<SystemTime>);

impl FileIdentity {
    #[cfg(unix)]
    fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        // A number is soon another file's, which was not made at the same time.
        Self(metadata.dev(), metadata.ino(), metadata.created().ok())
    }

    /// Elsewhere an open database cannot be moved away, so that any file is the same one.
    #[cfg(not(unix))]
    fn of(_: &fs::Metadata) -> Self {
        Self(0, 0, None)
    }
}

/// Makes one folder that only its owner can enter, whatever the umask is; fails where there is one.
pub fn private_folder(path: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    // The umask may have taken rights from the owner too.
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// Makes an empty file that only its owner can read; one that is there stays.
pub fn private_mark(path: &Path) -> io::Result<()> {
    File::create(path).and_then(|file| own(&file))
}

/// Gives the log of a database and its index the rights that the database has. SQLite makes them with those that it had at
/// the time, so that a database that could only be read for a while would stay so.
pub fn mend_rights(folder: &Path) {
    #[cfg(unix)]
    if let Ok(database) = fs::metadata(folder.join(schema::FILE_NAME)) {
        for name in [schema::LOG_NAME, schema::INDEX_NAME] {
            let path = folder.join(name);
            if fs::symlink_metadata(&path).is_ok_and(|file| file.permissions() != database.permissions()) {
                // Where that cannot be done, opening the database says what is wrong.
                let _ = fs::set_permissions(path, database.permissions());
            }
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
}

/// Makes a folder and those above it, as far as they are missing, and the names of the new ones durable.
pub fn private_folders(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.iter().rev() {
        match step("make folder", || private_folder(folder)) {
            // Another process was faster, or it is a link that leads nowhere.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    if !path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "what stands there is not a folder"));
    }
    missing.iter().filter_map(|folder| folder.parent()).try_for_each(sync_folder)
}
