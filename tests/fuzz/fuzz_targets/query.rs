//! Any text as the query of a search.

#![no_main]

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use nineplan_fuzz::files::DiskPlanFiles;
use nineplan_fuzz::ids::RandomIds;
use nineplan_fuzz::plan::Position;
use nineplan_fuzz::sessions::Sessions;
use nineplan_fuzz::tools::{Call, Connection, Unnamed, history, plan, queue, session};
use tempfile::TempDir;

/// What was done: identifiers, a language, a script without spaces, words that a query can miss by a letter.
const GOALS: [&str; 5] = ["Wrap ghost_client", "Goal: near AND far", "漢字を検索する", "C++ and C#", "Caching, don't"];

/// A session with some completed plans. The connection is dropped before its folder.
struct History {
    connection: Connection,
    _folder: TempDir,
}

impl History {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let files = |folder| Box::new(DiskPlanFiles::new(folder)) as _;
        let sessions = Sessions::new(folder.path().join("sessions"), Arc::new(RandomIds), files);
        let connection = Connection::new(Arc::new(sessions), String::new());
        let mut history = Self { connection, _folder: folder };
        let mut call = history.call();
        session::create(&mut call, session::CreateArgs { task_description: None }).expect("a session");
        for goal in GOALS {
            let [context, approach, success_criteria] = ["src/lib.rs", "feed the heron", "it flies"].map(str::to_owned);
            let (goal, outcome) = (goal.to_owned(), format!("{goal} is done"));
            let (inputs, outputs, position, session_name) = (None, None, Position::Back, None);
            let add =
                queue::AddArgs { context, goal, approach, success_criteria, inputs, outputs, position, session_name };
            queue::add(&mut call, add).expect("a queued plan");
            queue::pull(&mut call, queue::PullArgs { session_name: None }).expect("an active plan");
            plan::complete(&mut call, plan::CompleteArgs { outcome, session_name: None }).expect("a completed plan");
        }
        history
    }

    fn call(&mut self) -> Call<'_> {
        Call::new(&mut self.connection, Unnamed::Current, None)
    }
}

thread_local!(static HISTORY: RefCell<History> = RefCell::new(History::new()));

fuzz_target!(|input: (u8, &str)| {
    let (most, query) = (usize::from(input.0 % 8), input.1);
    HISTORY.with_borrow_mut(|history| {
        let args = history::SearchArgs { query: query.to_owned(), max_results: most, session_name: None };
        let found = history::search(&mut history.call(), args).expect("no text makes a search fail");
        assert_eq!(found.matches.len(), most.min(found.total_matches as usize));
        assert!(found.matches.iter().map(|plan| plan.relevance_rank).eq(1..=found.matches.len() as u64));
        assert!(found.matches.is_sorted_by(|better, plan| better.relevance_score >= plan.relevance_score));
        let ids: HashSet<&str> = found.matches.iter().map(|plan| plan.id.as_str()).collect();
        assert_eq!(ids.len(), found.matches.len());
        assert!(!found.to_string().is_empty());
    });
});
