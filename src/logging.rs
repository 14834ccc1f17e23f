//! Log lines on standard error.
//!
//! Owns their form and the promise that writing them never holds up a call: a client that does not read standard error
//! loses lines, not answers. Standard output is never written to.

use std::io::{self, IsTerminal, Write};
use std::iter;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, Thread};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogLevel;

/// How many lines may wait for a reader of standard error; further ones are dropped.
const WAITING_LINES: usize = 1_024;

/// How long the end of the process waits for the lines that are still to be written.
const FLUSH: Duration = Duration::from_millis(200);

/// How long the thread that writes rests after it has written. To wake it takes a caller longer than to hand a line over, so
/// that lines that come close together wake it once.
const REST: Duration = Duration::from_millis(5);

/// Keeps the log going; dropped, it writes what is waiting, as long as that does not take long.
pub struct Logging {
    lines: SyncSender<Vec<u8>>,
    done: Receiver<()>,
    thread: Thread,
}

/// Starts logging at `level`: lines for a person where standard error is a terminal, JSON elsewhere. `colour` says whether
/// the person wants any.
///
/// # Errors
///
/// Where the thread that writes cannot be started.
pub fn start(level: LogLevel, colour: bool) -> io::Result<Logging> {
    let (lines, waiting) = sync_channel::<Vec<u8>>(WAITING_LINES);
    let (finished, done) = sync_channel(1);
    let thread = thread::Builder::new().name("log".to_owned()).spawn(move || {
        while let Ok(first) = waiting.recv() {
            let lines: Vec<Vec<u8>> = iter::once(first).chain(waiting.try_iter().take(WAITING_LINES)).collect();
            let ended = lines.iter().any(Vec::is_empty);
            if io::stderr().write_all(&lines.concat()).is_err() || ended {
                break;
            }
            thread::park_timeout(REST);
        }
        let _ = finished.try_send(());
    })?;
    let writer = Lines(lines.clone());
    let (ours, library) = match level {
        // The library's own debugging is about the protocol, and repeats every message.
        LogLevel::Debug => (LevelFilter::DEBUG, LevelFilter::INFO),
        LogLevel::Info => (LevelFilter::INFO, LevelFilter::ERROR),
        LogLevel::Warn => (LevelFilter::WARN, LevelFilter::ERROR),
        LogLevel::Error => (LevelFilter::ERROR, LevelFilter::ERROR),
    };
    let filter = Targets::new().with_default(ours).with_target("rmcp", library);
    let registry = tracing_subscriber::registry().with(filter);
    if io::stderr().is_terminal() {
        registry.with(tracing_subscriber::fmt::layer().with_ansi(colour).with_writer(writer)).init();
    } else {
        registry.with(tracing_subscriber::fmt::layer().json().with_span_list(false).with_writer(writer)).init();
    }
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "panicked")));
    Ok(Logging { lines, done, thread: thread.thread().clone() })
}

impl Drop for Logging {
    fn drop(&mut self) {
        // The subscriber holds the other end for ever, so that an empty line stands for the end.
        if self.lines.try_send(Vec::new()).is_ok() {
            self.thread.unpark();
            let _ = self.done.recv_timeout(FLUSH);
        }
    }
}

/// Hands each line to the thread that writes.
#[derive(Clone)]
struct Lines(SyncSender<Vec<u8>>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self.0.try_send(line.to_vec()) {
            // A full queue: nobody reads standard error. A gone thread: it is closed.
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Ok(line.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
