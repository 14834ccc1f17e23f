//! `9plan demo`.
use std::io;
pub fn run() -> io::Result<()> {
    Ok(())
}
