//! The hooks of a client, played as Claude Code 2.1 plays them: its input byte for byte, and what its model is shown whole.

mod conversations;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Client, Launch, World, plan};

/// The most characters that a hook prints.
const MOST: usize = 6_000;

/// A client at work in a folder.
struct Desk {
    world: World,
    folder: PathBuf,
}

impl Desk {
    fn new(world: &World, folder: &str) -> Self {
        let folder = world.home().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Self { world: world.clone(), folder }
    }

    fn launch(&self, id: &str) -> Launch {
        let launch = self.world.server().at(&self.folder);
        launch.env("CLAUDE_PROJECT_DIR", self.folder.to_str().unwrap()).env("CLAUDE_CODE_SESSION_ID", id)
    }

    fn server(&self, id: &str) -> Client {
        self.launch(id).start()
    }

    /// The fields that every hook of a conversation begins with.
    fn opening(&self, id: &str) -> String {
        let folder = self.folder.display();
        format!(
            r#"{{"session_id":"{id}","transcript_path":"/home/ada/.claude/projects/-app/{id}.jsonl","cwd":"{folder}","#
        )
    }

    #[track_caller]
    fn start(&self, id: &str, source: &str) -> String {
        let further = match source {
            "startup" => r#""hook_event_name":"SessionStart","source":"startup","model":"claude-opus-5-5"}"#.to_owned(),
            "clear" => r#""hook_event_name":"SessionStart","source":"clear"}"#.to_owned(),
            "resume" => r#""prompt_id":"0de6b9e7-2376-4747-b918-6a1842118621","hook_event_name":"SessionStart","source":"resume","model":"claude-opus-5-5","seconds_since_last_response":15,"context_tokens":55,"prompt_cache_likely_expired":false,"estimated_cache_write_usd":0.0003}"#.to_owned(),
            source => format!(
                r#""prompt_id":"9f35cf1b-19b1-4a03-adfe-b135a8df6f3c","hook_event_name":"SessionStart","source":"{source}","model":"claude-opus-5-5"}}"#
            ),
        };
        self.shown(id, "session-start", &(self.opening(id) + &further))
    }

    #[track_caller]
    fn compacting(&self, id: &str) -> String {
        let further = r#""prompt_id":"9f35cf1b-19b1-4a03-adfe-b135a8df6f3c","hook_event_name":"PreCompact","trigger":"auto","custom_instructions":null}"#;
        self.shown(id, "pre-compact", &(self.opening(id) + further))
    }

    #[track_caller]
    fn prompted(&self, id: &str) -> String {
        let further = r#""prompt_id":"63ca5d54-090f-4a2c-b998-fcdd0ad3f5ee","permission_mode":"auto","hook_event_name":"UserPromptSubmit","prompt":"go on\n{\"[\u00e9"}"#;
        self.shown(id, "prompt", &(self.opening(id) + further))
    }

    /// What a hook prints, which must succeed and may not say anything else.
    #[track_caller]
    fn shown(&self, id: &str, moment: &str, input: &str) -> String {
        shown(self.launch(id), moment, input)
    }
}

#[track_caller]
fn shown(launch: Launch, moment: &str, input: &str) -> String {
    let output = launch.fed(&["hook", moment], input);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.chars().count() <= MOST, "{} characters", text.chars().count());
    assert!(!text.starts_with(['[', '{']), "{text}");
    text
}

