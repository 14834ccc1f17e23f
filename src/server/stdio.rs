//! Serving one client over standard input and output.
//!
//! Owns the life of the process: it ends well when input ends, and on a signal. Standard output belongs to the protocol.

use std::io;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;

use super::Server;

/// How long in-flight calls may go on after a signal.
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
        tokio::select! {
            client_gone = session(server) => client_gone,
            signal = shutdown() => signal,
        }
    });
    // A thread that waits for standard input cannot be woken; the process ends without it.
    runtime.shutdown_timeout(Duration::ZERO);
    ended
}

async fn session(server: Server) -> io::Result<()> {
    let running = match server.serve(stdio_pipes()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let cancel = running.cancellation_token();
    let mut waiting = std::pin::pin!(running.waiting());
    tokio::select! {
        ended = &mut waiting => ended.map(drop).map_err(io::Error::other),
        signal = shutdown() => {
            cancel.cancel();
            // What is in flight has half a second to be answered.
            let _ = tokio::time::timeout(DRAIN, waiting).await;
            signal
        }
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
