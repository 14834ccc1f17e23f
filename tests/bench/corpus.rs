//! Plans of any number, the same in each run.
//!
//! Owns the vocabulary and how often each word is used: as in natural text, the n-th most frequent word about 1/n as often
//! as the first (Zipf), and new words keep coming however much was written. A part of the words are identifiers and paths.
//! Knows nothing of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use fastrand::Rng;
use serde_json::{Value, json};

/// The most frequent words: those that hold an English sentence together, and those of the trade.
const FREQUENT: &str = "the to of and a in is for on with that it as be by from this are or not when if at an all \
    file test plan session server client call add read write error user data code name list type value key table query \
    index text line order time state change check return build run start end open close create remove update find keep \
    move copy parse print format handle request response message header token cache queue worker thread lock process \
    signal memory disk path folder module function method field option result string number count length limit range \
    page row column schema migration transaction commit rollback branch merge release version package dependency \
    configuration environment variable default command argument output input log trace metric alert deploy container \
    network socket port address host proxy route endpoint handler middleware authentication authorisation permission \
    role account profile password secret encryption signature validation pagination search filter sort export import \
    upload download retry timeout backoff failure recovery backup restore documentation example interface component \
    button dialog window layout style colour theme screen keyboard accessibility translation language encoding";

/// How many words there are.
const WORDS: usize = 60_000;

/// How many identifiers there are for each thousand plans.
const IDENTIFIERS: usize = 300;

/// One word in so many is an identifier.
const PLAIN: usize = 12;

/// A plan, and what came of it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub context: String,
    pub goal: String,
    pub inputs: String,
    pub outputs: String,
    pub approach: String,
    pub success_criteria: String,
    pub outcome: String,
}

impl Plan {
    /// The arguments by which a client adds it.
    pub fn arguments(&self) -> Value {
        json!({
            "context": self.context,
            "goal": self.goal,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "approach": self.approach,
            "success_criteria": self.success_criteria,
        })
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let sections = [
            ("Context", &self.context),
            ("Goal", &self.goal),
            ("Inputs", &self.inputs),
            ("Outputs", &self.outputs),
            ("Approach", &self.approach),
            ("Success Criteria", &self.success_criteria),
        ];
        let sections: Vec<String> = sections.iter().map(|(heading, text)| format!("# {heading}\n{text}\n\n")).collect();
        sections.concat() + "# Notes\n"
    }
}

/// Where plans come from.
pub struct Corpus {
    rng: Rng,
    words: Ranked,
    identifiers: Ranked,
}

impl Corpus {
    /// The source of about so many plans; they are the same for the same number.
    pub fn of(plans: usize) -> Self {
        let mut rng = Rng::with_seed(9);
        let words = Ranked::new(vocabulary(&mut rng));
        let identifiers = (0..IDENTIFIERS * plans.div_ceil(1_000)).map(|_| identifier(&mut rng, &words)).collect();
        Self { identifiers: Ranked::new(identifiers), words, rng }
    }

    /// The next plan: some 120 words.
    pub fn plan(&mut self) -> Plan {
        Plan {
            context: self.text(32),
            goal: self.text(10),
            inputs: self.text(8),
            outputs: self.text(10),
            approach: self.text(36),
            success_criteria: self.text(10),
            outcome: self.text(14),
        }
    }

    /// A text of about so many words, in sentences.
    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for at in 0..words.max(2) - self.rng.usize(0..=words / 4) {
            let source = if self.rng.usize(0..PLAIN) == 0 { &self.identifiers } else { &self.words };
            let end = if at % 11 == 10 { ".\n" } else { " " };
            let _ = write!(text, "{}{end}", source.draw(&mut self.rng));
        }
        text.trim_end().to_owned()
    }
}

/// Words by how often they are used, the most frequent first.
struct Ranked {
    words: Vec<String>,
    /// Up to each word, how often it or one before it is used.
    up_to: Vec<f64>,
}

impl Ranked {
    fn new(words: Vec<String>) -> Self {
        let mut sum = 0.0;
        let mut rank = 2.7;
        let up_to = words.iter().map(|_| {
            // Mandelbrot's form of the law, which fits the most frequent words better.
            rank += 1.0;
            sum += 1.0 / rank;
            sum
        });
        Self { up_to: up_to.collect(), words }
    }

    fn draw(&self, rng: &mut Rng) -> &str {
        let drawn = rng.f64() * self.up_to.last().copied().unwrap_or_default();
        let at = self.up_to.partition_point(|up_to| *up_to < drawn);
        &self.words[at.min(self.words.len() - 1)]
    }
}

/// The frequent words, and made-up ones that can be pronounced: the rarer, the longer.
fn vocabulary(rng: &mut Rng) -> Vec<String> {
    const ONSETS: [&str; 24] = [
        "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "cl", "dr", "gr", "pl", "pr",
        "st", "th", "tr",
    ];
    const NUCLEI: [&str; 10] = ["a", "e", "i", "o", "u", "a", "e", "i", "ea", "ou"];
    const CODAS: [&str; 12] = ["", "", "", "", "n", "r", "s", "t", "l", "m", "nd", "ck"];
    const ENDINGS: [&str; 10] = ["", "", "", "s", "ed", "ing", "er", "tion", "ment", "able"];
    let mut words: Vec<String> = FREQUENT.split_whitespace().map(str::to_owned).collect();
    let mut seen: BTreeSet<String> = words.iter().cloned().collect();
    while words.len() < WORDS {
        let syllables = if words.len() < 2_000 { 2 } else { rng.usize(2..=4) };
        let mut word = String::new();
        for _ in 0..syllables {
            for part in [&ONSETS[..], &NUCLEI, &CODAS] {
                word.push_str(part[rng.usize(0..part.len())]);
            }
        }
        word.push_str(ENDINGS[rng.usize(0..ENDINGS.len())]);
        if seen.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

/// The name of a thing in code, or of a file.
fn identifier(rng: &mut Rng, words: &Ranked) -> String {
    let draw = |rng: &mut Rng| words.draw(rng).to_owned();
    let [one, two, three] = [(); 3].map(|()| draw(rng));
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    match rng.usize(0..5) {
        0 => format!("{one}_{two}"),
        1 => format!("{one}{}", capital(&two)),
        2 => format!("{}{}", capital(&one), capital(&two)),
        3 => format!("src/{one}/{two}_{three}.rs"),
        _ => format!("{one}-{two}.{}", ["ts", "md", "toml", "py"][rng.usize(0..4)]),
    }
}

/// In how many of the plans each word of the language stands.
pub fn frequencies<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> BTreeMap<String, usize> {
    let mut frequencies = BTreeMap::new();
    for plan in plans {
        let texts = [&plan.goal, &plan.outputs, &plan.outcome, &plan.context, &plan.inputs, &plan.approach];
        let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split([' ', '\n', '.'])).collect();
        for word in words.into_iter().filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())) {
            *frequencies.entry(word.to_owned()).or_default() += 1;
        }
    }
    frequencies
}
