//! Runs a mutation in a child whose system calls are observed, or changed by injected errors.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    child::Running,
    contexts,
    mutations::{self, Mutation, Outcomes, Prepared},
    tracer::{Point, Thread, Tracer, points},
};

/// A child that is ready for its mutation, with the present files.
pub struct Ready {
    pub directory: PathBuf,
    pub before: BTreeMap<String, Vec<u8>>,
    child: Running,
    main: u32,
    aside: u32,
    folder: tempfile::TempDir,
    _prepared: Prepared,
}

impl Ready {
    pub async fn start(mutation: Mutation, rounds: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let directory = root.join("parent/store");
        std::fs::create_dir(root.join("parent")).unwrap();
        let prepared = mutations::prepare(mutation, &directory).await;
        let mut child = Running::start(&mutation.role(rounds), &directory);
        let ready = child.expect("ready");
        let mut threads = ready.split(' ').map(|id| id.parse().unwrap());
        let (main, aside) = (threads.next().unwrap(), threads.next().unwrap());
        let before = contexts::files(&directory);
        Self { directory, before, child, main, aside, folder, _prepared: prepared }
    }

    fn id(&self, thread: Thread) -> u32 {
        match thread {
            Thread::Main => self.main,
            Thread::Aside => self.aside,
        }
    }

    /// Starts the mutation with a tracer; returns the child's reports, and whether it succeeded.
    fn go(&mut self, tracers: Vec<Tracer>) -> (Outcomes, bool) {
        self.child.tell("go");
        let (lines, is_well) = self.child.finish();
        tracers.into_iter().for_each(Tracer::finish);
        (Outcomes::parse(&lines), is_well)
    }

    /// Starts the mutation with something injected at one point.
    pub fn go_with(&mut self, point: &Point, injection: &str) -> (Outcomes, bool) {
        let expression = format!("{}:{injection}:when={}", point.call, point.number);
        let tracer = Tracer::tamper(&[self.id(point.thread)], &[expression]);
        self.go(vec![tracer])
    }

    /// Starts the mutation with expressions for both threads.
    pub fn go_with_all(&mut self, expressions: &[String]) -> (Outcomes, bool) {
        let tracer = Tracer::tamper(&[self.main, self.aside], expressions);
        self.go(vec![tracer])
    }

    /// The points of the mutation: all calls of both threads that access the test's folder.
    fn observe(mut self) -> Vec<Point> {
        let folder = self.folder.path().canonicalize().unwrap();
        let files = [Thread::Main, Thread::Aside]
            .map(|thread| (thread, folder.join(format!("trace-{}", self.id(thread)))));
        let tracers =
            files.iter().map(|(thread, file)| Tracer::observe(self.id(*thread), file)).collect();
        let (outcomes, is_well) = self.go(tracers);
        assert!(is_well && outcomes.failed.is_empty(), "{outcomes:?}");
        let within = self.directory.parent().unwrap();
        files.iter().flat_map(|(thread, file)| points(file, *thread, within)).collect()
    }
}

/// The points of a mutation.
pub fn of(mutation: Mutation, rounds: usize) -> Vec<Point> {
    let found = super::runtime().block_on(Ready::start(mutation, rounds)).observe();
    assert!(!found.is_empty(), "{mutation:?} touches files");
    found
}

/// Runs `work` with every item, on two threads. A failure does not keep the other items from being
/// tested.
pub fn on_two_threads<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = catch_unwind(AssertUnwindSafe(|| work(item)));
                    failed.fetch_add(usize::from(outcome.is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert!(failed == 0, "{failed} of {} failed, see above", items.len());
}

/// The number of points for each call.
pub fn tally(points: impl Iterator<Item = String>) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    for call in points {
        *counts.entry(call).or_default() += 1;
    }
    let parts: Vec<String> = counts.iter().map(|(call, count)| format!("{call} {count}")).collect();
    parts.join(", ")
}

/// A shared count for several threads.
#[derive(Default)]
pub struct Tally(Mutex<BTreeMap<String, usize>>);

impl Tally {
    pub fn add(&self, what: &str) {
        *self.0.lock().unwrap().entry(what.to_owned()).or_default() += 1;
    }

    pub fn count(&self, what: &str) -> usize {
        self.0.lock().unwrap().get(what).copied().unwrap_or_default()
    }
}
