//! A sick disk: what a call says, what stays as it was, and that all goes on when the cause is gone.

mod database;
mod log;
#[cfg(unix)]
mod places;
#[cfg(unix)]
mod rights;
#[cfg(target_os = "linux")]
mod room;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::calls::tools_with_a_session;
use crate::harness::{Client, World, plan};
use crate::model::seen::{Face, look};

/// A session that is going to be sick beside one that is not, and a server that has both open.
struct Patient {
    world: World,
    client: Client,
    session: String,
    well: String,
    /// What there is of the first one.
    face: Face,
}

impl Patient {
    fn new() -> Self {
        let world = World::new();
        let client = world.client();
        Self::of(world, client)
    }

    fn of(world: World, mut client: Client) -> Self {
        let well = client.create("well");
        let session = client.create("sick");
        for (tool, arguments) in [
            ("queue_add", plan("done")),
            ("queue_pull", json!({})),
            ("plan_complete", json!({ "outcome": "an outcome" })),
            ("queue_add", plan("active")),
            ("queue_pull", json!({})),
            ("queue_add", plan("first")),
            ("queue_add", plan("second")),
        ] {
            client.ok(tool, arguments);
        }
        let (face, _) = look(&mut client, &world, &session);
        Self { world, client, session, well, face }
    }

    /// Ends the server well, and starts another one.
    #[track_caller]
    fn end_well(&mut self) {
        let before = std::mem::replace(&mut self.client, self.world.client());
        assert!(before.exit().status.success());
    }

    /// Kills the server, so that much stands in the log alone, and starts another one.
    fn restart(&mut self) {
        let before = std::mem::replace(&mut self.client, self.world.client());
        drop(before);
    }

    /// Arguments with the name of the session.
    fn named(&self, mut arguments: Value) -> Value {
        arguments["session_name"] = json!(self.session);
        arguments
    }

    /// Calls a tool about the sick session that must fail in this category, and gives the rest of the text.
    #[track_caller]
    fn fails(&mut self, tool: &str, arguments: Value, category: &str) -> String {
        let arguments = self.named(arguments);
        let text = self.client.fails(tool, arguments);
        let head = format!("[Session: {}] Error: {category}\n\n", self.session);
        let rest = text.strip_prefix(&head).unwrap_or_else(|| panic!("{tool}: {text}"));
        assert!(
            rest.contains("\n\nSuggested action: Nothing was changed. ") || rest.contains("Move session.db aside"),
            "{rest}"
        );
        rest.to_owned()
    }

    #[track_caller]
    fn every_tool_fails(&mut self, category: &str, says: &str) {
        for (tool, arguments) in tools_with_a_session() {
            let text = self.fails(tool, arguments, category);
            assert!(text.contains(says), "{tool}: {text}");
        }
    }

    /// Makes the calls that only look. Whether they fail depends on what they read.
    #[track_caller]
    fn every_call_is_answered(&mut self) {
        let looking = ["session_resume", "history_search", "history_get", "admin_validate", "admin_state"];
        for (tool, arguments) in tools_with_a_session().into_iter().filter(|(tool, _)| looking.contains(tool)) {
            let arguments = self.named(arguments);
            self.client.call(tool, arguments);
        }
    }

    /// Whether the other session goes on, and which of the two are listed as unreadable.
    #[track_caller]
    fn rest_goes_on(&mut self, unreadable: bool) {
        let mut added = plan("goal");
        added["session_name"] = json!(self.well);
        self.client.ok("queue_add", added);
        let listed = self.client.ok("admin_sessions", json!({})).fields;
        let names = |list: &Value| -> Vec<String> {
            let mut names: Vec<_> =
                list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
            names.sort();
            names
        };
        if unreadable {
            assert_eq!(
                (names(&listed["unreadable"]), names(&listed["sessions"])),
                (vec![self.session.clone()], vec![self.well.clone()])
            );
            let error = listed["unreadable"][0]["error"].as_str().unwrap();
            assert!(error.contains("Nothing was changed.") || error.contains("Move session.db aside"), "{error}");
        } else {
            let mut both = vec![self.session.clone(), self.well.clone()];
            both.sort();
            assert_eq!((names(&listed["unreadable"]), names(&listed["sessions"])), (vec![], both));
        }
    }

    /// All is as it was, for the server that has seen it all.
    #[track_caller]
    fn is_as_it_was(&mut self) {
        let (face, _) = look(&mut self.client, &self.world, &self.session);
        assert_eq!(face, self.face);
        self.goes_on();
    }

    /// The next calls work.
    #[track_caller]
    fn goes_on(&mut self) {
        let added = self.named(plan("goal"));
        self.client.ok("queue_add", added);
        let outcome = self.named(json!({ "outcome": "an outcome" }));
        self.client.ok("plan_complete", outcome);
        let pulled = self.named(json!({}));
        self.client.ok("queue_pull", pulled);
        look(&mut self.client, &self.world, &self.session);
        self.rest_goes_on(false);
    }
}

/// Puts a copy of the content of a file in its place, as a tool that writes a new file and renames it.
fn replace(path: &Path, content: &[u8]) {
    let aside = path.with_extension("new");
    fs::write(&aside, content).unwrap();
    fs::rename(aside, path).unwrap();
}
