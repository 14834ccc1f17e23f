//! What the search finds, what it must not, and in which order.
//!
//! The examples of each table stand in one history together, so that they compete.

mod examples;
mod properties;

use super::history::{Found, WORDS_SEARCHED};
use super::tests::{Bench, activate, add, complete, discard, plan_id};
use super::{Ending, SessionStore};
use crate::plan::{Plan, PlanId, Position};

/// A completed plan, the texts in the order in which the fields weigh.
#[derive(Default)]
struct Fields<'a> {
    goal: &'a str,
    outputs: &'a str,
    outcome: &'a str,
    context: &'a str,
    inputs: &'a str,
    approach: &'a str,
    notes: &'a str,
}

/// Puts a plan into the history.
fn remember(store: &mut SessionStore, fields: &Fields<'_>) -> PlanId {
    let plan = Plan {
        context: fields.context.into(),
        goal: fields.goal.into(),
        inputs: fields.inputs.into(),
        outputs: fields.outputs.into(),
        approach: fields.approach.into(),
        success_criteria: String::new(),
        notes: fields.notes.into(),
    };
    store.add(&plan, Position::Front, None).unwrap();
    store.pull(None).unwrap();
    store.finish(Ending::Completed { outcome: fields.outcome }, None).unwrap().id
}

/// Puts a plan with this goal alone into the history.
fn remember_goal(store: &mut SessionStore, goal: &str) -> PlanId {
    remember(store, &Fields { goal, ..Fields::default() })
}

fn goals(found: &Found) -> Vec<&str> {
    found.matches.iter().map(|found| found.goal.as_str()).collect()
}

/// A session with these goals in its history.
fn history(goals: &[&str]) -> (Bench, SessionStore) {
    let bench = Bench::new();
    let mut store = bench.open();
    for goal in goals {
        remember_goal(&mut store, goal);
    }
    (bench, store)
}

#[test]
fn plans_with_all_the_words_come_before_plans_with_some() {
    let bench = Bench::new();
    let mut store = bench.open();
    let buried = format!("{} falcon {} heron", "filler ".repeat(100), "filler ".repeat(100));
    remember(&mut store, &Fields { goal: "Both words", notes: &buried, ..Fields::default() });
    remember_goal(&mut store, "falcon falcon falcon");
    remember_goal(&mut store, "heron heron heron");
    for number in 0..8 {
        remember_goal(&mut store, &format!("Something else {number}"));
    }
    let found = store.search("heron falcon", 10).unwrap();
    assert_eq!((goals(&found)[0], found.matches.len(), found.total), ("Both words", 3, 3));
    let scores: Vec<f64> = found.matches.iter().map(|found| found.score).collect();
    assert!(scores[0] > 1.0 && scores[1] < 1.0 && scores[1] >= scores[2], "{scores:?}");
}

#[test]
fn function_words_decide_nothing_where_there_are_others() {
    let (_bench, mut store) = history(&["Serve posts for the page, that is all", "Write to the log", "Handle GraphQL"]);
    let found = |store: &mut SessionStore, query: &str| {
        let found = store.search(query, 10).unwrap();
        let goals: Vec<String> = found.matches.into_iter().map(|found| found.goal).collect();
        (goals, found.replaced)
    };
    assert_eq!(found(&mut store, "how do we handle the GraphQL"), (vec!["Handle GraphQL".to_owned()], vec![]));
    assert_eq!(found(&mut store, "what about payments"), (vec![], vec![]));
    // Alone they are what is asked for, as they stand: `than` is no mistyped `that`.
    assert_eq!(found(&mut store, "to the").0, ["Write to the log", "Serve posts for the page, that is all"]);
    assert_eq!(found(&mut store, "than"), (vec![], vec![]));
}

#[test]
fn what_a_plan_was_for_and_what_came_of_it_weigh_more_than_the_rest() {
    let bench = Bench::new();
    let mut store = bench.open();
    let names = ["goal", "outputs", "outcome", "context", "inputs", "approach", "notes"];
    let mut ids = Vec::new();
    // The last is put in first, so that being newer does not decide.
    for name in names.iter().rev() {
        let field = |field: &str| if field == *name { "kestrel flies" } else { "nothing flies" };
        let fields = Fields {
            goal: field("goal"),
            outputs: field("outputs"),
            outcome: field("outcome"),
            context: field("context"),
            inputs: field("inputs"),
            approach: field("approach"),
            notes: field("notes"),
        };
        ids.push((remember(&mut store, &fields), *name));
    }
    for number in 0..20 {
        remember_goal(&mut store, &format!("Another plan {number}"));
    }
    let found = store.search("kestrel", 10).unwrap();
    let order: Vec<&str> =
        found.matches.iter().map(|found| ids.iter().find(|(id, _)| *id == found.id).unwrap().1).collect();
    assert_eq!(order[0], "goal");
    assert_eq!(sorted(&order[1..3]), ["outcome", "outputs"]);
    assert_eq!(sorted(&order[3..]), ["approach", "context", "inputs", "notes"]);
    let scores: Vec<f64> = found.matches.iter().map(|found| found.score).collect();
    assert!(scores[2] > scores[3], "{scores:?}");
}

