//! What opening a session puts right, with real files. The times of files are set, never waited for.

use std::fs::{self};
use std::path::PathBuf;

use super::{Bench, activate, add, complete, discard, plan};
use crate::plan::{Plan, PlanId, Position};
use crate::plan_text;
use crate::store::{Invariant, SessionStore};

impl Bench {
    fn place(&self, id: &PlanId) -> PathBuf {
        self.plans().join(format!("{id}.txt"))
    }

    /// The temporary file of an unfinished write.
    fn leftover(&self, id: &PlanId) -> PathBuf {
        self.plans().join(format!(".{id}.Xy9z.tmp"))
    }

    /// The names in the folder of plan files.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.plans()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn repaired_events(&self) -> Vec<String> {
        self.texts("SELECT plan_id || ': ' || detail FROM events WHERE what = 'repaired' ORDER BY detail")
    }
}

/// Closes and opens the session, and gives what was repaired, in order of the text.
fn reopened(bench: &Bench, store: SessionStore) -> (SessionStore, Vec<String>) {
    drop(store);
    let mut store = bench.open_on_disk();
    let mut repaired = store.take_repaired();
    repaired.sort();
    (store, repaired)
}

fn text(plan: &Plan) -> String {
    plan_text::render(plan)
}

fn read(path: &PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn missing_files_of_queued_and_active_plans_are_written_again() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    bench.next_ids(&["aaaaa", "qqqqq", "rrrrr"]);
    let active = activate(&mut store, "active");
    let queued = add(&mut store, "queued");
    add(&mut store, "whole");
    fs::remove_file(bench.place(&active)).unwrap();
    fs::remove_file(bench.place(&queued)).unwrap();

    let (mut store, repaired) = reopened(&bench, store);
    let said =
        ["wrote the missing file of active plan aaaaa again", "wrote the missing file of queued plan qqqqq again"];
    assert_eq!(repaired, said);
    assert_eq!(bench.repaired_events(), [format!("aaaaa: {}", said[0]), format!("qqqqq: {}", said[1])]);
    assert_eq!(read(&bench.place(&active)), text(&plan("active")));
    assert_eq!(read(&bench.place(&queued)), text(&plan("queued")));
    assert_eq!(bench.names(), ["aaaaa.txt", "qqqqq.txt", "rrrrr.txt"]);
    assert_eq!(store.audit().unwrap().issues, []);
    assert_eq!(reopened(&bench, store).1, Vec::<String>::new());
}

#[test]
fn a_deferral_that_was_committed_and_not_published_gets_its_note() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = activate(&mut store, "deferred");
    let before = read(&bench.place(&id));
    store.defer("waits", Position::Back, None).unwrap();
    // As if the process had died between the commit and the publishing.
    let committed = read(&bench.place(&id));
    assert_ne!(before, committed);
    fs::write(bench.place(&id), &before).unwrap();
    fs::write(bench.leftover(&id), &committed).unwrap();

    let (store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, [format!("finished writing the file of plan {id}")]);
    assert_eq!(read(&bench.place(&id)), committed);
    assert_eq!(bench.names(), [format!("{id}.txt")]);
    assert_eq!(reopened(&bench, store).1, Vec::<String>::new());
}

#[test]
fn a_new_plan_that_was_committed_and_not_published_gets_its_file() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = add(&mut store, "new");
    fs::rename(bench.place(&id), bench.leftover(&id)).unwrap();

    let (_store, repaired) = reopened(&bench, store);
    let said = ["removed an unfinished write of plan", "wrote the missing file of queued plan"];
    assert_eq!(repaired, [format!("{} {id}", said[0]), format!("{} {id} again", said[1])]);
    assert_eq!(read(&bench.place(&id)), text(&plan("new")));
    assert_eq!(bench.names(), [format!("{id}.txt")]);
}

