//! The benchmark's verdict, table and corpus. The benchmark itself is run once in small by `cargo test`.

#[path = "../bench/corpus.rs"]
mod corpus;
#[path = "../bench/report.rs"]
mod report;

use std::time::Duration;

use serde_json::json;

use corpus::{Corpus, frequencies};
use report::{Budget, Figure, Report, Samples, Unit};

/// A sample of each duration in microseconds.
fn samples(durations: impl IntoIterator<Item = u64>) -> Samples {
    let mut samples = Samples::default();
    durations.into_iter().for_each(|took| samples.add(Duration::from_micros(took)));
    samples
}

#[test]
fn a_percentile_is_a_sample_that_so_many_do_not_exceed() {
    let hundred = samples((1..=100).rev());
    let of = |samples: &Samples, percent| format!("{:.0}", samples.percentile(percent));
    assert_eq!([50, 99, 100].map(|percent| of(&hundred, percent)), ["50", "99", "100"]);
    assert_eq!([50, 99].map(|percent| of(&samples([7]), percent)), ["7", "7"]);
    assert_eq!(of(&samples([]), 50), "0");
}

#[test]
fn a_figure_is_met_up_to_its_budget() {
    let figure = |value, floor, budget| Figure::plain("it", Unit::Microseconds, value, floor, budget).is_met();
    for (value, floor, budget, met) in [
        (150.0, Some(100.0), Budget::Times(1.5), true),
        (150.1, Some(100.0), Budget::Times(1.5), false),
        (1.0, None, Budget::Times(1.5), false),
        (2_100.0, Some(100.0), Budget::TimesOrOver(1.5, 2_000.0), true),
        (2_101.0, Some(100.0), Budget::TimesOrOver(1.5, 2_000.0), false),
        (15_000.0, Some(10_000.0), Budget::TimesOrOver(1.5, 2_000.0), true),
        (15_001.0, Some(10_000.0), Budget::TimesOrOver(1.5, 2_000.0), false),
        (100.0, Some(100.0), Budget::NoLess, true),
        (99.9, Some(100.0), Budget::NoLess, false),
        (1.0, None, Budget::NoLess, false),
        (7.9, None, Budget::Below(8.0), true),
        (8.0, None, Budget::Below(8.0), false),
    ] {
        assert_eq!(figure(value, floor, budget), met, "{value} {floor:?} {budget:?}");
    }
}

#[test]
fn the_report_is_a_table_for_people_and_a_list_for_programs() {
    let floor = [&samples([100]), &samples([300])];
    let report = Report(vec![
        Figure::timed("a call", &samples([400, 500, 1_600]), &floor, Budget::Times(1.2)),
        Figure::plain("memory", Unit::Megabytes, 7.25, None, Budget::Below(12.0)),
        Figure::plain("at once", Unit::PerSecond, 900.0, Some(800.0), Budget::NoLess),
        Figure::plain("the start", Unit::Microseconds, 1_900.0, Some(1_000.0), Budget::TimesOrOver(1.5, 2_000.0)),
    ]);
    let table = "\
| figure    |     p50 |     p99 |   floor | ratio | budget                    | met |
| ---       |     --: |     --: |     --: |   --: | ---                       | --- |
| a call    |  500 µs | 1.60 ms |  400 µs |  1.25 | 1.2 times                 | NO  |
| memory    | 7.25 MB |         |         |       | below 12.00 MB            | yes |
| at once   |   900/s |         |   800/s |  1.12 | not less                  | yes |
| the start | 1.90 ms |         | 1.00 ms |  1.90 | 1.5 times or 2.00 ms more | yes |
";
    assert_eq!(report.to_string(), table);
    assert!(!report.is_met() && Report(report.0[1..].to_vec()).is_met());
    assert_eq!(
        report.json()[0],
        json!({
            "figure": "a call", "unit": "us", "value": 500.0, "p99": 1600.0, "floor": 400.0, "ratio": 1.25,
            "budget": "1.2 times", "met": false,
        })
    );
    assert_eq!(report.json()[1]["floor"], json!(null));
}

#[test]
fn the_corpus_is_the_same_in_each_run_and_its_words_are_distributed_as_in_natural_text() {
    let plans = |count: usize| {
        let mut corpus = Corpus::of(count);
        (0..count).map(|_| corpus.plan()).collect::<Vec<_>>()
    };
    let many = plans(1_000);
    assert_eq!(plans(1_000)[999].text(), many[999].text());
    let mut counts: Vec<usize> = frequencies(&many).into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    // The most frequent stands in nearly all; half of all words stand in one or two.
    assert!(counts[0] > 900 && counts[100] < 400 && counts[counts.len() / 2] <= 2, "{:?}", &counts[..20]);
    let text: String = many.iter().map(corpus::Plan::text).collect();
    let camel = |word: &str| word.chars().any(char::is_uppercase) && word.starts_with(char::is_lowercase);
    assert!(text.contains("src/") && text.contains('_') && text.split_whitespace().any(camel));
    assert_eq!(many[0].arguments()["goal"], json!(many[0].goal));
}