#[test]
fn a_conversation_is_brought_back_after_a_compaction_and_no_other_is_disturbed() {
    let world = World::new();
    let [app, other] = ["app", "other"].map(|name| Desk::new(&world, name));
    let (one, two, third) = (
        "4853efde-c3fa-4658-b455-9e86922dda67",
        "38bfc524-794c-42db-bf43-1906c4374a54",
        "26c0d016-9efb-487f-90bb-21fc1ec97e10",
    );
    assert_eq!(app.start(one, "startup"), "");

    let mut server = app.server(one);
    let session = server.create("Show the posts of the blog,\nfive a page");
    let goals: Vec<String> = (1..=6).map(|number| format!("Step {number} of the blog")).collect();
    let ids: Vec<String> = goals.iter().map(|goal| server.add(goal)).collect();
    for (outcome, more) in [("Wrote src/client.rs", ""), ("Wrote src/cache.rs:\n- five minutes", " and more")] {
        server.ok("queue_pull", json!({}));
        server.ok("plan_complete", json!({ "outcome": format!("{outcome}{more}") }));
    }
    server.ok("queue_pull", json!({}));
    let mut elsewhere = other.server(two);
    let others = elsewhere.create("Another task");
    elsewhere.add("Another goal");

    // Who works elsewhere, and who has just come, is told so much and no more.
    let offer = |session: &str, counts: &str, task: &str| {
        format!(
            "9plan: this folder has an unfinished session, {session}: {counts}. Task: {task}\n\
             Where the user wants it to go on, call 9plan_session_resume with session_name {session}; otherwise leave it \
             as it is.\n"
        )
    };
    let here = offer(&session, "3 queued, 1 active, 2 completed", "Show the posts of the blog, five a page");
    let there = offer(&others, "1 queued, 0 active, 0 completed", "Another task");
    for source in ["startup", "resume", "clear", "compact"] {
        assert_eq!(app.start(two, source), here, "{source}: the session of another conversation");
        assert_eq!(other.start(one, source), there, "{source}: the session of another folder");
    }
    assert_eq!(app.start(one, "startup"), here);
    for (desk, id) in [(&app, two), (&other, one), (&app, third)] {
        assert_eq!((desk.compacting(id), desk.prompted(id)), (String::new(), String::new()));
    }
    assert_eq!(app.prompted(one), "");

    // The compaction.
    assert_eq!(
        app.compacting(one),
        format!(
            "Keep in the summary that the work goes on in the 9plan session {session}, that plan {} is active (Step 3 of \
             the blog), and of that plan what is done, what is in progress and what is left. 9plan_session_resume with \
             session_name {session} brings all of it back.\n",
            ids[2]
        )
    );
    let file = world.plan_file(&session, &ids[2]);
    let whole = format!(
        "9plan: session {session} is in progress; this is where it stands.

Task: Show the posts of the blog,
five a page

Active plan {active}, in {file}:
{text}
Next in the queue (showing 3 of 3):
1. {}: Step 4 of the blog
2. {}: Step 5 of the blog
3. {}: Step 6 of the blog

Last outcomes (showing 2 of 2, newest first; 9plan_history_get gives one whole):
- {}: Step 2 of the blog: Wrote src/cache.rs: - five minutes and more
- {}: Step 1 of the blog: Wrote src/client.rs

Now: go on with plan {active}; what was done so far stands under Notes. End it with 9plan_plan_complete, or put it back with 9plan_plan_defer. Give session_name {session} in the first call.
",
        ids[3], ids[4], ids[5], ids[1], ids[0],
        active = ids[2],
        file = file.display(),
        text = fs::read_to_string(&file).unwrap(),
    );
    assert_eq!(app.start(one, "compact"), whole);
    let reminder = format!(
        "9plan: no call has come for session {session} since the context was compacted. Before going on with its work, \
         call 9plan_session_resume with session_name {session}.\n"
    );
    assert_eq!(app.prompted(one), reminder);
    assert_eq!(app.prompted(one), reminder, "until a call comes");
    assert_eq!((app.prompted(two), other.prompted(one)), (String::new(), String::new()));
    server.ok("admin_state", json!({}));
    assert_eq!(app.prompted(one), "");

    // The client is ended and started again, and the conversation resumed.
    assert!(server.exit().status.success());
    assert_eq!(app.start(one, "resume"), whole);
    let mut server = app.server(one);
    assert_eq!(server.ok("admin_state", json!({})).str("session_name"), session);
    // Cleared, the conversation has another id, which is bound to nothing yet.
    assert_eq!(app.start(third, "clear"), here);
    let mut cleared = app.server(third);
    cleared.ok("session_resume", json!({ "session_name": session }));
    assert_eq!(app.start(third, "clear"), whole);

    // Done, it is not mentioned any more.
    server.ok("plan_complete", json!({ "outcome": "done" }));
    for _ in 0..3 {
        server.ok("queue_pull", json!({}));
        server.ok("plan_complete", json!({ "outcome": "done" }));
    }
    for id in [one, two, third] {
        assert_eq!((app.start(id, "compact"), app.compacting(id), app.prompted(id)), Default::default());
    }
    assert_eq!(
        other.start(two, "compact"),
        whole_of_queue(&others, "Another task", &elsewhere.ok("admin_state", json!({})).fields)
    );
}

