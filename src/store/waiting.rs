//! Waiting for a session's database while other processes change it.
//!
//! Owns how long a call waits, in which order those who wait are served, and that a call in haste does not wait at all. Knows
//! nothing of what is changed.

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::ffi;

use crate::error::Error;

/// How long a call waits for a busy database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of that is over for what nobody's work depends on.
const SPENT: Duration = Duration::from_millis(4_900);

/// The same when the process is about to end, for all that is under way together.
const LAST_BUSY_TIMEOUT: Duration = Duration::from_millis(250);

/// How long it is waited for all the same: where nothing is wrong, nobody has it for much longer.
const LEAST_BUSY_TIMEOUT: Duration = Duration::from_millis(3);

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// Since when the process is about to end. The library takes nothing but a plain function to ask whether to try again, so
/// that what the function goes by has to stand here.
static ENDING: OnceLock<Instant> = OnceLock::new();

/// How long the call that a thread works on may wait.
#[derive(Clone, Copy)]
enum Patience {
    /// There is no call.
    Uncounted,
    /// It counts as waiting since then.
    Since(Instant),
    /// Not at all, and it must do nothing else that may take long.
    Haste,
}

thread_local! {
    static PATIENCE: Cell<Patience> = const { Cell::new(Patience::Uncounted) };
    /// Whether it gave up.
    static GAVE_UP: Cell<bool> = const { Cell::new(false) };
}

/// How many threads of the process may stand in line, and how many do.
const MOST_IN_LINE: usize = 32;
static IN_LINE: AtomicUsize = AtomicUsize::new(0);

/// From now on a busy database is not waited for much longer, since the process is about to end: what is under way fails
/// in good time, with nothing changed.
pub fn stop_waiting() {
    ENDING.get_or_init(Instant::now);
}

/// Says since when the call that this thread now works on counts as waiting for a busy database.
pub fn wait_since(start: Instant) {
    PATIENCE.set(Patience::Since(start));
    GAVE_UP.set(false);
}

/// Works on a call in haste: it gives up where it would have to wait, or do what may take long, since others wait for the
/// thread.
pub fn in_haste<R>(work: impl FnOnce() -> R) -> R {
    PATIENCE.set(Patience::Haste);
    GAVE_UP.set(false);
    let done = work();
    PATIENCE.set(Patience::Uncounted);
    GAVE_UP.set(false);
    done
}

/// Works on something that is tried for a moment only, within a call or outside. That it gave up says nothing of the call.
pub fn briefly<R>(work: impl FnOnce() -> R) -> R {
    let (patience, gave_up) = (PATIENCE.get(), GAVE_UP.get());
    let now = Instant::now();
    PATIENCE.set(Patience::Since(now.checked_sub(SPENT).unwrap_or(now)));
    let done = work();
    PATIENCE.set(patience);
    GAVE_UP.set(gave_up);
    done
}

/// Gives up where the call is in haste, before something that may take long.
///
/// # Errors
///
/// `DATABASE_ERROR`, as where the database is busy.
pub fn takes_long() -> Result<(), Error> {
    if !matches!(PATIENCE.get(), Patience::Haste) {
        return Ok(());
    }
    GAVE_UP.set(true);
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None).into())
}

/// Whether the call that this thread works on gave up waiting.
pub fn waited_in_vain() -> bool {
    GAVE_UP.get()
}

/// Whether it did because it was in haste.
pub fn gave_up_in_haste() -> bool {
    GAVE_UP.get() && matches!(PATIENCE.get(), Patience::Haste)
}

/// Waits while somebody else has the database; false where that is to be reported.
pub fn wait(tries: i32) -> bool {
    if takes_long().is_err() {
        return false;
    }
    let tries = u32::try_from(tries).unwrap_or_default();
    let step = |tries: u32| Duration::from_millis(tries.into()).min(LONGEST_PAUSE);
    let waited: Duration = (1..=tries).map(step).sum();
    if is_patient(waited) || waited < LEAST_BUSY_TIMEOUT {
        thread::sleep(step(tries + 1));
        return true;
    }
    GAVE_UP.set(true);
    false
}

/// Whether there is time left to wait for a busy database; `waited` counts outside of a call.
fn is_patient(waited: Duration) -> bool {
    match (ENDING.get(), PATIENCE.get()) {
        // It has given up before it gets here.
        (_, Patience::Haste) => false,
        (Some(since), _) => since.elapsed() < LAST_BUSY_TIMEOUT,
        (None, Patience::Since(start)) => start.elapsed() < BUSY_TIMEOUT,
        (None, Patience::Uncounted) => waited < BUSY_TIMEOUT,
    }
}

/// A place at the head of the line before a session's database. It is the next one's when this is dropped.
pub struct Place {
    _folder: File,
}

