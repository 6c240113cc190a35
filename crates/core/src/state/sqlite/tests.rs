//! The effects of calls on the file, and of damaged and unowned files on calls.

use std::path::Path;

use tempfile::{TempDir, tempdir};

use super::{opening::log_of as log_file, rows::CHUNK};
use crate::state::*;

struct Store {
    folder: TempDir,
}

impl Store {
    fn new() -> Self {
        Self { folder: tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("state.db")
    }

    fn open_with(&self, change: impl FnOnce(&mut StateOptions)) -> Arc<State> {
        let mut options = StateOptions {
            path: self.path(),
            durability: Durability::Process,
            lock_timeout: Duration::from_secs(10),
            max_value_bytes: 64 << 20,
            max_changes: 1000,
            indexes: Vec::new(),
            trust: Trust { locks: true, shared: true },
        };
        change(&mut options);
        State::new(options, Debug::default())
    }

    fn open(&self) -> Arc<State> {
        self.open_with(|_| ())
    }

    fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

fn place(namespace: &[&str], key: &str) -> Place {
    Place { namespace: name::namespace(namespace), key: key.as_bytes().to_vec() }
}

fn put(key: &str, json: &str) -> Put {
    Put {
        place: place(&["a"], key),
        kind: Kind::Json,
        value: json.as_bytes().to_vec(),
        encoded: None,
        expected: None,
        ttl: None,
        expires_at: None,
        media_type: None,
        report: redaction::Report::default(),
    }
}

async fn write(state: &State, put: Put) -> Result<String> {
    let outcomes = state.change(vec![Operation::Put(put)], None).outcomes().await?;
    let [Outcome::Written { members, .. }] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    let members: serde_json::Value = serde_json::from_str(members).unwrap();
    Ok(members["revision"].as_str().unwrap().to_owned())
}

async fn read(state: &State, key: &str) -> Result<Option<String>> {
    let item = state.get(place(&["a"], key)).await?;
    Ok(item.map(|ItemText { json, values }| {
        if let Some(SeparateValue::Text(text)) = values.into_iter().next() {
            let inside: Vec<u8> = text.flat_map(|piece| piece.to_vec()).collect();
            return format!("\"{}\"", String::from_utf8(inside).unwrap());
        }
        let item: serde_json::Value = serde_json::from_slice(&json).unwrap();
        item["value"].to_string()
    }))
}

fn listing(prefix: &[&str]) -> Listing {
    Listing {
        prefix: name::namespace(prefix),
        key_prefix: Vec::new(),
        filter: Filter::default(),
        order: Order::Key,
        limit: 100,
        cursor: None,
        root: 0,
    }
}

async fn keys(state: &State, listing: Listing) -> (Vec<String>, Option<String>) {
    let page = state.list(listing).await.unwrap();
    let items: Vec<serde_json::Value> =
        serde_json::from_str(&format!("[{}]", String::from_utf8(page.items.json).unwrap()))
            .unwrap();
    (items.iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect(), page.cursor)
}

#[tokio::test]
async fn items_are_written_read_and_removed_under_their_revisions() {
    let store = Store::new();
    let state = store.open();
    assert_eq!(read(&state, "k").await.unwrap(), None);
    let first = write(&state, put("k", "1")).await.unwrap();
    assert_eq!(read(&state, "k").await.unwrap().as_deref(), Some("1"));
    let expecting = |expected| Put { expected: Some(expected), ..put("k", "2") };
    for wrong in [Expected::Absent, Expected::Revision("0-0".to_owned())] {
        assert_eq!(write(&state, expecting(wrong)).await.unwrap_err().code, Code::Conflict);
    }
    let second = write(&state, expecting(Expected::Revision(first.clone()))).await.unwrap();
    assert_ne!(first, second);
    let delete = |expected| {
        state.change(vec![Operation::Delete { place: place(&["a"], "k"), expected }], None)
    };
    let refused = delete(Some(Expected::Revision(first))).outcomes().await;
    assert_eq!(refused.unwrap_err().code, Code::Conflict);
    for was_there in [true, false] {
        let outcomes = delete(None).outcomes().await.unwrap();
        assert!(matches!(outcomes.as_slice(), [Outcome::Deleted(found)] if *found == was_there));
    }
    let third = write(&state, expecting(Expected::Absent)).await.unwrap();
    assert!(third.split('-').next() > second.split('-').next(), "{second} {third}");
}

#[tokio::test]
async fn a_call_that_is_refused_changes_nothing_and_leaves_its_group() {
    let store = Store::new();
    let state = store.open();
    let refused = Put { expected: Some(Expected::Revision("1-0".to_owned())), ..put("c", "3") };
    let pending = [
        state.change(vec![Operation::Put(put("a", "1"))], None),
        state.change(vec![Operation::Put(put("b", "2")), Operation::Put(refused)], None),
        state.change(vec![Operation::Put(put("d", "4"))], None),
    ];
    let mut codes = Vec::new();
    for pending in pending {
        codes.push(pending.outcomes().await.err().map(|error| error.code));
    }
    assert_eq!(codes, [None, Some(Code::Conflict), None]);
    assert_eq!(keys(&state, listing(&[])).await.0, ["a", "d"]);
    assert_eq!(state.stats().await.unwrap().changes, 2);
}

#[tokio::test]
async fn long_values_come_back_and_leave_no_chunk_behind() {
    let store = Store::new();
    let state = store.open();
    let long = format!("\"{}\"", "x".repeat(3 * CHUNK + 5));
    write(&state, put("k", &long)).await.unwrap();
    assert_eq!(read(&state, "k").await.unwrap().as_deref(), Some(long.as_str()));
    write(&state, put("k", "1")).await.unwrap();
    let bytes = Put { kind: Kind::Bytes, value: vec![7; 2 * CHUNK], ..put("b", "") };
    write(&state, bytes).await.unwrap();
    let item = state.get(place(&["a"], "b")).await.unwrap().unwrap();
    let [SeparateValue::Bytes(bytes)] = item.values.as_slice() else { panic!("{:?}", item.values) };
    assert_eq!(*bytes, vec![7; 2 * CHUNK]);
    let delete = Operation::Delete { place: place(&["a"], "b"), expected: None };
    state.change(vec![delete], None).outcomes().await.unwrap();
    let chunks: i64 =
        store.sql().query_row("SELECT count(*) FROM chunk", [], |row| row.get(0)).unwrap();
    assert_eq!(chunks, 0);
    assert_eq!(state.verify().await.unwrap(), StateReport { items: 1, problems: Vec::new() });
}

#[tokio::test]
async fn an_item_expires_at_the_time_given_for_it() {
    let store = Store::new();
    let state = store.open();
    write(&state, Put { expires_at: Some(1), ..put("past", "1") }).await.unwrap();
    assert_eq!(read(&state, "past").await.unwrap(), None);
    write(&state, Put { expires_at: Some(i64::MAX), ttl: Some(1), ..put("k", "1") }).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(read(&state, "k").await.unwrap().is_some());
}

#[tokio::test]
async fn an_expired_item_is_absent_and_is_removed_by_the_next_change() {
    let store = Store::new();
    let state = store.open();
    write(&state, Put { ttl: Some(1), ..put("k", "1") }).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(read(&state, "k").await.unwrap(), None);
    assert!(keys(&state, listing(&["a"])).await.0.is_empty());
    let stats = state.stats().await.unwrap();
    assert_eq!((stats.items, stats.expired_items), (0, 1));
    let absent = Put { expected: Some(Expected::Absent), ttl: Some(1), ..put("k", "2") };
    write(&state, absent).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    write(&state, put("other", "1")).await.unwrap();
    assert_eq!(state.stats().await.unwrap().expired_items, 0);
    assert_eq!(
        state.swept(state.sweep()).await.unwrap(),
        Swept { expired_items: 0, changes: 4, erased: true }
    );
}

#[tokio::test]
async fn pages_join_in_either_order() {
    let store = Store::new();
    let state = store.open();
    for number in [3, 1, 4, 0, 2] {
        write(&state, put(&format!("k{number}"), "1")).await.unwrap();
    }
    for (order, expected) in [
        (Order::Key, ["k0", "k1", "k2", "k3", "k4"]),
        (Order::Updated, ["k2", "k0", "k4", "k1", "k3"]),
    ] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = Listing { order, limit: 2, cursor, ..listing(&["a"]) };
            let (more, next) = keys(&state, page).await;
            found.extend(more);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected);
    }
    for cursor in ["", "x", "u1", "k", "n"] {
        let wrong = Listing { cursor: Some(cursor.to_owned()), ..listing(&["a"]) };
        assert_eq!(state.list(wrong).await.unwrap_err().code, Code::InvalidArgument, "{cursor}");
    }
}

