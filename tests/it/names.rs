//! Hostile names never get near a path, and nothing but a real folder is a session.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::calls::tools_with_a_session;
use crate::harness::{World, error};

/// Everything below a folder: its kind and mode, and what it holds as a length and a hash.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, usize, u64)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(tree(&path));
        }
        let held = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap_or_default()
        };
        let mut hasher = DefaultHasher::new();
        held.hash(&mut hasher);
        found.insert(path, (mode(&metadata), held.len(), hasher.finish()));
    }
    found
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions())
}

#[cfg(not(unix))]
fn mode(metadata: &fs::Metadata) -> u32 {
    u32::from(metadata.is_dir())
}

/// The same arguments with one more.
fn with(mut arguments: Value, name: &str, value: &str) -> Value {
    arguments[name] = json!(value);
    arguments
}

#[test]
fn hostile_session_names_are_refused_and_touch_nothing() {
    let world = World::new();
    // What a traversal would reach: a folder with the name of a session outside the root, and a file beside it.
    let elsewhere = "some-other-place";
    fs::create_dir(world.home().join(elsewhere)).unwrap();
    fs::write(world.home().join("file"), "text").unwrap();
    let mut client = world.client();
    let own = client.create("t");
    client.add("goal");
    assert!(client.exit().status.success());
    let before = tree(world.home());
    // Elsewhere, where no session is unfinished that would be looked at.
    let mut client = world.server().at(&world.home().join(elsewhere)).start();
    let long = "a".repeat(10_000);
    let names = [
        "../../etc",
        "a-b-c/../..",
        &format!("../{elsewhere}"),
        &format!("{own}/../../file"),
        &format!("{own}/plans"),
        &format!("{own}\0"),
        "a-b-c\0",
        "\0",
        &long,
        &format!("{long}-b-c"),
        "",
        " ",
        ".",
        "..",
        "-",
        "--",
        "a-b",
        "a-b-c-d",
        &own.to_uppercase(),
        "ä-b-c",
        "а-б-в",
        "a-b-ｃ",
        "a\u{2010}b\u{2010}c",
        "/etc/passwd",
        "C:\\a-b-c",
        "a-b-c\n[Session: x-y-z]",
        "no-such-session",
    ];
    for name in names {
        for (tool, arguments) in tools_with_a_session() {
            let text = client.fails(tool, with(arguments, "session_name", name));
            let category = if name == "no-such-session" { "SESSION_NOT_FOUND" } else { "VALIDATION_ERROR" };
            let head = format!("[Session: none] Error: {category}\n\n");
            assert!(text.starts_with(&head), "{tool} {name:?}: {text}");
            assert!(text.len() < 1_500, "{tool} {name:?} has a reply of {} bytes", text.len());
            assert_eq!(text.matches("\n\nSuggested action: ").count(), 1, "{text}");
        }
    }
    assert_eq!(tree(world.home()), before);
}

#[test]
fn hostile_plan_ids_are_refused_and_touch_nothing() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let id = client.add("goal");
    let long = "a".repeat(10_000);
    let before = tree(world.home());
    for bad in [
        "../../etc",
        "../session.db",
        &format!("{id}/../{id}"),
        &format!("{id}.txt"),
        &format!("{id}\0"),
        &long,
        "",
        " ",
        "abcd",
        "abcdefghijklmnopq",
        "äbcde",
        "аbсdе",
        "k7f3m k7f3m",
        "*",
        "' OR 1=1",
    ] {
        let text = client.fails("history_get", json!({ "plan_id": bad }));
        let head = format!("[Session: {session}] Error: VALIDATION_ERROR\n\n");
        assert!(text.starts_with(&head), "{bad:?}: {text}");
        assert!(text.len() < 1_500, "{bad:?} has a reply of {} bytes", text.len());
    }
    assert_eq!(tree(world.home()), before);
}

#[test]
fn a_plan_id_is_trimmed_and_lower_cased() {
    let world = World::new();
    let mut client = world.client();
    client.create("t");
    let id = client.add("goal");
    client.ok("queue_pull", json!({}));
    client.ok("plan_complete", json!({ "outcome": "o" }));
    let got = client.ok("history_get", json!({ "plan_id": format!(" {}\n", id.to_uppercase()) }));
    assert_eq!(got.str("id"), id);
}

