//! What the README promises, beside the table of tools, which `contract` holds.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::harness::World;

const README: &str = include_str!("../../README.md");

/// The variables that a text names.
fn variables(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_uppercase() && c != '_').filter(|word| word.starts_with("NINEPLAN_")).collect()
}

/// The blocks of code in one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_readme_and_the_help_name_every_variable() {
    let expected: BTreeSet<&str> = [
        "NINEPLAN_SESSIONS_PATH",
        "NINEPLAN_LOG_LEVEL",
        "NINEPLAN_TRANSPORT",
        "NINEPLAN_HTTP_HOST",
        "NINEPLAN_HTTP_PORT",
        "NINEPLAN_HTTP_TOKEN",
        "NINEPLAN_TOOL_PREFIX",
        "NINEPLAN_TOOLSETS",
    ]
    .into();
    let config = include_str!("../../src/config.rs");
    assert_eq!(variables(&config.replace("`NINEPLAN_*`", "")), expected);
    let table: String = README.lines().filter(|line| line.starts_with("| `NINEPLAN_")).collect();
    assert_eq!(variables(&table), expected);
    let help = String::from_utf8(World::new().run(&["--help"]).stdout).unwrap();
    assert_eq!(variables(&help), expected);
}

#[test]
fn the_configuration_of_every_client_is_there_and_reads() {
    for client in
        ["Claude Desktop", "Claude Code", "Cursor", "VS Code", "Codex", "Gemini CLI", "opencode", "Copilot CLI"]
    {
        assert!(README.contains(&format!("**{client}**")), "{client}");
    }
    let json = blocks("json");
    assert_eq!(json.len(), 3);
    for block in json {
        let parsed: Value = serde_json::from_str(block).unwrap();
        assert!(
            parsed
                .pointer("/mcpServers/9plan")
                .or(parsed.pointer("/servers/9plan"))
                .or(parsed.pointer("/mcp/9plan"))
                .is_some()
        );
    }
}

#[test]
fn the_readme_leads_with_three_commands_and_the_clients_that_can_be_named_in_them() {
    assert_eq!(blocks("sh")[0], "cargo install --path .\n9plan setup claude-code\n9plan doctor\n");
    let world = World::new();
    for command in [&["setup", "claude-code"][..], &["doctor"]] {
        assert!(world.run(command).status.success());
    }
    let help = String::from_utf8(world.run(&["setup", "--help"]).stdout).unwrap();
    let clients = help.split("[possible values: ").nth(1).unwrap().split(']').next().unwrap();
    for client in clients.split(", ") {
        assert!(README.contains(&format!("| `{client}` | ")), "{client}");
    }
}

#[test]
fn the_gate_runs_the_test_command_of_the_readme() {
    assert!(blocks("sh").iter().any(|block| block.lines().any(|line| line == "cargo test")));
    assert!(include_str!("../../.ci/run").lines().any(|line| line.starts_with("cargo test")));
}

#[test]
fn the_readme_names_every_fuzz_target_and_each_is_made_of_sources_that_are_there() {
    let manifest = include_str!("../fuzz/Cargo.toml");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    for target in ["line", "message", "plan", "query"] {
        assert!(README.contains(&format!("`{target}`")), "{target}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")), "{target}");
        assert!(folder.join(format!("fuzz_targets/{target}.rs")).is_file(), "{target}");
    }
    let paths = include_str!("../fuzz/src/lib.rs").lines().filter_map(|line| line.strip_prefix("#[path = \"../"));
    for path in paths {
        let path = path.trim_end_matches("\"]");
        assert!(folder.join(path).is_file(), "{path}");
    }
}
