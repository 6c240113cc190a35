//! The order of calls that are made without waiting for each other.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    task::unconstrained,
};

/// More shared places than these are not under way at once.
const MAX_SHARED: u32 = 1 << 16;

/// Lets the calls on one object take effect in the order in which they were made, whichever thread
/// runs them.
pub struct CallOrder(Arc<Semaphore>);

impl Default for CallOrder {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_SHARED as usize)))
    }
}

/// A call's place in the order, until it is dropped.
pub struct CallPlace(State);

enum State {
    Reached(OwnedSemaphorePermit),
    Waiting(Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>),
    /// The semaphore is closed, which never happens.
    Closed,
}

impl CallOrder {
    /// The place of a call that waits for all calls before it, and that all calls after it wait for.
    #[must_use]
    pub fn exclusive(&self) -> CallPlace {
        self.place(MAX_SHARED)
    }

    /// The place of a call that shared ones, before it and after it, may run beside.
    #[must_use]
    pub fn shared(&self) -> CallPlace {
        self.place(1)
    }

    /// The semaphore serves its waiters in the order of their first polls, so each is polled at once.
    fn place(&self, permits: u32) -> CallPlace {
        let acquire = Arc::clone(&self.0).acquire_many_owned(permits);
        // A task that has used up its budget would not get into the queue.
        let mut acquire = Box::pin(unconstrained(acquire));
        match acquire.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(permit)) => CallPlace(State::Reached(permit)),
            Poll::Ready(Err(_)) => CallPlace(State::Closed),
            Poll::Pending => CallPlace(State::Waiting(acquire)),
        }
    }
}

impl CallPlace {
    /// Waits until the calls before it are over. Calls after it wait until the permit is dropped.
    pub async fn reached(self) -> Option<OwnedSemaphorePermit> {
        match self.0 {
            State::Reached(permit) => Some(permit),
            State::Waiting(acquire) => acquire.await.ok(),
            State::Closed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::sync::oneshot;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn calls_take_effect_in_their_order() {
        let (order, done) = (CallOrder::default(), Arc::new(Mutex::new(Vec::new())));
        let tasks: Vec<_> = (0..500)
            .map(|call| (call, order.exclusive()))
            .collect::<Vec<_>>()
            .into_iter()
            // Polled in another order.
            .rev()
            .map(|(call, place)| {
                let done = Arc::clone(&done);
                tokio::spawn(async move {
                    let _permit = place.reached().await;
                    tokio::task::yield_now().await;
                    done.lock().unwrap().push(call);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*done.lock().unwrap(), (0..500).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn shared_calls_run_beside_each_other_and_beside_no_exclusive_one() {
        let order = CallOrder::default();
        let first = order.shared().reached().await;
        let second = order.shared().reached().await;
        let exclusive = tokio::spawn(order.exclusive().reached());
        let mut after = tokio::spawn(order.shared().reached());
        tokio::task::yield_now().await;
        drop(first);
        tokio::task::yield_now().await;
        assert!(!exclusive.is_finished() && !after.is_finished(), "the second one is under way");
        drop(second);
        let exclusive = exclusive.await.unwrap();
        tokio::task::yield_now().await;
        assert!(!after.is_finished(), "it was called after the exclusive one");
        drop(exclusive);
        assert!((&mut after).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_call_that_is_given_up_blocks_no_other() {
        let order = CallOrder::default();
        let first = order.exclusive().reached().await;
        let (given_up, last) = (order.exclusive(), order.exclusive());
        drop(given_up);
        let (reached, mut is_reached) = oneshot::channel();
        let task = tokio::spawn(async move {
            let _permit = last.reached().await;
            let _ = reached.send(());
        });
        tokio::task::yield_now().await;
        assert!(is_reached.try_recv().is_err(), "the first one is under way");
        drop(first);
        task.await.unwrap();
        assert!(is_reached.try_recv().is_ok());
    }
}