/// What is shown of a session of which nothing is active or done.
fn whole_of_queue(session: &str, task: &str, state: &Value) -> String {
    let first = &state["queue"][0];
    format!(
        "9plan: session {session} is in progress; this is where it stands.\n\nTask: {task}\n\nNext in the queue (showing 1 of 1):\n\
         1. {}: {}\n\nNow: take the next plan with 9plan_queue_pull. Give session_name {session} in the first call.\n",
        first["id"].as_str().unwrap(),
        first["goal"].as_str().unwrap(),
    )
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    let world = World::new();
    let desk = Desk::new(&world, "app");
    let mut server = desk.server("c");
    let session = server.create(&"名前 task ".repeat(2_000));
    let mut long = plan(&"名 goal ".repeat(1_000));
    long["approach"] = json!("é step\n".repeat(8_000));
    let id = server.ok("queue_add", long.clone()).str("plan_id").to_owned();
    for _ in 0..3 {
        server.ok("queue_pull", json!({}));
        server.ok("plan_complete", json!({ "outcome": "wrote it ".repeat(1_000) }));
        server.ok("queue_add", long.clone());
    }
    for _ in 0..9 {
        server.ok("queue_add", long.clone());
    }
    let active = server.ok("queue_pull", json!({})).str("plan_id").to_owned();
    assert_ne!(active, id);
    let text = desk.start("c", "compact");
    let count = text.chars().count();
    assert!((MOST - 10..=MOST).contains(&count), "{count} characters");
    assert!(text.contains(&format!("more characters. The whole text: 9plan show {session}]")), "{text}");
    let file = world.plan_file(&session, &active);
    let whole = format!("The whole text: {} or 9plan show --plan {active} {session}]", file.display());
    assert!(text.contains(&whole), "{text}");
    assert!(text.contains("(showing 5 of 9)") && text.contains("(showing 3 of 3, newest first"), "{text}");
    assert!(text.contains("\nNow: go on with plan "), "{text}");
    // What was done so far stands at the end of the plan.
    let mut notes = fs::read_to_string(&file).unwrap();
    notes.push_str("step 3 is done 🎉\n");
    fs::write(&file, notes).unwrap();
    let text = desk.start("c", "compact");
    assert!(text.contains("\n…") && text.contains("step 3 is done 🎉\n\nNext in the queue"), "{text}");
    fs::write(&file, b"# Goal\n\xff").unwrap();
    let text = desk.start("c", "compact");
    let fault = format!(
        "is as it was stored before: Cannot read {}: it is not UTF-8 at byte 7. Put the file right",
        file.display()
    );
    assert!(text.contains(&fault), "{text}");
    assert!(desk.start("c", "startup").lines().count() == 2);
}

#[test]
fn the_agent_may_have_gone_deeper_into_its_folder() {
    let world = World::new();
    let desk = Desk::new(&world, "app");
    let deep = desk.folder.join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let session = desk.server("c").create("t");
    let input = |cwd: &Path| json!({ "session_id": "c", "cwd": cwd, "source": "compact" }).to_string();
    let expected = format!("9plan: session {session} is in progress");
    assert!(shown(world.server(), "session-start", &input(&deep)).starts_with(&expected));
    assert!(desk.shown("c", "session-start", &input(&deep)).starts_with(&expected));
    // Above it is another folder, and so is one beside it whose name begins alike; but wherever the agent goes, its client
    // says what the project is.
    for elsewhere in [world.home(), &world.home().join("app2")] {
        assert_eq!(shown(world.server(), "session-start", &input(elsewhere)), "");
        assert!(desk.shown("c", "session-start", &input(elsewhere)).starts_with(&expected));
        let other = Desk::new(&world, "other");
        assert_eq!(other.shown("c", "session-start", &input(elsewhere)), "");
    }
    #[cfg(unix)]
    {
        // However the project is spelt.
        let link = world.home().join("link");
        std::os::unix::fs::symlink(&desk.folder, &link).unwrap();
        let launch = world.server().env("CLAUDE_PROJECT_DIR", link.to_str().unwrap());
        let startup = json!({ "session_id": "d", "cwd": deep, "source": "startup" }).to_string();
        assert!(shown(launch, "session-start", &startup).contains(&session));
    }
}

