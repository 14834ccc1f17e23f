//! The completed plans: indexing, searching, getting.
//!
//! Owns the full-text index and how matches are ranked. What a word is, is for [`super::words`] to say: the index and the
//! query go through the same function. No text of a query can make a search fail, since only terms of our own making get
//! into the query language.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use super::rows::{TEXT_COLUMNS, row_of, stored_id, stored_plan};
use super::spelling::{self, Nearest};
use super::waiting;
use super::words::{self, Unit, Word};
use crate::error::Error;
use crate::plan::{Plan, PlanId, Status};

/// How many different words of a query are searched for. More would not find more, only later.
pub const WORDS_SEARCHED: usize = 32;

/// The weights of goal, outputs, outcome, context, inputs, approach, notes: what a plan was for and what came of it is
/// what an agent asks for.
const BM25: &str = "bm25(plans_fts, 8.0, 6.0, 6.0, 2.0, 2.0, 1.0, 1.0)";

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// Best first.
    pub matches: Vec<Match>,
    /// How many plans match, whether listed or not.
    pub total: u64,
    /// Words that stand nowhere in the history, each with what was searched for instead.
    pub replaced: Vec<(String, Vec<String>)>,
    /// How many words of the query were left out, being more than [`WORDS_SEARCHED`].
    pub left_out: usize,
}

/// A completed plan that matches.
#[derive(Debug)]
pub struct Match {
    pub id: PlanId,
    pub goal: String,
    pub outcome: String,
    /// 3 for the plan whose id was asked for, from 1 to below 2 for one that holds all the words, below 1 for one that holds
    /// some.
    pub score: f64,
}

/// A completed plan.
#[derive(Debug)]
pub struct Remembered {
    pub plan: Plan,
    pub outcome: String,
    /// RFC 3339, UTC, as is `completed_at`.
    pub created_at: String,
    pub completed_at: String,
}

/// Gives a plan that has just been completed its place in the history.
pub fn append(db: &Connection, id: &PlanId, plan: &Plan, outcome: &str) -> Result<(), Error> {
    let number: i64 = db
        .prepare_cached(
            "UPDATE plans SET history_no =
                 (SELECT coalesce(max(history_no), 0) + 1 FROM plans WHERE history_no IS NOT NULL)
             WHERE id = ?1
             RETURNING history_no",
        )?
        .query_row([id.as_str()], |row| row.get(0))?;
    index(db, number, plan, outcome)
}

/// Indexes every completed plan, for a session whose schema had another index or none.
pub fn index_all(db: &Connection) -> Result<(), Error> {
    let mut statement =
        db.prepare(&format!("SELECT {TEXT_COLUMNS}, outcome, history_no FROM plans WHERE history_no IS NOT NULL"))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        index(db, row.get(8)?, &stored_plan(row)?, &row.get::<_, Option<String>>(7)?.unwrap_or_default())?;
    }
    Ok(())
}

fn index(db: &Connection, number: i64, plan: &Plan, outcome: &str) -> Result<(), Error> {
    let texts = [plan.goal.as_str(), &plan.outputs, outcome, &plan.context, &plan.inputs, &plan.approach, &plan.notes];
    let mut known = BTreeSet::new();
    let [goal, outputs, said, context, inputs, approach, notes] =
        texts.map(|text| words::index_text_with_words(text, &mut known));
    db.prepare_cached(
        "INSERT INTO plans_fts (rowid, goal, outputs, outcome, context, inputs, approach, notes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((number, goal, outputs, said, context, inputs, approach, notes))?;
    let mut insert = db.prepare_cached("INSERT OR IGNORE INTO words (word) VALUES (?1)")?;
    for word in known {
        insert.execute([word])?;
    }
    Ok(())
}

/// A completed plan by its identifier.
pub fn get(db: &Connection, id: &PlanId) -> Result<Remembered, Error> {
    let found = db
        .prepare_cached(&format!(
            "SELECT {TEXT_COLUMNS}, outcome, strftime('%Y-%m-%dT%H:%M:%SZ', created_at),
                 strftime('%Y-%m-%dT%H:%M:%SZ', completed_at)
             FROM plans WHERE id = ?1 AND status = 'completed'"
        ))?
        .query_row([id.as_str()], |row| {
            let text = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.unwrap_or_default());
            Ok(Remembered { plan: stored_plan(row)?, outcome: text(7)?, created_at: text(8)?, completed_at: text(9)? })
        })
        .optional()?;
    match found {
        Some(remembered) => Ok(remembered),
        None => Err(Error::PlanNotFound { id: id.clone(), found: row_of(db, id)?.map(|(status, _)| status) }),
    }
}

