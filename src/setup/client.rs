//! The clients that can be set up: where each keeps its configuration, and how it is told that one is there.
//!
//! Owns the paths on each system, as functions of the surroundings, so that a test needs none of these systems. Touches no
//! file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    VsCode,
    Codex,
    Gemini,
    OpenCode,
    Copilot,
}

/// The kinds of systems on which clients keep their files in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

/// What the places depend on.
pub struct Surroundings<'a> {
    pub system: System,
    pub home: PathBuf,
    /// Looks up a variable of the environment that is set and not empty.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}
