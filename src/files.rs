//! The plan files of one session on disk.
//!
//! Owns the folder `plans/`: staging, publishing, reading, removing, listing. Knows nothing of a file's format or of the
//! database. Only regular files are ever read or removed: a link is not followed, wherever it leads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::plan::PlanId;
use crate::steps::step;

/// The name of the folder in a session's own.
pub const FOLDER_NAME: &str = "plans";

/// The largest plan file that is read, in bytes. Seven sections of the largest argument come to half a mebibyte.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// How a temporary file's name ends; it begins with a dot and the plan's identifier.
const STAGED_SUFFIX: &str = ".tmp";

/// The plan files of one session. Injected, so that a test can make a step fail.
pub trait PlanFiles: Send {
    /// Where the file of a plan is, or would be; absolute.
    fn path(&self, id: &PlanId) -> PathBuf;

    /// Writes and syncs the new text beside its place. Dropped unpublished, it is gone.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`; nothing was changed.
    fn stage(&self, id: &PlanId, text: &str) -> Result<Box<dyn Staged>, Error>;

    /// The bytes of a plan's file, or none where there is no file.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`, also where something else than a regular file stands there.
    fn read(&self, id: &PlanId) -> Result<Option<Vec<u8>>, Error>;

    /// Removes a plan's file if it still holds `expected`: an edit made since it was read must not be lost.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`.
    fn remove(&self, id: &PlanId, expected: &[u8]) -> Result<(), Error>;

    /// All that stands in the folder, by name.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`.
    fn list(&self) -> Result<Vec<Entry>, Error>;

    /// Removes a temporary file, and says whether it was there. Whoever staged it then publishes nothing.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`.
    fn abandon(&self, leftover: &Leftover) -> Result<bool, Error>;
}

/// A text that is on disk, but not yet in its place.
pub trait Staged {
    /// The name of its temporary file, different for each.
    fn name(&self) -> &str;

    /// Puts the text in its place, and syncs the folder: if the place still holds `seen`, the bytes that the text was made
    /// from, or nothing where there was nothing. An edit made in the meantime stays, and the text is dropped.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`.
    fn publish(self: Box<Self>, seen: Option<&[u8]>) -> Result<(), Error>;
}

/// One name in `plans/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The file of the plan with this identifier.
    Plan(PlanId),
    /// A temporary file.
    Leftover(Leftover),
    /// Not ours.
    Other(String),
}

/// A temporary file: its name, and the plan it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub id: PlanId,
    pub name: String,
}

/// The folder `plans/` of a session.
pub struct DiskPlanFiles {
    folder: PathBuf,
}

impl DiskPlanFiles {
    /// The plan files in `folder`, an absolute path.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn read_file(path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let (kind, length) = match fs::symlink_metadata(path) {
            Ok(metadata) => (metadata.file_type(), metadata.len().min(MAX_FILE_BYTES)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", path, &error)),
        };
        if !kind.is_file() {
            let reason =
                if kind.is_symlink() { "it is a symbolic link, which is not followed" } else { "it is not a file" };
            return Err(Error::in_the_way("read", path, reason));
        }
        // With room for one more, by which the end is seen without growing.
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
        let read = open_unlinked(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("read", path, &error)),
            Ok(length) if length as u64 > MAX_FILE_BYTES => {
                Err(Error::in_the_way("read", path, "it is larger than 16 MiB"))
            }
            Ok(_) => Ok(Some(bytes)),
        }
    }
}

impl PlanFiles for DiskPlanFiles {
    fn path(&self, id: &PlanId) -> PathBuf {
        self.folder.join(format!("{id}.txt"))
    }

