//! The hooks in the settings of Claude Code.
//!
//! Owns which there are, how each calls the program, and how ours are told from others. Those of others stay as they are.

use serde_json::{Value, json};

use super::client::System;
use super::json::{self, Step, Unfit};
use crate::hook::Moment;

/// The key of the object that holds them.
const HOOKS: &str = "hooks";

/// The events of the client, and what is called at each. Without a matcher they come whatever the source is.
const EVENTS: [(&str, Moment); 3] =
    [("SessionStart", Moment::SessionStart), ("PreCompact", Moment::PreCompact), ("UserPromptSubmit", Moment::Prompt)];

/// How long the client waits for one, in seconds; it takes some milliseconds.
const TIMEOUT: u32 = 10;

/// The variables that a hook needs to know of those that the server is given.
const VARIABLES: [&str; 2] = ["NINEPLAN_SESSIONS_PATH", "NINEPLAN_TOOL_PREFIX"];

/// How the hooks call the program.
#[derive(Debug)]
pub struct Calls<'a> {
    pub system: System,
    /// The absolute path of the program.
    pub program: &'a str,
    /// The variables that the server is given.
    pub variables: &'a [(String, String)],
}

impl Calls<'_> {
    /// A hook for a moment, with what an old one says beside the call.
    fn hook(&self, moment: Moment, old: Option<&Value>) -> Value {
        let mut arguments = vec![HOOK.to_owned(), moment.name().to_owned()];
        for (name, value) in self.variables.iter().filter(|(name, _)| VARIABLES.contains(&name.as_str())) {
            arguments.extend(["--env".to_owned(), format!("{name}={value}")]);
        }
        let mut hook = old.cloned().unwrap_or_else(|| json!({ "type": "command" }));
        if self.system == System::Windows {
            // Which shell there is differs from machine to machine: called without one.
            hook["command"] = json!(self.program);
            hook["args"] = json!(arguments);
        } else {
            let mut command = quoted(self.program);
            for argument in arguments {
                command.push(' ');
                command.push_str(&if argument.contains('=') { quoted(&argument) } else { argument });
            }
            hook["command"] = json!(command);
            if let Some(hook) = hook.as_object_mut() {
                hook.shift_remove("args");
            }
        }
        if hook.get("timeout").is_none() {
            hook["timeout"] = json!(TIMEOUT);
        }
        hook
    }
}

/// The command of the program that answers.
const HOOK: &str = "hook";

/// A word for a shell as POSIX has it.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted + "\""
}

/// The settings with the hooks in them; the same text where they are there already.
pub fn put(text: &str, calls: &Calls<'_>) -> Result<String, Unfit> {
    let mut text = text.to_owned();
    for (event, moment) in EVENTS {
        while ours(&json::parse(&text)?, event, moment, calls.program).len() > 1 {
            text = without_last(&text, event, moment, calls.program)?;
        }
        let settings = json::parse(&text)?;
        if let Some(place) = ours(&settings, event, moment, calls.program).first() {
            let hook = calls.hook(moment, Some(&settings[HOOKS][event][place.group][HOOKS][place.at]));
            text = json::put(&text, &place.path(event), &hook)?;
        } else {
            text = json::append(&text, &[HOOKS, event], &json!({ HOOKS: [calls.hook(moment, None)] }))?;
        }
    }
    Ok(text)
}

/// The settings without the hooks.
pub fn remove(text: &str, program: &str) -> Result<String, Unfit> {
    let mut text = text.to_owned();
    for (event, moment) in EVENTS {
        while !ours(&json::parse(&text)?, event, moment, program).is_empty() {
            text = without_last(&text, event, moment, program)?;
        }
    }
    Ok(text)
}

/// The settings without the last of our hooks of an event.
fn without_last(text: &str, event: &str, moment: Moment, program: &str) -> Result<String, Unfit> {
    let settings = json::parse(text)?;
    let Some(place) = ours(&settings, event, moment, program).pop() else { return Ok(text.to_owned()) };
    let path = place.path(event);
    // A group that has no hook has no use, whatever else it says.
    let alone = settings[HOOKS][event][place.group][HOOKS].as_array().is_some_and(|hooks| hooks.len() == 1);
    json::remove(text, if alone { &path[..3] } else { &path }, 1)
}

