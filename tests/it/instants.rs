//! What is left when the process dies within a call, at each of its instants.
//!
//! A debug build counts the instants before and after each step that changes the disk, and dies at the one that it is told.
//! That a step does what its name says is not seen here: a synced file survives a process in any case.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Client, World, plan};
use crate::model::seen::{Face, look, sessions};

/// A tool, what it is called with, and what stands ready before.
struct Scene {
    tool: &'static str,
    arguments: Value,
    prepare: fn(&World) -> Client,
}

/// All that a stranger finds of the sessions of a world, with nothing that is drawn at random.
type Seen = Vec<Face>;

/// Watches the steps of a server's calls from now on, and has it die at an instant. Gives those passed before.
#[track_caller]
fn watch(client: &mut Client, die_at: Option<usize>) -> Vec<String> {
    let mut answer = client.request("tools/call", json!({ "name": "watch", "arguments": { "die_at": die_at } }));
    serde_json::from_value(answer["result"]["structuredContent"]["passed"].take()).unwrap()
}

/// What a new server finds, which must be in order, with nothing on disk that does not belong there.
#[track_caller]
fn seen(world: &World) -> Seen {
    let mut client = world.client();
    let names = sessions(&mut client, world);
    let faces: Vec<Face> = names.iter().map(|name| look(&mut client, world, name).0).collect();
    assert!(client.exit().status.success());
    let files = |(name, face): (&String, &Face)| {
        let open = face.queue.iter().chain(&face.active).map(|(id, _)| format!("{name}/plans/{id}.txt"));
        open.chain([name.clone(), format!("{name}/plans"), format!("{name}/session.db")]).collect::<Vec<_>>()
    };
    assert_eq!(tree(world), names.iter().zip(&faces).flat_map(files).collect());
    let mut seen: Seen = faces.into_iter().map(Face::without_ids).collect();
    seen.sort_by(|one, other| one.task.cmp(&other.task));
    seen
}

/// All that stands below the sessions root, but for the logs, which belong to their databases, and the lists of what is bound
/// where, which are hints.
fn tree(world: &World) -> BTreeSet<String> {
    let mut folders = vec![world.root()];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(world.root()).unwrap().to_str().unwrap().replace('\\', "/");
            if name == ".bindings" {
                continue;
            }
            if !name.ends_with("session.db-wal") && !name.ends_with("session.db-shm") {
                found.insert(name);
            }
            folders.extend(path.is_dir().then_some(path));
        }
    }
    found
}

/// Has the process die at each instant of a call that consists of these steps. The call has taken place from the instant on
/// that follows the step `decides`.
#[track_caller]
fn die_everywhere(scene: &Scene, decides: &str, steps: &[&str]) {
    let [before, after] = [false, true].map(|called| {
        let world = World::new();
        let mut client = (scene.prepare)(&world);
        if called {
            client.ok(scene.tool, scene.arguments.clone());
        }
        drop(client);
        seen(&world)
    });
    assert_ne!(before, after, "{}", scene.tool);

    let call = |_: &World, client: &mut Client| client.send_call(scene.tool, scene.arguments.clone());
    let passed = die_at_each_instant(scene.prepare, call, |instants, last, found| {
        let taken_place = instants.iter().position(|instant| *instant == format!("after {decides}")).unwrap();
        let expected = if last < taken_place { &before } else { &after };
        assert_eq!(&found, expected, "{} {}", scene.tool, instants[last]);
    });
    assert_eq!(passed, instants(steps), "{}", scene.tool);
}

/// The same for whatever steps there are: `check` is given all instants, the number of the last one, and what was found.
#[track_caller]
fn die_at_each_instant(
    prepare: fn(&World) -> Client,
    call: impl Fn(&World, &mut Client) -> u64,
    check: impl Fn(&[String], usize, Seen),
) -> Vec<String> {
    let world = World::new();
    let mut client = prepare(&world);
    watch(&mut client, None);
    let id = call(&world, &mut client);
    client.reply(id);
    let passed = watch(&mut client, None);
    drop(client);
    for last in 0..passed.len() {
        let world = World::new();
        let mut client = prepare(&world);
        watch(&mut client, Some(last));
        call(&world, &mut client);
        assert!(!client.ended().status.success(), "{}", passed[last]);
        check(&passed, last, seen(&world));
    }
    passed
}

/// The instants of steps that follow each other. To stage is to write and to sync.
fn instants(steps: &[&str]) -> Vec<String> {
    let mut instants = Vec::new();
    for step in steps {
        let within = if *step == "stage" { &["write", "sync file"][..] } else { &[] };
        instants.push(format!("before {step}"));
        instants.extend(within.iter().flat_map(|step| [format!("before {step}"), format!("after {step}")]));
        instants.push(format!("after {step}"));
    }
    instants
}

/// No session, nor a place for one.
fn nothing(world: &World) -> Client {
    world.client()
}

/// A session with two plans in the queue and one in the history, which is the current one.
fn queued(world: &World) -> Client {
    let mut client = world.client();
    client.create("t");
    client.add("done");
    client.ok("queue_pull", json!({}));
    client.ok("plan_complete", json!({ "outcome": "an outcome" }));
    client.add("first");
    client.add("second");
    client
}

/// The same with an active plan.
fn active(world: &World) -> Client {
    let mut client = queued(world);
    client.ok("queue_pull", json!({}));
    client.add("third");
    client
}

