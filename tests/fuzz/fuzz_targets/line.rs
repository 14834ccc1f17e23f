//! Any bytes as the lines that a client writes, in pieces of any size.

#![no_main]

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use nineplan_fuzz::lines::{Input, Line};
use nineplan_fuzz::skim::Skim;
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that come in pieces, each only when it is asked for again.
struct Pieces<'a> {
    bytes: &'a [u8],
    size: usize,
    there: bool,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.there = !self.there;
        if !self.there {
            return Poll::Pending;
        }
        let (piece, rest) = self.bytes.split_at(self.size.min(self.bytes.len()).min(to.remaining()));
        self.bytes = rest;
        to.put_slice(piece);
        Poll::Ready(Ok(()))
    }
}

/// The next line. Waiting for it is dropped and begun again, as the server does.
fn next(input: &mut Input<Pieces<'_>>) -> Option<Line> {
    loop {
        if let Poll::Ready(line) = pin!(input.next()).poll(&mut Context::from_waker(Waker::noop())) {
            return line;
        }
    }
}

fuzz_target!(|given: (u8, u8, &[u8])| {
    let (size, longest, bytes) = (1 + usize::from(given.0), 1 << (given.1 % 16), given.2);
    let mut input = Input::new(Pieces { bytes, size, there: true }, longest);
    for text in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        match next(&mut input).expect("a line for each line") {
            Line::Whole(line) => assert!(line == text && text.len() <= longest),
            Line::TooLong(skim) => {
                let mut at_once = Skim::default();
                at_once.read(text);
                assert!(text.len() > longest && skim.id() == at_once.id());
            }
        }
    }
    assert!(next(&mut input).is_none());
});
