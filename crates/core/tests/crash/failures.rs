//! Lets every disk call of a change fail with every error, and passes the result to a check.

use std::{fmt::Debug, io, thread};

use simulator::SimulatedDisk;

use crate::{
    cuts::runtime,
    evidence::{Counts, Group, tell},
};

/// EIO, ENOSPC, EACCES, EXDEV, EINTR, EMFILE.
const ERRORS: [i32; 6] = [5, 28, 13, 18, 4, 24];

/// The result of a change in which a call failed.
pub struct Failed<T, E> {
    /// The change's result.
    pub outcome: Result<T, E>,
    error: i32,
    call: usize,
    is_partway: bool,
    story: &'static str,
}

impl<T, E> Failed<T, E> {
    /// The kind of the injected error.
    pub fn kind(&self) -> io::ErrorKind {
        io::Error::from_raw_os_error(self.error).kind()
    }
}

impl<T, E> Drop for Failed<T, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self { error, call, is_partway, story, .. } = self;
            let partway = if *is_partway { " partway" } else { "" };
            eprintln!("{story}, call {call} failed{partway} with error {error}");
        }
    }
}

/// Lets each call of `act` fail, on a new disk that `begin` creates, with each error, without
/// effect and halfway done; `check` examines the result.
pub fn fail_everywhere<S, T, E: Debug>(
    group: Group,
    story: &'static str,
    begin: impl AsyncFn() -> (SimulatedDisk, S),
    act: impl AsyncFn(&SimulatedDisk, &S) -> Result<T, E>,
    check: impl AsyncFn(&SimulatedDisk, &S, &Failed<T, E>),
) {
    let calls = runtime().block_on(async {
        let (disk, state) = begin().await;
        let before = disk.calls();
        act(&disk, &state).await.unwrap();
        disk.calls() - before
    });
    assert_ne!(calls, 0);
    let mut counts = Counts::default();
    for call in 0..calls {
        let runtime = runtime();
        for error in ERRORS {
            for is_partway in [false, true] {
                counts.errors += 1;
                runtime.block_on(async {
                    let (disk, state) = begin().await;
                    let (at, cause) = (disk.calls() + call, io::Error::from_raw_os_error(error));
                    if is_partway {
                        disk.fail_partway(at, cause);
                    } else {
                        disk.fail(at, cause);
                    }
                    let outcome = act(&disk, &state).await;
                    assert!(disk.calls() > at, "the call was made");
                    let failed = Failed { outcome, error, call, is_partway, story };
                    check(&disk, &state, &failed).await;
                });
            }
        }
    }
    tell(group, story, counts);
}