#[test]
fn a_hook_is_told_where_the_sessions_are_and_how_the_tools_are_called() {
    let world = World::new();
    let desk = Desk::new(&world, "app");
    let session = desk.server("c").create("t");
    let root = format!("NINEPLAN_SESSIONS_PATH={}", world.root().display());
    let launch = world.server().at(&desk.folder).env("NINEPLAN_SESSIONS_PATH", "/nowhere");
    let input = json!({ "session_id": "d", "source": "startup" }).to_string();
    let arguments = ["hook", "session-start", "--env", &root, "--env", "NINEPLAN_TOOL_PREFIX=nineplan_"];
    let said = String::from_utf8(launch.fed(&arguments, &input).stdout).unwrap();
    assert!(said.contains(&format!("call nineplan_session_resume with session_name {session}; otherwise")), "{said}");
}

#[test]
fn whatever_is_wrong_a_hook_succeeds_and_prints_nothing() {
    let world = World::new();
    let desk = Desk::new(&world, "app");
    let session = desk.server("c").create("t");
    let good = json!({ "session_id": "c", "cwd": desk.folder, "source": "compact" }).to_string();
    let silent = |launch: Launch, arguments: &[&str], input: &str, why: &str| {
        let output = launch.fed(arguments, input);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]), "{input}: {said}");
        assert!(said.contains(why), "{input}: {said}");
    };
    let start = ["hook", "session-start"];
    for (input, why) in [
        ("", "9plan: hook session-start: the input is empty"),
        ("[", "9plan: hook session-start: the input is not understood: "),
        ("hello", "the input is not understood: "),
        (r#"{"session_id":7}"#, "the input is not understood: "),
        (r#"{"session_id":"c""#, "the input is not understood: "),
    ] {
        silent(world.server(), &start, input, why);
    }
    silent(desk.launch("c"), &["hook"], &good, "MOMENT");
    silent(desk.launch("c"), &["hook", "stop"], &good, "possible values: session-start, pre-compact, prompt");
    silent(desk.launch("c"), &["hook", "prompt", "--env", "x"], &good, "write it as KEY=VALUE");
    let bad = desk.launch("c").env("NINEPLAN_LOG_LEVEL", "loud");
    silent(bad, &start, &good, "9plan: hook session-start: NINEPLAN_LOG_LEVEL=\"loud\" is not allowed");
    silent(desk.launch("c").env("NINEPLAN_SESSIONS_PATH", "/nowhere"), &start, &good, "");
    fs::write(world.database(&session), "no database at all, but long enough for a header of one").unwrap();
    silent(desk.launch("c"), &start, &good, "a session cannot be looked at");
    // Others are asked for all the same.
    let second = desk.server("c").create("t");
    let output = desk.launch("c").fed(&start, &good);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with(&format!("9plan: session {second} ")));
}

#[test]
fn a_hook_does_not_wait_for_the_end_of_its_input_nor_for_who_changes_the_session() {
    let world = World::new();
    let desk = Desk::new(&world, "app");
    let session = desk.server("c").create("t");
    let _held = world.hold(&session);
    let mut launch = desk.launch("c");
    launch.command.args(["hook", "session-start"]);
    let mut child =
        launch.command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let good = json!({ "session_id": "c", "cwd": desk.folder, "source": "compact" }).to_string();
    std::io::Write::write_all(&mut input, good.as_bytes()).unwrap();
    // The input stays open until the hook has ended.
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with(&format!("9plan: session {session} ")));
}
