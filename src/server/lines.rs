//! Lines over standard input and output.
//!
//! Owns where a line ends, how long one may be, and that lines go out whole and in their order. Knows nothing of what is
//! in them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::skim::Skim;

/// How many lines are written together at most.
const TOGETHER: usize = 64;

/// How many bytes are written in one go: often enough to see whether anybody reads.
const PIECE: usize = 16 * 1024;

/// The lines that come in.
pub struct Input<R> {
    reader: BufReader<R>,
    /// The longest line that is given whole, in bytes.
    longest: usize,
    /// What there is of the line so far.
    line: Vec<u8>,
    /// What there is of it in short, where it is too long.
    long: Option<Skim>,
}

/// A line, without its end.
pub enum Line {
    Whole(Vec<u8>),
    TooLong(Skim),
}

impl<R: AsyncRead + Unpin> Input<R> {
    /// Lines of up to `longest` bytes, and longer ones in short.
    pub fn new(reader: R, longest: usize) -> Self {
        Self { reader: BufReader::new(reader), longest, line: Vec::new(), long: None }
    }

    /// The next line; none at the end of the input, which ends the last line too. Nothing is lost where this is dropped
    /// before it is done.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            let available = match self.reader.fill_buf().await {
                Ok(bytes) => bytes,
                Err(error) => {
                    tracing::error!(%error, "standard input cannot be read");
                    &[]
                }
            };
            if available.is_empty() {
                let nothing = self.line.is_empty() && self.long.is_none();
                return if nothing { None } else { Some(self.end_line()) };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let read = part.len() + usize::from(end.is_some());
            if let Some(skim) = &mut self.long {
                skim.read(part);
            } else if self.line.len() + part.len() > self.longest {
                let mut skim = Skim::default();
                skim.read(&std::mem::take(&mut self.line));
                skim.read(part);
                self.long = Some(skim);
            } else {
                self.line.extend_from_slice(part);
            }
            self.reader.consume(read);
            if end.is_some() {
                return Some(self.end_line());
            }
        }
    }

    fn end_line(&mut self) -> Line {
        match self.long.take() {
            Some(skim) => Line::TooLong(skim),
            None => Line::Whole(std::mem::take(&mut self.line)),
        }
    }
}

/// The lines that go out, written by a task of its own.
pub struct Output {
    /// None when no more are to come.
    lines: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// How many bytes are still to be read by the client, as far as we see it.
    unread: Arc<watch::Sender<usize>>,
    broken: CancellationToken,
    writer: JoinHandle<()>,
}

impl Output {
    pub fn new(writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (lines, waiting) = mpsc::unbounded_channel();
        let (unread, broken) = (Arc::new(watch::Sender::new(0)), CancellationToken::new());
        let writer = tokio::spawn(write_all(writer, waiting, Arc::clone(&unread), broken.clone()));
        Self { lines: Some(lines), unread, broken, writer }
    }

    /// Queues a line.
    ///
    /// # Errors
    ///
    /// Where nobody reads any more.
    pub fn write(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        // Before it is queued: the writer takes off what it has written.
        self.unread.send_modify(|unread| *unread += line.len());
        let queued = self.lines.as_ref().is_some_and(|lines| lines.send(line).is_ok());
        if queued { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    /// How many bytes are still to be read.
    pub fn unread(&self) -> usize {
        *self.unread.borrow()
    }

    /// Returns when something more was queued or read.
    pub async fn moved(&self) {
        // The sender lives as long as this does.
        let _ = self.unread.subscribe().changed().await;
    }

    /// Returns when nobody reads any more.
    pub async fn broken(&self) {
        self.broken.cancelled().await;
    }

    pub fn is_broken(&self) -> bool {
        self.broken.is_cancelled()
    }

    /// Ends when all lines are written, or when nothing of them was read for so long; false then. No more are to come.
    pub async fn end(&mut self, patience: Duration) -> bool {
        self.lines = None;
        let mut unread = self.unread.subscribe();
        loop {
            tokio::select! {
                _ = &mut self.writer => return true,
                moved = timeout(patience, unread.changed()) => if moved.is_err() {
                    return false;
                }
            }
        }
    }
}

async fn write_all(
    mut writer: impl AsyncWrite + Unpin,
    mut waiting: mpsc::UnboundedReceiver<Vec<u8>>,
    unread: Arc<watch::Sender<usize>>,
    broken: CancellationToken,
) {
    let mut lines = Vec::new();
    while waiting.recv_many(&mut lines, TOGETHER).await > 0 {
        for piece in lines.concat().chunks(PIECE) {
            let written = match writer.write_all(piece).await {
                Ok(()) => writer.flush().await,
                failed => failed,
            };
            if let Err(error) = written {
                tracing::warn!(%error, "standard output cannot be written");
                broken.cancel();
                return;
            }
            unread.send_modify(|unread| *unread -= piece.len());
        }
        lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(700);

    /// Runs in a time of its own, which passes when everybody waits.
    fn in_own_time<R>(test: impl Future<Output = R>) -> R {
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(test)
    }

    /// Some lines that wait to be read from a pipe that holds one piece.
    fn written() -> (Output, DuplexStream) {
        let (reader, writer) = duplex(PIECE);
        let output = Output::new(writer);
        for _ in 0..10 {
            output.write(vec![b'x'; PIECE - 1]).unwrap();
        }
        assert_eq!(output.unread(), 10 * PIECE);
        (output, reader)
    }

    #[test]
    fn who_reads_slowly_gets_all_lines() {
        in_own_time(async {
            let (mut output, mut reader) = written();
            let reading = tokio::spawn(async move {
                let mut piece = vec![0; PIECE];
                let mut pieces = 0;
                while reader.read_exact(&mut piece).await.is_ok() {
                    tokio::time::sleep(PATIENCE * 9 / 10).await;
                    pieces += 1;
                }
                pieces
            });
            assert!(output.end(PATIENCE).await);
            assert_eq!((output.unread(), output.is_broken()), (0, false));
            assert_eq!(reading.await.unwrap(), 10);
        });
    }

    #[test]
    fn who_does_not_read_is_not_waited_for() {
        in_own_time(async {
            let (mut output, reader) = written();
            assert!(!output.end(PATIENCE).await);
            assert_eq!(output.unread(), 9 * PIECE, "one is in the pipe");
            drop(reader);
        });
    }

    #[test]
    fn who_is_gone_is_noticed() {
        in_own_time(async {
            let (mut output, reader) = written();
            drop(reader);
            output.broken().await;
            assert!(output.end(PATIENCE).await);
            assert!(output.write(Vec::new()).is_err());
        });
    }
}
