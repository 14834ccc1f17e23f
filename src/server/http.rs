//! Serving many clients over HTTP, at `/mcp`.
//!
//! Owns the listener, what a request passes before the library reads it, and the end of the process. Who may speak is for
//! [`access`](super::access) to say, what is wrong with a body for [`message`].

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::access::Access;
use super::message::{self, Incoming, LONGEST, Refusal};
use super::{Offer, Server, runtime, shutdown};
use crate::sessions::Sessions;

/// Where the protocol is served.
const PATH: &str = "/mcp";

/// How long a connection may be silent before it is forgotten: an agent may work for hours on one plan.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the requests under way may take after a signal.
const DRAIN: Duration = Duration::from_millis(600);

/// How long the streams that are still open may take to end after that.
const CLOSE: Duration = Duration::from_millis(200);

/// Where to serve, and whom.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub access: Access,
    /// 0 is any that is free.
    pub port: u16,
}

/// Serves until a signal comes.
///
/// # Errors
///
/// Where the runtime fails or the address cannot be had.
pub fn serve(offer: &Arc<Offer>, endpoint: Endpoint) -> io::Result<()> {
    let runtime = runtime()?;
    let ended = runtime.block_on(serve_until(offer, endpoint, shutdown()));
    // A call that still waits for the disk is not waited for: it has not been answered.
    runtime.shutdown_timeout(Duration::ZERO);
    ended
}

async fn serve_until(
    offer: &Arc<Offer>,
    endpoint: Endpoint,
    signal: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let host = endpoint.access.host.as_str();
    let listener = TcpListener::bind((host, endpoint.port)).await;
    let listener =
        listener.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", url(host, endpoint.port))))?;
    tracing::info!(url = url(host, listener.local_addr()?.port()), "serving over HTTP");
    let (stop, close) = (CancellationToken::new(), CancellationToken::new());
    let router = router(Arc::clone(offer), endpoint.access, close.clone());
    let mut served =
        pin!(axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
    let signalled = tokio::select! {
        ended = &mut served => return ended,
        signalled = signal => signalled,
    };
    Sessions::stop_waiting();
    stop.cancel();
    if tokio::time::timeout(DRAIN, &mut served).await.is_err() {
        close.cancel();
        let _ = tokio::time::timeout(CLOSE, served).await;
    }
    signalled
}

/// The address for a person to give to a client.
fn url(host: &str, port: u16) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!("http://{host}:{port}{PATH}")
}

fn router(offer: Arc<Offer>, access: Access, close: CancellationToken) -> Router {
    let mut connections = LocalSessionManager::default();
    connections.session_config.keep_alive = Some(IDLE);
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_max_request_body_bytes(LONGEST)
        .with_cancellation_token(close)
        // Both are looked at before.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service = StreamableHttpService::new(move || Ok(Server::new(&offer)), Arc::new(connections), config);
    Router::new()
        .route_service(PATH, service)
        .layer(middleware::from_fn(readable))
        .layer(middleware::from_fn_with_state(Arc::new(access), allowed))
}

/// Lets a request pass that may.
async fn allowed(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match access.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => {
            tracing::warn!(%status, why, "a request is refused");
            let mut response = (status, why).into_response();
            if status == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, axum::http::HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

/// Lets a body pass that is one message, mended where it must be.
async fn readable(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        let ends = request.method() == Method::DELETE;
        let mut response = next.run(request).await;
        if ends && response.status() == StatusCode::ACCEPTED {
            // It is done, not only accepted; some clients report anything else as a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        return response;
    }
    let too_long =
        || (StatusCode::PAYLOAD_TOO_LARGE, format!("The body is longer than {LONGEST} bytes")).into_response();
    let (mut parts, body) = request.into_parts();
    if body.size_hint().lower() > LONGEST as u64 {
        return too_long();
    }
    let Ok(body) = to_bytes(body, LONGEST).await else { return too_long() };
    let mut messages = message::read(&body);
    let body = match (messages.pop(), messages.is_empty()) {
        (Some(Incoming::Message(message)), true) => Body::from(message.to_string()),
        (Some(Incoming::Answer), true) => Body::from(body),
        (Some(Incoming::Refused(refusal)), true) => return refused(&refusal),
        (Some(_), false) => return refused(&Refusal::invalid(None, "send one message in a request")),
        (None, _) => {
            let message = "Parse error: the body is empty".to_owned();
            return refused(&Refusal { id: None, code: ErrorCode::PARSE_ERROR, message });
        }
    };
    // It may have another length now.
    parts.headers.remove(CONTENT_LENGTH);
    next.run(Request::from_parts(parts, body)).await
}

fn refused(refusal: &Refusal) -> Response {
    tracing::warn!(id = refusal.id, reason = refusal.message, "a message is not taken");
    (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], refusal.to_string()).into_response()
}
