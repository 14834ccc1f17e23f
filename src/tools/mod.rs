//! The tools: arguments in, a reply or an error out.
//!
//! Owns what the tools have in common: the call that a handler is given, the session that it is about, and how much of a
//! long text a reply holds. Knows no protocol: a reply is a struct that serialises to the structured content and displays
//! as the text. Both say the same, since clients show the model one or the other.

pub mod admin;
pub mod history;
pub mod plan;
pub mod queue;
pub mod reminder;
pub mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::plan::{PlanId, SessionName, clip, fitting};
use crate::sessions::{Place, Sessions, SharedStore};
use crate::store::{Binding, QueuedPlan};

/// The most bytes of JSON that the longest text of a reply takes: it stands there twice, and a line of a reply stays below
/// 60 KiB.
const LONG_TEXT: usize = 25_000;

/// The same for a list, all its texts together.
const LIST_TEXTS: usize = 9_000;

/// The same for one goal where it stands alone.
const GOAL: usize = 1_000;

/// How much of a client's name is kept with each event.
const CLIENT: usize = 100;

/// How many sessions are named to a caller that has to choose.
const CANDIDATES: usize = 5;

/// What one client has done on one connection.
pub struct Connection {
    sessions: Arc<Sessions>,
    prefix: String,
    place: Option<Place>,
    current: Option<SessionName>,
    used: BTreeSet<SessionName>,
    /// The sessions that were made or resumed here, and what each is known to be bound to.
    bound: BTreeMap<SessionName, Vec<Binding>>,
}

impl Connection {
    /// A new connection of a client that works at `place`, if that is known. Its current session is the unfinished one that
    /// the same conversation had before, if there is one. `prefix` is what the names of the tools begin with.
    pub fn new(sessions: Arc<Sessions>, prefix: String, place: Option<Place>) -> Self {
        let mut connection =
            Self { sessions, prefix, place, current: None, used: BTreeSet::new(), bound: BTreeMap::new() };
        connection.current = connection.continued();
        connection
    }

    /// The unfinished session of the client's conversation.
    fn continued(&self) -> Option<SessionName> {
        let place = self.place.as_ref()?;
        Sessions::briefly(|| self.sessions.continued(place)).map(|(name, _)| name)
    }

    /// The session that a call will be about, as far as can be told before it is made. `named` is the argument as it came.
    pub fn session(&self, named: Option<&str>) -> Option<SessionName> {
        named.map_or_else(|| self.current.clone(), |text| SessionName::parse(text).ok())
    }
}

/// What a call means that names no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// The connection's current session, always.
    Current,
    /// The connection's current session, unless a change might go to the wrong one: callers are expected to be explicit.
    CurrentIfClear,
}

/// Whether a tool changes a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Change,
}

/// One call of a tool.
pub struct Call<'a> {
    connection: &'a mut Connection,
    unnamed: Unnamed,
    client: Option<String>,
    opened: Option<Opened>,
}

/// The session that a call is about.
#[derive(Clone)]
struct Opened {
    name: SessionName,
    store: SharedStore,
}

impl<'a> Call<'a> {
    /// A call by the client of this name.
    pub fn new(connection: &'a mut Connection, unnamed: Unnamed, client: Option<&str>) -> Self {
        let client = client.map(|name| clip(name, CLIENT));
        Self { connection, unnamed, client, opened: None }
    }

    /// Opens the session that the call is about: the one it names, else the connection's current one. That session
    /// is the current one from now on.
    ///
    /// # Errors
    ///
    /// `SESSION_NOT_FOUND`, `VALIDATION_ERROR`, or what opening the session gives.
    fn open(&mut self, named: Option<&str>, access: Access) -> Result<Opened, Error> {
        let name = match named {
            Some(text) => SessionName::parse(text)?,
            None => self.implied(access)?,
        };
        let store = self.connection.sessions.store(&name)?;
        self.connection.sessions.note_call(&name);
        let opened = Opened { name, store };
        self.opened = Some(opened.clone());
        // The client may have gone on to another conversation since it made or resumed the session.
        if access == Access::Change && self.connection.bound.contains_key(&opened.name) {
            self.bind(&opened)?;
        }
        self.connection.used.insert(opened.name.clone());
        self.connection.current = Some(opened.name.clone());
        Ok(opened)
    }

    /// The session of a call that names none.
    fn implied(&self, access: Access) -> Result<SessionName, Error> {
        let Some(current) = &self.connection.current else {
            // Which conversation it is may be known only since the connection began.
            let continued = self.connection.continued();
            return continued.ok_or_else(|| self.connection.sessions.none_current());
        };
        // Agents that share a connection would write into each other's session.
        if self.unnamed == Unnamed::CurrentIfClear && access == Access::Change && self.connection.used.len() > 1 {
            let sessions = &self.connection.sessions;
            // A session that cannot be looked at counts as finished, which one that is busy is not.
            Sessions::takes_long()?;
            let unfinished: Vec<&str> = self
                .connection
                .used
                .iter()
                .filter(|name| sessions.is_unfinished(name).unwrap_or(false))
                .take(CANDIDATES)
                .map(SessionName::as_str)
                .collect();
            if unfinished.len() > 1 {
                return Err(Error::validation(
                    "This connection has used more than one unfinished session, and the call does not say which it means.",
                    format!("Call again with session_name: {}.", unfinished.join(" or ")),
                ));
            }
        }
        Ok(current.clone())
    }

    /// Makes a session, bound to the place where the client works.
    fn create(&mut self, task: Option<&str>) -> Result<SessionName, Error> {
        let bindings = self.bindings();
        let name = self.sessions().create(task, &bindings)?;
        self.connection.bound.insert(name.clone(), bindings);
        Ok(name)
    }

