//! What no server could do without: the same SQL on the bare library, and the same writes of a file.
//!
//! Owns the statements of each call, in the order in which the server runs them, which [`is_the_servers`] holds. There is no
//! protocol here, no check and no waiting line; the pragmas are those of the server.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::{Value, json};

use super::client::{Client, folder, text};
use super::corpus::{Corpus, Plan};
use super::words;

const TEXT: &str = "context, goal, inputs, outputs, approach, success_criteria, notes";

/// A session's database, without a server.
pub struct Database {
    db: Connection,
    /// The queued plans, front first, each with its text.
    queue: VecDeque<(String, Plan)>,
    active: Option<(String, Plan)>,
    added: u32,
}

impl Database {
    /// The database of the session in `folder`, which nobody else has open. `queue` is what its queue holds.
    pub fn open(folder: &Path, queue: VecDeque<(String, Plan)>) -> Self {
        let db = Connection::open(folder.join("session.db")).expect("a session");
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
            .expect("pragmas");
        db.set_prepared_statement_cache_capacity(64);
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).expect("a setting");
        Self { db, queue, active: None, added: 0 }
    }

    pub fn add(&mut self, plan: &Plan) -> Duration {
        self.added += 1;
        let id = format!("bare{}", self.added);
        let start = Instant::now();
        let tx = begin(&mut self.db);
        number(&tx, "SELECT EXISTS (SELECT 1 FROM plans WHERE id = ?1)", [&id]);
        let place = back(&tx);
        run(
            &tx,
            "INSERT INTO plans (id, session_name, status, queue_position, goal)
             VALUES (?1, (SELECT name FROM sessions), 'queued', ?2, ?3)",
            (&id, place, &plan.goal),
        );
        set_text(&tx, &id, plan, "");
        record(&tx, &id, "created", None);
        counts(&tx);
        rows(&tx, "SELECT id FROM plans WHERE status = 'active'", ());
        tx.commit().expect("a commit");
        let took = start.elapsed();
        self.queue.push_back((id, plan.clone()));
        took
    }

    pub fn pull(&mut self) -> Duration {
        let (id, plan) = self.queue.pop_front().expect("a queued plan");
        let start = Instant::now();
        let tx = begin(&mut self.db);
        active(&tx);
        let front = format!("SELECT {TEXT}, id FROM plans WHERE status = 'queued' ORDER BY queue_position LIMIT 1");
        rows(&tx, &front, ());
        unfinished(&tx, &id);
        run(&tx, "UPDATE plans SET status = 'active', queue_position = NULL WHERE id = ?1", [&id]);
        set_text(&tx, &id, &plan, "");
        record(&tx, &id, "pulled", None);
        counts(&tx);
        tx.commit().expect("a commit");
        let took = start.elapsed();
        self.active = Some((id, plan));
        took
    }

    pub fn defer(&mut self, reason: &str) -> Duration {
        let (id, plan) = self.active.take().expect("an active plan");
        let start = Instant::now();
        let tx = begin(&mut self.db);
        active(&tx);
        unfinished(&tx, &id);
        rows(&tx, "SELECT strftime('%Y-%m-%d %H:%M', 'now')", ());
        let place = back(&tx);
        run(&tx, "UPDATE plans SET status = 'queued', queue_position = ?2 WHERE id = ?1", (&id, place));
        set_text(&tx, &id, &plan, reason);
        record(&tx, &id, "deferred", Some(reason));
        counts(&tx);
        tx.commit().expect("a commit");
        let took = start.elapsed();
        self.queue.push_back((id, plan));
        took
    }

    pub fn complete(&mut self) -> Duration {
        let (id, plan) = self.active.take().expect("an active plan");
        // What the texts are to the index is no business of the database's.
        let texts = [&plan.goal, &plan.outputs, &plan.outcome, &plan.context, &plan.inputs, &plan.approach];
        let mut vocabulary = BTreeSet::new();
        let terms = texts.map(|text| words::index_text_with_words(text, &mut vocabulary));
        let start = Instant::now();
        let tx = begin(&mut self.db);
        active(&tx);
        unfinished(&tx, &id);
        run(
            &tx,
            "UPDATE plans SET status = ?2, outcome = ?3, completed_at = iif(?2 = 'completed', datetime('now'), NULL)
             WHERE id = ?1",
            (&id, "completed", &plan.outcome),
        );
        set_text(&tx, &id, &plan, "");
        let place = number(
            &tx,
            "UPDATE plans SET history_no =
                 (SELECT coalesce(max(history_no), 0) + 1 FROM plans WHERE history_no IS NOT NULL)
             WHERE id = ?1
             RETURNING history_no",
            [&id],
        );
        let [goal, outputs, outcome, context, inputs, approach] = &terms;
        run(
            &tx,
            "INSERT INTO plans_fts (rowid, goal, outputs, outcome, context, inputs, approach, notes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (place, goal, outputs, outcome, context, inputs, approach, ""),
        );
        for word in &vocabulary {
            run(&tx, "INSERT OR IGNORE INTO words (word) VALUES (?1)", [word]);
        }
        record(&tx, &id, "completed", Some(&plan.outcome));
        counts(&tx);
        queue(&tx, 1);
        tx.commit().expect("a commit");
        start.elapsed()
    }

    /// What `session_resume` and `admin_state` read.
    pub fn state(&mut self) -> Duration {
        let start = Instant::now();
        let tx = self.db.transaction().expect("a transaction");
        rows(&tx, "SELECT task_description FROM sessions", ());
        active(&tx);
        queue(&tx, 100);
        counts(&tx);
        drop(tx);
        start.elapsed()
    }
}

