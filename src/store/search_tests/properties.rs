//! What holds of the search for any text whatever.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{Fields, history, remember};
use crate::plan::tidy;
use crate::store::tests::Bench;
use crate::store::words;

/// What the query language of the index would take for more than words.
fn any_syntax() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\""),
        Just("'"),
        Just("("),
        Just(")"),
        Just("*"),
        Just("^"),
        Just("-"),
        Just("+"),
        Just(":"),
        Just("{"),
        Just("}"),
        Just(","),
        Just("\0"),
        Just(" "),
        Just("NEAR"),
        Just("NEAR(a b, 2)"),
        Just("AND"),
        Just("OR"),
        Just("NOT"),
        Just("goal:"),
        Just("{goal notes}:"),
        Just("plans_fts"),
        Just("heron"),
        Just("漢字"),
        Just("C++"),
        Just("🎉"),
        Just(";"),
        Just("--"),
        Just("%"),
        Just("_"),
        Just("\\"),
        Just("/"),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        any_syntax(),
        "\\PC{0,60}",
        "[a-zA-Z0-9_'’+#./ éßİς日本한글\u{0}\u{301}\u{3099}-]{0,60}"
    ]
}

#[test]
fn no_text_makes_a_search_fail() {
    let (_bench, store) = history(&["Feed the heron", "Goal: near AND far", "漢字を検索する", "C++ and C"]);
    let store = RefCell::new(store);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(512));
    let searched = runner.run(&any_text(), |query| {
        let found = store.borrow_mut().search(&query, 3);
        let found = found.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(found.matches.len() as u64, found.total.min(3));
        Ok(())
    });
    assert_eq!(searched, Ok(()));
}

#[test]
fn any_text_in_any_field_is_found_by_each_of_its_words() {
    let bench = Bench::new();
    let store = RefCell::new(bench.open());
    let mut runner = TestRunner::new(ProptestConfig::with_cases(128));
    let searched = runner.run(&(any_text(), 0..7_usize), |(text, field)| {
        let mut store = store.borrow_mut();
        let text = tidy(&text);
        let at = |place: usize| if place == field { text.as_str() } else { "" };
        let fields = Fields {
            goal: at(0),
            outputs: at(1),
            outcome: at(2),
            context: at(3),
            inputs: at(4),
            approach: at(5),
            notes: at(6),
        };
        let id = remember(&mut store, &fields);
        let telling = |word: &&str| word.chars().count() > 1 && !words::units(word).is_empty();
        for word in text.split_whitespace().filter(telling).take(6) {
            let found = store.search(word, 1_000).unwrap();
            prop_assert!(found.matches.iter().any(|found| found.id == id), "{word:?} in {text:?}");
        }
        Ok(())
    });
    assert_eq!(searched, Ok(()));
}
