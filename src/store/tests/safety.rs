//! What must not be lost: failures that change nothing, identifiers that are taken, two processes at once.

use std::time::{Duration, Instant};

use rusqlite::types::Value;

use super::{Bench, Stored, activate, add, complete, plan, plan_id};
use crate::error::Error;
use crate::files::fakes::Step;
use crate::plan::{PlanId, Position};
use crate::plan_text;
use crate::store::{Ending, SessionStore, begin, waiting};

type Call = (&'static str, fn(&mut SessionStore) -> Option<Error>);

const ADD: Call = ("add", |store| store.add(&plan("new"), Position::Front, None).err());
const PULL: Call = ("pull", |store| store.pull(None).err());
const DEFER: Call = ("defer", |store| store.defer("later", Position::Front, None).err());
const COMPLETE: Call = ("complete", |store| store.finish(Ending::Completed { outcome: "done" }, None).err());
const DISCARD: Call = ("discard", |store| store.finish(Ending::Discarded { reason: "no" }, None).err());

/// Makes a call that fails, and gives what was stored before and after.
fn before_and_after(bench: &Bench, store: &mut SessionStore, (name, call): Call) -> (Stored, Stored) {
    let before = bench.stored();
    let error = call(store).unwrap_or_else(|| panic!("{name} did not fail"));
    assert_eq!(error.category(), "FILE_SYSTEM_ERROR", "{name}");
    (before, bench.stored())
}

#[test]
fn a_file_that_cannot_be_staged_leaves_everything_as_it_was() {
    let bench = Bench::new();
    let mut store = bench.open();
    activate(&mut store, "active");
    add(&mut store, "queued");
    for call in [ADD, DEFER] {
        bench.fail_at(Step::Stage);
        let (before, after) = before_and_after(&bench, &mut store, call);
        assert_eq!(before, after, "{}", call.0);
        bench.fail_at(None);
    }
    // Nothing of the failed calls is left in the connection either.
    assert_eq!((DEFER.1)(&mut store).map(|error| error.to_string()), None);
}

#[test]
fn a_missing_file_that_cannot_be_staged_leaves_the_plan_in_the_queue() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = add(&mut store, "queued");
    bench.take_file(&id);
    bench.fail_at(Step::Stage);
    let (before, after) = before_and_after(&bench, &mut store, PULL);
    assert_eq!(before, after);
    bench.fail_at(None);
    assert_eq!(store.pull(None).unwrap().id, id);
    assert_eq!(store.take_repaired(), [format!("wrote the missing file of plan {id} again")]);
    assert_eq!(bench.texts("SELECT detail FROM events WHERE what = 'repaired'"), ["wrote the missing file again"]);
}

#[test]
fn a_file_that_cannot_be_read_leaves_everything_as_it_was() {
    let bench = Bench::new();
    let mut store = bench.open();
    add(&mut store, "queued");
    // An addition reads too, to see that no file has its name: it must not draw names for ever.
    for call in [ADD, PULL] {
        bench.fail_at(Step::Read);
        let (before, after) = before_and_after(&bench, &mut store, call);
        assert_eq!(before, after, "{}", call.0);
    }

    bench.fail_at(None);
    store.pull(None).unwrap();
    for call in [DEFER, COMPLETE, DISCARD] {
        bench.fail_at(Step::Read);
        let (before, after) = before_and_after(&bench, &mut store, call);
        assert_eq!(before, after, "{}", call.0);
    }
}

#[test]
fn a_file_that_is_not_utf8_is_named_with_the_byte_and_left_alone() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = add(&mut store, "queued");
    bench.spoil_file(&id);
    let expected = format!("Cannot read /plans/{id}.txt: it is not UTF-8 at byte 7");
    assert_eq!(PULL.1(&mut store).unwrap().to_string(), expected);

    bench.set_file(&id, plan_text::render(&plan("queued")).as_bytes());
    store.pull(None).unwrap();
    bench.spoil_file(&id);
    for call in [DEFER, COMPLETE, DISCARD] {
        let before = bench.stored();
        assert_eq!((call.1)(&mut store).unwrap().to_string(), expected, "{}", call.0);
        assert_eq!(bench.stored(), before, "{}", call.0);
    }
}

