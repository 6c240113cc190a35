//! Reads many entries in few steps where the file system can, such as a database. Elsewhere entries are read one after the
//! other.

use std::{
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

use rustc_hash::FxHashMap;
use storage::{Contents, FileError, FileResult, FileSystem};

use super::{Location, time};

/// The most entries of one step. With [`SHORT`], a step reads 16 MiB at most.
pub(super) const AT_ONCE: usize = 256;
/// The longest entry that is read together with others, in bytes.
pub(super) const SHORT: u64 = 64 * 1024;

/// Entries that were read before they are needed; `None` are those that do not exist.
pub(super) struct ReadAhead {
    /// When reading began, ms since 1970.
    pub began: i64,
    read: Mutex<FxHashMap<Location, Option<Contents>>>,
}

impl ReadAhead {
    /// Reads entries below `root`: one step for each directory that has several of them. Returns `None` if no entries were read,
    /// because the file system reads them as fast one after the other, or refuses. Then reading them alone says why.
    pub async fn of(
        file_system: &dyn FileSystem,
        root: &Path,
        locations: impl Iterator<Item = Location>,
    ) -> Option<Self> {
        let mut directories: FxHashMap<String, Vec<Location>> = FxHashMap::default();
        for location in locations.take(AT_ONCE) {
            directories.entry(location.directory().to_owned()).or_default().push(location);
        }
        let (began, mut read) = (time::now(), FxHashMap::default());
        for (directory, locations) in directories.into_iter().filter(|(_, some)| some.len() > 1) {
            let names: Vec<String> = locations.iter().map(|one| one.name().to_owned()).collect();
            let contents = file_system.read_many(&root.join(directory), &names, SHORT).await;
            read.extend(locations.into_iter().zip(contents.ok().flatten()?));
        }
        (!read.is_empty()).then(|| Self { began, read: Mutex::new(read) })
    }

    /// What a read of an entry with this limit would give; `None` if it was not read, not completely, or taken before.
    pub fn take(&self, location: &Location, limit: u64) -> Option<FileResult<Contents>> {
        // A poisoned lock is safe to use: entries are removed in one step.
        let taken = self.read.lock().unwrap_or_else(PoisonError::into_inner).remove(location)?;
        let Some(contents) = taken else {
            let missing = io::ErrorKind::NotFound.into();
            return Some(Err(FileError::system("read", Path::new(location.as_str()), missing)));
        };
        let is_enough = contents.bytes.len() as u64 >= contents.length.min(limit);
        is_enough.then_some(Ok(contents))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use storage::LocalDisk;

    use super::*;
    use crate::{
        context::beginnings::tests::Batching,
        debug::Debug,
        store::{Filter, Store, StoreOptions},
    };

    const ENTRIES: usize = 300;
    /// Of a search. Each one reads all entries again, because they were written just now.
    const MOST: usize = 24;

    fn open(directory: &Path, file_system: Arc<dyn FileSystem>) -> Arc<Store> {
        let options = StoreOptions {
            directory: directory.to_owned(),
            agent: "reader".to_owned(),
            session_id: "s".to_owned(),
            has_session_directory: false,
            durability: storage::Durability::Process,
            lock_timeout: std::time::Duration::from_secs(20),
            max_entry_bytes: 1 << 20,
            trust: crate::safety::Trust::default(),
        };
        Store::new(options, &file_system, Debug::default())
    }

    /// Every other entry has the words next to each other; one is longer than what is read together with others.
    fn write_entries(directory: &Path) {
        for number in 0..ENTRIES {
            let agent = directory.join(format!("agent-{}", number % 3));
            fs::create_dir_all(&agent).unwrap();
            let phrase = if number % 2 == 0 { "a login form" } else { "the form of a login" };
            let more = if number == 8 { "and many words ".repeat(10_000) } else { String::new() };
            let head = format!(
                "---\nagent: agent\ntype: finding\nslug: e{number}\ntimestamp: 2026-02-21T14:30:22.000Z\n---\n"
            );
            fs::write(agent.join(format!("e{number}.md")), format!("{head}\n{phrase} {more}\n"))
                .unwrap();
        }
    }

    async fn found(store: &Arc<Store>, query: &str, is_ranked: bool, limit: usize) -> Vec<String> {
        let filter =
            Filter { query: Some(query.to_owned()), ranked: is_ranked, limit, ..Filter::default() };
        let entries = store.search(&filter, None).await.unwrap();
        entries.into_iter().map(|entry| entry.summary.path).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn searches_read_entries_in_few_steps() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().canonicalize().unwrap().join("store");
        write_entries(&directory);
        let batching = Arc::new(Batching(AtomicUsize::new(0)));
        let store = open(&directory, Arc::clone(&batching) as Arc<dyn FileSystem>);
        let taken = || batching.0.swap(0, Ordering::Relaxed);
        assert_eq!(found(&store, "login", true, 50).await.len(), 50);
        let first = taken();
        assert!(first <= MOST, "{first} reads");
        assert_eq!(found(&store, "login", true, 50).await.len(), 50);
        let ranked = taken();
        assert!(ranked <= MOST, "{ranked} reads");
        assert_eq!(found(&store, "\"login form\"", false, 50).await.len(), 50);
        let phrase = taken();
        assert!(phrase <= MOST, "{phrase} reads");

        fs::remove_file(directory.join("agent-0/e0.md")).unwrap();
        let on_disk = open(&directory, Arc::new(LocalDisk));
        for (query, is_ranked) in [("\"login form\"", false), ("login", true)] {
            let expected = found(&on_disk, query, is_ranked, ENTRIES).await;
            assert_eq!(found(&store, query, is_ranked, ENTRIES).await, expected);
            assert!(expected.iter().any(|path| path == "agent-2/e8.md"));
        }
    }

    #[tokio::test]
    async fn what_was_not_read_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        write_entries(folder.path());
        let all =
            ["agent-0/e0.md", "agent-0/e3.md", "agent-0/e1.md", "agent-2/e8.md", "agent-2/e2.md"];
        let locations = all.map(|path| Location::parse(path).unwrap());
        let none = ReadAhead::of(&LocalDisk, folder.path(), locations.iter().cloned()).await;
        assert!(none.is_none());
        let batching = Batching(AtomicUsize::new(0));
        let ahead =
            ReadAhead::of(&batching, folder.path(), locations.iter().cloned()).await.unwrap();
        assert_eq!(batching.0.load(Ordering::Relaxed), 2);
        let [read, other, missing, long, short] = &locations;
        let limit = 1 << 20;
        assert!(ahead.take(read, limit).unwrap().unwrap().bytes.starts_with(b"---"));
        assert!(ahead.take(read, limit).is_none(), "it was taken");
        assert!(ahead.take(other, limit).unwrap().is_ok());
        assert!(ahead.take(missing, limit).unwrap().unwrap_err().is_not_found());
        assert!(ahead.take(long, limit).is_none(), "the rest was not read");
        assert!(ahead.take(short, limit).unwrap().is_ok());
    }
}
