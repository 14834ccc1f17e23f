//! Queries as an agent types them, and the plans that they must and must not find.

use std::collections::BTreeMap;

use super::{Fields, goals, history, remember};
use crate::plan::PlanId;
use crate::store::SessionStore;
use crate::store::tests::Bench;

/// Query, and the text that it must find.
const FOUND: &[(&str, &str)] = &[
    // Forms of a word.
    ("authentication", "Let authenticated readers in"),
    ("authenticate", "Let authenticated readers in"),
    ("READERS", "Let authenticated readers in"),
    ("caching", "Cached responses expire after five minutes"),
    ("cache", "Cached responses expire after five minutes"),
    ("expiring response", "Cached responses expire after five minutes"),
    ("queries", "Send every query to the replica"),
    ("migration", "Migrated the invoices"),
    ("connections", "Connect the broker"),
    // Any order, and words that no plan has.
    ("minutes five responses", "Cached responses expire after five minutes"),
    ("replica query send", "Send every query to the replica"),
    ("how did we send queries to the replica?", "Send every query to the replica"),
    // Accents and other spellings of a letter.
    ("cafe", "Menü für das Café"),
    ("CAFÉ", "Menü für das Café"),
    ("menu", "Menü für das Café"),
    ("naïve", "Replace the naive algorithm"),
    ("łódź", "Open the lodz office"),
    ("strasse", "Die Straße prüfen"),
    ("ｆｕｌｌｗｉｄｔｈ", "A fullwidth query"),
    ("привет", "Скажи ПРИВЕТ всем"),
    // Paths, by whole, parts and neighbours.
    ("src/lib/ghost.ts", "Moved it to src/lib/ghost.ts"),
    ("`src/lib/ghost.ts`", "Moved it to src/lib/ghost.ts"),
    ("./src/lib/ghost.ts", "Moved it to src/lib/ghost.ts"),
    ("src\\lib\\ghost.ts", "Moved it to src/lib/ghost.ts"),
    ("lib/ghost.ts", "Moved it to src/lib/ghost.ts"),
    ("ghost.ts", "Moved it to src/lib/ghost.ts"),
    ("ghost ts", "Moved it to src/lib/ghost.ts"),
    ("ghost_ts", "Moved it to src/lib/ghost.ts"),
    ("libGhost", "Moved it to src/lib/ghost.ts"),
    ("ghost", "Moved it to src/lib/ghost.ts"),
    ("srclibghostts", "Moved it to src/lib/ghost.ts"),
    ("/home/me/blog/src/lib/ghost.ts", "Moved it to src/lib/ghost.ts"),
    ("src/lib/ghost.ts:42:7", "Moved it to src/lib/ghost.ts"),
    ("https://blog.example/src/lib/ghost.ts#L42", "Moved it to src/lib/ghost.ts"),
    // Code around identifiers.
    ("ghostclient", "Replace call(ghost_client) in the loop"),
    ("call(ghost_client)", "Replace call(ghost_client) in the loop"),
    ("call", "Replace call(ghost_client) in the loop"),
    ("PostList", "export const PostList = () => <ul/>"),
    ("postlist", "export const PostList = () => <ul/>"),
    ("post list", "export const PostList = () => <ul/>"),
    ("post_list()", "export const PostList = () => <ul/>"),
    ("std::fs::read_to_string", "Drop std::fs::read_to_string"),
    ("read_to_string", "Drop std::fs::read_to_string"),
    ("readToString", "Drop std::fs::read_to_string"),
    ("HTTPServer", "The http_server restarts"),
    ("xml", "Rename parseXMLToJSON"),
    ("oauth2", "OAuth2 tokens"),
    // Signs that mean something to the index, or nothing to anybody.
    ("C++", "Port the C++ parser"),
    ("c++", "Port the C++ parser"),
    ("C++17", "Port the C++ parser"),
    ("C#", "Generate C# bindings"),
    ("foo-bar", "Rename foo-bar"),
    ("foo bar", "Rename foo-bar"),
    ("\"foo-bar\"", "Rename foo-bar"),
    ("foo*", "Rename foo-bar"),
    ("goal:foo", "Rename foo-bar"),
    ("AND", "Bread and butter"),
    ("bread AND butter", "Bread and butter"),
    ("NOT bread", "Bread and butter"),
    ("NEAR(bread butter, 5)", "Bread and butter"),
    ("\"bread", "Bread and butter"),
    ("(bread", "Bread and butter"),
    ("bread)", "Bread and butter"),
    ("^bread", "Bread and butter"),
    ("-bread", "Bread and butter"),
    ("bread\0butter", "Bread and butter"),
    ("🎉 release", "Release party 🎉"),
    ("release🎉party", "Release party 🎉"),
    ("don't", "Don’t retry on 404"),
    ("404", "Don’t retry on 404"),
    ("server's", "The http_server restarts"),
    // Text without spaces between words, by two characters or more.
    ("認証", "ユーザー認証を追加する"),
    ("ユーザー", "ユーザー認証を追加する"),
    ("認証を追加", "ユーザー認証を追加する"),
    ("ﾕｰｻﾞｰ", "ユーザー認証を追加する"),
    ("する", "ユーザー認証を追加する"),
    ("缓存", "实现响应缓存系统"),
    ("响应缓存", "实现响应缓存系统"),
    ("系统 缓存", "实现响应缓存系统"),
    ("인증", "사용자 인증을 추가했다"),
    ("사용", "사용자 인증을 추가했다"),
    ("증을", "사용자 인증을 추가했다"),
    ("검색API", "검색API 문서"),
    ("api", "검색API 문서"),
    // Half typed and mistyped.
    ("authen", "Let authenticated readers in"),
    ("repli", "Send every query to the replica"),
    ("autenticated", "Let authenticated readers in"),
    ("athenticated", "Let authenticated readers in"),
    ("authenticatde", "Let authenticated readers in"),
    ("respones", "Cached responses expire after five minutes"),
    ("invocies", "Migrated the invoices"),
    ("migarted invocies", "Migrated the invoices"),
    ("gohst_client", "Replace call(ghost_client) in the loop"),
    ("ghostcleint", "Replace call(ghost_client) in the loop"),
    ("lib/gohst.ts", "Moved it to src/lib/ghost.ts"),
    ("ПРИВТЕ", "Скажи ПРИВЕТ всем"),
];

