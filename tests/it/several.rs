//! Several servers at once: eight on one session under a random load, and sixty-four sessions made at the same moment.
//!
//! Whatever the processes do to each other, there must be one order of all changes, that of the events, in which each
//! reply was true. So each process has a client's name of its own, and what it was told is held against its events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Client, Reply, World, failure, names_in, plan, sessions_in};

const PROCESSES: usize = 8;

/// How many calls each process makes.
const CALLS: usize = 200;

/// A word that all outcomes have.
const EVERYWHERE: &str = "everywhere";

/// Numbers that are the same in each run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// A call that was not refused.
#[derive(Debug)]
struct Done {
    tool: &'static str,
    /// The goal, the reason or the outcome that it gave: no other call has it.
    words: String,
    position: &'static str,
    said: Value,
}

/// What was written of a change.
#[derive(Debug)]
struct Event {
    client: String,
    id: String,
    what: String,
    detail: Option<String>,
}

/// A session as the changes must leave it.
#[derive(Debug, Default)]
struct Model {
    goals: BTreeMap<String, String>,
    reasons: BTreeMap<String, Vec<String>>,
    queue: VecDeque<String>,
    active: Option<String>,
    /// With their outcomes.
    completed: BTreeMap<String, String>,
}

impl Model {
    /// Makes a change, and gives what the reply must say of it beside the identifier of the plan.
    fn apply(&mut self, done: &Done, id: &str) -> Value {
        match done.tool {
            "queue_add" => {
                assert_eq!(self.goals.insert(id.to_owned(), done.words.clone()), None, "one plan of each identifier");
                json!({ "queue_position": self.place(id, done.position) })
            }
            "queue_pull" => {
                assert_eq!(self.active, None, "never two plans active");
                self.active = self.queue.pop_front();
                assert_eq!(self.active.as_deref(), Some(id));
                json!({ "goal": self.goals[id], "queue_length": self.queue.len() })
            }
            "plan_defer" => {
                assert_eq!(self.active.take().as_deref(), Some(id));
                self.reasons.entry(id.to_owned()).or_default().push(done.words.clone());
                json!({ "queue_position": self.place(id, done.position), "queue_length": self.queue.len() })
            }
            "plan_complete" => {
                assert_eq!(self.active.take().as_deref(), Some(id));
                assert_eq!(self.completed.insert(id.to_owned(), done.words.clone()), None, "completed once");
                let next = self.queue.front().map(|id| json!({ "id": id, "goal": self.goals[id] }));
                json!({ "queue_length": self.queue.len(), "completed_count": self.completed.len(), "next": next })
            }
            other => panic!("{other} changes nothing"),
        }
    }

    fn place(&mut self, id: &str, position: &str) -> usize {
        if position == "front" {
            self.queue.push_front(id.to_owned());
            1
        } else {
            self.queue.push_back(id.to_owned());
            self.queue.len()
        }
    }
}

fn name(process: usize) -> String {
    format!("process {process}")
}

/// A client that calls itself by this name, in a session.
fn named(world: &World, name: &str, session: &str) -> Client {
    let mut client = world.server().connect();
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": name, "version": "1" },
    });
    client.request("initialize", hello);
    client.write_bytes(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    client.ok("session_resume", json!({ "session_name": session }));
    client
}

