//! Where clients work, and which sessions to look at for that.
//!
//! Owns how a folder's name is spelt, and the lists beside the sessions that spare a search through all of them: a folder for
//! each folder and each conversation, and in it an empty file for each session. A list is a hint only. What a session is
//! bound to stands in its database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Sessions;
use super::folders::{last_use, private_folders, private_mark};
use crate::error::Error;
use crate::files::{FOLDER_NAME as PLANS, sync_folder};
use crate::plan::SessionName;
use crate::steps::step;
use crate::store::{Binding, Summary, waiting};

/// The name of the folder of all lists, beside the sessions.
pub const LISTS: &str = ".bindings";

/// How many sessions a list holds. A further one takes the place of another: of one in which no plan is open, as long as there
/// is any, and of those the one used longest ago.
const MOST: usize = 64;

/// The file in a session's folder that says of which conversation the context was compacted, with no call since.
const COMPACTED: &str = ".compacted";

/// Where a client works: its folder, and the conversation, by the id that the client has for it.
#[derive(Clone, Debug)]
pub struct Place {
    pub folder: Option<Binding>,
    pub client: Option<Binding>,
    /// The client's process, where that is known.
    pub process: Option<u32>,
    /// Since when a server works for it.
    pub since: SystemTime,
}

impl Place {
    /// A place. The folder is one however its path is spelt, as long as it is there; one whose path is not Unicode is none.
    pub fn new(folder: Option<&Path>, client: Option<&str>) -> Self {
        let folder = folder.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.components().collect()));
        Self {
            folder: folder.and_then(|path| path.into_os_string().into_string().ok()).map(Binding::Folder),
            client: client.filter(|id| !id.is_empty()).map(|id| Binding::Client(id.to_owned())),
            process: None,
            since: SystemTime::now(),
        }
    }

    /// The folder, and those above it, the nearest first.
    pub fn folders(&self) -> Vec<Binding> {
        let folder = self.folder.iter().flat_map(|folder| Path::new(folder.value()).ancestors());
        folder.map(|path| Binding::Folder(path.to_string_lossy().into_owned())).collect()
    }
}

impl Sessions {
    /// What a session is bound to that is made or resumed at a place. Where the client has gone on to another conversation than
    /// the one that its server was started for, that one is over.
    pub fn bindings(&self, place: &Place) -> Vec<Binding> {
        let conversation = self.noted(place).or_else(|| place.client.clone());
        place.folder.iter().cloned().chain(conversation).collect()
    }

    /// The unfinished session of the conversation at a place, and what a list says of it.
    pub fn continued(&self, place: &Place) -> Option<(SessionName, Summary)> {
        let conversations = self.noted(place).into_iter().chain(place.client.clone());
        conversations.into_iter().find_map(|client| self.unfinished(&client, &[]))
    }

    /// Puts a session into the lists of what it is bound to, as far as it is not there; all are tried.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` of the first that fails, or `DATABASE_ERROR` where the call is in haste and it takes long.
    pub fn list_at(&self, name: &SessionName, bindings: &[Binding]) -> Result<(), Error> {
        let mut failed = None;
        for binding in bindings.iter().filter(|binding| !is_listed(&self.root, binding, name)) {
            waiting::takes_long()?;
            failed = failed.or(add(&self.root, binding, name).err());
        }
        failed.map_or(Ok(()), |error| Err(Error::file("write below", &self.root, &error)))
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

    /// Notes that the context of a conversation was compacted that works in a session.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR`.
    pub fn note_compaction(&self, name: &SessionName, conversation: &Binding) -> Result<(), Error> {
        let mark = self.path(name).join(COMPACTED);
        private_mark(&mark)
            .and_then(|()| fs::write(&mark, conversation.value()))
            .map_err(|error| Error::file("write", &mark, &error))
    }

    /// Whether no call has come for a session since the conversation was compacted.
    pub fn is_unasked(&self, name: &SessionName, conversation: &Binding) -> bool {
        fs::read_to_string(self.path(name).join(COMPACTED)).is_ok_and(|id| id == conversation.value())
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
fn add(root: &Path, binding: &Binding, name: &SessionName) -> io::Result<()> {
    let folder = list(root, binding);
    private_folders(&folder)?;
    step("list", || private_mark(&folder.join(name.as_str())))?;
    // By whether a plan is open in it, and by its last use; a session that is gone comes first.
    let weight = |path: &Path| {
        let session = path.file_name().map(|name| root.join(name)).unwrap_or_default();
        let open = fs::read_dir(session.join(PLANS)).is_ok_and(|mut plans| plans.next().is_some());
        (open, last_use(&session))
    };
    shorten(&folder, name.as_str(), MOST, weight);
    sync_folder(&folder)
}

/// Takes out of a folder what is too much: what has the least weight, but never `newest`. Others may be at it as well.
pub fn shorten<W: Ord>(folder: &Path, newest: &str, most: usize, weight: impl Fn(&Path) -> W) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut others: Vec<PathBuf> =
        entries.filter(|entry| entry.file_name() != newest).map(|entry| entry.path()).collect();
    let surplus = (others.len() + 1).saturating_sub(most);
    if surplus > 0 {
        others.sort_by_cached_key(|path| weight(path));
        for path in others.iter().take(surplus) {
            // Where it stays, the list is longer.
            let _ = fs::remove_file(path);
        }
    }
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_list_holds_so_many_sessions_and_keeps_those_with_open_plans_and_those_used_last() {
        let root = tempfile::tempdir().unwrap();
        let binding = Binding::Folder("/app".to_owned());
        let names: Vec<SessionName> = (0..MOST + 10).map(|at| name(&format!("a-b-{}", "c".repeat(at + 1)))).collect();
        // The first has an open plan; of the others each was used later than the one before; the second is gone.
        for (at, name) in names.iter().enumerate() {
            let plans = root.path().join(name.as_str()).join(PLANS);
            if at != 1 {
                fs::create_dir_all(&plans).unwrap();
                fs::write(root.path().join(name.as_str()).join("session.db"), "x").unwrap();
            }
            if at == 0 {
                fs::write(plans.join("k7f3m.txt"), "x").unwrap();
            }
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(3_600 * (at as u64 + 1));
            for file in [Some(plans.clone()), plans.parent().map(|folder| folder.join("session.db"))] {
                let _ = fs::File::open(file.unwrap()).and_then(|file| file.set_modified(then));
            }
            add(root.path(), &binding, name).unwrap();
        }
        let kept = |name: &SessionName| is_listed(root.path(), &binding, name);
        let expected: Vec<bool> = (0..names.len()).map(|at| at == 0 || at > names.len() - MOST).collect();
        assert_eq!(names.iter().map(kept).collect::<Vec<_>>(), expected);
        assert!(!is_listed(root.path(), &Binding::Client("/app".to_owned()), &names[0]));
        let listed = listed(root.path(), &binding);
        assert_eq!((listed.len(), listed.first(), listed.last()), (MOST, names.last(), names.first()));
        // One that comes again stays, however little weight it has.
        add(root.path(), &binding, &names[1]).unwrap();
        assert!(kept(&names[1]));
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