fn sorted<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let mut texts = texts.to_vec();
    texts.sort_unstable();
    texts
}

#[test]
fn the_success_criteria_are_no_field_of_the_search() {
    let bench = Bench::new();
    let mut store = bench.open();
    let plan = Plan { goal: "Goal".into(), success_criteria: "The kestrel flies".into(), ..Plan::default() };
    store.add(&plan, Position::Back, None).unwrap();
    store.pull(None).unwrap();
    complete(&mut store, "done");
    assert_eq!(store.search("kestrel", 10).unwrap().total, 0);
}

#[test]
fn the_identifier_of_a_plan_finds_it_first() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["k7f3m", "m2x9p", "x5k9m"]);
    remember_goal(&mut store, "Continue k7f3m, that is k7f3m");
    remember_goal(&mut store, "k7f3m went before this one");
    remember_goal(&mut store, "Nothing to do with it");
    for query in ["k7f3m", "K7F3M", "  k7f3m \n"] {
        let found = store.search(query, 10).unwrap();
        let ids: Vec<&str> = found.matches.iter().map(|found| found.id.as_str()).collect();
        assert_eq!((ids, found.total), (vec!["k7f3m", "m2x9p"], 2), "{query:?}");
        assert!(found.matches[0].score > 2.0 && found.matches[1].score < 2.0, "{query:?}");
    }
    // It is not listed again where it names itself, and takes no other's place.
    assert_eq!(store.search("k7f3m", 2).unwrap().matches.len(), 2);
    let found = store.search("X5K9M", 1).unwrap();
    assert_eq!((goals(&found), found.total), (vec!["Nothing to do with it"], 1));
    let found = store.search("m2x9p", 1).unwrap();
    assert_eq!((goals(&found), found.total), (vec!["k7f3m went before this one"], 1));
}

#[test]
fn matches_beyond_the_most_are_counted() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["k7f3m"]);
    remember_goal(&mut store, "Nothing of the kind");
    for number in 0..12 {
        remember_goal(&mut store, &format!("Feed the heron {number}"));
    }
    remember_goal(&mut store, "Feed the falcon and the heron k7f3m");
    for (query, most, listed, total) in [
        ("heron", 5, 5, 13),
        ("heron", 1, 1, 13),
        ("heron", 50, 13, 13),
        ("falcon heron", 3, 3, 13),
        ("falcon heron", 1, 1, 13),
        ("k7f3m", 1, 1, 2),
        ("k7f3m", 2, 2, 2),
        ("osprey", 5, 0, 0),
    ] {
        let found = store.search(query, most).unwrap();
        assert_eq!((found.matches.len(), found.total), (listed, total), "{query:?}, at most {most}");
    }
}

#[test]
fn scores_never_rise_and_no_plan_is_listed_twice() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["heron"]);
    let birds = ["heron", "falcon", "kestrel", "osprey"];
    for number in 0..30_usize {
        let goal = (0..=number % 5).map(|word| birds[(number / 3 + word) % 4]).collect::<Vec<_>>().join(" ");
        remember(&mut store, &Fields { goal: &goal, notes: birds[number % 4], ..Fields::default() });
    }
    for query in ["heron", "falcon kestrel", "heron falcon kestrel osprey", "falcn osprey nothing", "kest"] {
        let found = store.search(query, 50).unwrap();
        let mut ids: Vec<&PlanId> = found.matches.iter().map(|found| &found.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), found.matches.len() as u64), (found.matches.len(), found.total), "{query:?}");
        assert!(found.total > 10, "{query:?}");
        assert!(found.matches.windows(2).all(|pair| pair[0].score >= pair[1].score), "{query:?}: {:?}", found.matches);
        assert!(found.matches.iter().all(|found| found.score > 0.0), "{query:?}");
    }
}

