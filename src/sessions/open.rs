//! The sessions that are open.
//!
//! Owns how many there are, and how each is closed. Knows nothing of what is in one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

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
        as_before && !self.store.lock().is_untidy()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // So that the database is whole without its log, whatever becomes of that.
        let now = Standing::of(&self.folder).ok().flatten();
        if now.is_some_and(|now| self.standing.lets_write_back(&now)) {
            self.store.lock().write_back();
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
        && free(slot).is_some_and(|open| open.as_ref().is_none_or(|session| Arc::strong_count(&session.store.0) == 1))
}

/// What is in a slot, unless somebody has it now.
fn free(slot: &Slot) -> Option<MutexGuard<'_, Option<Open>>> {
    match slot.try_lock() {
        Ok(open) => Some(open),
        Err(TryLockError::Poisoned(open)) => Some(open.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
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
