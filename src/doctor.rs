//! `9plan doctor`: whether the sessions are in order and the server serves.
//!
//! Owns what is looked at and how it is said. Without being told to it changes nothing; what it then repairs is what opening
//! a session repairs.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use crate::client::Client;
use crate::error::Error;
use crate::plan::{PlanId, SessionName};
use crate::sessions::{Sessions, Survey};

/// Whether repairs that are due are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repairs {
    Made,
    Told,
}

/// Everything that was looked at.
#[derive(Debug, Serialize)]
pub struct Report {
    pub ok: bool,
    #[serde(skip)]
    repairs: Repairs,
    program: String,
    version: &'static str,
    sessions_root: Root,
    sessions: Vec<Session>,
    /// Hidden folders of sessions that were never whole.
    unfinished_folders: Vec<String>,
    server: Server,
}

#[derive(Debug, Serialize)]
struct Root {
    path: String,
    /// None where it can be used, or is not there yet.
    problem: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct Session {
    name: String,
    ok: bool,
    /// What opening the session would repair.
    repairs_due: Vec<String>,
    /// What was repaired.
    repaired: Vec<String>,
    /// What nobody but a person can put right.
    issues: Vec<String>,
    note: Option<&'static str>,
}

#[derive(Debug, Default, Serialize)]
struct Server {
    ok: bool,
    problem: Option<String>,
    /// From its start to its answer to `initialize`.
    milliseconds: Option<f64>,
    tools: Option<usize>,
    /// What `tools/list` answers, as JSON.
    tool_list_bytes: Option<usize>,
    /// What a model is shown of that: names, descriptions and input schemas.
    model_bytes: Option<usize>,
}

/// Looks at everything. `program` is this one, `prefix` what the names of its tools begin with.
pub fn examine(sessions: &Sessions, program: &Path, prefix: &str, repairs: Repairs) -> Report {
    let (survey, unreadable) = match sessions.survey() {
        Ok(survey) => (survey, None),
        Err(error) => (Survey::default(), Some(error)),
    };
    let problem = unreadable.or(sessions.check_root().err());
    let found: Vec<Session> = survey.sessions.iter().map(|name| check(sessions, name, repairs)).collect();
    let unfinished = match repairs {
        Repairs::Told => survey.unfinished,
        Repairs::Made => {
            sessions.sweep(&survey.unfinished);
            sessions.survey().unwrap_or_default().unfinished
        }
    };
    // Of sessions there are none below this: a server that lists them clears away what was never finished.
    let nowhere = sessions.root().join(".doctor");
    let server = Server::tried(program, prefix, &nowhere)
        .unwrap_or_else(|error| Server { problem: Some(error.to_string()), ..Server::default() });
    Report {
        repairs,
        ok: problem.is_none() && found.iter().all(|session| session.ok) && unfinished.is_empty() && server.ok,
        program: program.display().to_string(),
        version: env!("CARGO_PKG_VERSION"),
        sessions_root: Root {
            path: sessions.root().display().to_string(),
            problem: problem.map(|error| format!("{error}.")),
        },
        sessions: found,
        unfinished_folders: unfinished.iter().map(|folder| folder.display().to_string()).collect(),
        server,
    }
}

fn check(sessions: &Sessions, name: &SessionName, repairs: Repairs) -> Session {
    let mut session = Session { name: name.to_string(), ..Session::default() };
    if let Err(error) = session.look(sessions, name, repairs) {
        session.issues.push(advised(&error));
    }
    session.ok = session.repairs_due.is_empty() && session.issues.is_empty();
    session
}

/// What is wrong, and what to do.
fn advised(error: &Error) -> String {
    let said = error.to_string();
    format!("{}. {}", said.trim_end_matches('.'), error.suggestion(""))
}

/// Whether an issue is one that a repair of the plan's file puts right.
fn is_repaired(issue: &str, id: &PlanId) -> bool {
    let faults = ["has no file.", "is left over from an unfinished write.", "is still there."];
    issue.contains(id.as_str()) && faults.iter().any(|fault| issue.ends_with(fault))
}

impl Session {
    fn look(&mut self, sessions: &Sessions, name: &SessionName, repairs: Repairs) -> Result<(), Error> {
        let mut view = sessions.view(name)?;
        if view.is_plain()? {
            view.summary()?;
            self.note = Some("It is of an earlier form, and is brought up to date when it is next opened.");
            return Ok(());
        }
        let mut due = view.repairs_due()?;
        if repairs == Repairs::Made && !due.is_empty() {
            self.repaired = sessions.store(name)?.lock().take_repaired();
            // There may be more of them than can be open at once.
            sessions.give_up(name);
            due = view.repairs_due()?;
        }
        self.repairs_due = due.iter().map(|(_, phrase)| phrase.clone()).collect();
        if view.is_read_only()? {
            self.issues.push("session.db cannot be written to. See to its owner and its rights.".to_owned());
        }
        match view.audit() {
            Ok(audit) => {
                let issues = audit.issues.into_iter().map(|(_, issue)| issue);
                // What is to be repaired is said once.
                self.issues.extend(issues.filter(|issue| !due.iter().any(|(id, _)| is_repaired(issue, id))));
            }
            // The folder of plans may be missing, which is repaired as well.
            Err(Error::FileSystem { .. }) if !due.is_empty() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Server {
    /// Starts the server as a client does, and makes a call that changes nothing. `root` is where it looks for sessions.
    fn tried(program: &Path, prefix: &str, root: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.env("NINEPLAN_SESSIONS_PATH", root).env_remove("NINEPLAN_TRANSPORT").stderr(Stdio::piped());
        let start = Instant::now();
        let mut client = Client::start(command, "9plan-doctor")?;
        let took = start.elapsed();
        let tools = client.request("tools/list", &json!({}))?["tools"].take();
        let call = json!({ "name": format!("{prefix}admin_sessions"), "arguments": { "limit": 1 } });
        let called = client.request("tools/call", &call)?;
        client.finish()?;
        let shown = tools.as_array().into_iter().flatten().map(|tool| {
            let shown = ["name", "description", "inputSchema"].map(|part| (part, &tool[part]));
            json!(BTreeMap::from(shown)).to_string().len() + ",".len()
        });
        let failed = called["isError"] == true;
        Ok(Self {
            ok: !failed,
            problem: failed.then(|| called["content"][0]["text"].as_str().unwrap_or_default().to_owned()),
            milliseconds: Some(took.as_secs_f64() * 1_000.0),
            tools: tools.as_array().map(Vec::len),
            tool_list_bytes: Some(tools.to_string().len()),
            model_bytes: Some(shown.sum::<usize>() + "[]".len() - 1),
        })
    }
}

impl Report {
    /// What is said of a folder that is still there.
    fn why_it_stays(&self) -> &'static str {
        match self.repairs {
            Repairs::Told => "",
            Repairs::Made => "; it stays, since something else is in it or a session is being made",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Program   {} {}", self.program, self.version)?;
        writeln!(f, "Sessions  {} in {}", self.sessions.len(), self.sessions_root.path)?;
        if let Some(problem) = &self.sessions_root.problem {
            writeln!(f, "  {problem}")?;
        }
        for session in &self.sessions {
            let name = &session.name;
            let said = session.repaired.iter().chain(&session.issues).cloned();
            let due = session.repairs_due.iter().map(|repair| format!("opening it would {repair}"));
            let note = session.note.map(str::to_owned);
            said.chain(due).chain(note).try_for_each(|said| writeln!(f, "  {name}: {said}"))?;
        }
        for folder in &self.unfinished_folders {
            writeln!(f, "  {folder}: a session that was never finished{}", self.why_it_stays())?;
        }
        let server = &self.server;
        if let Some(milliseconds) = server.milliseconds {
            let called = if server.ok { "and answered a call" } else { "but failed in a call" };
            writeln!(f, "Server    started in {milliseconds:.1} ms {called}")?;
        } else {
            writeln!(f, "Server    does not serve")?;
        }
        if let Some(problem) = &server.problem {
            writeln!(f, "  {problem}")?;
        }
        if let (Some(tools), Some(list), Some(model)) = (server.tools, server.tool_list_bytes, server.model_bytes) {
            writeln!(f, "Tools     {tools} in {list} bytes, of which a model is shown {model}")?;
        }
        let due = self.repairs == Repairs::Told
            && (self.sessions.iter().any(|session| !session.repairs_due.is_empty())
                || !self.unfinished_folders.is_empty());
        writeln!(
            f,
            "\n{}",
            match (self.ok, due) {
                (true, _) => "Everything is in order.",
                (false, true) => "Something is wrong. `9plan doctor --fix` makes the repairs that are due.",
                (false, false) => "Something is wrong.",
            }
        )
    }
}
