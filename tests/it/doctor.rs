//! `9plan doctor` and `9plan completions`: what they find, and that to look changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::World;
#[cfg(unix)]
use crate::harness::sessions_in;

/// What was found as JSON, and the exit code.
#[track_caller]
fn examined(world: &World, arguments: &[&str]) -> (Value, Option<i32>) {
    let output = world.run(&[&["doctor", "--json"], arguments].concat());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], output.status.success());
    // How long it took is another time something else.
    let took = report["server"]["milliseconds"].take();
    assert!(took.is_null() || took.as_f64().unwrap() > 0.0, "{took}");
    (report, output.status.code())
}

#[track_caller]
fn printed(world: &World, arguments: &[&str]) -> String {
    String::from_utf8(world.run(&[&["doctor"], arguments].concat()).stdout).unwrap()
}

/// A session with a queued, an active and a completed plan, and their ids.
fn session(world: &World) -> (String, [String; 3]) {
    let mut client = world.client();
    let session = client.create("t");
    let done = client.add("done");
    client.ok("queue_pull", json!({}));
    client.ok("plan_complete", json!({ "outcome": "o" }));
    let active = client.add("active");
    let queued = client.add("queued");
    client.ok("queue_pull", json!({}));
    assert!(client.exit().status.success());
    (session, [queued, active, done])
}

/// Every file below a folder, but for the index of a log, in which readers leave their marks.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
            found.insert(path, Vec::new());
        } else if !path.ends_with("session.db-shm") {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

fn finding(name: &str, due: &[&str], repaired: &[&str], issues: &[&str]) -> Value {
    json!({
        "name": name,
        "ok": due.is_empty() && issues.is_empty(),
        "repairs_due": due,
        "repaired": repaired,
        "issues": issues,
        "note": null,
    })
}

#[test]
fn where_all_is_well_it_says_so_and_what_the_tools_cost() {
    let world = World::new();
    let (report, code) = examined(&world, &[]);
    let server = report["server"].clone();
    let root = world.root();
    let expected = json!({
        "ok": true,
        "program": env!("CARGO_BIN_EXE_9plan"),
        "version": env!("CARGO_PKG_VERSION"),
        "sessions_root": { "path": root, "problem": null },
        "sessions": [],
        "unfinished_folders": [],
        "server": server,
    });
    assert_eq!((report, code), (expected, Some(0)));
    assert!(!root.exists(), "to look makes nothing");
    assert_eq!((&server["ok"], &server["problem"], &server["tools"]), (&json!(true), &json!(null), &json!(12)));
    // The same as a client counts them.
    let tools = world.client().request("tools/list", json!({}))["result"]["tools"].take();
    assert_eq!(server["tool_list_bytes"], tools.to_string().len());
    let shown: Vec<Value> = tools.as_array().unwrap().iter().map(|tool| {
        json!({ "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"] })
    }).collect();
    assert_eq!(server["model_bytes"], json!(shown).to_string().len());

    let (session, _) = session(&world);
    let (report, code) = examined(&world, &[]);
    assert_eq!((&report["sessions"], code), (&json!([finding(&session, &[], &[], &[])]), Some(0)));
    let text = printed(&world, &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], format!("Sessions  1 in {}", root.display()));
    assert!(lines[2].starts_with("Server    started in ") && lines[2].ends_with(" ms and answered a call"), "{text}");
    assert_eq!(
        lines[3..],
        [
            format!(
                "Tools     12 in {} bytes, of which a model is shown {}",
                server["tool_list_bytes"], server["model_bytes"]
            ),
            String::new(),
            "Everything is in order.".to_owned(),
        ]
    );
}

