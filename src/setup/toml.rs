//! Changing the entry in a TOML text, and as little else as can be.
//!
//! Owns that a new entry comes after all else and an old one is cut out as it stands, so that every other line keeps its
//! bytes. Where the text is laid out in another way, the library changes it. Knows nothing of clients.

use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use super::json::Unfit;

/// Where the entry is: the table of the servers, and its name in there.
pub struct Way<'a> {
    pub servers: &'a str,
    pub name: &'a str,
}

impl Way<'_> {
    /// Whether a line opens the table of the entry, or one below it.
    fn is_opened_by(&self, line: &str) -> bool {
        let Some(inner) = line.trim_start().strip_prefix('[') else { return false };
        let inner: String = inner.chars().filter(|c| !matches!(c, ' ' | '\t' | '"' | '\'')).collect();
        let own = format!("{}.{}", self.servers, self.name);
        inner.strip_prefix(&own).is_some_and(|rest| rest.starts_with([']', '.']))
    }
}

/// Reads a text, as far as the servers are concerned: texts as texts, all else only to be compared.
pub fn read(text: &str, way: &Way<'_>) -> Result<Value, Unfit> {
    Ok(compared(&parse(text)?, way))
}

/// Sets the texts of the entry, those of one table in it, and takes some keys out.
pub fn put(
    text: &str,
    way: &Way<'_>,
    texts: &[(&str, &str)],
    (table, variables): (&str, &[(String, String)]),
    gone: impl Fn(&str) -> bool,
) -> Result<String, Unfit> {
    let mut document = parse(text)?;
    let before = compared(&document, way);
    let wrong = |key: &str| Unfit::WrongKind(format!("{key:?}"));
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let servers = document.entry(way.servers).or_insert(Item::Table(implicit));
    let servers = servers.as_table_like_mut().ok_or_else(|| wrong(way.servers))?;
    let is_new = !servers.contains_key(way.name);
    let server = servers.entry(way.name).or_insert(Item::Table(Table::new()));
    let server = server.as_table_like_mut().ok_or_else(|| wrong(way.name))?;
    let keys: Vec<String> = server.iter().map(|(key, _)| key.to_owned()).filter(|key| gone(key)).collect();
    for key in keys {
        server.remove(&key);
    }
    for (key, text) in texts {
        set(server, key, text);
    }
    if !variables.is_empty() {
        let variables_table = server.entry(table).or_insert(Item::Table(Table::new()));
        let variables_table = variables_table.as_table_like_mut().ok_or_else(|| wrong(table))?;
        for (name, text) in variables {
            set(variables_table, name, text);
        }
    }
    let after = compared(&document, way);
    if after == before {
        // What says the same is left as it is written.
        return Ok(text.to_owned());
    }
    let whole = with_line_ends_of(text, document.to_string());
    let appended = is_new.then(|| appended(text, &document, way)).flatten();
    // Only where it comes to the same.
    Ok(appended.filter(|text| read(text, way).is_ok_and(|read| read == after)).unwrap_or(whole))
}

/// Takes the entry out.
pub fn remove(text: &str, way: &Way<'_>) -> Result<String, Unfit> {
    let mut document = parse(text)?;
    let servers = document.get_mut(way.servers).and_then(Item::as_table_like_mut);
    if servers.is_none_or(|servers| servers.remove(way.name).is_none()) {
        return Ok(text.to_owned());
    }
    let after = compared(&document, way);
    let same = |text: &String| read(text, way).is_ok_and(|read| servers_of(&read, way) == servers_of(&after, way));
    Ok(cut(text, way).filter(same).unwrap_or_else(|| with_line_ends_of(text, document.to_string())))
}

/// The servers in what was read, none being as good as an empty table of them.
fn servers_of<'a>(read: &'a Value, way: &Way<'_>) -> Option<&'a Value> {
    let servers = &read[way.servers];
    (servers.is_object() && servers != &json!({})).then_some(servers)
}

/// The entry alone.
pub fn excerpt(text: &str, way: &Way<'_>) -> Result<String, Unfit> {
    let document = parse(text)?;
    let entry = document.get(way.servers).and_then(|servers| servers.get(way.name)).and_then(Item::as_table_like);
    let mut alone = DocumentMut::new();
    if let Some(entry) = entry {
        let mut table = Table::new();
        for (key, item) in entry.iter() {
            table.insert(key, item.clone());
        }
        let mut servers = Table::new();
        servers.set_implicit(true);
        servers.insert(way.name, Item::Table(table));
        alone.insert(way.servers, Item::Table(servers));
    }
    Ok(alone.to_string().trim_start().to_owned())
}

fn parse(text: &str) -> Result<DocumentMut, Unfit> {
    text.parse().map_err(|fault: toml_edit::TomlError| Unfit::NotToml(fault.message().to_owned()))
}

/// Sets a text, with what stands around the old one.
fn set(table: &mut dyn TableLike, key: &str, text: &str) {
    let old = table.get(key).and_then(Item::as_value);
    if old.and_then(toml_edit::Value::as_str) == Some(text) {
        return;
    }
    let decor = old.map(|old| old.decor().clone());
    table.insert(key, value(text));
    if let (Some(decor), Some(new)) = (decor, table.get_mut(key).and_then(Item::as_value_mut)) {
        *new.decor_mut() = decor;
    }
}

