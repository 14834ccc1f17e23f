//! `9plan setup`: what it writes into the configuration of each client, and that it touches nothing else.

mod claude;
mod configurations;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::harness::World;

use configurations::CONFIGURATIONS;

/// The program, as it is written.
const PROGRAM: &str = env!("CARGO_BIN_EXE_9plan");

/// What a run printed, its exit code, and what it said on standard error.
#[track_caller]
fn run(world: &World, arguments: &[&str]) -> (String, Option<i32>, String) {
    said(world.server().run(&[&["setup"], arguments].concat()))
}

#[track_caller]
fn said(output: Output) -> (String, Option<i32>, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), output.status.code(), text(output.stderr))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn copy_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.9plan.bak", path.display()))
}

#[cfg(target_os = "linux")]
#[test]
fn every_client_gets_its_entry_and_loses_it_again_and_all_else_keeps_its_bytes() {
    for [client, file, before, after] in CONFIGURATIONS {
        let after = after.replace("PROGRAM", PROGRAM);
        let world = World::new();
        let path = world.home().join(file);
        let shown = path.display();
        write(&path, before);
        let (printed, code, fault) = run(&world, &[client, "--no-hooks"]);
        assert_eq!((code, fault.as_str()), (Some(0), ""), "{client}");
        let first = format!("{shown} now has 9plan. As it was before: {}\nRestart ", copy_of(&path).display());
        assert!(printed.starts_with(&first), "{printed}");
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{client}");
        assert_eq!(fs::read_to_string(copy_of(&path)).unwrap(), before);

        // A second time there is nothing to do.
        fs::remove_file(copy_of(&path)).unwrap();
        let (printed, code, _) = run(&world, &[client, "--no-hooks"]);
        assert!(code == Some(0) && printed.starts_with(&format!("{shown} has 9plan already.\n")), "{printed}");
        assert_eq!((fs::read_to_string(&path).unwrap(), copy_of(&path).exists()), (after, false), "{client}");

        let (printed, code, _) = run(&world, &[client, "--remove", "--print"]);
        assert!(code == Some(0) && printed.starts_with(&format!("{shown} would lose 9plan.\n")), "{printed}");
        let (printed, code, _) = run(&world, &[client, "--remove"]);
        assert!(code == Some(0) && printed.starts_with(&format!("{shown} no longer has 9plan. ")), "{printed}");
        // Where there was no object of servers, an empty one stays.
        let left = fs::read_to_string(&path).unwrap().replace(",\n  \"mcp\": {}", "");
        assert_eq!(left, before, "{client}");
        let (printed, code, _) = run(&world, &[client, "--remove"]);
        assert!(code == Some(0) && printed.starts_with(&format!("{shown} does not have 9plan.\n")), "{printed}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_without_a_file_gets_one() {
    for [client, file, ..] in CONFIGURATIONS {
        let world = World::new();
        // A fresh opencode has no file either.
        let path = world.home().join(file.replace(".jsonc", ".json"));
        let (printed, code, _) = run(&world, &[client, "--print"]);
        assert_eq!(code, Some(0));
        assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0, "{client}: to print writes nothing");
        let (wrote, code, _) = run(&world, &[client]);
        let shown = path.display();
        assert!(code == Some(0) && wrote.starts_with(&format!("{shown} now has 9plan.\n")), "{wrote}");
        let text = fs::read_to_string(&path).unwrap();
        assert!(printed.starts_with(&format!("{shown} would get:\n{text}")), "{printed}\n{text}");
        assert!(text.contains(PROGRAM), "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_is_left_alone_and_what_to_put_into_it_is_printed() {
    for [client, file, before, after] in CONFIGURATIONS {
        let after = after.replace("PROGRAM", PROGRAM);
        let world = World::new();
        let path = world.home().join(file);
        let opening = if client == "codex" { "model = " } else { "{" };
        let comment = if client == "codex" { "= what 9plan\n" } else { "{ // what 9plan is told\n" };
        let spoiled = before.replacen(opening, &format!("{comment}  "), 1);
        write(&path, &spoiled);
        for arguments in [&[client, "--no-hooks"][..], &[client, "--no-hooks", "--remove"]] {
            let (printed, code, fault) = run(&world, arguments);
            assert_eq!(code, Some(1));
            let kind = if client == "codex" { "it is not TOML: " } else { "it is not plain JSON: " };
            assert!(fault.starts_with(&format!("9plan: {} is left as it is: {kind}", path.display())), "{fault}");
            if arguments.contains(&"--remove") {
                assert!(printed.starts_with("Take \"9plan\" under \""), "{printed}");
            } else {
                let by_hand = printed.strip_prefix("Put this into it by hand, beside what is there:\n").unwrap();
                assert!(by_hand.contains(PROGRAM) && after.contains(PROGRAM), "{by_hand}");
                if client != "codex" {
                    serde_json::from_str::<Value>(by_hand).unwrap();
                }
            }
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), spoiled);
        assert!(!copy_of(&path).exists());
    }
}

#[test]
fn what_stands_in_the_place_of_an_object_or_is_no_text_is_left_alone() {
    let world = World::new();
    let path = world.home().join(".cursor/mcp.json");
    let cases: [(&[u8], &str); 4] = [
        (b"[]", "it is no object"),
        (b"{\"mcpServers\": []}", "\"mcpServers\" in it is not what it should be"),
        (b"{\"mcpServers\": null}", "\"mcpServers\" in it is not what it should be"),
        (b"{\"a\": \"\xff\"}", "stream did not contain valid UTF-8"),
    ];
    for (before, why) in cases {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, before).unwrap();
        let (_, code, fault) = run(&world, &["cursor"]);
        assert_eq!((code, fault), (Some(1), format!("9plan: {} is left as it is: {why}\n", path.display())));
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(run(&world, &["cursor"]).1, Some(1));
}

#[test]
fn an_entry_that_is_there_keeps_what_it_says_of_other_things() {
    let world = World::new();
    let path = world.home().join(".cursor/mcp.json");
    let old = json!({ "mcpServers": {
        "9plan": { "command": "/old", "args": ["x"], "env": { "A": "1", "B": "2" }, "timeout": 5 },
        "z": {},
    } });
    write(&path, &old.to_string());
    assert_eq!(run(&world, &["cursor", "--env", "B=3", "--env", "NINEPLAN_LOG_LEVEL=a=b c"]).1, Some(0));
    let expected = json!({ "mcpServers": {
        "9plan": {
            "command": PROGRAM,
            "args": [],
            "env": { "A": "1", "B": "3", "NINEPLAN_LOG_LEVEL": "a=b c" },
            "timeout": 5,
        },
        "z": {},
    } });
    let found = fs::read_to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&found).unwrap().to_string(), expected.to_string());
    assert!(run(&world, &["cursor"]).0.contains("has 9plan already"), "variables stay unless they are given anew");

    let path = world.home().join(".codex/config.toml");
    let old =
        "[mcp_servers]\n9plan = { url = \"http://x\", enabled = true } # mine\n[mcp_servers.a]\ncommand = \"a\"\n";
    write(&path, old);
    assert_eq!(run(&world, &["codex", "--env", "A=1"]).1, Some(0));
    let found = fs::read_to_string(&path).unwrap();
    let entry = format!("9plan = {{ enabled = true , command = \"{PROGRAM}\", env.A = \"1\" }} # mine\n");
    assert_eq!(found, old.replace("9plan = { url = \"http://x\", enabled = true } # mine\n", &entry));
    assert!(run(&world, &["codex", "--env", "A=1"]).0.contains("has 9plan already"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_entry_of_a_server_that_is_reached_in_another_way_keeps_what_holds_for_any() {
    for [client, file, ..] in CONFIGURATIONS {
        let world = World::new();
        let path = world.home().join(file);
        let (before, expected) = if client == "codex" {
            let old = "[mcp_servers.9plan]\nurl = \"http://x\"\nbearer_token_env_var = \"T\"\nenabled = false\n";
            (old.to_owned(), format!("[mcp_servers.9plan]\nenabled = false\ncommand = \"{PROGRAM}\"\n"))
        } else {
            let servers = match client {
                "vscode" => "servers",
                "opencode" => "mcp",
                _ => "mcpServers",
            };
            let old = json!({ "type": "http", "url": "http://x", "headers": {}, "oauth": {}, "enabled": false });
            let mut new = json!({ "enabled": false });
            match client {
                "claude-code" | "vscode" => new["type"] = json!("stdio"),
                "opencode" | "copilot" => new["type"] = json!("local"),
                _ => {}
            }
            if client == "opencode" {
                new["command"] = json!([PROGRAM]);
            } else {
                new["command"] = json!(PROGRAM);
                new["args"] = json!([]);
            }
            if client == "copilot" {
                new["tools"] = json!(["*"]);
            }
            let whole = |entry: Value| json!({ servers: { "9plan": entry } });
            (whole(old).to_string(), serde_json::to_string_pretty(&whole(new)).unwrap())
        };
        write(&path, &before);
        // What is printed is what is written.
        let (printed, ..) = run(&world, &[client, "--no-hooks", "--print"]);
        assert_eq!(printed, format!("{} would get:\n{}\n", path.display(), expected.trim_end()));
        let (printed, code, _) = run(&world, &[client, "--no-hooks"]);
        assert!(code == Some(0) && printed.contains(" now has 9plan. It is switched off there. "), "{printed}");
        let after = fs::read_to_string(&path).unwrap();
        if client == "codex" {
            assert_eq!(after, expected);
        } else {
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(read(&after), read(&expected), "{client}");
        }
        assert!(run(&world, &[]).0.contains("switched off"));
    }
}

#[test]
fn the_copy_is_of_the_file_as_it_was_before_9plan_was_in_it() {
    let world = World::new();
    let path = world.home().join(".cursor/mcp.json");
    write(&path, "{\"mcpServers\": {}}");
    run(&world, &["cursor"]);
    run(&world, &["cursor", "--env", "A=1"]);
    assert_eq!(run(&world, &["cursor", "--remove"]).1, Some(0));
    assert_eq!(fs::read_to_string(copy_of(&path)).unwrap(), "{\"mcpServers\": {}}");
    assert_eq!(json_of(&path), json!({ "mcpServers": {} }), "some clients want the object, even with nothing in it");
    // One without 9plan is a new beginning.
    write(&path, "{\"mcpServers\": {\"a\": {}}}");
    run(&world, &["cursor"]);
    assert_eq!(json_of(&copy_of(&path)), json!({ "mcpServers": { "a": {} } }));
}

#[track_caller]
fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn what_is_there_twice_goes_twice_and_what_was_never_there_needs_no_reading() {
    let world = World::new();
    let path = world.home().join(".cursor/mcp.json");
    write(&path, "{\"mcpServers\": {\"9plan\": {}, \"x\": 1, \"9plan\": {\"a\": 2}}}");
    assert_eq!(run(&world, &["cursor", "--remove"]).1, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"mcpServers\": {\"x\": 1}}");
    write(&path, "{ // nothing of it\n}");
    let (printed, code, _) = run(&world, &["cursor", "--remove"]);
    assert_eq!((printed, code), (format!("{} does not have 9plan.\n", path.display()), Some(0)));
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_yet_is_followed_too() {
    let world = World::new();
    let link = world.home().join(".cursor/mcp.json");
    fs::create_dir(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../dotfiles/mcp.json", &link).unwrap();
    assert_eq!(run(&world, &["cursor"]).1, Some(0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(world.home().join("dotfiles/mcp.json")).unwrap().contains(PROGRAM));
}

#[cfg(unix)]
#[test]
fn a_link_leads_where_it_led_and_rights_stay() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let kept = world.home().join("dotfiles/settings.json");
    write(&kept, "{}");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).unwrap();
    let link = world.home().join(".gemini/settings.json");
    fs::create_dir(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../dotfiles/settings.json", &link).unwrap();
    assert_eq!(run(&world, &["gemini"]).1, Some(0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&kept).unwrap().contains(PROGRAM));
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o640);
    let names = crate::harness::names_in(link.parent().unwrap());
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["settings.json", "settings.json.9plan.bak"]);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_client_those_that_are_there_are_listed() {
    let world = World::new();
    let (printed, code, _) = run(&world, &[]);
    let none = "Not found: claude-code, claude-desktop, cursor, vscode, codex, gemini, opencode, copilot.\n";
    assert_eq!((printed, code), (format!("{none}Connect one with: 9plan setup CLIENT\n"), Some(0)));

    let home = world.home();
    run(&world, &["claude-code"]);
    run(&world, &["opencode"]);
    write(&home.join(".cursor/mcp.json"), "{\"mcpServers\": {\"9plan\": {\"command\": \"/old/9plan\"}}}");
    write(&home.join(".codex/config.toml"), "[mcp_servers.9plan]\nurl = \"http://x\"\n");
    write(&home.join(".gemini/settings.json"), "{ /* \"9plan\" */ }");
    let programs = home.join("bin");
    write(&programs.join("copilot"), "");
    let (printed, ..) = said(world.server().env("PATH", programs.to_str().unwrap()).run(&["setup"]));
    let expected = [
        format!("claude-code  connected, with hooks               {}/.claude.json", home.display()),
        format!("cursor       connected to /old/9plan             {}/.cursor/mcp.json", home.display()),
        format!("codex        connected in another way            {}/.codex/config.toml", home.display()),
        format!("gemini       names 9plan, but cannot be checked  {}/.gemini/settings.json", home.display()),
        format!("opencode     connected                           {}/.config/opencode/opencode.json", home.display()),
        format!("copilot      not connected                       {}/.copilot/mcp-config.json", home.display()),
        "Not found: claude-desktop, vscode.".to_owned(),
        "Connect one with: 9plan setup CLIENT".to_owned(),
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn wrong_usage_says_what_is_right() {
    let world = World::new();
    for (arguments, why) in [
        (
            &["nobody"][..],
            "possible values: claude-code, claude-desktop, cursor, vscode, codex, gemini, opencode, copilot",
        ),
        (&["cursor", "--env", "A"], "write it as KEY=VALUE"),
        (&["cursor", "--env", "A B=1"], "write it as KEY=VALUE"),
        (&["cursor", "--env", "A=1", "--remove"], "cannot be used with"),
        (&["--remove"], "<CLIENT>"),
    ] {
        let (printed, code, fault) = run(&world, arguments);
        assert_eq!((printed.as_str(), code), ("", Some(2)), "{fault}");
        assert!(fault.contains(why), "{fault}");
    }
    assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0);
}
