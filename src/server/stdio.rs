//! Serving one client over standard input and output.
//!
//! Owns the life of the process: it ends well when input ends, and on a signal. Standard output belongs to the protocol.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rmcp::service::serve_directly;
use rmcp::transport::stdio_pipes;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::pipe::Pipe;
use super::runtime::{Signals, runtime};
use super::{Clients, Offer, Server};
use crate::sessions::Sessions;

/// How long the answers that are still to be given may take after a signal.
const DRAIN: Duration = Duration::from_millis(700);

/// Serves until the client goes or a signal comes. The signal is waited for on a thread of its own: the one that serves may
/// be held up by the disk.
///
/// # Errors
///
/// Where the runtime fails; the end of input is no failure.
pub fn serve(offer: &Arc<Offer>) -> io::Result<()> {
    runtime()?.block_on(async {
        let signals = Signals::new()?;
        let stop = CancellationToken::new();
        let (sender, mut ended) = oneshot::channel();
        let (offer, stopped) = (Arc::clone(offer), stop.clone());
        thread::Builder::new().name("serve".to_owned()).spawn(move || {
            // Where the signal came first, nobody waits any more.
            let _ = sender.send(serve_until(&offer, stopped));
        })?;
        tokio::select! {
            served = &mut ended => served.unwrap_or_else(|_| Err(io::Error::other("serving ended unexpectedly"))),
            () = signals.received() => {
                Sessions::stop_waiting();
                // What is under way is answered, as far as there is time.
                stop.cancel();
                let _ = timeout(DRAIN, ended).await;
                Ok(())
            }
        }
    })
}

/// Serves until the client goes, or until `stop` ends its input.
fn serve_until(offer: &Arc<Offer>, stop: CancellationToken) -> io::Result<()> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let given_up = CancellationToken::new();
        let pipe = Pipe::new(stdio_pipes(), stop, given_up.clone());
        // Without the library's own opening, which ends the process where a client begins with anything but a request.
        tokio::select! {
            client_gone = serve_directly(Server::new(offer, Clients::One), pipe, None).waiting() => {
                client_gone.map(drop).map_err(io::Error::other)
            }
            () = given_up.cancelled() => Ok(()),
        }
    });
    // A thread that waits for standard input cannot be woken; the process ends without it.
    runtime.shutdown_timeout(Duration::ZERO);
    ended
}
