//! The steps by which the disk is changed, and the instants between them at which a process can die.
//!
//! Owns the instants: each step has one before it and one after it. A test asks which of them a call passes, and has the
//! process end at any of them. Knows nothing of what a step does. In a release a step is what it does, and nothing else.

#[cfg(debug_assertions)]
pub use watched::{step, watch};

/// Does a step of a change to the disk.
#[cfg(not(debug_assertions))]
pub fn step<T>(_name: &'static str, does: impl FnOnce() -> T) -> T {
    does()
}

#[cfg(debug_assertions)]
mod watched {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// The instants that were passed since somebody watches, and the one at which the process is to die.
    struct Watch {
        passed: Vec<String>,
        die_at: Option<usize>,
    }

    /// One for the process: what dies is the process. Nobody watches unless a test asks for it.
    static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

    /// Does a step of a change to the disk, and dies before or after it where that was asked for.
    pub fn step<T>(name: &'static str, does: impl FnOnce() -> T) -> T {
        pass("before", name);
        let done = does();
        pass("after", name);
        done
    }

    /// Watches from now on. The process dies at the instant with this number, counted from 0, if one is given. Gives the
    /// instants that were passed since this was last called.
    pub fn watch(die_at: Option<usize>) -> Vec<String> {
        let watch = Watch { passed: Vec::new(), die_at };
        locked().replace(watch).map(|before| before.passed).unwrap_or_default()
    }

    fn pass(when: &str, step: &str) {
        if let Some(watch) = locked().as_mut() {
            if watch.die_at == Some(watch.passed.len()) {
                std::process::abort();
            }
            watch.passed.push(format!("{when} {step}"));
        }
    }

    fn locked() -> MutexGuard<'static, Option<Watch>> {
        WATCH.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
