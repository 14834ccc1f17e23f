//! One client at the two ends of a pipe: a message a line.
//!
//! Owns the lines, both ways, and the requests that are not answered yet: the connection is over when the last answer is
//! written. Knows nothing of what is asked. What is wrong with a line is for [`message`] to say.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::{StdioReader, StdioWriter, Transport};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::message::{self, Incoming, LONGEST, Refusal};
use super::skim::Skim;
use crate::sessions::Sessions;

/// How long after the end of the input the next answer may take. A client that is gone waits for none.
const NEXT_ANSWER: Duration = Duration::from_millis(700);

/// How long the last lines may take to be read.
const LAST_LINES: Duration = Duration::from_millis(200);

/// How many lines are written together at most.
const TOGETHER: usize = 64;

/// A client that writes to our input and reads our output.
pub struct Pipe {
    input: Lines,
    output: Output,
    /// What came in a batch and is not taken up yet.
    waiting: VecDeque<Value>,
    unanswered: HashSet<RequestId>,
    stop: CancellationToken,
    ended: bool,
}

impl Pipe {
    /// A client at the ends of a pipe. `stop` ends the input before its end.
    pub fn new((reader, writer): (StdioReader, StdioWriter), stop: CancellationToken) -> Self {
        Self {
            input: Lines { input: BufReader::new(reader), line: Vec::new(), long: None },
            output: Output::new(writer),
            waiting: VecDeque::new(),
            unanswered: HashSet::new(),
            stop,
            ended: false,
        }
    }

    fn take(&mut self, line: Line) {
        let incoming = match line {
            Line::Whole(text) => message::read(&text),
            Line::TooLong(skimmed) => vec![Incoming::Refused(Refusal::too_long(skimmed))],
        };
        for one in incoming {
            match one {
                Incoming::Message(message) => self.waiting.push_back(message),
                Incoming::Refused(refusal) => self.refuse(&refusal),
                Incoming::Answer => tracing::debug!("an answer that nobody waits for was dropped"),
            }
        }
    }

    fn refuse(&self, refusal: &Refusal) {
        tracing::warn!(id = refusal.id, reason = refusal.message, "a message is not taken");
        if refusal.id.is_some() {
            // Where nobody reads any more, nobody waits either.
            let _ = self.output.write(refusal.to_string().into_bytes());
        }
    }

    /// The message as the library takes it, where it is for the library.
    fn admit(&mut self, message: Value) -> Option<ClientJsonRpcMessage> {
        let id = message.get("id").map(Value::to_string);
        match serde_json::from_value::<ClientJsonRpcMessage>(message) {
            Ok(JsonRpcMessage::Request(request)) => {
                if self.unanswered.insert(request.id.clone()) {
                    return Some(JsonRpcMessage::Request(request));
                }
                self.refuse(&Refusal::invalid(id, "the id is that of a request that is not answered yet"));
            }
            // Only a cancellation says anything to this server; before its first request a client has nothing to cancel.
            Ok(JsonRpcMessage::Notification(notification)) => match &notification.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    let cancelled = cancelled.params.request_id.as_ref();
                    if cancelled.is_some_and(|id| self.unanswered.remove(id)) {
                        return Some(JsonRpcMessage::Notification(notification));
                    }
                }
                ClientNotification::CustomNotification(custom) if !custom.method.starts_with("notifications/") => {
                    self.refuse(&Refusal::invalid(None, "a request without an id"));
                }
                _ => {}
            },
            Ok(_) => {}
            Err(fault) => self.refuse(&Refusal::invalid(id, fault)),
        }
        None
    }
}

impl Transport<RoleServer> for Pipe {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => drop(self.unanswered.remove(&response.id)),
            JsonRpcMessage::Error(error) => drop(error.id.as_ref().map(|id| self.unanswered.remove(id))),
            _ => {}
        }
        let written = serde_json::to_vec(&message).map_err(io::Error::other).and_then(|line| self.output.write(line));
        std::future::ready(written)
    }

    // Dropped and called again whenever there is something else to do: nothing may be lost at an await.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            while let Some(message) = self.waiting.pop_front() {
                if let Some(message) = self.admit(message) {
                    return Some(message);
                }
            }
            if self.ended {
                if !self.unanswered.is_empty() && !self.output.broken.is_cancelled() {
                    // Each answer that is written ends this wait, and another begins.
                    tokio::time::sleep(NEXT_ANSWER).await;
                    tracing::warn!(unanswered = self.unanswered.len(), "ending without the answers to all requests");
                }
                return None;
            }
            tokio::select! {
                () = self.stop.cancelled() => self.ended = true,
                () = self.output.broken.cancelled() => self.ended = true,
                line = self.input.next() => match line {
                    Some(line) => self.take(line),
                    None => self.ended = true,
                }
            }
            if self.ended {
                Sessions::stop_waiting();
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.lines = None;
        // A client that does not read keeps nobody here.
        let _ = tokio::time::timeout(LAST_LINES, &mut self.output.writer).await;
        Ok(())
    }
}

/// The lines that come in.
struct Lines {
    input: BufReader<StdioReader>,
    /// What there is of the line so far.
    line: Vec<u8>,
    /// What there is of it in short, where it is too long.
    long: Option<Skim>,
}

enum Line {
    Whole(Vec<u8>),
    TooLong(Skim),
}

impl Lines {
    /// The next line, without its end; none at the end of the input, which ends the last line too.
    async fn next(&mut self) -> Option<Line> {
        loop {
            let available = match self.input.fill_buf().await {
                Ok(bytes) => bytes,
                Err(error) => {
                    tracing::error!(%error, "standard input cannot be read");
                    &[]
                }
            };
            if available.is_empty() {
                return if self.line.is_empty() && self.long.is_none() { None } else { Some(self.end_line()) };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let read = part.len() + usize::from(end.is_some());
            if let Some(skim) = &mut self.long {
                skim.read(part);
            } else if self.line.len() + part.len() > LONGEST {
                let mut skim = Skim::default();
                skim.read(&std::mem::take(&mut self.line));
                skim.read(part);
                self.long = Some(skim);
            } else {
                self.line.extend_from_slice(part);
            }
            self.input.consume(read);
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

/// The lines that go out, written in their order by a task of its own.
struct Output {
    /// None when no more are to come.
    lines: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// Cancelled when nobody reads any more.
    broken: CancellationToken,
    writer: JoinHandle<()>,
}

impl Output {
    fn new(mut output: StdioWriter) -> Self {
        let (lines, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
        let broken = CancellationToken::new();
        let unread = broken.clone();
        let writer = tokio::spawn(async move {
            let mut some = Vec::new();
            while waiting.recv_many(&mut some, TOGETHER).await > 0 {
                let written = match output.write_all(&some.concat()).await {
                    Ok(()) => output.flush().await,
                    failed => failed,
                };
                if let Err(error) = written {
                    tracing::warn!(%error, "standard output cannot be written");
                    unread.cancel();
                    return;
                }
                some.clear();
            }
        });
        Self { lines: Some(lines), broken, writer }
    }

    fn write(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let sent = self.lines.as_ref().map(|lines| lines.send(line));
        sent.and_then(Result::ok).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}
