//! The mutations: how a child carries them out, and what the parent prepares and checks.
//!
//! A mutation is done in rounds, and the child reports the result of each. The files must be the
//! result of the acknowledged rounds, and of as many others as the caller allows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use agent_context_core::{
    Debug, Error,
    context::{Manager, ManagerOptions, Retention},
    history::History,
};
use storage::{
    DirectorySync, Disk, Durability, FileLock, FileSystem, Lease, LocalDisk, Payload, Target,
    layout,
};

use super::{child, contexts, histories, named_disk::NAMED_DISK};

/// The mutations of a directory of contexts, of a history, and of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// Saves a context. `named`: through temporary names; `fresh`: in a directory that does not
    /// exist yet.
    Save {
        full: bool,
        named: bool,
        fresh: bool,
    },
    /// Saves a small output, which evicts others from memory.
    Spill,
    Clear,
    ClearDirectory,
    Forget,
    Sweep,
    Append {
        full: bool,
        torn: bool,
        fresh: bool,
    },
    Compact,
    /// Only the core's creation of a file.
    Create {
        named: bool,
    },
    Lock,
}

const SIZE: usize = 20_000;
/// The size of the contexts of [`Mutation::Spill`], and the memory budget.
const SMALL: usize = 3000;
const BUDGET: usize = 12_000;

impl Mutation {
    pub const ALL: [Self; 19] = [
        Self::Save { full: false, named: false, fresh: false },
        Self::Save { full: true, named: false, fresh: false },
        Self::Save { full: false, named: true, fresh: false },
        Self::Save { full: true, named: true, fresh: false },
        Self::Save { full: true, named: false, fresh: true },
        Self::Spill,
        Self::Clear,
        Self::ClearDirectory,
        Self::Forget,
        Self::Sweep,
        Self::Append { full: false, torn: false, fresh: false },
        Self::Append { full: true, torn: false, fresh: false },
        Self::Append { full: false, torn: true, fresh: false },
        Self::Append { full: true, torn: true, fresh: false },
        Self::Append { full: true, torn: false, fresh: true },
        Self::Compact,
        Self::Create { named: false },
        Self::Create { named: true },
        Self::Lock,
    ];

    /// The role of the child.
    pub fn role(self, rounds: usize) -> String {
        let number = Self::ALL.iter().position(|mutation| *mutation == self).unwrap();
        format!("mutation {number} {rounds}")
    }

    fn is_fresh(self) -> bool {
        matches!(self, Self::Save { fresh: true, .. } | Self::Append { fresh: true, .. })
    }

    pub fn is_history(self) -> bool {
        matches!(self, Self::Append { .. } | Self::Compact)
    }

    fn removes(self) -> bool {
        matches!(self, Self::Clear | Self::ClearDirectory | Self::Forget | Self::Sweep)
    }
}

fn durability(full: bool) -> Durability {
    if full { Durability::Full } else { Durability::Process }
}

/// The values that the parent has prepared; it keeps their sessions live until it is dropped.
pub struct Prepared {
    _kept: Option<contexts::Kept>,
}

/// Prepares the data that is acknowledged before the child begins.
pub async fn prepare(mutation: Mutation, directory: &Path) -> Prepared {
    if mutation.is_fresh() {
        return Prepared { _kept: None };
    }
    fs::create_dir(directory).unwrap();
    match mutation {
        Mutation::Append { torn, .. } => {
            prepare_log(directory).await;
            if torn {
                let log = histories::text(directory) + histories::TORN;
                fs::write(directory.join(histories::NAME), log).unwrap();
            }
        }
        Mutation::Compact => prepare_log(directory).await,
        Mutation::Lock => {}
        _ => {
            let kept = contexts::Kept::make(directory).await;
            match mutation {
                Mutation::Clear => kept.leave(directory, 0, 2).await,
                Mutation::ClearDirectory => kept.leave(directory, 2, 0).await,
                Mutation::Sweep => kept.leave(directory, 3, 2).await,
                _ => {}
            }
            return Prepared { _kept: Some(kept) };
        }
    }
    Prepared { _kept: None }
}

async fn prepare_log(directory: &Path) {
    let history = histories::history(histories::options(directory, Durability::Full));
    for number in 0..5 {
        histories::append(&history, &format!("kept-{number}"), 300).await.unwrap();
    }
}

/// The values that the child keeps between its preparation and its rounds.
struct Actor {
    mutation: Mutation,
    directory: PathBuf,
    manager: Option<Arc<Manager>>,
    history: Option<Arc<History>>,
    paths: Vec<String>,
    lease: Option<Lease>,
}

fn child_options(mutation: Mutation, directory: &Path) -> ManagerOptions {
    let full = matches!(mutation, Mutation::Save { full: true, .. });
    let options = contexts::options(directory, "child", durability(full));
    match mutation {
        Mutation::Spill => ManagerOptions {
            persist_all: false,
            persist_threshold: 100_000,
            memory_budget: BUDGET,
            ..options
        },
        Mutation::Sweep => {
            ManagerOptions { retention: Retention { max_files: 2, ..options.retention }, ..options }
        }
        _ => options,
    }
}

