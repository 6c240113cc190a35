//! The index notices changes of files.

use std::{
    fs,
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, SystemTime},
};

use simulator::SimulatedDisk;
use storage::FileSystem;
use tasks::Cancelled;

use super::{
    super::{EntryIndex, Limits, Location},
    support::{MAX_BYTES, Note, Store, asking, found, windowed},
};
use crate::debug::Debug;

fn body(body: &str) -> Note<'_> {
    Note { body, ..Note::default() }
}

#[tokio::test]
async fn edits_replacements_and_removals_are_seen() {
    let store = Store::new();
    assert!(store.all().await.is_empty());
    store.write_settled("a/one.md", &body("alpha").text());
    store.write_settled("a/s/two.md", &body("gamma").text());
    assert_eq!(store.query("alpha").await, ["a/one.md"]);
    assert_eq!(store.disk.reads(), 2);

    // Overwritten in place, with the same length and the same time.
    let time = fs::metadata(store.path("a/one.md")).unwrap().modified().unwrap();
    store.write("a/one.md", &body("omega").text());
    store.set_modified("a/one.md", time);
    assert_eq!(store.query("omega").await, ["a/one.md"]);
    assert_eq!(store.query("alpha").await, [""; 0]);

    store.write("a/new.tmp", &body("delta").text());
    fs::rename(store.path("a/new.tmp"), store.path("a/one.md")).unwrap();
    assert_eq!(store.query("delta").await, ["a/one.md"]);

    store.write("b/three.md", &body("delta").text());
    store.write("b/s2/four.md", &body("delta").text());
    assert_eq!(store.query("delta").await.len(), 3);

    fs::remove_file(store.path("a/one.md")).unwrap();
    fs::remove_dir_all(store.path("b/s2")).unwrap();
    assert_eq!(store.query("delta").await, ["b/three.md"]);
    fs::remove_dir_all(store.path("b")).unwrap();
    assert_eq!(store.all().await, ["a/s/two.md"]);
    fs::remove_dir_all(store.path("a")).unwrap();
    assert!(store.all().await.is_empty());
}

#[tokio::test]
async fn what_is_settled_is_not_read_again_and_what_is_not_is() {
    let store = Store::new();
    store.disk.is_coarse.store(true, Ordering::SeqCst);
    store.write_settled("a/old.md", &body("alpha").text());
    store.write("a/new.md", &body("alpha").text());
    store.set_modified("a/new.md", SystemTime::now() + Duration::from_secs(5));
    store.refresh().await;
    assert_eq!(store.disk.reads(), 2);
    store.refresh().await;
    assert_eq!(store.disk.reads(), 1, "the new one may change without a sign");
    // A change without a sign of it: the same length, and within the same second.
    let time = fs::metadata(store.path("a/new.md")).unwrap().modified().unwrap();
    store.write("a/new.md", &body("omega").text());
    store.set_modified("a/new.md", time);
    assert_eq!(store.query("omega").await, ["a/new.md"]);
    store.settle("a/new.md");
    store.refresh().await;
    store.disk.reads();
    store.refresh().await;
    assert_eq!(store.disk.reads(), 0, "settled by now");
}

#[tokio::test]
async fn only_entries_are_read() {
    let store = Store::new();
    let text = body("alpha").text();
    for path in [
        "a/entry.md",
        "a/s/entry.md",
        "root.md",
        "a/.hidden.md",
        ".a/entry.md",
        "a/.s/entry.md",
        "a/s/t/deep.md",
        "a/readme.txt",
        "a/.md",
    ] {
        store.write(path, &text);
    }
    fs::create_dir_all(store.path("a/directory.md")).unwrap();
    store.write("a/directory.md/inner.md", &text);
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(store.path("a/entry.md"), store.path("a/link.md")).unwrap();
        symlink(store.path("a"), store.path("linked")).unwrap();
        symlink(store.path("a/s"), store.path("a/linked")).unwrap();
    }
    let mut all = store.all().await;
    all.sort();
    assert_eq!(all, ["a/directory.md/inner.md", "a/entry.md", "a/s/entry.md"]);
    assert!(store.index.problems().is_empty());
    for path in ["linked/entry.md", "a/link.md", "a/gone.md"] {
        store.index.note(&Location::parse(path).unwrap());
        store.refresh().await;
        assert!(store.index.summary(path).is_none(), "{path}");
    }
    assert!(store.index.problems().is_empty());
}

