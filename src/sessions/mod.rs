//! The sessions root: making, finding, opening and listing sessions.
//!
//! Owns the folder of a session as a whole and the set of open stores. Knows nothing of what is in a session, of tools or
//! of who is connected. A session is made under a hidden name and gets its own when it is whole.

mod conversations;
mod folders;
mod listing;
mod open;
mod places;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use folders::{Standing, mark_use, mend_rights, private_folder, private_folders, remove_unfinished, taken};
pub use listing::Survey;
pub use open::SharedStore;
use open::{Open, OpenSessions, is_idle};
pub use places::Place;

use crate::error::Error;
use crate::files::{FOLDER_NAME as PLANS, PlanFiles, sync_folder};
use crate::ids::IdGenerator;
use crate::plan::SessionName;
use crate::steps::step;
use crate::store::{Binding, SessionStore, SessionView, schema, waiting};

/// How long closing them may take when the process ends.
const LAST_CLOSES: Duration = Duration::from_millis(150);

/// All sessions below one root. Shared by every connection of the process.
pub struct Sessions {
    root: PathBuf,
    ids: Arc<dyn IdGenerator>,
    files: fn(PathBuf) -> Box<dyn PlanFiles>,
    open: Mutex<OpenSessions>,
}

impl Sessions {
    /// The sessions below `root`, an absolute path that need not exist yet. `files` makes the handler of a session's plan
    /// files from their folder.
    pub fn new(root: PathBuf, ids: Arc<dyn IdGenerator>, files: fn(PathBuf) -> Box<dyn PlanFiles>) -> Self {
        Self { root, ids, files, open: Mutex::default() }
    }

    /// The folder of all sessions.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a session is on disk.
    pub fn path(&self, name: &SessionName) -> PathBuf {
        self.root.join(name.as_str())
    }

    /// Whether there is a folder of this name, whatever state it is in.
    pub fn has(&self, name: &SessionName) -> bool {
        self.path(name).is_dir()
    }

    /// Makes a session under a name that no other process can have taken. `bound` is what it is bound to.
    ///
    /// # Errors
    ///
    /// `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`.
    pub fn create(&self, task: Option<&str>, bound: &[Binding]) -> Result<SessionName, Error> {
        waiting::takes_long()?;
        private_folders(&self.root).map_err(|error| Error::file("make", &self.root, &error))?;
        // As long as anybody makes a session, nobody takes it for one that was left unfinished.
        let _making = File::open(&self.root).and_then(|root| root.lock_shared().map(|()| root));
        let (name, hidden) = self.claim()?;
        let folder = self.path(&name);
        // What fails was never a session; the error says what went wrong.
        let failed = |left: &Path, error| {
            let _ = remove_unfinished(left);
            error
        };
        fill(&hidden, &name, task, bound).map_err(|error| failed(&hidden, error))?;
        step("name", || fs::rename(&hidden, &folder))
            .map_err(|error| failed(&hidden, Error::file("make", &folder, &error)))?;
        sync_folder(&self.root).map_err(|error| {
            // Nobody may come upon it while it is taken apart.
            let left = fs::rename(&folder, &hidden).map_or(&folder, |()| &hidden);
            failed(left, Error::file("make", &folder, &error))
        })?;
        if let Err(error) = self.list_at(&name, bound) {
            tracing::warn!(session = %name, %error, "the session will not be found by where it was made");
        }
        tracing::info!(session = %name, "session created");
        Ok(name)
    }

    /// Looks at a session without opening it for work.
    ///
    /// # Errors
    ///
    /// As [`Self::store`].
    pub fn view(&self, name: &SessionName) -> Result<SessionView, Error> {
        self.standing(name)?;
        let folder = self.path(name);
        SessionView::open(&folder.join(schema::FILE_NAME), (self.files)(folder.join(PLANS)))
    }