impl Actor {
    async fn prepare(mutation: Mutation, directory: &Path) -> Self {
        let mut actor = Self {
            mutation,
            directory: directory.to_owned(),
            manager: None,
            history: None,
            paths: Vec::new(),
            lease: None,
        };
        let options = child_options(mutation, directory);
        match mutation {
            Mutation::Save { named: true, .. } => {
                actor.manager = Some(contexts::manager_on(NAMED_DISK, options));
            }
            Mutation::Append { full, .. } => {
                let options = histories::options(directory, durability(full));
                actor.history = Some(histories::history(options));
            }
            Mutation::Compact => {
                let options = histories::options(directory, Durability::Process);
                actor.history = Some(histories::history(options));
            }
            Mutation::Create { .. } => {
                let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
                actor.lease =
                    Some(Lease::acquire(&disk, directory, ["child"].into_iter()).unwrap());
            }
            Mutation::Lock => {}
            _ => actor.manager = Some(contexts::manager(options)),
        }
        let tools: &[&str] = match mutation {
            Mutation::Clear | Mutation::ClearDirectory => &["goes", "goes", "goes"],
            Mutation::Forget => &["goes", "stays"],
            _ => &[],
        };
        for tool in tools {
            let manager = actor.manager.as_ref().unwrap();
            let path = contexts::save(manager, tool, &contexts::text(300, 1000)).await.unwrap();
            actor.paths.push(path);
        }
        if mutation == Mutation::Spill {
            let manager = actor.manager.as_ref().unwrap();
            contexts::save(manager, "stays", &contexts::text(300, 200_000)).await.unwrap();
            for number in 0..3 {
                contexts::save(manager, "new", &contexts::text(number, SMALL)).await.unwrap();
            }
        }
        actor
    }

    async fn act(&self, round: usize) -> Result<(), Error> {
        let manager = || self.manager.as_ref().unwrap();
        let history = || self.history.as_ref().unwrap();
        match self.mutation {
            Mutation::Save { .. } => {
                let text = contexts::text(round, SIZE);
                contexts::save(manager(), "new", &text).await.map(drop)
            }
            Mutation::Spill => {
                for number in [3, 4] {
                    contexts::save(manager(), "new", &contexts::text(number, SMALL)).await?;
                }
                Ok(())
            }
            Mutation::Clear => manager().clear(manager().begin_clear()).await.map(drop),
            Mutation::ClearDirectory => {
                manager().clear_directory(manager().begin_clear()).await.map(drop)
            }
            Mutation::Forget => manager().forget(&self.paths[0]).await.map(drop),
            Mutation::Sweep => manager().sweep().await.map(drop),
            Mutation::Append { .. } => {
                histories::append(history(), &format!("new-{round}"), SIZE).await
            }
            Mutation::Compact => {
                let (count, summary) = compaction(round);
                histories::compact(history(), count, &summary).await
            }
            Mutation::Create { named } => self.create(named, round).await,
            Mutation::Lock => self.lock().await,
        }
    }

    async fn create(&self, named: bool, round: usize) -> Result<(), Error> {
        let name = layout::context(&layout::ContextName {
            session: None,
            tool: "new",
            arguments_hash: "0123456789ab",
            timestamp: 1_700_000_000_000,
            counter: round as u64,
            random: layout::random(),
        });
        let path = self.directory.join(name);
        let owner = self.lease.as_ref().unwrap().owner();
        let temporary = self.directory.join(layout::temporary(owner, round as u64));
        let target = Target { directory: &self.directory, temporary: &temporary, path: &path };
        let record = format!(
            r#"{{"toolName":"new","toolDescription":"new","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"child","args":{{}},"result":"{}"}}"#,
            contexts::text(round, SIZE).replace('/', "\\/")
        );
        let contents = Payload::new(record.into_bytes());
        let file_system: &dyn FileSystem = if named { &NAMED_DISK } else { &LocalDisk };
        storage::create_file(
            file_system,
            target,
            contents,
            Durability::Full,
            &DirectorySync::default(),
        )
        .await
        .map_err(|error| Error::from_file("create", &path, "path", error))
    }

    async fn lock(&self) -> Result<(), Error> {
        let lock = lock(&self.directory);
        let failed = |error| Error::from_file("lock", lock.path(), "path", error);
        let guard = match lock.acquire(Instant::now() + Duration::from_secs(20)).await {
            Err(storage::LockError::File(error)) => return Err(failed(error)),
            Err(storage::LockError::TimedOut) => panic!("nobody holds {:?}", lock.path()),
            Ok(guard) => guard,
        };
        let within = self.directory.join("within");
        fs::write(&within, "x").unwrap();
        fs::remove_file(&within).unwrap();
        drop(guard);
        Ok(())
    }
}