/// The same as [`queued`], where somebody has removed the file of the first plan.
fn file_missing(world: &World) -> Client {
    let mut client = queued(world);
    let state = client.ok("admin_state", json!({})).fields;
    let id = state["queue"][0]["id"].as_str().unwrap();
    fs::remove_file(world.plan_file(state["session_name"].as_str().unwrap(), id)).unwrap();
    client
}

#[test]
fn a_session_is_made_whole_or_not_at_all() {
    let arguments = json!({ "task_description": "new" });
    let steps =
        ["claim", "make plans", "make database", "commit", "close database", "sync folder", "name", "sync folder"];
    let listed = ["list", "sync folder"];
    let scene = Scene { tool: "session_create", arguments, prepare: active };
    die_everywhere(&scene, "name", &[&steps[..], &listed].concat());
    let scene = Scene { prepare: nothing, ..scene };
    let lists = ["make folder", "make folder", "sync folder", "sync folder"];
    die_everywhere(&scene, "name", &[&["make folder", "sync folder"], &steps[..], &lists, &listed].concat());
}

#[test]
fn a_plan_is_added_whole_or_not_at_all() {
    for position in ["back", "front"] {
        let mut arguments = plan("new");
        arguments["position"] = json!(position);
        let scene = Scene { tool: "queue_add", arguments, prepare: active };
        die_everywhere(&scene, "commit", &["stage", "commit", "publish", "sync folder"]);
    }
}

#[test]
fn a_plan_is_pulled_or_stays_in_the_queue() {
    let scene = Scene { tool: "queue_pull", arguments: json!({}), prepare: queued };
    die_everywhere(&scene, "commit", &["abandon", "commit"]);
    let scene = Scene { prepare: file_missing, ..scene };
    die_everywhere(&scene, "commit", &["abandon", "stage", "commit", "publish", "sync folder"]);
}

#[test]
fn a_plan_is_deferred_with_its_note_or_stays_active() {
    for position in ["back", "front"] {
        let arguments = json!({ "reason": "later", "position": position });
        let scene = Scene { tool: "plan_defer", arguments, prepare: active };
        die_everywhere(&scene, "commit", &["stage", "commit", "publish", "sync folder"]);
    }
}

#[test]
fn a_plan_is_completed_or_stays_active() {
    let scene = Scene { tool: "plan_complete", arguments: json!({ "outcome": "o" }), prepare: active };
    die_everywhere(&scene, "commit", &["commit", "remove"]);
}

#[test]
fn a_plan_is_discarded_or_stays_active() {
    let scene = Scene { tool: "plan_discard", arguments: json!({ "reason": "r" }), prepare: active };
    die_everywhere(&scene, "commit", &["commit", "remove"]);
}

/// The same as [`queued`], where somebody has removed the folder of plans.
fn plans_missing(world: &World) -> Client {
    let mut client = queued(world);
    let session = client.ok("admin_state", json!({})).str("session_name").to_owned();
    fs::remove_dir_all(world.plans(&session)).unwrap();
    client
}

#[test]
fn a_folder_of_plans_is_made_again_for_good() {
    let whole = {
        let world = World::new();
        drop(queued(&world));
        seen(&world)
    };
    let open = |_: &World, client: &mut Client| client.send_call("admin_state", json!({}));
    let passed = die_at_each_instant(plans_missing, open, |instants, last, found| {
        assert_eq!(found, whole, "{}", instants[last]);
    });
    let write_again = ["stage", "publish", "sync folder"];
    assert_eq!(passed, instants(&[&["sync folder"], &write_again[..], &write_again, &["commit"]].concat()));
}

/// A session in which all is to be repaired that can be, and the server that is to do it.
fn wounded(world: &World) -> Client {
    let mut client = world.client();
    let session = client.create("t");
    let finished = client.add("done");
    let text = fs::read(world.plan_file(&session, &finished)).unwrap();
    client.ok("queue_pull", json!({}));
    client.ok("plan_complete", json!({ "outcome": "an outcome" }));
    let missing = client.add("missing");
    client.add("deferred");
    let mut urgent = plan("active");
    urgent["position"] = json!("front");
    client.ok("queue_add", urgent);
    client.ok("queue_pull", json!({}));
    // Its note is in the row and not in the file.
    let before_publish = instants(&["stage", "commit"]).len();
    watch(&mut client, Some(before_publish));
    client.send_call("plan_defer", json!({ "reason": "later" }));
    assert!(!client.ended().status.success());
    fs::write(world.plan_file(&session, &finished), text).unwrap();
    fs::remove_file(world.plan_file(&session, &missing)).unwrap();
    fs::write(world.plans(&session).join(".zzzzz.x.tmp"), "# Goal\nhalf wri").unwrap();
    fs::create_dir(world.root().join(".amber-quiet-river.new")).unwrap();
    world.client()
}

#[test]
fn a_repair_that_is_broken_off_is_made_the_next_time() {
    let whole = {
        let world = World::new();
        drop(wounded(&world));
        seen(&world)
    };
    assert!(format!("{whole:?}").contains("Deferred: later"), "{whole:?}");
    let open = |world: &World, client: &mut Client| {
        let session = tree(world).into_iter().find(|path| !path.starts_with('.')).unwrap();
        client.send_call("admin_state", json!({ "session_name": session }))
    };
    let passed = die_at_each_instant(wounded, open, |instants, last, found| {
        assert_eq!(found, whole, "{}", instants[last]);
    });
    let steps = ["abandon", "stage", "publish", "sync folder", "remove", "commit"];
    assert_eq!(BTreeSet::from_iter(passed), BTreeSet::from_iter(instants(&steps)));
}