#[test]
fn what_opening_a_session_would_repair_is_told_and_only_then_done() {
    let world = World::new();
    let (session, [queued, active, done]) = session(&world);
    let file = |id: &str| world.plan_file(&session, id);
    // All that a crash leaves behind, and what is somebody's own.
    fs::remove_file(file(&queued)).unwrap();
    fs::write(world.plans(&session).join(format!(".{active}.x.tmp")), "half").unwrap();
    fs::write(
        file(&done),
        "# Goal\ndone\n\n# Context\nA context.\n\n# Approach\n1. A step.\n\n# Success Criteria\nIt shows.\n",
    )
    .unwrap();
    fs::write(world.plans(&session).join("mine.md"), "words").unwrap();
    let unfinished = world.root().join(".quiet-amber-river.new");
    fs::create_dir(&unfinished).unwrap();
    let before = files(&world.root());

    let due = [
        format!("remove an unfinished write of plan {active}"),
        format!("write the missing file of queued plan {queued} again"),
        format!("remove the file of completed plan {done}"),
    ];
    let due: Vec<&str> = due.iter().map(String::as_str).collect();
    let mine = "\"mine.md\" is not a plan file.";
    let (report, code) = examined(&world, &[]);
    assert_eq!((&report["sessions"], code), (&json!([finding(&session, &due, &[], &[mine])]), Some(1)));
    assert_eq!(report["unfinished_folders"], json!([unfinished]));
    assert!(files(&world.root()) == before, "to look changes nothing");
    let text = printed(&world, &[]);
    for line in [
        format!("  {session}: {mine}"),
        format!("  {session}: opening it would {}", due[1]),
        format!("  {}: a session that was never finished", unfinished.display()),
        "Something is wrong. `9plan doctor --fix` makes the repairs that are due.".to_owned(),
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
    }

    let repaired = [
        format!("removed an unfinished write of plan {active}"),
        format!("wrote the missing file of queued plan {queued} again"),
        format!("removed the file of completed plan {done}"),
    ];
    let repaired: Vec<&str> = repaired.iter().map(String::as_str).collect();
    let (report, code) = examined(&world, &["--fix"]);
    assert_eq!((&report["sessions"], code), (&json!([finding(&session, &[], &repaired, &[mine])]), Some(1)));
    assert_eq!(report["unfinished_folders"], json!([]));
    assert!(!unfinished.exists() && file(&queued).exists() && !file(&done).exists());
    assert_eq!(fs::read_to_string(world.plans(&session).join("mine.md")).unwrap(), "words");
    fs::remove_file(world.plans(&session).join("mine.md")).unwrap();
    assert_eq!(examined(&world, &[]).1, Some(0));
}

#[test]
fn a_session_that_cannot_be_read_is_named_with_what_to_do() {
    let world = World::new();
    let [(good, _), (spoiled, _)] = [(); 2].map(|()| session(&world));
    fs::write(world.database(&spoiled), "no database").unwrap();
    for arguments in [&[][..], &["--fix"]] {
        let (report, code) = examined(&world, arguments);
        let found = report["sessions"].as_array().unwrap().iter().find(|session| session["name"] == spoiled).unwrap();
        let issue = found["issues"][0].as_str().unwrap();
        assert!(issue.contains("Move session.db aside") && code == Some(1), "{issue}");
        assert!(report["sessions"].as_array().unwrap().contains(&finding(&good, &[], &[], &[])));
    }
    assert!(printed(&world, &[]).ends_with("\nSomething is wrong.\n"));
}

#[test]
fn a_missing_folder_of_plans_is_a_repair_that_is_due() {
    let world = World::new();
    let (session, [queued, active, _]) = session(&world);
    fs::remove_dir_all(world.plans(&session)).unwrap();
    let phrases = |write: &str| {
        let mut plans = [("active", &active), ("queued", &queued)];
        plans.sort_by_key(|(_, id)| *id);
        plans.map(|(status, id)| format!("{write} the missing file of {status} plan {id} again"))
    };
    let [due, repaired] = ["write", "wrote"].map(phrases);
    let [due, repaired] = [&due, &repaired].map(|phrases| phrases.each_ref().map(String::as_str));
    assert_eq!(examined(&world, &[]).0["sessions"], json!([finding(&session, &due, &[], &[])]));
    assert!(printed(&world, &[]).ends_with("`9plan doctor --fix` makes the repairs that are due.\n"));
    assert_eq!(examined(&world, &["--fix"]).0["sessions"], json!([finding(&session, &[], &repaired, &[])]));
}

#[test]
fn an_issue_beside_a_repair_is_told_with_it() {
    let world = World::new();
    let (session, [queued, ..]) = session(&world);
    fs::write(world.plan_file(&session, &queued), b"# Goal\n\xff").unwrap();
    fs::write(world.plans(&session).join(format!(".{queued}.x.tmp")), "half").unwrap();
    let due = format!("remove an unfinished write of plan {queued}");
    let issue = format!("The file of plan {queued} is not UTF-8 at byte 7.");
    assert_eq!(examined(&world, &[]).0["sessions"], json!([finding(&session, &[&due], &[], &[&issue])]));
}

