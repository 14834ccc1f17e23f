//! New names: three words for a session, a short identifier for a plan.
//!
//! Owns the word lists and the alphabet. Does not know which names are taken: whoever asks draws again.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::plan::{PlanId, SessionName};

/// The usual length of a plan's identifier, in characters.
pub const PLAN_ID_LENGTH: usize = 5;

/// How many identifiers are drawn before the next ones are a character longer.
pub const DRAWS_BEFORE_LONGER: usize = 10;

const ALPHABET: [char; 36] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm',
    'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z',
];

/// Words of the lists that nobody should find in front of their work.
const UNWELCOME: &str = include_str!("unwelcome_words.txt");

static ADJECTIVES: LazyLock<Vec<&str>> = LazyLock::new(|| welcome(names::ADJECTIVES));
static NOUNS: LazyLock<Vec<&str>> = LazyLock::new(|| welcome(names::NOUNS));

/// Draws names. Injected, so that a test decides what is drawn.
pub trait IdGenerator: Send + Sync {
    /// Two different adjectives and a noun.
    fn session_name(&self) -> SessionName;

    /// An identifier of `length` characters, 5 to 16.
    fn plan_id(&self, length: usize) -> PlanId;
}

/// Draws at random.
pub struct RandomIds;

impl IdGenerator for RandomIds {
    fn session_name(&self) -> SessionName {
        let pairs = names::Generator::new(&ADJECTIVES, &NOUNS, names::Name::Plain);
        let mut first = None;
        for pair in pairs {
            let adjective = pair.split('-').next().unwrap_or_default().to_owned();
            match &first {
                None => first = Some(adjective),
                Some(other) if *other != adjective => {
                    if let Ok(name) = SessionName::parse(&format!("{other}-{pair}")) {
                        return name;
                    }
                }
                Some(_) => {}
            }
        }
        unreachable!("the generator of pairs never ends")
    }

    fn plan_id(&self, length: usize) -> PlanId {
        let length = length.clamp(PLAN_ID_LENGTH, 16);
        loop {
            // The alphabet and the length make every draw a valid identifier, so this loop runs once.
            if let Some(id) = PlanId::exact(&nanoid::nanoid!(length, &ALPHABET)) {
                return id;
            }
        }
    }
}

fn welcome(words: &'static [&'static str]) -> Vec<&'static str> {
    let unwelcome: HashSet<&str> = UNWELCOME.split_whitespace().collect();
    words
        .iter()
        .copied()
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()) && !unwelcome.contains(word))
        .collect()
}

#[cfg(test)]
pub mod fakes {
    //! Identifiers that a test has written down.

    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::{IdGenerator, RandomIds};
    use crate::plan::{PlanId, SessionName};

    /// Gives the listed identifiers in order, then random ones.
    #[derive(Default)]
    pub struct ScriptedIds {
        pub names: Mutex<VecDeque<&'static str>>,
        pub plans: Mutex<VecDeque<&'static str>>,
    }

    impl IdGenerator for ScriptedIds {
        fn session_name(&self) -> SessionName {
            let next = self.names.lock().unwrap().pop_front();
            next.map_or_else(|| RandomIds.session_name(), |name| SessionName::parse(name).unwrap())
        }

        fn plan_id(&self, length: usize) -> PlanId {
            let next = self.plans.lock().unwrap().pop_front();
            next.map_or_else(|| RandomIds.plan_id(length), |id| PlanId::parse(id).unwrap())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_names_have_two_different_adjectives_and_no_unwelcome_word() {
        for _ in 0..1_000 {
            let name = RandomIds.session_name();
            let words: Vec<&str> = name.as_str().split('-').collect();
            assert_eq!(words.len(), 3, "{name}");
            assert_ne!(words[0], words[1], "{name}");
            assert!(UNWELCOME.split_whitespace().all(|word| !words.contains(&word)), "{name}");
        }
    }

    #[test]
    fn every_unwelcome_word_is_one_of_the_lists() {
        for word in UNWELCOME.split_whitespace() {
            assert!(names::ADJECTIVES.contains(&word) || names::NOUNS.contains(&word), "{word}");
        }
    }

    #[test]
    fn the_lists_are_long_enough_to_make_collisions_rare() {
        let all = ADJECTIVES.len() * (ADJECTIVES.len() - 1) * NOUNS.len();
        assert!(all > 500_000_000, "{all}");
    }

    #[test]
    fn plan_ids_have_the_length_asked_for() {
        for length in [5, 6, 16] {
            assert_eq!(RandomIds.plan_id(length).as_str().len(), length);
        }
    }
}
