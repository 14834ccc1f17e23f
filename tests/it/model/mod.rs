//! What a server should do, kept in the plainest way: sessions are lists in memory.
//!
//! Owns what each call changes. Knows no server: identifiers and names are given to it as they were drawn, and of times it
//! keeps none. What a call must answer is in [`replies`], what may be called in [`calls`], and what a stranger finds on
//! disk and in a new server's replies in [`seen`].

mod calls;
mod random;
mod replies;
pub mod seen;

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use calls::{Call, Made, any_made};
pub use replies::{Expected, check};
use seen::Face;

/// The headings of a plan file.
const HEADINGS: [&str; 7] = ["Context", "Goal", "Inputs", "Outputs", "Approach", "Success Criteria", "Notes"];
const GOAL: usize = 1;
const NOTES: usize = 6;

/// A plan: its sections, and its file as it stands on disk.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Empty as long as nobody was told.
    pub id: String,
    pub sections: [String; 7],
    pub file: String,
}

#[derive(Clone, Debug, Default)]
pub struct Session {
    pub name: String,
    pub folder: PathBuf,
    pub task: Option<String>,
    pub queue: VecDeque<Plan>,
    pub active: Option<Plan>,
    /// With the outcome of each, in the order in which they were completed.
    pub completed: Vec<(Plan, String)>,
    /// With the reason.
    pub discarded: Vec<(Plan, String)>,
}

#[derive(Clone, Debug)]
pub struct Model {
    root: PathBuf,
    pub sessions: Vec<Session>,
    /// The one that the connection used last.
    pub current: usize,
}

impl Plan {
    fn new(id: &str, sections: [String; 7]) -> Self {
        let file = rendered(&sections);
        Self { id: id.to_owned(), sections, file }
    }

    pub fn goal(&self) -> &str {
        &self.sections[GOAL]
    }

    /// Somebody writes at the end of the file, which is in its notes.
    pub fn jot(&mut self, text: &str) {
        self.file.push_str(&format!("\n{text}\n"));
        self.note(text);
    }

    fn note(&mut self, text: &str) {
        let gap = if self.sections[NOTES].is_empty() { "" } else { "\n\n" };
        self.sections[NOTES].push_str(&format!("{gap}{text}"));
    }
}

/// The text of a plan file.
fn rendered(sections: &[String; 7]) -> String {
    let escape = |line: &str| format!("{}{line}\n", if is_like_heading(line) { "\\" } else { "" });
    let section = |(name, text): (&str, &String)| format!("# {name}\n{}", text.lines().map(escape).collect::<String>());
    HEADINGS.into_iter().zip(sections).map(section).collect::<Vec<_>>().join("\n")
}

/// Whether a line of text would be taken for a heading, or for one that was escaped.
fn is_like_heading(line: &str) -> bool {
    let name = line.trim_start_matches('\\').strip_prefix("# ").map(|name| name.trim().to_lowercase());
    name.is_some_and(|name| HEADINGS.iter().any(|heading| heading.to_lowercase() == name))
}

impl Session {
    /// What is to be seen of it.
    pub fn face(&self) -> Face {
        let open = |plan: &Plan| (plan.id.clone(), plan.file.clone());
        let closed = |(plan, said): &(Plan, String)| (plan.id.clone(), plan.sections.clone(), said.clone());
        Face {
            task: self.task.clone(),
            queue: self.queue.iter().map(open).collect(),
            active: self.active.as_ref().map(open),
            completed: self.completed.iter().map(closed).collect(),
            discarded: self.discarded.iter().map(closed).collect(),
        }
    }

    /// Takes from what was found the name and the identifiers that nobody was told of.
    pub fn learn(&mut self, name: &str, found: &Face) {
        if self.name.is_empty() {
            self.named(name);
        }
        for (plan, id) in self.plans().zip(found.ids()) {
            if plan.id.is_empty() {
                id.clone_into(&mut plan.id);
            }
        }
    }

    /// All its plans, in the order of [`Face::ids`].
    fn plans(&mut self) -> impl Iterator<Item = &mut Plan> {
        let closed = self.completed.iter_mut().chain(&mut self.discarded).map(|(plan, _)| plan);
        self.queue.iter_mut().chain(&mut self.active).chain(closed)
    }

    fn named(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.folder.push(name);
    }

    fn path(&self, plan: &Plan) -> PathBuf {
        self.folder.join("plans").join(format!("{}.txt", plan.id))
    }

