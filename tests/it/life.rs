//! The life of the process: its configuration, its log, and how it ends.

use std::fs;

use serde_json::{Value, json};

use crate::harness::World;

#[test]
fn an_environment_that_holds_only_home_is_enough() {
    let world = World::new();
    let mut client = world.server().without("NINEPLAN_SESSIONS_PATH").start();
    let created = client.ok("session_create", json!({}));
    let path = created.str("session_path");
    assert!(path.starts_with(world.home().to_str().unwrap()), "{path}");
    if cfg!(target_os = "linux") {
        let root = world.home().join(".local/share/9plan/sessions");
        assert_eq!(path, root.join(created.str("session_name")).to_str().unwrap());
    }
    client.add("goal");
    assert!(client.exit().status.success());
}

#[test]
fn the_sessions_root_is_made_on_first_use_and_not_before() {
    let world = World::new();
    let mut client = world.client();
    client.ok("admin_sessions", json!({}));
    assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0);
    client.create("t");
    assert!(world.root().is_dir());
}

/// All that configures the server, without the prefix that they share.
const VARIABLES: [&str; 8] =
    ["SESSIONS_PATH", "LOG_LEVEL", "TRANSPORT", "HTTP_HOST", "HTTP_PORT", "HTTP_TOKEN", "TOOL_PREFIX", "TOOLSETS"];

#[test]
fn empty_values_and_placeholders_count_as_unset() {
    for value in ["", "${WHAT}", "a${b"] {
        let world = World::new();
        let mut server = world.server();
        for variable in VARIABLES {
            server = server.env(&format!("NINEPLAN_{variable}"), value);
        }
        let created = server.start().ok("session_create", json!({}));
        let path = created.str("session_path").to_owned();
        assert!(path.contains("9plan") && path.starts_with(world.home().to_str().unwrap()), "{path}");
        assert!(!path.contains('$'), "{path}");
    }
}

#[test]
fn a_bad_value_ends_the_start_with_one_line() {
    let world = World::new();
    for (variable, value, allowed) in [
        ("NINEPLAN_LOG_LEVEL", "loud", "use debug, info, warn or error"),
        ("NINEPLAN_LOG_LEVEL", "two\nlines", "use debug, info, warn or error"),
        ("NINEPLAN_TOOL_PREFIX", "9 plan", "use up to 20 letters A-Z and a-z, digits, _ and -"),
        ("NINEPLAN_TOOL_PREFIX", "a-prefix-that-is-too-long", "use up to 20 letters A-Z and a-z, digits, _ and -"),
        ("NINEPLAN_TOOLSETS", "core,nonsense", "use a comma-separated list of: core"),
        ("NINEPLAN_TRANSPORT", "pigeon", "use stdio or http"),
        ("NINEPLAN_HTTP_HOST", "a host", "use the name or the address of a host, such as 127.0.0.1"),
        ("NINEPLAN_HTTP_PORT", "http", "use a number from 0 to 65535"),
    ] {
        let output = world.server().env(variable, value).run(&[]);
        assert_eq!(output.status.code(), Some(2), "{variable}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(line, format!("9plan: {variable}={value:?} is not allowed: {allowed}\n"));
    }
    let output = world.server().env("NINEPLAN_HTTP_TOKEN", "my secret").run(&[]);
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1));
    assert!(line.starts_with("9plan: NINEPLAN_HTTP_TOKEN=") && !line.contains("secret"), "{line}");
}

