//! Where clients work, and which sessions to look at for that.
//!
//! Owns how a folder's name is spelt, and the lists beside the sessions that spare a search through all of them: a folder for
//! each folder and each conversation, and in it an empty file for each session. A list is a hint only. What a session is
//! bound to stands in its database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folders::{last_use, private_folders, private_mark, taken};
use super::{Sessions, SharedStore};
use crate::error::Error;
use crate::files::sync_folder;
use crate::plan::SessionName;
use crate::steps::step;
use crate::store::{Binding, Summary, waiting};

/// The name of the folder of all lists, beside the sessions.
pub const LISTS: &str = ".bindings";

/// How many sessions a list holds; a further one takes the place of the one that was bound first.
const MOST: usize = 32;

/// The empty file in a session's folder that says that nobody has asked for it since a compaction.
const COMPACTED: &str = ".compacted";

/// Where a client works: its folder, and the conversation, by the id that the client has for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub folder: Option<Binding>,
    pub client: Option<Binding>,
    /// The client's process, where that is known.
    pub process: Option<u32>,
}

impl Place {
    /// A place. The folder is one however its path is spelt, as long as it is there.
    pub fn new(folder: Option<&Path>, client: Option<&str>) -> Self {
        let folder = folder.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.components().collect()));
        Self {
            folder: folder.map(|path| Binding::Folder(path.to_string_lossy().into_owned())),
            client: client.map(|id| Binding::Client(id.to_owned())),
            process: None,
        }
    }

    /// The folder, and those above it, the nearest first.
    pub fn folders(&self) -> Vec<Binding> {
        let folder = self.folder.as_ref().map(Binding::value).unwrap_or_default();
        Path::new(folder).ancestors().map(|path| Binding::Folder(path.to_string_lossy().into_owned())).collect()
    }
}

impl Sessions {
    /// What a session is bound to that is made or resumed at a place.
    pub fn bindings(&self, place: &Place) -> Vec<Binding> {
        let noted = self.noted(place).filter(|noted| Some(noted) != place.client.as_ref());
        place.folder.iter().chain(&place.client).chain(&noted).cloned().collect()
    }

    /// The unfinished session of the conversation at a place.
    pub fn continued(&self, place: &Place) -> Option<SessionName> {
        let noted = self.noted(place);
        let mut conversations = place.client.iter().chain(&noted);
        conversations.find_map(|client| self.unfinished(client, &[])).map(|(name, _)| name)
    }

    /// Binds a session to the place where it is resumed, as far as it is not yet.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`; the session will not be found by the place.
    pub fn bind(&self, name: &SessionName, store: &SharedStore, bindings: &[Binding]) -> Result<(), Error> {
        // Listed first, and so never bound without being found.
        for binding in bindings.iter().filter(|binding| !is_listed(&self.root, binding, name)) {
            waiting::takes_long()?;
            add(&self.root, binding, name).map_err(|error| Error::file("write below", &self.root, &error))?;
        }
        store.lock().bind(bindings)
    }

    /// The session used last of those that have work left and are bound to one thing and, unless there are none, to one of
    /// `others` as well; and what a list says of it.
    pub fn unfinished(&self, bound_to: &Binding, others: &[Binding]) -> Option<(SessionName, Summary)> {
        let look = |name: &SessionName| {
            let mut view = self.view(name)?;
            let summary = view.summary()?;
            let mut found = summary.is_unfinished() && view.is_bound(bound_to)?;
            if found && !others.is_empty() {
                found = view.is_bound_to_any(others)?;
            }
            Ok::<_, Error>(found.then_some(summary))
        };
        listed(&self.root, bound_to).into_iter().find_map(|name| match look(&name) {
            Ok(summary) => Some((name, summary?)),
            Err(error) => {
                tracing::warn!(session = %name, %error, "a session cannot be looked at");
                None
            }
        })
    }

    /// Notes that the context of whoever works in a session was compacted.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`.
    pub fn note_compaction(&self, name: &SessionName) -> Result<(), Error> {
        let mark = self.path(name).join(COMPACTED);
        private_mark(&mark).map_err(|error| Error::file("write", &mark, &error))
    }