impl Bench {
    fn spoil_file(&self, id: &PlanId) {
        self.set_file(id, b"# Goal\n\xff\n");
    }
}

#[test]
fn a_file_that_cannot_be_put_in_place_fails_no_call_and_is_written_at_the_next_opening() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.fail_at(Step::Publish);
    let id = add(&mut store, "queued");
    assert_eq!(bench.file(&id), None);
    assert!(store.is_untidy(), "it is opened anew for the next call");
    drop(store);

    bench.fail_at(None);
    let mut store = bench.open();
    assert_eq!(store.take_repaired(), [format!("wrote the missing file of queued plan {id} again")]);
    assert_eq!(store.take_repaired(), Vec::<String>::new());
    assert_eq!(bench.file(&id), Some(plan_text::render(&plan("queued"))));
    assert_eq!(store.audit().unwrap().issues, []);
}

#[test]
fn a_note_that_was_committed_and_not_published_is_added_when_the_file_is_read() {
    let bench = Bench::new();
    let (mut one, mut other) = (bench.open(), bench.open());
    let id = activate(&mut one, "deferred");
    bench.fail_at(Step::Publish);
    one.defer("waits for the key", Position::Back, None).unwrap();
    // The process that deferred it has not got further, and another goes on.
    bench.fail_at(None);
    let pulled = other.pull(None).unwrap();
    assert!(pulled.text.ends_with("Deferred: waits for the key\n"), "{}", pulled.text);
    assert_eq!(bench.file(&id).as_deref(), Some(pulled.text.as_str()));
    complete(&mut other, "done");
    assert!(other.remembered(&id).unwrap().plan.notes.ends_with("Deferred: waits for the key"));
    assert_eq!(other.audit().unwrap().issues, []);
}

#[test]
fn notes_are_kept_for_as_long_as_they_do_not_get_into_the_file() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = activate(&mut store, "deferred");
    let before = bench.file(&id);
    bench.fail_at(Step::Publish);
    store.defer("first", Position::Back, None).unwrap();
    assert!(store.pull(None).unwrap().text.ends_with("Deferred: first\n"));
    store.defer("second", Position::Back, None).unwrap();
    store.pull(None).unwrap();
    assert_eq!(bench.file(&id), before);
    complete(&mut store, "done");
    let notes = store.remembered(&id).unwrap().plan.notes;
    assert_eq!(
        (notes.matches("Deferred: first").count(), notes.matches("Deferred: second").count()),
        (1, 1),
        "{notes}"
    );
}

#[test]
fn an_edit_made_while_a_plan_is_deferred_stays_beside_the_note() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = activate(&mut store, "deferred");
    bench.files.0.lock().unwrap().edit_when_staged = Some(b"# Goal\nedited\n# Notes\nprogress\n".to_vec());
    store.defer("waits", Position::Back, None).unwrap();
    assert_eq!(bench.file(&id).as_deref(), Some("# Goal\nedited\n# Notes\nprogress\n"));
    let pulled = store.pull(None).unwrap();
    assert_eq!(pulled.goal, "edited");
    assert!(pulled.text.contains("\n# Notes\nprogress\n\n["), "{}", pulled.text);
    assert!(pulled.text.ends_with("Deferred: waits\n"), "{}", pulled.text);
}

#[test]
fn a_deleted_note_does_not_come_back_once_the_plan_was_pulled() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = activate(&mut store, "deferred");
    store.defer("waits", Position::Back, None).unwrap();
    store.pull(None).unwrap();
    bench.set_file(&id, plan_text::render(&plan("deferred")).as_bytes());
    complete(&mut store, "done");
    assert_eq!(store.remembered(&id).unwrap().plan, plan("deferred"));
}

