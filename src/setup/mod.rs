//! `9plan setup`: connecting clients by writing into their own configuration.
//!
//! Owns what is done for a client and what is said of it. Where a client keeps its files is [`client`]'s, what stands in them
//! [`entry`]'s and [`hooks`]', and how a file is changed and nothing else in it is [`json`]'s and [`files`]'.

mod client;
mod entry;
mod files;
mod hooks;
mod json;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use client::{Client, Surroundings, System};
use entry::Entry;
use hooks::Calls;
use json::Unfit;

/// How often a file is tried that its client changes at the same time.
const TRIES: usize = 5;

/// What to do to a client's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Write,
    /// Show what would be written.
    Print,
    Remove,
    /// Show what would be removed.
    PrintRemoval,
}

/// What is to be done.
#[derive(Debug)]
pub struct Task {
    pub client: Client,
    pub action: Action,
    /// The parts of the configuration that it is about.
    pub parts: Vec<Part>,
    /// Further variables for the server.
    pub variables: Vec<(String, String)>,
}

/// A part of a client's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Server,
    Hooks,
}

/// A file that is as it was, and what to do by hand.
struct LeftAlone {
    path: PathBuf,
    why: String,
    by_hand: String,
}

/// The setting up, on this machine or one like it.
pub struct Setup<'a> {
    pub at: Surroundings<'a>,
    /// The absolute path of the program.
    pub program: String,
}

