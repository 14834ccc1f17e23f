//! Finding what completed plans left behind.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Access, Call, LONG_TEXT, excerpts, one_line, show_plan};
use crate::error::Error;
use crate::plan::{HEADINGS, PlanId, clip};
use crate::store::Found;

/// The most bytes of JSON that the goals and outcomes of all matches take.
const MATCH_TEXTS: usize = 20_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct SearchArgs {
    /// Any words: what was built, a file, an identifier, a plan id.
    pub query: String,
    /// At most this many.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 50))]
    pub max_results: usize,
    /// Default: the current session.
    pub session_name: Option<String>,
}

fn default_results() -> usize {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct MatchItem {
    pub id: String,
    pub goal: String,
    pub outcome: String,
    /// 1 is the best.
    pub relevance_rank: u64,
    /// Higher is better: from 1 on all words were found, below 1 some.
    pub relevance_score: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchReply {
    pub matches: Vec<MatchItem>,
    pub total_matches: u64,
    /// What was searched for in place of words that stand nowhere, and what else there is to say of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Searches the completed plans.
pub fn search(call: &mut Call<'_>, args: SearchArgs) -> Result<SearchReply, Error> {
    let session = call.open(args.session_name.as_deref(), Access::Read)?;
    let found = session.store.lock().search(&args.query, args.max_results)?;
    let each = MATCH_TEXTS / found.matches.len().max(1);
    Ok(SearchReply {
        note: note(&found),
        matches: (1..)
            .zip(&found.matches)
            .map(|(rank, plan)| MatchItem {
                id: plan.id.to_string(),
                goal: clip(&plan.goal, (each / 3).min(600)),
                outcome: clip(&plan.outcome, (each * 2 / 3).min(2_000)),
                relevance_rank: rank,
                relevance_score: (plan.score * 10_000.0).round() / 10_000.0,
            })
            .collect(),
        total_matches: found.total,
    })
}

fn note(found: &Found) -> Option<String> {
    let mut notes: Vec<String> = found
        .replaced
        .iter()
        .map(|(typed, near)| format!("No plan says {typed:?}; searched for {} instead.", near.join(", ")))
        .collect();
    if found.matches.is_empty() {
        notes.insert(0, "Try fewer or other words.".to_owned());
    }
    if found.left_out > 0 {
        notes.push(format!("{} more words of the query were not searched for.", found.left_out));
    }
    (!notes.is_empty()).then(|| clip(&notes.join(" "), 1_000))
}

impl fmt::Display for SearchReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.matches.is_empty() {
            f.write_str("No completed plan matches.")?;
        } else {
            write!(f, "Showing {} of {}, best first:", self.matches.len(), self.total_matches)?;
        }
        if let Some(note) = &self.note {
            write!(f, "\n{note}")?;
        }
        for item in &self.matches {
            write!(
                f,
                "\n\n{}. {} ({:.2}): {}\n   Outcome: {}",
                item.relevance_rank,
                item.id,
                item.relevance_score,
                one_line(&item.goal),
                one_line(&item.outcome)
            )?;
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct GetArgs {
    /// As a search gave it.
    pub plan_id: String,
    /// Default: the current session.
    pub session_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CompletedPlan {
    pub id: String,
    pub goal: String,
    pub context: String,
    pub inputs: String,
    pub outputs: String,
    pub approach: String,
    pub success_criteria: String,
    pub notes: String,
    pub outcome: String,
    pub created_at: String,
    pub completed_at: String,
}

/// Gives a completed plan whole.
pub fn get(call: &mut Call<'_>, args: GetArgs) -> Result<CompletedPlan, Error> {
    let id = PlanId::parse(&args.plan_id)?;
    let session = call.open(args.session_name.as_deref(), Access::Read)?;
    let found = session.store.lock().remembered(&id)?;
    let whole = show_plan(&id, &session.name);
    let [context, goal, inputs, outputs, approach, success_criteria, notes] = found.plan.sections();
    let [outcome, goal, context, inputs, outputs, approach, success_criteria, notes] = excerpts(
        [&found.outcome, goal, context, inputs, outputs, approach, success_criteria, notes]
            .map(|text| (text, whole.as_str())),
        LONG_TEXT,
    );
    Ok(CompletedPlan {
        id: id.to_string(),
        goal,
        context,
        inputs,
        outputs,
        approach,
        success_criteria,
        notes,
        outcome,
        created_at: found.created_at,
        completed_at: found.completed_at,
    })
}

impl fmt::Display for CompletedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Plan {}, created {}, completed {}.\n\n# Outcome\n{}",
            self.id, self.created_at, self.completed_at, self.outcome
        )?;
        let sections = [
            &self.context,
            &self.goal,
            &self.inputs,
            &self.outputs,
            &self.approach,
            &self.success_criteria,
            &self.notes,
        ];
        for (heading, text) in HEADINGS.iter().zip(sections).filter(|(_, text)| !text.is_empty()) {
            write!(f, "\n\n# {heading}\n{text}")?;
        }
        Ok(())
    }
}
