//! What a stranger finds of a session: in a server's replies, in the database and in the plan files, which all must agree.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Client, World, names_in, sessions_in};

/// A session as it is found, without times. Plans that are open are their files; plans that are not, their rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Face {
    pub task: Option<String>,
    /// Identifier and file, front first.
    pub queue: Vec<(String, String)>,
    pub active: Option<(String, String)>,
    /// Identifier, sections and outcome, in the order in which they were completed.
    pub completed: Vec<(String, [String; 7], String)>,
    /// The same with the reason.
    pub discarded: Vec<(String, [String; 7], String)>,
}

impl Face {
    /// The identifiers of all plans: in the queue, active, completed, discarded.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let closed = self.completed.iter().chain(&self.discarded).map(|(id, ..)| id);
        self.queue.iter().chain(&self.active).map(|(id, _)| id).chain(closed).map(String::as_str)
    }

    /// The same with nothing in it that was drawn at random.
    pub fn without_ids(mut self) -> Self {
        self.queue.iter_mut().chain(&mut self.active).for_each(|(id, _)| id.clear());
        self.completed.iter_mut().chain(&mut self.discarded).for_each(|(id, ..)| id.clear());
        self
    }
}

/// A text without the times of its notes.
pub fn untimed(text: &str) -> String {
    let timeless = |line: &str| match line.split_once("] Deferred: ") {
        Some((_, reason)) => format!("Deferred: {reason}"),
        None => line.to_owned(),
    };
    text.split('\n').map(timeless).collect::<Vec<_>>().join("\n")
}

/// Looks at a session, which must be in order, and counts what was repaired when it was opened for that.
#[track_caller]
pub fn look(client: &mut Client, world: &World, session: &str) -> (Face, usize) {
    let named = json!({ "session_name": session });
    let resumed = client.ok("session_resume", named.clone()).fields;
    let repaired = resumed["repaired"].as_array().map_or(0, Vec::len);
    let checked = client.ok("admin_validate", named.clone()).fields;
    assert_eq!((&checked["valid"], &checked["issues"]), (&json!(true), &json!([])));
    let again = client.ok("session_resume", named).fields;
    assert_eq!(again.get("repaired"), None, "all is repaired at once");

    let face = stored(world, session);
    let shown: Vec<&str> = face.queue.iter().take(100).map(|(id, _)| id.as_str()).collect();
    let listed = again["queue"].as_array().unwrap();
    assert_eq!(listed.iter().map(|item| item["id"].as_str().unwrap()).collect::<Vec<_>>(), shown);
    assert_eq!(again["queue_length"], face.queue.len());
    assert_eq!(again["completed_count"], face.completed.len());
    assert_eq!(again["task_description"].as_str(), face.task.as_deref());
    let active =
        again["active_plan"]["id"].as_str().map(|id| (id.to_owned(), untimed(again["plan"].as_str().unwrap())));
    assert_eq!(active, face.active);
    assert_eq!(names_in(&world.plans(session)), open_files(&face));
    (face, repaired)
}

fn open_files(face: &Face) -> BTreeSet<String> {
    face.queue.iter().chain(&face.active).map(|(id, _)| format!("{id}.txt")).collect()
}

/// What the database and the plan files say, beside whoever uses them.
#[track_caller]
fn stored(world: &World, session: &str) -> Face {
    let database = rusqlite::Connection::open(world.database(session)).unwrap();
    let open = |condition: &str| {
        let mut statement = database.prepare(&format!("SELECT id FROM plans WHERE {condition}")).unwrap();
        let ids = statement.query_map((), |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
        let text = |id: &String| untimed(&fs::read_to_string(world.plan_file(session, id)).unwrap());
        ids.map(|id| (text(&id), id)).map(|(text, id)| (id, text)).collect::<Vec<_>>()
    };
    let closed = |status: &str| {
        // By the events, so that a plan that was finished twice is there twice.
        let sql = "SELECT context, goal, inputs, outputs, approach, success_criteria, notes, id, outcome
                   FROM events JOIN plans ON id = plan_id WHERE what = ?1 AND status = ?1 ORDER BY seq";
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([status], |row| {
            let text = |column| row.get::<_, Option<String>>(column).map(|text| untimed(&text.unwrap_or_default()));
            let sections = [text(0)?, text(1)?, text(2)?, text(3)?, text(4)?, text(5)?, text(6)?];
            Ok((row.get(7)?, sections, row.get(8)?))
        });
        rows.unwrap().map(Result::unwrap).collect::<Vec<_>>()
    };
    let face = Face {
        task: database.query_row("SELECT task_description FROM sessions", (), |row| row.get(0)).unwrap(),
        queue: open("status = 'queued' ORDER BY queue_position"),
        active: open("status = 'active'").pop(),
        completed: closed("completed"),
        discarded: closed("discarded"),
    };
    let rows: i64 = database.query_row("SELECT count(*) FROM plans", (), |row| row.get(0)).unwrap();
    assert_eq!(face.ids().count(), usize::try_from(rows).unwrap(), "each row is in one place: {face:?}");
    face
}

/// The names of all sessions, beside which nothing else may stand. Those used last must be readable.
#[track_caller]
pub fn sessions(client: &mut Client, world: &World) -> BTreeSet<String> {
    let listed = client.ok("admin_sessions", json!({ "limit": 20 })).fields;
    assert_eq!(listed["unreadable"], json!([]));
    let names = if world.root().exists() { sessions_in(&world.root()) } else { BTreeSet::new() };
    assert_eq!(listed["total"], Value::from(names.len()), "{names:?}");
    names
}
