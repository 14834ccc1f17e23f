//! A client that speaks to a server over its standard input and output.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use serde_json::{Value, json};

use super::{MAX_LINE, PATIENCE, Reply, STATELESS, World, failure, plan};

/// A client and the server that it started, which is killed when this is dropped.
pub struct Client {
    pub(super) child: Child,
    pub(super) stdin: Option<Box<dyn Write + Send>>,
    /// Standard error whole, where it is kept, when it has ended.
    pub(super) log: Option<Receiver<String>>,
    pub(super) lines: Receiver<Vec<u8>>,
    /// Answers that came before they were asked for.
    pub(super) early: BTreeMap<u64, Value>,
    pub(super) last_id: u64,
    pub(super) protocol: &'static str,
    pub(super) prefix: &'static str,
    /// The result of `initialize`.
    pub greeting: Value,
    /// Outlives the server.
    pub(super) _world: World,
}

impl Client {
    /// Calls a tool, named without its prefix, and gives the result of the call.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(tool, arguments);
        self.result(id)
    }

    /// Calls a tool that must succeed, and checks the frame of its reply.
    #[track_caller]
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Reply {
        let id = self.send_call(tool, arguments);
        self.reply(id)
    }

    /// The reply to a call that was sent and must succeed.
    #[track_caller]
    pub fn reply(&mut self, id: u64) -> Reply {
        Reply::of(self.result(id))
    }

    /// Calls a tool that must fail, and gives the whole text.
    #[track_caller]
    pub fn fails(&mut self, tool: &str, arguments: Value) -> String {
        failure(&self.call(tool, arguments))
    }

    /// Makes a session and gives its name.
    #[track_caller]
    pub fn create(&mut self, task: &str) -> String {
        self.ok("session_create", json!({ "task_description": task })).str("session_name").to_owned()
    }

    /// Adds a plan with this goal to the current session and gives its id.
    #[track_caller]
    pub fn add(&mut self, goal: &str) -> String {
        self.ok("queue_add", plan(goal)).str("plan_id").to_owned()
    }

    /// The result of a request that was sent.
    #[track_caller]
    pub fn result(&mut self, id: u64) -> Value {
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Sends a call and does not wait.
    #[track_caller]
    pub fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        let name = format!("{}{tool}", self.prefix);
        self.send("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Sends a request and does not wait.
    #[track_caller]
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        if self.protocol == STATELESS {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.protocol,
                "io.modelcontextprotocol/clientInfo": { "name": "it", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        self.write(&request.to_string());
        self.last_id
    }

    #[track_caller]
    pub(super) fn write(&mut self, line: &str) {
        self.write_bytes(format!("{line}\n").as_bytes());
    }

    /// Writes bytes as they are.
    #[track_caller]
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line that the server writes.
    #[track_caller]
    pub fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line");
        assert!(line.len() < MAX_LINE, "a line of {} bytes", line.len());
        String::from_utf8(line).unwrap()
    }

    /// The answer to a request that was sent, whatever else comes before it.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let message = checked(&self.lines.recv_timeout(PATIENCE).expect("an answer"));
            let twice = self.early.insert(message["id"].as_u64().unwrap(), message);
            assert_eq!(twice, None, "one answer");
        }
    }

    /// Kills the server, with whatever it is at, and waits until it has let go of all that it had.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The result of a request that a server answered before it was killed, if it did.
    #[track_caller]
    pub fn last_result(&mut self, id: u64) -> Option<Value> {
        while !self.early.contains_key(&id) {
            let line = match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no end of the output"),
            };
            // The last line may be a part of one.
            let message: Value = serde_json::from_slice(&line).ok()?;
            self.early.insert(message["id"].as_u64().unwrap(), message);
        }
        Some(self.early.remove(&id)?["result"].take())
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the input; what was sent is still to be answered.
    pub fn end_input(&mut self) {
        drop(self.stdin.take());
    }

    /// Ends the input and waits for the server to end; all answers must have been read.
    #[track_caller]
    pub fn exit(mut self) -> Ended {
        self.end_input();
        self.ended()
    }

    /// Waits for the server to end by itself; all answers must have been read.
    #[track_caller]
    pub fn ended(&mut self) -> Ended {
        let log =
            self.log.take().map(|log| log.recv_timeout(PATIENCE).expect("the end of the log")).unwrap_or_default();
        let further = self.lines.recv_timeout(PATIENCE).map(|line| String::from_utf8_lossy(&line).into_owned());
        assert_eq!(further, Err(RecvTimeoutError::Disconnected), "more output, or no end");
        assert_eq!(self.early, BTreeMap::new(), "answers that nobody asked for");
        Ended { status: self.child.wait().unwrap(), log }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server left behind.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// Standard error, where it was kept.
    pub log: String,
}

/// A line of the server's output as the message it must be.
#[track_caller]
fn checked(line: &[u8]) -> Value {
    assert!(line.len() < MAX_LINE, "a line of {} bytes", line.len());
    let message: Value = serde_json::from_slice(line).expect("JSON on standard output");
    assert_eq!(message["jsonrpc"], "2.0");
    message
}