/// The hooks alone, for somebody who puts them in by hand.
pub fn snippet(calls: &Calls<'_>) -> String {
    put("", calls).unwrap_or_default()
}

/// How many of the hooks are there, and how many there are in all.
pub fn count(text: &str, program: &str) -> Result<(usize, usize), Unfit> {
    let settings = json::parse(text)?;
    let there = EVENTS.iter().filter(|(event, moment)| !ours(&settings, event, *moment, program).is_empty()).count();
    Ok((there, EVENTS.len()))
}

/// Where a hook is among those of its event.
struct Place {
    group: usize,
    /// Its place in the group.
    at: usize,
}

impl Place {
    fn path<'a>(&self, event: &'a str) -> [Step<'a>; 5] {
        [Step::Key(HOOKS), Step::Key(event), Step::At(self.group), Step::Key(HOOKS), Step::At(self.at)]
    }
}

/// Where ours are among the hooks of an event.
fn ours(settings: &Value, event: &str, moment: Moment, program: &str) -> Vec<Place> {
    let groups = settings[HOOKS][event].as_array().into_iter().flatten().enumerate();
    let hooks = groups.flat_map(|(group, it)| {
        let hooks = it[HOOKS].as_array().into_iter().flatten().enumerate();
        hooks.map(move |(at, hook)| (Place { group, at }, hook))
    });
    hooks.filter(|(_, hook)| is_ours(hook, moment, program)).map(|(place, _)| place).collect()
}

/// Whether a hook calls this program, wherever it is, for the moment, and does nothing else. `program` is its path here.
fn is_ours(hook: &Value, moment: Moment, program: &str) -> bool {
    let command = hook["command"].as_str().unwrap_or_default();
    let (called, rest) = match hook["args"].as_array() {
        Some(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            (command, format!(" {}", words.join(" ")))
        }
        None => first_word(command),
    };
    let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let Some(further) = rest.strip_prefix(&format!(" {HOOK} {}", moment.name())) else { return false };
    let alone = further.is_empty() || (further.starts_with(" --env ") && !further.contains([';', '|', '&', '<', '>']));
    alone && [name("9plan"), name("9plan.exe"), name(program)].contains(&name(called))
}

