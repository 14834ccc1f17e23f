//! What an agent is told of its session without asking: when it connects, and around the loss of its context.
//!
//! Owns these texts and how long they are. When each is due is for others to decide.

use std::fmt::Write;

use super::{one_line, show_plan, show_task};
use crate::plan::{SessionName, cut};
use crate::store::{Counts, Done, State, Summary};

/// The most characters of a text that goes to an agent unasked.
const MOST: usize = 6_000;

/// The most characters of a task and of a goal or an outcome in it.
const TASK: usize = 600;
const ITEM: usize = 240;

/// How many of the queued plans are listed.
const QUEUE_LISTED: usize = 5;

/// How many outcomes are listed.
pub const OUTCOMES_LISTED: u32 = 3;

/// The names of the tools that the texts mention.
pub struct Names<'a> {
    /// What they begin with.
    pub prefix: &'a str,
}

/// The plan that is being worked on, with the text of its file.
pub struct AtWork<'a> {
    pub state: &'a State,
    pub text: String,
    /// Why the text is not that of the file.
    pub fault: Option<String>,
    /// The last ones, newest first.
    pub outcomes: &'a [Done],
}

impl Names<'_> {
    fn resume(&self) -> String {
        format!("{}session_resume", self.prefix)
    }

    /// One line for the instructions: a session is unfinished where the client works. At most `most` characters.
    pub fn line(&self, name: &SessionName, summary: &Summary, most: usize) -> String {
        let mut line = format!(
            "UNFINISHED IN THIS FOLDER: {name}, {}; to go on with it, if the user wants that, call {} with this name.",
            progress(summary),
            self.resume()
        );
        if let Some(task) = &summary.task_description {
            line.push_str(" Task: ");
            line.push_str(&one_line(task));
        }
        cut(&line, most)
    }

    /// Two lines for an agent that has just been started in a folder.
    pub fn offer(&self, name: &SessionName, summary: &Summary) -> String {
        let task = summary.task_description.as_deref().map(|task| format!(" Task: {}", cut(&one_line(task), TASK)));
        format!(
            "9plan: this folder has an unfinished session, {name}: {}.{}\n\
             Where the user wants it to go on, call {} with session_name {name}; otherwise leave it as it is.\n",
            progress(summary),
            task.unwrap_or_default(),
            self.resume(),
        )
    }

    /// What a summary of the conversation must keep.
    pub fn keep(&self, name: &SessionName, state: &State) -> String {
        let active = match &state.active {
            Some(active) => format!(
                "that plan {} is active ({}), and of that plan what is done, what is in progress and what is left",
                active.id,
                cut(&one_line(&active.stored.goal), ITEM),
            ),
            None => format!("that no plan is active ({}), and what is in progress", counted(state.counts)),
        };
        format!(
            "Keep in the summary that the work goes on in the 9plan session {name}, {active}. \
             {} with session_name {name} brings all of it back.\n",
            self.resume()
        )
    }

    /// One line for an agent that has lost its context and has not come back.
    pub fn unasked(&self, name: &SessionName) -> String {
        format!(
            "9plan: no call has come for session {name} since the context was compacted. Before going on with its work, \
             call {} with session_name {name}.\n",
            self.resume()
        )
    }

    /// All that an agent needs to go on, as if it had resumed its session.
    pub fn whole(&self, name: &SessionName, at: &AtWork<'_>) -> String {
        let AtWork { state, text, fault, outcomes } = at;
        let mut head = format!("9plan: session {name} is in progress; this is where it stands.\n");
        if let Some(task) = &state.task_description {
            let _ = writeln!(head, "\nTask: {}", excerpt(task, TASK, 0, &show_task(name)));
        }
        let mut tail = String::new();
        if !state.queue.is_empty() {
            let listed = state.queue.len().min(QUEUE_LISTED);
            let _ = writeln!(tail, "\nNext in the queue (showing {listed} of {}):", state.counts.queued);
            for (position, plan) in (1..).zip(state.queue.iter().take(QUEUE_LISTED)) {
                let _ = writeln!(tail, "{position}. {}: {}", plan.id, cut(&one_line(&plan.goal), ITEM));
            }
        }
        if !outcomes.is_empty() {
            let _ = writeln!(
                tail,
                "\nLast outcomes (showing {} of {}, newest first; {}history_get gives one whole):",
                outcomes.len(),
                state.counts.completed,
                self.prefix,
            );
            for done in *outcomes {
                let (goal, outcome) = (one_line(&done.goal), one_line(&done.outcome));
                let _ = writeln!(tail, "- {}: {}: {}", done.id, cut(&goal, ITEM), cut(&outcome, ITEM));
            }
        }
        let _ = writeln!(tail, "\nNow: {}", self.now(name, state, fault.as_deref()));
        if let Some(active) = &state.active {
            let _ = writeln!(head, "\nActive plan {}, in {}:", active.id, active.path.display());
            let room = MOST.saturating_sub(length(&head) + length(&tail) + 1);
            let whole = format!("{} or {}", active.path.display(), show_plan(&active.id, name));
            // The notes stand at the end.
            head.push_str(&excerpt(text.trim_end(), room, room / 3, &whole));
            head.push('\n');
        }
        head + &tail
    }

    fn now(&self, name: &SessionName, state: &State, fault: Option<&str>) -> String {
        let prefix = self.prefix;
        let step = match &state.active {
            Some(active) if fault.is_some() => format!(
                "the text of plan {} above is as it was stored before: {} Put the file right first, then go on with the plan.",
                active.id,
                fault.map(|fault| format!("{}.", fault.trim_end_matches('.'))).unwrap_or_default(),
            ),
            Some(active) => format!(
                "go on with plan {}; what was done so far stands under Notes. End it with {prefix}plan_complete, or put it \
                 back with {prefix}plan_defer.",
                active.id
            ),
            None if state.counts.queued > 0 => format!("take the next plan with {prefix}queue_pull."),
            None => format!("nothing is queued: add each plan with {prefix}queue_add."),
        };
        format!("{step} Give session_name {name} in the first call.")
    }
}

/// `2 queued, 1 active, 3 completed`.
fn progress(summary: &Summary) -> String {
    format!("{} queued, {} active, {} completed", summary.queued, u8::from(summary.active), summary.completed)
}

fn counted(counts: Counts) -> String {
    format!("{} queued, {} completed", counts.queued, counts.completed)
}

/// A text of at most `most` characters, as clients count them. Where it is cut, its last `end` ones stay, and a sentence says how
/// much is missing before them and where it stands.
fn excerpt(text: &str, most: usize, end: usize, whole: &str) -> String {
    let all = length(text);
    if all <= most {
        return text.to_owned();
    }
    let said = |left: usize| format!("…\n[Cut here: {left} more characters. The whole text: {whole}]");
    let last = suffix(text, end);
    let gap = if last.is_empty() { "" } else { "\n…" };
    let first = prefix(text, most.saturating_sub(length(&said(all)) + length(gap) + length(last)));
    format!("{first}{}{gap}{last}", said(all - length(first) - length(last)))
}

/// How long a text is in UTF-16, which is what clients count in.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The start of a text, of at most so many units.
fn prefix(text: &str, most: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.len_utf16();
        used > most
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// The end of a text, of at most so many units.
fn suffix(text: &str, most: usize) -> &str {
    let mut used = 0;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        used += c.len_utf16();
        if used > most {
            break;
        }
        start = at;
    }
    &text[start..]
}
