//! The folders of sessions, as they stand on disk.
//!
//! Owns how a session's folder is made and told from what is none, and that only its owner can enter it. Knows neither
//! which sessions are open nor what is in them.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Error;
use crate::files::{FOLDER_NAME as PLANS, sync_folder};
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

/// Whether anything stands at `path`.
pub fn taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// When a session was last changed or resumed; none where there is no database.
pub fn last_use(folder: &Path) -> Option<SystemTime> {
    let look = |name: &str| fs::symlink_metadata(folder.join(name)).ok();
    // The log appears, empty, as soon as anybody reads.
    let log = look(schema::LOG_NAME).filter(|log| log.len() > 0);
    let files = [Some(look(schema::FILE_NAME)?), log, look(PLANS)];
    files.into_iter().flatten().filter_map(|metadata| metadata.modified().ok()).max()
}

/// Which file a path led to when it was looked at.
#[derive(Debug, PartialEq, Eq)]
pub struct FileIdentity(u64, u64);

impl FileIdentity {
    #[cfg(unix)]
    pub fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(metadata.dev(), metadata.ino())
    }

    /// Elsewhere an open database cannot be moved away, so that any file is the same one.
    #[cfg(not(unix))]
    pub fn of(_: &fs::Metadata) -> Self {
        Self(0, 0)
    }
}

/// Whether a folder stands at `path`, or nothing. Anything else is refused; a link could lead out of the root.
pub fn is_folder(path: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(metadata) if metadata.is_symlink() => {
            Err(Error::in_the_way("open", path, "it is a symbolic link, which is not followed"))
        }
        Ok(_) => Err(Error::in_the_way("open", path, "it is not a folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::file("open", path, &error)),
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

/// Makes a folder and those above it, as far as they are missing, and the names of the new ones durable.
pub fn private_folders(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.iter().rev() {
        match step("make folder", || private_folder(folder)) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            made => made?,
        }
    }
    missing.iter().filter_map(|folder| folder.parent()).try_for_each(sync_folder)
}