#[cfg(unix)]
#[test]
fn links_in_place_of_a_session_are_refused() {
    use std::os::unix::fs::symlink;

    let (world, outside) = (World::new(), World::new());
    let mut client = outside.client();
    let foreign = client.create("a xyzzy task");
    client.add("a xyzzy goal");
    assert!(client.exit().status.success());
    let mut client = world.client();
    let (database, plans) = (client.create("t"), client.create("t"));
    assert!(client.exit().status.success());

    let folder = "linked-session-folder";
    symlink(outside.root().join(&foreign), world.root().join(folder)).unwrap();
    fs::remove_file(world.database(&database)).unwrap();
    symlink(outside.database(&foreign), world.database(&database)).unwrap();
    fs::remove_dir(world.plans(&plans)).unwrap();
    symlink(outside.plans(&foreign), world.plans(&plans)).unwrap();
    let before = (tree(world.home()), tree(outside.home()));

    let mut client = world.client();
    for session in [folder, database.as_str(), plans.as_str()] {
        for (tool, arguments) in tools_with_a_session() {
            let text = client.fails(tool, with(arguments, "session_name", session));
            let head = format!("[Session: {session}] Error: FILE_SYSTEM_ERROR\n\nCannot open ");
            assert!(text.starts_with(&head) && !text.contains("xyzzy"), "{tool} {session}: {text}");
        }
    }
    assert_eq!((tree(world.home()), tree(outside.home())), before);
    let listed = client.ok("admin_sessions", json!({}));
    assert!(!listed.text.contains("xyzzy"), "{}", listed.text);
    assert_eq!(tree(outside.home()), before.1);
}

#[cfg(unix)]
#[test]
fn folders_and_files_are_their_owners_alone_under_any_umask() {
    for mask in ["000", "022", "077", "777"] {
        let world = World::new();
        let root = world.home().join("some/where");
        let server = world.server_with_umask(mask).env("NINEPLAN_SESSIONS_PATH", root.to_str().unwrap());
        let mut client = server.start();
        client.create("t");
        client.add("queued");
        client.ok("queue_pull", json!({}));
        client.ok("plan_defer", json!({ "reason": "r" }));
        let plans = client.ok("queue_pull", json!({})).str("plan_path").to_owned();
        fs::remove_dir_all(Path::new(&plans).parent().unwrap()).unwrap();
        let repaired = client.ok("admin_validate", json!({})).fields;
        assert_eq!(repaired["valid"], true, "{repaired}");
        let modes = tree(world.home());
        // The root and the folder above it, the session, its database with log and index, plans and the plan; and the list
        // of what is bound to the folder, in the folder of lists.
        assert_eq!(modes.len(), 11, "{:?}", modes.keys());
        for (path, (mode, ..)) in modes {
            let expected = if path.is_dir() { 0o040_700 } else { 0o100_600 };
            assert_eq!(mode, expected, "{mask} {}: {mode:o}", path.display());
        }
    }
}

#[test]
fn a_name_that_is_close_is_suggested() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let mistyped = format!("{session}x");
    let expected = error(
        "none",
        "SESSION_NOT_FOUND",
        &format!("There is no session {mistyped}."),
        &format!("Did you mean {session}? 9plan_admin_sessions lists all; start a session with 9plan_session_create."),
    );
    assert_eq!(client.fails("session_resume", json!({ "session_name": mistyped })), expected);
}

#[test]
fn with_none_in_use_the_five_most_recent_are_named() {
    let world = World::new();
    let mut client = world.client();
    let made: Vec<String> = (0..7).map(|_| client.create("t")).collect();
    // The order is that of last use, which files tell by the tick of a clock: set, not waited for.
    for (age, session) in (1_u64..).zip(&made) {
        let used = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age * 1_000);
        for entry in fs::read_dir(world.root().join(session)).unwrap() {
            let path = entry.unwrap().path();
            fs::File::open(path).unwrap().set_modified(used).unwrap();
        }
    }
    let recent: Vec<&str> = made.iter().rev().take(5).map(String::as_str).collect();
    let expected = error(
        "none",
        "SESSION_NOT_FOUND",
        "No session is in use on this connection, and the call names none.",
        &format!(
            "Call again with a session_name, resume one with 9plan_session_resume, or start a session with 9plan_session_create. \
             Most recent: {}.",
            recent.join(", ")
        ),
    );
    assert_eq!(world.client().fails("queue_pull", json!({})), expected);
}