#[test]
fn a_file_that_cannot_be_removed_fails_no_call_and_is_removed_at_the_next_opening() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = activate(&mut store, "active");
    bench.fail_at(Step::Remove);
    assert_eq!(complete(&mut store, "done"), id);
    assert_eq!(bench.file(&id), Some(plan_text::render(&plan("active"))));
    drop(store);

    bench.fail_at(None);
    let mut store = bench.open();
    assert_eq!(store.take_repaired(), [format!("removed the file of completed plan {id}")]);
    assert_eq!(bench.file(&id), None);
    assert_eq!(store.remembered(&id).unwrap().plan, plan("active"));
}

#[test]
fn a_pull_writes_a_missing_file_again_and_says_so() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = add(&mut store, "queued");
    bench.take_file(&id);
    let pulled = store.pull(None).unwrap();
    assert_eq!(Some(pulled.text), bench.file(&id));
    assert_eq!(bench.file(&id), Some(plan_text::render(&plan("queued"))));
    assert_eq!(store.take_repaired(), [format!("wrote the missing file of plan {id} again")]);
}

#[test]
fn a_pull_does_not_say_that_it_wrote_a_file_that_it_could_not_put_in_place() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = add(&mut store, "queued");
    bench.take_file(&id);
    bench.fail_at(Step::Publish);
    store.pull(None).unwrap();
    assert_eq!(store.take_repaired(), Vec::<String>::new());
    assert_eq!(bench.file(&id), None);
}

#[test]
fn a_pull_that_overtakes_the_publishing_of_a_deferral_leaves_it_nothing_to_publish() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = activate(&mut store, "deferred");
    let path = bench.plans().join(format!("{id}.txt"));
    let before = std::fs::read(&path).unwrap();
    assert_eq!(bench.rows("SELECT staged_file FROM plans"), [[Value::Null]], "nothing is left to publish");
    store.defer("waits", Position::Back, None).unwrap();
    let staged = bench.texts("SELECT staged_file FROM plans").remove(0);
    std::fs::rename(&path, bench.plans().join(staged)).unwrap();
    std::fs::write(&path, before).unwrap();
    let text = store.pull(None).unwrap().text;
    assert!(text.ends_with("Deferred: waits\n"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(std::fs::read_dir(bench.plans()).unwrap().count(), 1);
}

#[test]
fn a_pull_that_overtakes_the_publishing_of_a_new_plan_repairs_nothing() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = add(&mut store, "queued");
    let path = bench.plans().join(format!("{id}.txt"));
    // As another process sees it between the commit and the publishing.
    let staged = bench.texts("SELECT staged_file FROM plans").remove(0);
    std::fs::rename(&path, bench.plans().join(staged)).unwrap();
    assert_eq!(store.pull(None).unwrap().text, std::fs::read_to_string(&path).unwrap());
    assert_eq!(std::fs::read_dir(bench.plans()).unwrap().count(), 1);
    assert_eq!(store.take_repaired(), Vec::<String>::new());
    assert_eq!(bench.texts("SELECT what FROM events ORDER BY seq"), ["created", "pulled"]);
}

#[test]
fn an_identifier_that_is_taken_is_drawn_again() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["aaaaa", "aaaaa", "bbbbb"]);
    assert_eq!(add(&mut store, "one").as_str(), "aaaaa");
    assert_eq!(add(&mut store, "two").as_str(), "bbbbb");

    // A finished plan keeps its identifier.
    store.pull(None).unwrap();
    complete(&mut store, "done");
    bench.next_ids(&["aaaaa", "ccccc"]);
    assert_eq!(add(&mut store, "three").as_str(), "ccccc");
}

#[test]
fn after_ten_draws_identifiers_are_longer() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["aaaaa"]);
    add(&mut store, "one");
    bench.next_ids(&["aaaaa"; 9]);
    assert_eq!(add(&mut store, "two").as_str().len(), 5);
    bench.next_ids(&["aaaaa"; 10]);
    assert_eq!(add(&mut store, "three").as_str().len(), 6);
}