#[cfg(unix)]
#[test]
fn many_sessions_are_repaired_one_after_the_other_and_what_stays_says_why() {
    let world = World::new();
    let mut client = world.client();
    for _ in 0..40 {
        client.create("t");
        client.add("goal");
    }
    assert!(client.exit().status.success());
    for session in sessions_in(&world.root()) {
        for plan in fs::read_dir(world.plans(&session)).unwrap() {
            fs::remove_file(plan.unwrap().path()).unwrap();
        }
    }
    let unfinished = world.root().join(".quiet-amber-river.new");
    fs::create_dir(&unfinished).unwrap();
    fs::write(unfinished.join("mine"), "words").unwrap();
    // Fewer files than that can be open at once.
    let mut launch = world.server();
    let program = launch.command.get_program().to_owned();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "ulimit -n 64 && exec \"$0\" doctor --fix"]).arg(program);
    shell.env_clear().env("HOME", world.home()).env("NINEPLAN_SESSIONS_PATH", world.root());
    launch.command = shell;
    let text = String::from_utf8(launch.run(&[]).stdout).unwrap();
    assert_eq!(text.matches(": wrote the missing file of queued plan ").count(), 40, "{text}");
    assert!(text.contains("Server    started in "), "{text}");
    assert!(text.contains("it stays, since something else is in it"), "{text}");
    assert!(text.ends_with("\nSomething is wrong.\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_database_that_cannot_be_written_to_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mut client = world.unprivileged().start();
    let session = client.create("t");
    assert!(client.exit().status.success());
    fs::set_permissions(world.database(&session), fs::Permissions::from_mode(0o400)).unwrap();
    let output = world.unprivileged().run(&["doctor"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("  {session}: session.db cannot be written to.")), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_session_that_is_at_work_is_in_order() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    client.add("goal");
    client.ok("queue_pull", json!({}));
    let (report, code) = examined(&world, &["--fix"]);
    assert_eq!((&report["sessions"], code), (&json!([finding(&session, &[], &[], &[])]), Some(0)));
    client.ok("plan_complete", json!({ "outcome": "o" }));
}

#[test]
fn a_root_or_a_server_that_cannot_be_used_is_told() {
    let world = World::new();
    fs::write(world.root(), "a file").unwrap();
    let (report, code) = examined(&world, &[]);
    let problem = report["sessions_root"]["problem"].as_str().unwrap();
    assert!(problem.starts_with(&format!("Cannot list {}: ", world.root().display())) && code == Some(1), "{problem}");
    assert_eq!(report["server"]["ok"], false, "it cannot look for sessions there either");

    let world = World::new();
    let output = world.server().env("NINEPLAN_LOG_LEVEL", "loud").run(&["doctor"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("9plan: NINEPLAN_LOG_LEVEL"));
    // However the server is configured, a client starts it over pipes.
    let launch = world.server().env("NINEPLAN_TRANSPORT", "http").env("NINEPLAN_TOOL_PREFIX", "nineplan_");
    assert_eq!(launch.run(&["doctor"]).status.code(), Some(0));
}

#[test]
fn commands_are_completed_in_every_shell() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = world.run(&["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        for word in ["doctor", "completions", "no-hooks"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(world.run(&["completions", "sh"]).status.code(), Some(2));
}

#[test]
fn every_command_explains_itself() {
    let world = World::new();
    let help = |arguments: &[&str]| {
        let output = world.run(arguments);
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
        let text = String::from_utf8(output.stdout).unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= 84 || line.contains("[possible values: "), "{line}");
        }
        text
    };
    let whole = help(&["--help"]);
    for (command, word) in [
        ("setup", "9plan setup claude-code"),
        ("doctor", "repairs_due"),
        ("demo", "temporary folder"),
        ("show", "9plan show --plan"),
        ("hook", "session-start, pre-compact, prompt"),
        ("completions", "9plan completions fish"),
    ] {
        assert!(whole.contains(&format!("\n  {command}")), "{command}");
        let text = help(&[command, "--help"]);
        assert!(text.contains(word), "{text}");
    }
    assert!(whole.contains("Start here: `9plan setup`"), "{whole}");
}
