//! The plan file: a plan as Markdown, and back.
//!
//! Owns the file format in both directions, as pure functions between text and [`Plan`]. Knows no disk, no database and
//! no protocol.
//!
//! Writing is strict and reading is forgiving, since people and agents edit these files by hand. What is written reads
//! back exactly, and text that stands in no section, or in one found twice, is kept.

use crate::plan::{HEADINGS, Plan, tidy};

/// The section that takes the text before the first heading.
const NOTES: usize = HEADINGS.len() - 1;

/// The fewest characters that make a code fence.
const MIN_FENCE: usize = 3;

/// Where a plan file stops being UTF-8. `offset` in bytes from the start of the file.
#[derive(Debug, PartialEq, Eq)]
pub struct NotUtf8 {
    pub offset: usize,
}

/// The text of a plan file.
///
/// Reads back as the same plan where the plan is tidied.
pub fn render(plan: &Plan) -> String {
    let mut file = String::new();
    for (name, text) in HEADINGS.into_iter().zip(plan.sections()) {
        if !file.is_empty() {
            file.push('\n');
        }
        file.push_str("# ");
        file.push_str(name);
        file.push('\n');
        if text.is_empty() {
            continue;
        }
        for line in text.split('\n') {
            // In fenced code too: `parse` relies on every heading being there exactly once.
            if escapable(line) {
                file.push('\\');
            }
            file.push_str(line);
            file.push('\n');
        }
    }
    file
}

/// Reads a plan file back.
///
/// A heading inside fenced code is a heading only where the section has none outside of it, and then only the first
/// one is. Two kinds of file need opposite answers here. In a file written by hand, `# Notes` in a shell block is most
/// likely a comment, and the real heading stands elsewhere in the open. In a rendered file a section may hold a fence
/// that is never closed, which puts real headings inside it; but such a file has each heading exactly once, all
/// look-alikes being escaped, so that the only one found is the real one, wherever the fences seem to be.
///
/// # Errors
///
/// [`NotUtf8`] with the place of the first bad byte.
pub fn parse(bytes: &[u8]) -> Result<Plan, NotUtf8> {
    let text = str::from_utf8(bytes).map_err(|error| NotUtf8 { offset: error.valid_up_to() })?;
    let lines = scan(text.strip_prefix('\u{feff}').unwrap_or(text));

    let mut settled = [false; HEADINGS.len()];
    for section in lines.iter().filter(|line| !line.fenced).filter_map(|line| line.heading) {
        settled[section] = true;
    }

    let mut sections: [String; HEADINGS.len()] = Default::default();
    let mut current = NOTES;
    let mut body = String::new();
    for line in lines {
        match line.heading {
            Some(section) if !line.fenced || !settled[section] => {
                settled[section] = true;
                append(&mut sections[current], &body);
                body.clear();
                current = section;
            }
            _ => {
                body.push_str(unescaped(line.text));
                body.push('\n');
            }
        }
    }
    append(&mut sections[current], &body);
    Ok(Plan::from_sections(sections))
}

/// A line of a plan file. `heading` is the section it would open, were it not for the fence around it.
struct Line<'a> {
    text: &'a str,
    heading: Option<usize>,
    fenced: bool,
}

/// The lines of a file with what is needed to tell headings from content.
fn scan(text: &str) -> Vec<Line<'_>> {
    let mut open: Option<Fence> = None;
    let mut lines = Vec::new();
    for text in text.split('\n') {
        lines.push(Line { text, heading: heading(text), fenced: open.is_some() });
        open = match open {
            Some(fence) if fence.closed_by(text) => None,
            None => Fence::opened_by(text),
            still_open => still_open,
        };
    }
    lines
}

/// Adds a text to a section that may have been found before, as a paragraph of its own.
fn append(section: &mut String, body: &str) {
    let body = tidy(body);
    if !section.is_empty() && !body.is_empty() {
        section.push_str("\n\n");
    }
    section.push_str(&body);
}