#[tokio::test]
async fn an_index_finds_what_reading_all_finds() {
    let store = Store::new();
    let state = store.open();
    for number in 0..50 {
        let json = format!("{{\"n\":{},\"t\":\"type-{}\"}}", number % 10, number % 3);
        write(&state, put(&format!("k{number:02}"), &json)).await.unwrap();
    }
    let filters = [
        r#"[{"path":["n"],"operator":"$eq","value":3}]"#,
        r#"[{"path":["n"],"operator":"$gte","value":7},{"path":["t"],"operator":"$ne","value":"type-1"}]"#,
        r#"[{"path":["t"],"operator":"$in","value":["type-0","none"]}]"#,
        r#"[{"path":["n"],"operator":"$lt","value":"3"}]"#,
    ];
    let all = |state: Arc<State>| async move {
        let mut found = Vec::new();
        for filter in filters {
            let filter = Filter::new(serde_json::from_str(filter).unwrap());
            found.push(keys(&state, Listing { filter, ..listing(&["a"]) }).await.0);
        }
        found
    };
    let without = all(Arc::clone(&state)).await;
    assert_eq!(without.iter().map(Vec::len).collect::<Vec<_>>(), [5, 10, 17, 0]);
    let indexed = store
        .open_with(|options| options.indexes = vec![vec!["n".to_owned()], vec!["t".to_owned()]]);
    assert_eq!(all(Arc::clone(&indexed)).await, without);
    // Another store maintains the index as well.
    write(&state, put("k03", "{\"n\":4}")).await.unwrap();
    state
        .change(vec![Operation::Delete { place: place(&["a"], "k13"), expected: None }], None)
        .outcomes()
        .await
        .unwrap();
    let fewer = all(indexed).await;
    assert_eq!(fewer[0], ["k23", "k33", "k43"]);
    let members: i64 =
        store.sql().query_row("SELECT count(*) FROM member", [], |row| row.get(0)).unwrap();
    assert_eq!(members, 97);
    assert!(state.verify().await.unwrap().problems.is_empty());
}

