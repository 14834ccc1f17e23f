//! Changing a JSON text where it is to change, and nowhere else.
//!
//! Owns where the parts of a text stand and how it is laid out: what is put in follows the indentation and the line ends
//! around it, and all else keeps its bytes. Knows nothing of clients.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// How a text is indented that shows no indentation of its own.
const INDENT: &str = "  ";

/// Why a text is not changed.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It is no JSON: comments and commas at the end of a list are none.
    #[error("it is not plain JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("it is not TOML: {0}")]
    NotToml(String),
    /// Something else stands where the entry belongs.
    #[error("{0} in it is not what it should be")]
    WrongKind(String),
    #[error("it is no object")]
    NoObject,
}

/// A step on the way to a part of a text.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    Key(&'a str),
    /// The place in a list, from 0.
    At(usize),
}

/// Reads a text. A blank one is an empty object.
pub fn parse(text: &str) -> Result<Value, Unfit> {
    Ok(if text.trim().is_empty() { Value::Object(Map::new()) } else { serde_json::from_str(text)? })
}

/// Puts a value into the objects along a path, making those that are missing.
pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Unfit> {
    let steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
    put(text, &steps, value)
}

/// Puts a value at the end of the list at a path of keys, making what is missing.
pub fn append(text: &str, path: &[&str], value: &Value) -> Result<String, Unfit> {
    let mut steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
    steps.push(Step::At(usize::MAX));
    put(text, &steps, value)
}

/// Puts a value at a path: in place of what stands there, else at the end.
pub fn put(text: &str, path: &[Step<'_>], value: &Value) -> Result<String, Unfit> {
    if text.trim().is_empty() {
        return put("{}\n", path, value);
    }
    let root: Value = serde_json::from_str(text)?;
    let layout = Layout::of(text);
    let mut at = root_of(text);
    let mut here = &root;
    for (depth, step) in path.iter().enumerate() {
        if !matches!((step, here), (Step::Key(_), Value::Object(_)) | (Step::At(_), Value::Array(_))) {
            return Err(wrong_kind(&path[..depth]));
        }
        let parts = Parts::of(text, &at)?;
        let index = parts.find(step);
        let Some(index) = index else {
            return Ok(layout.insert(text, &parts, step, &nested(&path[depth + 1..], value)));
        };
        at = parts.items[index].value.clone();
        here = match step {
            Step::Key(key) => &here[*key],
            Step::At(index) => &here[*index],
        };
    }
    if here == value {
        return Ok(text.to_owned());
    }
    let rendered = layout.render(value, layout.indent_at(at.start));
    Ok(format!("{}{rendered}{}", &text[..at.start], &text[at.end..]))
}

/// Takes out what stands at a path, and what it leaves empty above it, down to the step number `least` of the path. What is not
/// there is no fault.
pub fn remove(text: &str, path: &[Step<'_>], least: usize) -> Result<String, Unfit> {
    parse(text)?;
    let mut at = root_of(text);
    let mut way: Vec<(Parts, usize)> = Vec::new();
    for step in path {
        let Ok(parts) = Parts::of(text, &at) else { return Ok(text.to_owned()) };
        let Some(index) = parts.find(step) else { return Ok(text.to_owned()) };
        at = parts.items[index].value.clone();
        way.push((parts, index));
    }
    while way.len() > least && way.last().is_some_and(|(parts, _)| parts.items.len() == 1) {
        way.pop();
    }
    let Some((parts, index)) = way.pop() else { return Ok(text.to_owned()) };
    let items = &parts.items;
    let gone = match (index.checked_sub(1), items.get(index + 1)) {
        (Some(before), _) => items[before].value.end..items[index].value.end,
        (None, Some(after)) => items[index].start..after.start,
        (None, None) => parts.inside.clone(),
    };
    Ok(format!("{}{}", &text[..gone.start], &text[gone.end..]))
}

/// What is wrong where a path leads to something else than an object or a list.
fn wrong_kind(path: &[Step<'_>]) -> Unfit {
    let key = path.iter().rev().find_map(|step| if let Step::Key(key) = step { Some(*key) } else { None });
    key.map_or(Unfit::NoObject, |key| Unfit::WrongKind(format!("{key:?}")))
}

/// The value with the objects and lists around it that are missing on the way.
fn nested(path: &[Step<'_>], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([((*key).to_owned(), inner)])),
        Step::At(_) => Value::Array(vec![inner]),
    })
}

/// The range of the whole value, without the white space around it.
fn root_of(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    start..text.trim_end().len()
}

/// An object or a list, and where its parts stand in the text.
struct Parts {
    /// What is between the brackets.
    inside: Range<usize>,
    items: Vec<Item>,
}

/// A member of an object, or an element of a list.
struct Item {
    key: Option<String>,
    /// Where the key begins, or the element.
    start: usize,
    value: Range<usize>,
}

impl Parts {
    fn of(text: &str, at: &Range<usize>) -> Result<Self, Unfit> {
        let raw: RawItems<'_> = serde_json::from_str(&text[at.clone()])?;
        let inside = at.start + 1..at.end - 1;
        let mut items: Vec<Item> = Vec::new();
        for (key, value) in raw.0 {
            let value = value.get();
            // The parts are borrowed from the text.
            let start = value.as_ptr().addr() - text.as_ptr().addr();
            let before = items.last().map_or(inside.start, |item| item.value.end);
            // Between two parts there is a comma and white space, and before the value its key.
            let key_start = key.as_ref().and_then(|_| text[before..start].find('"')).map(|at| before + at);
            items.push(Item { key, start: key_start.unwrap_or(start), value: start..start + value.len() });
        }
        Ok(Self { inside, items })
    }
}

impl Parts {
    /// Where a part is among the others. Of two with the same key the last one counts.
    fn find(&self, step: &Step<'_>) -> Option<usize> {
        match step {
            Step::Key(key) => self.items.iter().rposition(|item| item.key.as_deref() == Some(key)),
            Step::At(index) => (*index < self.items.len()).then_some(*index),
        }
    }
}

/// The parts of an object or a list as they are written, with their keys.
struct RawItems<'a>(Vec<(Option<String>, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawItems<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;

        impl<'de> Visitor<'de> for Items {
            type Value = RawItems<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some((key, value)) = map.next_entry()? {
                    items.push((Some(key), value));
                }
                Ok(RawItems(items))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(value) = list.next_element()? {
                    items.push((None, value));
                }
                Ok(RawItems(items))
            }
        }

        deserializer.deserialize_any(Items)
    }
}

