//! The entry of the server in a client's configuration.
//!
//! Owns its form in each client. An entry that is there keeps what it says beside how the server is started.

use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::client::Client;
use super::json::{self, Step, Unfit};

/// What the server is called in every client.
pub const NAME: &str = "9plan";

/// What an entry says of a server that is reached in another way.
const OTHER_WAYS: [&str; 5] = ["url", "httpUrl", "serverUrl", "headers", "http_headers"];

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
    /// The program, where the entry names one.
    pub program: Option<String>,
    pub variables: Vec<(String, String)>,
}

impl Client {
    /// The keys of the object that holds the servers.
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

    /// How long the way to the entry is, in words.
    pub fn place(self) -> String {
        format!("{:?} under {:?}", NAME, self.servers())
    }
}

/// The text with the entry in it; the same text where it is there already.
pub fn put(client: Client, text: &str, entry: &Entry<'_>) -> Result<String, Unfit> {
    if client == Client::Codex {
        return put_toml(text, entry);
    }
    let path = [client.servers(), NAME];
    let old = json::parse(text)?.pointer(&format!("/{}/{NAME}", client.servers())).cloned();
    json::set(text, &path, &Value::Object(merged(client, old, entry)))
}

/// The text without the entry.
pub fn remove(client: Client, text: &str) -> Result<String, Unfit> {
    if client == Client::Codex {
        return remove_toml(text);
    }
    json::remove(text, &[Step::Key(client.servers()), Step::Key(NAME)])
}

/// The entry alone, for somebody who puts it in by hand.
pub fn snippet(client: Client, entry: &Entry<'_>) -> String {
    // Into an empty text, where nothing is in the way.
    put(client, "", entry).unwrap_or_default()
}

/// What a text says of the server, if anything.
pub fn find(client: Client, text: &str) -> Result<Option<Found>, Unfit> {
    let whole = if client == Client::Codex { toml_as_json(&parse_toml(text)?) } else { json::parse(text)? };
    let Some(entry) = whole.get(client.servers()).and_then(|servers| servers.get(NAME)) else { return Ok(None) };
    let command = entry.get("command");
    let first = |command: &Value| command.as_str().or_else(|| command.get(0)?.as_str()).map(str::to_owned);
    let program = command.and_then(first);
    let variables = entry.get(client.environment()).and_then(Value::as_object).into_iter().flatten();
    let variables = variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    Ok(Some(Found { program, variables }))
}

/// The entry as it is to be, beside what the old one says of other things.
fn merged(client: Client, old: Option<Value>, entry: &Entry<'_>) -> Map<String, Value> {
    let mut merged = match old {
        Some(Value::Object(old)) => old,
        _ => Map::new(),
    };
    for key in OTHER_WAYS {
        merged.shift_remove(key);
    }
    let mut say = |key: &str, value: Value| drop(merged.insert(key.to_owned(), value));
    match client {
        Client::ClaudeCode | Client::VsCode => say("type", json!("stdio")),
        Client::OpenCode | Client::Copilot => say("type", json!("local")),
        _ => {}
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

fn parse_toml(text: &str) -> Result<DocumentMut, Unfit> {
    text.parse().map_err(|fault: toml_edit::TomlError| Unfit::NotToml(fault.message().to_owned()))
}

fn put_toml(text: &str, entry: &Entry<'_>) -> Result<String, Unfit> {
    let mut document = parse_toml(text)?;
    let before = toml_as_json(&document);
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let wrong = |key: &str| Unfit::WrongKind(key.to_owned());
    let servers = document.entry(Client::Codex.servers()).or_insert(Item::Table(implicit));
    let servers = servers.as_table_like_mut().ok_or_else(|| wrong(Client::Codex.servers()))?;
    let server = servers.entry(NAME).or_insert(Item::Table(Table::new()));
    let server = server.as_table_like_mut().ok_or_else(|| wrong(NAME))?;
    for key in OTHER_WAYS {
        server.remove(key);
    }
    if server.get("command").and_then(Item::as_str) != Some(entry.program) {
        server.insert("command", value(entry.program));
    }
    server.remove("args");
    if !entry.variables.is_empty() {
        let environment = server.entry("env").or_insert(Item::Table(Table::new()));
        let environment = environment.as_table_like_mut().ok_or_else(|| wrong("env"))?;
        for (name, set) in entry.variables {
            environment.insert(name, value(set));
        }
    }
    // What says the same is left as it is written.
    Ok(if toml_as_json(&document) == before { text.to_owned() } else { written(text, &document) })
}

fn remove_toml(text: &str) -> Result<String, Unfit> {
    let mut document = parse_toml(text)?;
    let key = Client::Codex.servers();
    let Some(servers) = document.get_mut(key).and_then(Item::as_table_like_mut) else { return Ok(text.to_owned()) };
    if servers.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() {
        document.remove(key);
    }
    Ok(written(text, &document))
}

/// The document as text, with the line ends that it had.
fn written(before: &str, document: &DocumentMut) -> String {
    let text = document.to_string();
    if before.contains("\r\n") { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
}

/// The servers of a document, to compare and to read.
fn toml_as_json(document: &DocumentMut) -> Value {
    fn of(item: &Item) -> Value {
        if let Some(table) = item.as_table_like() {
            return Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of(item))).collect());
        }
        match item.as_value() {
            Some(toml_edit::Value::String(text)) => json!(text.value()),
            // What else there is need only be compared.
            Some(other) => json!([other.to_string().trim()]),
            None => Value::Null,
        }
    }
    let servers = document.get(Client::Codex.servers()).map_or(Value::Null, of);
    json!({ Client::Codex.servers(): servers })
}
