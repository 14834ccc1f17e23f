//! What opening a session puts right, what it leaves alone, and sessions from before the database had versions.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Client, Reply, World, names_in, plan};

/// What a reply says was repaired, which must be the same in both of its faces.
#[track_caller]
fn repaired(reply: &Reply) -> BTreeSet<String> {
    let listed: Vec<&str> =
        reply.fields["repaired"].as_array().unwrap().iter().map(|repair| repair.as_str().unwrap()).collect();
    assert!(reply.text.ends_with(&format!("\n\nRepaired: {}.", listed.join("; "))), "{}", reply.text);
    listed.into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn resume(client: &mut Client, session: &str) -> Reply {
    client.ok("session_resume", json!({ "session_name": session }))
}

#[track_caller]
fn assert_nothing_repaired(reply: &Reply) {
    assert_eq!(reply.fields.get("repaired"), None);
    assert!(!reply.text.contains("Repaired"), "{}", reply.text);
}

/// The issues that a check finds, of which none may break another invariant than this one.
#[track_caller]
fn issues(client: &mut Client, broken: &str) -> Value {
    let mut fields = client.ok("admin_validate", json!({})).fields;
    let mut expected = json!({
        "single_active_plan": true,
        "queue_order_preserved": true,
        "files_match_database": true,
        "no_orphaned_files": true,
    });
    expected[broken] = json!(false);
    assert_eq!((&fields["valid"], &fields["invariants"]), (&json!(false), &expected));
    fields["issues"].take()
}

#[test]
fn missing_plan_files_are_written_again_and_stray_ones_removed_on_opening() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let (active, queued, whole) = (client.add("active"), client.add("queued"), client.add("whole"));
    client.ok("queue_pull", json!({}));
    assert!(client.exit().status.success());
    let before: Vec<Vec<u8>> =
        [&active, &queued, &whole].map(|id| fs::read(world.plan_file(&session, id)).unwrap()).into();
    for id in [&active, &queued] {
        fs::remove_file(world.plan_file(&session, id)).unwrap();
    }
    fs::write(world.plans(&session).join(format!(".{whole}.x.tmp")), "# Goal\nhalf wri").unwrap();

    let mut client = world.server().logging("warn").start();
    let expected = BTreeSet::from([
        format!("wrote the missing file of active plan {active} again"),
        format!("wrote the missing file of queued plan {queued} again"),
        format!("removed an unfinished write of plan {whole}"),
    ]);
    assert_eq!(repaired(&resume(&mut client, &session)), expected);
    assert_nothing_repaired(&resume(&mut client, &session));
    let after: Vec<Vec<u8>> =
        [&active, &queued, &whole].map(|id| fs::read(world.plan_file(&session, id)).unwrap()).into();
    assert_eq!(after, before);
    assert_eq!(names_in(&world.plans(&session)), [active, queued, whole].map(|id| format!("{id}.txt")).into());
    let log = client.exit().log;
    let warned: BTreeSet<String> = log
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&line["level"], &line["fields"]["session"]), (&json!("WARN"), &json!(session)));
            line["fields"]["repair"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(warned, expected);
}

#[test]
fn a_plan_file_that_is_missing_at_the_pull_is_written_again() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    let path = world.plan_file(&session, &id);
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let pulled = client.ok("queue_pull", json!({}));
    assert_eq!(repaired(&pulled), [format!("wrote the missing file of plan {id} again")].into());
    assert_eq!((pulled.str("plan"), fs::read_to_string(&path).unwrap()), (text.as_str(), text.clone()));
}

#[test]
fn a_missing_folder_of_plans_is_made_again() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    assert!(client.exit().status.success());
    let text = fs::read_to_string(world.plan_file(&session, &id)).unwrap();
    fs::remove_dir_all(world.plans(&session)).unwrap();
    let mut client = world.client();
    let resumed = resume(&mut client, &session);
    assert_eq!(repaired(&resumed), [format!("wrote the missing file of queued plan {id} again")].into());
    assert_eq!(fs::read_to_string(world.plan_file(&session, &id)).unwrap(), text);
    assert_eq!(client.ok("admin_validate", json!({})).fields["valid"], true);
}