fn begin(db: &mut Connection) -> Transaction<'_> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).expect("a transaction");
    rows(&tx, "PRAGMA user_version", ());
    tx
}

fn back(tx: &Transaction<'_>) -> i64 {
    number(tx, "SELECT coalesce(max(queue_position), 0) + 1 FROM plans WHERE status = 'queued'", ())
}

fn active(tx: &Transaction<'_>) {
    rows(tx, &format!("SELECT {TEXT}, id FROM plans WHERE status = 'active'"), ());
}

fn unfinished(tx: &Transaction<'_>, id: &str) {
    rows(tx, "SELECT staged_file, pending_note FROM plans WHERE id = ?1", [id]);
}

fn counts(tx: &Transaction<'_>) {
    rows(tx, "SELECT queued_count, completed_count FROM sessions", ());
}

fn queue(tx: &Transaction<'_>, most: i64) {
    rows(tx, "SELECT id, goal FROM plans WHERE status = 'queued' ORDER BY queue_position LIMIT ?1", [most]);
}

fn set_text(tx: &Transaction<'_>, id: &str, plan: &Plan, notes: &str) {
    run(
        tx,
        "UPDATE plans SET context = ?2, goal = ?3, inputs = ?4, outputs = ?5, approach = ?6, success_criteria = ?7,
             notes = ?8, staged_file = ?9, pending_note = ?10
         WHERE id = ?1",
        (
            id,
            &plan.context,
            &plan.goal,
            &plan.inputs,
            &plan.outputs,
            &plan.approach,
            &plan.success_criteria,
            notes,
            None::<&str>,
            None::<&str>,
        ),
    );
}

fn record(tx: &Transaction<'_>, id: &str, what: &str, detail: Option<&str>) {
    run(tx, "INSERT INTO events (plan_id, what, detail, client) VALUES (?1, ?2, ?3, ?4)", (id, what, detail, "bench"));
}

fn run(db: &Connection, sql: &str, values: impl rusqlite::Params) {
    db.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).expect(sql);
}

fn number(db: &Connection, sql: &str, values: impl rusqlite::Params) -> i64 {
    db.prepare_cached(sql).and_then(|mut statement| statement.query_row(values, |row| row.get(0))).expect(sql)
}

/// Reads every row, and every text in it.
fn rows(db: &Connection, sql: &str, values: impl rusqlite::Params) {
    let mut statement = db.prepare_cached(sql).expect(sql);
    let columns = statement.column_count();
    let mut rows = statement.query(values).expect(sql);
    while let Some(row) = rows.next().expect(sql) {
        for column in 0..columns {
            std::hint::black_box(row.get::<_, rusqlite::types::Value>(column).expect(sql));
        }
    }
}

