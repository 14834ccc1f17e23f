//! Whose turn it is: calls about one session are made one after the other.
//!
//! Owns the queue before each session. Who waits there takes no thread, so that a session that is slow holds up no other,
//! however many calls it keeps waiting. Knows nothing of what a call does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::plan::SessionName;

/// The queues before all sessions that a call is about now.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<SessionName, Queue>>);

/// A fair lock: turns come in the order in which they were asked for.
type Queue = Arc<tokio::sync::Mutex<()>>;

/// A turn at a session. It is the next one's when this is dropped.
pub struct Turn(#[expect(dead_code, reason = "held, not read")] OwnedMutexGuard<()>);

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
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        Arc::clone(queues.entry(session).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
