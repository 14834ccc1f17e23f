//! A client that measures: the server on the other side of a pipe.
//!
//! Owns the process and the clock around each request: from the first byte written to the last one read. What an answer
//! says is looked at after the clock has stopped. Knows no figure.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_9plan");

/// A folder on the disk that the project is on, which is gone when this is dropped: the syncs of one in memory cost nothing.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the benchmark")
}

/// How many megabytes (of a million bytes) the program has on disk.
pub fn program_size() -> f64 {
    std::fs::metadata(PROGRAM).expect("the program").len() as f64 / 1e6
}

/// How long the program takes from being started to its end where it does nothing.
pub fn version() -> Duration {
    let start = Instant::now();
    let status = Command::new(PROGRAM).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    let took = start.elapsed();
    assert!(status.expect("the program starts").success());
    took
}

/// The program with this sessions root.
fn program(root: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_clear().env("HOME", root).env("NINEPLAN_SESSIONS_PATH", root);
    command
}

/// The same for the one conversation of the benchmark.
fn again(root: &Path) -> Command {
    let mut command = program(root);
    command.env("CLAUDE_CODE_SESSION_ID", CONVERSATION).current_dir(root);
    command
}

/// How long a hook takes from its start to its end after a compaction. It must have shown the session.
pub fn compacted(root: &Path) -> Duration {
    let input = json!({ "session_id": CONVERSATION, "cwd": root, "source": "compact" }).to_string();
    let mut command = again(root);
    command.args(["hook", "session-start"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let start = Instant::now();
    let mut hook = command.spawn().expect("the hook starts");
    let mut stdin = hook.stdin.take().expect("its input");
    stdin.write_all(input.as_bytes()).expect("an input that is read");
    drop(stdin);
    let output = hook.wait_with_output().expect("the hook ends");
    let took = start.elapsed();
    assert!(output.stdout.starts_with(b"9plan: session "), "{output:?}");
    took
}

/// The id of the conversation.
const CONVERSATION: &str = "4853efde-c3fa-4658-b455-9e86922dda67";

/// A server and its only client.
pub struct Client {
    server: Child,
    /// None when it is over.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    root: PathBuf,
    requests: u64,
    line: Vec<u8>,
    /// From before the server was started to the answer to `initialize`.
    pub started: Duration,
}

impl Client {
    /// A server with this sessions root, ready to be called.
    pub fn start(root: &Path) -> Self {
        Self::start_with(root, "info", Stdio::null())
    }

    /// The same with a log of this level, which goes to `log`.
    pub fn start_with(root: &Path, level: &str, log: Stdio) -> Self {
        Self::launch(program(root).env("NINEPLAN_LOG_LEVEL", level).stderr(log), root)
    }

    /// A server for a client that works in this folder.
    pub fn start_at(root: &Path, folder: &Path) -> Self {
        Self::launch(program(root).current_dir(folder).stderr(Stdio::null()), root)
    }

    /// The same for the one conversation of the benchmark, which is about the root itself.
    pub fn start_again(root: &Path) -> Self {
        Self::launch(again(root).stderr(Stdio::null()), root)
    }

    fn launch(command: &mut Command, root: &Path) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let start = Instant::now();
        let mut server = command.spawn().expect("the server starts");
        let input = server.stdin.take();
        let output = BufReader::with_capacity(64 * 1024, server.stdout.take().expect("its output"));
        let mut client = Self {
            server,
            input,
            output,
            root: root.to_owned(),
            requests: 0,
            line: Vec::new(),
            started: Duration::ZERO,
        };
        let about = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        client.ask("initialize", about);
        client.started = start.elapsed();
        client
    }

    /// The folder of a session.
    pub fn session(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// How long the smallest request takes.
    pub fn ping(&mut self) -> Duration {
        self.ask("ping", json!({})).0
    }

    /// Calls a tool, which must succeed: how long it took, and the fields of the reply.
    pub fn call(&mut self, name: &str, arguments: Value) -> (Duration, Value) {
        let (took, answer) = self.ask("tools/call", call(name, arguments));
        (took, fields(answer))
    }

    /// Makes a session, with so many plans in its queue.
    pub fn create<'a>(&mut self, plans: impl IntoIterator<Item = &'a super::corpus::Plan>) -> String {
        let (_, session) = self.call("session_create", json!({ "task_description": "Measure it" }));
        for plan in plans {
            self.call("queue_add", plan.arguments());
        }
        text(&session, "session_name")
    }

    /// Sends all calls before the first answer is read, and says how long it took until the last one was.
    pub fn pipelined(&mut self, name: &str, arguments: impl IntoIterator<Item = Value>) -> Duration {
        let mut requests = Vec::new();
        let mut count = 0;
        for arguments in arguments {
            self.requests += 1;
            count += 1;
            requests.extend(request(self.requests, "tools/call", call(name, arguments)));
        }
        let mut input = self.input.take().expect("an input");
        let start = Instant::now();
        // As a client does that reads and writes at the same time.
        let writer = std::thread::spawn(move || input.write_all(&requests).map(|()| input));
        let answers: Vec<Vec<u8>> = (0..count)
            .map(|_| {
                self.read();
                std::mem::take(&mut self.line)
            })
            .collect();
        let took = start.elapsed();
        self.input = Some(writer.join().expect("the writer ends").expect("all is written"));
        for answer in answers {
            fields(serde_json::from_slice(&answer).expect("JSON"));
        }
        took
    }

    /// How many megabytes (of a million bytes) the server has in memory; none where the system does not say.
    pub fn resident(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes * 1_024.0 / 1e6)
    }

    /// Ends the server.
    pub fn end(mut self) {
        drop(self.input.take());
        assert!(self.server.wait().expect("the server ends").success());
    }

    fn ask(&mut self, method: &str, params: Value) -> (Duration, Value) {
        self.requests += 1;
        let line = request(self.requests, method, params);
        let start = Instant::now();
        self.input.as_mut().expect("an input").write_all(&line).expect("a server that reads");
        self.read();
        let took = start.elapsed();
        (took, serde_json::from_slice(&self.line).expect("JSON"))
    }

    fn read(&mut self) {
        self.line.clear();
        let length = self.output.read_until(b'\n', &mut self.line).expect("a server that writes");
        assert!(length > 0, "the server has ended");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "name": format!("9plan_{tool}"), "arguments": arguments })
}

fn request(id: u64, method: &str, params: Value) -> Vec<u8> {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).into_bytes()
}

/// The structured content of the answer to a call that succeeded.
fn fields(mut answer: Value) -> Value {
    let result = &mut answer["result"];
    assert!(result["isError"] != json!(true) && result["structuredContent"].is_object(), "{answer}");
    result["structuredContent"].take()
}

/// A text in a reply.
pub fn text(fields: &Value, name: &str) -> String {
    fields[name].as_str().unwrap_or_else(|| panic!("no {name} in {fields}")).to_owned()
}
