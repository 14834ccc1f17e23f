//! The server over HTTP, and a client of it.
//!
//! Owns the form that requests and answers have there, in both eras. What must come back is said by the modules below.

mod access;
mod ending;
mod sessions;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

use crate::harness::{Launch, PATIENCE, Reply, STATELESS, World, failure, plan};

/// A server over HTTP on a port of its own, which is killed when this is dropped.
struct Served {
    child: Child,
    /// The lines of its log, as they come.
    log: Receiver<String>,
    url: String,
    /// What it says of a token.
    token: String,
    _world: World,
}

impl Served {
    /// Starts a server and waits until it says where it is.
    #[track_caller]
    fn start(world: &World) -> Self {
        Self::launch(world.server())
    }

    #[track_caller]
    fn launch(launch: Launch) -> Self {
        let mut launch = launch.env("NINEPLAN_TRANSPORT", "http").env("NINEPLAN_HTTP_PORT", "0");
        let command = launch.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, log) = channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let line = log.recv_timeout(PATIENCE).expect("where it is");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(said["fields"]["message"], "serving over HTTP", "{line}");
        let field = |name: &str| said["fields"][name].as_str().unwrap().to_owned();
        Self { child, log, url: field("url"), token: field("token"), _world: launch.world }
    }

    /// A client that speaks this version, after the handshake where it has one.
    #[track_caller]
    fn client(&self, protocol: &'static str) -> Client {
        let mut client = self.stranger(protocol);
        if protocol != STATELESS {
            let client_info = json!({ "name": "it", "version": "1" });
            let hello = json!({ "protocolVersion": protocol, "capabilities": {}, "clientInfo": client_info });
            let answer = client.post("initialize", hello);
            assert_eq!(answer.message()["result"]["protocolVersion"], protocol);
            client.session = Some(answer.headers["mcp-session-id"].to_str().unwrap().to_owned());
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            assert_eq!(client.send(&initialized.to_string(), &[]).status, 202);
        }
        client
    }

    /// A client that has said nothing yet.
    fn stranger(&self, protocol: &'static str) -> Client {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .max_idle_connections(0);
        let agent = config.build().into();
        Client { agent, url: self.url.clone(), token: None, session: None, protocol, last_id: 0 }
    }

    /// Reads the log up to the line that holds a text, which must come as often as is said.
    #[track_caller]
    fn wait_for_log(&self, text: &str, times: usize) {
        let mut seen = 0;
        while seen < times {
            let line = self.log.recv_timeout(PATIENCE).expect("a line that is waited for");
            seen += usize::from(line.contains(text));
        }
    }

    #[cfg(unix)]
    #[track_caller]
    fn signal(&self, signal: &str) {
        let process = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    /// Waits for the end, which the log has too.
    #[track_caller]
    fn ended(&mut self) -> ExitStatus {
        loop {
            match self.log.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("no end"),
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client over HTTP, which makes a connection for each request.
struct Client {
    agent: Agent,
    url: String,
    token: Option<&'static str>,
    session: Option<String>,
    protocol: &'static str,
    last_id: u64,
}

/// What came back.
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    /// The one message in it, whether it came alone or as an event.
    #[track_caller]
    fn message(&self) -> Value {
        let kind = self.headers.get("content-type").map(|kind| kind.to_str().unwrap());
        let text = match kind {
            Some("text/event-stream") => {
                let mut events =
                    self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|it| !it.is_empty());
                let event = events.next().unwrap_or_else(|| panic!("{}", self.body));
                assert_eq!(events.next(), None, "one answer");
                event
            }
            _ => &self.body,
        };
        serde_json::from_str(text).unwrap_or_else(|_| panic!("{} {kind:?} {}", self.status, self.body))
    }
}

impl Client {
    /// Sends a body with the headers that the client always sends, and these.
    #[track_caller]
    fn send(&self, body: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", self.protocol);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.run(request.body(body.to_owned()).unwrap())
    }

    #[track_caller]
    fn run(&self, request: Request<String>) -> Answer {
        let mut response = self.agent.run(request).unwrap();
        let body = response.body_mut().read_to_string().unwrap();
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), body }
    }

    /// Sends a call that stands alone, and leaves it to the caller to read what comes or to go.
    #[track_caller]
    fn leave(&self, tool: &str, arguments: Value) -> TcpStream {
        let name = format!("9plan_{tool}");
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let address = self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = [
            "POST /mcp HTTP/1.1",
            &format!("Host: {address}"),
            "Connection: close",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            &format!("Mcp-Protocol-Version: {STATELESS}"),
            "Mcp-Method: tools/call",
            &format!("Mcp-Name: {name}"),
            &format!("Content-Length: {}", body.len()),
        ];
        write!(stream, "{}\r\n\r\n{body}", head.join("\r\n")).unwrap();
        stream
    }

    /// Sends a request.
    #[track_caller]
    fn post(&mut self, method: &str, mut params: Value) -> Answer {
        self.last_id += 1;
        let mut headers = Vec::new();
        let name = params["name"].as_str().map(str::to_owned);
        if self.protocol == STATELESS {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.protocol,
                "io.modelcontextprotocol/clientInfo": { "name": "it", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            headers.extend([("mcp-protocol-version", self.protocol), ("mcp-method", method)]);
            headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        }
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        self.send(&request.to_string(), &headers)
    }

    /// Sends a request that must have a result.
    #[track_caller]
    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params);
        let mut message = answer.message();
        assert_eq!(
            (answer.status, &message["id"], message.get("error")),
            (200, &json!(self.last_id), None),
            "{message}"
        );
        message["result"].take()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({ "name": format!("9plan_{tool}"), "arguments": arguments }))
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    fn ok(&mut self, tool: &str, arguments: Value) -> Reply {
        Reply::of(self.call(tool, arguments))
    }

    /// Calls a tool that must fail, and gives the whole text.
    #[track_caller]
    fn fails(&mut self, tool: &str, arguments: Value) -> String {
        failure(&self.call(tool, arguments))
    }

    /// Makes a session and gives its name.
    #[track_caller]
    fn create(&mut self) -> String {
        self.ok("session_create", json!({})).str("session_name").to_owned()
    }
}

/// The arguments of a call that names its session.
fn within(session: &str, mut arguments: Value) -> Value {
    arguments["session_name"] = json!(session);
    arguments
}

/// A plan for a session that is named.
fn plan_in(session: &str, goal: &str) -> Value {
    within(session, plan(goal))
}

/// The text of the failure that a call which was left comes to.
#[track_caller]
fn read_failure(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
    let message: Value = serde_json::from_str(body).unwrap();
    failure(&message["result"])
}

/// The statement by which a change begins; it stands in the log before it waits for the database.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// What the log says of a call that waits for others.
const WAITS: &str = "a call waits for its turn";

/// How long an end may take.
const SOON: Duration = Duration::from_secs(1);
