//! Whose session it is: what a client is told of an unfinished session where it works, and which one it goes on with.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Client, STATELESS, World, names_in, plan};

/// The line that ends the instructions.
const START: &str = "UNFINISHED IN THIS FOLDER: ";

/// A folder that a client can work in.
fn folder(world: &World, name: &str) -> PathBuf {
    let folder = world.home().join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn client(world: &World, folder: &Path) -> Client {
    world.server().at(folder).start()
}

/// A client whose conversation has this id.
fn conversation(world: &World, folder: &Path, id: &str) -> Client {
    world.server().at(folder).env("CLAUDE_CODE_SESSION_ID", id).start()
}

/// The line about an unfinished session that a client in this folder is told, in both eras alike.
#[track_caller]
fn told(world: &World, folder: &Path) -> Option<String> {
    let greeting = client(world, folder).greeting.take();
    let mut stateless = world.server().at(folder).protocol(STATELESS).start();
    let discovered = stateless.request("server/discover", json!({}))["result"].take();
    assert_eq!(greeting["instructions"], discovered["instructions"]);
    line(&greeting)
}

#[track_caller]
fn line(greeting: &Value) -> Option<String> {
    let instructions = greeting["instructions"].as_str().unwrap();
    assert!(instructions.chars().count() <= 2_000, "{} characters", instructions.chars().count());
    assert_eq!(instructions.matches(START).count(), usize::from(instructions.contains(START)));
    instructions.lines().last().filter(|line| line.starts_with(START)).map(str::to_owned)
}

#[test]
fn a_client_is_told_of_the_unfinished_session_of_its_folder_and_of_no_other() {
    let world = World::new();
    let [here, there] = ["here", "there"].map(|name| folder(&world, name));
    assert_eq!(told(&world, &here), None);
    let mut first = client(&world, &here);
    let session = first.create("Show the posts\nof the blog");
    let resume = "to go on with it, if the user wants that, call 9plan_session_resume with this name. \
                  Task: Show the posts of the blog";
    let expected = |counts: &str| Some(format!("{START}{session}, {counts}; {resume}"));
    assert_eq!(told(&world, &here), expected("0 queued, 0 active, 0 completed"));
    for goal in ["A", "B"] {
        first.add(goal);
    }
    first.ok("queue_pull", json!({}));
    assert_eq!(told(&world, &here), expected("1 queued, 1 active, 0 completed"));
    assert_eq!(told(&world, &there), None);
    assert_eq!(told(&world, world.home()), None);
    for _ in 0..2 {
        first.ok("plan_complete", json!({ "outcome": "done" }));
        let _ = first.call("queue_pull", json!({}));
    }
    assert_eq!(told(&world, &here), None, "a finished session is not offered");
    first.add("C");
    assert_eq!(told(&world, &here), expected("1 queued, 0 active, 2 completed"));
}

#[test]
fn the_one_used_last_is_meant_and_resuming_binds_to_another_folder_too() {
    let world = World::new();
    let [here, there] = ["here", "there"].map(|name| folder(&world, name));
    let named = |told: Option<String>| told.map(|line| line[START.len()..].split(',').next().unwrap().to_owned());
    let one = client(&world, &here).create("one");
    let two = client(&world, &here).create("two");
    assert_eq!(named(told(&world, &here)), Some(two.clone()));
    client(&world, &there).ok("session_resume", json!({ "session_name": one }));
    assert_eq!(named(told(&world, &there)), Some(one.clone()));
    // Resuming it was a use of it, wherever.
    assert_eq!(named(told(&world, &here)), Some(one));
    client(&world, &there).ok("admin_state", json!({ "session_name": two }));
    assert_ne!(named(told(&world, &there)), Some(two), "to look at a session is not to work on it here");
}

#[test]
fn the_folder_is_the_project_of_the_client_however_it_is_spelt() {
    let world = World::new();
    let [project, elsewhere] = ["project", "elsewhere"].map(|name| folder(&world, name));
    let at_project = |spelt: &str| world.server().at(&elsewhere).env("CLAUDE_PROJECT_DIR", spelt).start();
    let session = at_project(project.to_str().unwrap()).create("t");
    let spellings = [format!("{}/", project.display()), format!("{}/../project", elsewhere.display())];
    for spelt in spellings {
        assert!(line(&at_project(&spelt).greeting).unwrap().contains(&session), "{spelt}");
    }
    #[cfg(unix)]
    {
        let link = world.home().join("link");
        std::os::unix::fs::symlink(&project, &link).unwrap();
        assert!(told(&world, &link).unwrap().contains(&session));
    }
    assert!(told(&world, &project).unwrap().contains(&session));
    assert_eq!(told(&world, &elsewhere), None);
}

#[test]
fn the_longest_line_fits_with_the_longest_prefix() {
    let world = World::new();
    let mut first = client(&world, world.home());
    let session = first.create(&"é a long task ".repeat(1_000));
    let long = format!("{}-b-c", "a".repeat(96));
    fs::rename(world.root().join(&session), world.root().join(&long)).unwrap();
    drop(first);
    client(&world, world.home()).ok("session_resume", json!({ "session_name": long }));
    let greeting = world.server().prefix("prefix-of-twenty-ch_").start().greeting.take();
    let line = line(&greeting).unwrap();
    assert!(line.contains(&long) && line.contains(" prefix-of-twenty-ch_session_resume with this name. "), "{line}");
    assert!(line.contains("Task: é a long"), "{line}");
}

#[test]
fn a_server_goes_on_with_the_unfinished_session_of_its_conversation() {
    let world = World::new();
    let home = world.home();
    let mut first = conversation(&world, home, "c-1");
    let session = first.create("t");
    first.add("A");
    drop(first);
    assert_eq!(conversation(&world, home, "c-1").ok("admin_state", json!({})).str("session_name"), session);
    let mut stateless = world.server().env("CLAUDE_CODE_SESSION_ID", "c-1").protocol(STATELESS).start();
    assert_eq!(stateless.ok("queue_add", plan("B")).str("session_name"), session);
    for mut other in [client(&world, home), conversation(&world, home, "c-2")] {
        assert!(other.fails("admin_state", json!({})).starts_with("[Session: none] Error: SESSION_NOT_FOUND"));
    }
    // Resumed in a second conversation, it is that one's as well.
    conversation(&world, home, "c-2").ok("session_resume", json!({ "session_name": session }));
    for id in ["c-1", "c-2"] {
        let mut client = conversation(&world, home, id);
        assert_eq!(client.ok("queue_pull", json!({})).str("session_name"), session);
        client.ok("plan_complete", json!({ "outcome": "done" }));
    }
    assert!(conversation(&world, home, "c-1").fails("admin_state", json!({})).contains("SESSION_NOT_FOUND"));
}

#[test]
fn of_two_in_one_folder_the_instructions_name_that_of_the_own_conversation() {
    let world = World::new();
    let mine = conversation(&world, world.home(), "c-1").create("mine");
    let newer = conversation(&world, world.home(), "c-2").create("newer");
    assert!(line(&conversation(&world, world.home(), "c-1").greeting).unwrap().contains(&mine));
    assert!(line(&client(&world, world.home()).greeting).unwrap().contains(&newer));
}

#[test]
fn a_session_is_bound_once_and_what_it_is_bound_to_stands_in_its_database() {
    let world = World::new();
    let bound = |session: &str| {
        let database = rusqlite::Connection::open(world.database(session)).unwrap();
        let mut rows = database.prepare("SELECT kind, value FROM bindings ORDER BY kind, value").unwrap();
        let rows = rows.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>()
    };
    let home = world.home().canonicalize().unwrap().to_str().unwrap().to_owned();
    let session = conversation(&world, world.home(), "c-1").create("t");
    let row = |kind: &str, value: &str| (kind.to_owned(), value.to_owned());
    assert_eq!(bound(&session), [row("client", "c-1"), row("folder", &home)]);
    for _ in 0..2 {
        conversation(&world, world.home(), "c-2").ok("session_resume", json!({ "session_name": session }));
    }
    assert_eq!(bound(&session), [row("client", "c-1"), row("client", "c-2"), row("folder", &home)]);
    // Without the lists beside the sessions nothing is offered, until the session is resumed.
    fs::remove_dir_all(world.root().join(".bindings")).unwrap();
    assert_eq!(told(&world, world.home()), None);
    client(&world, world.home()).ok("session_resume", json!({ "session_name": session }));
    assert!(told(&world, world.home()).is_some());
    assert_eq!(names_in(&world.root()).len(), 2);
}

#[test]
fn a_busy_session_is_resumed_without_being_bound() {
    let world = World::new();
    let session = client(&world, world.home()).create("t");
    let held = world.hold(&session);
    let there = folder(&world, "there");
    let mut second = client(&world, &there);
    second.ok("session_resume", json!({ "session_name": session }));
    drop(held);
    assert_eq!(told(&world, &there), None);
    second.ok("session_resume", json!({ "session_name": session }));
    assert!(told(&world, &there).is_some());

    // Nor does it take another resume: the next change does as well.
    let held = world.hold(&session);
    let elsewhere = folder(&world, "elsewhere");
    let mut third = client(&world, &elsewhere);
    third.ok("session_resume", json!({ "session_name": session }));
    drop(held);
    third.ok("admin_state", json!({}));
    assert_eq!(told(&world, &elsewhere), None);
    third.add("goal");
    assert!(told(&world, &elsewhere).is_some());
}

#[test]
fn a_session_that_is_gone_or_spoiled_is_not_offered() {
    let world = World::new();
    let [kept, spoiled, gone] = ["kept", "spoiled", "gone"].map(|task| client(&world, world.home()).create(task));
    fs::remove_dir_all(world.root().join(gone)).unwrap();
    fs::write(world.database(&spoiled), "no database").unwrap();
    assert!(told(&world, world.home()).unwrap().contains(&kept));
}
