//! Which databases are opened, brought up to date or refused.

use std::fs;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{Bench, activate, add, complete, plan_id};
use crate::error::{DatabaseFault, Error};
use crate::store::{Binding, Counts, QueuedPlan, schema};

/// The schema as it was first written down, before this program added to it.
const PLAIN_SCHEMA: &str = include_str!("../../../tests/it/legacy.sql");

const PLAIN_PLANS: &str = "
    INSERT INTO sessions (name, task_description) VALUES ('amber-quiet-river', 'Build it');
    INSERT INTO plans (id, session_name, status, queue_position, goal, outcome, created_at, completed_at) VALUES
        ('ccccc', 'amber-quiet-river', 'completed', NULL, 'Wrap ghost_client', 'Wrapped', '2025-01-01 00:00:00', '2025-01-02 00:00:00'),
        ('ddddd', 'amber-quiet-river', 'discarded', NULL, 'Discarded ghost', 'no need', '2025-01-01 00:00:01', NULL),
        ('aaaaa', 'amber-quiet-river', 'active', NULL, 'Active ghost', NULL, '2025-01-01 00:00:02', NULL),
        ('qqqq2', 'amber-quiet-river', 'queued', 20, 'Queued second', NULL, '2025-01-01 00:00:03', NULL),
        ('qqqq1', 'amber-quiet-river', 'queued', 10, 'Queued first', NULL, '2025-01-01 00:00:04', NULL);";

fn plain_session(extra: &str) -> Bench {
    let bench = Bench::without_database();
    bench.execute(PLAIN_SCHEMA);
    bench.execute(PLAIN_PLANS);
    bench.execute(extra);
    bench
}

fn queued(id: &str, goal: &str) -> QueuedPlan {
    QueuedPlan { id: plan_id(id), goal: goal.into() }
}

#[test]
fn a_session_of_the_plain_schema_keeps_all_it_had() {
    let bench = plain_session("");
    let summary = schema::summary(&bench.database()).unwrap();
    assert_eq!((summary.queued, summary.completed, summary.active, summary.started), (2, 1, true, true));

    let mut store = bench.open();
    let state = store.state().unwrap();
    assert_eq!(state.task_description.as_deref(), Some("Build it"));
    assert_eq!(state.queue, [queued("qqqq1", "Queued first"), queued("qqqq2", "Queued second")]);
    assert_eq!(state.counts, Counts { queued: 2, completed: 1 });
    assert_eq!(state.active.unwrap().id, plan_id("aaaaa"));
    let found = store.search("ghostClient", 10).unwrap();
    assert_eq!((found.matches[0].id.as_str(), found.total), ("ccccc", 1));
    assert_eq!(store.remembered(&plan_id("ccccc")).unwrap().completed_at, "2025-01-02T00:00:00Z");
    assert!(store.text_of(&plan_id("ddddd")).unwrap().ends_with("# Discarded\nno need\n"));
    let events = "SELECT plan_id || ' ' || what FROM events WHERE what <> 'repaired' ORDER BY seq";
    let expected =
        ["ccccc created", "ddddd created", "aaaaa created", "qqqq2 created", "qqqq1 created", "ccccc completed"];
    assert_eq!(bench.texts(events), expected);

    complete(&mut store, "Active no more");
    assert_eq!(store.pull(None).unwrap().id, plan_id("qqqq1"));
    assert_eq!(store.search("no more", 10).unwrap().matches[0].id, plan_id("aaaaa"));
    assert_eq!(store.audit().unwrap().issues, []);
}

#[test]
fn of_several_active_plans_of_the_plain_schema_one_stays_active() {
    let bench = plain_session(
        "INSERT INTO plans (id, session_name, status, goal, created_at) VALUES
            ('bbbbb', 'amber-quiet-river', 'active', 'Active too', '2025-01-01 00:00:05');
         UPDATE plans SET queue_position = NULL WHERE id = 'qqqq1';",
    );
    let mut store = bench.open();
    let state = store.state().unwrap();
    assert_eq!(state.active.unwrap().id, plan_id("aaaaa"));
    assert_eq!(
        state.queue,
        [queued("bbbbb", "Active too"), queued("qqqq2", "Queued second"), queued("qqqq1", "Queued first")]
    );
    assert_eq!(store.audit().unwrap().issues, []);
}

