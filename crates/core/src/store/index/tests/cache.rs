//! The cache of the entry index: a new process uses it where it is valid, and ignores it where it
//! is not.

use std::{fs, time::Duration};

use storage::layout;
use text_index::{Operator, PrefixRule, QueryPlan, SearchSyntax};

use super::{
    super::{Filter, Limits, cache::decode},
    support::{MAX_BYTES, Note, Store, asking, found, windowed},
};
use crate::debug::Debug;

const EAGER: Limits =
    Limits { least_changes: 1, large: 10_000, window: Duration::ZERO, idle: Duration::ZERO };

/// Limits with which no cache is written.
const READER: Limits = Limits { least_changes: usize::MAX, ..EAGER };

async fn filled(count: u32) -> Store {
    let store = Store::with(EAGER);
    for number in 0..count {
        let (tags, body) = (format!("t{}", number % 3), format!("word{} common", number % 5));
        let links = [format!("a/{:03}.md", (number + 1) % count)];
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let note =
            Note { seconds: number, tags: &tags, body: &body, links: &links, ..Note::default() };
        store.write_settled(&format!("a/{number:03}.md"), &note.text());
    }
    store.refresh().await;
    store.index.save(&Debug::default()).await;
    // The write that the refresh started may still run.
    drop(store.index.tidying.acquire().await.unwrap());
    store.disk.reads();
    store
}

fn cache(store: &Store) -> std::path::PathBuf {
    store.path(layout::STORE_INDEX)
}

/// The answers to all kinds of queries.
async fn answers(store: &Store) -> Vec<String> {
    let index = store.again(READER);
    index.refresh(&Debug::default()).await.unwrap();
    let mut answers = found(&index, Filter::default()).await;
    for filter in [
        asking("word3"),
        Filter { ranked: true, ..asking("word1 common") },
        Filter { tags_all: vec!["t1".to_owned()], ..Filter::default() },
    ] {
        answers.extend(found(&index, filter).await);
    }
    answers.extend(
        index
            .summaries(&Filter::default(), &Debug::default())
            .await
            .unwrap()
            .iter()
            .map(|summary| format!("{summary:?}")),
    );
    answers
}

#[tokio::test]
async fn another_process_reads_only_what_changed() {
    let store = filled(60).await;
    let before = answers(&store).await;
    assert_eq!(store.disk.reads(), 0);
    store.note("a/007.md", Note { seconds: 7, body: "changed", ..Note::default() });
    store.note("b/new.md", Note { seconds: 99, body: "changed", ..Note::default() });
    fs::remove_file(store.path("a/008.md")).unwrap();
    let index = store.again(EAGER);
    index.refresh(&Debug::default()).await.unwrap();
    assert_eq!(store.disk.reads(), 2);
    assert_eq!(found(&index, asking("changed")).await, ["b/new.md", "a/007.md"]);
    assert_eq!(found(&index, Filter::default()).await.len(), 60);
    assert_eq!(found(&index, asking("word2")).await.len(), 11);
    assert_ne!(answers(&store).await, before);
    let entries = fs::read_dir(store.path("")).unwrap();
    let temporary = entries
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp"));
    assert_eq!(temporary.count(), 0);
}

#[tokio::test]
async fn it_is_written_when_enough_has_changed() {
    let limits = Limits { least_changes: 5, ..windowed(Duration::ZERO) };
    let store = Store::with(limits);
    let save = async || {
        store.refresh().await;
        store.index.save(&Debug::default()).await;
        drop(store.index.tidying.acquire().await.unwrap());
        fs::read(cache(&store)).ok()
    };
    for number in 0..4 {
        store.note(&format!("a/{number}.md"), Note::default());
    }
    assert!(save().await.is_none());
    store.note("a/4.md", Note::default());
    let first = save().await;
    assert!(first.is_some());
    store.note("a/5.md", Note::default());
    assert!(save().await == first);
    for number in 6..10 {
        store.note(&format!("a/{number}.md"), Note::default());
    }
    assert!(save().await != first);
    let index = store.again(limits);
    index.refresh(&Debug::default()).await.unwrap();
    assert_eq!(found(&index, Filter::default()).await.len(), 10);
}

#[tokio::test]
async fn a_foreign_cache_is_made_anew() {
    let store = filled(20).await;
    let (right, path) = (answers(&store).await, cache(&store));
    let bytes = fs::read(&path).unwrap();
    let rebuilds = async |bytes: &[u8], why: &str| {
        fs::write(&path, bytes).unwrap();
        store.disk.reads();
        assert_eq!(answers(&store).await, right, "{why}");
        assert!(store.disk.reads() >= 20, "{why}");
    };
    rebuilds(b"", "empty").await;
    rebuilds(b"hello", "foreign").await;
    rebuilds(&bytes[..bytes.len() - 1], "cut").await;
    let mut other = bytes.clone();
    other[14] = b'9';
    rebuilds(&other, "another format").await;
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    store.disk.reads();
    assert_eq!(answers(&store).await, right, "a directory");
}

/// Corrects the checksum, so that only the damaged parts themselves reveal the damage.
fn with_checksum(bytes: &mut [u8]) {
    if bytes.len() > 20 {
        let checksum = crc32fast::hash(&bytes[20..]);
        bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
    }
}

#[tokio::test]
async fn damage_is_survived() {
    let store = filled(12).await;
    let (right, path) = (answers(&store).await, cache(&store));
    let bytes = fs::read(&path).unwrap();
    let mut seed = 1_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut believed = 0;
    for round in 0..1000 {
        let mut damaged = bytes.clone();
        match round % 4 {
            0 => damaged.truncate(next(bytes.len())),
            1 => {
                let at = next(bytes.len());
                damaged.splice(at..at, (0..next(9)).map(|_| next(256) as u8).collect::<Vec<_>>());
            }
            _ => {
                for _ in 0..=next(3) {
                    damaged[next(bytes.len())] ^= 1 << next(8);
                }
            }
        }
        if damaged == bytes {
            continue;
        }
        assert!(decode(&damaged, MAX_BYTES, true).is_none(), "round {round}");
        if round % 50 < 4 {
            fs::write(&path, &damaged).unwrap();
            assert_eq!(answers(&store).await, right, "round {round}");
        }
        // Whether the index uses the cache or not, it must not panic.
        with_checksum(&mut damaged);
        if let Some((table, text)) = decode(&damaged, MAX_BYTES, true) {
            believed += 1;
            let syntax = SearchSyntax::parse("word3 common organiz* -\"a b\"").unwrap();
            let judgement = QueryPlan::new(&syntax, Operator::All).judge(&text);
            let any = QueryPlan::new(&syntax, Operator::Any(PrefixRule::Completions));
            let _ = any.ranking(&[&text]).rank_with_equals(&[&text], 5, &|_| true);
            let _ = any.judge(&text);
            table.rows().for_each(|row| {
                drop((row.summary(&table.names), judgement.of(row.sequence, true)))
            });
            text.maintain();
            let _ = text.stored();
        }
    }
    assert!(believed > 0, "no damage was ever believed: the second half tested nothing");
}
