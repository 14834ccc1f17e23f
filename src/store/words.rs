//! Text analysis for the history search: how a text becomes words.
//!
//! This module owns one question only: which terms does a text consist of? Texts being indexed and queries being typed
//! go through the same functions, so that whatever is decided here holds on both sides. It knows nothing of SQL, of
//! files or of the protocol. All it promises to the index is that a term holds no whitespace and no ASCII except
//! `a-z` and `0-9`, so that a tokenizer which breaks only at ASCII punctuation and spaces leaves every term intact.

use std::borrow::Cow;
use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::stems::stem;

/// Longer terms are cut here: nobody types them, and encoded blobs would otherwise fill the index.
const MAX_TERM: usize = 64;

/// Shorter words are left out of the vocabulary: nearly all of them are one edit away from each other.
const MIN_VOCABULARY: usize = 3;

/// Words that say how others hang together, and stand in nearly every text.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "just", "may", "me", "might", "must", "my", "no", "nor", "not", "of", "on", "or",
    "our", "shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "whom",
    "whose", "why", "will", "with", "would", "you", "your",
];

/// The mark that turns a digit into a keycap emoji.
const KEYCAP: char = '\u{20E3}';

/// A word in two spellings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word as typed, with case and accents folded away.
    pub text: String,
    /// The term the index holds for it.
    pub stem: String,
}

/// One thing a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// A word, or an identifier made of several.
    Word {
        /// Never empty.
        parts: Vec<Word>,
        /// The names inside a path that have several parts, each written as one: `ghostclient` in `src/ghost_client.ts`.
        names: Vec<Word>,
        /// All parts written as one; only where that says more than the parts do.
        whole: Option<Word>,
    },
    /// A run of CJK characters, as overlapping pairs in order; a lone character stands alone.
    Run(Vec<String>),
}

impl Unit {
    /// Whether it is a word that says nothing of what a text is about, in English.
    pub fn is_function_word(&self) -> bool {
        match self {
            Self::Word { parts, whole: None, .. } => {
                parts.iter().all(|part| FUNCTION_WORDS.contains(&part.text.as_str()))
            }
            _ => false,
        }
    }
}

/// What a text consists of, in order.
#[must_use]
pub fn units(text: &str) -> Vec<Unit> {
    let mut found = Vec::new();
    each_unit(text, &mut |unit| found.push(unit));
    found
}

/// The terms of a text separated by spaces, as the index stores them.
///
/// A CJK run ends with its last character on its own. Every other character of the run begins one of its pairs, so a
/// search for terms beginning with a character finds it wherever it stands.
#[must_use]
pub fn index_text(text: &str) -> String {
    let mut terms = String::new();
    each_unit(text, &mut |unit| add_terms(&unit, &mut terms));
    terms
}

/// The same, and adds the words of the text to those that mistyped ones are looked up in: folded but not stemmed.
///
/// CJK runs have no words to mistype, and a number near another number is a different number.
#[must_use]
pub fn index_text_with_words(text: &str, words: &mut BTreeSet<String>) -> String {
    let mut terms = String::with_capacity(text.len() + text.len() / 2);
    each_unit(text, &mut |unit| {
        add_terms(&unit, &mut terms);
        if let Unit::Word { parts, names, whole } = unit {
            words.extend(parts.into_iter().chain(names).chain(whole).map(|word| word.text).filter(|text| {
                (MIN_VOCABULARY..=MAX_TERM).contains(&text.chars().count()) && !text.chars().all(char::is_numeric)
            }));
        }
    });
    terms
}

fn add_terms(unit: &Unit, terms: &mut String) {
    let mut push = |term: &str| {
        if !terms.is_empty() {
            terms.push(' ');
        }
        terms.push_str(term);
    };
    match unit {
        Unit::Word { parts, names, whole } => {
            parts.iter().chain(names).chain(whole).for_each(|word| push(&word.stem));
        }
        Unit::Run(pieces) => {
            for piece in pieces {
                push(piece);
            }
            if let Some(last) = pieces.last()
                && let Some((second, _)) = last.char_indices().nth(1)
            {
                push(&last[second..]);
            }
        }
    }
}

