//! Serving one client over standard input and output.
//!
//! Owns the life of the process: it ends well when input ends, and on a signal. Standard output belongs to the protocol.

use std::io;
use std::pin::pin;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use tokio_util::sync::CancellationToken;

use super::Server;

/// How long the answers that are still to be written may take after a signal.
const DRAIN: Duration = Duration::from_millis(500);

/// Serves until the client goes or a signal comes.
///
/// # Errors
///
/// Where the runtime or the handshake fails; the end of input is no failure.
pub fn serve(server: Server) -> io::Result<()> {
    // One thread: pipelined calls start in the order in which they came.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let stop = CancellationToken::new();
        let mut session = pin!(session(server, stop.clone()));
        tokio::select! {
            client_gone = &mut session => client_gone,
            signal = shutdown() => {
                stop.cancel();
                // What has been done is answered, if the client reads on.
                let _ = tokio::time::timeout(DRAIN, session).await;
                signal
            }
        }
    });
    // A thread that waits for standard input cannot be woken; the process ends without it.
    runtime.shutdown_timeout(Duration::ZERO);
    ended
}

async fn session(server: Server, stop: CancellationToken) -> io::Result<()> {
    match server.serve_with_ct(stdio_pipes(), stop).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

/// Returns when the process is asked to end.
async fn shutdown() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