#[test]
fn only_completed_plans_are_found() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["ddddd", "ccccc", "aaaaa", "qqqqq"]);
    activate(&mut store, "Feed the heron, discarded");
    discard(&mut store, "heron");
    activate(&mut store, "Feed the heron, completed");
    complete(&mut store, "heron");
    activate(&mut store, "Feed the heron, active");
    add(&mut store, "Feed the heron, queued");
    let found = store.search("heron", 10).unwrap();
    assert_eq!((goals(&found), found.total), (vec!["Feed the heron, completed"], 1));
    for query in ["ddddd", "aaaaa", "qqqqq", "discarded", "active", "queued"] {
        assert_eq!(store.search(query, 10).unwrap().total, 0, "{query:?}");
    }
    // What goes back to the queue, or ends otherwise, still is not.
    store.defer("heron", Position::Front, None).unwrap();
    store.pull(None).unwrap();
    discard(&mut store, "heron");
    assert_eq!(store.search("heron", 10).unwrap().total, 1);
    assert_eq!(store.remembered(&plan_id("ccccc")).unwrap().outcome, "heron");
}

#[test]
fn a_word_is_taken_for_another_only_where_it_is_nowhere_as_typed() {
    let typed = |goals: &[&str], query: &str| {
        let (_bench, mut store) = history(goals);
        let found = store.search(query, 10).unwrap();
        let mut found_goals: Vec<String> = found.matches.iter().map(|found| found.goal.clone()).collect();
        found_goals.sort();
        (found_goals, found.replaced)
    };
    let instead =
        |word: &str, words: &[&str]| vec![(word.to_owned(), words.iter().map(|&word| word.to_owned()).collect())];
    let owned = |goals: &[&str]| goals.iter().map(|&goal| goal.to_owned()).collect::<Vec<_>>();

    assert_eq!(typed(&["Catching", "Caching"], "caching"), (owned(&["Caching"]), vec![]));
    assert_eq!(typed(&["Catching", "Cached"], "caching"), (owned(&["Cached"]), vec![]));
    assert_eq!(typed(&["Catching", "Other"], "caching"), (owned(&["Catching"]), instead("caching", &["catching"])));
    assert_eq!(typed(&["Auth", "Authentication"], "auth"), (owned(&["Auth"]), vec![]));
    assert_eq!(
        typed(&["Authentication", "Author"], "auth"),
        (owned(&["Authentication", "Author"]), instead("auth", &["author", "authentication"]))
    );
    // A word that begins others is not taken for a mistyped one as well.
    assert_eq!(typed(&["Clients", "Clint"], "clien"), (owned(&["Clients"]), instead("clien", &["clients"])));
    // Said once, however often it is typed.
    let twice = typed(&["Wrap ghost_client"], "gohst_client gohst/api");
    assert_eq!(twice, (owned(&["Wrap ghost_client"]), instead("gohst", &["ghost"])));
    assert_eq!(typed(&["Caching"], "xyz"), (owned(&[]), vec![]));
}

#[test]
fn a_query_longer_than_is_searched_for_answers_and_says_what_was_left_out() {
    let (_bench, mut store) = history(&["Feed the heron", "Watch the falcon", "漢字を検索する"]);
    let words = (0..10_000).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ");
    let found = store.search(&format!("heron {words}"), 10).unwrap();
    assert_eq!((goals(&found), found.left_out), (vec!["Feed the heron"], 10_001 - WORDS_SEARCHED));
    // Being repeated makes a word no further word.
    let found = store.search(&format!("heron {words} {words} heron"), 10).unwrap();
    assert_eq!((goals(&found), found.left_out), (vec!["Feed the heron"], 10_001 - WORDS_SEARCHED));
    let repeated = "heron falcon ".repeat(5_000);
    assert_eq!((store.search(&repeated, 10).unwrap().total, store.search(&repeated, 10).unwrap().left_out), (2, 0));

    let one_word = format!("heron/{}", words.replace(' ', "/"));
    let found = store.search(&one_word, 10).unwrap();
    assert_eq!((goals(&found), found.left_out), (vec!["Feed the heron"], 10_001 - WORDS_SEARCHED));
    for query in ["é".repeat(32 * 1024), "heron/".repeat(11_000), "C++ ".repeat(16 * 1024), "\"(*".repeat(21_845)] {
        assert_eq!(store.search(&query, 10).unwrap().left_out, 0, "{:?}", &query[..8]);
    }
    let long_run: String = (0..21_845).map(|number| char::from_u32(0x4E00 + number % 20_000).unwrap()).collect();
    assert!(store.search(&long_run, 10).unwrap().left_out > 0);
}