#[test]
fn help_and_version_answer_on_standard_output() {
    let world = World::new();
    let version = world.run(&["--version"]);
    let line = String::from_utf8(version.stdout).unwrap();
    assert_eq!((version.status.code(), line), (Some(0), format!("9plan {}\n", env!("CARGO_PKG_VERSION"))));
    let help = world.run(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    assert_eq!((help.status.code(), help.stderr), (Some(0), Vec::new()));
    for part in ["demo", "show", "NINEPLAN_SESSIONS_PATH", "NINEPLAN_LOG_LEVEL", "NINEPLAN_TOOL_PREFIX"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn an_acknowledged_change_survives_a_kill() {
    let world = World::new();
    let mut client = world.client();
    let session = client.create("t");
    let (first, second) = (client.add("first"), client.add("second"));
    client.ok("queue_pull", json!({}));
    drop(client);
    let mut client = world.client();
    let resumed = client.ok("session_resume", json!({ "session_name": session })).fields;
    assert_eq!(resumed["active_plan"]["id"], json!(first));
    assert_eq!(resumed["queue"], json!([{ "id": second, "goal": "second", "position": 1 }]));
    assert_eq!(resumed.get("repaired"), None);
}

/// The lines of a log, which all must be JSON objects.
#[track_caller]
fn lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// A session from its start to its end under a server that logs at `level`: the log, and the session's name.
fn logged(level: &str) -> (String, String) {
    let world = World::new();
    let mut client = world.server().logging(level).start();
    let session = client.create("a plugh task");
    client.add("a plugh goal");
    client.ok("queue_pull", json!({}));
    client.ok("plan_defer", json!({ "reason": "plugh" }));
    client.ok("queue_pull", json!({}));
    client.ok("plan_complete", json!({ "outcome": "plugh" }));
    client.ok("history_search", json!({ "query": "plugh" }));
    client.fails("queue_pull", json!({}));
    client.fails("plan_complete", json!({ "outcome": "plugh" }));
    let ended = client.exit();
    assert_eq!(ended.status.code(), Some(0));
    (ended.log, session)
}

#[test]
fn at_info_the_log_tells_what_happened_and_no_text() {
    let (log, session) = logged("info");
    let told: Vec<Value> = lines(&log)
        .iter()
        .map(|line| json!([line["level"], line["fields"]["message"], line["fields"]["session"]]))
        .collect();
    let expected: Vec<Value> = ["session created", "plan pulled", "plan pulled", "plan completed"]
        .iter()
        .map(|event| json!(["INFO", event, session]))
        .collect();
    assert_eq!(told, expected);
    assert!(!log.contains("plugh"), "{log}");
}

#[test]
fn a_failure_in_the_log_names_its_session() {
    let world = World::new();
    let mut client = world.server().logging("error").start();
    let session = client.create("t");
    let id = client.add("A");
    std::fs::write(world.plan_file(&session, &id), b"\xff").unwrap();
    client.fails("queue_pull", json!({}));
    let log = lines(&client.exit().log);
    let told: Vec<Value> = log.iter().map(|line| json!([line["level"], line["span"]["session"]])).collect();
    assert_eq!(told, [json!(["ERROR", session])], "{log:?}");
}

#[test]
fn a_long_name_of_a_client_is_cut_in_the_events() {
    let world = World::new();
    let mut client = world.server().connect();
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "it ".repeat(10_000), "version": "1" },
    });
    client.request("initialize", hello);
    let session = client.create("t");
    client.add("A");
    client.exit();
    let database = rusqlite::Connection::open(world.database(&session)).unwrap();
    let name: String = database.query_row("SELECT client FROM events", (), |row| row.get(0)).unwrap();
    assert!(name.starts_with("it it ") && name.ends_with('…') && name.len() <= 100, "{name}");
}

#[test]
fn at_debug_the_log_shows_sql_and_the_queue() {
    let (log, session) = logged("debug");
    let lines = lines(&log);
    let of_session = |wanted: &dyn Fn(&Value) -> bool| {
        lines.iter().any(|line| line["fields"]["session"] == json!(session) && wanted(&line["fields"]))
    };
    assert!(of_session(&|fields| fields["sql"].as_str().is_some_and(|sql| sql.contains("INSERT INTO plans"))));
    assert!(of_session(&|fields| fields["queued"] == 1 && fields["completed"] == 0));
    assert!(of_session(&|fields| fields["queued"] == 0 && fields["completed"] == 1));
}

#[test]
fn at_warn_a_quiet_session_logs_nothing() {
    assert_eq!(logged("warn").0, "");
}

#[test]
fn a_client_that_never_reads_standard_error_gets_every_answer() {
    let world = World::new();
    let mut client = world.server().logging("debug").start();
    client.create("t");
    for _ in 0..20 {
        let sent: Vec<u64> = (0..500).map(|_| client.send_call("admin_state", json!({}))).collect();
        for id in sent {
            assert_eq!(client.reply(id).fields["queue_length"], 0);
        }
    }
}