#[test]
fn identifiers_of_another_form_become_ours_and_their_files_follow() {
    let bench = plain_session(
        "INSERT INTO plans (id, session_name, status, queue_position, goal) VALUES
            ('AbC_-', 'amber-quiet-river', 'queued', 30, 'Short when plain'),
            ('QQQQ1', 'amber-quiet-river', 'queued', 40, 'Taken when plain'),
            ('../../x', 'amber-quiet-river', 'queued', 50, 'No name of a file');",
    );
    fs::write(bench.plans().join("AbC_-.txt"), "# Goal\nEdited by hand\n").unwrap();
    fs::write(bench.folder.path().join("x.txt"), "not ours").unwrap();
    let mut store = bench.open_on_disk();
    let ids: Vec<String> = store.state().unwrap().queue.into_iter().map(|plan| plan.id.to_string()).collect();
    assert_eq!(ids, ["qqqq1", "qqqq2", "abc00001", "qqqq100001", "x00001"]);
    assert_eq!(fs::read_to_string(bench.plans().join("abc00001.txt")).unwrap(), "# Goal\nEdited by hand\n");
    assert_eq!(fs::read_to_string(bench.folder.path().join("x.txt")).unwrap(), "not ours");
    assert_eq!(store.audit().unwrap().issues, []);
}

#[test]
fn a_file_that_stands_where_a_renamed_one_would_go_is_kept() {
    let bench = plain_session(
        "INSERT INTO plans (id, session_name, status, queue_position, goal) VALUES
            ('AB-CDE', 'amber-quiet-river', 'queued', 30, 'Stored');",
    );
    let files = ["AB-CDE.txt", "abcde.txt"].map(|name| bench.plans().join(name));
    for file in &files {
        fs::write(file, format!("# Goal\n{}\n", file.display())).unwrap();
    }
    drop(bench.open_on_disk());
    for file in &files {
        assert_eq!(fs::read_to_string(file).unwrap(), format!("# Goal\n{}\n", file.display()));
    }
}

#[test]
fn times_that_are_missing_or_unreadable_become_times() {
    let bench = plain_session(
        "UPDATE sessions SET created_at = NULL;
         UPDATE plans SET created_at = 'some day', completed_at = '2025-01-02T00:00:00Z' WHERE id = 'ccccc';
         INSERT INTO plans (id, session_name, status, goal, created_at) VALUES
            ('ccccd', 'amber-quiet-river', 'completed', 'Without an end', '2025-01-01 00:00:05');",
    );
    let mut store = bench.open();
    let times = |plan: crate::store::Remembered| (plan.created_at, plan.completed_at);
    assert_eq!(
        times(store.remembered(&plan_id("ccccc")).unwrap()),
        ("2025-01-02T00:00:00Z".into(), "2025-01-02T00:00:00Z".into())
    );
    assert_eq!(
        times(store.remembered(&plan_id("ccccd")).unwrap()),
        ("2025-01-01T00:00:05Z".into(), "2025-01-01T00:00:05Z".into())
    );
    assert_eq!(schema::summary(&bench.database()).unwrap().created.len(), "2025-01-01T00:00:05Z".len());
}

#[test]
fn opening_twice_migrates_once() {
    let bench = plain_session("");
    drop(bench.open());
    let schema = || bench.texts("SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1");
    let version = || bench.rows("PRAGMA user_version");
    let (stored, shape, number) = (bench.stored(), schema(), version());
    drop(bench.open());
    assert_eq!((bench.stored(), schema(), version()), (stored, shape, number));
}

#[test]
fn a_migrated_session_has_the_schema_of_a_new_one() {
    let tables = |bench: &Bench| {
        bench.texts(
            "SELECT tables.name || '.' || columns.name || ' ' || columns.type || columns.\"notnull\" || columns.pk
             FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
             WHERE tables.type = 'table' AND tables.name NOT LIKE 'plans_fts_%' ORDER BY 1",
        )
    };
    let others = |bench: &Bench| bench.texts("SELECT name FROM sqlite_schema WHERE type <> 'table' ORDER BY 1");
    let [migrated, new] = [plain_session(""), Bench::new()];
    drop(migrated.open());
    assert_eq!((tables(&migrated), others(&migrated)), (tables(&new), others(&new)));
}

#[test]
fn a_newer_schema_is_refused_and_nothing_is_written() {
    let bench = Bench::new();
    let mut store = bench.open();
    add(&mut store, "queued");
    drop(store);
    bench.execute("PRAGMA user_version = 99");
    let before = fs::read(bench.database()).unwrap();

    let error = bench.try_open().err().unwrap();
    assert!(matches!(error, Error::Database(DatabaseFault::Newer { found: 99, known: 2 })), "{error}");
    assert!(fs::read(bench.database()).unwrap() == before, "the file was written to");
    let mut names: Vec<_> =
        fs::read_dir(bench.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["plans", "session.db"]);
    let error = schema::summary(&bench.database()).unwrap_err();
    assert!(matches!(error, Error::Database(DatabaseFault::Newer { found: 99, known: 2 })), "{error}");
}

