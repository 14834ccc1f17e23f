//! The benchmark: what a client waits for, beside what nobody could do without, in the same run.
//!
//! `cargo bench` measures the release program over its standard input and output and prints a table; it fails where a figure
//! is over its budget. Ratios count, since machines differ and are noisy: what is compared is measured by turns. `cargo test`
//! runs everything once, in small, and judges nothing.
//!
//! - [`client`] is the server's only client, with a clock; [`floor`] does the same work without a server; [`corpus`] writes
//!   the plans.
//! - [`process`], [`calls`] and [`history`] are the figures; [`report`] is the table and the verdict.

#![expect(clippy::expect_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::cast_precision_loss, reason = "what is counted here is small")]

mod calls;
mod client;
mod corpus;
mod floor;
mod history;
mod process;
mod report;
#[expect(unused_imports, reason = "those of its tests")]
#[path = "../../src/store/stems.rs"]
mod stems;
#[expect(dead_code, unused_imports, reason = "the program's own, of which the floor needs a part")]
#[path = "../../src/store/words.rs"]
mod words;

use std::env;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use report::{Figure, Report};

const USAGE: &str = "\
Measures 9plan beside what nobody could do without, and fails where a figure is over its budget.

Usage: cargo bench [-- [--json FILE] [GROUP]...]

GROUP is one of: size, sessions, memory, calls, pipelined, queue, history. Without one, all are measured.
--json FILE writes the figures there, too, as a list of objects.
";

/// A group of figures, and how it is measured.
type Group = (&'static str, fn(&Depth) -> Vec<Figure>);

const GROUPS: [Group; 7] = [
    ("size", process::size),
    ("sessions", process::sessions),
    ("memory", process::memory),
    ("calls", calls::ordinary),
    ("pipelined", calls::pipelined),
    ("queue", calls::long_queue),
    ("history", history::long),
];

/// How much is measured.
pub struct Depth {
    /// Whether the figures are held against their budgets.
    pub judged: bool,
    /// How often a session goes through all its calls.
    pub rounds: usize,
    /// How often the server is started.
    pub starts: usize,
    pub sessions: usize,
    /// How often each search and each list is made.
    pub searches: usize,
    /// How many calls are made before the memory is looked at.
    pub calls: usize,
    /// How many calls are sent at once, and how often.
    pub pipelined: usize,
    pub turns: usize,
    /// How many plans are in the long queue, and in the histories.
    pub queue: usize,
    pub histories: [usize; 2],
}

const FULL: Depth = Depth {
    judged: true,
    rounds: 400,
    starts: 100,
    sessions: 1_000,
    searches: 100,
    calls: 10_000,
    pipelined: 100,
    turns: 20,
    queue: 10_000,
    histories: [10_000, 100_000],
};

const ONCE: Depth = Depth {
    judged: false,
    rounds: 2,
    starts: 1,
    sessions: 3,
    searches: 2,
    calls: 20,
    pipelined: 10,
    turns: 1,
    queue: 20,
    histories: [200, 300],
};

/// What was asked for on the command line.
#[derive(Default)]
struct Options {
    /// Whether cargo runs it as a benchmark, rather than as a test.
    bench: bool,
    help: bool,
    json: Option<String>,
    groups: Vec<String>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => options.bench = true,
                "--help" => options.help = true,
                "--json" => options.json = Some(arguments.next().ok_or("--json takes a file")?),
                _ => options.groups.push(argument),
            }
        }
        if options.bench {
            let unknown = options.groups.iter().find(|group| GROUPS.iter().all(|(name, _)| name != *group));
            return unknown.map_or(Ok(()), |other| Err(format!("{other} is not known"))).map(|()| options);
        }
        // What cargo hands to all tests: flags of their harness, and names of tests.
        options.groups.retain(|argument| !argument.starts_with('-'));
        Ok(options)
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(fault) => {
            let _ = write!(io::stderr(), "{fault}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.help {
        let _ = write!(io::stdout(), "{USAGE}");
        return ExitCode::SUCCESS;
    }
    let depth = if options.bench { FULL } else { ONCE };
    let wanted = |name: &str| options.groups.is_empty() || options.groups.iter().any(|group| group == name);
    let groups: Vec<Group> = GROUPS.into_iter().filter(|(name, _)| wanted(name)).collect();
    if groups.is_empty() {
        return ExitCode::SUCCESS;
    }
    floor::is_the_servers();
    let mut report = Report::default();
    for (name, measure) in groups {
        let _ = writeln!(io::stderr(), "measuring {name}");
        report.0.extend(measure(&depth));
    }
    if depth.judged {
        let _ = write!(io::stdout(), "\n{report}");
    } else {
        let _ = writeln!(io::stdout(), "{} figures can be measured", report.0.len());
    }
    if let Some(file) = &options.json {
        fs::write(file, format!("{:#}\n", report.json())).expect("the file for the figures can be written");
    }
    let failed = depth.judged && !report.is_met();
    if failed {
        let _ = writeln!(io::stderr(), "\nover budget: where the table says NO");
    }
    ExitCode::from(u8::from(failed))
}