/// How a text is laid out.
struct Layout<'a> {
    text: &'a str,
    indent: &'a str,
    line_end: &'static str,
}

impl<'a> Layout<'a> {
    fn of(text: &'a str) -> Self {
        let indented = text.lines().map(indent_of).find(|indent| !indent.is_empty());
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, indent: indented.unwrap_or(INDENT), line_end }
    }

    /// The indentation of the line in which a place is.
    fn indent_at(&self, at: usize) -> &'a str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        indent_of(&self.text[line..])
    }

    /// A value on as many lines as it takes, the first one aside each as deep as `indent` and more.
    fn render(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        // Into memory, where nothing fails.
        let _ = serde::Serialize::serialize(value, &mut serializer);
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.line_end))
    }

    /// The text with one more part at the end of an object or a list.
    fn insert(&self, text: &str, parts: &Parts, step: &Step<'_>, value: &Value) -> String {
        let key = match step {
            Step::Key(key) => format!("{}: ", Value::from(*key)),
            Step::At(_) => String::new(),
        };
        let Some((first, last)) = parts.items.first().zip(parts.items.last()) else {
            let outer = self.indent_at(parts.inside.start);
            let inner = format!("{outer}{}", self.indent);
            let part = format!("{key}{}", self.render(value, &inner));
            let (before, after) = (&text[..parts.inside.start], &text[parts.inside.end..]);
            return format!("{before}{end}{inner}{part}{end}{outer}{after}", end = self.line_end);
        };
        let (before, after) = text.split_at(last.value.end);
        let indent = self.indent_at(first.start);
        let line_start = text[..first.start].ends_with(indent) && text[..first.start - indent.len()].ends_with('\n');
        if line_start {
            format!("{before},{}{indent}{key}{}{after}", self.line_end, self.render(value, indent))
        } else {
            // All on one line.
            format!("{before}, {key}{value}{after}")
        }
    }
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ODD: &str = "\n{ \"a\": 1e2,\r\n\t\t\"mcpServers\" : {\r\n\t\t\t\t\"other\": { \"command\": \"x\\u0041\" } ,\r\n\t\t\t\t\"b\": []\r\n},\"z\":1.10}\r\n";

    #[test]
    fn a_part_is_put_in_after_the_others_and_all_else_keeps_its_bytes() {
        let path = ["mcpServers", "9plan"];
        let set = |text: &str| set(text, &path, &json!({ "command": "/9plan", "args": [] })).unwrap();
        assert_eq!(
            set(ODD),
            ODD.replace("[]\r\n", "[],\r\n\t\t\t\t\"9plan\": {\r\n\t\t\t\t\t\t\"command\": \"/9plan\",\r\n\t\t\t\t\t\t\"args\": []\r\n\t\t\t\t}\r\n")
        );
        assert_eq!(
            set(""),
            "{\n  \"mcpServers\": {\n    \"9plan\": {\n      \"command\": \"/9plan\",\n      \"args\": []\n    }\n  }\n}\n"
        );
        assert_eq!(
            set("{\"a\":[1,2],\"mcpServers\":{\"x\":{}}}"),
            "{\"a\":[1,2],\"mcpServers\":{\"x\":{}, \"9plan\": {\"command\":\"/9plan\",\"args\":[]}}}"
        );
        assert_eq!(set(&set(ODD)), set(ODD));
    }

    #[test]
    fn what_stands_there_is_replaced_and_the_last_of_two_counts() {
        let text = "{\n    \"a\": {\"b\": 1},\n    \"a\": {\n        \"b\": 2\n    }\n}";
        assert_eq!(set(text, &["a", "b"], &json!([3])).unwrap(), text.replace('2', "[\n            3\n        ]"));
        assert_eq!(set(text, &["a", "b"], &json!(2)).unwrap(), text);
    }

    #[test]
    fn lists_grow_at_their_end() {
        let text = "{\n  \"hooks\": {\n    \"Stop\": [\n      1\n    ]\n  }\n}\n";
        let grown = append(text, &["hooks", "Stop"], &json!(2)).unwrap();
        assert_eq!(grown, text.replace("1\n", "1,\n      2\n"));
        let new = append(text, &["hooks", "Start"], &json!(2)).unwrap();
        assert_eq!(new, text.replace("    ]\n", "    ],\n    \"Start\": [\n      2\n    ]\n"));
        let path = [Step::Key("hooks"), Step::Key("Stop"), Step::At(0)];
        assert_eq!(remove(&grown, &path, 1).unwrap(), text.replace("      1\n", "      2\n"));
    }

    #[test]
    fn a_text_that_is_something_else_is_refused() {
        let set = |text: &str| set(text, &["mcpServers", "9plan"], &json!(1)).unwrap_err().to_string();
        assert_eq!(set("[]"), "it is no object");
        assert_eq!(set("{\"mcpServers\": []}"), "\"mcpServers\" in it is not what it should be");
        assert!(set("{ // a comment\n}").starts_with("it is not plain JSON: "));
        assert!(set("{\"a\": 1,}").starts_with("it is not plain JSON: "));
    }

    #[test]
    fn what_is_taken_out_leaves_nothing_empty_behind() {
        let path = [Step::Key("a"), Step::Key("b")];
        for (text, left) in [
            ("{\"a\": {\"b\": 1}}", "{}"),
            ("{\"a\": {\"b\": 1}, \"c\": 2}", "{\"c\": 2}"),
            ("{\"a\": {\"b\": 1, \"c\": 2}}", "{\"a\": {\"c\": 2}}"),
            ("{\"a\": {\"c\": 2, \"b\": 1}}", "{\"a\": {\"c\": 2}}"),
            ("{\"a\": {\"c\": 2}}", "{\"a\": {\"c\": 2}}"),
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("", ""),
        ] {
            assert_eq!(remove(text, &path, 1).unwrap(), left, "{text}");
        }
        assert_eq!(remove("{\"a\": {\"b\": 1}}", &path, 2).unwrap(), "{\"a\": {}}");
    }

    /// Any JSON value in which no object or list is empty.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<i64>().prop_map(Value::from), ".{0,8}".prop_map(Value::from), Just(Value::Null)];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from),
                prop::collection::vec((".{0,6}", inner), 1..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_put_in_is_there_and_what_is_taken_out_was_never_there(
            members in prop::collection::vec((".{0,6}", values()), 1..4),
            indent in "[ \t]{0,4}",
        ) {
            let value = Value::Object(members.into_iter().collect());
            let text = Layout { text: "", indent: &indent, line_end: "\n" }.render(&value, "");
            let path = ["in", "it"];
            prop_assume!(value.get("in").is_none());
            let changed = set(&text, &path, &json!({ "x": [1] })).unwrap();
            let mut expected = value.clone();
            expected["in"]["it"] = json!({ "x": [1] });
            prop_assert_eq!(parse(&changed).unwrap(), expected);
            prop_assert_eq!(remove(&changed, &[Step::Key("in"), Step::Key("it")], 1).unwrap(), text);
        }
    }
}
