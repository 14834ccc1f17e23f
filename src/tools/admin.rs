//! Looking after sessions: checking one, listing all, seeing everything that one holds.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::{ActiveItem, write_active};
use super::{
    Access, Call, GOAL, QueueItem, excerpt, json_length, one_line, queue_items, share, show_task, write_queue,
};
use crate::error::Error;
use crate::plan::{clip, plans};
use crate::store::{Invariant, QUEUE_SHOWN};

/// How much of the task's description is shown beside the queue, in bytes of JSON.
const TASK: usize = 10_000;

/// How many issues a reply lists.
const LISTED: usize = 100;

/// The most bytes of JSON that a list of sessions takes, in both forms together.
const SESSIONS_REPLY: usize = 58_000;

/// How much is said of why a session is unreadable, of one and of all together.
const ERROR: usize = 400;
const UNREADABLE_TEXTS: usize = 16_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ValidateArgs {
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the contract names the four")]
pub struct Invariants {
    pub single_active_plan: bool,
    pub queue_order_preserved: bool,
    pub files_match_database: bool,
    pub no_orphaned_files: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Validation {
    pub valid: bool,
    pub invariants: Invariants,
    pub issues: Vec<String>,
}

/// Checks a session against its invariants.
pub fn validate(call: &mut Call<'_>, args: ValidateArgs) -> Result<Validation, Error> {
    let session = call.open(args.session_name.as_deref(), Access::Read)?;
    let audit = session.store.lock().audit()?;
    let each = share(audit.issues.len().min(LISTED));
    let mut issues: Vec<String> = audit.issues.iter().take(LISTED).map(|(_, issue)| clip(issue, each)).collect();
    if audit.issues.len() > LISTED {
        issues.push(format!("Showing {LISTED} of {} issues.", audit.issues.len()));
    }
    Ok(Validation {
        valid: audit.issues.is_empty(),
        invariants: Invariants {
            single_active_plan: audit.holds(Invariant::SingleActivePlan),
            queue_order_preserved: audit.holds(Invariant::QueueOrderPreserved),
            files_match_database: audit.holds(Invariant::FilesMatchDatabase),
            no_orphaned_files: audit.holds(Invariant::NoOrphanedFiles),
        },
        issues,
    })
}

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.valid { "The session is in order." } else { "The session is not in order." })?;
        for (name, holds) in [
            ("single_active_plan", self.invariants.single_active_plan),
            ("queue_order_preserved", self.invariants.queue_order_preserved),
            ("files_match_database", self.invariants.files_match_database),
            ("no_orphaned_files", self.invariants.no_orphaned_files),
        ] {
            write!(f, "\n- {name}: {}", if holds { "yes" } else { "no" })?;
        }
        if !self.issues.is_empty() {
            write!(f, "\n\nIssues:")?;
        }
        for issue in &self.issues {
            write!(f, "\n- {}", one_line(issue))?;
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct SessionsArgs {
    /// At most this many.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    pub limit: usize,
}

fn default_limit() -> usize {
    50
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionItem {
    pub name: String,
    pub created: String,
    pub task_description: Option<String>,
    pub queue_length: u64,
    pub completed_count: u64,
    pub has_active_plan: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadableItem {
    pub name: String,
    pub error: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionList {
    /// Newest use first.
    pub sessions: Vec<SessionItem>,
    pub total: u64,
    pub unreadable: Vec<UnreadableItem>,
}

/// Lists the sessions on this machine.
pub fn sessions(call: &mut Call<'_>, args: SessionsArgs) -> Result<SessionList, Error> {
    let listing = call.sessions().list(args.limit)?;
    let each = (UNREADABLE_TEXTS / listing.unreadable.len().max(1)).min(ERROR);
    let unreadable: Vec<UnreadableItem> = listing
        .unreadable
        .into_iter()
        .map(|(name, error)| {
            let error = format!("{error} {}", error.suggestion(call.prefix()));
            UnreadableItem { name: name.to_string(), error: clip(&error, each) }
        })
        .collect();
    let mut tasks = Vec::new();
    let mut sessions = Vec::new();
    for (name, summary) in listing.sessions {
        tasks.push(summary.task_description);
        sessions.push(SessionItem {
            name: name.to_string(),
            created: summary.created,
            task_description: None,
            queue_length: summary.queued,
            completed_count: summary.completed,
            has_active_plan: summary.active,
        });
    }
    // Names and counts come first; what they leave of the reply goes to the tasks in equal shares.
    let length = |item: &SessionItem| json_length(item) + json_length(&item.to_string());
    let mut left = SESSIONS_REPLY.saturating_sub(2 * json_length(&unreadable));
    let fitting = sessions.iter().take_while(|item| take_from(&mut left, length(item))).count();
    sessions.truncate(fitting);
    let each = (left / (2 * fitting.max(1))).min(GOAL);
    for (item, task) in sessions.iter_mut().zip(tasks) {
        item.task_description = task.map(|task| clip(&task, each));
    }
    Ok(SessionList { sessions, unreadable, total: listing.total as u64 })
}

/// Whether `amount` is still there; then it is taken.
fn take_from(left: &mut usize, amount: usize) -> bool {
    let rest = left.checked_sub(amount);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

impl fmt::Display for SessionItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let active = if self.has_active_plan { ", 1 active" } else { "" };
        write!(f, "\n- {}: {} queued{active}, {} completed", self.name, self.queue_length, self.completed_count)?;
        write!(f, ", created {}.", self.created)?;
        match &self.task_description {
            Some(task) => write!(f, " {}", one_line(task)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for SessionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total == 0 {
            return f.write_str("There are no sessions yet.");
        }
        let shown = self.sessions.len() + self.unreadable.len();
        write!(f, "Showing {shown} of {}, newest use first:", self.total)?;
        for item in &self.sessions {
            write!(f, "{item}")?;
        }
        if !self.unreadable.is_empty() {
            write!(f, "\n\nUnreadable:")?;
        }
        for item in &self.unreadable {
            write!(f, "\n- {}: {}", item.name, one_line(&item.error))?;
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct StateArgs {
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StateDump {
    pub task_description: Option<String>,
    /// The first 100.
    pub queue: Vec<QueueItem>,
    pub queue_length: u64,
    pub active_plan: Option<ActiveItem>,
    pub completed_count: u64,
    /// The first 100 by name.
    pub plan_files: Vec<String>,
    pub plan_file_count: u64,
    /// Whether the queued and active plans have a file each, and nothing else has.
    pub file_db_match: bool,
}

/// Everything that a session holds at the moment.
pub fn state(call: &mut Call<'_>, args: StateArgs) -> Result<StateDump, Error> {
    let session = call.open(args.session_name.as_deref(), Access::Read)?;
    let mut store = session.store.lock();
    let state = store.state()?;
    let files = store.files(&state)?;
    Ok(StateDump {
        task_description: state.task_description.map(|task| excerpt(&task, TASK, &show_task(&session.name))),
        queue: queue_items(&state.queue),
        queue_length: state.counts.queued,
        active_plan: state.active.as_ref().map(ActiveItem::of),
        completed_count: state.counts.completed,
        plan_file_count: files.names.len() as u64,
        file_db_match: files.match_plans,
        plan_files: files.names.into_iter().take(QUEUE_SHOWN).collect(),
    })
}

impl fmt::Display for StateDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(task) = &self.task_description {
            writeln!(f, "Task: {task}")?;
        }
        write!(f, "{} queued, {} completed.", plans(self.queue_length), self.completed_count)?;
        if let Some(active) = &self.active_plan {
            write_active(f, active)?;
        }
        write_queue(f, &self.queue, self.queue_length)?;
        write!(f, "\n\nPlan files (showing {} of {})", self.plan_files.len(), self.plan_file_count)?;
        if !self.plan_files.is_empty() {
            write!(f, ": {}", self.plan_files.join(", "))?;
        }
        let agree = if self.file_db_match { "they match the database" } else { "they do not match the database" };
        write!(f, "\nFiles and plans: {agree}.")
    }
}