    /// What a session is bound to that is made or resumed now: the client's conversation may be another one than before.
    fn bindings(&self) -> Vec<Binding> {
        let place = self.connection.place.as_ref();
        place.map(|place| self.sessions().bindings(place)).unwrap_or_default()
    }

    /// Binds a session to the place where the client works. Where that fails, the session is as good as before.
    ///
    /// # Errors
    ///
    /// `DATABASE_ERROR` where the call is in haste and it would take long.
    fn bind(&mut self, session: &Opened) -> Result<(), Error> {
        let bindings = self.bindings();
        let listed = self.sessions().list_at(&session.name, &bindings);
        let is_known = self.connection.bound.get(&session.name) == Some(&bindings);
        let bound = if is_known { Ok(()) } else { session.store.lock().bind(&bindings) };
        if Sessions::gave_up_in_haste() {
            return listed.and(bound);
        }
        match listed.and(bound) {
            Ok(()) => drop(self.connection.bound.insert(session.name.clone(), bindings)),
            Err(error) => {
                tracing::warn!(%error, "the session is not bound to where it is resumed");
                // The next change tries again.
                self.connection.bound.insert(session.name.clone(), Vec::new());
            }
        }
        Ok(())
    }

    fn sessions(&self) -> &Sessions {
        &self.connection.sessions
    }

    fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// The name of a tool as the client knows it.
    fn tool(&self, name: &str) -> String {
        format!("{}{name}", self.connection.prefix)
    }

    /// What the names of the tools begin with.
    pub fn prefix(&self) -> &str {
        &self.connection.prefix
    }

    /// The session to name in the reply to this call.
    pub fn session_name(&self) -> Option<SessionName> {
        self.opened.as_ref().map(|opened| &opened.name).or(self.connection.current.as_ref()).cloned()
    }

    /// The session to name in an error: none where the call is about one that does not exist. `named` is the argument as
    /// it came, which may be anything.
    pub fn failed_session(&self, named: Option<&str>) -> Option<SessionName> {
        match (&self.opened, named) {
            (Some(opened), _) => Some(opened.name.clone()),
            (None, Some(text)) => SessionName::parse(text).ok().filter(|name| self.connection.sessions.has(name)),
            (None, None) => self.connection.current.clone(),
        }
    }

    /// Gives up the session that the call is about, so that it is opened anew. False where it is about none so far.
    pub fn give_up(&mut self) -> bool {
        let opened = self.opened.take();
        if let Some(opened) = &opened {
            self.connection.sessions.give_up(&opened.name);
        }
        opened.is_some()
    }

    /// What opening the session or this call repaired.
    pub fn repaired(&self) -> Vec<String> {
        self.opened.as_ref().map(|opened| opened.store.lock().take_repaired()).unwrap_or_default()
    }
}

/// A plan in the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueItem {
    pub id: String,
    pub goal: String,
    /// 1 is the front.
    pub position: u64,
}

/// The queue as a reply lists it: goals cut so that all together fit.
fn queue_items(queue: &[QueuedPlan]) -> Vec<QueueItem> {
    let each = share(queue.len());
    (1..)
        .zip(queue)
        .map(|(position, plan)| QueueItem { id: plan.id.to_string(), goal: clip(&plan.goal, each), position })
        .collect()
}

/// How much of each of `count` texts in a list is shown.
fn share(count: usize) -> usize {
    (LIST_TEXTS / count.max(1)).min(GOAL)
}

/// The lines of a queue, or nothing where it is empty.
fn write_queue(f: &mut fmt::Formatter<'_>, queue: &[QueueItem], length: u64) -> fmt::Result {
    if queue.is_empty() {
        return Ok(());
    }
    write!(f, "\n\nQueue (showing {} of {length}):", queue.len())?;
    for item in queue {
        write!(f, "\n{}. {}: {}", item.position, item.id, one_line(&item.goal))?;
    }
    Ok(())
}

/// The plan that comes next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextPlan {
    pub id: String,
    pub goal: String,
}

impl NextPlan {
    fn of(plan: &QueuedPlan) -> Self {
        Self { id: plan.id.to_string(), goal: clip(&plan.goal, GOAL) }
    }
}

/// How many bytes a value takes as JSON.
fn json_length<T: Serialize + ?Sized>(value: &T) -> usize {
    serde_json::to_string(value).map_or(0, |json| json.len())
}

/// Text on one line, for lists.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// A path as text.
fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A text for a reply. Where it is cut, a sentence says how much is missing and where it stands.
fn excerpt(text: &str, most: usize, whole: &str) -> String {
    let end = fitting(text, most);
    if end == text.len() {
        return text.to_owned();
    }
    format!("{}…\n\n[Cut here: {} more bytes. The whole text: {whole}]", &text[..end], text.len() - end)
}

/// Texts that share `most` bytes of JSON: the longest are cut to a common length where all together are too long. Each
/// comes with where it stands whole.
fn excerpts<const N: usize>(texts: [(&str, &str); N], most: usize) -> [String; N] {
    let mut cap = most;
    // A cut text carries a sentence of its own, so that the sum is taken of what would really stand there.
    while texts.iter().map(|(text, whole)| json_length(&excerpt(text, cap, whole))).sum::<usize>() > most && cap > 0 {
        cap = cap * 4 / 5;
    }
    texts.map(|(text, whole)| excerpt(text, cap, whole))
}

/// The command that prints a plan whole.
fn show_plan(id: &PlanId, session: &SessionName) -> String {
    format!("9plan show --plan {id} {session}")
}

/// The command that prints the task of a session whole.
fn show_task(session: &SessionName) -> String {
    format!("9plan show {session}")
}
