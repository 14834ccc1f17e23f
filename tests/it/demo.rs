//! `9plan demo`, as a newcomer runs it.

use std::fs;

use crate::harness::World;

#[test]
fn the_demo_plays_a_whole_session_in_eighty_columns_and_leaves_nothing() {
    let world = World::new();
    let temporary = world.home().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let output = world
        .server()
        .env("TMPDIR", temporary.to_str().unwrap())
        // What the user has configured for the real server does not get into the demo.
        .env("NINEPLAN_TOOL_PREFIX", "other_")
        .run(&["demo"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());

    let calls: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("> 9plan_")).collect();
    let expected = [
        "session_create",
        "queue_add",
        "queue_add",
        "queue_add",
        "queue_pull",
        "plan_defer",
        "queue_pull",
        "plan_complete",
        "history_search",
        "history_get",
        "session_resume",
    ];
    assert_eq!(calls, expected);
    assert_eq!(printed.lines().filter(|line| line.starts_with("  | [Session: ")).count(), expected.len());
    for line in printed.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!world.root().exists());
}

#[test]
fn a_demo_that_cannot_be_played_fails() {
    let world = World::new();
    let missing = world.home().join("missing");
    let output = world.server().env("TMPDIR", missing.to_str().unwrap()).run(&["demo"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("9plan: "));
}
