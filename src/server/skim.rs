//! Finding the id of a message that cannot be parsed: too long, too deep, cut off or broken.
//!
//! Owns nothing but the last name and value that went by: it reads a message of any length a piece at a time. Knows no protocol
//! beyond the names of the fields.

use serde::de::IgnoredAny;

/// The longest id that is read, in bytes of JSON. An answer repeats it, and has to stay below 60 KiB.
pub const LONGEST_ID: usize = 8 * 1_024;

/// What is known of a message so far.
#[derive(Default)]
pub struct Skim {
    /// How many brackets are open.
    depth: usize,
    string: Within,
    /// The name or the value that is being read, where it is directly in the message.
    token: Vec<u8>,
    /// The name whose value is being read.
    name: String,
    id: Option<Vec<u8>>,
    asks: bool,
    answers: bool,
    over: bool,
}

/// Where the next byte stands.
#[derive(Default)]
enum Within {
    #[default]
    NoString,
    String,
    Escape,
}

impl Skim {
    /// Reads on.
    pub fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.over {
                return;
            }
            self.step(*byte);
        }
    }

    /// The id of the message, as it is written there: a string or a number. None where there is none that can be read, or
    /// where the message asks nothing.
    pub fn id(self) -> Option<String> {
        let id = String::from_utf8(self.id?).ok()?;
        let scalar = id.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
        let whole = id.len() <= LONGEST_ID && serde_json::from_str::<IgnoredAny>(&id).is_ok();
        (scalar && whole && (self.asks || !self.answers)).then_some(id)
    }

    fn step(&mut self, byte: u8) {
        if !matches!(self.string, Within::NoString) {
            self.keep(byte);
            self.string = match (&self.string, byte) {
                (Within::String, b'"') => Within::NoString,
                (Within::String, b'\\') => Within::Escape,
                _ => Within::String,
            };
            return;
        }
        match byte {
            b'"' => {
                self.keep(byte);
                self.string = Within::String;
            }
            // A list at the top is no message, and has no id of its own.
            b'[' if self.depth == 0 => self.over = true,
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                    self.over = true;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.name = serde_json::from_slice(&self.take_token()).unwrap_or_default();
                self.asks |= self.name == "method";
                self.answers |= self.name == "result" || self.name == "error";
            }
            b',' if self.depth == 1 => self.end_value(),
            b' ' | b'\t' | b'\r' | b'\n' => {
                // What it parts is not one value.
                if self.token.last().is_some_and(|last| *last != b' ') {
                    self.keep(b' ');
                }
            }
            _ => self.keep(byte),
        }
    }

    /// Keeps what stands directly in the message, as far as it could be an id.
    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= LONGEST_ID {
            self.token.push(byte);
        }
    }

    /// The name or the value that was read, without what follows it.
    fn take_token(&mut self) -> Vec<u8> {
        let mut token = std::mem::take(&mut self.token);
        token.truncate(token.trim_ascii_end().len());
        token
    }

    fn end_value(&mut self) {
        let value = self.take_token();
        if std::mem::take(&mut self.name) == "id" {
            self.id = Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn id_of(text: &str) -> Option<String> {
        let mut skim = Skim::default();
        skim.read(text.as_bytes());
        skim.id()
    }

    #[test]
    fn an_id_is_found_wherever_it_stands_and_whatever_else_is_wrong() {
        for (text, id) in [
            (r#"{"id":7,"method":"m"}"#, Some("7")),
            (r#"{"method":"m","params":{"id":1,"x":["id",{"id":2}]},"id":"a"}"#, Some(r#""a""#)),
            (r#" { "id" : -7 , "method" : "m" } "#, Some("-7")),
            (r#"{"method":"m","id":36893488147419103232}"#, Some("36893488147419103232")),
            (r#"{"method":"m","id":1.50}"#, Some("1.50")),
            (r#"{"id":1,"id":2}"#, Some("2")),
            (r#"{"id":"a\"},\\","method":"m"}"#, Some(r#""a\"},\\""#)),
            (r#"{"id":"\ud800","method":"m"}"#, Some(r#""\ud800""#)),
            (r#"{"\u0069d":1.50,"m\u0065thod":"m","result":1}"#, Some("1.50")),
            // Broken, but not before the id.
            (r#"{"id":7,"method":"pi"#, Some("7")),
            (r#"{"id":7,"method":}"#, Some("7")),
            (r#"{"id":7,,"method" "m"}"#, Some("7")),
            (r#"{"id":7,"params":{{{{"#, Some("7")),
            (r#"{"id":7}{"id":8}"#, Some("7")),
            // What could be part of another one.
            (r#"{"method":"m","id":7"#, None),
            (r#"{"method":"m","id":"se"#, None),
            // None that can be answered.
            (r#"{"method":"m"}"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"id":true}"#, None),
            (r#"{"id":{"id":7}}"#, None),
            (r#"{"id":[7]}"#, None),
            (r#"{"id":07}"#, None),
            (r#"{"id":,"method":"m"}"#, None),
            (r#"{"id":1 2,"method":"m"}"#, None),
            (r#"{"ID":7,"_id":7,"params":{"id":7}}"#, None),
            (r#"[{"id":7}]"#, None),
            (r#""id":7"#, None),
            ("", None),
            // An answer is not answered.
            (r#"{"id":7,"result":{"#, None),
            (r#"{"error":{},"id":7}"#, None),
            (r#"{"id":7,"method":"m","result":1}"#, Some("7")),
        ] {
            assert_eq!(id_of(text).as_deref(), id, "{text}");
        }
    }

    #[test]
    fn an_id_that_is_too_long_is_not_read() {
        let id = |length: usize| id_of(&json!({ "id": "x".repeat(length) }).to_string());
        assert_eq!(id(LONGEST_ID - 2).unwrap().len(), LONGEST_ID);
        assert_eq!(id(LONGEST_ID - 1), None);
        assert_eq!(id_of(&format!(r#"{{"id":{}}}"#, "9".repeat(LONGEST_ID + 1))), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(|number| json!(number)),
            any::<f64>().prop_map(|number| json!(number)),
            any::<String>().prop_map(|text| json!(text)),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z\"\\\\]{0,3}|id", inner), 0..4)
                    .prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_id_of_any_message_is_the_one_that_a_parser_finds(
            fields in prop::collection::vec(("[a-z\"\\\\]{0,3}|id|method", any_json()), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let message: Value = fields.into_iter().collect();
            let text = message.to_string();
            let expected = message.get("id").filter(|id| id.is_string() || id.is_number()).map(Value::to_string);
            // In two pieces, cut anywhere.
            let at = cut.index(text.len());
            let mut skim = Skim::default();
            skim.read(&text.as_bytes()[..at]);
            skim.read(&text.as_bytes()[at..]);
            prop_assert_eq!(skim.id(), expected);
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut skim = Skim::default();
            skim.read(&bytes);
            if let Some(id) = skim.id() {
                prop_assert!(serde_json::from_str::<IgnoredAny>(&id).is_ok());
            }
        }
    }
}
