//! The configuration files of clients on disk.
//!
//! Owns how one is found, read, and replaced as a whole with a copy of what was there beside it. Knows nothing of what stands
//! in one.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::files::sync_folder;

/// What the name of the copy ends with.
const COPY_SUFFIX: &str = ".9plan.bak";

/// The file that is meant of several: the first that is there, else the first whose folder is, else the first.
pub fn meant(candidates: &[PathBuf]) -> Option<&PathBuf> {
    let has_folder = |path: &&PathBuf| path.parent().is_some_and(Path::is_dir);
    candidates
        .iter()
        .find(|path| path.exists())
        .or_else(|| candidates.iter().find(has_folder))
        .or_else(|| candidates.first())
}

/// Whether something is at one of these places, or a program with one of these names in one of the folders of `path`.
pub fn is_there(places: &[PathBuf], programs: &[&str], path: Option<&OsString>) -> bool {
    places.iter().any(|place| place.exists())
        || path.is_some_and(|path| std::env::split_paths(path).any(|folder| has_program(&folder, programs)))
}

fn has_program(folder: &Path, programs: &[&str]) -> bool {
    // The package managers of Windows put a script in place of a program.
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    programs.iter().any(|name| endings.iter().any(|ending| folder.join(format!("{name}{ending}")).is_file()))
}

/// The text of a file, or none where there is no file.
///
/// # Errors
///
/// Where it cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a text in the place of the one that was read. The file keeps its rights and its owner; a link keeps leading where it
/// leads.
///
/// # Errors
///
/// Where it cannot be written, or has been changed in the meantime; then it is as it was.
pub fn replace(path: &Path, before: Option<&str>, after: &str) -> io::Result<()> {
    let place = led_to(path)?;
    let staged = staged(&place, after)?;
    if before.is_some() {
        liken(&staged, &place)?;
    }
    // Clients write these files too.
    if read(&place)?.as_deref() != before {
        return Err(io::Error::other("it was changed in the meantime"));
    }
    put_in_place(staged, &place)
}

/// Keeps a text as a copy of a file beside it, and gives the path of that.
///
/// # Errors
///
/// Where it cannot be written.
pub fn keep_copy(path: &Path, text: &str) -> io::Result<PathBuf> {
    let copy = copy_of(path);
    let staged = staged(&copy, text)?;
    put_in_place(staged, &copy)?;
    Ok(copy)
}

/// Where the copy of a file is kept.
pub fn copy_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(COPY_SUFFIX);
    PathBuf::from(name)
}

/// Where a path leads, whether there is anything or not.
fn led_to(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match (fs::read_link(path), path.parent()) {
            (Ok(target), Some(folder)) => Ok(folder.join(target)),
            _ => Ok(path.to_owned()),
        },
        found => found,
    }
}

/// A text on disk beside its place.
fn staged(place: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = place.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let mut staged = tempfile::Builder::new().prefix(".9plan-").tempfile_in(folder)?;
    staged.write_all(text.as_bytes())?;
    staged.as_file().sync_all()?;
    Ok(staged)
}

/// Gives what is staged the rights and the owner of the file in its place.
fn liken(staged: &NamedTempFile, place: &Path) -> io::Result<()> {
    let there = fs::metadata(place)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let own = staged.as_file().metadata()?;
        if (own.uid(), own.gid()) != (there.uid(), there.gid()) {
            chown(staged.path(), Some(there.uid()), Some(there.gid()))?;
        }
    }
    fs::set_permissions(staged.path(), there.permissions())
}

fn put_in_place(staged: NamedTempFile, place: &Path) -> io::Result<()> {
    staged.persist(place).map_err(|failed| failed.error)?;
    place.parent().map_or(Ok(()), sync_folder)
}