/// The completed plans that answer a query, at most `most` of them.
pub fn search(db: &Connection, query: &str, most: usize) -> Result<Found, Error> {
    let mut found = Found::default();
    let named = named_plan(db, query)?;
    let units = wanted(query, &mut found.left_out);
    let mut clauses = distinct(units.iter().map(plain));
    let mut places = Vec::new();
    found.total = ranked(db, &clauses.join(" AND "), 1.0, most, &mut places)?;
    // Where no plan holds all the words, some of them may be mistyped.
    if found.total == 0 && named.is_none() && !units.iter().all(Unit::is_function_word) {
        clauses = corrected(db, &units, &mut found)?;
        found.total = ranked(db, &clauses.join(" AND "), 1.0, most, &mut places)?;
    }
    let some = clauses.join(" OR ");
    if clauses.len() > 1 {
        found.total += ranked(db, &format!("({some}) NOT ({})", clauses.join(" AND ")), 0.0, most, &mut places)?;
    }
    if let Some(place) = named {
        let known = places.iter().any(|other| other.number == place.number);
        let counted = known
            || !clauses.is_empty()
                && db
                    .prepare_cached("SELECT EXISTS (SELECT 1 FROM plans_fts WHERE plans_fts MATCH ?1 AND rowid = ?2)")?
                    .query_row((&some, place.number), |row| row.get(0))?;
        found.total += u64::from(!counted);
        places.retain(|other| other.number != place.number);
        places.insert(0, place);
    }
    places.truncate(most);
    found.matches = matches(db, &places)?;
    Ok(found)
}

/// A place in the history, and how well the plan there answers the query.
struct Place {
    number: i64,
    score: f64,
}

/// The place of the completed plan whose identifier the query is.
fn named_plan(db: &Connection, query: &str) -> Result<Option<Place>, Error> {
    let Some(id) = PlanId::exact(&query.trim().to_ascii_lowercase()) else { return Ok(None) };
    Ok(db
        .prepare_cached("SELECT history_no FROM plans WHERE id = ?1 AND status = ?2")?
        .query_row([id.as_str(), Status::Completed.as_str()], |row| Ok(Place { number: row.get(0)?, score: 3.0 }))
        .optional()?)
}

/// The completed plans at these places. One is left out where the index names a plan that is not there, as only that of a
/// damaged session does.
fn matches(db: &Connection, places: &[Place]) -> Result<Vec<Match>, Error> {
    let mut statement = db.prepare_cached("SELECT id, goal, outcome FROM plans WHERE history_no = ?1")?;
    let mut matches = Vec::with_capacity(places.len());
    for Place { number, score } in places {
        let mut rows = statement.query([number])?;
        if let Some(row) = rows.next()? {
            let outcome = row.get::<_, Option<String>>(2)?.unwrap_or_default();
            matches.push(Match { id: stored_id(row, 0)?, goal: row.get(1)?, outcome, score: *score });
        }
    }
    Ok(matches)
}