#[test]
fn an_edit_made_after_a_deferral_that_was_not_published_stays_and_gets_the_note() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = activate(&mut store, "deferred");
    store.defer("waits", Position::Back, None).unwrap();
    fs::write(bench.leftover(&id), read(&bench.place(&id))).unwrap();
    fs::write(bench.place(&id), text(&plan("edited by hand"))).unwrap();

    let (_store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, [format!("finished writing the file of plan {id}")]);
    let file = read(&bench.place(&id));
    assert!(file.starts_with(text(&plan("edited by hand")).trim_end()), "{file}");
    assert!(file.ends_with("Deferred: waits\n"), "{file}");
    assert_eq!(bench.names(), [format!("{id}.txt")]);
}

#[test]
fn a_leftover_whose_transaction_did_not_commit_is_removed() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    bench.next_ids(&["qqqqq"]);
    let id = add(&mut store, "queued");
    let never_added = super::plan_id("zzzzz");
    fs::write(bench.place(&id), text(&plan("queued"))).unwrap();
    for (leftover, content) in [(&id, text(&plan("not committed"))), (&never_added, text(&plan("new")))] {
        fs::write(bench.leftover(leftover), &content).unwrap();
    }

    let (_store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, ["removed an unfinished write of plan qqqqq", "removed an unfinished write of plan zzzzz"]);
    assert_eq!(read(&bench.place(&id)), text(&plan("queued")));
    assert_eq!(bench.names(), ["qqqqq.txt"]);
}

#[test]
fn a_leftover_beside_a_file_that_cannot_be_read_is_removed() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = add(&mut store, "queued");
    fs::write(bench.place(&id), b"# Goal\n\xff\n").unwrap();
    fs::write(bench.leftover(&id), "# Context\nhalf").unwrap();

    let (_store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, [format!("removed an unfinished write of plan {id}")]);
    assert_eq!(fs::read(bench.place(&id)).unwrap(), b"# Goal\n\xff\n");
    assert_eq!(bench.names(), [format!("{id}.txt")]);
}

#[test]
fn half_a_leftover_of_a_plan_without_a_file_gives_way_to_the_row() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = add(&mut store, "queued");
    fs::remove_file(bench.place(&id)).unwrap();
    fs::write(bench.leftover(&id), "# Context\nhalf").unwrap();

    let (_store, repaired) = reopened(&bench, store);
    let said = ["removed an unfinished write of plan", "wrote the missing file of queued plan"];
    assert_eq!(repaired, [format!("{} {id}", said[0]), format!("{} {id} again", said[1])]);
    assert_eq!(read(&bench.place(&id)), text(&plan("queued")));
    assert_eq!(bench.names(), [format!("{id}.txt")]);
}

#[test]
fn files_of_finished_plans_are_removed_unless_they_say_something_else() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    bench.next_ids(&["ccccc", "ddddd", "eeeee", "fffff"]);
    let mut finished = |goal: &str, finish: fn(&mut SessionStore, &str) -> PlanId| {
        activate(&mut store, goal);
        finish(&mut store, "because")
    };
    let [same, other] = [finished("completed", complete), finished("discarded", discard)];
    let [edited, altered] = [finished("completed too", complete), finished("discarded too", discard)];
    let late = |goal: &str| text(&plan(goal)) + "- one thing more\n";
    fs::write(bench.place(&same), text(&plan("completed"))).unwrap();
    fs::write(bench.place(&other), text(&plan("discarded"))).unwrap();
    fs::write(bench.place(&edited), late("completed too")).unwrap();
    fs::write(bench.place(&altered), late("discarded too")).unwrap();
    // A leftover of a finished plan has nothing to finish.
    fs::write(bench.leftover(&same), text(&plan("completed"))).unwrap();

    let (mut store, repaired) = reopened(&bench, store);
    assert_eq!(
        repaired,
        [
            "removed an unfinished write of plan ccccc",
            "removed the file of completed plan ccccc",
            "removed the file of discarded plan ddddd"
        ]
    );
    assert_eq!(bench.names(), ["eeeee.txt", "fffff.txt"]);
    assert_eq!(read(&bench.place(&edited)), late("completed too"));
    assert_eq!(
        store.audit().unwrap().issues,
        [("completed", "eeeee"), ("discarded", "fffff")].map(|(status, id)| {
            let issue = format!("The file of {status} plan {id} is still there and differs from what is stored.");
            (Invariant::NoOrphanedFiles, issue)
        })
    );
}

