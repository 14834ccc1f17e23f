//! tmp
mod json;