    fn stage(&self, id: &PlanId, text: &str) -> Result<Box<dyn Staged>, Error> {
        let staged = step("stage", || write_beside(&self.folder, id, text))
            .map_err(|error| Error::file("write to", &self.folder, &error))?;
        let name = staged.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Box::new(StagedFile { staged, name, place: self.path(id) }))
    }

    fn read(&self, id: &PlanId) -> Result<Option<Vec<u8>>, Error> {
        Self::read_file(&self.path(id))
    }

    fn remove(&self, id: &PlanId, expected: &[u8]) -> Result<(), Error> {
        let path = self.path(id);
        if Self::read_file(&path)?.as_deref() != Some(expected) {
            return Ok(());
        }
        step("remove", || remove_file(&path)).map(drop)
    }

    fn list(&self) -> Result<Vec<Entry>, Error> {
        let unreadable = |error: io::Error| Error::file("list", &self.folder, &error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A folder or a link is not ours, whatever it is called.
            let file = entry.file_type().map_err(unreadable)?.is_file();
            entries.push(if file { Entry::from_name(name) } else { Entry::Other(name) });
        }
        Ok(entries)
    }

    fn abandon(&self, leftover: &Leftover) -> Result<bool, Error> {
        step("abandon", || remove_file(&self.folder.join(&leftover.name)))
    }
}

impl Leftover {
    /// The temporary file of a plan by its name, where it is one.
    pub fn of(id: &PlanId, name: String) -> Option<Self> {
        match Entry::from_name(name) {
            Entry::Leftover(leftover) if leftover.id == *id => Some(leftover),
            _ => None,
        }
    }
}

impl Entry {
    /// The name in the folder.
    pub fn name(&self) -> String {
        match self {
            Self::Plan(id) => format!("{id}.txt"),
            Self::Leftover(Leftover { name, .. }) | Self::Other(name) => name.clone(),
        }
    }

    fn from_name(name: String) -> Self {
        if let Some(id) = name.strip_suffix(".txt").and_then(PlanId::exact) {
            return Self::Plan(id);
        }
        let inner = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(STAGED_SUFFIX));
        match inner.and_then(|inner| inner.split('.').next()).and_then(PlanId::exact) {
            Some(id) => Self::Leftover(Leftover { id, name }),
            None => Self::Other(name),
        }
    }
}

/// A temporary file that knows its place.
struct StagedFile {
    staged: tempfile::TempPath,
    name: String,
    place: PathBuf,
}

impl Staged for StagedFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn publish(self: Box<Self>, seen: Option<&[u8]>) -> Result<(), Error> {
        let Self { staged, place, .. } = *self;
        if DiskPlanFiles::read_file(&place)?.as_deref() != seen {
            return Ok(());
        }
        match step("publish", || staged.persist(&place)) {
            Ok(()) => {
                sync_folder(place.parent().unwrap_or(&place)).map_err(|error| Error::file("write", &place, &error))
            }
            // Another process needed the plan meanwhile, and took the text out of its row.
            Err(lost) if lost.error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(lost) => Err(Error::file("write", &place, &lost.error)),
        }
    }
}

/// Writes `text` to a synced temporary file with mode 0600 in `folder`.
fn write_beside(folder: &Path, id: &PlanId, text: &str) -> io::Result<tempfile::TempPath> {
    let mut file = tempfile::Builder::new().prefix(&format!(".{id}.")).suffix(STAGED_SUFFIX).tempfile_in(folder)?;
    own(file.as_file())?;
    step("write", || file.as_file_mut().write_all(text.as_bytes()))?;
    step("sync file", || file.as_file().sync_all())?;
    Ok(file.into_temp_path())
}

/// Lets a new file be its owner's alone, to read and to write: the umask may have taken rights from the owner too.
///
/// # Errors
///
/// What the system reports.
pub fn own(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Removes a file, and says whether there was one.
fn remove_file(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        // A file system that cannot be written to says so of a file that is not there, too.
        Err(error) if !is_missing(path) => Err(Error::file("remove", path, &error)),
        Err(_) => Ok(false),
    }
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Opens a file for reading without following a link or waiting for a pipe, should one have just taken its place.
fn open_unlinked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

/// Makes the names in a folder durable. Windows has no such call: there the rename is journalled by the file system.
///
/// # Errors
///
/// What the system reports.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    step("sync folder", || if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) })
}