/// The section, as an index into [`HEADINGS`], that a line reads as the heading of.
fn heading(line: &str) -> Option<usize> {
    let rest = line.strip_prefix('#')?;
    let name = rest.strip_prefix([' ', '\t'])?.trim_start_matches([' ', '\t']).trim_end();
    HEADINGS.iter().position(|heading| heading.eq_ignore_ascii_case(name))
}

/// Whether a body line is written with one more backslash.
///
/// Lines that look escaped already are, or reading would take off a backslash that writing did not add.
fn escapable(line: &str) -> bool {
    heading(line.trim_start_matches('\\')).is_some()
}

/// The body line that was written as this one.
fn unescaped(line: &str) -> &str {
    line.strip_prefix('\\').filter(|rest| escapable(rest)).unwrap_or(line)
}

/// The opening of fenced code, as in `CommonMark`, but at any indentation, since fences also stand inside lists.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that a line outside of fenced code opens.
    fn opened_by(line: &str) -> Option<Self> {
        let (fence, rest) = Self::at_start(line)?;
        // Backticks further on make it inline code.
        (fence.mark != '`' || !rest.contains('`')).then_some(fence)
    }

    /// Whether a line inside the fenced code ends it.
    fn closed_by(&self, line: &str) -> bool {
        Self::at_start(line).is_some_and(|(fence, rest)| {
            fence.mark == self.mark
                && fence.length >= self.length
                && rest.trim_start_matches([' ', '\t', '\r']).is_empty()
        })
    }

    /// The run of fence characters at the start of a line, and what follows it.
    fn at_start(line: &str) -> Option<(Self, &str)> {
        let line = line.trim_start_matches([' ', '\t']);
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        (length >= MIN_FENCE).then_some((Self { mark, length }, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const EMPTY: &str = "# Context\n\n# Goal\n\n# Inputs\n\n# Outputs\n\n# Approach\n\n# Success Criteria\n\n# Notes\n";

    fn plan(sections: [&str; 7]) -> Plan {
        Plan::from_sections(sections.map(str::to_owned))
    }

    fn notes(text: &str) -> Plan {
        Plan { notes: text.to_owned(), ..Plan::default() }
    }

    fn parsed(text: &str) -> Plan {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_full_plan_is_rendered_with_a_blank_line_between_sections() {
        let full = plan(["c\n\nc", "  g", "i", "o", "- a\n- b", "s", "n"]);
        let file = "# Context\nc\n\nc\n\n# Goal\n  g\n\n# Inputs\ni\n\n# Outputs\no\n\n# Approach\n- a\n- b\n\n\
                    # Success Criteria\ns\n\n# Notes\nn\n";
        assert_eq!(render(&full), file);
        assert_eq!(parsed(file), full);
    }

    #[test]
    fn an_empty_plan_is_rendered_as_its_headings() {
        assert_eq!(render(&Plan::default()), EMPTY);
        assert_eq!(parsed(EMPTY), Plan::default());
        assert_eq!(parsed(""), Plan::default());
    }

    #[test]
    fn an_empty_section_is_rendered_as_its_heading() {
        let file = "# Context\nabc\n\n# Goal\nx\n\n# Inputs\n\n# Outputs\n\n# Approach\ny\n\n# Success Criteria\nz\n\n\
                    # Notes\n";
        assert_eq!(render(&plan(["abc", "x", "", "", "y", "z", ""])), file);
    }

    #[test]
    fn crlf_and_a_byte_order_mark_at_the_start_are_accepted() {
        let file = "\u{feff}# Context\r\n\r\na\r\nb\r\n\r\n# Success Criteria\r\n\\# Goal\r\n# Notes\r\n\u{feff}n\r\n";
        assert_eq!(parsed(file), plan(["a\nb", "", "", "", "", "# Goal", "\u{feff}n"]));
    }

    #[test]
    fn headings_are_found_in_any_case_spacing_and_order() {
        let file = "# NOTES\nn\n#\t goal \t\ng\n#   success criteria\u{a0}\ns\n# cOnTeXt\nc";
        assert_eq!(parsed(file), plan(["c", "g", "", "", "", "s", "n"]));
    }

    #[test]
    fn look_alikes_of_headings_are_content() {
        let text =
            "#Goal\n## Goal\n # Goal\n# Goals\n# Goal #\n# Success  Criteria\n#\u{a0}Goal\n#\n\u{feff}# Goal\n\\a";
        assert_eq!(parsed(&format!("# Notes\n{text}\n")), notes(text));
        assert_eq!(render(&notes(text)), format!("{EMPTY}{text}\n"));
    }

    #[test]
    fn the_texts_of_a_repeated_section_are_joined_and_empty_ones_skipped() {
        let file = "# Goal\n\n# Goal\na\n\n# Inputs\ni\n# goal\n \n# Goal\n\n  b\n\n";
        assert_eq!(parsed(file), plan(["", "a\n\n  b", "i", "", "", "", ""]));
    }

    #[test]
    fn text_before_the_first_heading_goes_to_the_start_of_notes() {
        let file = "\nTitle\n=====\n\n# Notes\nn\n# Context\nc\n";
        assert_eq!(parsed(file), plan(["c", "", "", "", "", "", "Title\n=====\n\nn"]));
        assert_eq!(parsed("no heading"), notes("no heading"));
    }

    #[test]
    fn unknown_headings_stay_where_they_stand() {
        let file = "# Plan\n# Context\nc\n\n# Risks\nr\n# Goal\ng\n";
        assert_eq!(parsed(file), plan(["c\n\n# Risks\nr", "g", "", "", "", "", "# Plan"]));
    }

    #[test]
    fn a_heading_in_fenced_code_is_content_where_the_real_one_is_outside() {
        let text =
            "Run:\n\n```sh\n# Notes\nset -e # goal\n# notes \n```\n\n  ~~~~\n# Goal\n~~~\n```\n# Goal\n~~~~~\nend";
        let file = format!("# Goal\ng\n\n# Notes\n{text}\n");
        let expected = plan(["", "g", "", "", "", "", text]);
        assert_eq!(parsed(&file), expected);
        assert_eq!(parsed(&file.replace('\n', "\r\n")), expected);
        assert_eq!(parsed(&render(&expected)), expected);
    }

    #[test]
    fn a_heading_found_only_in_fenced_code_counts_once() {
        let file = "# Context\n```\n# Goal\ng\n# Goal\n";
        assert_eq!(parsed(file), plan(["```", "g\n# Goal", "", "", "", "", ""]));
    }

    #[test]
    fn backticks_after_a_run_of_backticks_open_no_fence() {
        let file = "# Context\n``` a ` b\n# Goal\ng\n~~~ a ` b\n# Context\n~~~ c\n# Context\n~~~\t\r\n# Context\nd\n";
        let goal = "g\n~~~ a ` b\n# Context\n~~~ c\n# Context\n~~~";
        assert_eq!(parsed(file), plan(["``` a ` b\n\nd", goal, "", "", "", "", ""]));
    }

    #[test]
    fn only_a_run_of_the_same_character_and_at_least_the_length_closes_a_fence() {
        let text = "````\n```\n# Notes\n`````\n~~~\n```\n# Notes\n  ~~~";
        assert_eq!(parsed(&format!("# Notes\n{text}\n# Goal\ng\n")), plan(["", "g", "", "", "", "", text]));
    }

    #[test]
    fn an_unclosed_fence_reads_back_in_its_own_section() {
        let open = plan(["```sh\n# Goal\n# Notes", "g", "~~~", "", "````\n# Context", "s", "# Notes\n```\nn"]);
        let file = "# Context\n```sh\n\\# Goal\n\\# Notes\n\n# Goal\ng\n\n# Inputs\n~~~\n\n# Outputs\n\n# Approach\n````\n\
                    \\# Context\n\n# Success Criteria\ns\n\n# Notes\n\\# Notes\n```\nn\n";
        assert_eq!(render(&open), file);
        assert_eq!(parsed(file), open);
    }

    #[test]
    fn each_layer_of_backslashes_before_a_heading_reads_back() {
        let text = "# Goal\n\\# goal \n\\\\#\tGOAL\n\\# Goals\n\\\\# x\n\\ # Goal\n\\";
        let file = format!("{EMPTY}\\# Goal\n\\\\# goal \n\\\\\\#\tGOAL\n\\# Goals\n\\\\# x\n\\ # Goal\n\\\n");
        assert_eq!(render(&notes(text)), file);
        assert_eq!(parsed(&file), notes(text));
    }

    #[test]
    fn the_first_byte_that_is_not_utf8_is_reported() {
        assert_eq!(parse(b"\xef\xbb\xbf# Goal\n\xc3\xa4\xff\xff"), Err(NotUtf8 { offset: 12 }));
        assert_eq!(parse(b"\xff\xfe#\0"), Err(NotUtf8 { offset: 0 }));
        assert_eq!(parse(b"# Goal\n\xc3"), Err(NotUtf8 { offset: 7 }));
    }

    /// Text made of what the format has to get right, with anything at all in between.
    fn adversarial() -> impl Strategy<Value = String> {
        let odd_case = prop::sample::select(HEADINGS.to_vec()).prop_flat_map(|name| {
            vec(any::<bool>(), name.len()).prop_map(move |upper| {
                let cased = name.chars().zip(upper);
                cased
                    .map(|(c, up)| if up { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
                    .collect::<String>()
            })
        });
        let heading = ("\\\\{0,3}", "[ \t\u{feff}]?", "#{1,2}[ \t]{0,2}", odd_case, "[ \t\r\u{a0}\u{2028}]{0,2}")
            .prop_map(|(slashes, indent, mark, name, end)| format!("{slashes}{indent}{mark}{name}{end}"));
        let plain = prop::sample::select(HEADINGS.to_vec()).prop_map(|name| format!("# {name}"));
        let fence = "[ \t]{0,5}(`{2,6}|~{2,6})( ?[a-z`~]{0,3}|[ \t]{0,2})";
        let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "\r\r\n", "\n\n", "\r", ""]);
        let piece = prop_oneof![
            3 => heading,
            3 => plain,
            3 => fence,
            1 => any::<String>(),
            1 => "[\\\\#`~ \t\r\n\u{0}\u{b}\u{85}\u{feff}a]{0,6}",
        ];
        vec((piece, end), 0..10).prop_map(|pieces| pieces.into_iter().map(|(piece, end)| piece + end).collect())
    }

    fn any_plan() -> impl Strategy<Value = Plan> {
        prop::array::uniform7(adversarial()).prop_map(|sections| Plan::from_sections(sections).tidied())
    }

    /// Files as people might leave them, and bytes that are no plan file at all.
    fn any_file() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            3 => vec(adversarial(), 0..5).prop_map(|parts| parts.concat().into_bytes()),
            1 => (adversarial(), vec(any::<u8>(), 0..4), adversarial())
                .prop_map(|(before, bytes, after)| [before.as_bytes(), &bytes, after.as_bytes()].concat()),
            1 => vec(any::<u8>(), 0..64),
        ]
    }

    proptest! {
        #[test]
        fn every_tidied_plan_reads_back(plan in any_plan()) {
            prop_assert_eq!(parse(render(&plan).as_bytes()), Ok(plan));
        }

        #[test]
        fn every_file_reads_as_a_plan_that_reads_back_or_is_not_utf8(file in any_file()) {
            match parse(&file) {
                Ok(plan) => prop_assert_eq!(parse(render(&plan).as_bytes()), Ok(plan)),
                Err(NotUtf8 { offset }) => {
                    let valid = str::from_utf8(&file).map_err(|error| error.valid_up_to());
                    prop_assert_eq!(valid, Err(offset));
                }
            }
        }
    }
}
