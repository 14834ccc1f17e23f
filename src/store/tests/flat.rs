//! What a call costs the database does not grow with the session.
//!
//! Counted in the steps of SQLite's own machine, which are the same on every machine and in each run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rusqlite::StatementStatus;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::{Bench, add, complete};
use crate::store::{Position, SessionStore};

/// The counters of one statement, since it was prepared.
#[derive(Clone, Copy, Default)]
struct Counters {
    steps: i32,
    /// How often something was sorted.
    sorted: i32,
    /// How often it was prepared again.
    prepared_again: i32,
}

/// The statements of a store by their text. Those that the full-text index makes for itself are its own business: it merges
/// its parts now and then.
#[derive(Clone, Default)]
struct Statements(Arc<Mutex<BTreeMap<String, Counters>>>);

impl Statements {
    fn of(store: &mut SessionStore) -> Self {
        let statements = Self::default();
        let seen = Arc::clone(&statements.0);
        let note = move |event: TraceEvent<'_>| {
            if let TraceEvent::Profile(statement, _) = event {
                let sql = statement.sql().into_owned();
                if !sql.contains("plans_fts_") {
                    let counters = Counters {
                        steps: statement.get_status(StatementStatus::VmStep),
                        sorted: statement.get_status(StatementStatus::Sort),
                        prepared_again: statement.get_status(StatementStatus::RePrepare),
                    };
                    seen.lock().unwrap().insert(sql, counters);
                }
            }
        };
        store.db.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(note)).unwrap();
        statements
    }

    fn sum(&self, of: impl Fn(&Counters) -> i32) -> i32 {
        self.0.lock().unwrap().values().map(of).sum()
    }
}

/// A session with so many queued plans beside so many completed ones, the texts of which are not indexed.
fn session(queued: u32, completed: u32) -> Bench {
    let bench = Bench::new();
    bench.execute(&format!(
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {queued})
         INSERT INTO plans (id, session_name, status, queue_position, goal)
         SELECT printf('q%07d', number), 'amber-quiet-river', 'queued', number, 'goal' FROM numbers;
         WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {completed})
         INSERT INTO plans (id, session_name, status, history_no, goal, outcome)
         SELECT printf('c%07d', number), 'amber-quiet-river', 'completed', number, 'goal', 'done' FROM numbers;"
    ));
    bench
}

/// A call, by the name of its tool.
type Made = (&'static str, fn(&mut SessionStore));

const CALLS: [Made; 5] = [
    ("queue_add", |store| drop(add(store, "another goal"))),
    ("queue_pull", |store| drop(store.pull(None).unwrap())),
    ("session_resume", |store| drop(store.state().unwrap())),
    ("plan_defer", |store| drop(store.defer("later", Position::Front, None).unwrap())),
    ("plan_complete", |store| {
        store.pull(None).unwrap();
        complete(store, "it is done");
    }),
];

/// How many steps each call takes when it is made for the second time.
fn steps(bench: &Bench) -> Vec<(&'static str, i32)> {
    let mut store = bench.open();
    let statements = Statements::of(&mut store);
    for (_, call) in CALLS {
        call(&mut store);
    }
    let prepared_again = statements.sum(|counters| counters.prepared_again);
    let mut taken = Vec::new();
    for (name, call) in CALLS {
        let before = statements.sum(|counters| counters.steps);
        call(&mut store);
        taken.push((name, statements.sum(|counters| counters.steps) - before));
    }
    assert_eq!(statements.sum(|counters| counters.prepared_again), prepared_again);
    assert_eq!(statements.sum(|counters| counters.sorted), 0);
    taken
}

#[test]
fn no_call_takes_more_steps_in_a_large_session() {
    // The queue that is listed is the same in both.
    let (small, large) = (steps(&session(200, 10)), steps(&session(5_000, 5_000)));
    assert!(small.iter().all(|(_, steps)| *steps > 0), "{small:?}");
    assert_eq!(large, small);
}