/// Adds the places of the best matches of an expression until there are `most`, best first and of equals the newer first,
/// and gives the number of all matches.
///
/// `floor` is what the scores of this tier start from. BM25 has no upper bound; bent into one tier's width it still puts
/// the better one first, and no plan of a lower tier gets past one of a higher.
fn ranked(db: &Connection, expression: &str, floor: f64, most: usize, places: &mut Vec<Place>) -> Result<u64, Error> {
    let wanted = most.saturating_sub(places.len());
    if expression.is_empty() {
        return Ok(0);
    }
    if wanted == 0 {
        return Ok(db
            .prepare_cached("SELECT count(*) FROM plans_fts WHERE plans_fts MATCH ?1")?
            .query_row([expression], |row| row.get(0))
            .map(super::schema::count)?);
    }
    // To rank all of them in SQL and to count them would be to read them twice.
    let mut statement = db.prepare_cached(&format!("SELECT rowid, -{BM25} FROM plans_fts WHERE plans_fts MATCH ?1"))?;
    let mut rows = statement.query([expression])?;
    let mut total = 0;
    let mut best: Vec<Place> = Vec::new();
    let mut least = 0.0;
    while let Some(row) = rows.next()? {
        total += 1;
        let score: f64 = row.get::<_, f64>(1)?.max(0.0);
        // Later ones are newer, so that they come before those of the same score.
        if score >= least {
            best.push(Place { number: row.get(0)?, score });
        }
        // Rarely, so that sorting takes little beside reading.
        if best.len() > wanted.saturating_mul(4) {
            keep(&mut best, wanted);
            least = best.last().map_or(0.0, |place| place.score);
        }
    }
    keep(&mut best, wanted);
    places
        .extend(best.into_iter().map(|Place { number, score }| Place { number, score: floor + score / (1.0 + score) }));
    Ok(total)
}

/// Keeps the best, best first.
fn keep(places: &mut Vec<Place>, most: usize) {
    places.sort_unstable_by(|one, other| other.score.total_cmp(&one.score).then_with(|| other.number.cmp(&one.number)));
    places.truncate(most);
}

/// What of a query is searched for.
fn wanted(query: &str, left_out: &mut usize) -> Vec<Unit> {
    let mut units = words::units(query);
    // `how do we handle X` asks for X. Where there is nothing else, they are what is asked for, just as they stand.
    if !units.iter().all(Unit::is_function_word) {
        units.retain(|unit| !unit.is_function_word());
    }
    within_limit(units, left_out)
}

/// Each clause once.
fn distinct(clauses: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for clause in clauses {
        if !once.contains(&clause) {
            once.push(clause);
        }
    }
    once
}

/// The query as [`plain`] has it, where an identifier that stands nowhere is replaced, by one expression or by several.
fn corrected(db: &Connection, units: &[Unit], found: &mut Found) -> Result<Vec<String>, Error> {
    let mut clauses = Vec::new();
    for unit in units {
        let clause = plain(unit);
        match unit {
            Unit::Word { parts, whole, .. } if !occurs(db, &clause)? => {
                clauses.extend(replaced(db, parts, whole.as_ref(), found)?);
            }
            _ => clauses.push(clause),
        }
    }
    Ok(distinct(clauses))
}

/// The units that are searched for. Words are counted, not units, since a single path may have ten thousand of them.
fn within_limit(units: Vec<Unit>, left_out: &mut usize) -> Vec<Unit> {
    let mut taken = BTreeSet::new();
    let mut left = BTreeSet::new();
    let mut fits = |word: &str| {
        if taken.len() < WORDS_SEARCHED {
            taken.insert(word.to_owned());
        }
        let fits = taken.contains(word);
        if !fits {
            left.insert(word.to_owned());
        }
        fits
    };
    let mut kept = Vec::new();
    for unit in units {
        match unit {
            Unit::Word { mut parts, names, whole } => {
                parts.retain(|part| fits(&part.text));
                if !parts.is_empty() {
                    kept.push(Unit::Word { parts, names, whole });
                }
            }
            // A long run is searched for in stretches, each of which counts as a word.
            Unit::Run(pieces) => {
                let stretches = pieces.chunks(WORDS_SEARCHED).filter(|stretch| fits(&stretch.concat()));
                kept.extend(stretches.map(|stretch| Unit::Run(stretch.to_vec())));
            }
        }
    }
    *left_out = left.len();
    kept
}

