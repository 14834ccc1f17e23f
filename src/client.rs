//! A client of the server, as this program is one itself.
//!
//! Owns the process that it starts and the frame of requests and answers. Knows no tool.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client that sends a request and waits for its answer.
pub struct Client {
    server: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<io::Result<String>>,
    sent: u64,
}

impl Client {
    /// Starts a server and shakes hands. `name` is the client's own.
    ///
    /// # Errors
    ///
    /// Where it cannot be started, or does not answer as it should; what it said on standard error, where that is piped, is in
    /// the error.
    pub fn start(mut command: Command, name: &str) -> io::Result<Self> {
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let gone = || io::Error::other("the server has no pipes");
        let requests = Some(server.stdin.take().ok_or_else(gone)?);
        let output = BufReader::new(server.stdout.take().ok_or_else(gone)?);
        let (sender, answers) = channel();
        // So that a server that hangs is given up.
        thread::Builder::new().name("answers".to_owned()).spawn(move || {
            // Nobody listens any more where this fails.
            output.lines().try_for_each(|line| sender.send(line))
        })?;
        let mut client = Self { server, requests, answers, sent: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": env!("CARGO_PKG_VERSION") },
        });
        if let Err(error) = client.request("initialize", &hello) {
            return Err(client.explained(error));
        }
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(requests, "{message}")
    }

    /// Sends a request and gives the result.
    ///
    /// # Errors
    ///
    /// Where the answer does not come, or is another.
    pub fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.sent += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.sent, "method": method, "params": params }))?;
        let line = self.answers.recv_timeout(PATIENCE).map_err(|fault| match fault {
            RecvTimeoutError::Timeout => io::Error::other(format!("{method} was not answered")),
            RecvTimeoutError::Disconnected => io::Error::other(format!("the server ended at {method}")),
        })??;
        let mut answer: Value = serde_json::from_str(&line)?;
        if answer["id"] == self.sent && answer["result"].is_object() {
            return Ok(answer["result"].take());
        }
        Err(io::Error::other(format!("{method} was answered by {line}")))
    }

    /// Closes the server's input, at which it ends by itself.
    ///
    /// # Errors
    ///
    /// Where it ends badly.
    pub fn finish(mut self) -> io::Result<()> {
        drop(self.requests.take());
        // Its output ends when it does.
        if !matches!(self.answers.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected)) {
            return Err(io::Error::other("the server did not end with its input"));
        }
        let status = self.server.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("the server ended with {status}"))) }
    }

    /// The error with what the server said before it ended.
    fn explained(&mut self, error: io::Error) -> io::Error {
        let Some(stderr) = self.server.stderr.take() else { return error };
        let _ = self.server.kill();
        let said = first_lines(stderr);
        if said.is_empty() { error } else { io::Error::other(format!("{error}: {said}")) }
    }
}

/// What stands at the beginning of an output that has ended.
fn first_lines(output: ChildStderr) -> String {
    let mut said = Vec::new();
    let _ = output.take(2_000).read_to_end(&mut said);
    String::from_utf8_lossy(&said).trim().to_owned()
}

impl Drop for Client {
    fn drop(&mut self) {
        // After a failure the server would wait for more; after `finish` it is gone already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