/// Hands over the units one at a time, so that indexing a long text never holds all of them.
fn each_unit(text: &str, emit: &mut impl FnMut(Unit)) {
    let mut chars = Vec::new();
    for chunk in normalised(text).split_whitespace() {
        chars.clear();
        chars.extend(chunk.chars());
        read_chunk(&chars, emit);
    }
}

/// One spelling for characters that mean the same, without those that only hint at how to draw or break a word.
fn normalised(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let hint = |c: &char| matches!(c, '\u{AD}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}');
    Cow::Owned(text.chars().filter(|c| !hint(c)).nfkc().collect())
}

fn read_chunk(chars: &[char], emit: &mut impl FnMut(Unit)) {
    let mut identifier = Identifier::default();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if is_cjk(c) {
            identifier.emit("", emit);
            let end = run_end(chars, at, is_cjk);
            emit_run(&chars[at..end], emit);
            at = end;
        } else if chars.get(at + 1) == Some(&KEYCAP) {
            at += 2;
        } else if is_word(c) {
            let (piece, end) = read_piece(chars, at);
            at = end;
            if let Some((name, length)) = symbol_after(&piece, &chars[end..]) {
                // A language named next to something else (`C++17`, `C#/F#`) must be found by its name alone.
                identifier.emit("", emit);
                identifier.push(&piece);
                identifier.emit(name, emit);
                at += length;
            } else {
                identifier.push(&piece);
            }
        } else {
            match c {
                '_' | '-' => {}
                _ if is_apostrophe(c) => {}
                '.' | '/' | '\\' | ':' | '@' => identifier.end_name(),
                // Brackets, operators and the like stand between identifiers, not in them.
                _ => identifier.emit("", emit),
            }
            at += 1;
        }
    }
    identifier.emit("", emit);
}

/// The identifier being read: its parts, and those names of several parts in it that a path joins.
#[derive(Default)]
struct Identifier {
    parts: Vec<Word>,
    names: Vec<Word>,
    /// Where among the parts the current name begins.
    name_from: usize,
}

impl Identifier {
    fn push(&mut self, piece: &[char]) {
        // Marks that stand on no letter fold to nothing.
        let folded = camel_parts(piece).into_iter().map(fold).filter(|text| !text.is_empty());
        self.parts.extend(folded.map(word));
    }

    fn end_name(&mut self) {
        let name = &self.parts[self.name_from..];
        if name.len() > 1 {
            self.names.push(joined(name, ""));
        }
        self.name_from = self.parts.len();
    }

    fn emit(&mut self, symbol: &str, emit: &mut impl FnMut(Unit)) {
        if self.name_from > 0 {
            self.end_name();
        }
        let Self { parts, mut names, .. } = std::mem::take(self);
        if parts.is_empty() {
            return;
        }
        let whole = (parts.len() > 1 || !symbol.is_empty()).then(|| joined(&parts, symbol));
        names.retain(|name| Some(name) != whole.as_ref());
        emit(Unit::Word { parts, names, whole });
    }
}

fn joined(parts: &[Word], symbol: &str) -> Word {
    let letters = parts.iter().flat_map(|part| part.text.chars()).chain(symbol.chars());
    word(letters.take(MAX_TERM).collect())
}

fn emit_run(run: &[char], emit: &mut impl FnMut(Unit)) {
    // A voicing mark that stands on nothing is no text.
    if run.iter().all(|&c| is_combining_mark(c)) {
        return;
    }
    let pair = 2.min(run.len());
    emit(Unit::Run(run.windows(pair).map(|pair| pair.iter().collect()).collect()));
}

