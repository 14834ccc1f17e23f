//! Starting a session and coming back to one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Access, Call, GOAL, QueueItem, excerpts, one_line, queue_items, show_task, shown, write_queue};
use crate::error::Error;
use crate::plan::{clip, plans};
use crate::store::{ActivePlan, Counts};

/// How much of the task and the active plan together a reply repeats that also lists the queue, in bytes of JSON.
const TEXTS: usize = 14_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct CreateArgs {
    /// What the user wants done, in their words, with all that must not be forgotten.
    pub task_description: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Created {
    pub session_path: String,
    pub next_step: String,
}

/// Makes a session and makes it the current one.
pub fn create(call: &mut Call<'_>, args: CreateArgs) -> Result<Created, Error> {
    let task = args.task_description.filter(|task| !task.is_empty());
    let name = call.create(task.as_deref())?;
    let session_path = shown(&call.sessions().path(&name));
    let next_step = format!(
        "Keep the name {name}: it brings this session back with {}. Now add each plan with {}.",
        call.tool("session_resume"),
        call.tool("queue_add"),
    );
    call.open(Some(name.as_str()), Access::Change)?;
    Ok(Created { session_path, next_step })
}

impl fmt::Display for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session created.\nFolder: {}\n\nNext: {}", self.session_path, self.next_step)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResumeArgs {
    /// Its three words, e.g. amber-quiet-river.
    pub session_name: String,
}

/// The active plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActiveItem {
    pub id: String,
    pub goal: String,
    pub file_path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Resumed {
    pub session_path: String,
    pub task_description: Option<String>,
    /// The first 100.
    pub queue: Vec<QueueItem>,
    pub queue_length: u64,
    pub active_plan: Option<ActiveItem>,
    /// The text of the active plan.
    pub plan: Option<String>,
    pub completed_count: u64,
    pub next_step: String,
}

/// Brings an agent back: all that it needs to go on, in one reply.
pub fn resume(call: &mut Call<'_>, args: ResumeArgs) -> Result<Resumed, Error> {
    let session = call.open(Some(&args.session_name), Access::Read)?;
    call.bind(&session)?;
    let mut store = session.store.lock();
    let state = store.state()?;
    let (text, fault) = state.active.as_ref().map(|active| store.text_of_active(active)).unwrap_or_default();
    drop(store);
    call.sessions().touch(&session.name);
    let task = state.task_description.as_deref().unwrap_or_default();
    let path = state.active.as_ref().map(|active| shown(&active.path)).unwrap_or_default();
    let [task, plan] = excerpts([(task, &show_task(&session.name)), (&text, &path)], TEXTS);
    Ok(Resumed {
        session_path: shown(&call.sessions().path(&session.name)),
        task_description: state.task_description.is_some().then_some(task),
        queue: queue_items(&state.queue),
        queue_length: state.counts.queued,
        plan: state.active.is_some().then_some(plan),
        completed_count: state.counts.completed,
        next_step: next_step(call, state.active.as_ref(), fault, state.counts),
        active_plan: state.active.as_ref().map(ActiveItem::of),
    })
}

/// What an agent does that has just come back.
fn next_step(call: &Call<'_>, active: Option<&ActivePlan>, fault: Option<Error>, counts: Counts) -> String {
    match active.map(|active| (&active.id, fault)) {
        Some((id, Some(fault))) => format!(
            "{fault}. The text of plan {id} in this reply is as it was stored before. Put the file right first, then go on with the plan and end it with {}.",
            call.tool("plan_complete"),
        ),
        Some((id, None)) => format!(
            "Go on with plan {id}; its text is in this reply, what was done so far under Notes. End it with {}, or put it back with {}.",
            call.tool("plan_complete"),
            call.tool("plan_defer"),
        ),
        None if counts.queued > 0 => format!("Take the next plan with {}.", call.tool("queue_pull")),
        None if counts.completed > 0 => {
            format!("All plans are done: report the result to the user, or add more with {}.", call.tool("queue_add"))
        }
        None => format!("Nothing is queued: add each plan with {}.", call.tool("queue_add")),
    }
}

impl ActiveItem {
    /// The active plan as replies name it.
    pub fn of(active: &ActivePlan) -> Self {
        Self { id: active.id.to_string(), goal: clip(&active.stored.goal, GOAL), file_path: shown(&active.path) }
    }
}

impl fmt::Display for Resumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(task) = &self.task_description {
            writeln!(f, "Task: {task}")?;
        }
        writeln!(f, "Folder: {}", self.session_path)?;
        write!(f, "{} queued, {} completed.", plans(self.queue_length), self.completed_count)?;
        if let Some(active) = &self.active_plan {
            write_active(f, active)?;
        }
        if let Some(plan) = &self.plan {
            write!(f, "\n\n{}", plan.trim_end())?;
        }
        write_queue(f, &self.queue, self.queue_length)?;
        write!(f, "\n\nNext: {}", self.next_step)
    }
}

/// The lines that name the active plan.
pub fn write_active(f: &mut fmt::Formatter<'_>, active: &ActiveItem) -> fmt::Result {
    write!(f, "\n\nActive plan {}: {}\nFile: {}", active.id, one_line(&active.goal), active.file_path)
}
