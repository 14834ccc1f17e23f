//! Serving one client over standard input and output.
//!
//! Owns the life of the process: it ends well when input ends, and on a signal. Standard output belongs to the protocol.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::serve_directly;
use rmcp::transport::stdio_pipes;
use tokio_util::sync::CancellationToken;

use super::pipe::Pipe;
use super::runtime::{Signals, runtime};
use super::{Clients, Offer, Server};

/// How long the answers that are still to be given may take after a signal.
const DRAIN: Duration = Duration::from_millis(700);

/// Serves until the client goes or a signal comes.
///
/// # Errors
///
/// Where the runtime fails; the end of input is no failure.
pub fn serve(offer: &Arc<Offer>) -> io::Result<()> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let signals = Signals::new()?;
        let (stop, given_up) = (CancellationToken::new(), CancellationToken::new());
        let pipe = Pipe::new(stdio_pipes(), stop.clone(), given_up.clone());
        // Without the library's own opening, which ends the process where a client begins with anything but a request.
        let mut served = pin!(serve_directly(Server::new(offer, Clients::One), pipe, None).waiting());
        tokio::select! {
            client_gone = &mut served => client_gone.map(drop).map_err(io::Error::other),
            () = given_up.cancelled() => Ok(()),
            () = signals.received() => {
                // What is under way is answered, as far as there is time.
                stop.cancel();
                let _ = tokio::time::timeout(DRAIN, served).await;
                Ok(())
            }
        }
    });
    // A thread that waits for standard input cannot be woken; the process ends without it.
    runtime.shutdown_timeout(Duration::ZERO);
    ended
}
