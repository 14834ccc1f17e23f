//! The integration tests: the real binary, spoken to as a client does.
//!
//! One test binary, a module a feature. [`harness`] starts the server and speaks the protocol; the others say what must
//! come back. Unit tests of the parts stand beside the code.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod budgets;
mod calls;
mod contract;
mod demo;
mod doctor;
mod ending;
mod eras;
mod errors;
mod guidance;
mod harness;
mod hooks;
mod hostile;
mod http;
#[cfg(debug_assertions)]
mod instants;
mod kill;
mod life;
mod limits;
mod model;
mod names;
mod order;
mod places;
mod prefix;
mod readme;
mod refusals;
mod repair;
mod setup;
mod several;
mod sharing;
mod sick;
#[cfg(unix)]
mod terminal;
mod tidy;
mod workflow;