/// Query, and the text that it must not find.
const NOT_FOUND: &[(&str, &str)] = &[
    ("caching", "Catching exceptions"),
    ("ghost", "The host resolves"),
    ("host", "Moved it to src/lib/ghost.ts"),
    ("call", "Recalled the parts"),
    ("C++", "Appendix C"),
    ("C#", "Appendix C"),
    ("C++", "Generate C# bindings"),
    ("foo-bar", "A food bar"),
    ("foo-bar", "Open the bar"),
    ("ghost.ts", "Moved it to src/lib/ghost.tsx"),
    ("ghost_client", "The client of the broker"),
    ("認証", "証認の順序"),
    ("認証を追加", "認証と追加"),
    ("缓存系统", "缓存 系统"),
    ("인증을", "인증 도구"),
    ("query", "Die Straße prüfen"),
    ("404", "Listen on 4040"),
    ("read", "Bread and butter"),
    ("*", "Bread and butter"),
    ("\"\"", "Bread and butter"),
    ("🎉", "Bread and butter"),
    ("", "Bread and butter"),
    ("NOT", "Bread and butter"),
];

/// A session with each text of the tables in one of the fields of a plan of its own.
fn all_examples() -> (Bench, SessionStore, BTreeMap<&'static str, PlanId>) {
    let (bench, mut store) = history(&[]);
    let mut ids = BTreeMap::new();
    for (_, text) in FOUND.iter().chain(NOT_FOUND) {
        if ids.contains_key(text) {
            continue;
        }
        let field = ids.len() % 7;
        let at = |place: usize| if place == field { *text } else { "" };
        let fields = Fields {
            goal: at(0),
            outputs: at(1),
            outcome: at(2),
            context: at(3),
            inputs: at(4),
            approach: at(5),
            notes: at(6),
        };
        ids.insert(*text, remember(&mut store, &fields));
    }
    (bench, store, ids)
}