/// The lock file of the history in `directory`.
pub fn lock(directory: &Path) -> Arc<FileLock> {
    let path = directory.join(layout::lock(histories::NAME));
    Arc::new(FileLock::new(Arc::new(LocalDisk), path))
}

/// The number of entries that the round's compaction keeps, and the id of its summary.
fn compaction(round: usize) -> (u64, String) {
    (4 - round as u64, format!("summary-{round}"))
}

/// The child: prepares, reports its threads, waits, and does the rounds.
pub fn child(role: &str, directory: &Path) {
    let numbers: Vec<usize> =
        role.split(' ').skip(1).map(|number| number.parse().unwrap()).collect();
    let (mutation, rounds) = (Mutation::ALL[numbers[0]], numbers[1]);
    let orders = child::listen();
    super::runtime().block_on(async {
        let aside = tokio::task::spawn_blocking(child::thread_id).await.unwrap();
        let actor = Actor::prepare(mutation, directory).await;
        child::say(&format!("ready {} {aside}", child::thread_id()));
        orders.recv().unwrap();
        for round in 1..=rounds {
            match actor.act(round).await {
                Ok(()) => child::say(&format!("done {round}")),
                Err(error) => child::say(&format!(
                    "failed {round} {} {}",
                    error.code,
                    error.message.replace('\n', " ")
                )),
            }
        }
        if let Some(manager) = &actor.manager {
            manager.close(manager.calls()).await;
        }
        if let Some(lease) = actor.lease {
            lease.release();
        }
    });
}

/// The reports of a child on its rounds.
#[derive(Debug, Default)]
pub struct Outcomes {
    pub done: BTreeSet<usize>,
    /// Code and message of the error, by round.
    pub failed: BTreeMap<usize, (String, String)>,
}

impl Outcomes {
    pub fn parse(lines: &[String]) -> Self {
        let mut outcomes = Self::default();
        for line in lines {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            match words[..] {
                ["done", round] => drop(outcomes.done.insert(round.parse().unwrap())),
                ["failed", round, code, message] => {
                    let failure = (code.to_owned(), message.to_owned());
                    outcomes.failed.insert(round.parse().unwrap(), failure);
                }
                _ => {}
            }
        }
        outcomes
    }
}

/// Checks the directory; `possible` has the sets of rounds that may have been done.
pub async fn check(
    mutation: Mutation,
    directory: &Path,
    before: &BTreeMap<String, Vec<u8>>,
    possible: &[BTreeSet<usize>],
) {
    match mutation {
        Mutation::Append { .. } | Mutation::Compact => {
            let old = before.get(histories::NAME).cloned().unwrap_or_default();
            let old = String::from_utf8(old).unwrap();
            // A failed synchronisation is followed by an empty line.
            let now: String = histories::text(directory)
                .split_inclusive('\n')
                .filter(|line| *line != "\n")
                .collect();
            let texts: Vec<String> =
                possible.iter().map(|rounds| expected(mutation, &old, rounds)).collect();
            assert!(texts.contains(&now), "{possible:?} of {old:?} do not make {now:?}");
        }
        Mutation::Lock => {
            let lock = lock(directory);
            assert!(lock.try_acquire().unwrap().is_some_and(|guard| guard.is_exclusive()));
        }
        Mutation::Spill => {
            let results = (0..5).map(|round| (round, contexts::text(round, SMALL))).collect();
            let spilled = contexts::check(directory, before, &results, false).await;
            // Two more than fit into memory, so the oldest were evicted.
            let is_done = !possible.iter().any(BTreeSet::is_empty);
            assert!(!is_done || spilled == BTreeSet::from([0, 1]), "{spilled:?} left memory");
        }
        _ => {
            let results = (1..10).map(|round| (round, contexts::text(round, SIZE))).collect();
            let is_removed = mutation.removes() && !possible.iter().any(BTreeSet::is_empty);
            let found = contexts::check(directory, before, &results, is_removed).await;
            let is_possible = mutation.removes() || possible.contains(&found);
            assert!(is_possible, "{found:?} are there, not one of {possible:?}");
        }
    }
}

/// The text of a log after these rounds.
fn expected(mutation: Mutation, old: &str, rounds: &BTreeSet<usize>) -> String {
    let mut text = old.to_owned();
    for &round in rounds {
        if mutation == Mutation::Compact {
            let (count, summary) = compaction(round);
            text = histories::compacted(&text, usize::try_from(count).unwrap(), &summary);
        } else {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text += &histories::line(&format!("new-{round}"), SIZE);
        }
    }
    text
}

/// Checks that the next process works.
pub async fn check_next(mutation: Mutation, directory: &Path) {
    if mutation.is_history() {
        histories::check_next(directory).await;
    } else if mutation != Mutation::Lock {
        contexts::check_next(directory).await;
    }
}

/// A debug callback that counts messages.
pub fn counting(count: &Arc<std::sync::atomic::AtomicUsize>) -> Debug {
    let count = Arc::clone(count);
    Debug::new(move |_, _| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    })
}