/// The text with the entry of the document behind it.
fn appended(text: &str, document: &DocumentMut, way: &Way<'_>) -> Option<String> {
    let entry = excerpt(&document.to_string(), way).ok()?;
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut whole = text.to_owned();
    if !whole.is_empty() {
        if !whole.ends_with('\n') {
            whole.push_str(line_end);
        }
        whole.push_str(line_end);
    }
    whole.push_str(&entry.replace('\n', line_end));
    Some(whole)
}

/// The text without the lines of the entry, where it is a table of its own: from its header to its last value, and the blank
/// line before it where nothing follows.
fn cut(text: &str, way: &Way<'_>) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let start = lines.iter().position(|line| way.is_opened_by(line))?;
    let opens_another = |line: &&str| line.trim_start().starts_with('[') && !way.is_opened_by(line);
    let mut end = lines[start..].iter().position(opens_another).map_or(lines.len(), |after| start + after);
    // What stands before another header belongs to that.
    let says_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    while end > start + 1 && says_nothing(lines[end - 1]) {
        end -= 1;
    }
    let blank = |at: Option<&&str>| at.is_none_or(|line| line.trim().is_empty());
    let from = if start > 0 && blank(lines.get(start - 1)) && blank(lines.get(end)) { start - 1 } else { start };
    Some(lines[..from].concat() + &lines[end..].concat())
}

/// A text that the library has written, with the line ends that the text had before, if it had one kind.
fn with_line_ends_of(before: &str, text: String) -> String {
    let all = before.matches('\n').count();
    if all > 0 && before.matches("\r\n").count() == all {
        return text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    text
}

fn compared(document: &DocumentMut, way: &Way<'_>) -> Value {
    fn of(item: &Item) -> Value {
        if let Some(table) = item.as_table_like() {
            return Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of(item))).collect());
        }
        match item.as_value() {
            Some(toml_edit::Value::String(text)) => json!(text.value()),
            Some(toml_edit::Value::Boolean(set)) => json!(set.value()),
            Some(other) => json!([other.to_string().trim()]),
            None => Value::Null,
        }
    }
    json!({ way.servers: document.get(way.servers).map_or(Value::Null, of) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way<'_> = Way { servers: "mcp_servers", name: "9plan" };

    fn put_program(text: &str) -> String {
        let variables = [("A".to_owned(), "1".to_owned())];
        put(text, &WAY, &[("command", "/9plan")], ("env", &variables), |key| key == "url").unwrap()
    }

    const ENTRY: &str = "[mcp_servers.9plan]\ncommand = \"/9plan\"\n\n[mcp_servers.9plan.env]\nA = \"1\"\n";

    #[test]
    fn a_new_entry_comes_after_all_else_and_is_cut_out_again() {
        for text in [
            "",
            "# only a comment",
            "a = 1\n[ mcp_servers . docs ]\ncommand = \"x\"\n# args = [\"--old\"]\n",
            "[mcp_servers]\n# none yet\n\n\n[other]\nx = \"\"\"\n[mcp_servers.9plan]\r\n\"\"\"\n",
            "a = 1\r\nb = \"\"\"\nx\r\n\"\"\"\r\n",
        ] {
            let with = put_program(text);
            assert!(with.starts_with(text), "{with:?}");
            assert_eq!(put_program(&with), with);
            let without = remove(&with, &WAY).unwrap();
            assert_eq!(without.trim_end(), text.trim_end(), "{with:?}");
        }
        assert_eq!(put_program(""), ENTRY);
        assert_eq!(remove(ENTRY, &WAY).unwrap(), "");
    }

    #[test]
    fn comments_before_the_next_table_are_not_taken_with_the_entry() {
        let text = format!(
            "[mcp_servers.docs]\ncommand = \"x\"\n# args = []  (kept for later)\n\n{ENTRY}\n# --- below: experiments ---\n[experiments]\n"
        );
        let expected = "[mcp_servers.docs]\ncommand = \"x\"\n# args = []  (kept for later)\n\n# --- below: experiments ---\n[experiments]\n";
        assert_eq!(remove(&text, &WAY).unwrap(), expected);
    }

    #[test]
    fn what_is_laid_out_in_another_way_is_changed_where_it_stands() {
        let inline = "mcp_servers = { docs = { command = \"x\" } } # all\n";
        let with = put_program(inline);
        assert_eq!(
            read(&with, &WAY).unwrap()["mcp_servers"]["9plan"],
            json!({ "command": "/9plan", "env": { "A": "1" } })
        );
        assert_eq!(read(&remove(&with, &WAY).unwrap(), &WAY).unwrap(), read(inline, &WAY).unwrap());
        let old = "[mcp_servers.\"9plan\"]\nurl = \"http://x\"\ncommand = \"/old\" # mine\nenabled = false\n";
        assert_eq!(
            put_program(old),
            "[mcp_servers.\"9plan\"]\ncommand = \"/9plan\" # mine\nenabled = false\n\n[mcp_servers.\"9plan\".env]\nA = \"1\"\n"
        );
        let dotted = "mcp_servers.9plan.command = \"/old\"\nb = 1\n";
        assert_eq!(remove(dotted, &WAY).unwrap(), "b = 1\n");
        assert_eq!(remove(&dotted.replace('\n', "\r\n"), &WAY).unwrap(), "b = 1\r\n");
        assert!(put("mcp_servers = 1\n", &WAY, &[], ("env", &[]), |_| false).is_err());
    }
}
