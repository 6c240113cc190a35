//! Work on several threads, for threads that may wait.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::aside::Cancelled;

/// Threads that work together: files are waited for, so a few even where there is one core.
const THREADS: usize = 4;

/// What `work` makes of each item, in their order; fewer when it is cancelled.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    cancelled: &Cancelled,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, THREADS);
    if items.len() < 2 {
        return items.iter().filter(|_| !cancelled.is_set()).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while !cancelled.is_set() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { break };
            done.push((number, work(item)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for count in [0, 1, 2, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = in_parallel(&items, &Cancelled::default(), |item| item * 2);
            assert!(doubled.into_iter().eq((0..count).map(|item| item * 2)));
            assert!(in_parallel(&items, &Cancelled::set(), |item| *item).is_empty());
        }
    }
}