#[test]
fn a_stray_file_is_not_overwritten_by_a_new_plan() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.set_file(&plan_id("aaaaa"), b"somebody's words");
    bench.next_ids(&["aaaaa", "bbbbb"]);
    assert_eq!(add(&mut store, "one").as_str(), "bbbbb");
    assert_eq!(bench.file(&plan_id("aaaaa")).as_deref(), Some("somebody's words"));
}

#[test]
fn an_edit_made_while_a_plan_ends_is_kept() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = activate(&mut store, "active");
    let path = bench.plans().join(format!("{id}.txt"));
    complete(&mut store, "done");
    assert!(!path.exists());

    std::fs::write(&path, "# Goal\nan edit that came too late\n").unwrap();
    drop(store);
    let mut store = bench.open_on_disk();
    assert_eq!(store.take_repaired(), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# Goal\nan edit that came too late\n");
}

#[test]
fn of_two_processes_that_pull_one_wins() {
    let bench = Bench::new();
    let [mut one, mut other] = [bench.open(), bench.open()];
    let id = add(&mut one, "first");
    let second = add(&mut other, "second");
    assert_eq!(one.pull(None).unwrap().id, id);
    let Err(Error::PlanAlreadyActive { id: active, goal, file }) = other.pull(None) else { panic!("a second pull") };
    assert_eq!((&active, goal.as_str(), file.to_str().unwrap()), (&id, "first", &*format!("/plans/{id}.txt")));
    // What one has done, the other goes on with.
    assert_eq!(complete(&mut other, "done"), id);
    assert_eq!(one.pull(None).unwrap().id, second);
}

#[test]
fn who_changes_a_session_is_alone_with_it_from_the_beginning() {
    let bench = Bench::new();
    let mut store = bench.open();
    let _change = begin(&mut store.db).unwrap();
    let other = bench.raw();
    other.busy_timeout(Duration::ZERO).unwrap();
    let error = other.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
}

#[cfg(unix)]
#[test]
fn who_changes_a_session_has_the_head_of_the_line_until_it_is_done() {
    let bench = Bench::new();
    let mut store = bench.open();
    let line = || waiting::stand_in_line(bench.folder.path()).unwrap();
    let change = begin(&mut store.db).unwrap();
    // No time is left to wait for a turn.
    waiting::wait_since(Instant::now().checked_sub(Duration::from_secs(5)).unwrap());
    assert!(line().is_none());
    waiting::wait_since(Instant::now());
    change.commit().unwrap();
    assert!(line().is_some());
}

#[test]
fn the_database_itself_refuses_a_second_active_plan() {
    let bench = Bench::new();
    let mut store = bench.open();
    activate(&mut store, "active");
    let queued = add(&mut store, "queued");
    let error = bench
        .raw()
        .execute("UPDATE plans SET status = 'active', queue_position = NULL WHERE id = ?1", [queued.as_str()])
        .unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::ConstraintViolation));
    assert_eq!(bench.rows("SELECT count(*) FROM plans WHERE status = 'active'"), [[Value::Integer(1)]]);
}

#[test]
fn commits_are_synced_to_a_write_ahead_log_and_references_hold() {
    let bench = Bench::new();
    // From the beginning: to change that takes a database that nobody else has open.
    assert_eq!(std::fs::read(bench.database()).unwrap()[18..20], [2, 2]);
    let store = bench.open();
    let pragma = |name: &str| store.db.pragma_query_value(None, name, |row| row.get::<_, Value>(0)).unwrap();
    assert_eq!(pragma("journal_mode"), Value::Text("wal".into()));
    assert_eq!(pragma("synchronous"), Value::Integer(2));
    assert_eq!(pragma("foreign_keys"), Value::Integer(1));
}
