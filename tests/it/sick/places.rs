//! Something else in the place of a file or a folder: links, folders, pipes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::Patient;
use crate::calls::tools_with_a_session;

/// Puts something where nothing is.
type Put = fn(&Path);

const FOLDER: (&str, Put) = ("folder", |path| fs::create_dir(path).unwrap());
const DANGLING: (&str, Put) = ("link to nothing", |path| symlink("nowhere/at/all", path).unwrap());
const OUTSIDE: (&str, Put) = ("link outside", |path| symlink(path.ancestors().nth(3).unwrap(), path).unwrap());
const PIPE: (&str, Put) = ("pipe", |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()));
const FILE: (&str, Put) = ("file", |path| fs::write(path, "a file").unwrap());

/// Moves what stands at a place aside, puts something else there, does something, and moves it back.
#[track_caller]
fn replaced(patient: &mut Patient, place: &Path, (name, put): (&str, Put), mut check: impl FnMut(&mut Patient, &str)) {
    let aside = patient.world.home().join("aside");
    fs::rename(place, &aside).unwrap();
    put(place);
    check(patient, name);
    if fs::symlink_metadata(place).unwrap().is_dir() { fs::remove_dir(place) } else { fs::remove_file(place) }.unwrap();
    fs::rename(aside, place).unwrap();
}

#[test]
fn what_stands_in_the_place_of_a_plan_file_is_not_followed_and_hinders_nothing_else() {
    for thing in [FOLDER, DANGLING, OUTSIDE, PIPE] {
        let mut patient = Patient::new();
        let (id, _) = patient.face.active.clone().unwrap();
        let place = patient.world.plan_file(&patient.session, &id);
        replaced(&mut patient, &place, thing, |patient, name| {
            for (tool, arguments) in [
                ("plan_defer", json!({ "reason": "r" })),
                ("plan_complete", json!({ "outcome": "o" })),
                ("plan_discard", json!({ "reason": "r" })),
            ] {
                let text = patient.fails(tool, arguments, "FILE_SYSTEM_ERROR");
                assert!(text.contains(&format!("{id}.txt: it is ")), "{name}: {text}");
            }
            let checked = patient.named(json!({}));
            assert_eq!(patient.client.ok("admin_validate", checked).fields["valid"], false);
            let resumed = patient.named(json!({}));
            let resumed = patient.client.ok("session_resume", resumed);
            assert!(resumed.str("plan").contains("# Goal\nactive\n"), "the text is that of the row");
            assert!(resumed.str("next_step").contains("Put the file right first"));
            patient.rest_goes_on(false);
        });
        patient.is_as_it_was();
    }
}

#[test]
fn what_stands_in_the_place_of_a_folder_or_of_the_database_is_refused() {
    for restarted in [false, true] {
        for (name, things) in [
            ("plans", [FILE, DANGLING, OUTSIDE, PIPE]),
            ("session.db", [FOLDER, DANGLING, OUTSIDE, PIPE]),
            ("session.db-wal", [FOLDER, DANGLING, OUTSIDE, PIPE]),
            ("session.db-shm", [FOLDER, DANGLING, OUTSIDE, PIPE]),
        ] {
            for thing in things {
                let mut patient = Patient::new();
                if restarted {
                    patient.restart();
                }
                let place: PathBuf = patient.world.database(&patient.session).with_file_name(name);
                replaced(&mut patient, &place, thing, |patient, _| {
                    patient.every_tool_fails("FILE_SYSTEM_ERROR", &format!("{name}: it is "));
                    patient.rest_goes_on(true);
                });
                patient.is_as_it_was();
            }
        }
    }
}

#[test]
fn a_session_that_is_a_link_is_refused() {
    for restarted in [false, true] {
        let mut patient = Patient::new();
        if restarted {
            patient.restart();
        }
        let place = patient.world.root().join(&patient.session);
        let link: (&str, Put) = ("link", |path| symlink(path.ancestors().nth(2).unwrap().join("aside"), path).unwrap());
        replaced(&mut patient, &place, link, |patient, _| {
            patient.every_tool_fails("FILE_SYSTEM_ERROR", "it is a symbolic link, which is not followed");
            patient.rest_goes_on(true);
        });
        patient.is_as_it_was();
    }
}

#[test]
fn something_else_in_the_place_of_the_root_is_said_to_be_there() {
    for thing in [FILE, DANGLING, PIPE] {
        let mut patient = Patient::new();
        let root = patient.world.root();
        replaced(&mut patient, &root, thing, |patient, name| {
            for (tool, arguments) in tools_with_a_session() {
                let arguments = patient.named(arguments);
                let text = patient.client.fails(tool, arguments);
                assert!(text.contains("Error: FILE_SYSTEM_ERROR\n\nCannot "), "{name}: {tool}: {text}");
            }
            let text = patient.client.fails("admin_sessions", json!({}));
            assert!(text.starts_with("[Session: none] Error: FILE_SYSTEM_ERROR\n\nCannot list "), "{name}: {text}");
            let text = patient.client.fails("session_create", json!({}));
            let message = format!("Cannot make {}: what stands there is not a folder", patient.world.root().display());
            assert!(text.starts_with(&format!("[Session: none] Error: FILE_SYSTEM_ERROR\n\n{message}\n")), "{text}");
        });
        patient.is_as_it_was();
    }
}
