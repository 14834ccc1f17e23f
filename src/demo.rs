//! `9plan demo`: one whole session, played against the real server over standard input and output.
//!
//! Owns the story and how it is printed: each call and each reply as an agent sees them, in 80 columns. It is a client
//! like any other, so that it knows nothing of the server but the protocol and the names of the tools.

use std::io::{self, IsTerminal, Write};
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Client;

/// The widest line that is printed, in characters.
const WIDTH: usize = 80;

/// What stands before each line of a reply.
const MARGIN: &str = "  | ";

/// Plays the session. `colour` says whether the user wants any; there is none where output is no terminal.
///
/// # Errors
///
/// Where the server cannot be run, or a reply is not what it should be.
pub fn run(colour: bool) -> io::Result<()> {
    let folder = tempfile::Builder::new().prefix("9plan-").tempdir()?;
    let mut server = Command::new(std::env::current_exe()?);
    for variable in ["NINEPLAN_TRANSPORT", "NINEPLAN_TOOL_PREFIX", "NINEPLAN_TOOLSETS"] {
        server.env_remove(variable);
    }
    server.env("NINEPLAN_SESSIONS_PATH", folder.path()).env("NINEPLAN_LOG_LEVEL", "error");
    let print = Printer { colour: colour && io::stdout().is_terminal() };
    let mut player = Player { client: Client::start(server, "9plan-demo")?, print };
    play(&mut player)?;
    player.client.finish()?;
    folder.close()
}

fn play(client: &mut Player) -> io::Result<()> {
    client.print.heading("An agent starts a session, and writes three plans for the work.")?;
    let created =
        client.call("session_create", &json!({ "task_description": "Show blog posts from the Ghost API" }))?;
    let session = text(&created, "session_name").to_owned();
    expect(session.split('-').count() == 3, "a name of three words")?;
    let mut ids = Vec::new();
    for (position, plan) in (1..).zip(plans()) {
        let added = client.call("queue_add", &plan)?;
        expect(added["queue_position"] == position, "the plan at the back of the queue")?;
        ids.push(text(&added, "plan_id").to_owned());
    }

    client.print.heading("It pulls the first plan, cannot go on, and puts it back.")?;
    let pulled = client.call("queue_pull", &json!({}))?;
    expect(text(&pulled, "plan_id") == ids[0], "the first plan")?;
    let reason = "The API key is missing; asked the user for it.";
    let deferred = client.call("plan_defer", &json!({ "reason": reason, "position": "back" }))?;
    expect(deferred["queue_position"] == 3, "the plan at the end of the queue")?;

    client.print.heading("It does the next plan, and says what came of it.")?;
    let pulled = client.call("queue_pull", &json!({}))?;
    expect(text(&pulled, "plan_id") == ids[1], "the second plan")?;
    let outcome = "PostCache in src/lib/post_cache.ts keeps authenticated responses for five minutes.";
    let completed = client.call("plan_complete", &json!({ "outcome": outcome }))?;
    expect(completed["completed_count"] == 1, "one completed plan")?;

    client.print.heading("Later plans find it, by other words than it was written in.")?;
    let found = client.call("history_search", &json!({ "query": "caching authentication" }))?;
    expect(text(&found["matches"][0], "id") == ids[1], "the completed plan")?;
    let whole = client.call("history_get", &json!({ "plan_id": ids[1] }))?;
    expect(text(&whole, "outcome") == outcome, "the outcome")?;

    client.print.heading("The context is gone. One call brings everything back.")?;
    let resumed = client.call("session_resume", &json!({ "session_name": session }))?;
    let queue: Vec<&str> = resumed["queue"].as_array().into_iter().flatten().map(|plan| text(plan, "id")).collect();
    expect(queue == [&ids[2], &ids[0]], "the two plans that are left")?;
    client.print.heading("That was a whole session. The temporary folder is removed again.")
}

fn plans() -> [Value; 3] {
    [
        json!({
            "context": "First of three plans for showing blog posts.",
            "goal": "Create an authenticated Ghost API client",
            "approach": "1. Read the key from the settings.\n2. Wrap fetch in GhostClient.",
            "success_criteria": "listPosts() returns posts from the test blog.",
            "outputs": "- API client: GhostClient in src/lib/ghost_client.ts",
        }),
        json!({
            "context": "Second of three plans for showing blog posts.",
            "goal": "Cache the responses of the API",
            "approach": "Keep them in memory, with a time to live.",
            "success_criteria": "A second request within five minutes makes no call.",
            "inputs": "- API client: from the plan that creates it",
            "outputs": "- Cache: PostCache",
        }),
        json!({
            "context": "Last of three plans for showing blog posts.",
            "goal": "Show the posts on a page",
            "approach": "A PostList component that reads through the cache.",
            "success_criteria": "The page lists the posts of the test blog.",
            "inputs": "- Cache: from the plan that caches responses",
        }),
    ]
}

fn text<'a>(fields: &'a Value, name: &str) -> &'a str {
    fields[name].as_str().unwrap_or_default()
}

fn expect(right: bool, what: &str) -> io::Result<()> {
    if right { Ok(()) } else { Err(io::Error::other(format!("the last reply is wrong: it should give {what}"))) }
}

/// A client whose calls and replies are printed.
struct Player {
    client: Client,
    print: Printer,
}

impl Player {
    /// Calls a tool, prints the call and the reply, and gives the structured content.
    fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        let name = format!("9plan_{tool}");
        self.print.call(&name, arguments)?;
        let result = self.client.request("tools/call", &json!({ "name": name, "arguments": arguments }))?;
        let reply = text(&result["content"][0], "text");
        self.print.reply(reply)?;
        expect(result["isError"] != true, "no error")?;
        expect(reply.starts_with("[Session: "), "the session's name at the head of the reply")?;
        Ok(result["structuredContent"].clone())
    }
}

/// Prints to standard output.
struct Printer {
    colour: bool,
}

impl Printer {
    fn heading(&self, text: &str) -> io::Result<()> {
        print_line("", &self.painted("1", text))?;
        print_line("", "")
    }

    fn call(&self, name: &str, arguments: &Value) -> io::Result<()> {
        print_line("", &self.painted("36", &format!("> {name}")))?;
        for (name, value) in arguments.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            for line in wrapped(&format!("{name}: {value}"), WIDTH - 4) {
                print_line("    ", &line)?;
            }
        }
        Ok(())
    }

    fn reply(&self, text: &str) -> io::Result<()> {
        for line in wrapped(text, WIDTH - MARGIN.len()) {
            print_line(&self.painted("2", MARGIN), &line)?;
        }
        print_line("", "")
    }

    fn painted(&self, style: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn print_line(margin: &str, text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{}", format!("{margin}{text}").trim_end())
}

/// The lines of a text, broken between words where they are too long, and inside a word that is.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let words = line.trim_start_matches(' ');
        let mut current = " ".repeat((line.len() - words.len()).min(width / 2));
        for (number, word) in words.split(' ').enumerate() {
            if number > 0 && current.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut current));
            } else if number > 0 {
                current.push(' ');
            }
            for letter in word.chars() {
                if current.chars().count() == width {
                    lines.push(std::mem::take(&mut current));
                }
                current.push(letter);
            }
        }
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_and_long_words_are_broken() {
        assert_eq!(wrapped("one two three\n\nfour", 7), ["one two", "three", "", "four"]);
        assert_eq!(wrapped("a 123456789", 4), ["a", "1234", "5678", "9"]);
        assert_eq!(wrapped("1. point\n   more of it", 10), ["1. point", "   more of", "it"]);
    }
}
