//! The program itself: its size, its start, its memory, and the list of all sessions.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde_json::json;

use super::Depth;
use super::client::{Client, compacted, folder, program_size, version};
use super::corpus::Corpus;
use super::report::{Budget, Figure, Samples, Unit};

/// What the program weighs.
pub fn size(depth: &Depth) -> Vec<Figure> {
    // A program for debugging is as large as it is.
    let figure = || Figure::plain("binary, stripped", Unit::Megabytes, program_size(), None, Budget::Below(8.0));
    depth.judged.then(figure).into_iter().collect()
}

/// From the start of the process to the answer to `initialize`, with no session there and with many; and their list.
pub fn sessions(depth: &Depth) -> Vec<Figure> {
    let (none, many, elsewhere) = (folder(), folder(), folder());
    let mut client = Client::start_again(many.path());
    let mut corpus = Corpus::of(1);
    let plan = corpus.plan();
    for _ in 0..depth.sessions {
        client.create([&plan]);
    }
    client.end();
    let [mut floor, mut with_none, mut with_many, mut unfinished, mut hook] = <[Samples; 5]>::default();
    for _ in 0..depth.starts {
        floor.add(version());
        for (root, samples) in [(none.path(), &mut with_none), (many.path(), &mut with_many)] {
            started(Client::start_at(root, elsewhere.path()), samples);
        }
        started(Client::start_again(many.path()), &mut unfinished);
        hook.add(compacted(many.path()));
    }
    let mut client = Client::start(many.path());
    let [mut list, mut bare] = <[Samples; 2]>::default();
    for _ in 0..depth.searches {
        let (took, listed) = client.call("admin_sessions", json!({}));
        list.add(took);
        let names = listed["sessions"].as_array().expect("a list").iter().filter_map(|item| item["name"].as_str());
        bare.add(names.map(|name| counted(&client.session(name).join("session.db"))).sum());
    }
    client.end();
    let count = depth.sessions;
    vec![
        Figure::timed("start to initialize", &with_none, &[&floor], Budget::TimesOrOver(1.5, 2_000.0)),
        Figure::timed(format!("start, {count} sessions beside none"), &with_many, &[&with_none], Budget::Times(1.1)),
        Figure::timed("start, unfinished sessions here", &unfinished, &[&with_none], Budget::Times(2.0)),
        Figure::timed(format!("hook, {count} sessions"), &hook, &[], Budget::Below(200_000.0)),
        Figure::timed(format!("admin_sessions, {count} sessions"), &list, &[&bare], Budget::Times(1.5)),
    ]
}

fn started(client: Client, samples: &mut Samples) {
    samples.add(client.started);
    client.end();
}

/// Opens a session without a server, counts its plans and closes it.
fn counted(path: &std::path::Path) -> Duration {
    let start = Instant::now();
    let db = Connection::open(path).expect("a session");
    // As the server does, which leaves everything as it is.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("a setting");
    let sql = "SELECT task_description, created_at, queued_count, completed_count FROM sessions";
    let read = db.query_row(sql, (), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
    });
    std::hint::black_box(read.expect(sql));
    drop(db);
    start.elapsed()
}

/// What the server has in memory when it has started, and after many calls of all kinds.
pub fn memory(depth: &Depth) -> Vec<Figure> {
    let root = folder();
    let mut corpus = Corpus::of(depth.calls);
    let mut client = Client::start(root.path());
    client.ping();
    let started = client.resident();
    client.create([]);
    let round = |client: &mut Client, corpus: &mut Corpus| {
        let plan = corpus.plan();
        client.call("queue_add", plan.arguments());
        client.call("queue_pull", json!({}));
        client.call("plan_defer", json!({ "reason": "Something else comes first" }));
        client.call("admin_state", json!({}));
        client.call("queue_pull", json!({}));
        client.call("plan_complete", json!({ "outcome": plan.outcome }));
        client.call("history_search", json!({ "query": plan.goal }));
        7
    };
    let mut calls = 1;
    while calls < depth.calls {
        calls += round(&mut client, &mut corpus);
    }
    let later = client.resident();
    client.end();
    // The session, and the lists of what is bound where.
    assert!(fs::read_dir(root.path()).is_ok_and(|sessions| sessions.count() == 2));
    let figure = |name: String, memory: Option<f64>, most| {
        memory.map(|memory| Figure::plain(name, Unit::Megabytes, memory, None, Budget::Below(most)))
    };
    let figures = [
        figure("memory after the start".to_owned(), started, 12.0),
        figure(format!("memory after {} calls", depth.calls), later, 16.0),
    ];
    figures.into_iter().flatten().collect()
}
