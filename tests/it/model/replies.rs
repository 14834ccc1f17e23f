//! What the model expects a call to answer.
//!
//! Owns the fields of replies and the words of refusals, as far as they follow from the state. Not times, and not what is
//! said to be done next, which other tests look at.

use serde_json::{Map, Value, json};

use super::seen::untimed;
use super::{Plan, Session};
use crate::harness::{Reply, error, failure};

/// How many queued plans a reply lists.
const SHOWN: usize = 100;

/// What a call must answer.
#[derive(Debug)]
pub enum Expected {
    /// A reply with these fields.
    Fields(Value),
    /// A reply with at most so many of these matches, and their number.
    Matches { all: Vec<Value>, most: usize, session: String },
    /// An error: category, message, suggestion.
    Refusal(&'static str, String, &'static str),
    /// The whole text of an error.
    Error(String),
}

impl Expected {
    /// The same with the name of the session that it is about.
    pub fn about(self, name: &str) -> Self {
        match self {
            Self::Fields(mut fields) => {
                fields["session_name"] = json!(name);
                Self::Fields(fields)
            }
            Self::Matches { all, most, .. } => Self::Matches { all, most, session: name.to_owned() },
            Self::Refusal(category, message, suggestion) => Self::Error(error(name, category, &message, suggestion)),
            whole @ Self::Error(_) => whole,
        }
    }

    pub fn in_order() -> Self {
        Self::Fields(json!({
            "valid": true,
            "invariants": {
                "single_active_plan": true,
                "queue_order_preserved": true,
                "files_match_database": true,
                "no_orphaned_files": true,
            },
            "issues": [],
        }))
    }
}

/// Compares the result of a call with what is expected.
#[track_caller]
pub fn check(expected: &Expected, result: Value) {
    match expected {
        Expected::Fields(expected) => {
            let reply = Reply::of(result);
            assert_both_faces(&reply);
            let mut fields = timeless(reply.fields);
            // Sessions come in the order of their last use.
            if let Some(sessions) = fields.get_mut("sessions").and_then(Value::as_array_mut) {
                sessions.sort_by_key(|session| session["task_description"].to_string());
            }
            assert_eq!(&fields, expected);
        }
        Expected::Matches { all, most, session } => {
            let reply = Reply::of(result);
            assert_both_faces(&reply);
            assert_eq!(reply.str("session_name"), session);
            assert_eq!(reply.fields["total_matches"], all.len());
            assert_matches(reply.fields["matches"].as_array().unwrap(), all, *most);
        }
        Expected::Refusal(..) => unreachable!("it is about a session"),
        Expected::Error(text) => assert_eq!(&failure(&result), text),
    }
}

#[track_caller]
fn assert_matches(matches: &[Value], all: &[Value], most: usize) {
    assert_eq!(matches.len(), all.len().min(most));
    let mut left = all.to_vec();
    let mut last = f64::INFINITY;
    for (rank, one) in (1..).zip(matches) {
        assert_eq!(one["relevance_rank"], rank);
        let score = one["relevance_score"].as_f64().unwrap();
        assert!(score <= last, "{score} after {last}");
        last = score;
        let plan = json!({ "id": one["id"], "goal": one["goal"], "outcome": one["outcome"] });
        let at = left.iter().position(|other| *other == plan).unwrap_or_else(|| panic!("{plan} is not in {left:?}"));
        left.remove(at);
    }
}

/// Whether all that the fields say is in the text too, if not in the same lines.
#[track_caller]
fn assert_both_faces(reply: &Reply) {
    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
    fn look(value: &Value, text: &str) {
        match value {
            Value::String(said) => assert!(text.contains(&words(said)), "{said:?} is not in {text:?}"),
            Value::Array(items) => items.iter().for_each(|item| look(item, text)),
            Value::Object(fields) => fields.values().for_each(|field| look(field, text)),
            _ => {}
        }
    }
    let fields = reply.fields.as_object().unwrap().iter().filter(|(name, _)| *name != "session_name");
    let text = words(&reply.text);
    fields.for_each(|(_, field)| look(field, &text));
}

/// Fields without times, and without what is to be done next.
fn timeless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(untimed(&text)),
        Value::Array(items) => items.into_iter().map(timeless).collect(),
        Value::Object(fields) => {
            let kept = |(name, value): (String, Value)| {
                let time = ["created", "created_at", "completed_at"].contains(&name.as_str());
                assert!(!time || value.as_str().is_some_and(is_time), "{name}: {value}");
                (!time && name != "next_step").then(|| (name, timeless(value)))
            };
            Value::Object(fields.into_iter().filter_map(kept).collect::<Map<_, _>>())
        }
        value => value,
    }
}

/// Whether a text is a time such as `2026-01-02T03:04:05Z`.
fn is_time(text: &str) -> bool {
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    form == "0000-00-00T00:00:00Z"
}

impl Session {
    fn queue_items(&self) -> Value {
        let items = (1..).zip(&self.queue).take(SHOWN);
        items.map(|(position, plan)| json!({ "id": plan.id, "goal": plan.goal(), "position": position })).collect()
    }

    fn active_item(&self) -> Value {
        let item = |plan: &Plan| json!({ "id": plan.id, "goal": plan.goal(), "file_path": self.path(plan) });
        self.active.as_ref().map_or(Value::Null, item)
    }

    /// The session in a list of all.
    pub fn item(&self) -> Value {
        json!({
            "name": self.name,
            "task_description": self.task,
            "queue_length": self.queue.len(),
            "completed_count": self.completed.len(),
            "has_active_plan": self.active.is_some(),
        })
    }

