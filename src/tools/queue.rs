//! Adding a plan and taking the next one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Access, Call, GOAL, LONG_TEXT, excerpt, shown};
use crate::error::Error;
use crate::plan::{Plan, Position, clip, plans};

#[derive(Debug, Deserialize, JsonSchema)]
pub struct AddArgs {
    /// Where this plan fits in the whole task; all that somebody needs who knows nothing of it.
    pub context: String,
    /// What will be true when it is done: specific, measurable.
    pub goal: String,
    /// Concrete steps, files and commands.
    pub approach: String,
    /// How to see that it is done.
    pub success_criteria: String,
    /// What it needs from other plans, described so that a search finds it: "- what: from where".
    pub inputs: Option<String>,
    /// What it leaves for others, in words they will search for.
    pub outputs: Option<String>,
    /// front: before all others. back: after them.
    #[serde(default)]
    #[schemars(extend("default" = "back"))]
    pub position: Position,
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Added {
    pub plan_id: String,
    pub plan_path: String,
    /// 1 is the front.
    pub queue_position: u64,
    pub next_step: String,
}

/// Puts a plan into the queue.
pub fn add(call: &mut Call<'_>, args: AddArgs) -> Result<Added, Error> {
    let plan = Plan {
        context: args.context,
        goal: args.goal,
        inputs: args.inputs.unwrap_or_default(),
        outputs: args.outputs.unwrap_or_default(),
        approach: args.approach,
        success_criteria: args.success_criteria,
        notes: String::new(),
    };
    let session = call.open(args.session_name.as_deref(), Access::Change)?;
    let added = session.store.lock().add(&plan.tidied(), args.position, call.client())?;
    Ok(Added {
        plan_id: added.id.to_string(),
        plan_path: shown(&added.path),
        queue_position: added.position,
        next_step: match added.active {
            Some(active) => format!(
                "Plan {active} is still active: go on with it, or, where you are splitting it, add its other parts and put it back with {}.",
                call.tool("plan_defer"),
            ),
            None => format!("Add the next plan; when all are in, take the first with {}.", call.tool("queue_pull")),
        },
    })
}

impl fmt::Display for Added {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Plan {} added.\nFile: {}\nQueue position: {}\n\nNext: {}",
            self.plan_id, self.plan_path, self.queue_position, self.next_step
        )
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct PullArgs {
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Pulled {
    pub plan_id: String,
    pub plan_path: String,
    pub goal: String,
    /// The whole text of the plan file.
    pub plan: String,
    pub queue_length: u64,
    pub next_step: String,
}

/// Takes the plan at the front of the queue and makes it the active one.
pub fn pull(call: &mut Call<'_>, args: PullArgs) -> Result<Pulled, Error> {
    let session = call.open(args.session_name.as_deref(), Access::Change)?;
    let pulled = session.store.lock().pull(call.client())?;
    let plan_path = shown(&pulled.path);
    Ok(Pulled {
        plan_id: pulled.id.to_string(),
        goal: clip(&pulled.goal, GOAL),
        plan: excerpt(&pulled.text, LONG_TEXT, &plan_path),
        plan_path,
        queue_length: pulled.counts.queued,
        next_step: format!(
            "Do this plan now. Find what its Inputs name with {}. Keep progress under # Notes in the file, if you can edit files. Done: {} with an outcome. Blocked or to be split: {}.",
            call.tool("history_search"),
            call.tool("plan_complete"),
            call.tool("plan_defer"),
        ),
    })
}

impl fmt::Display for Pulled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Plan {} is now active; {} left in the queue.\nFile: {}\n\n{}\n\nNext: {}",
            self.plan_id,
            plans(self.queue_length),
            self.plan_path,
            self.plan.trim_end(),
            self.next_step
        )
    }
}
