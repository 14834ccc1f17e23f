//! One client at the two ends of a pipe: a message a line.
//!
//! Owns the requests that are not answered yet: the connection is over when the last answer is written. Knows nothing of
//! what is asked. What is wrong with a line is for [`message`] to say.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, ClientJsonRpcMessage, ClientNotification, ClientRequest, ConstString,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::{StdioReader, StdioWriter, Transport};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::lines::{Input, Line, Output};
use super::message::{self, Incoming, LONGEST, Refusal};
use crate::sessions::Sessions;

/// How long after the end of the input nothing may happen: no further answer, and nothing of it read. A client that is gone
/// waits for none.
const LAST_MOVE: Duration = Duration::from_millis(700);

/// How many requests may be under way. Further ones wait; what is not read yet stays in the pipe.
const MOST_UNANSWERED: usize = 1_000;

/// How many bytes of answers may wait for a client to read them, before no more of what it writes is read.
const MOST_UNREAD: usize = 32 * 1024 * 1024;

/// A client that writes to our input and reads our output.
pub struct Pipe {
    input: Input<StdioReader>,
    output: Output,
    /// What was read and is not taken up yet.
    waiting: VecDeque<Value>,
    unanswered: HashSet<RequestId>,
    /// Requests that were cancelled. What they come to is not seen here, so that their ids stay theirs for good.
    cancelled: HashSet<RequestId>,
    stop: CancellationToken,
    given_up: CancellationToken,
    ended: bool,
}

impl Pipe {
    /// A client at the ends of a pipe. `stop` ends the input before its end; `given_up` is cancelled when nothing more is to
    /// be waited for, although not all is answered.
    pub fn new(
        (reader, writer): (StdioReader, StdioWriter),
        stop: CancellationToken,
        given_up: CancellationToken,
    ) -> Self {
        Self {
            input: Input::new(reader, LONGEST),
            output: Output::new(writer),
            waiting: VecDeque::new(),
            unanswered: HashSet::new(),
            cancelled: HashSet::new(),
            stop,
            given_up,
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
        refusal.log();
        if refusal.id.is_some() {
            // Where nobody reads any more, nobody waits either.
            let _ = self.output.write(refusal.to_string().into_bytes());
        }
    }

    /// The message as the library takes it, where it is for the library.
    fn admit(&mut self, message: Value) -> Option<ClientJsonRpcMessage> {
        let id = message.get("id").cloned();
        let refuse = |why: &str| self.refuse(&Refusal::invalid(id.as_ref().map(Value::to_string), why));
        match tool_call(&message).map_or_else(|| serde_json::from_value(message), Ok) {
            Ok(JsonRpcMessage::Request(request)) => {
                if self.unanswered.contains(&request.id) || self.cancelled.contains(&request.id) {
                    refuse("the id is that of a request that is not answered yet, or was cancelled");
                    return None;
                }
                self.unanswered.insert(request.id.clone());
                Some(JsonRpcMessage::Request(request))
            }
            // Only the cancellation of something that is under way says anything to this server.
            Ok(JsonRpcMessage::Notification(notification)) => match &notification.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    let id = self.unanswered.take(cancelled.params.request_id.as_ref()?)?;
                    self.cancelled.insert(id);
                    Some(JsonRpcMessage::Notification(notification))
                }
                ClientNotification::CustomNotification(custom) if !custom.method.starts_with("notifications/") => {
                    refuse("a request without an id");
                    None
                }
                _ => None,
            },
            // Whatever has a method can be read as one of the two, and nothing else comes so far.
            _ => {
                refuse("neither a request nor a notification");
                None
            }
        }
    }

    /// Whether no more is to be taken up for now.
    fn is_full(&self) -> bool {
        self.unanswered.len() >= MOST_UNANSWERED || self.output.unread() > MOST_UNREAD
    }

    /// Waits for the answers to what is under way, as long as there is any hope.
    async fn last_answers(&self) {
        while !self.unanswered.is_empty() && !self.output.is_broken() {
            // This is dropped and begun again when there is an answer.
            if timeout(LAST_MOVE, self.output.moved()).await.is_err() {
                tracing::warn!(unanswered = self.unanswered.len(), "ending without the answers to all requests");
                self.given_up.cancel();
                return;
            }
        }
    }
}

/// The message where it is the call of a tool. The library would come to the same, after it has tried to read it as a request
/// of each kind that it knows.
fn tool_call(message: &Value) -> Option<ClientJsonRpcMessage> {
    if message["method"] != CallToolRequestMethod::VALUE || message.get("result").or(message.get("error")).is_some() {
        return None;
    }
    let id = RequestId::deserialize(message.get("id")?).ok()?;
    let call = CallToolRequest::deserialize(message).ok()?;
    Some(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), id))
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
            while !self.stop.is_cancelled()
                && !self.is_full()
                && let Some(message) = self.waiting.pop_front()
            {
                if let Some(message) = self.admit(message) {
                    return Some(message);
                }
            }
            if self.ended {
                self.last_answers().await;
                return None;
            }
            let full = self.is_full();
            tokio::select! {
                () = self.stop.cancelled() => self.ended = true,
                () = self.output.broken() => self.ended = true,
                () = self.output.moved(), if full => {}
                line = self.input.next(), if !full => match line {
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
        if !self.output.end(LAST_MOVE).await {
            tracing::warn!(bytes = self.output.unread(), "ending with answers that nobody reads");
        }
        Ok(())
    }
}
