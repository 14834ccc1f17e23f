//! A machine of its own for each test, and a client of the server that runs on it.
//!
//! Owns the process, the two eras of the protocol and the frame of replies. Whatever a server writes must be one JSON-RPC
//! message a line, none longer than the contract allows: that is checked here, for every test. Knows no single tool.

mod client;
mod reply;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

pub use client::Client;
pub use reply::{Reply, error, failure, only_text, plan};

/// The program.
const BINARY: &str = env!("CARGO_BIN_EXE_9plan");

/// A user without rights.
#[cfg(unix)]
const NOBODY: u32 = 65_534;

/// How long an answer may take before the test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

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

    /// The log that is written ahead of a session's database.
    pub fn log(&self, session: &str) -> PathBuf {
        self.root().join(session).join("session.db-wal")
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
        self.launch(Command::new(BINARY))
    }

    /// The same with rights taken from all files that it makes.
    #[cfg(unix)]
    pub fn server_with_umask(&self, mask: &str) -> Launch {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#"umask "$1" && exec "$0""#, BINARY, mask]);
        self.launch(shell)
    }

    /// The same without the rights of an administrator, who may do anything whatever the modes of files are.
    #[cfg(unix)]
    pub fn unprivileged(&self) -> Launch {
        use std::os::unix::fs::chown;
        use std::os::unix::process::CommandExt;
        if !rustix::process::geteuid().is_root() {
            return self.server();
        }
        // The program may stand in a folder that only the administrator can enter.
        let copy = self.home().join("9plan");
        if !copy.exists() {
            copy_program(&copy);
            for path in [self.home(), &copy] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let mut command = Command::new(copy);
        command.uid(NOBODY).gid(NOBODY);
        self.launch(command)
    }

    fn launch(&self, mut command: Command) -> Launch {
        command
            .env_clear()
            .env("HOME", self.home())
            .env("NINEPLAN_SESSIONS_PATH", self.root())
            .current_dir(self.home());
        Launch {
            world: self.clone(),
            command,
            protocol: "2025-11-25",
            prefix: "9plan_",
            stderr: Stdio::null(),
            #[cfg(unix)]
            sockets: false,
        }
    }

    /// A server whose input and output the test has in its own hands.
    pub fn pipes(&self) -> (Child, ChildStdin, ChildStdout) {
        let mut command = self.server().command;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (child, input, output)
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
    pub world: World,
    pub command: Command,
    protocol: &'static str,
    prefix: &'static str,
    stderr: Stdio,
    #[cfg(unix)]
    sockets: bool,
}

impl Launch {
    /// Gives the server sockets in place of pipes, as Node does.
    #[cfg(unix)]
    pub fn sockets(mut self) -> Self {
        self.sockets = true;
        self
    }

    pub fn env(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self
    }

    /// Has the program work in this folder.
    pub fn at(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
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

    /// Runs the program to its end with a text on standard input.
    pub fn fed(mut self, arguments: &[&str], input: &str) -> Output {
        let command = self.command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that does not read to the end may be gone before it is written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
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
        self.command.stderr(std::mem::replace(&mut self.stderr, Stdio::null()));
        let (mut child, stdin, stdout) = self.spawn();
        let stdout = BufReader::new(stdout);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                if sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        Client {
            stdin: Some(stdin),
            log: child.stderr.take().map(collected),
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

    /// Starts the server: its process, its input and its output.
    fn spawn(&mut self) -> (Child, Box<dyn Write + Send>, Box<dyn Read + Send>) {
        #[cfg(unix)]
        if self.sockets {
            let pair = || std::os::unix::net::UnixStream::pair().unwrap();
            let ((stdin, theirs), (stdout, out)) = (pair(), pair());
            let (theirs, out) = (std::os::fd::OwnedFd::from(theirs), std::os::fd::OwnedFd::from(out));
            let child = self.command.stdin(theirs).stdout(out).spawn().unwrap();
            // Or this process would hold the server's ends open.
            self.command.stdin(Stdio::null()).stdout(Stdio::null());
            return (child, Box::new(stdin), Box::new(stdout));
        }
        let mut child = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (child, Box::new(stdin), Box::new(stdout))
    }
}

/// Puts the program at another place. Copied by another process, it is open for writing in none that is started here
/// meanwhile, which would keep it from being run.
#[cfg(unix)]
pub fn copy_program(place: &Path) {
    assert!(Command::new("cp").arg(BINARY).arg(place).status().unwrap().success());
}

/// The names of all that stands in a folder.
pub fn names_in(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The names of all that stands in a sessions root beside the lists of what is bound where.
pub fn sessions_in(root: &Path) -> BTreeSet<String> {
    let mut names = names_in(root);
    names.remove(".bindings");
    names
}

/// The line of a request for the list of tools that stands alone.
pub fn list_tools(id: u64) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": { "_meta": meta } }).to_string() + "\n"
}

/// What a stream holds, when it has ended.
fn collected(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, whole) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let _ = sender.send(text);
    });
    whole
}
