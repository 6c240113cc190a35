//! A model test: after any sequence of file operations, the index returns what reading every file
//! returns.

use std::{collections::BTreeMap, fs, time::UNIX_EPOCH};

use proptest::prelude::*;

use super::{
    super::{Filter, Limits, Location},
    support::{Note, Store, asking, found},
};
use crate::{debug::Debug, store::Entry};

#[derive(Debug, Clone)]
enum Step {
    Write {
        path: usize,
        word: usize,
        seconds: u32,
        tag: usize,
    },
    Break {
        path: usize,
    },
    Remove {
        path: usize,
    },
    RemoveDirectory {
        path: usize,
    },
    Move {
        from: usize,
        to: usize,
    },
    /// Continues as another process, with or without the cache.
    Restart {
        keeps_cache: bool,
    },
}

const PATHS: [&str; 8] =
    ["a/1.md", "a/2.md", "a/s/1.md", "a/s/2.md", "b/1.md", "b/t/1.md", "c/.x.md", "c/x.txt"];
const WORDS: [&str; 5] = ["alpha", "omega", "alphabet", "gamma", "delta"];
const TAGS: [&str; 3] = ["red", "blue", "green"];

fn step() -> impl Strategy<Value = Step> {
    let path = 0..PATHS.len();
    prop_oneof![
        6 => (path.clone(), 0..WORDS.len(), 0_u32..5, 0..TAGS.len())
            .prop_map(|(path, word, seconds, tag)| Step::Write { path, word, seconds, tag }),
        1 => path.clone().prop_map(|path| Step::Break { path }),
        1 => path.clone().prop_map(|path| Step::Remove { path }),
        1 => path.clone().prop_map(|path| Step::RemoveDirectory { path }),
        1 => (path.clone(), path).prop_map(|(from, to)| Step::Move { from, to }),
        1 => any::<bool>().prop_map(|keeps_cache| Step::Restart { keeps_cache }),
    ]
}

/// Reads every entry's file: path, sort key, entry.
fn entries(store: &Store) -> BTreeMap<String, (String, i64, Entry)> {
    let mut entries = BTreeMap::new();
    for path in PATHS {
        let (Ok(bytes), Ok(location)) = (fs::read(store.path(path)), Location::parse(path)) else {
            continue;
        };
        let Ok(entry) = Entry::read(&location, &bytes) else { continue };
        let modified = fs::metadata(store.path(path)).unwrap().modified().unwrap();
        let modified = modified.duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        entries.insert(path.to_owned(), (entry.summary.timestamp.clone(), modified, entry));
    }
    entries
}

fn scanned(store: &Store, accepts: impl Fn(&Entry) -> bool) -> Vec<String> {
    let entries = entries(store);
    let mut found: Vec<_> = entries
        .into_iter()
        .filter(|(_, (.., entry))| accepts(entry))
        .map(|(path, (timestamp, modified, _))| (timestamp, modified, path))
        .collect();
    found.sort_unstable_by(|left, right| right.cmp(left));
    found.into_iter().map(|(.., path)| path).collect()
}

fn has_word(entry: &Entry, beginning: &str) -> bool {
    entry.content.split_whitespace().any(|word| word.starts_with(beginning))
}

async fn run(steps: Vec<Step>) {
    let limits = Limits { least_changes: 1, ..Limits::default() };
    let mut store = Store::with(limits);
    for step in steps {
        match step {
            Step::Write { path, word, seconds, tag } => {
                let links = [PATHS[word]];
                let (body, tags) = (format!("{} body", WORDS[word]), TAGS[tag]);
                let note = Note { seconds, tags, body: &body, links: &links, ..Note::default() };
                store.note(PATHS[path], note);
            }
            Step::Break { path } => store.write(PATHS[path], "---\ntype: nonsense\n---\n"),
            Step::Remove { path } => drop(fs::remove_file(store.path(PATHS[path]))),
            Step::RemoveDirectory { path } => {
                drop(fs::remove_dir_all(store.path(PATHS[path]).parent().unwrap()));
            }
            Step::Move { from, to } => {
                drop(fs::rename(store.path(PATHS[from]), store.path(PATHS[to])))
            }
            Step::Restart { keeps_cache } => {
                store.index.save(&Debug::default()).await;
                if !keeps_cache {
                    let _ = fs::remove_file(store.path(storage::layout::STORE_INDEX));
                }
                store.index = store.again(limits);
            }
        }
        assert_eq!(store.all().await, scanned(&store, |_| true));
        for word in ["alpha", "omega", "delta"] {
            let expected = scanned(&store, |entry| has_word(entry, word));
            assert_eq!(found(&store.index, asking(word)).await, expected, "{word}");
            let phrase = format!("\"{word} body\"");
            let exact = scanned(&store, |entry| entry.content.contains(&format!("{word} body")));
            assert_eq!(found(&store.index, asking(&phrase)).await, exact, "{phrase}");
            let without = scanned(&store, |entry| !entry.content.contains(&format!("{word} ")));
            assert_eq!(found(&store.index, asking(&format!("-{word}"))).await, without, "-{word}");
            let ranked = Filter { ranked: true, ..asking(word) };
            let mut ranked = found(&store.index, ranked).await;
            ranked.sort();
            let mut expected = scanned(&store, |entry| entry.content.contains(&format!("{word} ")));
            expected.sort();
            assert_eq!(ranked, expected, "{word}, ranked");
        }
        let red = Filter { tags_all: vec!["red".to_owned()], ..Filter::default() };
        let is_red = |entry: &Entry| entry.summary.tags == ["red"];
        assert_eq!(found(&store.index, red).await, scanned(&store, is_red));
        let known = entries(&store);
        let dangling = known.iter().flat_map(|(path, (.., entry))| {
            let links = entry.summary.links.iter().filter(|link| !known.contains_key(*link));
            links.map(|link| (path.clone(), link.clone()))
        });
        let mut told = store.index.dangling_links();
        told.sort();
        assert_eq!(told, dangling.collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_found_is_what_is_there(steps in prop::collection::vec(step(), 1..25)) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run(steps));
    }
}
