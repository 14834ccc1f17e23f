//! Sessions with a long history: searching them, and whether anything else gets slower.
//!
//! Such a session is made as one of the plain schema, from before the database had versions, in one transaction; the server
//! brings it up to date and indexes it when it is opened.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::Depth;
use super::client::{Client, folder, text};
use super::corpus::{Corpus, Plan, frequencies};
use super::report::{Budget, Figure, Samples, Unit};
use super::words;

/// The plans that are queued beside the history.
const QUEUED: usize = 10;

/// How many searches are made before it is the turn of the bare query: what both do is to read megabytes of cached pages,
/// and neither is to find its memory cold for the other's sake.
const TURN: usize = 10;

/// What a search for one word finds, without a server: the plain query, weighed as the server weighs.
const QUERY: &str = "SELECT rowid, bm25(plans_fts, 8.0, 6.0, 6.0, 2.0, 2.0, 1.0, 1.0) AS score FROM plans_fts
    WHERE plans_fts MATCH ?1 ORDER BY score LIMIT 10";

/// Opens a session whose queue holds so many plans, and gives its name.
pub fn queued(client: &mut Client, corpus: &mut Corpus, count: usize) -> String {
    let plans: Vec<Plan> = (0..count).map(|_| corpus.plan()).collect();
    open(client, "long-queue-session", &[], &plans)
}

/// Makes a session of the plain schema and opens it.
fn open(client: &mut Client, name: &str, completed: &[Plan], queued: &[Plan]) -> String {
    let folder = client.session(name);
    fs::create_dir_all(folder.join("plans")).expect("a folder");
    let mut db = Connection::open(folder.join("session.db")).expect("a database");
    db.execute_batch(include_str!("../it/legacy.sql")).expect("a schema");
    // Its index would be made to be thrown away.
    db.execute_batch("DROP TRIGGER plans_ai; DROP TRIGGER plans_ad; DROP TRIGGER plans_au").expect("triggers");
    let tx = db.transaction().expect("a transaction");
    tx.execute("INSERT INTO sessions (name, task_description) VALUES (?1, 'Measure it')", [name]).expect("a session");
    let mut insert = tx
        .prepare(
            "INSERT INTO plans (id, session_name, status, queue_position, goal, context, inputs, outputs, approach,
                 success_criteria, notes, outcome, completed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, '', ?11, iif(?3 = 'completed', datetime('now'), NULL))",
        )
        .expect("a statement");
    let completed = completed.iter().map(|plan| (plan, "completed"));
    for (at, (plan, status)) in (0_u32..).zip(completed.chain(queued.iter().map(|plan| (plan, "queued")))) {
        // Not in their order, as drawn ones are not.
        let id = format!("{:08x}", at.wrapping_mul(0x9e37_79b1));
        let done = status == "completed";
        let values = (
            (&id, name, status, (!done).then_some(at)),
            (&plan.goal, &plan.context, &plan.inputs, &plan.outputs, &plan.approach, &plan.success_criteria),
            done.then_some(&plan.outcome),
        );
        let ((id, name, status, place), (goal, context, inputs, outputs, approach, criteria), outcome) = values;
        insert
            .execute((id, name, status, place, goal, context, inputs, outputs, approach, criteria, outcome))
            .expect("a row");
        if !done {
            fs::write(folder.join("plans").join(format!("{id}.txt")), plan.text()).expect("a plan file");
        }
    }
    drop(insert);
    tx.commit().expect("a commit");
    drop(db);
    client.call("session_resume", json!({ "session_name": name }));
    name.to_owned()
}

/// The words that are searched for.
struct Words {
    common: String,
    rare: String,
    mistyped: String,
}

impl Words {
    /// The words whose frequency is nearest to a quarter of the plans, and to ten of them.
    fn of(plans: &[Plan]) -> Self {
        let frequencies = frequencies(plans);
        let nearest = |wanted: usize, length: usize| {
            let candidates = frequencies.iter().filter(|(word, _)| word.len() >= length);
            candidates.min_by_key(|(_, count)| count.abs_diff(wanted)).expect("a word").0.clone()
        };
        let (common, rare) = (nearest(plans.len() / 4, 4), nearest(10, 6));
        let mut letters: Vec<char> = nearest(20, 9).chars().collect();
        letters.swap(4, 5);
        letters.remove(1);
        let mistyped = letters.into_iter().collect();
        assert!(!frequencies.contains_key(&mistyped), "{mistyped} is a word");
        Self { common, rare, mistyped }
    }
}

