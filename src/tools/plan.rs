//! What becomes of the active plan: put back, completed, discarded.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Access, Call, NextPlan, one_line, shown};
use crate::error::Error;
use crate::plan::{Position, plans};
use crate::store::{self, Ending};

#[derive(Debug, Deserialize, JsonSchema)]
pub struct DeferArgs {
    /// Why, and what is needed to go on; it is added to the plan's Notes.
    pub reason: String,
    /// front: next again. back: after all others.
    #[serde(default)]
    #[schemars(extend("default" = "back"))]
    pub position: Position,
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Deferred {
    pub plan_id: String,
    pub plan_path: String,
    /// 1 is the front.
    pub queue_position: u64,
    pub queue_length: u64,
    pub next_step: String,
}

/// Puts the active plan back into the queue.
pub fn defer(call: &mut Call<'_>, args: DeferArgs) -> Result<Deferred, Error> {
    let session = call.open(args.session_name.as_deref(), Access::Change)?;
    let placed = session.store.lock().defer(&args.reason, args.position, call.client())?;
    Ok(Deferred {
        plan_id: placed.id.to_string(),
        plan_path: shown(&placed.path),
        queue_position: placed.position,
        queue_length: placed.counts.queued,
        next_step: if placed.position == 1 {
            format!(
                "It comes next again: first see to what it waits for, by {} at the front or by asking the user, then go on with {}.",
                call.tool("queue_add"),
                call.tool("queue_pull"),
            )
        } else {
            format!("Take the plan at the front with {}.", call.tool("queue_pull"))
        },
    })
}

impl fmt::Display for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Plan {} is back in the queue, the reason in its Notes.\nFile: {}\nQueue position: {} of {}\n\nNext: {}",
            self.plan_id, self.plan_path, self.queue_position, self.queue_length, self.next_step
        )
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct CompleteArgs {
    /// What was produced and where, in words that later plans will search for.
    pub outcome: String,
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct DiscardArgs {
    /// Why it is not worth doing.
    pub reason: String,
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Finished {
    pub plan_id: String,
    pub queue_length: u64,
    pub completed_count: u64,
    /// The plan now at the front.
    pub next: Option<NextPlan>,
    pub next_step: String,
}

/// Completes the active plan.
pub fn complete(call: &mut Call<'_>, args: CompleteArgs) -> Result<Completed, Error> {
    finish(call, args.session_name.as_deref(), Ending::Completed { outcome: &args.outcome }).map(Completed)
}

/// Gives the active plan up.
pub fn discard(call: &mut Call<'_>, args: DiscardArgs) -> Result<Discarded, Error> {
    finish(call, args.session_name.as_deref(), Ending::Discarded { reason: &args.reason }).map(Discarded)
}

fn finish(call: &mut Call<'_>, session_name: Option<&str>, ending: Ending<'_>) -> Result<Finished, Error> {
    let session = call.open(session_name, Access::Change)?;
    let store::Finished { id, counts, next } = session.store.lock().finish(ending, call.client())?;
    Ok(Finished {
        plan_id: id.to_string(),
        queue_length: counts.queued,
        completed_count: counts.completed,
        next_step: match &next {
            Some(next) => format!("Take the next plan, {}, with {}.", next.id, call.tool("queue_pull")),
            None if counts.completed == 0 => format!(
                "Nothing is queued, and nothing was completed: tell the user, or add what is to be done with {}.",
                call.tool("queue_add"),
            ),
            None => format!(
                "Task complete! 🎉 Nothing is queued any more: report the result to the user, or add what is left with {}.",
                call.tool("queue_add"),
            ),
        },
        next: next.as_ref().map(NextPlan::of),
    })
}

/// A completed plan's reply.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Completed(Finished);

/// A discarded plan's reply.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Discarded(Finished);

impl fmt::Display for Completed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan {} completed; it is in the history now.{}", self.0.plan_id, self.0)
    }
}

impl fmt::Display for Discarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan {} discarded; the history does not show it.{}", self.0.plan_id, self.0)
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{} queued, {} completed.", plans(self.queue_length), self.completed_count)?;
        if let Some(next) = &self.next {
            write!(f, "\nNext in the queue: {}: {}", next.id, one_line(&next.goal))?;
        }
        write!(f, "\n\nNext: {}", self.next_step)
    }
}