    /// A name that no other process can have taken, and the hidden folder that holds its place.
    fn claim(&self) -> Result<(SessionName, PathBuf), Error> {
        loop {
            let name = self.ids.session_name();
            let hidden = folders::hidden(&self.root, &name);
            match step("claim", || private_folder(&hidden)) {
                Ok(()) if !taken(&self.path(&name)) => return Ok((name, hidden)),
                Ok(()) => fs::remove_dir(&hidden).map_err(|error| Error::file("remove", &hidden, &error))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::file("make", &hidden, &error)),
            }
            tracing::warn!(session = %name, "the session name is taken, drawing again");
        }
    }

    /// The store of a session, opened if it is not yet.
    ///
    /// # Errors
    ///
    /// `SESSION_NOT_FOUND`, which suggests names that are close, `FILE_SYSTEM_ERROR` or `DATABASE_ERROR`.
    pub fn store(&self, name: &SessionName) -> Result<SharedStore, Error> {
        let folder = self.path(name);
        // Looked at in every call: what has taken the place of a folder or of a file would lead out of the root.
        let standing = self.standing(name)?;
        let plans = folder.join(PLANS);
        if !standing.has_plans() {
            waiting::takes_long()?;
            let made = private_folder(&plans).and_then(|()| sync_folder(&folder));
            made.map_err(|error| Error::file("make", &plans, &error))?;
        }
        let slot = self.open().slot(name);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = slot.as_mut()
            && session.goes_on(&standing)
        {
            return Ok(session.store.clone());
        }
        waiting::takes_long()?;
        // Somebody may have moved the session or its files away: opened again, it is what stands there now, put in order.
        *slot = None;
        mend_rights(&folder);
        let store = SessionStore::open(
            name.clone(),
            &folder.join(schema::FILE_NAME),
            (self.files)(plans),
            Arc::clone(&self.ids),
        )?;
        // Looked at again: opening it makes the log.
        let session = Open::new(store, folder, self.standing(name)?);
        let store = session.store.clone();
        *slot = Some(session);
        Ok(store)
    }

    /// Gives up an open session whose database has failed, so that the next call opens it anew, whatever is wrong by then.
    pub fn give_up(&self, name: &SessionName) {
        let given_up = self.open().slots.remove(name);
        // Not under the lock, which all sessions share.
        drop(given_up);
    }

    /// Closes what is open beyond the bound, as far as no call is using it.
    pub fn close_idle(&self) {
        let closed = self.open().surplus();
        // Not under the lock, which all sessions share.
        drop(closed);
    }

    /// Closes what no call is using, as far as there is time: the process is about to end.
    pub fn close_all(&self) {
        let start = Instant::now();
        for (_, slot) in std::mem::take(&mut self.open().slots).into_values() {
            if start.elapsed() < LAST_CLOSES && is_idle(&slot) {
                drop(slot);
            } else {
                // To drop it would take time.
                std::mem::forget(slot);
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says since when the call that this thread now works on counts as waiting for a database.
    pub fn wait_since(start: Instant) {
        waiting::wait_since(start);
    }

    /// Works on a call that gives up, with nothing changed, rather than to take long.
    pub fn in_haste<R>(work: impl FnOnce() -> R) -> R {
        waiting::in_haste(work)
    }

    /// Works on something for which a busy database is waited for a moment only.
    pub fn briefly<R>(work: impl FnOnce() -> R) -> R {
        waiting::briefly(work)
    }

    /// Gives up where the call that this thread works on is in haste, before what may take long.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR`.
    pub fn takes_long() -> Result<(), Error> {
        waiting::takes_long()
    }

    /// Whether the call that this thread works on gave up waiting for a database.
    pub fn waited_in_vain() -> bool {
        waiting::waited_in_vain()
    }

    /// Whether it gave up because it is in haste.
    pub fn gave_up_in_haste() -> bool {
        waiting::gave_up_in_haste()
    }

    /// From now on nobody in this process waits long for a database that another one holds: the process is about to end.
    pub fn stop_waiting() {
        waiting::stop_waiting();
    }

    /// Notes that a session is in use now, for the order in which sessions are listed.
    pub fn touch(&self, name: &SessionName) {
        mark_use(&self.path(name), SystemTime::now());
    }

    /// How the files of a session stand, where there is one.
    fn standing(&self, name: &SessionName) -> Result<Standing, Error> {
        Standing::of(&self.path(name))?.ok_or_else(|| self.unknown(name))
    }
}

/// Puts into the folder of a new session what belongs there.
fn fill(folder: &Path, name: &SessionName, task: Option<&str>, bound: &[Binding]) -> Result<(), Error> {
    let plans = folder.join(PLANS);
    step("make plans", || private_folder(&plans)).map_err(|error| Error::file("make", &plans, &error))?;
    schema::create(folder, name, task, bound)
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};
    use std::thread;

    use super::open::OPEN_AT_ONCE;
    use super::*;
    use crate::error::MissingSession;
    use crate::files::DiskPlanFiles;
    use crate::ids::RandomIds;
    use crate::ids::fakes::ScriptedIds;
    use crate::plan::PlanId;

    fn sessions(root: &Path, names: &[&'static str]) -> Sessions {
        let ids = ScriptedIds { names: Mutex::new(names.iter().copied().collect()), ..ScriptedIds::default() };
        Sessions::new(root.join("sessions"), Arc::new(ids), |folder| Box::new(DiskPlanFiles::new(folder)))
    }

    fn name(text: &str) -> SessionName {
        SessionName::parse(text).unwrap()
    }

    fn listed(sessions: &Sessions) -> Vec<String> {
        sessions.list(10).unwrap().sessions.into_iter().map(|(name, _)| name.to_string()).collect()
    }

    /// Makes it so that a session was last used some hours ago.
    fn age(sessions: &Sessions, name: &SessionName, hours: u64) {
        let then = SystemTime::now() - Duration::from_secs(hours * 3_600);
        for part in [schema::FILE_NAME, PLANS] {
            fs::File::open(sessions.path(name).join(part)).unwrap().set_modified(then).unwrap();
        }
    }

    #[test]
    fn a_name_that_is_taken_is_drawn_again() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-b-c", "a-b-c", "d-e-f"]);
        assert_eq!(sessions.create(None, &[]).unwrap(), name("a-b-c"));
        assert_eq!(sessions.create(None, &[]).unwrap(), name("d-e-f"));
        assert_eq!(fs::read_dir(root.path().join("sessions")).unwrap().count(), 2);
    }

    #[test]
    fn a_name_under_which_a_session_is_being_made_is_drawn_again() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sessions/.a-b-c.new")).unwrap();
        assert_eq!(sessions(root.path(), &["a-b-c", "d-e-f"]).create(None, &[]).unwrap(), name("d-e-f"));
    }

    /// Looks for sessions, as another process may, while a name is drawn.
    struct Prying(PathBuf);

    impl IdGenerator for Prying {
        fn session_name(&self) -> SessionName {
            assert_eq!(sessions(&self.0, &[]).by_last_use().unwrap(), []);
            name("a-a-a")
        }

        fn plan_id(&self, length: usize) -> PlanId {
            RandomIds.plan_id(length)
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_unfinished_is_left_alone_as_long_as_anybody_makes_a_session() {
        let root = tempfile::tempdir().unwrap();
        let unfinished = root.path().join("sessions/.b-b-b.new");
        fs::create_dir_all(&unfinished).unwrap();
        let other = root.path().join("sessions/.backup.new");
        fs::create_dir(&other).unwrap();
        let making = Sessions { ids: Arc::new(Prying(root.path().to_owned())), ..sessions(root.path(), &[]) };
        making.create(None, &[]).unwrap();
        assert!(unfinished.exists());
        assert_eq!(making.by_last_use().unwrap(), [name("a-a-a")]);
        assert!(!unfinished.exists() && other.exists());
    }

    #[test]
    fn what_is_left_of_a_session_is_no_session_that_is_missing() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &[]);
        for (left, content, is_one) in
            [("plans/aaaaa.txt", "", true), (schema::LOG_NAME, "x", true), (schema::LOG_NAME, "", false)]
        {
            let name = sessions.create(None, &[]).unwrap();
            fs::remove_file(sessions.path(&name).join(schema::FILE_NAME)).unwrap();
            fs::write(sessions.path(&name).join(left), content).unwrap();
            let missing = matches!(sessions.store(&name), Err(Error::SessionNotFound(_)));
            let listed = sessions.by_last_use().unwrap().contains(&name);
            assert_eq!((missing, listed), (!is_one, is_one), "{left} {content}");
        }
        fs::write(sessions.path(&name("a-file-instead")), "").unwrap();
        assert_eq!(sessions.by_last_use().unwrap().len(), 2);
    }

    #[test]
    fn a_folder_that_was_left_unfinished_is_removed_with_what_is_made_there_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".a-a-a.new");
        fs::create_dir_all(folder.join(PLANS)).unwrap();
        for name in [schema::FILE_NAME, "session.db-journal", "notes.md"] {
            fs::write(folder.join(name), "").unwrap();
        }
        assert!(remove_unfinished(&folder).is_err());
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["notes.md"]);
        fs::remove_file(folder.join("notes.md")).unwrap();
        remove_unfinished(&folder).unwrap();
        assert!(!folder.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_the_name_of_an_unfinished_session_leads_to_nothing_that_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a"]);
        let name = sessions.create(None, &[]).unwrap();
        std::os::unix::fs::symlink(sessions.path(&name), root.path().join("sessions/.b-b-b.new")).unwrap();
        sessions.by_last_use().unwrap();
        assert!(sessions.path(&name).join(schema::FILE_NAME).exists());
    }

    #[test]
    fn a_session_is_opened_once() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a"]);
        let name = sessions.create(None, &[]).unwrap();
        let store = sessions.store(&name).unwrap();
        assert!(Arc::ptr_eq(&store.0, &sessions.store(&name).unwrap().0));
    }

    #[test]
    fn listing_does_not_change_the_order_of_use_but_resuming_does() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a", "b-b-b", "c-c-c"]);
        for hours in 1..=3 {
            let name = sessions.create(None, &[]).unwrap();
            age(&sessions, &name, hours);
        }
        assert_eq!(listed(&sessions), ["a-a-a", "b-b-b", "c-c-c"]);
        assert_eq!(listed(&sessions), ["a-a-a", "b-b-b", "c-c-c"]);
        sessions.touch(&name("c-c-c"));
        assert_eq!(listed(&sessions), ["c-c-c", "a-a-a", "b-b-b"]);
    }

    #[test]
    fn closing_a_session_is_no_use_of_it() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a", "b-b-b", "c-c-c"]);
        let plan = crate::plan::Plan::default();
        let mut names = Vec::new();
        for hours in 1..=3 {
            let name = sessions.create(None, &[]).unwrap();
            sessions.store(&name).unwrap().lock().add(&plan, crate::plan::Position::Back, None).unwrap();
            mark_use(&sessions.path(&name), SystemTime::now() - Duration::from_secs(hours * 3_600));
            names.push(name);
        }
        let database = |name| fs::metadata(sessions.path(name).join(schema::FILE_NAME)).unwrap().modified().unwrap();
        for name in names.iter().rev() {
            let before = database(name);
            sessions.give_up(name);
            assert!(database(name) > before, "its log is written back");
        }
        assert_eq!(sessions.by_last_use().unwrap(), names);
    }

    #[test]
    fn an_empty_log_is_no_use_of_a_session() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a", "b-b-b"]);
        for hours in 1..=2 {
            let name = sessions.create(None, &[]).unwrap();
            age(&sessions, &name, hours);
        }
        let log = sessions.path(&name("b-b-b")).join(schema::LOG_NAME);
        fs::write(&log, "").unwrap();
        assert_eq!(sessions.by_last_use().unwrap(), [name("a-a-a"), name("b-b-b")]);
        fs::write(&log, "x").unwrap();
        assert_eq!(sessions.by_last_use().unwrap(), [name("b-b-b"), name("a-a-a")]);
    }

    #[test]
    fn a_session_that_cannot_be_made_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        // Too long for SQLite, not for the disk.
        let long = (0..5).fold(root.path().to_owned(), |path, _| path.join("long".repeat(30)));
        let sessions = sessions(&long, &["a-a-a"]);
        let error = sessions.create(None, &[]).unwrap_err();
        assert_eq!(error.category(), "FILE_SYSTEM_ERROR");
        assert!(error.suggestion("").contains("NINEPLAN_SESSIONS_PATH"), "{error}");
        assert_eq!(fs::read_dir(long.join("sessions")).unwrap().count(), 0);
    }

    #[test]
    fn a_path_is_refused_from_the_length_on_that_the_database_does_not_take() {
        let parent = tempfile::tempdir().unwrap();
        for (length, taken) in [(504, true), (505, false)] {
            // The database of a session that is being made has the longest path of all.
            let rest = length - parent.path().join("sessions/.a-a-a.new/session.db").as_os_str().len() - 2;
            let root = parent.path().join("x".repeat(rest / 2)).join("y".repeat(rest - rest / 2));
            let made = sessions(&root, &["a-a-a"]).create(None, &[]).map(drop).map_err(|error| error.category());
            assert_eq!(made, if taken { Ok(()) } else { Err("FILE_SYSTEM_ERROR") }, "{length}");
        }
    }

    #[test]
    fn listing_leaves_no_file_behind() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a"]);
        let name = sessions.create(None, &[]).unwrap();
        // Nor that of somebody who was killed.
        fs::write(sessions.path(&name).join(schema::LOG_NAME), "").unwrap();
        sessions.list(10).unwrap();
        let mut names: Vec<_> = fs::read_dir(sessions.path(&name)).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [PLANS, schema::FILE_NAME]);
    }

    #[test]
    fn a_session_put_in_the_place_of_an_open_one_is_the_one_that_is_used() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a", "b-b-b"]);
        let (one, other) = (sessions.create(Some("one"), &[]).unwrap(), sessions.create(Some("other"), &[]).unwrap());
        let task = |name| sessions.store(name).unwrap().lock().state().unwrap().task_description;
        assert_eq!(task(&one).as_deref(), Some("one"));
        fs::rename(sessions.path(&one), root.path().join("aside")).unwrap();
        fs::rename(sessions.path(&other), sessions.path(&one)).unwrap();
        assert_eq!(task(&one).as_deref(), Some("other"));
        assert!(matches!(sessions.store(&other), Err(Error::SessionNotFound(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_put_in_the_place_of_the_plans_of_an_open_session_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a"]);
        let name = sessions.create(None, &[]).unwrap();
        sessions.store(&name).unwrap();
        let (plans, outside) = (sessions.path(&name).join(PLANS), root.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        fs::rename(&plans, root.path().join("aside")).unwrap();
        std::os::unix::fs::symlink(&outside, &plans).unwrap();
        assert!(matches!(sessions.store(&name), Err(Error::FileSystem { .. })));

        fs::remove_file(&plans).unwrap();
        let store = sessions.store(&name).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::symlink_metadata(&plans).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(store.lock().audit().unwrap().issues, []);
    }

    #[test]
    fn only_so_many_sessions_stay_open_and_a_closed_one_opens_again() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &[]);
        let names: Vec<SessionName> = (0..=OPEN_AT_ONCE).map(|_| sessions.create(None, &[]).unwrap()).collect();
        for name in names.iter().chain(&names) {
            sessions.store(name).unwrap();
            sessions.close_idle();
            assert!(sessions.open.lock().unwrap().slots.len() <= OPEN_AT_ONCE);
        }
        // One that is in use stays, so that nobody else opens it a second time.
        let used = sessions.store(&names[0]).unwrap();
        for name in &names {
            sessions.store(name).unwrap();
            sessions.close_idle();
        }
        assert!(Arc::ptr_eq(&used.0, &sessions.store(&names[0]).unwrap().0));
    }

    #[test]
    fn the_session_that_was_not_used_for_longest_is_closed_first() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &[]);
        let names: Vec<SessionName> = (0..=OPEN_AT_ONCE).map(|_| sessions.create(None, &[]).unwrap()).collect();
        for name in &names[..OPEN_AT_ONCE] {
            sessions.store(name).unwrap();
        }
        sessions.store(&names[0]).unwrap();
        sessions.store(&names[OPEN_AT_ONCE]).unwrap();
        sessions.close_idle();
        let open = sessions.open.lock().unwrap();
        let closed: Vec<&SessionName> = names.iter().filter(|name| !open.slots.contains_key(name)).collect();
        assert_eq!(closed, [&names[1]]);
    }

    #[test]
    fn the_end_waits_for_no_call() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &[]);
        let [one, other] = [(); 2].map(|()| sessions.store(&sessions.create(None, &[]).unwrap()).unwrap());
        let used = other.lock();
        drop(one);
        sessions.close_all();
        drop(used);
        assert!(sessions.open.lock().unwrap().slots.is_empty());
    }

    #[test]
    fn a_session_that_is_just_asked_for_is_not_closed() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &[]);
        let names: Vec<SessionName> = (0..=OPEN_AT_ONCE).map(|_| sessions.create(None, &[]).unwrap()).collect();
        let mut open = sessions.open();
        let held = open.slot(&names[0]);
        for name in &names[1..] {
            open.slot(name);
        }
        drop(open.surplus());
        assert!(open.slots.contains_key(&names[0]) && !open.slots.contains_key(&names[1]));
        drop(held);
    }

    #[test]
    fn a_session_whose_plan_files_were_taken_away_is_put_in_order_when_it_is_used_next() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a"]);
        let name = sessions.create(None, &[]).unwrap();
        let plan = crate::plan::Plan { goal: "do it".to_owned(), ..Default::default() };
        let store = sessions.store(&name).unwrap();
        let path = store.lock().add(&plan, crate::plan::Position::Back, None).unwrap().path;
        drop(store);
        fs::remove_dir_all(sessions.path(&name).join(PLANS)).unwrap();
        sessions.store(&name).unwrap();
        assert!(path.is_file());
    }

    #[test]
    fn a_session_that_is_slow_to_open_holds_up_no_other() {
        static OPENING: Barrier = Barrier::new(2);
        let root = tempfile::tempdir().unwrap();
        let ids = ScriptedIds { names: Mutex::new(["a-a-a", "b-b-b"].into()), ..ScriptedIds::default() };
        let sessions = Arc::new(Sessions::new(root.path().to_owned(), Arc::new(ids), |folder| {
            if folder.parent().is_some_and(|session| session.ends_with("a-a-a")) {
                OPENING.wait();
                OPENING.wait();
            }
            Box::new(DiskPlanFiles::new(folder))
        }));
        let (slow, other) = (sessions.create(None, &[]).unwrap(), sessions.create(None, &[]).unwrap());
        let open = |name: SessionName| {
            let sessions = Arc::clone(&sessions);
            thread::spawn(move || sessions.store(&name).map(drop))
        };
        let slow = open(slow);
        OPENING.wait();
        let opened = open(other);
        let (done, waiting) = mpsc::channel();
        thread::spawn(move || done.send(opened.join().unwrap()));
        assert!(waiting.recv_timeout(Duration::from_secs(60)).expect("the other is open").is_ok());
        OPENING.wait();
        assert!(slow.join().unwrap().is_ok());
    }

    #[test]
    fn a_session_is_unfinished_until_all_that_was_added_is_done() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["a-a-a"]);
        let name = sessions.create(None, &[]).unwrap();
        assert!(sessions.is_unfinished(&name).unwrap());
        let store = sessions.store(&name).unwrap();
        let plan = crate::plan::Plan { goal: "do it".to_owned(), ..Default::default() };
        store.lock().add(&plan, crate::plan::Position::Back, None).unwrap();
        assert!(sessions.is_unfinished(&name).unwrap());
        store.lock().pull(None).unwrap();
        assert!(sessions.is_unfinished(&name).unwrap());
        store.lock().finish(crate::store::Ending::Discarded { reason: "no" }, None).unwrap();
        assert!(!sessions.is_unfinished(&name).unwrap());
    }

    #[test]
    fn names_that_are_close_are_suggested() {
        let root = tempfile::tempdir().unwrap();
        let sessions = sessions(root.path(), &["amber-quiet-river", "plain-other-thing"]);
        sessions.create(None, &[]).unwrap();
        sessions.create(None, &[]).unwrap();
        for (wanted, expected) in [
            ("amber-quite-river", vec![name("amber-quiet-river")]),
            ("amber-quiet-mountain", vec![name("amber-quiet-river")]),
            ("no-such-session", vec![]),
        ] {
            let Err(Error::SessionNotFound(MissingSession::Unknown { close, .. })) = sessions.store(&name(wanted))
            else {
                panic!("{wanted} exists");
            };
            assert_eq!(close, expected, "{wanted}");
        }
    }
}
