//! Databases that are spoiled, cut or away.

use std::fs;

use super::{Patient, replace};
use crate::harness::plan;
use crate::model::seen::look;

/// The size of a page of a database, in bytes.
const PAGE: usize = 4_096;

/// What is wrong with a database, made from the right one, and what is said of it.
type Spoiled = (&'static str, fn(&[u8]) -> Vec<u8>, &'static str);

const SPOILED: [Spoiled; 5] = [
    ("empty", |_| Vec::new(), "it is empty"),
    ("cut", |content| content[..100].to_vec(), "database"),
    ("junk", |content| b"junk ".repeat(content.len() / 5), "file is not a database"),
    ("spoiled head", |content| [&[b'x'; 100], &content[100..]].concat(), "file is not a database"),
    ("zeros", |content| vec![0; content.len()], "database"),
];

#[test]
fn a_spoiled_database_is_reported_and_what_its_log_holds_is_kept() {
    for (name, spoil, says) in SPOILED {
        let mut patient = Patient::new();
        patient.restart();
        let (path, log) = (patient.world.database(&patient.session), patient.world.log(&patient.session));
        let (content, logged) = (fs::read(&path).unwrap(), fs::read(&log).unwrap());
        assert!(logged.len() > 10_000, "what was added stands in the log");
        let spoiled = spoil(&content);
        fs::write(&path, &spoiled).unwrap();
        patient.rest_goes_on(true);
        patient.every_tool_fails("DATABASE_ERROR", says);
        patient.rest_goes_on(true);
        assert_eq!(fs::read(&path).unwrap(), spoiled, "{name}");
        assert!(fs::read(&log).unwrap() == logged, "{name}");
        fs::write(&path, content).unwrap();
        patient.is_as_it_was();
    }
}

#[test]
fn a_spoiled_database_in_the_place_of_an_open_one_is_reported() {
    for (name, spoil, says) in SPOILED {
        let mut patient = Patient::new();
        let (path, log) = (patient.world.database(&patient.session), patient.world.log(&patient.session));
        let (content, logged) = (fs::read(&path).unwrap(), fs::read(&log).unwrap());
        replace(&path, &spoil(&content));
        patient.every_tool_fails("DATABASE_ERROR", says);
        patient.rest_goes_on(true);
        assert!(fs::read(&log).unwrap() == logged, "{name}");
        replace(&path, &content);
        patient.is_as_it_was();
    }
}

#[test]
fn a_database_that_was_spoiled_and_mended_in_its_place_is_as_before() {
    for (_, spoil, _) in SPOILED {
        let mut patient = Patient::new();
        let path = patient.world.database(&patient.session);
        let content = fs::read(&path).unwrap();
        fs::write(&path, spoil(&content)).unwrap();
        patient.every_call_is_answered();
        fs::write(&path, content).unwrap();
        patient.is_as_it_was();
    }
}

#[test]
fn a_database_that_is_away_is_missed_and_may_come_back() {
    for restarted in [false, true] {
        let mut patient = Patient::new();
        if restarted {
            patient.restart();
        }
        let path = patient.world.database(&patient.session);
        let aside = patient.world.home().join("aside");
        fs::rename(&path, &aside).unwrap();
        patient.every_tool_fails("FILE_SYSTEM_ERROR", "it is missing, while other files of the session are there");
        patient.rest_goes_on(true);
        fs::rename(&aside, &path).unwrap();
        patient.is_as_it_was();
    }
}

#[test]
fn a_backup_that_is_put_in_the_place_of_a_database_is_what_is_used() {
    for in_place in [false, true] {
        let mut patient = Patient::new();
        let (path, log) = (patient.world.database(&patient.session), patient.world.log(&patient.session));
        let backup = patient.world.home().join("backup.db");
        let database = rusqlite::Connection::open(&path).unwrap();
        database.execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
        database.close().unwrap();
        let content = fs::read(&backup).unwrap();
        patient.client.add("lost with the log, its file is kept");
        let index = path.with_file_name("session.db-shm");
        if in_place {
            fs::write(&path, &content).unwrap();
        } else {
            replace(&path, &content);
        }
        fs::remove_file(log).unwrap();
        fs::remove_file(index).unwrap();
        let state = patient.named(serde_json::json!({}));
        let state = patient.client.ok("admin_state", state).fields;
        assert_eq!((&state["queue_length"], &state["completed_count"]), (&2.into(), &1.into()));
        let issues = patient.named(serde_json::json!({}));
        let issues = patient.client.ok("admin_validate", issues).fields["issues"].take();
        assert_eq!(issues.as_array().map(Vec::len), Some(1), "{issues}");
    }
}