#[test]
fn the_file_of_a_finished_plan_is_removed_if_it_says_nothing_new() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let ids = [client.add("completed"), client.add("discarded"), client.add("edited")];
    let texts = ids.clone().map(|id| fs::read_to_string(world.plan_file(&session, &id)).unwrap());
    for (tool, said) in [("complete", "outcome"), ("discard", "reason"), ("complete", "outcome")] {
        client.ok("queue_pull", json!({}));
        client.ok(&format!("plan_{tool}"), json!({ said: "because" }));
    }
    assert!(client.exit().status.success());
    assert_eq!(names_in(&world.plans(&session)), BTreeSet::new());
    let [completed, discarded, edited] = &ids;
    fs::write(world.plan_file(&session, completed), &texts[0]).unwrap();
    fs::write(world.plan_file(&session, discarded), &texts[1]).unwrap();
    let new = format!("{}One more note.\n", texts[2]);
    fs::write(world.plan_file(&session, edited), &new).unwrap();

    let mut client = world.client();
    let expected = [
        format!("removed the file of completed plan {completed}"),
        format!("removed the file of discarded plan {discarded}"),
    ];
    assert_eq!(repaired(&resume(&mut client, &session)), expected.into());
    assert_eq!(names_in(&world.plans(&session)), [format!("{edited}.txt")].into());
    assert_eq!(fs::read_to_string(world.plan_file(&session, edited)).unwrap(), new);
    let issue = format!("The file of completed plan {edited} is still there and differs from what is stored.");
    assert_eq!(issues(&mut client, "no_orphaned_files"), json!([issue]));
    assert_eq!(client.ok("admin_state", json!({})).fields["file_db_match"], false);
}

#[test]
fn files_that_are_not_ours_are_kept_and_reported() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    assert!(client.exit().status.success());
    let plans = world.plans(&session);
    for (name, text) in [(".hidden", "h"), ("K7F3M.txt", "upper case"), ("notes.md", "notes"), ("zzzzz.txt", "no row")]
    {
        fs::write(plans.join(name), text).unwrap();
    }
    fs::create_dir(plans.join("folder")).unwrap();
    let before = names_in(&plans);
    let mut client = world.client();
    assert_nothing_repaired(&resume(&mut client, &session));
    let expected = json!([
        "\".hidden\" is not a plan file.",
        "\"K7F3M.txt\" is not a plan file.",
        "\"folder\" is not a plan file.",
        "\"notes.md\" is not a plan file.",
        "zzzzz.txt belongs to no plan of this session.",
    ]);
    assert_eq!(issues(&mut client, "no_orphaned_files"), expected);
    assert_eq!(names_in(&plans), before);
    assert_eq!(fs::read_to_string(plans.join("zzzzz.txt")).unwrap(), "no row");
    assert_eq!(client.ok("queue_pull", json!({})).str("plan_id"), id);
    client.ok("plan_complete", json!({ "outcome": "o" }));
    assert_eq!(names_in(&plans).len(), before.len() - 1);
}

#[test]
fn a_plan_file_that_vanishes_while_the_server_runs_is_reported() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    fs::remove_file(world.plan_file(&session, &id)).unwrap();
    assert_eq!(issues(&mut client, "files_match_database"), json!([format!("Plan {id} has no file.")]));
    let state = client.ok("admin_state", json!({})).fields;
    assert_eq!((&state["plan_files"], &state["file_db_match"]), (&json!([]), &json!(false)));
}

/// The session of `legacy_rows.sql`.
const LEGACY: &str = "amber-quiet-river";

const PAGE: &str = "# Context\nA page\n\n# Goal\nShow posts\n\n# Approach\nAs they come\n\n# Notes\nhalf done\n";

/// A session as the plain schema left it, with a file for each open plan.
fn legacy() -> World {
    let world = World::new();
    fs::create_dir_all(world.plans(LEGACY)).unwrap();
    let database = rusqlite::Connection::open(world.database(LEGACY)).unwrap();
    database.execute_batch(include_str!("legacy.sql")).unwrap();
    database.execute_batch(include_str!("legacy_rows.sql")).unwrap();
    database.close().unwrap();
    fs::write(world.plan_file(LEGACY, "now11"), PAGE).unwrap();
    fs::write(world.plan_file(LEGACY, "soon1"), "# Goal\nStyle posts\n").unwrap();
    fs::write(world.plan_file(LEGACY, "late1"), "# Goal\nWrite a feed\n").unwrap();
    world
}

