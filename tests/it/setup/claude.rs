//! Claude Code, which has hooks beside its servers, and an older place for these.

use std::fs;

use serde_json::{Value, json};

use super::{PROGRAM, run, said, write};
use crate::harness::World;
#[cfg(unix)]
use crate::harness::copy_program;

/// The settings of Claude Code as somebody has them who uses hooks.
const SETTINGS: &str = r#"{
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": { "allow": ["Bash(ls:*)"] },
    "hooks": {
        "UserPromptSubmit": [
            { "hooks": [ { "type": "command", "command": "date" } ] }
        ],
        "Stop": []
    }
}
"#;

#[cfg(unix)]
#[test]
fn claude_code_gets_hooks_that_do_what_they_should() {
    let world = World::new();
    let settings = world.home().join(".claude/settings.json");
    write(&settings, SETTINGS);
    // A path that a shell would take apart.
    let tools = world.home().join("my \"tools\" $HOME `x`");
    fs::create_dir(&tools).unwrap();
    let program = tools.join("9plan");
    copy_program(&program);
    let root = world.root();
    let variable = format!("NINEPLAN_SESSIONS_PATH={}", root.display());
    let mut launch = world.server();
    launch.command = std::process::Command::new(&program);
    launch.command.env_clear().env("HOME", world.home());
    let (printed, code, fault) = said(launch.run(&["setup", "claude-code", "--env", &variable]));
    assert_eq!((code, fault.as_str()), (Some(0), ""), "{printed}");
    assert!(
        printed.contains(&format!("{} now has the hooks of 9plan. As it was before: ", settings.display())),
        "{printed}"
    );
    let text = fs::read_to_string(&settings).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    let entry: Value = serde_json::from_str(&fs::read_to_string(world.home().join(".claude.json")).unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["9plan"]["command"], program.to_str().unwrap());
    assert_eq!(entry["mcpServers"]["9plan"]["env"], json!({ "NINEPLAN_SESSIONS_PATH": root }));

    // As the client calls them.
    let home = fs::canonicalize(world.home()).unwrap();
    let session = world.server().env("CLAUDE_CODE_SESSION_ID", "c").start().create("t");
    for (event, source, expected) in [
        ("SessionStart", "startup", format!("9plan: this folder has an unfinished session, {session}: ")),
        ("SessionStart", "compact", format!("9plan: session {session} is in progress")),
        ("PreCompact", "", format!("Keep in the summary that the work goes on in the 9plan session {session}, ")),
        ("UserPromptSubmit", "", "9plan: no call has come for session ".to_owned()),
    ] {
        let groups = written["hooks"][event].as_array().unwrap();
        let command = groups.last().unwrap()["hooks"][0]["command"].as_str().unwrap();
        let mut shell = world.server();
        shell.command = std::process::Command::new("/bin/sh");
        shell.command.env_clear().env("HOME", world.home());
        let input = json!({ "session_id": "c", "cwd": home, "source": source }).to_string();
        let (shown, code, fault) = said(shell.fed(&["-c", command], &input));
        assert_eq!((code, fault.as_str()), (Some(0), ""), "{command}");
        assert!(shown.starts_with(&expected), "{command}: {shown}");
    }

    let mut launch = world.server();
    launch.command = std::process::Command::new(&program);
    launch.command.env_clear().env("HOME", world.home());
    let (printed, ..) = said(launch.run(&["setup", "claude-code"]));
    assert!(printed.contains("settings.json has the hooks of 9plan already."), "{printed}");
    assert_eq!(run(&world, &["claude-code", "--remove"]).1, Some(0));
    assert_eq!(fs::read_to_string(&settings).unwrap(), SETTINGS);
    let (printed, ..) = run(&world, &["claude-code", "--no-hooks"]);
    assert!(!printed.contains("hooks"), "{printed}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), SETTINGS);
}

#[test]
fn an_older_file_of_claude_code_is_meant_where_it_is_there() {
    let world = World::new();
    let [usual, older] = [".claude.json", ".claude/.config.json"].map(|name| world.home().join(name));
    for path in [&usual, &older] {
        write(path, "{}");
    }
    assert_eq!(run(&world, &["claude-code", "--no-hooks"]).1, Some(0));
    assert!(fs::read_to_string(&older).unwrap().contains(PROGRAM));
    assert_eq!(fs::read_to_string(&usual).unwrap(), "{}");
}

#[cfg(unix)]
#[test]
fn a_program_of_another_name_knows_its_own_hooks() {
    let world = World::new();
    let program = world.home().join("planner");
    copy_program(&program);
    let run = |arguments: &[&str]| {
        let mut launch = world.server();
        launch.command = std::process::Command::new(&program);
        launch.command.env_clear().env("HOME", world.home());
        said(launch.run(&[&["setup"], arguments].concat())).0
    };
    run(&["claude-code"]);
    assert!(run(&["claude-code"]).contains("settings.json has the hooks of 9plan already."));
    assert!(run(&[]).contains("connected, with hooks"));
    run(&["claude-code", "--remove"]);
    assert_eq!(fs::read_to_string(world.home().join(".claude/settings.json")).unwrap(), "{}\n");
}
