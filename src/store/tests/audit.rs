//! What the audit finds, each fault brought about on purpose.

use super::{Bench, activate, add, complete, discard, plan, plan_id};
use crate::plan::{Plan, PlanId};
use crate::plan_text;
use crate::store::Invariant::{
    self, FilesMatchDatabase, NoOrphanedFiles, QueueOrderPreserved, SingleActivePlan, SoundDatabase,
};
use crate::store::SessionStore;

/// A session with two queued plans, an active, a completed and a discarded one: `qqqq1`, `qqqq2`, `aaaaa`, `ccccc`, `ddddd`.
fn session_in_order() -> (Bench, SessionStore) {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["ccccc", "ddddd", "aaaaa", "qqqq1", "qqqq2"]);
    activate(&mut store, "completed");
    complete(&mut store, "done");
    activate(&mut store, "discarded");
    discard(&mut store, "no need");
    activate(&mut store, "active");
    add(&mut store, "queued 1");
    add(&mut store, "queued 2");
    (bench, store)
}

#[track_caller]
fn assert_issues(store: &mut SessionStore, expected: &[(Invariant, &str)]) {
    let audit = store.audit().unwrap();
    let issues: Vec<(Invariant, &str)> = audit.issues.iter().map(|(broken, text)| (*broken, text.as_str())).collect();
    assert_eq!(issues, expected);
    for invariant in [SingleActivePlan, QueueOrderPreserved, FilesMatchDatabase, NoOrphanedFiles, SoundDatabase] {
        assert_eq!(audit.holds(invariant), expected.iter().all(|(broken, _)| *broken != invariant), "{invariant:?}");
    }
}

fn text(plan: &Plan) -> Vec<u8> {
    plan_text::render(plan).into_bytes()
}

#[test]
fn a_session_in_order_has_no_issues() {
    let (_bench, mut store) = session_in_order();
    assert_issues(&mut store, &[]);
    let state = store.state().unwrap();
    let files = store.files(&state).unwrap();
    assert_eq!(
        (files.names, files.match_plans),
        (["aaaaa.txt", "qqqq1.txt", "qqqq2.txt"].map(String::from).into(), true)
    );
}

#[test]
fn an_empty_session_has_no_issues() {
    assert_issues(&mut Bench::new().open(), &[]);
}

#[test]
fn each_fault_of_the_rows_is_an_issue() {
    let cases: &[(&str, &[(Invariant, &str)])] = &[
        (
            "UPDATE plans SET queue_position = NULL WHERE id = 'qqqq1'",
            &[(QueueOrderPreserved, "1 queued plans have no place in the queue.")],
        ),
        (
            "UPDATE plans SET queue_position = 7 WHERE id IN ('aaaaa', 'ccccc', 'ddddd')",
            &[(QueueOrderPreserved, "3 plans that are not queued have a place in the queue.")],
        ),
        (
            "UPDATE plans SET queue_position = 7 WHERE status = 'queued'",
            &[(QueueOrderPreserved, "2 queued plans share their place in the queue.")],
        ),
        (
            "UPDATE sessions SET queued_count = 9",
            &[(SoundDatabase, "There are 2 queued plans, but 9 should be there by the session's count.")],
        ),
        (
            "UPDATE sessions SET completed_count = 0",
            &[
                (SoundDatabase, "There are 1 completed plans, but 0 should be there by the session's count."),
                (SoundDatabase, "There are 1 searchable plans, but 0 should be there by the session's count."),
            ],
        ),
        (
            "DELETE FROM plans_fts",
            &[(SoundDatabase, "There are 0 searchable plans, but 1 should be there by the session's count.")],
        ),
        (
            "PRAGMA ignore_check_constraints = ON; UPDATE plans SET status = 'lost' WHERE id = 'ddddd'",
            &[(SoundDatabase, "session.db is damaged: CHECK constraint failed in plans.")],
        ),
    ];
    for (sql, expected) in cases {
        let (bench, mut store) = session_in_order();
        bench.execute(sql);
        assert_issues(&mut store, expected);
    }
}

#[test]
fn a_second_active_plan_is_an_issue() {
    let (bench, mut store) = session_in_order();
    bench.execute(
        "DROP INDEX plans_one_active; UPDATE plans SET status = 'active', queue_position = NULL WHERE id = 'qqqq1'",
    );
    let audit = store.audit().unwrap();
    assert!(audit.issues.contains(&(SingleActivePlan, "2 plans are active; at most one may be.".into())), "{audit:?}");
    assert!(!audit.holds(SingleActivePlan));
}

#[test]
fn each_fault_of_the_files_is_an_issue() {
    type Break = fn(&Bench);
    let cases: &[(Break, &[(Invariant, &str)])] = &[
        (|bench| bench.take_file(&plan_id("aaaaa")), &[(FilesMatchDatabase, "Plan aaaaa has no file.")]),
        (|bench| bench.take_file(&plan_id("qqqq2")), &[(FilesMatchDatabase, "Plan qqqq2 has no file.")]),
        (
            |bench| bench.set_file(&plan_id("qqqq1"), b"# Goal\n\xff"),
            &[(FilesMatchDatabase, "The file of plan qqqq1 is not UTF-8 at byte 7.")],
        ),
        (
            |bench| bench.set_file(&plan_id("ccccc"), &text(&plan("completed"))),
            &[(NoOrphanedFiles, "The file of completed plan ccccc is still there.")],
        ),
        (
            |bench| bench.set_file(&plan_id("ddddd"), b"edited"),
            &[(NoOrphanedFiles, "The file of discarded plan ddddd is still there and differs from what is stored.")],
        ),
        (
            |bench| bench.set_file(&plan_id("zzzzz"), b"whose?"),
            &[(NoOrphanedFiles, "zzzzz.txt belongs to no plan of this session.")],
        ),
        // A plan's file is the truth for its content: an edit is no fault.
        (|bench| bench.set_file(&plan_id("aaaaa"), b"# Goal\nedited\n"), &[]),
    ];
    for (fault, expected) in cases {
        let (bench, mut store) = session_in_order();
        fault(&bench);
        assert_issues(&mut store, expected);
        let by_name = expected.iter().all(|(_, issue)| issue.contains("UTF-8"));
        let state = store.state().unwrap();
        assert_eq!(store.files(&state).unwrap().match_plans, by_name, "{expected:?}");
    }
}

#[test]
fn what_is_no_plan_file_is_an_issue_of_its_own() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    bench.next_ids(&["aaaaa", "bbbbb"]);
    let [_, folder]: [PlanId; 2] = [add(&mut store, "kept"), add(&mut store, "in the way")];
    for name in [".aaaaa.x1y2.tmp", "notes.md"] {
        std::fs::write(bench.plans().join(name), "text").unwrap();
    }
    let place = bench.plans().join(format!("{folder}.txt"));
    std::fs::remove_file(&place).unwrap();
    std::fs::create_dir(&place).unwrap();
    assert_issues(
        &mut store,
        &[
            (NoOrphanedFiles, ".aaaaa.x1y2.tmp is left over from an unfinished write."),
            (NoOrphanedFiles, "\"notes.md\" is not a plan file."),
            (FilesMatchDatabase, &format!("Cannot read {}: it is not a file.", place.display())),
        ],
    );
}