#[tokio::test]
async fn namespaces_are_listed_once_in_their_order() {
    let store = Store::new();
    let state = store.open();
    for namespace in
        [&["u", "10", "x"][..], &["u", "1"], &["u", "1", "x"], &["v"], &["u", "1", "y"]]
    {
        let put = Put { place: place(namespace, "k"), ..put("k", "1") };
        write(&state, put).await.unwrap();
    }
    let list = async |prefix: &[&str], suffix: &[&str], max_depth: usize, root: usize| {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let listing = NamespaceListing {
                prefix: name::namespace(prefix),
                suffix: name::namespace(suffix),
                max_depth,
                limit: 1,
                cursor,
                root,
            };
            let (json, next) = state.namespaces(listing).await.unwrap();
            let page: Vec<Vec<String>> = serde_json::from_slice(&json).unwrap();
            found.extend(page.into_iter().map(|segments| segments.join("/")));
            cursor = next;
            if cursor.is_none() {
                return found;
            }
        }
    };
    assert_eq!(list(&[], &[], 9, 0).await, ["u/1", "u/1/x", "u/1/y", "u/10/x", "v"]);
    assert_eq!(list(&["u", "1"], &[], 9, 0).await, ["u/1", "u/1/x", "u/1/y"]);
    assert_eq!(list(&[], &["x"], 9, 0).await, ["u/1/x", "u/10/x"]);
    assert_eq!(list(&[], &[], 2, 0).await, ["u/1", "u/10", "v"]);
    assert_eq!(list(&[], &[], 1, 0).await, ["u", "v"]);
    assert_eq!(list(&["u"], &[], 2, 1).await, ["1", "10"]);
}

