//! What the tests of the storage share: a session in a temporary folder, its plan files in memory or on disk.

mod audit;
mod flat;
mod migrations;
mod recovery;
mod safety;
mod transitions;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::{Ending, SessionStore, schema};
use crate::error::Error;
use crate::files::fakes::{MemoryPlanFiles, Step};
use crate::files::{DiskPlanFiles, PlanFiles};
use crate::ids::fakes::ScriptedIds;
use crate::plan::{Plan, PlanId, Position, SessionName};

/// A session whose files a test can look at, take away and make fail.
pub struct Bench {
    pub folder: TempDir,
    pub files: MemoryPlanFiles,
    pub ids: Arc<ScriptedIds>,
}

/// All that is stored of a session: the rows of each table, and the plan files.
#[derive(Debug, PartialEq)]
pub struct Stored {
    tables: Vec<Vec<Vec<Value>>>,
    files: BTreeMap<PlanId, Vec<u8>>,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self::without_database();
        schema::create(bench.folder.path(), &session(), Some("Build it"), &[]).unwrap();
        bench
    }

    pub fn without_database() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("plans")).unwrap();
        Self { folder, files: MemoryPlanFiles::default(), ids: Arc::default() }
    }

    /// The session with its plan files in memory.
    pub fn open(&self) -> SessionStore {
        self.try_open().unwrap_or_else(|error| panic!("the session opens: {error}"))
    }

    pub fn try_open(&self) -> Result<SessionStore, Error> {
        self.open_with(Box::new(self.files.clone()))
    }

    /// The session with its plan files on disk.
    pub fn open_on_disk(&self) -> SessionStore {
        let files = DiskPlanFiles::new(self.plans());
        self.open_with(Box::new(files)).unwrap_or_else(|error| panic!("the session opens: {error}"))
    }

    fn open_with(&self, files: Box<dyn PlanFiles>) -> Result<SessionStore, Error> {
        SessionStore::open(session(), &self.database(), files, self.ids.clone())
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join(schema::FILE_NAME)
    }

    pub fn plans(&self) -> PathBuf {
        self.folder.path().join("plans")
    }

    /// A connection of the test's own.
    pub fn raw(&self) -> Connection {
        Connection::open(self.database()).unwrap()
    }

    pub fn execute(&self, sql: &str) {
        self.raw().execute_batch(sql).unwrap();
    }

    /// The rows that a query gives.
    pub fn rows(&self, sql: &str) -> Vec<Vec<Value>> {
        let db = self.raw();
        let mut statement = db.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map((), |row| (0..columns).map(|column| row.get(column)).collect()).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// The first column of the rows that a query gives.
    pub fn texts(&self, sql: &str) -> Vec<String> {
        let db = self.raw();
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map((), |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    pub fn stored(&self) -> Stored {
        let tables = ["plans ORDER BY id", "sessions", "events ORDER BY seq", "words ORDER BY word"];
        Stored {
            tables: tables.iter().map(|table| self.rows(&format!("SELECT * FROM {table}"))).collect(),
            files: self.files.0.lock().unwrap().files.clone(),
        }
    }

    /// Makes a step of the plan files in memory fail, or none.
    pub fn fail_at(&self, step: impl Into<Option<Step>>) {
        self.files.0.lock().unwrap().fails_at = step.into();
    }

    /// The file of a plan in memory, as text.
    pub fn file(&self, id: &PlanId) -> Option<String> {
        let bytes = self.files.0.lock().unwrap().files.get(id).cloned();
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    pub fn set_file(&self, id: &PlanId, bytes: &[u8]) {
        self.files.0.lock().unwrap().files.insert(id.clone(), bytes.to_owned());
    }

    pub fn take_file(&self, id: &PlanId) {
        self.files.0.lock().unwrap().files.remove(id).unwrap();
    }

    /// Has the next plans get these identifiers.
    pub fn next_ids(&self, ids: &[&'static str]) {
        self.ids.plans.lock().unwrap().extend(ids);
    }
}

pub fn session() -> SessionName {
    SessionName::parse("amber-quiet-river").unwrap()
}

pub fn plan_id(text: &str) -> PlanId {
    PlanId::exact(text).unwrap()
}

/// A plan with something in every section.
pub fn plan(goal: &str) -> Plan {
    let section = |name: &str| format!("the {name} of {goal}");
    Plan {
        context: section("context"),
        goal: goal.into(),
        inputs: section("inputs"),
        outputs: section("outputs"),
        approach: section("approach"),
        success_criteria: section("criteria"),
        notes: section("notes"),
    }
}

pub fn add(store: &mut SessionStore, goal: &str) -> PlanId {
    store.add(&plan(goal), Position::Back, None).unwrap().id
}

/// Adds a plan and makes it the active one.
pub fn activate(store: &mut SessionStore, goal: &str) -> PlanId {
    let id = store.add(&plan(goal), Position::Front, None).unwrap().id;
    assert_eq!(store.pull(None).unwrap().id, id);
    id
}

pub fn complete(store: &mut SessionStore, outcome: &str) -> PlanId {
    store.finish(Ending::Completed { outcome }, None).unwrap().id
}

pub fn discard(store: &mut SessionStore, reason: &str) -> PlanId {
    store.finish(Ending::Discarded { reason }, None).unwrap().id
}