/// The first word of a command, and what follows it. Quotes around the word are taken off.
fn first_word(command: &str) -> (&str, String) {
    let (inner, end) = match command.strip_prefix('"') {
        // A quote inside has a backslash before it.
        Some(inner) => {
            (inner, inner.match_indices('"').find(|(at, _)| !inner[..*at].ends_with('\\')).map(|(at, _)| at))
        }
        None => match command.strip_prefix('\'') {
            Some(inner) => (inner, inner.find('\'')),
            None => {
                return command
                    .split_once(' ')
                    .map_or((command, String::new()), |(word, rest)| (word, format!(" {rest}")));
            }
        },
    };
    end.map_or((command, String::new()), |end| (&inner[..end], inner[end + 1..].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls<'a>(system: System, program: &'a str, variables: &'a [(String, String)]) -> Calls<'a> {
        Calls { system, program, variables }
    }

    #[test]
    fn the_program_and_its_variables_are_quoted() {
        let variables = [("NINEPLAN_SESSIONS_PATH", "/a b/$c"), ("NINEPLAN_HTTP_TOKEN", "secret")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let hook = calls(System::Linux, "/opt/my \"tools\"/9plan", &variables).hook(Moment::Prompt, None);
        let command = r#""/opt/my \"tools\"/9plan" hook prompt --env "NINEPLAN_SESSIONS_PATH=/a b/\$c""#;
        assert_eq!(hook, json!({ "type": "command", "command": command, "timeout": 10 }));
        assert!(is_ours(&hook, Moment::Prompt, "") && !is_ours(&hook, Moment::PreCompact, ""));
        let hook = calls(System::Windows, r"C:\my tools\9plan.exe", &variables).hook(Moment::Prompt, None);
        let arguments = ["hook", "prompt", "--env", "NINEPLAN_SESSIONS_PATH=/a b/$c"];
        let command = r"C:\my tools\9plan.exe";
        assert_eq!(hook, json!({ "type": "command", "command": command, "args": arguments, "timeout": 10 }));
        assert!(is_ours(&hook, Moment::Prompt, ""));
    }

    #[test]
    fn hooks_of_others_are_not_taken_for_ours() {
        let is_ours = |command: &str| is_ours(&json!({ "command": command }), Moment::Prompt, "/opt/nineplan");
        for command in [
            "my9plan hook prompt",
            "9plan hook prompts",
            "9plan hook pre-compact",
            "echo 9plan; run hook prompt",
            "save && /bin/9plan hook prompt",
            "/opt/9plan hook prompt | tee -a /tmp/log",
            "/opt/9plan hook prompt --env A=b; save",
            "cd /app && ./9plan hook prompt",
            "\"9plan hook prompt",
            "",
        ] {
            assert!(!is_ours(command), "{command}");
        }
        for command in [
            "9plan hook prompt",
            "'/x y/9plan' hook prompt --env A=b",
            "\"/x \\\"y/9plan\" hook prompt",
            "C:\\x\\9plan.exe hook prompt",
            "/usr/bin/nineplan hook prompt",
        ] {
            assert!(is_ours(command), "{command}");
        }
    }

    #[test]
    fn one_that_is_there_keeps_what_else_it_says_and_a_second_one_goes() {
        let old = json!({ "hooks": { "UserPromptSubmit": [
            { "hooks": [{ "type": "command", "command": "9plan hook prompt", "timeout": 60, "statusMessage": "…" }] },
            { "hooks": [{ "type": "command", "command": "/old/9plan", "args": ["hook", "prompt"] }] },
        ] } });
        let put = put(&old.to_string(), &calls(System::Linux, "/bin/9plan", &[])).unwrap();
        let expected = json!([{ "hooks": [
            { "type": "command", "command": "\"/bin/9plan\" hook prompt", "timeout": 60, "statusMessage": "…" },
        ] }]);
        assert_eq!(json::parse(&put).unwrap()["hooks"]["UserPromptSubmit"], expected);
    }

    #[test]
    fn ours_are_put_in_once_replaced_where_they_stand_and_taken_out_again() {
        let settings = r#"{
    "model": "opus",
    "hooks": {
        "PreCompact": [
            { "matcher": "auto", "hooks": [
                { "type": "command", "command": "9plan hook pre-compact" },
                { "type": "command", "command": "save-transcript" } ] }
        ],
        "Stop": [ { "hooks": [] } ]
    }
}
"#;
        let calls = calls(System::Linux, "/bin/9plan", &[]);
        let with = put(settings, &calls).unwrap();
        assert_eq!(count(&with, "").unwrap(), (3, 3));
        assert_eq!(put(&with, &calls).unwrap(), with);
        let parsed = json::parse(&with).unwrap();
        assert_eq!(parsed["hooks"]["PreCompact"][0]["hooks"][0]["command"], "\"/bin/9plan\" hook pre-compact");
        assert_eq!(parsed["hooks"]["PreCompact"].as_array().unwrap().len(), 1);
        let start = json!([{ "hooks": [calls.hook(Moment::SessionStart, None)] }]);
        assert_eq!(parsed["hooks"]["SessionStart"], start);
        let without = remove(&with, "").unwrap();
        assert_eq!(
            without,
            settings
                .replace("{ \"type\": \"command\", \"command\": \"9plan hook pre-compact\" },\n                ", "")
        );
        assert_eq!(count(&without, "").unwrap(), (0, 3));
    }

    #[test]
    fn settings_without_hooks_are_the_same_after_they_were_there() {
        let calls = calls(System::Linux, "/bin/9plan", &[]);
        let settings = "{\n\t\"permissions\": {\n\t\t\"allow\": []\n\t}\n}";
        assert_eq!(remove(&put(settings, &calls).unwrap(), "").unwrap(), settings);
        assert_eq!(remove("", "").unwrap(), "");
        let group =
            r#"{"hooks": {"PreCompact": [{"matcher": "auto", "hooks": [{"command": "9plan hook pre-compact"}]}]}}"#;
        assert_eq!(remove(group, "").unwrap(), "{}");
    }
}
