//! The entry of the server in a client's configuration.
//!
//! Owns its form in each client. An entry that is there keeps what it says beside how the server is started.

use serde_json::{Map, Value, json};

use super::client::Client;
use super::json::{self, Step, Unfit};
use super::toml;

/// What the server is called in every client.
pub const NAME: &str = "9plan";

/// The keys by which an entry says that its server is reached in another way than over pipes.
const OTHER_WAYS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// What of such an entry holds for any server.
const KEPT: [&str; 4] = ["env", "environment", "enabled", "disabled"];

/// How the server is started.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The absolute path of the program.
    pub program: &'a str,
    /// Further variables of its environment.
    pub variables: &'a [(String, String)],
}

/// What a client's file says of the server.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The program, where the entry names one and nothing else.
    pub program: Option<String>,
    pub variables: Vec<(String, String)>,
    /// Whether the client is told not to start it.
    pub is_off: bool,
}

impl Client {
    /// The key of the object that holds the servers.
    fn servers(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::OpenCode => "mcp",
            Self::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }

    /// What the environment is called in an entry.
    fn environment(self) -> &'static str {
        if self == Self::OpenCode { "environment" } else { "env" }
    }

    /// What an entry calls the way over pipes, where it must say so.
    fn pipes(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode | Self::VsCode => Some("stdio"),
            Self::OpenCode | Self::Copilot => Some("local"),
            _ => None,
        }
    }

    /// Where the entry is, in words.
    pub fn place(self) -> String {
        format!("{:?} under {:?}", NAME, self.servers())
    }
}

/// Where the entry is in TOML.
fn way() -> toml::Way<'static> {
    toml::Way { servers: Client::Codex.servers(), name: NAME }
}

/// The text with the entry in it; the same text where it is there already.
pub fn put(client: Client, text: &str, entry: &Entry<'_>) -> Result<String, Unfit> {
    let old = read(client, text)?.get(client.servers()).and_then(|servers| servers.get(NAME)).cloned();
    if client == Client::Codex {
        let is_other = old.as_ref().is_some_and(is_reached_otherwise);
        let gone = |key: &str| key == "args" || (is_other && !KEPT.contains(&key));
        return toml::put(text, &way(), &[("command", entry.program)], ("env", entry.variables), gone);
    }
    json::set(text, &[client.servers(), NAME], &Value::Object(merged(client, old, entry)))
}

/// The text without the entry. The object that held it stays, even with nothing in it: some clients want one.
pub fn remove(client: Client, text: &str) -> Result<String, Unfit> {
    if client == Client::Codex {
        return toml::remove(text, &way());
    }
    let path = [Step::Key(client.servers()), Step::Key(NAME)];
    let mut text = text.to_owned();
    // A key may be there twice.
    loop {
        let without = json::remove(&text, &path, path.len())?;
        if without == text {
            return Ok(text);
        }
        text = without;
    }
}

/// The entry alone, as a text has it.
pub fn excerpt(client: Client, text: &str) -> Result<String, Unfit> {
    if client == Client::Codex {
        return toml::excerpt(text, &way());
    }
    let whole = json::parse(text)?;
    json::set("", &[client.servers(), NAME], &whole[client.servers()][NAME])
}

/// The entry alone, as a text without one would have it.
pub fn snippet(client: Client, entry: &Entry<'_>) -> String {
    // Into an empty text, where nothing is in the way.
    put(client, "", entry).unwrap_or_default()
}

/// What a text says of the server, if anything.
pub fn find(client: Client, text: &str) -> Result<Option<Found>, Unfit> {
    let whole = read(client, text)?;
    let Some(entry) = whole.get(client.servers()).and_then(|servers| servers.get(NAME)) else { return Ok(None) };
    let words = match entry.get("command") {
        Some(Value::Array(words)) => words.clone(),
        command => command
            .into_iter()
            .chain(entry.get("args").and_then(Value::as_array).into_iter().flatten())
            .cloned()
            .collect(),
    };
    let program = match words.as_slice() {
        [Value::String(program)] if !is_reached_otherwise(entry) => Some(program.clone()),
        _ => None,
    };
    let variables = entry.get(client.environment()).and_then(Value::as_object).into_iter().flatten();
    let variables = variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    let is_off = entry["enabled"] == false || entry["disabled"] == true;
    Ok(Some(Found { program, variables, is_off }))
}

fn read(client: Client, text: &str) -> Result<Value, Unfit> {
    if client == Client::Codex { toml::read(text, &way()) } else { json::parse(text) }
}

/// Whether an entry is of a server that the client does not start.
fn is_reached_otherwise(entry: &Value) -> bool {
    let remote = entry["type"].as_str().is_some_and(|kind| !matches!(kind, "stdio" | "local"));
    remote || OTHER_WAYS.iter().any(|key| entry.get(key).is_some())
}

/// The entry as it is to be, beside what the old one says of other things.
fn merged(client: Client, old: Option<Value>, entry: &Entry<'_>) -> Map<String, Value> {
    let is_other = old.as_ref().is_some_and(is_reached_otherwise);
    let mut merged = match old {
        Some(Value::Object(old)) => old,
        _ => Map::new(),
    };
    if is_other {
        merged.retain(|key, _| KEPT.contains(&key.as_str()));
    }
    let mut say = |key: &str, value: Value| drop(merged.insert(key.to_owned(), value));
    if let Some(pipes) = client.pipes() {
        say("type", json!(pipes));
    }
    if client == Client::OpenCode {
        say("command", json!([entry.program]));
    } else {
        say("command", json!(entry.program));
        say("args", json!([]));
    }
    if client == Client::Copilot {
        merged.entry("tools").or_insert(json!(["*"]));
    }
    if !entry.variables.is_empty() {
        let environment = merged.entry(client.environment()).or_insert(json!({}));
        if !environment.is_object() {
            *environment = json!({});
        }
        for (name, value) in entry.variables {
            environment[name] = json!(value);
        }
    }
    merged
}