#[test]
fn a_later_schema_is_refused_by_a_server_that_has_the_session_open() {
    let mut patient = Patient::new();
    let database = rusqlite::Connection::open(patient.world.database(&patient.session)).unwrap();
    let known: i64 = database.query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    for (tool, arguments) in crate::calls::tools_that_change_a_session() {
        let arguments = patient.named(arguments);
        let text = patient.client.fails(tool, arguments);
        assert!(text.contains("Error: DATABASE_ERROR") && text.contains("made by a newer 9plan"), "{tool}: {text}");
    }
    database.pragma_update(None, "user_version", known).unwrap();
    drop(database);
    patient.is_as_it_was();
}

#[test]
fn a_page_that_was_spoiled_and_mended_is_as_before() {
    let mut patient = Patient::new();
    patient.end_well();
    let path = patient.world.database(&patient.session);
    let content = fs::read(&path).unwrap();
    let mut spoiled = content.clone();
    spoiled[2 * PAGE..].fill(b'x');
    fs::write(&path, spoiled).unwrap();
    patient.every_call_is_answered();
    fs::write(&path, content).unwrap();
    patient.is_as_it_was();
}

#[test]
fn damage_that_was_found_and_mended_is_not_found_again() {
    let mut patient = Patient::new();
    patient.end_well();
    let (path, log) = (patient.world.database(&patient.session), patient.world.log(&patient.session));
    // So that all is read from the database.
    fs::remove_file(log.with_file_name("session.db-shm")).unwrap();
    fs::remove_file(log).unwrap();
    let content = fs::read(&path).unwrap();
    let mut found = 0;
    for page in 1..content.len() / PAGE {
        let mut spoiled = content.clone();
        spoiled[page * PAGE..][..PAGE].fill(b'x');
        fs::write(&path, spoiled).unwrap();
        patient.restart();
        let mut valid = || {
            let named = patient.named(serde_json::json!({}));
            patient.client.call("admin_validate", named)["structuredContent"]["valid"].take()
        };
        found += usize::from(valid() == false);
        fs::write(&path, &content).unwrap();
        assert_eq!(valid(), true, "page {page}");
    }
    assert!(found > 0, "some damage is reported, the other fails the call");
    patient.is_as_it_was();
}

#[test]
fn a_session_that_is_closed_after_its_database_was_spoiled_keeps_its_log() {
    for ((name, spoil, _), noticed) in SPOILED.into_iter().flat_map(|spoiled| [(spoiled, false), (spoiled, true)]) {
        let mut patient = Patient::new();
        let (path, log) = (patient.world.database(&patient.session), patient.world.log(&patient.session));
        let (content, logged) = (fs::read(&path).unwrap(), fs::read(&log).unwrap());
        fs::write(&path, spoil(&content)).unwrap();
        if noticed {
            patient.every_call_is_answered();
        }
        patient.end_well();
        assert!(fs::read(&log).unwrap() == logged, "{name} {noticed}");
        fs::write(&path, content).unwrap();
        patient.is_as_it_was();
    }
}

#[test]
fn a_session_that_was_closed_well_needs_no_log() {
    for written_back in [false, true] {
        let mut patient = Patient::new();
        if written_back {
            // As SQLite does by itself from time to time.
            let database = rusqlite::Connection::open(patient.world.database(&patient.session)).unwrap();
            database.query_row("PRAGMA wal_checkpoint", (), |_| Ok(())).unwrap();
            let added = patient.named(plan("added since"));
            patient.client.ok("queue_add", added);
            (patient.face, _) = look(&mut patient.client, &patient.world, &patient.session);
        }
        patient.end_well();
        let log = patient.world.log(&patient.session);
        fs::remove_file(&log).unwrap();
        fs::remove_file(log.with_file_name("session.db-shm")).unwrap();
        patient.is_as_it_was();
    }
}

#[test]
fn a_copy_in_the_place_of_a_database_has_the_log_to_itself() {
    let mut patient = Patient::new();
    let path = patient.world.database(&patient.session);
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    replace(&path, &fs::read(&path).unwrap());
    fs::File::open(&path).unwrap().set_modified(modified).unwrap();
    let mut client = patient.world.client();
    client.ok("session_resume", patient.named(serde_json::json!({})));
    // Written back by the one that has the old database open, the log would count as done.
    assert!(std::mem::replace(&mut patient.client, client).exit().status.success());
    patient.is_as_it_was();
}