#[test]
fn the_file_of_a_finished_plan_may_have_lost_its_goal() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = activate(&mut store, "done");
    complete(&mut store, "done");
    fs::write(bench.place(&id), text(&Plan { goal: String::new(), ..plan("done") })).unwrap();

    let (_store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, [format!("removed the file of completed plan {id}")]);
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn the_file_of_a_finished_plan_whose_row_is_untidy_says_the_same() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = activate(&mut store, "done");
    complete(&mut store, "done");
    // As others may have stored it.
    bench.execute("UPDATE plans SET context = char(10) || context || '  ' || char(13, 10)");
    fs::write(bench.place(&id), text(&plan("done"))).unwrap();
    assert_eq!(reopened(&bench, store).1, [format!("removed the file of completed plan {id}")]);
}

#[test]
fn what_is_not_ours_is_kept() {
    let bench = Bench::new();
    let store = bench.open_on_disk();
    let strangers = [".DS_Store", ".x.tmp", "K7F3M.txt", "notes.md", "zzzzz.txt"];
    for name in strangers {
        fs::write(bench.plans().join(name), name).unwrap();
    }
    fs::create_dir(bench.plans().join(".aaaaa.dir.tmp")).unwrap();

    let (mut store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, Vec::<String>::new());
    assert_eq!(bench.names(), [&[".DS_Store", ".aaaaa.dir.tmp"][..], &strangers[1..]].concat());
    for name in strangers {
        assert_eq!(read(&bench.plans().join(name)), name);
    }
    let issues: Vec<String> = store.audit().unwrap().issues.into_iter().map(|(_, issue)| issue).collect();
    assert_eq!(
        issues,
        [
            "\".DS_Store\" is not a plan file.",
            "\".aaaaa.dir.tmp\" is not a plan file.",
            "\".x.tmp\" is not a plan file.",
            "\"K7F3M.txt\" is not a plan file.",
            "\"notes.md\" is not a plan file.",
            "zzzzz.txt belongs to no plan of this session.",
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_plan_file_is_neither_read_nor_removed() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let finished = activate(&mut store, "finished");
    complete(&mut store, "done");
    let target = bench.folder.path().join("elsewhere");
    fs::write(&target, text(&plan("finished"))).unwrap();
    std::os::unix::fs::symlink(&target, bench.place(&finished)).unwrap();

    let (_store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, Vec::<String>::new());
    assert!(bench.place(&finished).is_symlink());
    assert_eq!(read(&target), text(&plan("finished")));
}

#[test]
fn a_session_whose_folder_of_plans_is_gone_still_shows_its_history() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = activate(&mut store, "finished");
    complete(&mut store, "done");
    fs::remove_dir(bench.plans()).unwrap();

    let (mut store, repaired) = reopened(&bench, store);
    assert_eq!(repaired, Vec::<String>::new());
    assert_eq!(store.remembered(&id).unwrap().plan, plan("finished"));
}

#[test]
fn what_was_repaired_is_said_even_if_it_cannot_be_written_down() {
    let bench = Bench::new();
    let mut store = bench.open_on_disk();
    let id = add(&mut store, "queued");
    drop(store);
    std::fs::remove_file(bench.place(&id)).unwrap();
    bench.execute("CREATE TRIGGER refuse BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'full'); END");
    let mut store = bench.open_on_disk();
    assert_eq!(store.take_repaired(), [format!("wrote the missing file of queued plan {id} again")]);
    assert!(bench.place(&id).is_file());
}
