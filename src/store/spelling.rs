//! Which words a mistyped one may stand for.
//!
//! Owns the distance between words and how far is near. Knows nothing of how a text becomes words, or where they are kept.

/// How many neighbours of a mistyped word are worth trying.
pub const MAX_NEAREST: usize = 8;

/// Below so many letters, a mistyped word must begin as the one it stands for.
const SHORT: usize = 6;

/// How many edits away from its meaning a typed word of this length may be.
#[must_use]
pub fn allowed_edits(chars: usize) -> usize {
    match chars {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

/// The words nearest to a folded one, within the edits that its length allows.
///
/// Inserting, deleting, replacing a character and swapping two neighbours each count as one edit. Only the candidates at the
/// smallest distance found are given, at most [`MAX_NEAREST`] of them in the order in which they came. A short word must
/// begin as the typed one does.
pub struct Nearest<'a> {
    typed: &'a str,
    length: usize,
    letters: u64,
    limit: usize,
    best: usize,
    /// The nearest of what was considered so far.
    pub found: Vec<String>,
}

impl<'a> Nearest<'a> {
    /// Nothing yet.
    #[must_use]
    pub fn to(typed: &'a str) -> Self {
        let length = typed.chars().count();
        let limit = allowed_edits(length);
        Self { typed, length, letters: letter_set(typed), limit, best: usize::MAX, found: Vec::new() }
    }

    /// How many characters a candidate has at least and at most.
    pub fn lengths(&self) -> (usize, usize) {
        (self.length.saturating_sub(self.limit), self.length + self.limit)
    }

    /// Takes a candidate if it is near enough.
    pub fn consider(&mut self, candidate: &str) {
        // Measuring is the expensive step. One edit changes the length by at most one and takes at most one letter
        // out of the set and puts one in, so most candidates are ruled out without it.
        if self.limit == 0
            || (letter_set(candidate) ^ self.letters).count_ones() as usize > 2 * self.limit
            || candidate.chars().count().abs_diff(self.length) > self.limit
        {
            return;
        }
        let distance = strsim::osa_distance(self.typed, candidate);
        if distance > self.limit || !begins_alike(self.typed, candidate, self.length) {
            return;
        }
        if distance < self.best {
            self.best = distance;
            self.limit = distance;
            self.found.clear();
        }
        if self.found.len() < MAX_NEAREST {
            self.found.push(candidate.to_owned());
        }
    }
}

/// Whether a short word may be a mistyped form of another by how both begin: another first letter makes another word of it
/// (`hook`, `look`), unless one is missing or two have changed places.
fn begins_alike(typed: &str, candidate: &str, length: usize) -> bool {
    let first_two = |word: &str| {
        let mut letters = word.chars();
        (letters.next(), letters.next())
    };
    let ((a, b), (x, y)) = (first_two(typed), first_two(candidate));
    length >= SHORT || a == x || (a, b) == (y, x) || candidate.chars().count() != length
}

/// Which characters a word has, as bits. Characters may share a bit, which can only hide a difference.
fn letter_set(word: &str) -> u64 {
    word.chars().fold(0, |set, c| set | 1 << (u32::from(c) % 64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nearest<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut nearest = Nearest::to(typed);
        candidates.for_each(|candidate| nearest.consider(candidate));
        nearest.found
    }

    #[test]
    fn longer_words_may_be_further_off() {
        let allowed: Vec<_> = (0..10).map(allowed_edits).collect();
        assert_eq!(allowed, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn the_nearest_words_are_those_at_the_smallest_distance() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("cahcing", &["catching", "caching", "cache"], &["caching"]),
            ("autentication", &["authorisation", "authentication", "authenticated"], &["authentication"]),
            ("fop", &["foo", "fop"], &[]),
            ("tset", &["test", "text", "set", "tset1", "tests"], &["test", "set", "tset1"]),
            ("abcdefgh", &["abcdefxy", "abcdefgx", "xbcdefgh", "abcdefxz"], &["abcdefgx", "xbcdefgh"]),
            ("abcdefgh", &["abcdefxy", "uvwxyz"], &["abcdefxy"]),
            ("abcd", &["abxy", "ab", "abcdef"], &[]),
            ("привт", &["привет", "пример"], &["привет"]),
            ("hook", &["look", "hoot"], &["hoot"]),
            ("ohok", &["hook", "chok"], &["hook"]),
            ("gost", &["host", "ghost", "ost"], &["ghost", "ost"]),
            ("catche", &["batche"], &["batche"]),
        ];
        for (typed, candidates, expected) in cases {
            assert_eq!(nearest(typed, candidates.iter().copied()), *expected, "nearest to {typed:?}");
        }
        let many: Vec<String> = ('a'..='z').map(|c| format!("wor{c}s")).collect();
        assert_eq!(nearest("wor1s", many.iter().map(String::as_str)), many[..8]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn the_nearest_are_what_measuring_every_candidate_finds(
            typed in "[a-dé]{0,10}", candidates in prop::collection::vec("[a-dé]{0,10}", 0..40),
        ) {
            let distance = |candidate: &&str| strsim::osa_distance(&typed, candidate);
            let length = typed.chars().count();
            let within = |candidate: &&str| {
                distance(candidate) <= allowed_edits(length) && begins_alike(&typed, candidate, length)
            };
            let all = || candidates.iter().map(String::as_str);
            let smallest = all().filter(within).map(|candidate| distance(&candidate)).min();
            let expected: Vec<&str> = all()
                .filter(|candidate| length > 3 && within(candidate) && Some(distance(candidate)) == smallest)
                .take(MAX_NEAREST)
                .collect();
            prop_assert_eq!(nearest(&typed, all()), expected);
        }
    }
}