    /// Whether no call has come for a session since then.
    pub fn is_unasked(&self, name: &SessionName) -> bool {
        taken(&self.path(name).join(COMPACTED))
    }

    /// Notes that a call has come for a session.
    pub fn note_call(&self, name: &SessionName) {
        // It is there rarely, and where it cannot be removed an agent is reminded in vain.
        let _ = fs::remove_file(self.path(name).join(COMPACTED));
    }
}

/// The sessions that may be bound so, newest use first.
pub fn listed(root: &Path, binding: &Binding) -> Vec<SessionName> {
    // Where there is no list, nothing was ever bound.
    let names = fs::read_dir(list(root, binding)).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| SessionName::exact(&entry.file_name().to_string_lossy()));
    let mut found: Vec<_> = names.filter_map(|name| Some((last_use(&root.join(name.as_str()))?, name))).collect();
    found.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.cmp(y)));
    found.into_iter().map(|(_, name)| name).collect()
}

/// Whether a session stands in the list.
pub fn is_listed(root: &Path, binding: &Binding, name: &SessionName) -> bool {
    fs::symlink_metadata(list(root, binding).join(name.as_str())).is_ok()
}

/// Puts a session into the list.
pub fn add(root: &Path, binding: &Binding, name: &SessionName) -> io::Result<()> {
    let folder = list(root, binding);
    private_folders(&folder)?;
    let entry = folder.join(name.as_str());
    step("list", || private_mark(&entry))?;
    shorten(&folder, &entry)?;
    sync_folder(&folder)
}

/// Takes out of a folder what is too much: what was put there first, but never `newest`.
pub fn shorten(folder: &Path, newest: &Path) -> io::Result<()> {
    let mut others = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path() != newest {
            others.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    others.sort();
    let surplus = (others.len() + 1).saturating_sub(MOST);
    others.iter().take(surplus).try_for_each(|(_, path)| match fs::remove_file(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    })
}

/// The folder of a list. Its name is short, whatever is bound to: FNV-1a over the kind and the value. Where two have the same
/// one, the sessions' databases tell them apart.
fn list(root: &Path, binding: &Binding) -> PathBuf {
    let bytes = binding.kind().bytes().chain([0]).chain(binding.value().bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    root.join(LISTS).join(format!("{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_list_holds_so_many_sessions_and_loses_those_that_were_bound_first() {
        let root = tempfile::tempdir().unwrap();
        let binding = Binding::Folder("/app".to_owned());
        let names: Vec<SessionName> = ('a'..='z')
            .chain('a'..='z')
            .enumerate()
            .map(|(at, c)| name(&format!("{c}-b-{}", "c".repeat(at + 1))))
            .collect();
        for (name, hour) in names.iter().zip(1..) {
            add(root.path(), &binding, name).unwrap();
            let entry = fs::File::open(list(root.path(), &binding).join(name.as_str())).unwrap();
            entry.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(hour * 3_600)).unwrap();
        }
        let kept = |name: &&SessionName| is_listed(root.path(), &binding, name);
        assert_eq!(names.iter().filter(kept).count(), MOST);
        assert!(names[names.len() - MOST..].iter().all(|name| kept(&name)));
        // One that comes again stays, however old its entry is.
        let old = &names[names.len() - MOST];
        add(root.path(), &binding, old).unwrap();
        assert!(kept(&old));
        assert!(!is_listed(root.path(), &Binding::Client("/app".to_owned()), old));
        // There is no such session.
        assert_eq!(listed(root.path(), &binding), []);
    }

    #[test]
    fn a_folder_that_is_gone_is_spelt_as_it_was() {
        let place = Place::new(Some(Path::new("/no//such/./folder/")), None);
        assert_eq!(place.folder, Some(Binding::Folder("/no/such/folder".to_owned())));
        let above: Vec<Binding> =
            ["/no/such/folder", "/no/such", "/no", "/"].map(|path| Binding::Folder(path.to_owned())).into();
        assert_eq!(place.folders(), above);
    }

    fn name(text: &str) -> SessionName {
        SessionName::parse(text).unwrap()
    }
}