/// The word beginning at `start`, with its apostrophes resolved, and where it ends.
fn read_piece(chars: &[char], start: usize) -> (Vec<char>, usize) {
    let mut end = run_end(chars, start, is_word);
    let mut piece = chars[start..end].to_vec();
    while chars.get(end).copied().is_some_and(is_apostrophe) {
        let tail_end = run_end(chars, end + 1, is_word);
        match &chars[end + 1..tail_end] {
            ['s' | 'S'] => return (piece, tail_end),
            // The endings of contractions (`don't`, `we're`) mean nothing as words. Anything longer does: `O'Brien`,
            // `l'homme`, or a quoted string behind its prefix; there the apostrophe separates as a hyphen would.
            tail @ ([_] | [_, _]) => piece.extend(tail),
            _ => break,
        }
        end = tail_end;
    }
    (piece, end)
}

/// What the symbols behind a short name spell out, and how many characters they are: `C++`, `C#`, `F#`.
fn symbol_after(piece: &[char], rest: &[char]) -> Option<(&'static str, usize)> {
    if piece.len() > 2 || !piece.iter().all(|c| c.is_alphabetic()) {
        return None;
    }
    match rest {
        ['+', '+', ..] => Some(("plusplus", 2)),
        // The fragment of an address is no language: `main.rs#L20`, `README.md#install`.
        ['#', next, ..] if is_word(*next) => None,
        ['#', ..] => Some(("sharp", 1)),
        _ => None,
    }
}

fn camel_parts(piece: &[char]) -> Vec<&[char]> {
    let mut parts = Vec::new();
    let mut start = 0;
    // Digits are looked through, so that `base64Encode` breaks before its capital and `SHA256` nowhere.
    let mut last_letter: Option<char> = None;
    for (at, c) in piece.iter().enumerate() {
        if c.is_uppercase()
            && let Some(last) = last_letter
            && (last.is_lowercase() || last.is_uppercase() && goes_on_as_word(&piece[at + 1..]))
        {
            parts.push(&piece[start..at]);
            start = at;
        }
        if c.is_alphabetic() {
            last_letter = Some(*c);
        }
    }
    parts.push(&piece[start..]);
    parts
}

/// Whether a capital at the end of several begins a word of its own, judged by what follows it.
fn goes_on_as_word(rest: &[char]) -> bool {
    match rest {
        [first, ..] if !first.is_lowercase() => false,
        [_, second, ..] if second.is_lowercase() => true,
        // A plural (`URLs`) or a version (`IPv6`) still belongs to its acronym.
        [first, rest @ ..] => *first != 's' && !rest.first().is_some_and(|c| c.is_numeric()),
        [] => false,
    }
}

/// Lower case without accents, cut to the length of a term.
///
/// Only the accents of Latin, Greek and Cyrillic are dropped: the vowel signs of other scripts tell words apart.
fn fold(part: &[char]) -> String {
    if part.iter().all(char::is_ascii) {
        return part.iter().take(MAX_TERM).map(char::to_ascii_lowercase).collect();
    }
    let mut folded = String::with_capacity(part.len().min(MAX_TERM));
    // Lower-casing character by character: what a string does to a sigma depends on what stands behind it.
    for c in part.iter().flat_map(|c| c.to_lowercase()).nfd() {
        match c {
            '\u{300}'..='\u{36F}' => {}
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            'ı' => folded.push('i'),
            'ς' => folded.push('σ'),
            // A mark in front of every letter would attach itself to the part before once they are written as one.
            _ if folded.is_empty() && is_combining_mark(c) => {}
            _ => folded.push(c),
        }
    }
    if let Some((end, _)) = folded.char_indices().nth(MAX_TERM) {
        folded.truncate(end);
    }
    folded
}

fn word(text: String) -> Word {
    // The stemmer knows English words only; on names with digits and on other scripts it would guess.
    let english = text.bytes().all(|b| b.is_ascii_lowercase());
    let stem = if english { stem(&text) } else { text.clone() };
    Word { text, stem }
}

fn run_end(chars: &[char], start: usize, belongs: fn(char) -> bool) -> usize {
    start + chars[start..].iter().take_while(|&&c| belongs(c)).count()
}

