//! The calls that the model knows, and how any of them is drawn.
//!
//! Owns the arguments: texts that look like headings, escapes and fences, and words to search for.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Model;

/// A tool, with its arguments.
#[derive(Clone, Debug)]
pub enum Call {
    Create {
        task: String,
    },
    Sessions,
    Resume,
    Add {
        goal: String,
        /// Context, inputs, outputs, approach, success criteria.
        texts: [String; 5],
        front: bool,
    },
    Pull,
    Defer {
        reason: String,
        front: bool,
    },
    Complete {
        outcome: String,
    },
    Discard {
        reason: String,
    },
    Search {
        word: &'static str,
        most: usize,
    },
    /// Of the plan with this number, whichever it is.
    Get {
        which: usize,
    },
    Validate,
    State,
}

/// A call, and the session that it names by its number, if it names one.
#[derive(Clone, Debug)]
pub struct Made {
    pub call: Call,
    pub session: Option<usize>,
}

/// Words to search for. None is like another, nor like anything else in the texts.
const WORDS: [&str; 6] = ["walrus", "quartz", "bonfire", "lemonade", "xylophone", "kangaroo"];

/// Lines that a careless reader or writer of plan files would not bring back.
const LINES: [&str; 14] = [
    "walrus",
    "quartz",
    "bonfire",
    "lemonade",
    "xylophone",
    "kangaroo",
    "# Goal",
    "\\# notes",
    "\\\\#  Context ",
    "```",
    "# Others",
    "",
    "  - \"in\\dented\"",
    "日本語 🎉 é",
];

impl Made {
    /// The same with a number that tells what is new from all others.
    pub fn numbered(mut self, number: usize) -> Self {
        if let Call::Add { goal: text, .. } | Call::Create { task: text } = &mut self.call {
            *text = format!("{number:06} {text}");
        }
        self
    }

    /// The tool and its arguments, as a client of this model sends them.
    pub fn request(&self, model: &Model) -> (&'static str, Value) {
        let position = |front: &bool| if *front { "front" } else { "back" };
        let (tool, mut arguments) = match &self.call {
            Call::Create { task } => return ("session_create", json!({ "task_description": task })),
            Call::Sessions => return ("admin_sessions", json!({ "limit": 200 })),
            Call::Resume => ("session_resume", json!({})),
            Call::Add { goal, texts, front } => {
                let [context, inputs, outputs, approach, criteria] = texts;
                let arguments = json!({
                    "context": context,
                    "goal": goal,
                    "inputs": inputs,
                    "outputs": outputs,
                    "approach": approach,
                    "success_criteria": criteria,
                    "position": position(front),
                });
                ("queue_add", arguments)
            }
            Call::Pull => ("queue_pull", json!({})),
            Call::Defer { reason, front } => ("plan_defer", json!({ "reason": reason, "position": position(front) })),
            Call::Complete { outcome } => ("plan_complete", json!({ "outcome": outcome })),
            Call::Discard { reason } => ("plan_discard", json!({ "reason": reason })),
            Call::Search { word, most } => ("history_search", json!({ "query": word, "max_results": most })),
            Call::Get { which } => {
                let plan = model.sessions[model.session_of(self)].nth(*which);
                ("history_get", json!({ "plan_id": plan.map_or("zzzzz", |(plan, ..)| &plan.id) }))
            }
            Call::Validate => ("admin_validate", json!({})),
            Call::State => ("admin_state", json!({})),
        };
        if self.session.is_some() || matches!(self.call, Call::Resume) {
            arguments["session_name"] = json!(model.sessions[model.session_of(self)].name);
        }
        (tool, arguments)
    }

    /// What a result says was drawn for what is new.
    pub fn drawn<'a>(&self, result: &'a Value) -> &'a str {
        let field = match self.call {
            Call::Create { .. } => "session_name",
            Call::Add { .. } => "plan_id",
            _ => return "",
        };
        result["structuredContent"][field].as_str().unwrap_or_default()
    }
}

/// A text that begins with a word, as the server stores it.
fn any_text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(&LINES[..]);
    (prop::sample::select(&WORDS[..]), prop::collection::vec(line, 0..5))
        .prop_map(|(word, lines)| format!("{word}\n{}", lines.join("\n")).trim().to_owned())
}

fn any_call() -> impl Strategy<Value = Call> {
    let goal = || prop::sample::select(&WORDS[..]).prop_map(str::to_owned);
    let inputs = || prop_oneof![Just(String::new()), any_text()];
    let texts = (any_text(), inputs(), inputs(), any_text(), any_text()).prop_map(|(a, b, c, d, e)| [a, b, c, d, e]);
    prop_oneof![
        1 => goal().prop_map(|task| Call::Create { task }),
        1 => Just(Call::Sessions),
        1 => Just(Call::Resume),
        8 => (goal(), texts, any::<bool>()).prop_map(|(goal, texts, front)| Call::Add { goal, texts, front }),
        8 => Just(Call::Pull),
        3 => (any_text(), any::<bool>()).prop_map(|(reason, front)| Call::Defer { reason, front }),
        5 => any_text().prop_map(|outcome| Call::Complete { outcome }),
        1 => any_text().prop_map(|reason| Call::Discard { reason }),
        2 => (prop::sample::select(&WORDS[..]), 1..5_usize).prop_map(|(word, most)| Call::Search { word, most }),
        2 => any::<usize>().prop_map(|which| Call::Get { which }),
        1 => Just(Call::Validate),
        1 => Just(Call::State),
    ]
}

/// Any call, most often of the current session.
pub fn any_made() -> impl Strategy<Value = Made> {
    (any_call(), prop::option::weighted(0.2, any::<usize>())).prop_map(|(call, session)| Made { call, session })
}