/// A unit just as it was typed.
fn plain(unit: &Unit) -> String {
    match unit {
        Unit::Word { parts, whole, .. } => {
            let parts: Vec<String> = parts.iter().map(|part| quoted(&part.stem)).collect();
            identifier(&parts, whole.as_ref())
        }
        // Pairs that follow one another are the substring; a lone character begins a pair or ends a run.
        Unit::Run(pieces) if pieces.len() == 1 && pieces[0].chars().count() == 1 => format!("{}*", quoted(&pieces[0])),
        Unit::Run(pieces) => quoted(&pieces.join(" ")),
    }
}

/// An identifier is found whole or by all its parts.
fn identifier(parts: &[String], whole: Option<&Word>) -> String {
    let together = parts.join(" AND ");
    match whole {
        // The name of a language with its symbols: the letter alone (`C` of `C++`) names another thing.
        Some(whole) if parts.len() == 1 => quoted(&whole.stem),
        Some(whole) => format!("({} OR ({together}))", quoted(&whole.stem)),
        None => format!("({together})"),
    }
}

fn quoted(term: &str) -> String {
    format!("\"{term}\"")
}

fn occurs(db: &Connection, expression: &str) -> Result<bool, Error> {
    Ok(db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM plans_fts WHERE plans_fts MATCH ?1)")?
        .query_row([expression], |row| row.get(0))?)
}

/// The expressions for an identifier that stands nowhere. Each part that stands nowhere either becomes the words that it
/// begins or, where there are none, those that it is a few edits from. If the parts are then still in no plan together,
/// each is searched for by itself: of a path with a few folders more than the one that was noted, most is right.
fn replaced(db: &Connection, parts: &[Word], whole: Option<&Word>, found: &mut Found) -> Result<Vec<String>, Error> {
    let mut alternatives = Vec::new();
    for part in parts {
        let as_typed = quoted(&part.stem);
        if occurs(db, &as_typed)? {
            alternatives.push(as_typed);
            continue;
        }
        let near = nearby(db, &part.text)?;
        if near.is_empty() {
            alternatives.push(as_typed);
            continue;
        }
        let terms: BTreeSet<String> = near.iter().map(|word| quoted(&words::index_text(word))).collect();
        alternatives.push(format!("({})", Vec::from_iter(terms).join(" OR ")));
        if !found.replaced.iter().any(|(typed, _)| *typed == part.text) {
            found.replaced.push((part.text.clone(), near));
        }
    }
    let together = identifier(&alternatives, whole);
    Ok(if alternatives.len() == 1 || occurs(db, &together)? { vec![together] } else { alternatives })
}

/// The words of the history that a word begins, or else those nearest to it.
fn nearby(db: &Connection, typed: &str) -> Result<Vec<String>, Error> {
    let length = typed.chars().count();
    if length < 3 {
        return Ok(Vec::new());
    }
    let mut begins = db.prepare_cached(
        "SELECT word FROM words WHERE word > ?1 AND word < ?1 || char(0x10ffff) ORDER BY length(word), word LIMIT ?2",
    )?;
    let begun: Vec<String> = begins
        .query_map((typed, i64::try_from(spelling::MAX_NEAREST).unwrap_or(i64::MAX)), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if !begun.is_empty() || spelling::allowed_edits(length) == 0 {
        return Ok(begun);
    }
    waiting::takes_long()?;
    let mut nearest = Nearest::to(typed);
    let mut known = db.prepare_cached("SELECT word FROM words WHERE length(word) BETWEEN ?1 AND ?2")?;
    let (shortest, longest) = nearest.lengths();
    let mut rows = known.query((i64::try_from(shortest).unwrap_or(0), i64::try_from(longest).unwrap_or(i64::MAX)))?;
    while let Some(row) = rows.next()? {
        nearest.consider(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
    }
    Ok(nearest.found)
}