/// Does something with all clients at the same time, in a thread each.
fn all_at_once<T: Send>(clients: &mut [Client], act: impl Fn(usize, &mut Client) -> T + Sync) -> Vec<T> {
    let (start, act) = (&Barrier::new(clients.len()), &act);
    thread::scope(|scope| {
        let run = |(process, client)| {
            scope.spawn(move || {
                start.wait();
                act(process, client)
            })
        };
        let threads: Vec<_> = clients.iter_mut().enumerate().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Makes calls at random, none of which may fail but for what the others do meanwhile.
fn work(process: usize, client: &mut Client) -> Vec<Done> {
    let mut random = Random(process as u64);
    let mut all = Vec::new();
    for call in 0..CALLS {
        let words = format!("{EVERYWHERE} process {process} call {call}");
        let position = if random.below(4) == 0 { "front" } else { "back" };
        let mut arguments = json!({});
        let (tool, refusals): (_, &[_]) = match random.below(100) {
            0..20 => {
                arguments = plan(&words);
                arguments["position"] = json!(position);
                ("queue_add", &[])
            }
            20..53 => ("queue_pull", &["PLAN_ALREADY_ACTIVE", "QUEUE_EMPTY"]),
            53..60 => {
                arguments = json!({ "reason": words, "position": position });
                ("plan_defer", &["NO_ACTIVE_PLAN"])
            }
            60..90 => {
                arguments = json!({ "outcome": words });
                ("plan_complete", &["NO_ACTIVE_PLAN"])
            }
            _ => {
                arguments = json!({ "query": EVERYWHERE });
                ("history_search", &[])
            }
        };
        let result = client.call(tool, arguments);
        if result["isError"] == true {
            let text = failure(&result);
            let expected = refusals.iter().any(|category| text.contains(&format!("] Error: {category}\n")));
            assert!(expected, "{tool} of process {process}: {text}");
        } else {
            all.push(Done { tool, words, position, said: Reply::of(result).fields });
        }
    }
    all
}

/// The changes of a session, in their order.
fn events(database: &rusqlite::Connection) -> Vec<Event> {
    let mut statement =
        database.prepare("SELECT coalesce(client, ''), plan_id, what, detail FROM events ORDER BY seq").unwrap();
    let event = |row: &rusqlite::Row<'_>| {
        Ok(Event { client: row.get(0)?, id: row.get(1)?, what: row.get(2)?, detail: row.get(3)? })
    };
    statement.query_map((), event).unwrap().map(Result::unwrap).collect()
}

/// The identifiers that a query gives.
fn ids(database: &rusqlite::Connection, sql: &str) -> Vec<String> {
    database.prepare(sql).unwrap().query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Makes all changes again in the order of the events. Each must be what a process was told, in the order in which that
/// process was told, and what it was told must have been true just then.
fn replayed(events: &[Event], told: &[Vec<Done>]) -> Model {
    let mut model = Model::default();
    let mut left: BTreeMap<String, (std::slice::Iter<'_, Done>, usize)> =
        told.iter().enumerate().map(|(process, done)| (name(process), (done.iter(), 0))).collect();
    for event in events {
        let (done, known) = left.get_mut(&event.client).unwrap_or_else(|| panic!("{event:?}"));
        let change = done
            .by_ref()
            .find(|done| !is_search(done, *known..=model.completed.len()))
            .unwrap_or_else(|| panic!("nobody was told of {event:?}"));
        let (what, detail) = match change.tool {
            "queue_add" => ("created", None),
            "queue_pull" => ("pulled", None),
            "plan_defer" => ("deferred", Some(&change.words)),
            _ => ("completed", Some(&change.words)),
        };
        assert_eq!((&*event.what, event.detail.as_ref()), (what, detail), "{change:?}");
        assert_eq!(change.said["plan_id"], event.id, "{change:?}");
        let expected = model.apply(change, &event.id);
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&change.said[field], value, "{field} in {change:?}");
        }
        *known = model.completed.len();
    }
    for (mut done, known) in left.into_values() {
        let lost = done.find(|done| !is_search(done, known..=model.completed.len()));
        assert!(lost.is_none(), "nothing was written of {lost:?}");
    }
    model
}

/// Whether a call was a search, which must have found as many plans as were completed meanwhile.
fn is_search(done: &Done, completed: std::ops::RangeInclusive<usize>) -> bool {
    let found = done.said["total_matches"].as_u64();
    if let Some(found) = found {
        assert!(completed.contains(&usize::try_from(found).unwrap()), "{completed:?}: {done:?}");
    }
    found.is_some()
}

/// The plans that a process added at the back come up for the first time in the order of adding. Those that have not yet
/// are last, and wait in that order, whatever was put in front or deferred.
fn assert_order_kept(done: &[Done], events: &[Event], queue: &[String]) {
    let at_back = |done: &&Done| done.tool == "queue_add" && done.position == "back";
    let added: Vec<&str> = done.iter().filter(at_back).map(|done| done.said["plan_id"].as_str().unwrap()).collect();
    let pulled = events.iter().filter(|event| event.what == "pulled").map(|event| &event.id);
    let mut seen = BTreeSet::new();
    let came: Vec<&str> =
        pulled.chain(queue).map(String::as_str).filter(|id| added.contains(id) && seen.insert(*id)).collect();
    assert_eq!(came, added);
}

/// Each plan is in the database once, as it must be, and has a file if it is open. No reason of a deferral is lost.
fn assert_stored(world: &World, session: &str, database: &rusqlite::Connection, model: &Model) {
    let mut expected = Vec::new();
    for (id, goal) in &model.goals {
        let outcome = model.completed.get(id);
        let status = match outcome {
            Some(_) => "completed",
            None if model.active.as_ref() == Some(id) => "active",
            None => "queued",
        };
        expected.push((id.clone(), goal.clone(), status.to_owned(), outcome.cloned()));
    }
    let mut statement = database.prepare("SELECT id, goal, status, outcome, notes FROM plans ORDER BY id").unwrap();
    let mut rows = statement.query(()).unwrap();
    let (mut stored, mut reasons) = (Vec::new(), BTreeMap::new());
    while let Some(row) = rows.next().unwrap() {
        let plan: (String, String, String, Option<String>) =
            (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap());
        let text =
            if plan.2 == "completed" { row.get(4) } else { Ok(read(&world.plan_file(session, &plan.0))) }.unwrap();
        let said: Vec<String> =
            text.lines().filter_map(|line| Some(line.split_once("] Deferred: ")?.1.to_owned())).collect();
        if !said.is_empty() {
            reasons.insert(plan.0.clone(), said);
        }
        stored.push(plan);
    }
    assert_eq!(stored, expected);
    assert_eq!(reasons, model.reasons);
    let open = expected.iter().filter(|plan| plan.3.is_none()).map(|plan| format!("{}.txt", plan.0)).collect();
    assert_eq!(names_in(&world.plans(session)), open);
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

#[test]
fn eight_processes_on_one_session_lose_nothing_and_do_nothing_twice() {
    let world = World::new();
    let session = world.client().create("t");
    let mut clients: Vec<Client> = (0..PROCESSES).map(|process| named(&world, &name(process), &session)).collect();
    let told = all_at_once(&mut clients, work);
    let found = all_at_once(&mut clients, |_, client| {
        client.ok("history_search", json!({ "query": EVERYWHERE })).fields["total_matches"].as_u64().unwrap()
    });
    for client in clients {
        assert_eq!(client.exit().status.code(), Some(0));
    }
    // Nobody had anything to repair, though a plan may be pulled before its file is in its place.
    let repaired = told.iter().flatten().find(|done| done.said.get("repaired").is_some());
    assert!(repaired.is_none(), "{repaired:?}");

    let database = rusqlite::Connection::open(world.database(&session)).unwrap();
    let events = events(&database);
    let model = replayed(&events, &told);
    let queue = ids(&database, "SELECT id FROM plans WHERE status = 'queued' ORDER BY queue_position");
    assert_eq!(model.queue, queue);
    for done in &told {
        assert_order_kept(done, &events, &queue);
    }
    assert_stored(&world, &session, &database, &model);
    drop(database);

    // However the processes took turns, there was something to see.
    let completed = model.completed.len();
    assert!(completed > 50 && !model.reasons.is_empty(), "{completed} completed");
    assert_eq!(found, [completed as u64; PROCESSES]);
    let mut client = world.client();
    let resumed = client.ok("session_resume", json!({ "session_name": session })).fields;
    let counts = ["queue_length", "completed_count", "repaired"].map(|field| &resumed[field]);
    assert_eq!(counts, [&json!(queue.len()), &json!(completed), &Value::Null]);
    assert_eq!(resumed["active_plan"]["id"].as_str(), model.active.as_deref());
    assert_eq!(client.ok("admin_validate", json!({})).fields["issues"], json!([]));
    assert_eq!(client.ok("history_search", json!({ "query": EVERYWHERE })).fields["total_matches"], completed);
}

#[test]
fn sixty_four_sessions_made_at_once_by_eight_processes_have_sixty_four_names() {
    let world = World::new();
    let mut clients: Vec<Client> = (0..PROCESSES).map(|_| world.client()).collect();
    let made = all_at_once(&mut clients, |process, client| {
        let tasks: Vec<String> = (0..8).map(|number| format!("task {number} of process {process}")).collect();
        let create = |task| client.send_call("session_create", json!({ "task_description": task }));
        let sent: Vec<u64> = tasks.iter().map(create).collect();
        let mut named = |id| client.reply(id).str("session_name").to_owned();
        tasks.into_iter().zip(sent).map(|(task, id)| (named(id), task)).collect::<Vec<_>>()
    });
    for client in clients {
        assert_eq!(client.exit().status.code(), Some(0));
    }
    let tasks: BTreeMap<String, String> = made.into_iter().flatten().collect();
    assert_eq!(tasks.len(), 64);
    assert_eq!(sessions_in(&world.root()), tasks.keys().cloned().collect());
    let listed = world.client().ok("admin_sessions", json!({ "limit": 200 })).fields;
    assert_eq!((&listed["total"], &listed["unreadable"]), (&json!(64), &json!([])));
    let text = |session: &Value, field: &str| session[field].as_str().unwrap().to_owned();
    let sessions = listed["sessions"].as_array().unwrap().iter();
    assert_eq!(sessions.map(|it| (text(it, "name"), text(it, "task_description"))).collect::<BTreeMap<_, _>>(), tasks);
}
