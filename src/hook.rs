//! `9plan hook`: what a client shows its model around the loss of its context.
//!
//! Owns which session is meant, and that a hook never holds anything up: whatever is wrong, it says so on standard error,
//! prints nothing and succeeds. The texts are [`crate::tools::reminder`]'s.
//!
//! The input is that of Claude Code's hooks, <https://code.claude.com/docs/en/hooks>; other clients have taken it over.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::error::Error;
use crate::plan::SessionName;
use crate::sessions::{Place, Sessions};
use crate::store::{Binding, Summary};
use crate::tools::reminder::{AtWork, Names, OUTCOMES_LISTED};

/// How long a hook may take: only a disk that hangs takes longer.
const MOST_TIME: Duration = Duration::from_secs(2);

/// The moment at which a client calls.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    SessionStart,
    PreCompact,
    Prompt,
}

impl Moment {
    /// The moment as the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::PreCompact => "pre-compact",
            Self::Prompt => "prompt",
        }
    }
}

/// What the client writes, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
struct Input {
    /// The client's id of the conversation.
    session_id: Option<String>,
    /// The folder in which the agent is at the moment.
    cwd: Option<PathBuf>,
    /// Why the conversation starts: `startup`, `resume`, `clear` or `compact`.
    source: Option<String>,
}

/// A hook that is called.
pub struct Hook {
    pub moment: Moment,
    pub sessions: Sessions,
    /// The folder of the client's project, and the one in which the hook was started.
    pub project: Option<PathBuf>,
    pub current: Option<PathBuf>,
    /// The client's process.
    pub client_process: Option<u32>,
    /// What the names of the tools begin with.
    pub prefix: String,
}

/// Reads what the client writes to standard input, and prints what its model is to see.
///
/// # Errors
///
/// What went wrong, for standard error; nothing was printed.
pub fn run(hook: Hook) -> Result<(), String> {
    let (sender, said) = channel();
    // Not on this thread, which must not hang with the disk.
    let work = move || {
        // Nobody waits for it after the time is up.
        let _ = sender.send(Sessions::briefly(|| hook.said(io::stdin())));
    };
    thread::Builder::new().name("hook".to_owned()).spawn(work).map_err(|error| error.to_string())?;
    let text = said.recv_timeout(MOST_TIME).map_err(|_slow_or_gone| "it came to no end".to_owned())??;
    io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}

impl Hook {
    fn said(&self, input: impl Read) -> Result<String, String> {
        // The client may leave the stream open behind what it has written.
        let mut values = serde_json::Deserializer::from_reader(input).into_iter::<Input>();
        let input = values
            .next()
            .ok_or("the input is empty")?
            .map_err(|fault| format!("the input is not understood: {fault}"))?;
        self.text(&input).map_err(|error| error.to_string())
    }

    fn text(&self, input: &Input) -> Result<String, Error> {
        let place = self.place(input);
        let names = Names { prefix: &self.prefix };
        if matches!(self.moment, Moment::SessionStart) {
            self.note_conversation(input, &place);
        }
        let source = input.source.as_deref();
        match (self.moment, self.own(&place)) {
            (Moment::SessionStart, Some((name, client))) if matches!(source, Some("compact" | "resume" | "clear")) => {
                if source == Some("compact") {
                    self.note_compaction(&name, client);
                }
                self.whole(&name, &names)
            }
            (Moment::SessionStart, _) => Ok(self.offer(&place, &names)),
            (Moment::PreCompact, Some((name, client))) => {
                self.note_compaction(&name, client);
                Ok(names.keep(&name, &self.sessions.view(&name)?.state()?))
            }
            (Moment::Prompt, Some((name, client))) if self.sessions.is_unasked(&name, client) => {
                Ok(names.unasked(&name))
            }
            (Moment::PreCompact | Moment::Prompt, _) => Ok(String::new()),
        }
    }

    /// Where the client works: in its project, into which the agent may have gone deeper for a while, or where the agent has
    /// gone out of it.
    fn place(&self, input: &Input) -> Place {
        let at = |folder: Option<&PathBuf>| Place::new(folder.map(PathBuf::as_path), input.session_id.as_deref());
        let (project, cwd) = (at(self.project.as_ref()), at(input.cwd.as_ref()));
        match (&project.folder, &cwd.folder) {
            (Some(project), Some(_)) if !cwd.folders().contains(project) => cwd,
            (Some(_), _) => project,
            (None, Some(_)) => cwd,
            (None, None) => at(self.current.as_ref()),
        }
    }

    /// The session of the conversation, unless it is another folder's; and the conversation.
    fn own<'a>(&self, place: &'a Place) -> Option<(SessionName, &'a Binding)> {
        let client = place.client.as_ref()?;
        let mut folders = place.folders();
        // Wherever the agent has gone, the project is that of its client.
        folders.extend(Place::new(self.project.as_deref(), None).folders());
        let (name, _) = self.sessions.unfinished(client, &folders)?;
        Some((name, client))
    }

    fn offer(&self, place: &Place, names: &Names<'_>) -> String {
        let found: Option<(SessionName, Summary)> =
            place.folder.as_ref().and_then(|folder| self.sessions.unfinished(folder, &[]));
        found.map(|(name, summary)| names.offer(&name, &summary)).unwrap_or_default()
    }

    fn whole(&self, name: &SessionName, names: &Names<'_>) -> Result<String, Error> {
        let mut view = self.sessions.view(name)?;
        let state = view.state()?;
        let (text, fault) = state.active.as_ref().map(|active| view.text_of_active(active)).unwrap_or_default();
        let outcomes = view.last_outcomes(OUTCOMES_LISTED)?;
        let fault = fault.map(|fault| fault.to_string());
        Ok(names.whole(name, &AtWork { state: &state, text, fault, outcomes: &outcomes }))
    }

    /// Lets the servers of the client know which conversation it is at, where that is another one than when it was started.
    fn note_conversation(&self, input: &Input, place: &Place) {
        let Some(process) = self.client_process else { return };
        let other = (input.source.as_deref() != Some("startup")).then_some(place);
        if let Err(error) = self.sessions.note_conversation(process, other) {
            tracing::warn!(%error, "the conversation cannot be noted");
        }
    }

    fn note_compaction(&self, name: &SessionName, conversation: &Binding) {
        if let Err(error) = self.sessions.note_compaction(name, conversation) {
            tracing::warn!(session = %name, %error, "the compaction cannot be noted");
        }
    }
}