/// A folder of plan files, without a server.
pub struct Files(pub PathBuf);

impl Files {
    /// Writes a file beside its place, and puts it there, durable.
    pub fn put(&self, name: &str, text: &str) -> Duration {
        let start = Instant::now();
        let (staged, place) = (self.0.join(format!(".{name}.tmp")), self.0.join(name));
        let mut file = File::create_new(&staged).expect("a new file");
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).expect("a file on disk");
        fs::rename(&staged, &place).expect("a rename");
        File::open(&self.0).and_then(|folder| folder.sync_all()).expect("a folder on disk");
        start.elapsed()
    }

    /// Reads a file and puts it there again with more in it.
    pub fn rewrite(&self, name: &str, more: &str) -> Duration {
        let start = Instant::now();
        let text = fs::read_to_string(self.0.join(name)).expect("a file");
        self.put(name, &(text + more));
        start.elapsed()
    }

    /// Reads a file and removes it.
    pub fn take(&self, name: &str) -> Duration {
        let start = Instant::now();
        let path = self.0.join(name);
        std::hint::black_box(fs::read(&path).expect("a file"));
        fs::remove_file(&path).expect("a file that can be removed");
        start.elapsed()
    }
}

/// Fails where the server runs other statements for a call than stand here.
pub fn is_the_servers() {
    let folder = folder();
    let log = folder.path().join("log");
    let root = folder.path().join("sessions");
    let mut corpus = Corpus::of(2);
    let [one, two] = [corpus.plan(), corpus.plan()];
    let mut client = Client::start_with(&root, "debug", File::create(&log).expect("a log").into());
    let session = client.create([&one]);
    let (_, state) = client.call("admin_state", json!({}));
    client.end();
    let id = text(&state["queue"][0], "id");
    let mut bare = Database::open(&root.join(&session), [(id, one)].into());
    let bare_runs = bare.traced(&two);

    let mut client = Client::start_with(&root, "debug", File::create(&log).expect("a log").into());
    client.call("session_resume", json!({ "session_name": session }));
    client.call("queue_add", two.arguments());
    client.call("queue_pull", json!({}));
    client.call("plan_defer", json!({ "reason": "later" }));
    client.call("queue_pull", json!({}));
    client.call("plan_complete", json!({ "outcome": two.outcome }));
    client.call("admin_state", json!({}));
    client.end();
    let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in fs::read_to_string(&log).expect("a log").lines() {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let (tool, sql) = (&event["span"]["tool"], &event["fields"]["sql"]);
        if let (Some(tool), Some(sql)) = (tool.as_str(), sql.as_str()) {
            servers.entry(tool.trim_start_matches("9plan_").to_owned()).or_default().push(normal(sql));
        }
    }
    for (tool, mut bare) in bare_runs {
        let mut server = servers.get(tool).cloned().unwrap_or_default();
        // Whether another plan has the same words is a matter of the plans.
        for runs in [&mut bare, &mut server] {
            runs.dedup();
        }
        // Opening the session comes first.
        let server = server[server.len().saturating_sub(bare.len())..].to_vec();
        assert_eq!(server, bare, "the statements of {tool}: the server's, and those that stand here");
    }
}

impl Database {
    /// Makes each call once, and gives the statements of each.
    fn traced(&mut self, plan: &Plan) -> Vec<(&'static str, Vec<String>)> {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        let trace = move |event: TraceEvent<'_>| {
            if let TraceEvent::Stmt(_, sql) = event {
                log.lock().expect("a log").push(normal(sql));
            }
        };
        self.db.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(trace)).expect("a trace");
        let mut taken = Vec::new();
        let mut take = |tool| taken.push((tool, std::mem::take(&mut *seen.lock().expect("a log"))));
        self.state();
        take("session_resume");
        self.add(plan);
        take("queue_add");
        self.pull();
        take("queue_pull");
        self.defer("later");
        take("plan_defer");
        self.pull();
        take("queue_pull");
        self.complete();
        take("plan_complete");
        self.state();
        take("admin_state");
        taken
    }
}

/// A statement on one line.
fn normal(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}
