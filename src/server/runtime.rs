//! What both transports run on, and how they are told to end.
//!
//! Owns the threads and the signals. Knows nothing of what is served.

use std::io;

/// A runtime. One thread takes requests up, in the order in which they come; what may take long is done on others.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// The signals by which the process is asked to end, caught from the moment that this is made.
#[cfg(unix)]
pub struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // A file that grows over the limit ends the process, unless somebody listens; then the write fails like any other.
        let _listening = signal(SignalKind::from_raw(libc::SIGXFSZ))?;
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Returns when there was one.
    pub async fn received(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The signal by which the process is asked to end, caught from the moment that this is made.
#[cfg(windows)]
pub struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    pub fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    /// Returns when there was one.
    pub async fn received(mut self) {
        self.0.recv().await;
    }
}
