//! A client that goes on to another conversation, while its servers go on as they were started.

use serde_json::json;

use super::{Desk, shown};
#[cfg(unix)]
use crate::harness::plan;
use crate::harness::{World, names_in};

#[cfg(unix)]
#[test]
fn a_server_learns_that_its_client_has_gone_on_to_another_conversation() {
    let world = World::new();
    let [app, other] = ["app", "other"].map(|name| Desk::new(&world, name));
    // The client that starts the servers and calls the hooks is this process.
    let client = std::process::id().to_string();
    let start = |desk: &Desk, id: &str, source: &str| {
        let input = json!({ "session_id": id, "cwd": desk.folder, "source": source }).to_string();
        shown(desk.launch(id).env("CLAUDE_PID", &client), "session-start", &input)
    };
    let mut server = app.server("one");
    let session = server.create("t");
    let [offer, whole] =
        ["9plan: this folder has an unfinished session, ", "9plan: session "].map(|start| format!("{start}{session}"));
    // Cleared, the conversation has another id; the server goes on, with the environment that it was started with.
    assert!(start(&app, "two", "clear").starts_with(&offer));
    server.ok("admin_state", json!({}));
    assert!(start(&app, "two", "compact").starts_with(&offer), "to go on is not to resume");
    server.ok("session_resume", json!({ "session_name": session }));
    assert!(start(&app, "two", "compact").starts_with(&whole));
    let made = server.create("made in the second");
    assert!(start(&app, "two", "compact").starts_with(&format!("9plan: session {made} is in progress")));
    // The conversation that was cleared is over: taken up again, it has what was its own.
    assert!(app.start("one", "resume").starts_with(&whole));
    // A server that is started for a conversation that goes on may be told another id than its hooks.
    assert_eq!(app.server("fresh").ok("admin_state", json!({})).str("session_name"), made);
    // Going on with a change is enough, in a session that was made or resumed before.
    start(&app, "next", "clear");
    server.ok("queue_add", plan("goal"));
    assert!(app.start("next", "compact").starts_with(&format!("9plan: session {made} is in progress")));
    start(&app, "two", "resume");
    // What was noted for one folder is nothing for another, nor for a process that has just been started.
    let elsewhere = other.server("three").create("t");
    assert!(other.start("two", "compact").starts_with(&offer.replace(&session, &elsewhere)));
    start(&app, "four", "startup");
    app.server("five").ok("session_resume", json!({ "session_name": session }));
    assert!(app.start("four", "compact").starts_with(&offer));
    assert!(app.start("five", "compact").starts_with(&whole));
}

#[test]
fn a_hook_makes_no_root_and_notes_only_so_many_conversations() {
    let world = World::new();
    let desk = Desk::new(&world, "app");
    let start = |process: u32| {
        let input = json!({ "session_id": "c", "cwd": desk.folder, "source": "clear" }).to_string();
        shown(desk.launch("c").env("CLAUDE_PID", &process.to_string()), "session-start", &input)
    };
    start(1);
    assert!(!world.root().exists());
    desk.server("c").create("t");
    for process in 1..40 {
        start(process);
    }
    assert_eq!(names_in(&world.root().join(".bindings/processes")).len(), 32);
}

#[test]
fn the_compaction_of_one_conversation_is_none_of_another_in_the_same_session() {
    let world = World::new();
    let desk = Desk::new(&world, "app");
    let session = desk.server("one").create("t");
    desk.server("two").ok("session_resume", json!({ "session_name": session }));
    desk.compacting("one");
    assert!(desk.prompted("one").contains(&session));
    assert_eq!(desk.prompted("two"), "");
    desk.start("two", "compact");
    assert!(desk.prompted("two").contains(&session));
}
