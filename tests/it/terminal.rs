//! The program in a terminal: a pseudo-terminal in the place of one of its streams.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::{Launch, World};

/// The two ends of a new pseudo-terminal: a person's, and the program's.
fn terminal() -> (OwnedFd, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    // Not to become the terminal of the tests, which its end would end.
    let program = File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).unwrap();
    (person, program)
}

impl Launch {
    /// Runs the server with a terminal as standard input, on which the end of input is typed at once.
    fn run_with_typed_input(mut self) -> Output {
        let (person, program) = terminal();
        rustix::io::write(&person, b"\x04").unwrap();
        self.command.stdin(program).output().unwrap()
    }

    /// What the program prints with a terminal as standard output.
    fn printed_in_terminal(mut self, arguments: &[&str]) -> String {
        let (person, program) = terminal();
        let mut child = self.command.args(arguments).stdin(Stdio::null()).stdout(program).spawn().unwrap();
        // The command holds the program's end open as long as it lives.
        drop(self);
        let mut printed = Vec::new();
        // When the last program has closed a terminal, reading from it fails rather than ends.
        let _ = File::from(person).read_to_end(&mut printed);
        assert!(child.wait().unwrap().success());
        String::from_utf8(printed).unwrap()
    }
}

#[test]
fn the_server_says_what_it_waits_for() {
    let output = World::new().server().run_with_typed_input();
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "9plan is an MCP server and waits for a client on standard input.\n\
                    An MCP client starts it by itself once it is told to, for example so:\n  claude mcp add 9plan -- 9plan\n";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!((output.status.code(), output.stdout), (Some(0), vec![]));
}

#[test]
fn colour_is_for_terminals_of_people_who_want_it() {
    let world = World::new();
    let coloured = |launch: Launch| launch.printed_in_terminal(&["demo"]).contains('\u{1b}');
    assert!(coloured(world.server()));
    assert!(!coloured(world.server().env("NO_COLOR", "1")));
    assert!(coloured(world.server().env("NO_COLOR", "")));
}
