//! What was measured, beside its budget.
//!
//! Owns the statistics, the verdict, and the two forms of the report: a Markdown table for a person and JSON for a program.
//! Measures nothing.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

/// The durations of one thing that was done many times.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// The duration in microseconds that so many per cent of the samples do not exceed; 0 where there are none.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).map_or(0.0, |took| took.as_secs_f64() * 1e6)
    }

    /// The median, in microseconds.
    pub fn p50(&self) -> f64 {
        self.percentile(50)
    }
}

/// In what a figure is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Microseconds,
    Megabytes,
    PerSecond,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Megabytes => "MB",
            Self::PerSecond => "1/s",
        }
    }
}

/// What a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// At most so many times its floor.
    Times(f64),
    /// At most so many times its floor or so much over it, whichever is more.
    TimesOrOver(f64, f64),
    /// Not less than its floor.
    NoLess,
    /// Less than this, whatever the floor is.
    Below(f64),
}

/// One line of the report.
#[derive(Clone, Debug)]
pub struct Figure {
    pub name: String,
    pub unit: Unit,
    /// What the budget is about: of samples the median.
    pub value: f64,
    /// Of samples.
    pub p99: Option<f64>,
    /// What was measured beside it, and could not be less.
    pub floor: Option<f64>,
    pub budget: Budget,
}

impl Figure {
    /// A figure of samples, with the medians of what its floor is made of.
    pub fn timed(name: impl Into<String>, samples: &Samples, floor: &[&Samples], budget: Budget) -> Self {
        Self {
            name: name.into(),
            unit: Unit::Microseconds,
            value: samples.p50(),
            p99: Some(samples.percentile(99)),
            floor: (!floor.is_empty()).then(|| floor.iter().map(|part| part.p50()).sum()),
            budget,
        }
    }

    /// A single number.
    pub fn plain(name: impl Into<String>, unit: Unit, value: f64, floor: Option<f64>, budget: Budget) -> Self {
        Self { name: name.into(), unit, value, p99: None, floor, budget }
    }

    /// How many times the floor it is.
    fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.value / floor)
    }

    /// Whether it is within its budget. A figure without the floor that its budget needs is not.
    pub fn is_met(&self) -> bool {
        let within = |most: &dyn Fn(f64) -> f64| self.floor.is_some_and(|floor| self.value <= most(floor));
        match self.budget {
            Budget::Times(times) => within(&|floor| floor * times),
            Budget::TimesOrOver(times, over) => within(&|floor| (floor * times).max(floor + over)),
            Budget::NoLess => self.floor.is_some_and(|floor| self.value >= floor),
            Budget::Below(most) => self.value < most,
        }
    }

    fn allowed(&self) -> String {
        match self.budget {
            Budget::Times(times) => format!("{times} times"),
            Budget::TimesOrOver(times, over) => format!("{times} times or {} more", shown(self.unit, over)),
            Budget::NoLess => "not less".to_owned(),
            Budget::Below(most) => format!("below {}", shown(self.unit, most)),
        }
    }

    fn json(&self) -> Value {
        json!({
            "figure": self.name,
            "unit": self.unit.name(),
            "value": self.value,
            "p99": self.p99,
            "floor": self.floor,
            "ratio": self.ratio(),
            "budget": self.allowed(),
            "met": self.is_met(),
        })
    }
}

/// A number with its unit, in three digits or so.
fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Microseconds if value >= 1_000.0 => format!("{:.2} ms", value / 1_000.0),
        Unit::Microseconds => format!("{value:.0} µs"),
        Unit::Megabytes => format!("{value:.2} MB"),
        Unit::PerSecond => format!("{value:.0}/s"),
    }
}

/// All that was measured.
#[derive(Debug, Default)]
pub struct Report(pub Vec<Figure>);

impl Report {
    pub fn is_met(&self) -> bool {
        self.0.iter().all(Figure::is_met)
    }

    /// The figures as a list of objects. Numbers are in the unit that stands beside them; what is missing is null.
    pub fn json(&self) -> Value {
        self.0.iter().map(Figure::json).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let optional = |unit, value: Option<f64>| value.map_or_else(String::new, |value| shown(unit, value));
        let mut rows = vec![["figure", "p50", "p99", "floor", "ratio", "budget", "met"].map(str::to_owned)];
        rows.push(["---", "--:", "--:", "--:", "--:", "---", "---"].map(str::to_owned));
        rows.extend(self.0.iter().map(|figure| {
            [
                figure.name.clone(),
                shown(figure.unit, figure.value),
                optional(figure.unit, figure.p99),
                optional(figure.unit, figure.floor),
                figure.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                figure.allowed(),
                if figure.is_met() { "yes" } else { "NO" }.to_owned(),
            ]
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        for row in &rows {
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                let cell = match column {
                    1..=4 => format!("{cell:>width$}"),
                    _ => format!("{cell:<width$}"),
                };
                write!(f, "| {cell} ")?;
            }
            writeln!(f, "|")?;
        }
        Ok(())
    }
}