#[tokio::test]
async fn files_that_are_no_entries_are_told_once_and_hide_nothing() {
    let store = Store::new();
    store.note("a/good.md", body("alpha"));
    store
        .write("a/bad.md", "---\nagent: a\ntype: nonsense\ntimestamp: 2026-02-21T14:30:22Z\n---\n");
    store.write("a/bytes.md", "");
    fs::write(store.path("a/bytes.md"), b"---\nagent: a\n\xff").unwrap();
    fs::write(store.path("a/large.md"), vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
    store.note("a/closed.md", body("alpha"));
    store.note("secret/one.md", body("alpha"));
    store.disk.closed.lock().unwrap().extend(["a/closed.md".to_owned(), "secret".to_owned()]);

    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let debug = Debug::new(move |_, data| {
        heard.lock().unwrap().push(data["path"].as_str().unwrap().to_owned());
    });
    let refresh = async || {
        store.index.refresh(&debug).await.unwrap();
        let mut said = std::mem::take(&mut *said.lock().unwrap());
        said.sort();
        said
    };
    let all = ["a/bad.md", "a/bytes.md", "a/closed.md", "a/large.md", "secret"];
    assert_eq!(refresh().await, all);
    assert_eq!(refresh().await, [""; 0]);
    assert_eq!(store.all().await, ["a/good.md"]);
    let problems = store.index.problems();
    let mut paths: Vec<&str> = problems.iter().map(|(path, _)| path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, all);
    let of = |path: &str| &problems.iter().find(|(other, _)| other == path).unwrap().1;
    assert_eq!((of("a/bad.md").line, of("a/bytes.md").line), (3, 3));
    assert!(of("a/large.md").reason.contains("bytes"), "{:?}", of("a/large.md"));

    store.write(
        "a/bad.md",
        "---\nagent: a\ntype: nonsense2\ntimestamp: 2026-02-21T14:30:22Z\n---\n",
    );
    store.note("a/bytes.md", body("alpha"));
    fs::remove_file(store.path("a/large.md")).unwrap();
    store.disk.closed.lock().unwrap().clear();
    assert_eq!(refresh().await, ["a/bad.md"], "another version");
    assert_eq!(store.query("alpha").await.len(), 4);
    assert_eq!(store.index.problems().len(), 1);
    store.write("a/good.md", "---\nagent: [\n---\n");
    assert_eq!(refresh().await, ["a/good.md"]);
    assert_eq!(store.query("alpha").await.len(), 3, "what it was is forgotten");
}

#[tokio::test]
async fn a_store_that_cannot_be_listed_is_an_error() {
    let store = Store::new();
    store
        .disk
        .closed
        .lock()
        .unwrap()
        .push(store.path("").file_name().unwrap().to_str().unwrap().to_owned());
    assert!(store.index.refresh(&Debug::default()).await.is_err());
    store.disk.closed.lock().unwrap().clear();
    store.refresh().await;
    let gone = EntryIndex::new(
        Arc::new(store.disk.clone()) as Arc<dyn FileSystem>,
        store.path("missing"),
        MAX_BYTES,
    );
    gone.refresh(&Debug::default()).await.unwrap();
    assert!(found(&gone, super::super::Filter::default()).await.is_empty());
}

#[tokio::test]
async fn a_large_store_is_compared_once_in_a_while() {
    let store = Store::with(windowed(Duration::from_secs(3600)));
    store.write_settled("a/one.md", &body("alpha").text());
    assert_eq!(store.query("alpha").await, ["a/one.md"]);
    store.write("a/two.md", &body("alpha").text());
    store.disk.listings();
    assert_eq!(store.query("alpha").await, ["a/one.md"], "within the window");
    assert_eq!(store.disk.listings(), 0);

    // Changes by this process are visible immediately.
    store.index.note(&Location::parse("a/two.md").unwrap());
    assert_eq!(store.query("alpha").await.len(), 2);
    store.write_settled("a/one.md", &body("omega").text());
    fs::remove_file(store.path("a/two.md")).unwrap();
    store.index.note(&Location::parse("a/one.md").unwrap());
    store.index.note(&Location::parse("a/two.md").unwrap());
    assert_eq!(store.query("omega").await, ["a/one.md"]);
    assert_eq!(store.all().await, ["a/one.md"]);
    assert_eq!(store.disk.listings(), 0);

    let late = Store::with(windowed(Duration::ZERO));
    late.note("a/one.md", body("alpha"));
    assert_eq!(late.all().await.len(), 1);
    late.note("a/two.md", body("alpha"));
    assert_eq!(late.all().await.len(), 2, "after the window");
}

#[tokio::test]
async fn a_large_store_is_kept_fresh_while_searches_come_and_lives_no_longer() {
    let limits = Limits { idle: Duration::from_millis(400), ..windowed(Duration::from_secs(60)) };
    // The background compares every half window.
    let limits = Limits { window: Duration::from_millis(100), ..limits };
    let store = Store::with(limits);
    store.note("a/one.md", body("alpha"));
    store.refresh().await;
    store.note("a/two.md", body("alpha"));
    let mut looks = 0;
    // `find` itself reads no changed files; the background task does.
    while store.index.find(&asking("alpha"), None, &Debug::default()).await.unwrap().len() < 2 {
        store.index.freshness.note_search();
        tokio::time::sleep(Duration::from_millis(5)).await;
        looks += 1;
        assert!(looks < 2000, "nobody compares in the background");
    }
    store.disk.listings();
    tokio::time::sleep(Duration::from_millis(900)).await;
    store.disk.listings();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(store.disk.listings(), 0, "no search, no comparison");

    store.refresh().await;
    let weak = Arc::downgrade(&store.index);
    drop(store);
    let mut waits = 0;
    while weak.upgrade().is_some() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        waits += 1;
        assert!(waits < 2000, "the background keeps the index");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_at_the_same_time_shares_a_pass() {
    let store = Store::new();
    for number in 0..50 {
        store.write_settled(&format!("a{number}/x.md"), &body("alpha").text());
    }
    store.refresh().await;
    store.disk.listings();
    let refreshes: Vec<_> = (0..40)
        .map(|_| {
            let index = Arc::clone(&store.index);
            tokio::spawn(async move { index.refresh(&Debug::default()).await.unwrap() })
        })
        .collect();
    for refresh in refreshes {
        refresh.await.unwrap();
    }
    let passes = store.disk.listings() / 51;
    assert!((1..10).contains(&passes), "{passes} passes for 40 who came at the same time");
    assert_eq!(store.all().await.len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_before_a_refresh_is_seen_whoever_refreshes() {
    let store = Arc::new(Store::new());
    let writers = (0..4).map(|writer| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for number in 0..15 {
                let path = format!("w{writer}/{number}.md");
                store.note(&path, Note::default());
                store.index.note(&Location::parse(&path).unwrap());
                store.refresh().await;
                assert!(store.index.summary(&path).is_some(), "{path}");
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(store.all().await.len(), 60);
}

#[tokio::test]
async fn a_cancelled_pass_forgets_nothing() {
    let store = Store::new();
    store.note("a/one.md", body("alpha"));
    store.refresh().await;
    store.note("a/two.md", body("alpha"));
    store.index.note(&Location::parse("a/two.md").unwrap());
    store.index.pass(&store.index.files(), &Cancelled::set()).unwrap();
    assert!(store.index.summary("a/one.md").is_some());
    assert_eq!(store.index.noted().entries.len(), 1);
    assert_eq!(store.all().await.len(), 2);
}

#[tokio::test]
async fn a_file_system_without_times_is_read_each_time() {
    let disk = SimulatedDisk::new();
    let root = std::path::PathBuf::from("/store");
    let file_system: Arc<dyn FileSystem> = Arc::new(disk);
    let directory = root.join("a");
    file_system.create_directories(&directory).await.unwrap();
    let index = EntryIndex::new(Arc::clone(&file_system), root, MAX_BYTES);
    let path = directory.join("one.md");
    for word in ["alpha", "omega"] {
        let _ = file_system.remove(&path).await;
        let text = Arc::new(body(word).text().into_bytes());
        file_system.write_new(&path, text, false).await.unwrap();
        index.refresh(&Debug::default()).await.unwrap();
        assert_eq!(found(&index, asking(word)).await, ["a/one.md"]);
    }
}