#[test]
fn a_newer_schema_whose_log_is_not_written_back_is_left_as_it_is() {
    let bench = Bench::new();
    let mut store = bench.open();
    add(&mut store, "queued");
    bench.execute("PRAGMA user_version = 99");
    // What a process leaves that is killed.
    let killed = Bench::without_database();
    let files =
        ["session.db", schema::LOG_NAME].map(|name| (bench.folder.path().join(name), killed.folder.path().join(name)));
    for (from, to) in &files {
        fs::copy(from, to).unwrap();
    }
    drop(store);
    let bytes = || files.each_ref().map(|(_, to)| fs::read(to).unwrap());
    let before = bytes();
    assert!(!before[1].is_empty());

    let newer = |error: Error| matches!(error, Error::Database(DatabaseFault::Newer { found: 99, known: 2 }));
    assert!(newer(killed.try_open().err().unwrap()));
    assert!(newer(schema::summary(&killed.database()).unwrap_err()));
    assert!(bytes() == before, "something was written");
}

fn refusal(bench: &Bench) -> String {
    let error = bench.try_open().err().unwrap();
    assert_eq!(error.category(), "DATABASE_ERROR");
    assert_eq!(schema::summary(&bench.database()).unwrap_err().to_string(), error.to_string());
    error.to_string()
}

#[test]
fn what_is_no_session_is_refused_and_left_as_it_is() {
    let bench = Bench::without_database();
    for (content, said) in [
        (Vec::new(), "session.db is not a 9plan session: it has no plans."),
        (b"not a database".repeat(1_000), "The session's database failed: file is not a database."),
        (b"SQLite format 3\0".repeat(300), "The session's database failed: file is not a database."),
    ] {
        fs::write(bench.database(), &content).unwrap();
        assert_eq!(refusal(&bench), said);
        assert!(fs::read(bench.database()).unwrap() == content, "the file was written to");
    }
}

#[test]
fn a_database_without_a_session_or_with_two_is_refused() {
    for (change, said) in [
        ("DELETE FROM sessions", "session.db is not a 9plan session: it names no session."),
        (
            "INSERT INTO sessions (name) VALUES ('other-quiet-river')",
            "session.db is not a 9plan session: it holds more than one session.",
        ),
        ("DROP TABLE plans", "session.db is not a 9plan session: it has no plans."),
    ] {
        let bench = Bench::new();
        bench.execute(change);
        assert_eq!(refusal(&bench), said, "after {change}");
    }
}

#[test]
fn a_truncated_database_is_reported_wherever_it_ends() {
    let bench = Bench::new();
    let mut store = bench.open();
    for number in 0..40 {
        activate(&mut store, &format!("goal {number}"));
        complete(&mut store, &"a long outcome ".repeat(50));
    }
    drop(store);
    let whole = fs::read(bench.database()).unwrap();
    for percent in [1, 10, 30, 50, 70, 90] {
        fs::write(bench.database(), &whole[..whole.len() * percent / 100]).unwrap();
        let found = bench.try_open().and_then(|mut store| store.audit()).map(|audit| audit.issues.len());
        match found {
            Err(Error::Database(_)) => {}
            Ok(issues) if issues > 0 => {}
            other => panic!("cut to {percent} %: {other:?}"),
        }
    }
}

#[test]
fn a_vacuum_keeps_what_the_search_finds() {
    let bench = Bench::new();
    let mut store = bench.open();
    for goal in ["Given up", "Wrap ghost_client", "Cache the posts", "Left out", "Render the posts"] {
        activate(&mut store, goal);
        if goal.contains(' ') && !goal.starts_with('G') && !goal.starts_with('L') {
            complete(&mut store, "done");
        } else {
            super::discard(&mut store, "no need");
        }
    }
    let mut goals = |query: &str| -> Vec<(String, u64)> {
        let found = store.search(query, 10).unwrap();
        found.matches.into_iter().map(|found| (found.goal, found.score.to_bits())).collect()
    };
    let queries = ["ghostClient", "posts", "done", "cahce"];
    let before = queries.map(&mut goals);
    assert_eq!(before.each_ref().map(Vec::len), [1, 2, 3, 1]);
    // The removed rows leave gaps that the vacuum closes.
    bench.execute("DELETE FROM plans WHERE status = 'discarded'");
    let db: Connection = bench.raw();
    db.execute_batch("VACUUM").unwrap();
    assert_eq!(queries.map(&mut goals), before);
}

#[test]
fn a_session_of_version_1_is_read_while_it_cannot_be_migrated_and_migrated_when_it_can() {
    let bench = Bench::new();
    let mut store = bench.open();
    add(&mut store, "queued");
    drop(store);
    bench.execute("DROP TABLE bindings; PRAGMA user_version = 1");
    let version = || bench.rows("PRAGMA user_version");
    let other = bench.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let bound = [Binding::Folder("/app".to_owned())];
    let mut store = bench.open();
    assert_eq!(store.state().unwrap().counts.queued, 1);
    assert!(store.bind(&bound).is_err());
    assert_eq!(version(), [[Value::Integer(1)]]);
    other.execute_batch("ROLLBACK").unwrap();
    add(&mut store, "another");
    store = bench.open();
    assert_eq!(version(), [[Value::Integer(2)]]);
    store.bind(&bound).unwrap();
    assert_eq!(store.state().unwrap().counts.queued, 2);
}
