//! Where clients work, and which sessions to look at for that.
//!
//! Owns how a folder's name is spelt, and the lists beside the sessions that spare a search through all of them: a folder for
//! each folder and each conversation, and in it an empty file for each session. A list is a hint only. What a session is
//! bound to stands in its database.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::folders::{last_use, private_folders};
use crate::files::sync_folder;
use crate::plan::SessionName;
use crate::store::Binding;

/// The name of the folder of all lists, beside the sessions.
const FOLDER_NAME: &str = ".bindings";

/// How many sessions a list holds; a further one takes the place of the one that was bound first.
const MOST: usize = 32;

/// Where a client works: its folder, and the conversation, by the id that the client has for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub folder: Option<Binding>,
    pub client: Option<Binding>,
}

impl Place {
    /// A place. The folder is one however its path is spelt, as long as it is there.
    pub fn new(folder: Option<&Path>, client: Option<&str>) -> Self {
        let folder = folder.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.components().collect()));
        Self {
            folder: folder.map(|path| Binding::Folder(path.to_string_lossy().into_owned())),
            client: client.map(|id| Binding::Client(id.to_owned())),
        }
    }

    /// The folder, and those above it, the nearest first.
    pub fn folders(&self) -> Vec<Binding> {
        let folder = self.folder.as_ref().map(Binding::value).unwrap_or_default();
        Path::new(folder).ancestors().map(|path| Binding::Folder(path.to_string_lossy().into_owned())).collect()
    }

    /// What a session is bound to that is made or resumed here.
    pub fn bindings(&self) -> Vec<Binding> {
        self.folder.iter().chain(&self.client).cloned().collect()
    }
}

/// The sessions that may be bound so, newest use first.
pub fn listed(root: &Path, binding: &Binding) -> Vec<SessionName> {
    // Where there is no list, nothing was ever bound.
    let names = fs::read_dir(list(root, binding)).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| SessionName::exact(&entry.file_name().to_string_lossy()));
    let mut found: Vec<_> =
        names.filter_map(|name| Some((last_use(&root.join(name.as_str()))?, name))).collect();
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
    File::create(folder.join(name.as_str()))?;
    shorten(&folder)?;
    sync_folder(&folder)
}

/// Takes out of a list what is too much.
fn shorten(folder: &Path) -> io::Result<()> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        entries.push((entry.metadata()?.modified()?, entry.path()));
    }
    entries.sort();
    let surplus = entries.len().saturating_sub(MOST);
    entries.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
}

/// The folder of a list. Its name is short, whatever is bound to: FNV-1a over the kind and the value. Where two have the same
/// one, the sessions' databases tell them apart.
fn list(root: &Path, binding: &Binding) -> PathBuf {
    let bytes = binding.kind().bytes().chain([0]).chain(binding.value().bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    root.join(FOLDER_NAME).join(format!("{hash:016x}"))
}