/// Waits in line for a turn to change a session, for as long as the call may wait. SQLite gives its lock to whoever happens
/// to try when it is free, so that among many busy processes somebody may be passed over for seconds; the system gives the
/// lock of `folder`, the session's, in the order of asking.
///
/// It is a courtesy, and SQLite's own lock is what counts: where there is no such lock (on Windows, and on some network
/// drives), or the wait was in vain, the database is tried all the same.
///
/// # Errors
///
/// `DATABASE_ERROR` where the call is in haste and somebody is before it.
pub fn stand_in_line(folder: &Path) -> Result<Option<Place>, Error> {
    let Ok(folder) = File::open(folder) else { return Ok(None) };
    match folder.try_lock() {
        Ok(()) => return Ok(Some(Place { _folder: folder })),
        Err(TryLockError::Error(_)) => return Ok(None),
        Err(TryLockError::WouldBlock) => takes_long()?,
    }
    Ok(wait_in_line(folder))
}

fn wait_in_line(folder: File) -> Option<Place> {
    // The system waits without end; nobody must wait with it where the one at the head has stopped.
    let (sender, turn) = channel();
    let standing = move || {
        let locked = folder.lock();
        IN_LINE.fetch_sub(1, Ordering::Relaxed);
        if locked.is_ok() {
            // Where nobody waits any more, this lets it go.
            let _ = sender.send(Place { _folder: folder });
        }
    };
    let full = IN_LINE.fetch_add(1, Ordering::Relaxed) >= MOST_IN_LINE;
    if full || thread::Builder::new().spawn(standing).is_err() {
        IN_LINE.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    let start = Instant::now();
    while is_patient(start.elapsed()) {
        match turn.recv_timeout(LONGEST_PAUSE) {
            Ok(place) => return Some(place),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_waited_in_as_long_as_the_call_may_take() {
        let folder = tempfile::tempdir().unwrap();
        let line = || stand_in_line(folder.path()).unwrap();
        let first = line();
        // On a system without such a lock there is no line.
        assert_eq!(first.is_some(), cfg!(unix));
        wait_since(Instant::now().checked_sub(BUSY_TIMEOUT).unwrap());
        assert!(line().is_none());
        wait_since(Instant::now());
        drop(first);
        assert_eq!(line().is_some(), cfg!(unix));
        PATIENCE.set(Patience::Uncounted);
    }

    #[test]
    fn a_call_in_haste_gives_up_rather_than_to_wait() {
        let folder = tempfile::tempdir().unwrap();
        let line = || stand_in_line(folder.path());
        assert!(takes_long().is_ok());
        let first = in_haste(|| {
            let first = line().unwrap();
            assert!(!gave_up_in_haste());
            first
        });
        in_haste(|| assert_eq!((line().is_err(), gave_up_in_haste()), (first.is_some(), first.is_some())));
        in_haste(|| assert!(!wait(0) && gave_up_in_haste()));
        in_haste(|| assert!(takes_long().is_err() && gave_up_in_haste()));
        assert!(takes_long().is_ok() && !gave_up_in_haste());
    }

    #[test]
    fn what_is_tried_briefly_says_nothing_of_the_call() {
        in_haste(|| {
            briefly(|| assert!(takes_long().is_ok() && wait(0)));
            assert!(!gave_up_in_haste() && takes_long().is_err());
            briefly(|| assert!(takes_long().is_ok()));
            assert!(gave_up_in_haste());
        });
        // What is left of its time is over at some time, however often it tries.
        briefly(|| {
            let start = Instant::now();
            while wait(LONGEST_PAUSE.as_millis().try_into().unwrap()) {
                assert!(start.elapsed() < BUSY_TIMEOUT);
            }
        });
        assert!(!waited_in_vain());
    }

    #[cfg(unix)]
    #[test]
    fn a_line_has_a_bound_and_moves_on_however_long_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let line = || stand_in_line(folder.path()).unwrap();
        let mut place = line();
        wait_since(Instant::now().checked_sub(BUSY_TIMEOUT).unwrap());
        // Who waits in vain is passed over only when it is their turn.
        for _ in 0..3 * MOST_IN_LINE {
            assert!(line().is_none());
        }
        let in_line = || IN_LINE.load(Ordering::Relaxed);
        // Other tests come by, and count for a moment before they are turned away.
        assert!(in_line() < 2 * MOST_IN_LINE);
        drop(place.take());
        let start = Instant::now();
        while in_line() > 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "{} are still in line", in_line());
            thread::yield_now();
        }
        wait_since(start);
        place = line();
        for _ in 0..=MOST_IN_LINE {
            place = thread::scope(|scope| {
                let next = scope.spawn(line);
                while in_line() == 0 && !next.is_finished() {
                    thread::yield_now();
                }
                drop(place.take());
                next.join().unwrap()
            });
            assert!(place.is_some());
        }
    }

    #[test]
    fn a_busy_database_is_waited_for_as_long_as_the_call_may_take() {
        let age = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        wait_since(age(0));
        assert!(wait(0) && wait(100), "as long as there is time");
        assert!(!waited_in_vain());
        wait_since(age(5));
        // However long it waited for its turn, it tries more than once.
        assert!(wait(0) && wait(1) && !waited_in_vain());
        assert!(!wait(2) && waited_in_vain() && !wait(100));
        wait_since(age(0));
        assert!(!waited_in_vain());
        // Without a call the pauses are counted: 5 seconds of them.
        PATIENCE.set(Patience::Uncounted);
        assert!(wait(24) && !wait(1_000));
        assert!(!wait(212) && wait(211));
    }
}
