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
    fn hook(&self, moment: Moment) -> Value {
        let mut arguments = vec![HOOK.to_owned(), moment.name().to_owned()];
        for (name, value) in self.variables.iter().filter(|(name, _)| VARIABLES.contains(&name.as_str())) {
            arguments.extend(["--env".to_owned(), format!("{name}={value}")]);
        }
        if self.system == System::Windows {
            // Which shell there is differs from machine to machine: called without one.
            return json!({ "type": "command", "command": self.program, "args": arguments, "timeout": TIMEOUT });
        }
        let mut command = quoted(self.program);
        for argument in arguments {
            command.push(' ');
            command.push_str(&if argument.contains('=') { quoted(&argument) } else { argument });
        }
        json!({ "type": "command", "command": command, "timeout": TIMEOUT })
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
        let hook = calls.hook(moment);
        let ours = ours(&json::parse(&text)?, event, moment);
        if let Some((group, place)) = ours.first() {
            let path = [Step::Key(HOOKS), Step::Key(event), Step::At(*group), Step::Key(HOOKS), Step::At(*place)];
            text = json::put(&text, &path, &hook)?;
        } else {
            text = json::append(&text, &[HOOKS, event], &json!({ HOOKS: [hook] }))?;
        }
    }
    Ok(text)
}

/// The settings without the hooks.
pub fn remove(text: &str) -> Result<String, Unfit> {
    let mut text = text.to_owned();
    for (event, moment) in EVENTS {
        loop {
            let settings = json::parse(&text)?;
            let Some((group, place)) = ours(&settings, event, moment).pop() else { break };
            let path = [Step::Key(HOOKS), Step::Key(event), Step::At(group), Step::Key(HOOKS), Step::At(place)];
            // A group that has no hook has no use, whatever else it says.
            let alone = settings[HOOKS][event][group][HOOKS].as_array().is_some_and(|hooks| hooks.len() == 1);
            text = json::remove(&text, if alone { &path[..3] } else { &path })?;
        }
    }
    Ok(text)
}

/// The hooks alone, for somebody who puts them in by hand.
pub fn snippet(calls: &Calls<'_>) -> String {
    put("", calls).unwrap_or_default()
}

/// How many of the hooks are there, and how many there are in all.
pub fn count(text: &str) -> Result<(usize, usize), Unfit> {
    let settings = json::parse(text)?;
    let there = EVENTS.iter().filter(|(event, moment)| !ours(&settings, event, *moment).is_empty()).count();
    Ok((there, EVENTS.len()))
}

/// Where ours are among the hooks of an event: in which group, and where in it.
fn ours(settings: &Value, event: &str, moment: Moment) -> Vec<(usize, usize)> {
    let groups = settings[HOOKS][event].as_array().into_iter().flatten().enumerate();
    let hooks = groups.flat_map(|(group, it)| {
        let hooks = it[HOOKS].as_array().into_iter().flatten().enumerate();
        hooks.map(move |(place, hook)| (group, place, hook))
    });
    hooks.filter(|(_, _, hook)| is_ours(hook, moment)).map(|(group, place, _)| (group, place)).collect()
}

/// Whether a hook calls this program, wherever it is, for the moment.
fn is_ours(hook: &Value, moment: Moment) -> bool {
    let mut line = hook["command"].as_str().unwrap_or_default().to_owned();
    for argument in hook["args"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        line.push(' ');
        line.push_str(argument);
    }
    let call = format!(" {HOOK} {}", moment.name());
    line.match_indices(&call).any(|(at, _)| {
        let after = &line[at + call.len()..];
        let program = line[..at].trim_matches(['"', '\'', ' ']).rsplit(['/', '\\']).next().unwrap_or_default();
        matches!(program, "9plan" | "9plan.exe") && (after.is_empty() || after.starts_with(' '))
    })
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
        let hook = calls(System::Linux, "/opt/my \"tools\"/9plan", &variables).hook(Moment::Prompt);
        let command = r#""/opt/my \"tools\"/9plan" hook prompt --env "NINEPLAN_SESSIONS_PATH=/a b/\$c""#;
        assert_eq!(hook, json!({ "type": "command", "command": command, "timeout": 10 }));
        assert!(is_ours(&hook, Moment::Prompt) && !is_ours(&hook, Moment::PreCompact));
        let hook = calls(System::Windows, r"C:\my tools\9plan.exe", &variables).hook(Moment::Prompt);
        let arguments = ["hook", "prompt", "--env", "NINEPLAN_SESSIONS_PATH=/a b/$c"];
        let command = r"C:\my tools\9plan.exe";
        assert_eq!(hook, json!({ "type": "command", "command": command, "args": arguments, "timeout": 10 }));
        assert!(is_ours(&hook, Moment::Prompt));
    }

    #[test]
    fn hooks_of_others_are_not_taken_for_ours() {
        for command in
            ["my9plan hook prompt", "9plan hook prompts", "9plan hook pre-compact", "echo 9plan; run hook prompt", ""]
        {
            assert!(!is_ours(&json!({ "command": command }), Moment::Prompt), "{command}");
        }
        for command in ["9plan hook prompt", "'/x/9plan' hook prompt --env A=b", "C:\\x\\9plan.exe hook prompt"] {
            assert!(is_ours(&json!({ "command": command }), Moment::Prompt), "{command}");
        }
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
        assert_eq!(count(&with).unwrap(), (3, 3));
        assert_eq!(put(&with, &calls).unwrap(), with);
        let parsed = json::parse(&with).unwrap();
        assert_eq!(parsed["hooks"]["PreCompact"][0]["hooks"][0]["command"], "\"/bin/9plan\" hook pre-compact");
        assert_eq!(parsed["hooks"]["PreCompact"].as_array().unwrap().len(), 1);
        let start = json!([{ "hooks": [calls.hook(Moment::SessionStart)] }]);
        assert_eq!(parsed["hooks"]["SessionStart"], start);
        let without = remove(&with).unwrap();
        assert_eq!(
            without,
            settings
                .replace("{ \"type\": \"command\", \"command\": \"9plan hook pre-compact\" },\n                ", "")
        );
        assert_eq!(count(&without).unwrap(), (0, 3));
    }

    #[test]
    fn settings_without_hooks_are_the_same_after_they_were_there() {
        let calls = calls(System::Linux, "/bin/9plan", &[]);
        let settings = "{\n\t\"permissions\": {\n\t\t\"allow\": []\n\t}\n}";
        assert_eq!(remove(&put(settings, &calls).unwrap()).unwrap(), settings);
        assert_eq!(remove("").unwrap(), "");
        let group =
            r#"{"hooks": {"PreCompact": [{"matcher": "auto", "hooks": [{"command": "9plan hook pre-compact"}]}]}}"#;
        assert_eq!(remove(group).unwrap(), "{}");
    }
}
