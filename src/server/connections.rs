//! The connections over HTTP that began with `initialize`.
//!
//! Owns how many there may be, and which of their requests are under way. What a connection is, the library knows; that
//! it neither bounds them nor notices an id that is used twice is why this is here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// How long a connection may be silent before it is forgotten: an agent may work for hours on one plan.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// How many connections there may be, at some 60 KiB each. A further one takes the place of the one that was silent for
/// longest; its client finds it gone and connects again.
const MOST: usize = 500;

/// The header that names a connection.
pub const NAME: &str = "mcp-session-id";

/// A request that has the id of one that is under way.
pub struct InUse;

/// All connections.
pub struct Connections {
    pub manager: Arc<LocalSessionManager>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    connections: HashMap<String, Connection>,
    requests: u64,
}

#[derive(Default)]
struct Connection {
    /// The number of the last request.
    used: u64,
    /// The ids of requests that are not answered yet, as JSON.
    under_way: HashSet<String>,
}

/// A request that is not answered yet. Its id is free again when this is dropped.
pub struct UnderWay {
    connections: Arc<Connections>,
    name: String,
    id: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(connection) = self.connections.known().connections.get_mut(&self.name) {
            connection.under_way.remove(&self.id);
        }
    }
}

impl Connections {
    pub fn new() -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE);
        Self { manager: Arc::new(manager), known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request on the connection that its headers name, if they name one.
    ///
    /// # Errors
    ///
    /// Where a request with this id is under way there.
    pub fn begin(self: &Arc<Self>, headers: &HeaderMap, id: Option<String>) -> Result<Option<UnderWay>, InUse> {
        let Some(name) = named(headers) else { return Ok(None) };
        let mut known = self.known();
        known.requests += 1;
        let used = known.requests;
        // One that is not known is for the library to refuse.
        let Some(connection) = known.connections.get_mut(&name) else { return Ok(None) };
        connection.used = used;
        let Some(id) = id else { return Ok(None) };
        if !connection.under_way.insert(id.clone()) {
            return Err(InUse);
        }
        Ok(Some(UnderWay { connections: Arc::clone(self), name, id }))
    }

    /// Notes the connection that the headers of an answer name, if they name one: it is new. Where there are too many now,
    /// others are ended.
    pub async fn opened(&self, headers: &HeaderMap) {
        let Some(name) = named(headers) else { return };
        let surplus = self.known().add(name);
        for name in surplus {
            tracing::info!(most = MOST, "too many connections: the one that was silent for longest is ended");
            if let Err(error) = self.manager.close_session(&name.into()).await {
                tracing::warn!(%error, "a connection cannot be ended");
            }
        }
    }

    /// Whether the connection that the headers name is there.
    pub async fn has(&self, headers: &HeaderMap) -> bool {
        let Some(name) = named(headers) else { return false };
        self.manager.has_session(&name.into()).await.unwrap_or(false)
    }

    /// Forgets the connection that the headers name, since it is ended.
    pub fn forget(&self, headers: &HeaderMap) {
        if let Some(name) = named(headers) {
            self.known().connections.remove(&name);
        }
    }
}

impl Known {
    /// Adds a connection, and takes out those that are too many: of the others with nothing under way, the ones that were
    /// silent for longest.
    fn add(&mut self, name: String) -> Vec<String> {
        self.requests += 1;
        self.connections.entry(name.clone()).or_default().used = self.requests;
        let mut surplus = Vec::new();
        while self.connections.len() > MOST {
            let idle = self.connections.iter().filter(|(other, it)| **other != name && it.under_way.is_empty());
            let Some((oldest, _)) = idle.min_by_key(|(_, connection)| connection.used) else { break };
            let oldest = oldest.clone();
            self.connections.remove(&oldest);
            surplus.push(oldest);
        }
        surplus
    }
}

fn named(headers: &HeaderMap) -> Option<String> {
    headers.get(NAME)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &str) -> HeaderMap {
        [(NAME.parse().unwrap(), name.parse().unwrap())].into_iter().collect()
    }

    /// Connections with the names `0` and so on, as many as there may be.
    fn full() -> Arc<Connections> {
        let connections = Arc::new(Connections::new());
        for number in 0..MOST {
            assert_eq!(connections.known().add(number.to_string()), Vec::<String>::new());
        }
        connections
    }

    #[test]
    fn the_one_that_was_silent_for_longest_gives_way_unless_it_waits_for_an_answer() {
        let connections = full();
        let begin =
            |name: &str, id: Option<&str>| connections.begin(&headers(name), id.map(str::to_owned)).ok().flatten();
        let waiting = begin("0", Some("7")).unwrap();
        begin("1", None);
        assert_eq!(connections.known().add("a".to_owned()), ["2"]);
        drop(waiting);
        connections.forget(&headers("5"));
        assert_eq!(connections.known().add("b".to_owned()), Vec::<String>::new());
        assert_eq!(connections.known().add("c".to_owned()), ["3"]);
    }

    #[test]
    fn the_new_one_stays_and_what_was_too_much_goes_when_it_can() {
        let connections = full();
        let begin =
            |number: usize| connections.begin(&headers(&number.to_string()), Some("1".to_owned())).ok().flatten();
        let waiting: Vec<_> = (0..MOST).map(begin).collect();
        assert_eq!(connections.known().add("a".to_owned()), Vec::<String>::new());
        drop(waiting);
        assert_eq!(connections.known().add("b".to_owned()), ["0", "1"]);
    }

    #[test]
    fn an_id_is_in_use_until_its_request_is_dropped_and_only_on_its_connection() {
        let connections = full();
        let begin = |name: &str| connections.begin(&headers(name), Some("\"x\"".to_owned()));
        let first = begin("0").ok().flatten().unwrap();
        assert!(begin("0").is_err());
        assert!(begin("1").is_ok_and(|it| it.is_some()));
        assert!(begin("nonsense").is_ok_and(|it| it.is_none()));
        drop(first);
        assert!(begin("0").is_ok());
    }
}