#[test]
fn a_session_of_the_plain_schema_is_listed_before_it_is_opened() {
    let world = legacy();
    let before = fs::read(world.database(LEGACY)).unwrap();
    let listed = world.client().ok("admin_sessions", json!({})).fields;
    let expected = json!({
        "session_name": null,
        "sessions": [{
            "name": LEGACY,
            "created": "2025-01-02T03:04:05Z",
            "task_description": "Show blog posts",
            "queue_length": 2,
            "completed_count": 2,
            "has_active_plan": true,
        }],
        "total": 1,
        "unreadable": [],
    });
    assert_eq!(listed, expected);
    assert_eq!(fs::read(world.database(LEGACY)).unwrap(), before);
}

#[test]
fn a_session_of_the_plain_schema_opens_with_its_queue_and_history() {
    let world = legacy();
    let mut client = world.client();
    let resumed = resume(&mut client, LEGACY);
    assert_nothing_repaired(&resumed);
    let fields = &resumed.fields;
    assert_eq!((&fields["task_description"], &fields["completed_count"]), (&json!("Show blog posts"), &json!(2)));
    assert_eq!((&fields["active_plan"]["id"], &fields["plan"]), (&json!("now11"), &json!(PAGE)));
    let queue = json!([
        { "id": "soon1", "goal": "Style posts", "position": 1 },
        { "id": "late1", "goal": "Write a feed", "position": 2 },
    ]);
    assert_eq!((&fields["queue"], &fields["queue_length"]), (&queue, &json!(2)));
    assert_eq!(client.ok("admin_validate", json!({})).fields["valid"], true);

    let found = client.ok("history_search", json!({ "query": "fetching ghost" })).fields;
    assert_eq!((&found["total_matches"], &found["matches"][0]["id"]), (&json!(1), &json!("done1")));
    let got = client.ok("history_get", json!({ "plan_id": "done1" })).fields;
    let expected = json!({
        "session_name": LEGACY,
        "id": "done1",
        "goal": "Fetch posts",
        "context": "A context",
        "inputs": "- an API key",
        "outputs": "- a client",
        "approach": "1. A step",
        "success_criteria": "It fetches",
        "notes": "Went well",
        "outcome": "GhostClient in src/lib/ghost.ts",
        "created_at": "2025-01-02T03:04:06Z",
        "completed_at": "2025-01-02T04:00:00Z",
    });
    assert_eq!(got, expected);
    let bare = client.ok("history_get", json!({ "plan_id": "done2" })).fields;
    assert_eq!((&bare["goal"], &bare["outcome"], &bare["notes"]), (&json!("Cache posts"), &json!(""), &json!("")));
    let gone = client.fails("history_get", json!({ "plan_id": "gone1" }));
    assert!(gone.contains("it was discarded"), "{gone}");
}

#[test]
fn a_session_of_the_plain_schema_keeps_working() {
    let world = legacy();
    let mut client = world.client();
    resume(&mut client, LEGACY);
    assert_eq!(client.ok("queue_add", plan("One more")).fields["queue_position"], 3);
    let mut urgent = plan("Urgent");
    urgent["position"] = json!("front");
    assert_eq!(client.ok("queue_add", urgent).fields["queue_position"], 1);
    let completed = client.ok("plan_complete", json!({ "outcome": "a page of posts" })).fields;
    assert_eq!((&completed["completed_count"], &completed["queue_length"]), (&json!(3), &json!(4)));
    assert!(client.exit().status.success());

    let mut client = world.client();
    assert_nothing_repaired(&resume(&mut client, LEGACY));
    for goal in ["Urgent", "Style posts", "Write a feed", "One more"] {
        assert_eq!(client.ok("queue_pull", json!({})).str("goal"), goal);
        client.ok("plan_complete", json!({ "outcome": "done" }));
    }
    let got = client.ok("history_get", json!({ "plan_id": "now11" })).fields;
    assert_eq!((&got["notes"], &got["success_criteria"]), (&json!("half done"), &json!("")));
    assert_eq!(client.ok("history_search", json!({ "query": "posts" })).fields["total_matches"], 4);
    let valid = client.ok("admin_validate", json!({})).fields;
    assert_eq!((&valid["valid"], &valid["issues"]), (&json!(true), &json!([])));
}