#[cfg(test)]
pub mod fakes {
    //! Plan files in memory, which can be told to fail at a step.

    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex, MutexGuard};

    use super::{Entry, Leftover, PlanFiles, Staged};
    use crate::error::Error;
    use crate::plan::PlanId;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Step {
        Stage,
        Publish,
        Read,
        Remove,
    }

    #[derive(Default)]
    pub struct Folder {
        pub files: BTreeMap<PlanId, Vec<u8>>,
        /// What is staged, by the name of its temporary file.
        pub staged: BTreeMap<String, (PlanId, Vec<u8>)>,
        pub fails_at: Option<Step>,
        /// What somebody writes into a plan's file while a change of it is staged.
        pub edit_when_staged: Option<Vec<u8>>,
        stagings: u32,
    }

    #[derive(Clone, Default)]
    pub struct MemoryPlanFiles(pub Arc<Mutex<Folder>>);

    impl MemoryPlanFiles {
        fn at(&self, step: Step) -> Result<MutexGuard<'_, Folder>, Error> {
            let folder = self.0.lock().unwrap();
            if folder.fails_at == Some(step) {
                return Err(Error::in_the_way("reach", &PathBuf::from("/plans"), "the test says so"));
            }
            Ok(folder)
        }
    }

    struct MemoryStaged {
        files: MemoryPlanFiles,
        name: String,
    }

    impl Staged for MemoryStaged {
        fn name(&self) -> &str {
            &self.name
        }

        fn publish(self: Box<Self>, seen: Option<&[u8]>) -> Result<(), Error> {
            let mut folder = self.files.at(Step::Publish)?;
            if let Some((id, text)) = folder.staged.remove(&self.name)
                && folder.files.get(&id).map(Vec::as_slice) == seen
            {
                folder.files.insert(id, text);
            }
            Ok(())
        }
    }

    impl Drop for MemoryStaged {
        fn drop(&mut self) {
            self.files.0.lock().unwrap().staged.remove(&self.name);
        }
    }

    impl PlanFiles for MemoryPlanFiles {
        fn path(&self, id: &PlanId) -> PathBuf {
            PathBuf::from(format!("/plans/{id}.txt"))
        }

        fn stage(&self, id: &PlanId, text: &str) -> Result<Box<dyn Staged>, Error> {
            let mut folder = self.at(Step::Stage)?;
            folder.stagings += 1;
            let name = format!(".{id}.{}.tmp", folder.stagings);
            folder.staged.insert(name.clone(), (id.clone(), text.into()));
            if let Some(edit) = folder.edit_when_staged.take() {
                folder.files.insert(id.clone(), edit);
            }
            Ok(Box::new(MemoryStaged { files: self.clone(), name }))
        }

        fn read(&self, id: &PlanId) -> Result<Option<Vec<u8>>, Error> {
            Ok(self.at(Step::Read)?.files.get(id).cloned())
        }

        fn remove(&self, id: &PlanId, expected: &[u8]) -> Result<(), Error> {
            let mut folder = self.at(Step::Remove)?;
            if folder.files.get(id).is_some_and(|bytes| bytes == expected) {
                folder.files.remove(id);
            }
            Ok(())
        }

        fn list(&self) -> Result<Vec<Entry>, Error> {
            let folder = self.0.lock().unwrap();
            let leftovers = folder.staged.keys().cloned().map(Entry::from_name);
            Ok(folder.files.keys().cloned().map(Entry::Plan).chain(leftovers).collect())
        }

        fn abandon(&self, leftover: &Leftover) -> Result<bool, Error> {
            let there = self.0.lock().unwrap().staged.contains_key(&leftover.name);
            if there {
                self.at(Step::Remove)?.staged.remove(&leftover.name);
            }
            Ok(there)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_folder_are_told_apart() {
        let id = PlanId::exact("k7f3m").unwrap();
        assert_eq!(Entry::from_name("k7f3m.txt".into()), Entry::Plan(id.clone()));
        let name = ".k7f3m.Xy9.tmp".to_owned();
        assert_eq!(Entry::from_name(name.clone()), Entry::Leftover(Leftover { id, name }));
        for other in ["K7F3M.txt", "k7.txt", ".DS_Store", "k7f3m.txt~", ".x.tmp", "notes.md"] {
            assert_eq!(Entry::from_name(other.into()), Entry::Other(other.into()));
        }
    }

    #[test]
    fn an_edited_file_is_not_removed_and_a_dropped_stage_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = DiskPlanFiles::new(folder.path().to_owned());
        let id = PlanId::exact("k7f3m").unwrap();
        drop(files.stage(&id, "one").unwrap());
        assert_eq!(files.list().unwrap(), []);
        files.stage(&id, "one").unwrap().publish(None).unwrap();
        files.remove(&id, b"two").unwrap();
        assert_eq!(files.read(&id).unwrap().as_deref(), Some(&b"one"[..]));
        files.remove(&id, b"one").unwrap();
        assert_eq!(files.read(&id).unwrap(), None);
    }

    #[test]
    fn an_edit_made_since_the_text_was_staged_stays() {
        let folder = tempfile::tempdir().unwrap();
        let files = DiskPlanFiles::new(folder.path().to_owned());
        let id = PlanId::exact("k7f3m").unwrap();
        let staged = files.stage(&id, "new").unwrap();
        fs::write(files.path(&id), "edited").unwrap();
        staged.publish(None).unwrap();
        files.stage(&id, "new").unwrap().publish(Some(b"old")).unwrap();
        assert_eq!(fs::read_to_string(files.path(&id)).unwrap(), "edited");
        files.stage(&id, "new").unwrap().publish(Some(b"edited")).unwrap();
        assert_eq!(fs::read_to_string(files.path(&id)).unwrap(), "new");
        assert_eq!(files.list().unwrap(), [Entry::Plan(id)]);
    }

    #[test]
    fn what_another_process_has_abandoned_is_not_published() {
        let folder = tempfile::tempdir().unwrap();
        let files = DiskPlanFiles::new(folder.path().to_owned());
        let id = PlanId::exact("k7f3m").unwrap();
        let staged = files.stage(&id, "new").unwrap();
        let leftover = Leftover::of(&id, staged.name().to_owned()).unwrap();
        assert!(files.abandon(&leftover).unwrap());
        assert!(!files.abandon(&leftover).unwrap());
        staged.publish(None).unwrap();
        assert_eq!(files.list().unwrap(), []);
    }

    #[test]
    fn what_cannot_be_put_in_its_place_is_reported_and_spoils_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = DiskPlanFiles::new(folder.path().to_owned());
        let id = PlanId::exact("k7f3m").unwrap();
        fs::write(files.path(&id), "old").unwrap();
        let staged = files.stage(&id, "new").unwrap();
        // A folder takes the place of no file, whoever asks for it.
        let name = folder.path().join(staged.name());
        fs::remove_file(&name).unwrap();
        fs::create_dir(&name).unwrap();
        assert!(staged.publish(Some(b"old")).is_err());
        assert_eq!(fs::read_to_string(files.path(&id)).unwrap(), "old");
    }

    #[cfg(unix)]
    #[test]
    fn what_has_just_taken_the_place_of_a_file_is_neither_followed_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(open_unlinked(&file).is_ok());
        assert!(open_unlinked(&link).is_err());
        let (done, waiting) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(open_unlinked(&pipe).is_ok()));
        assert_eq!(waiting.recv_timeout(std::time::Duration::from_secs(60)), Ok(true), "nobody writes to it");
    }

    #[test]
    fn a_file_of_more_than_sixteen_mebibytes_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = DiskPlanFiles::new(folder.path().to_owned());
        let id = PlanId::exact("k7f3m").unwrap();
        let file = File::create(files.path(&id)).unwrap();
        file.set_len(MAX_FILE_BYTES).unwrap();
        assert!(files.read(&id).is_ok());
        file.set_len(MAX_FILE_BYTES + 1).unwrap();
        let error = files.read(&id).unwrap_err().to_string();
        assert!(error.ends_with("it is larger than 16 MiB"), "{error}");
    }
}