#[tokio::test]
async fn a_watcher_sees_every_change_after_its_position_and_is_refused_where_they_are_gone() {
    let store = Store::new();
    let state = store.open_with(|options| options.max_changes = 10);
    let start = state.stats().await.unwrap().cursor;
    write(&state, put("k1", "1")).await.unwrap();
    let now = state.since_now();
    write(&state, put("k2", "2")).await.unwrap();
    let seen = async |since: Since, prefix: &[&str]| {
        let changed = state.changes(since, name::namespace(prefix), 0).await?;
        let changes: Vec<serde_json::Value> = serde_json::from_slice(&changed.changes).unwrap();
        Ok::<_, Error>(
            changes
                .iter()
                .map(|change| change["key"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(seen(now, &["a"]).await.unwrap(), ["k2"]);
    assert_eq!(seen(Since::Cursor(start.clone()), &[]).await.unwrap(), ["k1", "k2"]);
    for number in 0..20 {
        write(&state, put(&format!("k{number}"), "3")).await.unwrap();
    }
    assert_eq!(seen(Since::Cursor(start), &[]).await.unwrap_err().code, Code::CursorExpired);
    let other_file = Since::Cursor("ffffffff-20".to_owned());
    assert_eq!(seen(other_file, &[]).await.unwrap_err().code, Code::CursorExpired);
    let wrong = Since::Cursor("wrong".to_owned());
    assert_eq!(seen(wrong, &[]).await.unwrap_err().code, Code::InvalidArgument);
    assert_eq!(state.stats().await.unwrap().changes, 10);
}

#[tokio::test]
async fn files_that_are_no_store_are_refused_and_stay_what_they_are() {
    let foreign = |store: &Store| {
        let database = store.sql();
        database.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)").unwrap();
    };
    let newer = |store: &Store| {
        let database = store.sql();
        database
            .execute_batch(
                "CREATE TABLE t (x); PRAGMA application_id = 0x61437374; PRAGMA user_version = 99",
            )
            .unwrap();
    };
    let text =
        |store: &Store| std::fs::write(store.path(), "not a database at all ".repeat(100)).unwrap();
    let folder = |store: &Store| std::fs::create_dir(store.path()).unwrap();
    let log = |store: &Store| std::fs::write(log_of(store), "log").unwrap();
    let cases: [(Make<'_>, Code, &str); 5] = [
        (&foreign, Code::Corrupt, "another program"),
        (&newer, Code::Unsupported, "version 99"),
        (&text, Code::Corrupt, "not a database"),
        (&folder, Code::Corrupt, "no regular file"),
        (&log, Code::Corrupt, "state.db-wal"),
    ];
    for (make, code, reason) in cases {
        let store = Store::new();
        make(&store);
        let before = contents(store.folder.path());
        let state = store.open();
        for error in
            [read(&state, "k").await.unwrap_err(), write(&state, put("k", "1")).await.unwrap_err()]
        {
            assert_eq!(error.code, code, "{error}");
            assert!(
                error.message.contains(reason) && error.message.contains("state.db"),
                "{error}"
            );
        }
        assert_eq!(contents(store.folder.path()), before);
    }
}

/// Creates something at a store's path before it is opened.
type Make<'a> = &'a dyn Fn(&Store);

fn log_of(store: &Store) -> PathBuf {
    log_file(&store.path())
}

/// The names in a directory, with the contents of its files.
fn contents(directory: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let mut contents: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).ok()))
        .collect();
    contents.sort();
    contents
}

#[tokio::test]
async fn damage_inside_of_the_file_is_found() {
    let store = Store::new();
    let state = store.open();
    for number in 0..200 {
        write(&state, put(&format!("k{number}"), &format!("\"{}\"", "x".repeat(500))))
            .await
            .unwrap();
    }
    state.close().await;
    let mut bytes = std::fs::read(store.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xa5);
    std::fs::write(store.path(), &bytes).unwrap();
    let report = store.open().verify().await.unwrap();
    assert!(!report.problems.is_empty());
    bytes.truncate(5000);
    std::fs::write(store.path(), &bytes).unwrap();
    let error = store.open().list(listing(&[])).await.unwrap_err();
    assert_eq!(error.code, Code::Corrupt, "{error}");
    assert_eq!(std::fs::read(store.path()).unwrap(), bytes);
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let store = Store::new();
    std::fs::write(store.path(), "").unwrap();
    let state = store.open();
    write(&state, put("k", "1")).await.unwrap();
    assert_eq!(read(&state, "k").await.unwrap().as_deref(), Some("1"));
}

#[tokio::test]
async fn closing_writes_the_log_back_and_the_store_can_be_used_again() {
    let store = Store::new();
    let (state, other) = (store.open(), store.open());
    write(&state, put("k", "1")).await.unwrap();
    assert_eq!(read(&other, "k").await.unwrap().as_deref(), Some("1"));
    state.close().await;
    assert!(log_of(&store).exists(), "another store uses the file");
    other.close().await;
    assert!(!log_of(&store).exists());
    assert_eq!(read(&state, "k").await.unwrap().as_deref(), Some("1"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(store.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_file_that_was_removed_is_made_again() {
    let store = Store::new();
    let state = store.open();
    write(&state, put("k", "1")).await.unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", store.path().display()));
    }
    if cfg!(unix) {
        assert_eq!(read(&state, "k").await.unwrap(), None);
        write(&state, put("k", "2")).await.unwrap();
        let other: i64 =
            store.sql().query_row("SELECT count(*) FROM item", [], |row| row.get(0)).unwrap();
        assert_eq!(other, 1);
    }
}

#[tokio::test]
async fn a_lock_that_is_kept_too_long_is_reported_and_later_calls_succeed() {
    let store = Store::new();
    let state = store.open_with(|options| options.lock_timeout = Duration::from_millis(50));
    write(&state, put("k", "1")).await.unwrap();
    let other = store.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = write(&state, put("k", "2")).await.unwrap_err();
    assert_eq!(error.code, Code::LockTimeout, "{error}");
    assert_eq!(read(&state, "k").await.unwrap().as_deref(), Some("1"));
    other.execute_batch("ROLLBACK").unwrap();
    write(&state, put("k", "3")).await.unwrap();
    assert_eq!(read(&state, "k").await.unwrap().as_deref(), Some("3"));
}

#[tokio::test]
async fn a_backup_is_a_store_of_its_own_and_replaces_nothing() {
    let store = Store::new();
    let state = store.open();
    for number in 0..20 {
        write(&state, put(&format!("k{number}"), "1")).await.unwrap();
    }
    let target = store.folder.path().join("copy.db");
    state.backup(target.clone()).await.unwrap();
    assert_eq!(state.backup(target.clone()).await.unwrap_err().code, Code::Conflict);
    write(&state, put("later", "1")).await.unwrap();
    let copy = store.open_with(|options| options.path = target);
    assert_eq!(copy.stats().await.unwrap().items, 20);
    assert!(copy.verify().await.unwrap().problems.is_empty());
    copy.close().await;
    let names: Vec<_> = contents(store.folder.path()).into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| !name.ends_with(".tmp")), "{names:?}");
}

#[tokio::test]
async fn search_ranks_by_words_and_obeys_prefix_and_filter() {
    let store = Store::new();
    let state = store.open();
    for (key, json) in [
        ("tea", r#"{"text":"green tea and black tea","kind":"drink"}"#),
        ("bread", r#"{"text":"bread with butter, and tea","kind":"food"}"#),
        ("car", r#"{"text":"an electric car","kind":"thing"}"#),
    ] {
        write(&state, put(key, json)).await.unwrap();
    }
    write(&state, Put { place: place(&["b"], "tea"), ..put("", "\"tea\"") }).await.unwrap();
    let search = async |prefix: &[&str], query: &str, filter: &str, limit| {
        let search = Search {
            prefix: name::namespace(prefix),
            query: query.to_owned(),
            filter: Filter::new(serde_json::from_str(filter).unwrap()),
            limit,
            embedded: None,
            root: 0,
        };
        let items = state.search(search).await.unwrap();
        let items: Vec<serde_json::Value> =
            serde_json::from_str(&format!("[{}]", String::from_utf8(items.json).unwrap())).unwrap();
        assert!(items.iter().all(|item| item["score"].as_f64().unwrap() > 0.0));
        items.iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(search(&["a"], "tea", "[]", 9).await, ["tea", "bread"]);
    assert_eq!(search(&[], "tea", "[]", 9).await.len(), 3);
    assert_eq!(search(&["a"], "tea", "[]", 1).await, ["tea"]);
    let food = r#"[{"path":["kind"],"operator":"$eq","value":"food"}]"#;
    assert_eq!(search(&["a"], "tea", food, 9).await, ["bread"]);
    assert!(search(&["a"], "", "[]", 9).await.is_empty());
}

#[tokio::test]
async fn a_sweep_leaves_no_byte_of_what_was_removed_unless_an_old_state_is_still_read() {
    let store = Store::new();
    let state = store.open_with(|options| options.lock_timeout = Duration::from_millis(50));
    for number in 0..300 {
        let json = format!("\"{}\"", "x".repeat(number * 3));
        write(&state, put(&format!("k{number}"), &json)).await.unwrap();
    }
    write(&state, put("<gone>", "\"<value that is gone>\"")).await.unwrap();
    let left = || {
        let files = [store.path(), log_of(&store)].map(|path| std::fs::read(path).unwrap());
        let texts = files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        ["<gone>", "<value that is gone>"].map(|text| texts.iter().any(|file| file.contains(text)))
    };
    assert_eq!(left(), [true, true]);
    let reader = store.sql();
    reader.execute_batch("BEGIN; SELECT count(*) FROM item").unwrap();
    let delete = Operation::Delete { place: place(&["a"], "<gone>"), expected: None };
    state.change(vec![delete], None).outcomes().await.unwrap();
    let swept = state.swept(state.sweep()).await.unwrap();
    assert_eq!(swept, Swept { expired_items: 0, changes: 302, erased: false });
    assert_eq!(left(), [true, true]);
    reader.execute_batch("COMMIT").unwrap();
    let swept = state.swept(state.sweep()).await.unwrap();
    assert_eq!(swept, Swept { expired_items: 0, changes: 0, erased: true });
    assert_eq!(left(), [false, false]);
    assert_eq!(state.verify().await.unwrap(), StateReport { items: 300, problems: Vec::new() });
}

#[tokio::test]
async fn a_search_gives_the_same_whatever_an_earlier_one_has_read() {
    let store = Store::new();
    let (state, other) = (store.open(), store.open());
    let search = async |state: &State, prefix: &[&str], query: &str| {
        let search = Search {
            prefix: name::namespace(prefix),
            query: query.to_owned(),
            filter: Filter::default(),
            limit: 50,
            embedded: None,
            root: 0,
        };
        String::from_utf8(state.search(search).await.unwrap().json).unwrap()
    };
    let words = ["tea", "bread", "butter", "car", "green", "black"];
    for number in 0..200_usize {
        let text = format!("{} and {}", words[number % 6], words[(number / 6) % 5]);
        let namespace = if number % 3 == 0 { "a" } else { "b" };
        let put = Put {
            place: place(&[namespace], &format!("k{}", number % 40)),
            ..put("", &format!("\"{text}\""))
        };
        write(&other, put).await.unwrap();
        if number % 7 == 0 {
            let place = place(&["a"], &format!("k{}", number % 40));
            let delete = Operation::Delete { place, expected: None };
            other.change(vec![delete], None).outcomes().await.unwrap();
        }
        if number % 20 == 0 {
            // For a copy of the file, no words are cached yet.
            let copy = store.folder.path().join(format!("copy-{number}.db"));
            state.backup(copy.clone()).await.unwrap();
            let fresh = store.open_with(|options| options.path = copy);
            for (prefix, query) in [(&[][..], "green tea"), (&["a"], "tea"), (&["b"], "and")] {
                let found = search(&state, prefix, query).await;
                assert_eq!(found, search(&fresh, prefix, query).await, "{number}, {query}");
            }
            fresh.close().await;
        }
    }
}