    pub fn resumed(&self) -> Expected {
        Expected::Fields(json!({
            "session_path": self.folder,
            "task_description": self.task,
            "queue": self.queue_items(),
            "queue_length": self.queue.len(),
            "active_plan": self.active_item(),
            "plan": self.active.as_ref().map(|plan| &plan.file),
            "completed_count": self.completed.len(),
        }))
    }

    pub fn state(&self) -> Expected {
        let mut files: Vec<String> =
            self.queue.iter().chain(&self.active).map(|plan| format!("{}.txt", plan.id)).collect();
        files.sort();
        Expected::Fields(json!({
            "task_description": self.task,
            "queue": self.queue_items(),
            "queue_length": self.queue.len(),
            "active_plan": self.active_item(),
            "completed_count": self.completed.len(),
            "plan_file_count": files.len(),
            "plan_files": &files[..files.len().min(SHOWN)],
            "file_db_match": true,
        }))
    }

    pub fn finished(&self, id: &str) -> Expected {
        let next = self.queue.front().map(|plan| json!({ "id": plan.id, "goal": plan.goal() }));
        Expected::Fields(json!({
            "plan_id": id,
            "queue_length": self.queue.len(),
            "completed_count": self.completed.len(),
            "next": next,
        }))
    }

    pub fn already_active(&self) -> Expected {
        let Some(plan) = &self.active else { unreachable!("one is active") };
        let message =
            format!("Plan {} is already active: {}\nIts file: {}", plan.id, plan.goal(), self.path(plan).display());
        let suggestion = "Finish it first: 9plan_plan_complete when it is done, 9plan_plan_defer to put it back, \
                          9plan_plan_discard to give it up.";
        Expected::Refusal("PLAN_ALREADY_ACTIVE", message, suggestion)
    }

    pub fn queue_empty(&self) -> Expected {
        let completed = self.completed.len();
        let plans = if completed == 1 { "plan" } else { "plans" };
        let done = format!("Task complete! 🎉 The queue is empty; {completed} {plans} completed.");
        let (message, suggestion) = match (completed, self.discarded.len()) {
            (0, 0) => ("Nothing is queued yet.".to_owned(), "Add the first plan with 9plan_queue_add."),
            (0, _) => (done, "Nothing was completed: tell the user, or add what is to be done with 9plan_queue_add."),
            _ => (done, "Report the result to the user. If work is left, add it with 9plan_queue_add."),
        };
        Expected::Refusal("QUEUE_EMPTY", message, suggestion)
    }

    pub fn no_active_plan(&self, verb: &str) -> Expected {
        let suggestion = if self.queue.is_empty() {
            "The queue is empty too: add a plan with 9plan_queue_add, then take it with 9plan_queue_pull."
        } else {
            "Take the next plan with 9plan_queue_pull."
        };
        Expected::Refusal("NO_ACTIVE_PLAN", format!("No plan is active, so there is nothing to {verb}."), suggestion)
    }

    pub fn found(&self, word: &str, most: usize) -> Expected {
        let said = |(plan, outcome): &&(Plan, String)| {
            let [context, goal, inputs, outputs, approach, _, notes] = &plan.sections;
            let searched = [context, goal, inputs, outputs, approach, notes, outcome];
            searched.iter().any(|text| text.split_whitespace().any(|other| other == word))
        };
        let found = self.completed.iter().filter(said);
        let all = found.map(|(plan, outcome)| json!({ "id": plan.id, "goal": plan.goal(), "outcome": outcome }));
        Expected::Matches { all: all.collect(), most, session: String::new() }
    }

    /// The plan with a number, wherever it is.
    pub fn nth(&self, which: usize) -> Option<(&Plan, Place<'_>)> {
        let completed = self.completed.iter().map(|(plan, outcome)| (plan, Place::Completed(outcome)));
        let discarded = self.discarded.iter().map(|(plan, _)| (plan, Place::Discarded));
        let queued = self.queue.iter().map(|plan| (plan, Place::Queued));
        let active = self.active.iter().map(|plan| (plan, Place::Active));
        let all: Vec<_> = completed.chain(discarded).chain(queued).chain(active).collect();
        all.get(which.checked_rem(all.len())?).copied()
    }

    pub fn got(&self, which: usize) -> Expected {
        let Some((plan, place)) = self.nth(which) else {
            let message = "There is no plan zzzzz in this session.".to_owned();
            return Expected::Refusal("PLAN_NOT_FOUND", message, "Find the plan with 9plan_history_search.");
        };
        let (state, suggestion) = match place {
            Place::Completed(outcome) => return plan.remembered(outcome),
            Place::Discarded => (
                "it was discarded",
                "Discarded plans are not shown again; 9plan_history_search finds the completed ones.",
            ),
            Place::Queued => (
                "it is still queued",
                "It has no outcome yet. Work through the queue with 9plan_queue_pull; 9plan_admin_state shows the queue.",
            ),
            Place::Active => (
                "it is the active plan",
                "It is the plan being worked on: finish it with 9plan_plan_complete, then it is in the history.",
            ),
        };
        let message = format!("Plan {} is not in the history: {state}.", plan.id);
        Expected::Refusal("PLAN_NOT_FOUND", message, suggestion)
    }
}

/// Where a plan is.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    Queued,
    Active,
    /// With this outcome.
    Completed(&'a str),
    Discarded,
}

impl Plan {
    fn remembered(&self, outcome: &str) -> Expected {
        let [context, goal, inputs, outputs, approach, criteria, notes] = &self.sections;
        Expected::Fields(json!({
            "id": self.id,
            "goal": goal,
            "context": context,
            "inputs": inputs,
            "outputs": outputs,
            "approach": approach,
            "success_criteria": criteria,
            "notes": notes,
            "outcome": outcome,
        }))
    }
}