impl Setup<'_> {
    /// Sets a client up, or takes that back, and says what was done. False where something is left to be done by hand.
    ///
    /// # Errors
    ///
    /// Where nothing can be printed.
    pub fn run(&self, task: &Task) -> io::Result<bool> {
        let (mut done, mut left) = (Vec::new(), Vec::new());
        for part in &task.parts {
            let Some(path) = self.file(task.client, *part) else { continue };
            match self.change(task, *part, &path) {
                Ok(said) => done.push(said),
                Err(why) => left.push(LeftAlone { by_hand: self.by_hand(task, *part), path, why }),
            }
        }
        if task.action == Action::Write && left.is_empty() {
            done.push(next(task.client));
        }
        // Printed when all is done: whoever reads may have seen enough.
        for LeftAlone { path, why, by_hand } in &left {
            // Standard error may be closed, which is no reason to fail.
            let _ = writeln!(io::stderr(), "9plan: {} is left as it is: {why}", path.display());
            done.push(by_hand.clone());
        }
        writeln!(io::stdout(), "{}", done.join("\n"))?;
        Ok(left.is_empty())
    }

    /// Lists the clients that are there and what each has.
    ///
    /// # Errors
    ///
    /// Where nothing can be printed.
    pub fn list(&self) -> io::Result<()> {
        let path = (self.at.variable)("PATH");
        let (there, missing): (Vec<Client>, Vec<Client>) = Client::ALL
            .into_iter()
            .partition(|client| files::is_there(&client.traces(&self.at), client.programs(), path.as_ref()));
        let mut out = io::stdout();
        let rows: Vec<[String; 3]> = there
            .iter()
            .filter_map(|client| Some((client, self.file(*client, Part::Server)?)))
            .map(|(client, file)| [client.name().to_owned(), self.standing(*client, &file), file.display().to_string()])
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let (names, standings) = (width(0), width(1));
        for [name, standing, file] in &rows {
            writeln!(out, "{name:names$}  {standing:standings$}  {file}")?;
        }
        let missing: Vec<&str> = missing.into_iter().map(Client::name).collect();
        if !missing.is_empty() {
            writeln!(out, "Not found: {}.", missing.join(", "))?;
        }
        writeln!(out, "Connect one with: 9plan setup CLIENT")
    }

    /// What a client has, in a few words.
    fn standing(&self, client: Client, file: &Path) -> String {
        let text = match files::read(file) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => return format!("cannot be read: {error}"),
        };
        let found = match entry::find(client, unmarked(&text)) {
            Ok(Some(found)) => found,
            Ok(None) => return "not connected".to_owned(),
            Err(_) if text.contains(entry::NAME) => return "names 9plan, but cannot be checked".to_owned(),
            Err(_) => return "not connected; cannot be changed".to_owned(),
        };
        let server = match found.program {
            Some(program) if program == self.program => "connected".to_owned(),
            Some(program) => format!("connected to {program}"),
            None => "connected in another way".to_owned(),
        };
        let Some(settings) = client.hooks(&self.at) else { return server };
        let settings = files::read(&settings).ok().flatten().unwrap_or_default();
        match hooks::count(unmarked(&settings)) {
            Ok((there, all)) if there == all => format!("{server}, with hooks"),
            Ok((0, _)) | Err(_) => format!("{server}, without hooks"),
            Ok((there, all)) => format!("{server}, with {there} of {all} hooks"),
        }
    }

    fn file(&self, client: Client, part: Part) -> Option<PathBuf> {
        match part {
            Part::Hooks => client.hooks(&self.at),
            Part::Server => {
                let candidates = client.files(&self.at);
                let has_entry = |path: &&PathBuf| {
                    let text = files::read(path).ok().flatten().unwrap_or_default();
                    entry::find(client, unmarked(&text)).is_ok_and(|found| found.is_some())
                };
                candidates.iter().find(has_entry).or_else(|| files::meant(&candidates)).cloned()
            }
        }
    }

    /// Does to a file what is to be done, and says so; or says why it is as it was.
    fn change(&self, task: &Task, part: Part, path: &Path) -> Result<String, String> {
        let shown = path.display();
        let mut failed = String::new();
        for _ in 0..TRIES {
            let before = files::read(path).map_err(|error| error.to_string())?;
            let text = before.as_deref().unwrap_or_default();
            let after = self.changed(task, part, text).map_err(|unfit| unfit.to_string())?;
            let same = after == text;
            let replaced = match task.action {
                Action::Print | Action::PrintRemoval if same => return Ok(format!("{shown} would stay as it is.")),
                Action::PrintRemoval => return Ok(format!("{shown} would lose {}.", part.title())),
                Action::Print => return Ok(format!("{shown} would get:\n{}", self.snippet(task, part).trim_end())),
                Action::Write if same => return Ok(format!("{shown} has {} already.", part.title())),
                Action::Remove if same => return Ok(format!("{shown} does not have {}.", part.title())),
                Action::Write | Action::Remove => files::replace(path, before.as_deref(), &after),
            };
            match replaced {
                Ok(copy) => {
                    let what = if task.action == Action::Write { "now has" } else { "no longer has" };
                    let copy = copy.map(|copy| format!(" As it was: {}", copy.display())).unwrap_or_default();
                    return Ok(format!("{shown} {what} {}.{copy}", part.title()));
                }
                Err(error) => failed = error.to_string(),
            }
        }
        Err(failed)
    }

    /// The text of a file as it is to be.
    fn changed(&self, task: &Task, part: Part, text: &str) -> Result<String, Unfit> {
        let bare = unmarked(text);
        let mark = &text[..text.len() - bare.len()];
        let changed = match (part, task.action) {
            (Part::Server, Action::Remove | Action::PrintRemoval) => entry::remove(task.client, bare),
            (Part::Hooks, Action::Remove | Action::PrintRemoval) => hooks::remove(bare),
            (Part::Server, _) => entry::put(task.client, bare, &self.entry(task)),
            (Part::Hooks, _) => hooks::put(bare, &self.calls(task, &self.variables(task))),
        };
        Ok(format!("{mark}{}", changed?))
    }

    fn entry<'a>(&'a self, task: &'a Task) -> Entry<'a> {
        Entry { program: &self.program, variables: &task.variables }
    }

    fn calls<'a>(&'a self, task: &Task, variables: &'a [(String, String)]) -> Calls<'a> {
        debug_assert!(task.client.hooks(&self.at).is_some());
        Calls { system: self.at.system, program: &self.program, variables }
    }

    /// The variables that the server will have: those that its entry keeps, and those that are given now.
    fn variables(&self, task: &Task) -> Vec<(String, String)> {
        let file = self.file(task.client, Part::Server);
        let text = file.and_then(|file| files::read(&file).ok().flatten()).unwrap_or_default();
        let kept = entry::find(task.client, unmarked(&text)).ok().flatten().map(|found| found.variables);
        let mut variables = kept.unwrap_or_default();
        variables.retain(|(name, _)| task.variables.iter().all(|(other, _)| other != name));
        variables.extend(task.variables.iter().cloned());
        variables
    }

    fn snippet(&self, task: &Task, part: Part) -> String {
        match part {
            Part::Server => entry::snippet(task.client, &self.entry(task)),
            Part::Hooks => hooks::snippet(&self.calls(task, &self.variables(task))),
        }
    }

    fn by_hand(&self, task: &Task, part: Part) -> String {
        match (task.action, part) {
            (Action::Remove | Action::PrintRemoval, Part::Server) => {
                format!("Take {} out of it by hand.", task.client.place())
            }
            (Action::Remove | Action::PrintRemoval, Part::Hooks) => {
                "Take the hooks that call 9plan out of it by hand.".to_owned()
            }
            (_, _) => {
                format!("Put this into it by hand, beside what is there:\n{}", self.snippet(task, part).trim_end())
            }
        }
    }
}

impl Part {
    fn title(self) -> &'static str {
        match self {
            Self::Server => "9plan",
            Self::Hooks => "the hooks of 9plan",
        }
    }
}

/// A text without the byte order mark before it.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// What to do once a client is set up.
fn next(client: Client) -> String {
    let more = match client {
        Client::Gemini => " It starts servers only in folders that it trusts.",
        Client::Codex => {
            " It hands servers none of your variables: if you set NINEPLAN_SESSIONS_PATH or XDG_DATA_HOME, give the server \
             the same sessions with --env NINEPLAN_SESSIONS_PATH=FOLDER."
        }
        _ => "",
    };
    format!("Restart {}, then say: Use 9plan for this task.{more}", client.title())
}
