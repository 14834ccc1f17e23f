//! Serving many clients over HTTP, at `/mcp`.
//!
//! Owns the listener, what a request passes before the library reads it, and the end of the process. Who may speak is for
//! [`access`](super::access) to say, what is wrong with a body for [`message`].

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rmcp::model::ErrorCode;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::access::Access;
use super::connections::{self, Connections, InUse};
use super::message::{self, Incoming, LONGEST, Refusal};
use super::runtime::{Signals, runtime};
use super::{Clients, Offer, Server};
use crate::sessions::Sessions;

/// Where the protocol is served.
const PATH: &str = "/mcp";

/// How long the requests under way may take after a signal.
const DRAIN: Duration = Duration::from_millis(500);

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
    let ended = runtime.block_on(serve_until_signalled(offer, endpoint));
    // A call that still waits for the disk is not waited for: it has not been answered.
    runtime.shutdown_timeout(Duration::ZERO);
    ended
}

async fn serve_until_signalled(offer: &Arc<Offer>, endpoint: Endpoint) -> io::Result<()> {
    let signals = Signals::new()?;
    let host = endpoint.access.host.as_str();
    let listener = TcpListener::bind((host, endpoint.port)).await;
    let listener =
        listener.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", url(host, endpoint.port))))?;
    let token = if endpoint.access.token.is_some() { "required" } else { "none" };
    tracing::info!(url = url(host, listener.local_addr()?.port()), token, "serving over HTTP");
    // An answer that comes in two pieces must not wait for the first to be acknowledged.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let (stop, close) = (CancellationToken::new(), CancellationToken::new());
    let router = router(Arc::clone(offer), endpoint.access, close.clone());
    let mut served =
        pin!(axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
    tokio::select! {
        ended = &mut served => return ended,
        () = signals.received() => {}
    }
    Sessions::stop_waiting();
    stop.cancel();
    if tokio::time::timeout(DRAIN, &mut served).await.is_err() {
        close.cancel();
        let _ = tokio::time::timeout(CLOSE, served).await;
    }
    Ok(())
}

/// The address for a person to give to a client.
fn url(host: &str, port: u16) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!("http://{host}:{port}{PATH}")
}

fn router(offer: Arc<Offer>, access: Access, close: CancellationToken) -> Router {
    let connections = Arc::new(Connections::new());
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_cancellation_token(close)
        // Both are looked at before, as is the origin. A body that was mended may have grown.
        .with_max_request_body_bytes(usize::MAX)
        .disable_allowed_hosts();
    let manager = Arc::clone(&connections.manager);
    let service = StreamableHttpService::new(move || Ok(Server::new(&offer, Clients::Many)), manager, config);
    Router::new()
        .route_service(PATH, service)
        .layer(middleware::from_fn_with_state(connections, connected))
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
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

/// Minds the connections while a request passes.
async fn connected(State(connections): State<Arc<Connections>>, request: Request, next: Next) -> Response {
    match *request.method() {
        Method::POST => post(&connections, request, next).await,
        Method::DELETE => delete(&connections, request, next).await,
        _ => next.run(request).await,
    }
}

/// A message: passed on where it is one, mended where it must be.
async fn post(connections: &Arc<Connections>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = match whole(body).await {
        Ok(body) => body,
        Err((status, why)) => return (status, why).into_response(),
    };
    let mut messages = message::read(&body);
    if messages.len() > 1 {
        return refused(&Refusal::invalid(None, "send one message in a request"));
    }
    let message = match messages.pop() {
        Some(Incoming::Message(message)) => message,
        Some(Incoming::Answer) => return StatusCode::ACCEPTED.into_response(),
        Some(Incoming::Refused(refusal)) => return refused(&refusal),
        None => {
            let message = "Parse error: the body is empty".to_owned();
            return refused(&Refusal { id: None, code: ErrorCode::PARSE_ERROR, message });
        }
    };
    let id = message.get("id").map(Value::to_string);
    let under_way = match connections.begin(&parts.headers, id.clone()) {
        Ok(under_way) => under_way,
        Err(InUse) => return refused(&Refusal::invalid(id, "the id is that of a request that is not answered yet")),
    };
    let response = next.run(Request::from_parts(parts, Body::from(message.to_string()))).await;
    connections.opened(response.headers()).await;
    let Some(under_way) = under_way else { return response };
    // The answer stands in the body, which may come much later.
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _held = &under_way;
            frame
        }))
    })
}

/// The end of a connection. The library takes an unknown one too, and says of each that its end was accepted, which some
/// clients report as a failure.
async fn delete(connections: &Connections, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    if headers.contains_key(connections::NAME) && !connections.has(&headers).await {
        return (StatusCode::NOT_FOUND, "There is no such connection").into_response();
    }
    let mut response = next.run(request).await;
    if response.status() == StatusCode::ACCEPTED {
        connections.forget(&headers);
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// The body of a request, as long as a message may be.
async fn whole(body: Body) -> Result<Bytes, (StatusCode, String)> {
    let too_long = || (StatusCode::PAYLOAD_TOO_LARGE, format!("The body is longer than {LONGEST} bytes"));
    // Where it says how long it is, it need not be read to know.
    if body.size_hint().lower() > LONGEST as u64 {
        return Err(too_long());
    }
    match Limited::new(body, LONGEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_long()),
        Err(error) => Err((StatusCode::BAD_REQUEST, format!("The body cannot be read: {error}"))),
    }
}

fn refused(refusal: &Refusal) -> Response {
    refusal.log();
    (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], refusal.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_in_brackets_where_it_has_colons() {
        assert_eq!(url("::1", 80), "http://[::1]:80/mcp");
        assert_eq!(url("localhost", 8080), "http://localhost:8080/mcp");
    }
}
