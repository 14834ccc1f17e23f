//! The modules of the program that the fuzz targets call, compiled from its own sources.
//!
//! The program is a binary, which no other crate can depend on. What names `crate::` finds it here under the same name;
//! what is below `server` there and names `super::` stands at the top here.

#[path = "../../../src/error.rs"]
pub mod error;
#[path = "../../../src/files.rs"]
pub mod files;
#[path = "../../../src/ids.rs"]
pub mod ids;
#[path = "../../../src/plan.rs"]
pub mod plan;
#[path = "../../../src/plan_text.rs"]
pub mod plan_text;
#[path = "../../../src/sessions/mod.rs"]
pub mod sessions;
#[path = "../../../src/steps.rs"]
pub mod steps;
#[path = "../../../src/store/mod.rs"]
pub mod store;
#[path = "../../../src/tools/mod.rs"]
pub mod tools;

#[path = "../../../src/server/lines.rs"]
pub mod lines;
#[path = "../../../src/server/message.rs"]
pub mod message;
#[path = "../../../src/server/skim.rs"]
pub mod skim;
