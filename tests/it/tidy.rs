//! The structure of the code: which way the arrows point, who touches what, and the house rules.
//!
//! Reads the sources as text, in which comments and unit tests do not count.

use std::fs;
use std::path::Path;

/// The layers, the lowest first: a module knows none that is above it.
const LAYERS: [&[&str]; 8] = [
    &["error", "plan", "plan_text", "steps"],
    &["files", "ids"],
    &["store"],
    &["sessions"],
    &["tools"],
    &["server"],
    &["cli", "client", "config", "demo", "doctor", "hook", "logging", "setup", "show"],
    &["main"],
];

/// A source file of the program.
struct Source {
    /// Its path below `src`, with slashes.
    path: String,
    text: String,
    /// What is compiled into the program: no comment, no unit test.
    code: String,
}

impl Source {
    /// The module at the top that it belongs to.
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap().trim_end_matches(".rs")
    }
}

fn read(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What is built for the fuzz targets is nobody's source.
        if path.is_dir() && !path.ends_with("target") {
            read(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.to_str().unwrap().replace('\\', "/"), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// All Rust files below a folder of the repository, by their path in it.
fn files(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    read(&root, &mut found);
    let root = format!("{}/", root.to_str().unwrap().replace('\\', "/"));
    found.into_iter().map(|(path, text)| (path.strip_prefix(&root).unwrap().to_owned(), text)).collect()
}

fn sources() -> Vec<Source> {
    let sources: Vec<Source> = files("src")
        .into_iter()
        .map(|(path, text)| {
            let mut lines = if is_unit_test(&path) { Vec::new() } else { without_tests(&text) };
            lines.retain(|line| !line.trim_start().starts_with("//"));
            Source { path, code: lines.join("\n"), text }
        })
        .collect();
    assert!(sources.iter().any(|source| source.path == "main.rs"));
    sources
}

/// Whether a file holds nothing but unit tests.
fn is_unit_test(path: &str) -> bool {
    path.split('/').any(|part| part.trim_end_matches(".rs").ends_with("tests"))
}

/// The lines of a file without its unit tests, which stand at its end or in a file of their own.
fn without_tests(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            kept.push(line);
        } else if !lines.next().is_some_and(|next| next.ends_with(';')) {
            break;
        }
    }
    kept
}

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|layer| layer.contains(&module))
        .unwrap_or_else(|| panic!("{module} is in no layer: put it into the table"))
}

#[test]
fn arrows_between_modules_point_one_way() {
    for source in sources() {
        let own = source.module();
        for mention in source.code.split("crate::").skip(1) {
            let named = mention.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap();
            // The words of the domain and the entry points are each one thing in several files; files and names are not.
            let apart = layer(own) == 1 && layer(named) == 1 && named != own;
            assert!(layer(named) <= layer(own) && !apart, "{} names crate::{named}", source.path);
        }
    }
}

/// Fails where a file names something that is another's business.
#[track_caller]
fn assert_only(may: &[&str], what: &str) {
    let mut used = false;
    for source in sources() {
        let named = source.code.match_indices(what).any(|(at, _)| {
            let before = source.code[..at].chars().next_back();
            before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
        });
        let allowed = may.iter().any(|place| source.path.starts_with(place));
        assert!(allowed || !named, "{} names {what}", source.path);
        used |= named;
    }
    assert!(used, "nothing names {what}: the test looks for the wrong word");
}

#[test]
fn each_crate_has_its_place() {
    assert_only(&["server/"], "rmcp::");
    assert_only(&["server/"], "tokio::");
    assert_only(&["server/http.rs", "server/access.rs", "server/connections.rs"], "axum::");
    assert_only(&["store/", "error.rs"], "rusqlite::");
    assert_only(&["main.rs", "cli.rs"], "clap::");
    assert_only(&["logging.rs"], "tracing_subscriber::");
    assert_only(&["config.rs"], "directories::");
    assert_only(&["ids.rs"], "nanoid::");
    assert_only(&["setup/toml.rs"], "toml_edit::");
}

#[test]
fn only_the_configuration_reads_the_environment() {
    for source in sources().iter().filter(|source| source.path != "config.rs") {
        for word in ["env::var", "env::home_dir", "env::current_dir", "env::temp_dir", "use std::env"] {
            assert!(!source.code.contains(word), "{} has {word}", source.path);
        }
    }
}

#[test]
fn only_files_sessions_and_the_schema_touch_the_disk() {
    for source in sources() {
        let may = ["files.rs", "sessions/", "setup/files.rs", "store/schema.rs", "store/waiting.rs"]
            .iter()
            .any(|place| source.path.starts_with(place));
        for word in ["fs::", "File::", "OpenOptions", "tempfile_in"] {
            assert!(may || !source.code.contains(word), "{} has {word}", source.path);
        }
    }
}

#[test]
fn the_frame_of_a_reply_is_written_in_one_place() {
    // The demo is a client, which reads it.
    let writers: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.path != "demo.rs" && source.code.contains("[Session: "))
        .map(|source| source.path)
        .collect();
    assert_eq!(writers, ["server/call.rs"]);
}

#[test]
fn every_file_opens_with_what_it_owns() {
    for (path, text) in files("src").into_iter().chain(files("tests")) {
        assert!(text.starts_with("//! "), "{path}");
    }
}

#[test]
fn nothing_is_left_undone_or_switched_off() {
    // Written in two halves, so that this file does not find itself.
    let words =
        [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "allow("), concat!("#[", "ignore")];
    for (path, text) in files("src").into_iter().chain(files("tests")) {
        for word in words.iter().chain(&[concat!("#![", "allow(")]) {
            assert!(!text.contains(word), "{path} has {word}");
        }
    }
}

#[test]
fn no_two_sources_have_the_same_first_line() {
    let mut lines: Vec<String> =
        sources().iter().map(|source| source.text.lines().next().unwrap_or_default().to_owned()).collect();
    let count = lines.len();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), count, "a file's first line says what it alone owns");
}

#[test]
fn no_file_is_long() {
    for (path, text) in files("src").into_iter().chain(files("tests")) {
        let lines = without_tests(&text).len();
        assert!(lines <= 400, "{path} has {lines} lines");
    }
}
