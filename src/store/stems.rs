//! The stems of English words.
//!
//! Owns which forms of a word count as one, and keeps those met before. Knows nothing of how a text becomes words.

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

/// How many words are kept with their stems.
const KEPT: usize = 2_048;

thread_local! {
    static KNOWN: RefCell<HashMap<String, String>> = RefCell::default();
}

/// The stem of a lower-case word. Finding it takes longer than all else that is done with a word, and most words of a text are
/// of the few that are common.
pub fn stem(word: &str) -> String {
    KNOWN.with_borrow_mut(|known| {
        if let Some(stem) = known.get(word) {
            return stem.clone();
        }
        if known.len() >= KEPT {
            known.clear();
        }
        let stem = Stemmer::create(Algorithm::English).stem(word).into_owned();
        known.insert(word.to_owned(), stem.clone());
        stem
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_same_stem_however_many_others_were_met() {
        assert_eq!(stem("authenticated"), "authent");
        for number in 0..3 * KEPT {
            stem(&format!("word{number}"));
            assert!(KNOWN.with_borrow(HashMap::len) <= KEPT);
        }
        assert_eq!(stem("authenticated"), "authent");
        assert_eq!(stem("authentication"), "authent");
    }
}
