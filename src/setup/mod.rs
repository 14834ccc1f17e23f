//! `9plan setup`: connecting clients by writing into their own configuration.
//!
//! Owns what is done for a client and what is said of it. Where a client keeps its files is [`client`]'s, what stands in them
//! [`entry`]'s and [`hooks`]', and how a file is changed and nothing else in it is [`json`]'s, [`toml`]'s and [`files`]'.

mod client;
mod entry;
mod files;
mod hooks;
mod json;
mod toml;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

pub use client::{Client, Surroundings, System};
use entry::Entry;
use hooks::Calls;
use json::Unfit;

/// How often a file is tried that its client changes at the same time.
const TRIES: u32 = 5;

/// How much longer is waited before each further try.
const PAUSE: Duration = Duration::from_millis(20);

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
            _ if found.is_off => "switched off".to_owned(),
            Some(program) if program == self.program => "connected".to_owned(),
            Some(program) => format!("connected to {program}"),
            None => "connected in another way".to_owned(),
        };
        let Some(settings) = client.hooks(&self.at) else { return server };
        let settings = files::read(&settings).ok().flatten().unwrap_or_default();
        match hooks::count(unmarked(&settings), &self.program) {
            Ok((there, all)) if there == all => format!("{server}, with hooks"),
            Ok((0, _)) | Err(_) => format!("{server}, without hooks"),
            Ok((there, all)) => format!("{server}, with {there} of {all} hooks"),
        }
    }

    fn file(&self, client: Client, part: Part) -> Option<PathBuf> {
        match part {
            Part::Hooks => client.hooks(&self.at),
            Part::Server => {
                if let Some(older) = client.older_file(&self.at).filter(|file| file.exists()) {
                    return Some(older);
                }
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
        let (shown, what) = (path.display(), part.title());
        let mut failed = String::new();
        for pause in 0..TRIES {
            // Its client writes the file too.
            thread::sleep(PAUSE * pause);
            let before = files::read(path).map_err(|error| error.to_string())?;
            let text = before.as_deref().unwrap_or_default();
            let after = match self.changed(task, part, text) {
                Ok(after) => after,
                // Whatever it is, there is nothing of ours in it.
                Err(_) if task.action.removes() && !text.contains(entry::NAME) => text.to_owned(),
                Err(unfit) => return Err(unfit.to_string()),
            };
            let same = after == text;
            match task.action {
                Action::Print | Action::PrintRemoval if same => return Ok(format!("{shown} would stay as it is.")),
                Action::PrintRemoval => return Ok(format!("{shown} would lose {what}.")),
                Action::Print => {
                    return Ok(format!("{shown} would get:\n{}", self.excerpt(task, part, &after).trim_end()));
                }
                Action::Remove if same => return Ok(format!("{shown} does not have {what}.")),
                Action::Write if same => return Ok(format!("{shown} has {what} already.{}", off(task, part, &after))),
                Action::Write | Action::Remove => {}
            }
            match replaced(path, before.as_deref(), &after) {
                Ok(copy) => {
                    let now = if task.action == Action::Write { "now has" } else { "no longer has" };
                    let copy = copy.map(|copy| format!(" As it was before: {}", copy.display())).unwrap_or_default();
                    return Ok(format!("{shown} {now} {what}.{}{copy}", off(task, part, &after)));
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
        let changed = match (part, task.action.removes()) {
            (Part::Server, true) => entry::remove(task.client, bare),
            (Part::Hooks, true) => hooks::remove(bare, &self.program),
            (Part::Server, false) => entry::put(task.client, bare, &self.entry(task)),
            (Part::Hooks, false) => hooks::put(bare, &self.calls(&self.variables(task))),
        };
        Ok(format!("{mark}{}", changed?))
    }

    /// The part as a text has it.
    fn excerpt(&self, task: &Task, part: Part, text: &str) -> String {
        match part {
            Part::Server => entry::excerpt(task.client, unmarked(text)).unwrap_or_default(),
            Part::Hooks => hooks::snippet(&self.calls(&self.variables(task))),
        }
    }

    fn entry<'a>(&'a self, task: &'a Task) -> Entry<'a> {
        Entry { program: &self.program, variables: &task.variables }
    }

    fn calls<'a>(&'a self, variables: &'a [(String, String)]) -> Calls<'a> {
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

    /// What a person does where the file is left as it is.
    fn by_hand(&self, task: &Task, part: Part) -> String {
        let snippet = match (part, task.action.removes()) {
            (Part::Server, true) => return format!("Take {} out of it by hand.", task.client.place()),
            (Part::Hooks, true) => return "Take the hooks that call 9plan out of it by hand.".to_owned(),
            (Part::Server, false) => entry::snippet(task.client, &self.entry(task)),
            (Part::Hooks, false) => hooks::snippet(&self.calls(&self.variables(task))),
        };
        format!("Put this into it by hand, beside what is there:\n{}", snippet.trim_end())
    }
}

impl Action {
    fn removes(self) -> bool {
        matches!(self, Self::Remove | Self::PrintRemoval)
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

/// Replaces a file, and gives the path of the copy of it as it was. Where there is a copy from before 9plan was in it, that one
/// stays.
fn replaced(path: &Path, before: Option<&str>, after: &str) -> io::Result<Option<PathBuf>> {
    let mut copy = None;
    if let Some(before) = before {
        let earlier = files::copy_of(path);
        let stays = before.contains(entry::NAME) && earlier.exists();
        copy = Some(if stays { earlier } else { files::keep_copy(path, before)? });
    }
    files::replace(path, before, after)?;
    Ok(copy)
}

/// What is to be said of an entry that the client is told not to start.
fn off(task: &Task, part: Part, text: &str) -> &'static str {
    let found = entry::find(task.client, unmarked(text)).ok().flatten();
    let is_off = part == Part::Server && found.is_some_and(|found| found.is_off);
    if is_off { " It is switched off there." } else { "" }
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
