//! A parallel map on scoped threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::blocking::Cancelled;

/// More threads than these only wait for each other's memory.
const MAX_THREADS: usize = 32;

/// Threads for work that waits for files more than it computes.
const FEW_THREADS: usize = 4;

/// Threads for all cores: files are waited for, so two even where there is one core.
pub fn thread_count() -> usize {
    at_most(MAX_THREADS)
}

fn at_most(threads: usize) -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, threads)
}

/// Maps each item with `work`, in order, on a few threads. Returns fewer results when cancelled.
pub fn map_on_few_threads<T: Sync, R: Send>(
    items: &[T],
    cancelled: &Cancelled,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    each(at_most(FEW_THREADS), items, cancelled, || (), |(), item| Some(work(item)))
}

/// Maps each item with `work`, in order, on all cores. Each thread creates a state of its own. Returns fewer results
/// when cancelled, and leaves out items for which `work` returns `None`.
pub fn filter_map_on_all_cores<S, T: Sync, R: Send>(
    items: &[T],
    cancelled: &Cancelled,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Option<R> + Sync,
) -> Vec<R> {
    each(thread_count(), items, cancelled, start, work)
}

fn each<S, T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    cancelled: &Cancelled,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Option<R> + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done) = (start(), Vec::new());
        while !cancelled.is_set() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { break };
            done.extend(work(&mut state, item).map(|result| (number, result)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(run)).collect();
        let mut done = if items.is_empty() { Vec::new() } else { run() };
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
            let odd = |_: &mut (), item: &usize| (item % 2 == 1).then_some(item * 2);
            let found = filter_map_on_all_cores(&items, &Cancelled::default(), || (), odd);
            assert!(
                found.into_iter().eq((0..count).filter(|item| item % 2 == 1).map(|item| item * 2))
            );
            assert!(filter_map_on_all_cores(&items, &Cancelled::set(), || (), odd).is_empty());
            let doubled = map_on_few_threads(&items, &Cancelled::default(), |item| item * 2);
            assert!(doubled.into_iter().eq((0..count).map(|item| item * 2)));
            assert!(map_on_few_threads(&items, &Cancelled::set(), |item| *item).is_empty());
        }
    }
}
