//! The words of the domain: identifiers, states, and the text of a plan.
//!
//! Owns the shape of every name that may become part of a path, and the seven sections of a plan. Knows no I/O, no
//! database and no protocol.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The most bytes one argument may hold.
pub const MAX_FIELD_BYTES: usize = 64 * 1024;

/// The longest session name that is looked up: well under the 255 bytes that file systems give a name.
const MAX_SESSION_NAME: usize = 100;

/// The name of a session: `word-word-word`, lower-case ASCII, so that it is always a safe name for a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SessionName(String);

impl SessionName {
    /// Checks `^[a-z]+-[a-z]+-[a-z]+$` after trimming, before the text gets near a path.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::exact(text.trim()).ok_or_else(|| Error::bad_session_name(text))
    }

    /// The name, where the text is one to the letter: for names found on disk.
    pub fn exact(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split('-').collect();
        let well_formed = text.len() <= MAX_SESSION_NAME
            && words.len() == 3
            && words.iter().all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
        well_formed.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identifier of a plan: 5 to 16 characters of `0-9a-z`, unique in its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PlanId(String);

impl PlanId {
    /// Checks `^[0-9a-z]{5,16}$` after trimming and lower-casing.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let id = text.trim().to_ascii_lowercase();
        Self::exact(&id).ok_or_else(|| Error::bad_plan_id(text))
    }

    /// The identifier, where the text is one to the letter: for names found on disk and in the database.
    pub fn exact(text: &str) -> Option<Self> {
        let well_formed = (5..=16).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
        well_formed.then(|| Self(text.to_owned()))
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a plan is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Queued,
    Active,
    Completed,
    Discarded,
}

impl Status {
    /// The status as the database spells it, where it is one.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Active, Self::Completed, Self::Discarded]
            .into_iter()
            .find(|status| status.as_str() == text)
    }

    /// The spelling in the database and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Discarded => "discarded",
        }
    }
}

/// The end of the queue at which a plan goes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Position {
    Front,
    #[default]
    Back,
}

/// The seven sections of a plan, each the text between two headings of the plan file.
///
/// A section has LF line ends, no blank line at its start and no white space at its end: [`Plan::tidied`] makes it so,
/// and everything that builds a plan from outside text goes through it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub context: String,
    pub goal: String,
    pub inputs: String,
    pub outputs: String,
    pub approach: String,
    pub success_criteria: String,
    pub notes: String,
}

/// The headings of the plan file, in the order in which they stand there.
pub const HEADINGS: [&str; 7] = ["Context", "Goal", "Inputs", "Outputs", "Approach", "Success Criteria", "Notes"];

impl Plan {
    /// The texts in the order of [`HEADINGS`].
    pub fn sections(&self) -> [&str; 7] {
        [&self.context, &self.goal, &self.inputs, &self.outputs, &self.approach, &self.success_criteria, &self.notes]
    }

    /// A plan from texts in the order of [`HEADINGS`].
    pub fn from_sections(sections: [String; 7]) -> Self {
        let [context, goal, inputs, outputs, approach, success_criteria, notes] = sections;
        Self { context, goal, inputs, outputs, approach, success_criteria, notes }
    }

    /// The same plan with every section tidied by [`tidy`].
    pub fn tidied(self) -> Self {
        let Self { context, goal, inputs, outputs, approach, success_criteria, notes } = self;
        Self::from_sections([context, goal, inputs, outputs, approach, success_criteria, notes].map(|text| tidy(&text)))
    }

    /// Adds a paragraph at the end of the notes.
    pub fn add_note(&mut self, note: &str) {
        let gap = if self.notes.is_empty() { "" } else { "\n\n" };
        self.notes = format!("{}{gap}{note}", self.notes);
    }
}

/// A paragraph for the notes of a plan. `stamp` is `YYYY-MM-DD HH:MM`, UTC.
pub fn note(stamp: &str, event: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    format!("[{stamp}] {event}: {}", lines.join("\n"))
}

/// `1 plan`, `2 plans`.
pub fn plans(number: u64) -> String {
    format!("{number} {}", if number == 1 { "plan" } else { "plans" })
}

/// Line ends made LF, blank lines at the start and white space at the end taken off.
///
/// The indentation of the first line stays: it may be the start of a list or of code.
pub fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let first = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(lines.len());
    lines[first..].join("\n").trim_end().to_owned()
}

/// The text cut to at most `most` bytes of JSON, with `…` where something was left out.
///
/// Counts what the text takes inside a JSON string, since that is what a reply is made of: a quote, a backslash or a
/// line end takes two bytes there, another control character six.
pub fn clip(text: &str, most: usize) -> String {
    let end = fitting(text, most);
    if end == text.len() {
        return text.to_owned();
    }
    let end = fitting(text, most.saturating_sub('…'.len_utf8()));
    format!("{}…", text[..end].trim_end())
}

/// The text cut to at most `most` characters, the last one `…` where something was left out.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// How many bytes of `text` take at most `most` bytes inside a JSON string; always a character boundary.
pub fn fitting(text: &str, most: usize) -> usize {
    // Most texts are short.
    if text.len() <= most / LONGEST_ESCAPE {
        return text.len();
    }
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += json_len(c);
        if used > most {
            return at;
        }
    }
    text.len()
}

/// The most bytes that one byte of a text takes inside a JSON string.
const LONGEST_ESCAPE: usize = 6;

/// The bytes that a character takes inside a JSON string.
fn json_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => LONGEST_ESCAPE,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_names_are_three_lower_case_words() {
        for good in ["amber-quiet-river", " a-b-c \n"] {
            assert!(SessionName::parse(good).is_ok(), "{good}");
        }
        let long = format!("{}-b-c", "a".repeat(10_000));
        for bad in
            ["", "a-b", "a-b-c-d", "A-b-c", "a--c", "a-b-c/../..", "../../etc", "a-b-\0", "ä-b-c", "a-b-c1", &long]
        {
            assert!(SessionName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn plan_ids_are_trimmed_and_lower_cased() {
        assert_eq!(PlanId::parse(" K7F3M\n").unwrap().as_str(), "k7f3m");
        for bad in ["", "abcd", "abcdefghijklmnopq", "ab/cd", "ab.cd", "ab\0cd", "äbcde"] {
            assert!(PlanId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tidy_keeps_indentation_and_inner_blank_lines() {
        assert_eq!(tidy("\r\n \n    a\r\n\r\nb\r\r\n \n"), "    a\n\nb");
        assert_eq!(tidy(" \n\t"), "");
    }

    #[test]
    fn a_note_is_one_paragraph() {
        let mut plan = Plan { notes: "half done".into(), ..Plan::default() };
        let note = note("2026-01-02 03:04", "Deferred", "waits for\n\n- auth\r\n \n\n- keys");
        plan.add_note(&note);
        assert_eq!(plan.notes, "half done\n\n[2026-01-02 03:04] Deferred: waits for\n- auth\n- keys");
    }

    #[test]
    fn clip_counts_json_bytes_and_cuts_between_characters() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdef", 5), "ab…");
        assert_eq!(clip("\"\"\"\"", 8), "\"\"\"\"");
        assert_eq!(clip("\"\"\"\"", 7), "\"\"…");
        assert_eq!(clip("ééé", 5), "é…");
    }

    #[test]
    fn cut_counts_characters() {
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(cut("é éé", 3), "é…");
        assert_eq!(cut("", 0), "");
    }
}