#[test]
fn every_example_finds_its_plan_and_no_counterexample_does() {
    let (_bench, mut store, ids) = all_examples();
    let mut finds = |query: &str, text: &str| {
        let found = store.search(query, 1_000).unwrap();
        found.matches.iter().any(|found| found.id == ids[text])
    };
    let missed: Vec<_> = FOUND.iter().filter(|(query, text)| !finds(query, text)).collect();
    let wrong: Vec<_> = NOT_FOUND.iter().filter(|(query, text)| finds(query, text)).collect();
    assert_eq!((missed, wrong), (vec![], vec![]));
}

#[test]
fn every_style_of_an_identifier_finds_every_other() {
    let texts = [
        "Wrap ghost_client",
        "Wrap ghostClient",
        "Wrap ghost-client",
        "Wrap GhostClient",
        "Wrap GHOST_CLIENT",
        "Wrap ghostclient",
        "Wrap call(ghost_client)",
        "Wrap src/lib/ghost_client.ts",
        "Wrap src/lib/ghost-client.ts",
        "Wrap new GhostClient(url)",
        "Wrap lib::ghost_client::GhostClient",
        "Wrap `ghost_client`.",
    ];
    let others = ["Host the client", "Ghosts and clients of theirs", "Wrap the clients"];
    let (_bench, mut store) = history(&[&texts[..], &others[..]].concat());
    let queries = ["ghost_client", "ghostClient", "ghost-client", "GhostClient", "GHOST_CLIENT", "ghostclient"];
    for query in queries {
        let found = store.search(query, 50).unwrap();
        let missed: Vec<_> = texts.iter().filter(|text| !goals(&found).contains(text)).collect();
        assert!(missed.is_empty(), "{query} missed {missed:?}");
        assert!(!goals(&found).contains(&"Host the client"), "{query}");
        assert!(!goals(&found).contains(&"Wrap the clients"), "{query}");
    }
    // By parts, all but what is written as one word.
    for query in ["ghost client", "client ghost", "ghost clients"] {
        let found = store.search(query, 50).unwrap();
        let missed: Vec<_> = texts.iter().filter(|text| !goals(&found).contains(text)).collect();
        assert_eq!(missed, [&"Wrap ghostclient"], "{query}");
    }
}

#[test]
fn the_example_of_the_data_flow_finds_the_client_before_the_other_plans() {
    let (_bench, mut store) = history(&[]);
    let mut done = |goal, outcome| remember(&mut store, &Fields { goal, outcome, ..Fields::default() });
    let client = done("Create authenticated Ghost API client module", "Created ghost_client module in src/lib/ghost");
    let caching = done("Implement response caching system", "Created caching layer in front of the API");
    let list = done("Create PostList UI component", "Created PostList component");
    let found = store.search("ghost client API authentication", 10).unwrap();
    let ids: Vec<&PlanId> = found.matches.iter().map(|found| &found.id).collect();
    assert_eq!(ids, [&client, &caching]);
    assert!(found.matches[0].score > 1.0 && found.matches[1].score < 1.0, "{:?}", found.matches);
    assert_eq!(found.replaced, []);
    assert_eq!(store.search("create", 10).unwrap().total, 3);
    assert_eq!(store.search("UI component", 10).unwrap().matches[0].id, list);
}

#[test]
fn a_plan_with_an_identifier_comes_before_those_with_some_of_its_parts() {
    let (_bench, mut store) =
        history(&["Ghost in the machine", "A ghost of a client", "Wrap ghost_client", "Thin client"]);
    let found = store.search("ghost_client", 10).unwrap();
    assert_eq!(goals(&found), ["Wrap ghost_client", "A ghost of a client"]);
    assert_eq!(found.total, 2);
    // Where no plan has all the parts, those that have some are better than nothing.
    let found = store.search("ghost_machine_client", 10).unwrap();
    assert_eq!(found.total, 4);
    assert!(found.matches.iter().all(|found| found.score < 1.0), "{:?}", found.matches);
}