/// Searches, what a long history makes of other calls, and what memory it takes.
pub fn long(depth: &Depth) -> Vec<Figure> {
    let mut figures = Vec::new();
    let [small, large] = depth.histories;
    for count in [small, large] {
        let root = folder();
        let mut corpus = Corpus::of(count);
        let plans: Vec<Plan> = (0..count).map(|_| corpus.plan()).collect();
        let queue: Vec<Plan> = (0..QUEUED).map(|_| corpus.plan()).collect();
        let mut client = Client::start(root.path());
        let long = open(&mut client, "long-history-session", &plans, &queue);
        let words = Words::of(&plans);
        drop(plans);
        // What indexing it took of the memory is no matter of searching.
        client.end();
        let mut client = Client::start(root.path());
        client.call("session_resume", json!({ "session_name": long }));
        figures.extend(searches(depth, &mut client, &long, &words, count));
        if count == large {
            figures.extend(client.resident().map(|memory| {
                let name = format!("memory, {count} completed plans searched");
                Figure::plain(name, Unit::Megabytes, memory, None, Budget::Below(24.0))
            }));
            let short = open(&mut client, "short-history-session", &queue, &queue);
            figures.extend(growth(depth, &mut client, &mut corpus, [&short, &long], count));
        }
        client.end();
    }
    figures
}

fn searches(depth: &Depth, client: &mut Client, session: &str, words: &Words, count: usize) -> Vec<Figure> {
    let path = client.session(session).join("session.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).expect("a session");
    let mut figures = Vec::new();
    for (kind, word) in [("common", &words.common), ("rare", &words.rare), ("mistyped", &words.mistyped)] {
        let [mut ping, mut search, mut bare] = <[Samples; 3]>::default();
        for _ in 0..depth.searches.div_ceil(TURN) {
            for _ in 0..TURN {
                ping.add(client.ping());
                let (took, found) = client.call("history_search", json!({ "query": word }));
                search.add(took);
                assert!(found["total_matches"].as_u64() > Some(0), "{word}: {found}");
                assert_eq!(found["note"].is_null(), kind != "mistyped", "{found}");
            }
            for _ in 0..TURN {
                if kind != "mistyped" {
                    bare.add(query(&db, &words::index_text(word)));
                }
            }
        }
        let name = format!("history_search, {kind} word, {count} completed");
        figures.push(match kind {
            "mistyped" => Figure::timed(name, &search, &[], Budget::Below(30_000.0)),
            _ => Figure::timed(name, &search, &[&ping, &bare], Budget::Times(1.5)),
        });
    }
    figures
}

/// The bare query for a word.
fn query(db: &Connection, term: &str) -> Duration {
    let start = Instant::now();
    let mut statement = db.prepare_cached(QUERY).expect(QUERY);
    let mut rows = statement.query([format!("\"{term}\"")]).expect(QUERY);
    while let Some(row) = rows.next().expect(QUERY) {
        std::hint::black_box((row.get::<_, i64>(0).expect("a number"), row.get::<_, f64>(1).expect("a score")));
    }
    start.elapsed()
}

/// The calls of a session with a short and of one with a long history, by turns.
fn growth(
    depth: &Depth,
    client: &mut Client,
    corpus: &mut Corpus,
    [short, long]: [&str; 2],
    count: usize,
) -> Vec<Figure> {
    let tools = ["plan_complete", "queue_pull", "session_resume"];
    let mut samples = <[[Samples; 2]; 3]>::default();
    for _ in 0..depth.rounds {
        let plan = corpus.plan();
        for (at, session) in [short, long].into_iter().enumerate() {
            let with_session = |mut arguments: serde_json::Value| {
                arguments["session_name"] = json!(session);
                arguments
            };
            client.call("queue_add", with_session(plan.arguments()));
            samples[1][at].add(client.call("queue_pull", with_session(json!({}))).0);
            samples[2][at].add(client.call("session_resume", with_session(json!({}))).0);
            let (took, done) = client.call("plan_complete", with_session(json!({ "outcome": plan.outcome })));
            samples[0][at].add(took);
            assert!(text(&done, "plan_id").len() >= 5);
        }
    }
    let short = QUEUED;
    tools
        .into_iter()
        .zip(&samples)
        .map(|(tool, [with_short, with_long])| {
            let name = format!("{tool}, {count} completed, beside {short}");
            Figure::timed(name, with_long, &[with_short], Budget::Times(1.2))
        })
        .collect()
}