/// Both quotation marks that serve as one, and the letter that Unicode has for it.
fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2BC}')
}

fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    // Unicode counts the boxed capitals among the letters (`🅰`), but they are written as emoji.
    let boxed = matches!(c, '\u{1F100}'..='\u{1F1FF}');
    (c.is_alphanumeric() || is_combining_mark(c)) && !boxed && c != KEYCAP && !is_apostrophe(c) && !is_cjk(c)
}

/// Characters of the scripts that are written without spaces, or (Hangul) whose spaces do not part words from endings.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11FF}'         // Hangul jamo
        | '\u{2E80}'..='\u{2FDF}'       // Han radicals
        | '\u{3005}'..='\u{3007}'       // iteration and closing marks, zero
        | '\u{3021}'..='\u{3029}'       // Han numerals
        | '\u{3031}'..='\u{3035}'       // vertical repeat marks
        | '\u{3038}'..='\u{303C}'       // Han numerals, iteration mark
        | '\u{3041}'..='\u{309F}'       // Hiragana
        | '\u{30A1}'..='\u{30FA}'       // Katakana, up to the middle dot, which separates
        | '\u{30FC}'..='\u{30FF}'       // prolonged sound and iteration marks
        | '\u{3105}'..='\u{318F}'       // Bopomofo, compatibility jamo
        | '\u{31A0}'..='\u{31BF}'       // Bopomofo
        | '\u{31F0}'..='\u{31FF}'       // Katakana
        | '\u{3400}'..='\u{4DBF}'       // Han
        | '\u{4E00}'..='\u{9FFF}'       // Han
        | '\u{A960}'..='\u{A97F}'       // Hangul jamo
        | '\u{AC00}'..='\u{D7FF}'       // Hangul syllables and jamo
        | '\u{F900}'..='\u{FAFF}'       // Han, compatibility
        | '\u{16FE2}'..='\u{16FF6}'     // old iteration and reading marks
        | '\u{1AFF0}'..='\u{1B16F}'     // historic and small kana
        | '\u{20000}'..='\u{3FFFD}'     // Han, all extensions
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn vocabulary(text: &str) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        assert_eq!(index_text_with_words(text, &mut words), index_text(text));
        words
    }

    /// Units in short: an identifier as `part part ~name =whole`, a run as `[pair pair]`.
    fn shown(text: &str) -> String {
        let show = |unit: Unit| match unit {
            Unit::Word { parts, names, whole } => parts
                .into_iter()
                .map(|word| word.text)
                .chain(names.into_iter().map(|word| format!("~{}", word.text)))
                .chain(whole.map(|word| format!("={}", word.text)))
                .collect::<Vec<_>>()
                .join(" "),
            Unit::Run(terms) => format!("[{}]", terms.join(" ")),
        };
        units(text).into_iter().map(show).collect::<Vec<_>>().join(", ")
    }

    fn assert_shown(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(shown(text), *expected, "units of {text:?}");
        }
    }

    fn assert_indexed(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(index_text(text), *expected, "terms of {text:?}");
        }
    }

    #[test]
    fn a_unit_keeps_the_word_as_typed_beside_its_stem() {
        let word = |text: &str, stem: &str| Word { text: text.into(), stem: stem.into() };
        assert_eq!(
            units("Running GHOST_Clients 東京都"),
            [
                Unit::Word { parts: vec![word("running", "run")], names: vec![], whole: None },
                Unit::Word {
                    parts: vec![word("ghost", "ghost"), word("clients", "client")],
                    names: vec![],
                    whole: Some(word("ghostclients", "ghostclient")),
                },
                Unit::Run(vec!["東京".into(), "京都".into()]),
            ]
        );
    }

    #[test]
    fn forms_of_an_english_word_share_a_term() {
        assert_indexed(&[
            ("authentication", "authent"),
            ("Authenticated", "authent"),
            ("ghost_clients", "ghost client ghostclient"),
            ("ghost_client", "ghost client ghostclient"),
            ("sha256s", "sha256s"),
        ]);
    }

    #[test]
    fn case_accents_and_special_letters_are_folded() {
        assert_shown(&[
            ("café", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("CAFE", "cafe"),
            ("naïve", "naive"),
            ("Straße STRAẞE", "strasse, strasse"),
            ("Łódź Ǿre Đà Æther cœur", "lodz, ore, da, aether, coeur"),
            ("İstanbul ırmak", "istanbul, irmak"),
            ("ΟΔΟΣ οδός", "οδοσ, οδοσ"),
            ("हिन्दी", "हिन्दी"),
            ("Привет", "привет"),
        ]);
    }

    #[test]
    fn an_identifier_reads_the_same_in_every_style() {
        for text in ["ghost_client", "ghostClient", "ghost-client", "GhostClient", "GHOST_CLIENT", "ghost.client()"] {
            assert_eq!(shown(text), "ghost client =ghostclient", "units of {text:?}");
        }
        assert_shown(&[("ghostclient", "ghostclient")]);
    }

    #[test]
    fn a_path_or_address_is_one_identifier() {
        assert_shown(&[
            ("src/lib/ghost.ts", "src lib ghost ts =srclibghostts"),
            ("std::fs", "std fs =stdfs"),
            ("user@host", "user host =userhost"),
            ("(see `README.md`).", "see, readme md =readmemd"),
        ]);
    }

    #[test]
    fn capitals_and_digits_break_only_where_a_word_begins() {
        assert_shown(&[
            ("HTTPServer", "http server =httpserver"),
            ("parseXMLToJSON", "parse xml to json =parsexmltojson"),
            ("base64Encode", "base64 encode =base64encode"),
            ("SHA256Sum", "sha256 sum =sha256sum"),
            ("utf8 UTF8 sha256 B2B 2FA", "utf8, utf8, sha256, b2b, 2fa"),
            ("OAuth2 oauth2", "o auth2 =oauth2, oauth2"),
            ("getURLs IPv6", "get urls =geturls, ipv6"),
        ]);
    }

    #[test]
    fn cjk_runs_are_overlapping_pairs() {
        assert_shown(&[
            ("日本語", "[日本 本語]"),
            ("字", "[字]"),
            ("日本語API", "[日本 本語], api"),
            ("foo_bar漢字baz", "foo bar =foobar, [漢字], baz"),
            ("コーヒー・人々", "[コー ーヒ ヒー], [人々]"),
            ("ｶﾞｲﾄﾞ", "[ガイ イド]"),
            ("한국어 검색", "[한국 국어], [검색]"),
            ("\u{1112}\u{1161}\u{11AB}글", "[한글]"),
            ("葛\u{E0100}城", "[葛城]"),
            ("ㄅㄆ 𠀀𠀁", "[ㄅㄆ], [𠀀𠀁]"),
        ]);
    }

    #[test]
    fn an_indexed_run_ends_with_its_last_character_alone() {
        assert_indexed(&[("日本語", "日本 本語 語"), ("字", "字"), ("日本語API使う", "日本 本語 語 api 使う う")]);
    }

    #[test]
    fn full_width_and_compatibility_forms_are_plain_letters() {
        assert_shown(&[
            ("Ｇｈｏｓｔ＿Ｃｌｉｅｎｔ", "ghost client =ghostclient"),
            ("ﬁle　№１", "file, no1"),
            ("auto\u{AD}mation", "automation"),
        ]);
    }

    #[test]
    fn the_symbols_of_a_language_are_part_of_its_name() {
        assert_shown(&[
            ("C++", "c =cplusplus"),
            ("C", "c"),
            ("C#, (F#)", "c =csharp, f =fsharp"),
            ("C＃", "c =csharp"),
            ("C++17", "c =cplusplus, 17"),
            ("C#/F#", "c =csharp, f =fsharp"),
            ("libs/c++", "libs, c =cplusplus"),
            ("issue# main.rs#L20", "issue, main rs =mainrs, l20"),
        ]);
    }

    #[test]
    fn apostrophes_leave_no_stray_letters() {
        assert_shown(&[
            ("don't don’t donʼt DON'T", "dont, dont, dont, dont"),
            ("server's server’s SERVER'S", "server, server, server"),
            ("'quoted'", "quoted"),
            ("we'd've", "wedve"),
            ("O'Brien", "o brien =obrien"),
            ("f'name'", "f name =fname"),
        ]);
    }

    #[test]
    fn text_without_words_gives_nothing() {
        for text in [
            "",
            " \n\t",
            "🎉🚀 👩‍👩‍👧 🇩🇪 👍🏽 ❤️",
            "1️⃣2️⃣ #️⃣ 🅰️",
            "--- ... ++ # ' ’ «»",
            "\0",
            "\u{301}",
            "\u{3099}",
            "\u{94D}",
        ] {
            assert_eq!(units(text), [], "units of {text:?}");
            assert_eq!(index_text(text), "", "terms of {text:?}");
        }
    }

    #[test]
    fn a_long_term_is_cut() {
        let long = "0x".repeat(200);
        assert_eq!(index_text(&long), long[..64]);
        assert_eq!(index_text(&"é".repeat(70)), index_text(&"e".repeat(64)));
        assert_eq!(index_text(&format!("{}_b", "0".repeat(63))), format!("{0} b {0}b", "0".repeat(63)));
        assert_eq!(index_text(&format!("{}_b", "0".repeat(64))), format!("{0} b {0}", "0".repeat(64)));
    }

    #[test]
    fn the_vocabulary_holds_distinct_words_worth_correcting() {
        assert_eq!(
            vocabulary("Caching caching is 2024 v2.0.1 ghost_clients 日本語 Café C++ sha256"),
            ["cafe", "caching", "clients", "cplusplus", "ghost", "ghostclients", "sha256", "v201"]
                .map(String::from)
                .into()
        );
    }

    /// Arbitrary text seldom has words in it, so half of the texts are made of what the rules look at.
    fn any_text() -> impl Strategy<Value = String> {
        let telling = "[a-zA-Zs0-9_'’+#./ éßİΣςｱ日本ー々한글🎉🅰ŉ\
            \u{0}\u{a0}\u{301}\u{94d}\u{618}\u{1112}\u{3099}\u{fe0f}\u{20e3}-]{0,120}";
        prop_oneof![any::<String>(), telling, "[a-zA-Z]{1,80}", "\\PC{0,80}"]
    }

    fn stems(text: &str) -> Vec<String> {
        let terms = |unit| match unit {
            Unit::Word { parts, names, whole } => {
                parts.into_iter().chain(names).chain(whole).map(|word| word.stem).collect()
            }
            Unit::Run(terms) => terms,
        };
        units(text).into_iter().flat_map(terms).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn every_term_survives_the_tokenizer(text in any_text()) {
            let indexed = index_text(&text);
            let terms: Vec<&str> = if indexed.is_empty() { Vec::new() } else { indexed.split(' ').collect() };
            for term in terms {
                prop_assert!((1..=MAX_TERM).contains(&term.chars().count()), "length of {term:?}");
                let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
                let foreign = |c: char| !c.is_ascii() && !c.is_whitespace();
                prop_assert!(term.chars().all(|c| plain(c) || foreign(c)), "characters of {term:?}");
            }
        }

        #[test]
        fn every_term_of_a_query_is_found_in_the_same_text(text in any_text()) {
            let indexed = index_text(&text);
            let terms: HashSet<&str> = indexed.split(' ').collect();
            for stem in stems(&text) {
                prop_assert!(terms.contains(stem.as_str()), "{stem:?} in {indexed:?}");
            }
        }

        #[test]
        fn a_word_of_the_vocabulary_reads_as_itself(text in any_text()) {
            for word in vocabulary(&text) {
                prop_assert_eq!(shown(&word), word);
            }
        }
    }
}
