//! Whose turn it is: calls about one session are made one after the other.
//!
//! Owns the queue before each session. Who waits there takes no thread, so that a session that is slow holds up no other,
//! however many calls it keeps waiting. Knows nothing of what a call does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::OwnedMutexGuard;

use crate::plan::SessionName;

/// The queues before all sessions that a call is about now.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<SessionName, Queue>>);

/// A fair lock: turns come in the order in which they were asked for. It holds since when the session's database has kept
/// everybody waiting in vain, if it has.
type Queue = Arc<tokio::sync::Mutex<Option<Instant>>>;

/// A turn at a session. It is the next one's when this is dropped.
pub struct Turn(OwnedMutexGuard<Option<Instant>>);

impl Turn {
    /// Since when the call whose turn it is counts as waiting for the database: since now, or since it was made where those
    /// before it waited in vain, so that all who wait are told at about the same time.
    pub fn waits_since(&self, made: Instant) -> Instant {
        self.0.map_or_else(Instant::now, |stuck| stuck.max(made))
    }

    /// Ends the turn of a call that waited for the database in vain since then, or did not.
    pub fn end(mut self, stuck: Option<Instant>) {
        *self.0 = stuck;
    }
}

impl Turns {
    /// Waits for a turn.
    pub async fn next(&self, session: SessionName) -> Turn {
        let queue = self.queue(session.clone());
        if let Ok(turn) = Arc::clone(&queue).try_lock_owned() {
            return Turn(turn);
        }
        tracing::debug!(%session, "a call waits for its turn");
        Turn(queue.lock_owned().await)
    }

    fn queue(&self, session: SessionName) -> Queue {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those who wait and those whose turn it is each have a hold of their queue.
        let stuck = |queue: &Queue| queue.try_lock().is_ok_and(|stuck| stuck.is_some());
        queues.retain(|_, queue| Arc::strong_count(queue) > 1 || stuck(queue));
        Arc::clone(queues.entry(session).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_waited_behind_others_that_waited_in_vain_has_waited_too() {
        let turns = Turns::default();
        let session = || SessionName::parse("a-a-a").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let start = Instant::now();
            let long_ago = start.checked_sub(Duration::from_secs(60)).unwrap();
            let first = turns.next(session()).await;
            let mut second = Box::pin(turns.next(session()));
            assert!(polled(&mut second).await.is_none());
            assert!(first.waits_since(long_ago) >= start, "nobody was kept from the database so far");
            first.end(Some(long_ago));
            let second = second.await;
            assert_eq!(second.waits_since(long_ago), long_ago);
            assert_eq!(second.waits_since(start), start, "who came later has waited since then");
            let mut third = Box::pin(turns.next(session()));
            assert!(polled(&mut third).await.is_none());
            second.end(None);
            assert!(third.await.waits_since(long_ago) >= start);
            // It is remembered while nobody is there.
            turns.next(session()).await.end(Some(long_ago));
            assert_eq!(turns.next(session()).await.waits_since(start), start);
        });
    }

    #[test]
    fn turns_come_in_order_and_a_queue_is_gone_when_nobody_is_in_it() {
        let turns = Turns::default();
        let session = |name| SessionName::parse(name).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let first = turns.next(session("a-a-a")).await;
            let mut second = Box::pin(turns.next(session("a-a-a")));
            let mut third = Box::pin(turns.next(session("a-a-a")));
            assert!(polled(&mut second).await.is_none());
            assert!(polled(&mut third).await.is_none());
            drop(turns.next(session("b-b-b")).await);
            drop(first);
            assert!(polled(&mut third).await.is_none(), "not before the second");
            drop(polled(&mut second).await.expect("the second's turn"));
            drop(polled(&mut third).await.expect("the third's turn"));
            drop(turns.next(session("c-c-c")).await);
            assert_eq!(turns.0.lock().unwrap().keys().collect::<Vec<_>>(), [&session("c-c-c")]);
        });
    }

    /// What a future has come to, if it is done.
    async fn polled<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        std::future::poll_fn(|context| match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        })
        .await
    }
}
