//! Simulates a crash after every operation of a recorded story, and passes the resulting disks to a
//! check.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    thread,
};

use simulator::{SimulatedDisk, Survival};
use storage::{Access, Disk};
use tokio::runtime::{Builder, Runtime};

use crate::evidence::{Counts, Group, tell};

const EXTREMES: [Survival; 5] = [
    Survival::Nothing,
    Survival::Everything,
    Survival::EntriesOnly,
    Survival::EntriesAndLengths,
    Survival::DataOnly,
];

/// The state after a crash.
pub struct Found {
    /// The disk.
    pub disk: SimulatedDisk,
    /// The number of operations before the crash.
    pub at: usize,
    /// What survived the power failure; `None` if only the process ended.
    pub survival: Option<Survival>,
    story: &'static str,
    model: &'static str,
}

impl Found {
    /// Whether only the process ended.
    pub fn is_killed(&self) -> bool {
        self.survival.is_none()
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self { at, survival, story, model, .. } = self;
            eprintln!("{story}, {model}, after {at} operations, {survival:?} survived");
        }
    }
}

/// A runtime of one thread.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// A file on a disk: name and contents.
pub type RawFile = (String, Vec<u8>);

/// The files of a directory, with their contents.
pub fn raw(disk: &SimulatedDisk, directory: &str) -> Vec<RawFile> {
    let directory = Path::new(directory);
    let read = |name: &str| disk.read(directory, Path::new(name), u64::MAX).unwrap().bytes;
    let entries = disk.list(directory).unwrap();
    entries.into_iter().map(|entry| (entry.name.clone(), read(&entry.name))).collect()
}

/// The names of a directory's files.
pub fn names(disk: &SimulatedDisk, directory: &str) -> Vec<String> {
    disk.list(Path::new(directory)).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// A digest of the files' names, identities and contents.
fn digest(disk: &SimulatedDisk, directory: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let path = Path::new(&directory);
        (&directory, disk.canonical(path).is_ok()).hash(&mut hasher);
        for (name, contents) in raw(disk, &directory) {
            disk.open(&path.join(&name), Access::Read).unwrap().identity().hash(&mut hasher);
            (name, contents).hash(&mut hasher);
        }
        let inner = disk.directories(path).unwrap_or_default().into_iter();
        directories.extend(inner.map(|name| format!("{directory}/{name}")));
    }
    hasher.finish()
}

/// The least number of random losses that each group is tested with.
pub const SUBSETS: usize = 20_000;

/// Crashes the story that a disk has recorded after every operation, with all kinds of losses, of
/// which at least `subsets` are random, and checks the result: with directory entries that become
/// durable independently, and with entries in a log, where renames become durable before data. Of
/// disks with the same contents of `directory`, only one is checked.
pub fn cut_everywhere(
    group: Group,
    story: &'static str,
    disk: &SimulatedDisk,
    directory: &str,
    subsets: usize,
    check: impl AsyncFn(&Found),
) {
    let mut counts = Counts { prefixes: disk.operations() + 1, ..Counts::default() };
    let models = [
        ("independent entries", disk.clone(), subsets.div_ceil(counts.prefixes)),
        // Fewer outcomes are possible, because entries keep their order.
        ("logged entries", disk.clone().with_entry_log(), subsets.div_ceil(4 * counts.prefixes)),
    ];
    for (model, disk, random) in models {
        for at in 0..counts.prefixes {
            let runtime = runtime();
            let mut seen = HashSet::new();
            let seeds = (0..random).map(|number| Survival::Random((at * random + number) as u64));
            for survival in EXTREMES.into_iter().chain(seeds).map(Some).chain([None]) {
                match survival {
                    Some(Survival::Random(_)) => counts.subsets += 1,
                    _ => counts.extremes += 1,
                }
                let disk = match survival {
                    Some(survival) => disk.crash(at, survival),
                    None => disk.kill(at),
                };
                if seen.insert((survival.is_none(), digest(&disk, directory))) {
                    let found = Found { disk, at, survival, story, model };
                    runtime.block_on(check(&found));
                }
            }
            counts.different += seen.len();
        }
    }
    assert!(counts.subsets >= subsets);
    tell(group, story, counts);
}
