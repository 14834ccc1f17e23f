//! What the transitions and the views of a session come to.
//!
//! Owns the shapes only.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::rows::{Counts, QueuedPlan};
use crate::plan::{Plan, PlanId};

/// A plan that went into the queue.
#[derive(Debug)]
pub struct Placed {
    pub id: PlanId,
    pub path: PathBuf,
    /// 1-based.
    pub position: u64,
    pub counts: Counts,
    /// The plan that is active beside it.
    pub active: Option<PlanId>,
}

/// The plan that became active.
#[derive(Debug)]
pub struct Pulled {
    pub id: PlanId,
    pub path: PathBuf,
    pub goal: String,
    /// The whole text of the plan file.
    pub text: String,
    pub counts: Counts,
}

/// A plan that was completed or discarded.
#[derive(Debug)]
pub struct Finished {
    pub id: PlanId,
    pub counts: Counts,
    pub next: Option<QueuedPlan>,
}

/// How the active plan ends.
#[derive(Debug, Clone, Copy)]
pub enum Ending<'a> {
    Completed { outcome: &'a str },
    Discarded { reason: &'a str },
}

/// The active plan.
#[derive(Debug)]
pub struct ActivePlan {
    pub id: PlanId,
    pub path: PathBuf,
    /// As it is stored: its file may say more.
    pub stored: Plan,
}

/// A completed plan, in short.
#[derive(Debug, PartialEq, Eq)]
pub struct Done {
    pub id: PlanId,
    pub goal: String,
    pub outcome: String,
}

/// Where a session stands.
#[derive(Debug)]
pub struct State {
    pub task_description: Option<String>,
    /// The first [`QUEUE_SHOWN`](super::QUEUE_SHOWN), front first.
    pub queue: Vec<QueuedPlan>,
    pub counts: Counts,
    pub active: Option<ActivePlan>,
}

impl State {
    /// The plans that should have a file, where all of them are listed here.
    pub(super) fn open_plans(&self) -> Option<BTreeSet<PlanId>> {
        let queued = self.queue.iter().map(|plan| plan.id.clone());
        (self.queue.len() as u64 == self.counts.queued)
            .then(|| queued.chain(self.active.iter().map(|active| active.id.clone())).collect())
    }
}
