//! Which conversation a client's process is at.
//!
//! Owns the notes that hooks leave for servers. A client that clears a conversation, or resumes another one, goes on under
//! another id, while its servers have the environment that they were started with. Its hooks are told the id and the process
//! of the client; to its servers that process is their parent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Sessions;
use super::folders::{private_folders, private_mark};
use super::places::{LISTS, Place, shorten};
use crate::store::Binding;

/// The name of the folder of the notes, a file for each process.
const FOLDER_NAME: &str = "processes";

/// How many notes there are at most.
const MOST: usize = 32;

/// How much earlier than its servers a client calls its hooks, at most.
const BEFORE: Duration = Duration::from_secs(10);

impl Sessions {
    /// Notes that a client's process is now at the conversation of a place. A process that has just been started needs no
    /// note: one that is there is of another process, which had the same number.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
    pub fn note_conversation(&self, process: u32, place: Option<&Place>) -> io::Result<()> {
        let note = note(&self.root, process);
        let (Some(folder), true) = (note.parent(), self.root.is_dir()) else { return Ok(()) };
        let said = place.and_then(|place| Some((place.client.as_ref()?.value(), place.folder.as_ref()?.value())));
        let Some((client, working_folder)) = said else {
            return match fs::remove_file(&note) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        };
        private_folders(folder)?;
        private_mark(&note)?;
        fs::write(&note, format!("{client}\n{working_folder}"))?;
        let written = |path: &Path| fs::metadata(path).and_then(|note| note.modified()).ok();
        shorten(folder, &process.to_string(), MOST, written);
        Ok(())
    }

    /// The conversation that the client is at which started the server at a place, where a hook has noted one.
    pub(super) fn noted(&self, place: &Place) -> Option<Binding> {
        let note = note(&self.root, place.process?);
        let text = fs::read_to_string(&note).ok()?;
        // One from long before the server was started is of another process, which had the same number.
        if fs::metadata(&note).ok()?.modified().ok()? + BEFORE < place.since {
            return None;
        }
        let (client, folder) = text.split_once('\n')?;
        (place.folder.as_ref()?.value() == folder).then(|| Binding::Client(client.to_owned()))
    }
}

fn note(root: &Path, process: u32) -> PathBuf {
    root.join(LISTS).join(FOLDER_NAME).join(process.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::files::DiskPlanFiles;
    use crate::ids::RandomIds;

    #[test]
    fn a_note_is_for_one_process_in_one_folder_and_not_for_one_that_came_long_after() {
        let root = tempfile::tempdir().unwrap();
        let sessions =
            Sessions::new(root.path().to_owned(), Arc::new(RandomIds), |folder| Box::new(DiskPlanFiles::new(folder)));
        let place =
            |folder: &str, process| Place { process: Some(process), ..Place::new(Some(Path::new(folder)), None) };
        let noted = Place::new(Some(Path::new("/no/app")), Some("two"));
        sessions.note_conversation(7, Some(&noted)).unwrap();
        let expected = Some(Binding::Client("two".to_owned()));
        assert_eq!(sessions.noted(&place("/no/app", 7)), expected);
        assert_eq!(sessions.noted(&place("/no/other", 7)), None);
        assert_eq!(sessions.noted(&place("/no/app", 8)), None);
        // A server of a later process with the same number.
        let mut later = place("/no/app", 7);
        later.since += Duration::from_secs(3_600);
        assert_eq!(sessions.noted(&later), None);
        // One that was started before, however long ago, is told of what happens now.
        later.since -= Duration::from_secs(7_200);
        assert_eq!(sessions.noted(&later), expected);
        sessions.note_conversation(7, None).unwrap();
        assert_eq!(sessions.noted(&place("/no/app", 7)), None);
    }
}