    /// Puts a plan at an end of the queue; its 1-based position there.
    fn place(&mut self, plan: Plan, front: bool) -> usize {
        if front {
            self.queue.push_front(plan);
            return 1;
        }
        self.queue.push_back(plan);
        self.queue.len()
    }

    fn apply(&mut self, call: &Call, drawn: &str) -> Expected {
        match call {
            Call::Add { goal, texts, front } => {
                let [context, inputs, outputs, approach, criteria] = texts.clone();
                let sections = [context, goal.clone(), inputs, outputs, approach, criteria, String::new()];
                let plan = Plan::new(drawn, sections);
                let path = self.path(&plan);
                let position = self.place(plan, *front);
                Expected::Fields(json!({ "plan_id": drawn, "plan_path": path, "queue_position": position }))
            }
            Call::Pull if self.active.is_some() => self.already_active(),
            Call::Pull => {
                let Some(plan) = self.queue.pop_front() else { return self.queue_empty() };
                let fields = json!({
                    "plan_id": plan.id,
                    "plan_path": self.path(&plan),
                    "goal": plan.goal(),
                    "plan": plan.file,
                    "queue_length": self.queue.len(),
                });
                self.active = Some(plan);
                Expected::Fields(fields)
            }
            Call::Defer { reason, front } => {
                let Some(mut plan) = self.active.take() else { return self.no_active_plan("defer") };
                let lines: Vec<&str> = reason.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
                plan.note(&format!("Deferred: {}", lines.join("\n")));
                let (id, path) = (plan.id.clone(), self.path(&plan));
                let position = self.place(Plan::new(&id, plan.sections), *front);
                Expected::Fields(json!({
                    "plan_id": id,
                    "plan_path": path,
                    "queue_position": position,
                    "queue_length": self.queue.len(),
                }))
            }
            Call::Complete { outcome } => {
                let Some(plan) = self.active.take() else { return self.no_active_plan("complete") };
                let id = plan.id.clone();
                self.completed.push((plan, outcome.clone()));
                self.finished(&id)
            }
            Call::Discard { reason } => {
                let Some(plan) = self.active.take() else { return self.no_active_plan("discard") };
                let id = plan.id.clone();
                self.discarded.push((plan, reason.clone()));
                self.finished(&id)
            }
            Call::Resume => self.resumed(),
            Call::State => self.state(),
            Call::Validate => Expected::in_order(),
            Call::Search { word, most } => self.found(word, *most),
            Call::Get { which } => self.got(*which),
            Call::Create { .. } | Call::Sessions => unreachable!("they are about no session"),
        }
    }
}

impl Model {
    /// No session below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), sessions: Vec::new(), current: 0 }
    }

    /// The names of all sessions.
    pub fn names(&self) -> BTreeSet<String> {
        self.sessions.iter().map(|session| session.name.clone()).collect()
    }

    /// The session that a call is about.
    pub fn session_of(&self, made: &Made) -> usize {
        made.session.map_or(self.current, |which| which % self.sessions.len())
    }

    /// Makes a call. `drawn` is the name or the identifier that the server gave what is new, where it is known.
    pub fn apply(&mut self, made: &Made, drawn: &str) -> Expected {
        match &made.call {
            Call::Create { task } => {
                let mut session = Session { folder: self.root.clone(), task: Some(task.clone()), ..Session::default() };
                session.named(drawn);
                self.current = self.sessions.len();
                let fields = json!({ "session_name": drawn, "session_path": session.folder });
                self.sessions.push(session);
                Expected::Fields(fields)
            }
            Call::Sessions => self.listed(),
            call => {
                self.current = self.session_of(made);
                let session = &mut self.sessions[self.current];
                session.apply(call, drawn).about(&session.name)
            }
        }
    }

    /// Takes what was drawn for what a call made, when it is known at last.
    pub fn told(&mut self, made: &Made, drawn: &str) {
        match &made.call {
            Call::Create { task } => {
                let session = self.sessions.iter_mut().find(|session| session.task.as_ref() == Some(task));
                session.unwrap().named(drawn);
            }
            Call::Add { goal, .. } => {
                let plan = self.sessions.iter_mut().flat_map(Session::plans).find(|plan| plan.goal() == goal);
                drawn.clone_into(&mut plan.unwrap().id);
            }
            _ => {}
        }
    }

    fn listed(&self) -> Expected {
        let items: Value = self.sessions.iter().map(Session::item).collect();
        Expected::Fields(json!({
            "session_name": self.sessions[self.current].name,
            "sessions": items,
            "total": self.sessions.len(),
            "unreadable": [],
        }))
    }
}
