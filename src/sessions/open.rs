//! The sessions that are open.
//!
//! Owns how many there are, and how each is closed. Knows nothing of what is in one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::folders::Standing;
use crate::plan::SessionName;
use crate::store::SessionStore;

/// How many sessions stay open at once; a further one takes the place of the one that was not used for longest.
pub const OPEN_AT_ONCE: usize = 32;

/// The sessions that are open, each with the number of the request that last asked for it.
#[derive(Default)]
pub struct OpenSessions {
    pub slots: HashMap<SessionName, (u64, Slot)>,
    requests: u64,
}

/// Where a session is while it is open. Who opens it holds the lock, so that it is opened once and only those wait who want
/// the same one.
pub type Slot = Arc<Mutex<Option<Open>>>;

/// An open session, and how its files stood when a call last asked for it.
pub struct Open {
    pub store: SharedStore,
    folder: PathBuf,
    standing: Standing,
}

impl Open {
    pub fn new(store: SessionStore, folder: PathBuf, standing: Standing) -> Self {
        Self { store: SharedStore(Arc::new(Mutex::new(store))), folder, standing }
    }

    /// Whether a call can go on with it, now that its files stand so.
    pub fn goes_on(&mut self, now: &Standing) -> bool {
        let as_before = self.standing.same_files(now);
        if as_before {
            self.standing = now.clone();
        }
        // Nobody else has the store where it is not free: calls about one session are made one after the other.
        as_before && !self.store.0.try_lock().is_ok_and(|store| store.is_untidy())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // What nobody has touched may be closed by SQLite as it likes.
        let now = Standing::of(&self.folder).ok().flatten();
        let same_files = now.as_ref().is_some_and(|now| self.standing.same_files(now));
        let same_content = now.is_some_and(|now| self.standing.same_content(&now));
        if !same_content {
            // Another process may just have written its log back. Or the database was spoiled, or replaced in its place.
            self.store.lock().leave_log();
        } else if !same_files {
            // Whoever has moved or removed the log did not mean to lose what is in it.
            self.store.lock().save_log();
        }
    }
}

impl OpenSessions {
    /// The slot of a session.
    pub fn slot(&mut self, name: &SessionName) -> Slot {
        self.requests += 1;
        let (asked, slot) = self.slots.entry(name.clone()).or_default();
        *asked = self.requests;
        Arc::clone(slot)
    }

    /// Takes out what is open beyond the bound: the sessions not asked for longest, as far as no call is using them. They
    /// close when they are dropped, which takes time.
    pub fn surplus(&mut self) -> Vec<Slot> {
        let mut closed = Vec::new();
        while self.slots.len() > OPEN_AT_ONCE {
            let idle = self.slots.iter().filter(|(_, (_, slot))| is_idle(slot)).min_by_key(|(_, (asked, _))| *asked);
            let Some(idle) = idle.map(|(name, _)| name.clone()) else { break };
            closed.extend(self.slots.remove(&idle).map(|(_, slot)| slot));
        }
        closed
    }
}

/// Whether no call is using a session or opening it.
pub fn is_idle(slot: &Slot) -> bool {
    Arc::strong_count(slot) == 1
        && slot
            .try_lock()
            .is_ok_and(|open| open.as_ref().is_none_or(|session| Arc::strong_count(&session.store.0) == 1))
}

/// A store that several connections use in turn.
#[derive(Clone)]
pub struct SharedStore(pub(super) Arc<Mutex<SessionStore>>);

impl SharedStore {
    /// The store, when its turn has come. A call that panicked has had its transaction rolled back, so that the store is
    /// as good as before.
    pub fn lock(&self) -> MutexGuard<'_, SessionStore> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
