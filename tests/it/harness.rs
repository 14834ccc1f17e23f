//! A machine of its own for each test, and a client of the server that runs on it.
//!
//! Owns the process, the two eras of the protocol and the frame of replies. Whatever a server writes must be one JSON-RPC
//! message a line, none longer than the contract allows: that is checked here, for every test. Knows no single tool.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long an answer may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most bytes of a line.
pub const MAX_LINE: usize = 60 * 1024;

/// The version of the protocol that needs no handshake.
pub const STATELESS: &str = "2026-07-28";

/// A home folder with nothing in it but what the test puts there; gone when dropped, with the last client in it.
#[derive(Clone)]
pub struct World {
    folder: Arc<TempDir>,
}

impl World {
    pub fn new() -> Self {
        Self { folder: Arc::new(TempDir::new().unwrap()) }
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The sessions root that a server here is given.
    pub fn root(&self) -> PathBuf {
        self.home().join("sessions")
    }

    pub fn database(&self, session: &str) -> PathBuf {
        self.root().join(session).join("session.db")
    }

    pub fn plans(&self, session: &str) -> PathBuf {
        self.root().join(session).join("plans")
    }

    pub fn plan_file(&self, session: &str, id: &str) -> PathBuf {
        self.plans(session).join(format!("{id}.txt"))
    }

    /// Keeps everybody else from changing a session, as long as the connection lives.
    pub fn hold(&self, session: &str) -> rusqlite::Connection {
        let database = rusqlite::Connection::open(self.database(session)).unwrap();
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        database
    }

    /// A server that is not started yet.
    pub fn server(&self) -> Launch {
        let mut command = Command::new(env!("CARGO_BIN_EXE_9plan"));
        command
            .env_clear()
            .env("HOME", self.home())
            .env("NINEPLAN_SESSIONS_PATH", self.root())
            .current_dir(self.home());
        Launch { world: self.clone(), command, protocol: "2025-11-25", prefix: "9plan_", stderr: Stdio::null() }
    }

    /// A client after the handshake of 2025-11-25.
    #[track_caller]
    pub fn client(&self) -> Client {
        self.server().start()
    }

    /// Runs the program with arguments and an empty standard input.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.server().run(arguments)
    }
}

/// A server about to be started.
pub struct Launch {
    world: World,
    pub command: Command,
    protocol: &'static str,
    prefix: &'static str,
    stderr: Stdio,
}

impl Launch {
    pub fn env(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self
    }

    pub fn without(mut self, variable: &str) -> Self {
        self.command.env_remove(variable);
        self
    }

    /// Speaks this version of the protocol.
    pub fn protocol(mut self, version: &'static str) -> Self {
        self.protocol = version;
        self
    }

    /// Serves the tools under another prefix, which [`Client::call`] then uses.
    pub fn prefix(mut self, prefix: &'static str) -> Self {
        self.prefix = prefix;
        self.env("NINEPLAN_TOOL_PREFIX", prefix)
    }

    /// Keeps standard error, to be read when the server has ended.
    pub fn logging(mut self, level: &str) -> Self {
        self.stderr = Stdio::piped();
        self.env("NINEPLAN_LOG_LEVEL", level)
    }

    /// Runs the program to its end with an empty standard input.
    pub fn run(mut self, arguments: &[&str]) -> Output {
        self.command.args(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts the server and shakes hands, where the protocol has a handshake.
    #[track_caller]
    pub fn start(self) -> Client {
        let stateless = self.protocol == STATELESS;
        let mut client = self.connect();
        if !stateless {
            let hello = json!({
                "protocolVersion": client.protocol,
                "capabilities": {},
                "clientInfo": { "name": "it", "version": "1" },
            });
            client.greeting = client.request("initialize", hello)["result"].take();
            assert_eq!(client.greeting["protocolVersion"], client.protocol);
            client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        }
        client
    }

    /// Starts the server and says nothing.
    pub fn connect(mut self) -> Client {
        let mut child = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.stderr).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                if sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        Client {
            stdin: child.stdin.take(),
            stderr: child.stderr.take(),
            child,
            lines,
            early: BTreeMap::new(),
            last_id: 0,
            protocol: self.protocol,
            prefix: self.prefix,
            greeting: Value::Null,
            _world: self.world,
        }
    }
}

/// A client and the server that it started, which is killed when this is dropped.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: Option<ChildStderr>,
    lines: Receiver<Vec<u8>>,
    /// Answers that came before they were asked for.
    early: BTreeMap<u64, Value>,
    last_id: u64,
    protocol: &'static str,
    prefix: &'static str,
    /// The result of `initialize`.
    pub greeting: Value,
    /// Outlives the server.
    _world: World,
}

/// What a tool replied.
#[derive(Debug)]
pub struct Reply {
    /// The text, without the line that names the session.
    pub text: String,
    /// The structured content.
    pub fields: Value,
}

impl Reply {
    /// A field that is a text.
    #[track_caller]
    pub fn str(&self, field: &str) -> &str {
        self.fields[field].as_str().unwrap_or_else(|| panic!("{field} in {}", self.fields))
    }
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
        let mut result = self.result(id);
        let text = only_text(&result);
        assert_eq!(result["isError"], false, "{text}");
        let fields = result["structuredContent"].take();
        let session = fields["session_name"].as_str().unwrap_or("none");
        let text = text.strip_prefix(&format!("[Session: {session}]\n\n")).unwrap_or_else(|| panic!("{text}"));
        Reply { text: text.to_owned(), fields }
    }

    /// Calls a tool that must fail, and gives the whole text.
    #[track_caller]
    pub fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        let text = only_text(&result);
        assert_eq!(result["isError"], true, "{text}");
        assert_eq!(result.get("structuredContent"), None);
        text
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
    fn write(&mut self, line: &str) {
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
            self.early.insert(message["id"].as_u64().unwrap(), message);
        }
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
        let mut log = String::new();
        if let Some(mut stderr) = self.stderr.take() {
            stderr.read_to_string(&mut log).unwrap();
        }
        let further = self.lines.recv_timeout(PATIENCE).map(|line| String::from_utf8_lossy(&line).into_owned());
        assert_eq!(further, Err(std::sync::mpsc::RecvTimeoutError::Disconnected), "more output, or no end");
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

/// The text of a result, which must be its only content.
#[track_caller]
pub fn only_text(result: &Value) -> String {
    let content = result["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
    content[0]["text"].as_str().unwrap().to_owned()
}

/// The arguments of a plan that is told from others by its goal.
pub fn plan(goal: &str) -> Value {
    json!({ "context": "A context.", "goal": goal, "approach": "1. A step.", "success_criteria": "It shows." })
}

/// The whole text of an error.
pub fn error(session: &str, category: &str, message: &str, suggestion: &str) -> String {
    format!("[Session: {session}] Error: {category}\n\n{message}\n\nSuggested action: {suggestion}")
}
