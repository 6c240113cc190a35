//! Contexts in a database, on a real server: what the operations cost in statements, and sessions with many contexts.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;
mod databases;
mod long_texts;
mod without_indexing;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use agent_context_core::{
    Code, Debug, Trust,
    context::{FindRequest, Manager, ManagerOptions, SearchRequest},
    store::{Draft, EntryType, Store, StoreOptions},
};
use contexts::{options, request, save};
use database::{Database, Intent, Parameters, Settings, SettingsOptions};
use databases::open;
use json_text::Encoded;
use long_texts::{long_text, parts, read_part, sliced};
use postgres_test_server::{Proxy, Server};
use serde_json::json;
use storage::{Durability, FileSystem};
use without_indexing::WithoutIndexing;

/// How often a process that holds a session sends a heartbeat.
const HEARTBEAT: Duration = Duration::from_millis(1500);

fn manager(files: &Arc<dyn FileSystem>, options: ManagerOptions) -> Arc<Manager> {
    Manager::new(options, Arc::clone(files), Debug::default())
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    an_entry_without_an_answer_is_not_tried_under_other_names(&server).await;
    a_save_takes_two_statements_and_a_load_one(&server).await;
    a_session_with_many_contexts_is_resumed_in_three_steps(&server).await;
    an_equal_call_and_all_sessions_are_searched_in_few_statements(&server).await;
    a_part_of_a_long_output_is_read_without_the_rest(&server).await;
}

async fn a_save_takes_two_statements_and_a_load_one(server: &Server) {
    let (database, files) = open(&server.url(), "costs");
    let directory = Path::new("/costs");
    let own = manager(&files, options(directory));
    save(&own, "tool", &json!({}), &json!("first")).await.unwrap();
    // Until the background sweep that the first save started has ended.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let counted = Counted::start(&database);
    let text = "x".repeat(1000);
    let saves = 20;
    let mut paths = Vec::new();
    for number in 0..saves {
        paths.push(save(&own, "tool", &json!({ "n": number }), &json!(text)).await.unwrap());
    }
    let requests = counted.statements();
    assert!(requests <= 2 * saves, "{requests} statements for {saves} saves");
    let counted = Counted::start(&database);
    own.load(&paths[0]).await.unwrap();
    assert_eq!(counted.statements(), 0, "it is in memory");
    let reader =
        manager(&files, ManagerOptions { session: "other".to_owned(), ..options(directory) });
    let counted = Counted::start(&database);
    for path in &paths {
        reader.load(path).await.unwrap();
    }
    let requests = counted.statements();
    assert!(requests <= saves, "{requests} statements for {saves} loads");
    let sequence = own.begin_save();
    let saved = own.store(sequence, request("tool", &json!({ "n": 1000 }), &json!("large"))).await;
    let handle = saved.unwrap().stored.handle;
    let before = database.statistics().requests;
    reader.load(&handle).await.unwrap();
    println!("a handle of another manager: {} statements", database.statistics().requests - before);
    let before = database.statistics().requests;
    reader.load(&handle).await.unwrap();
    let requests = database.statistics().requests - before;
    println!("the same handle again: {requests} statements");
    let counted = Counted::start(&database);
    let listed = reader.list(None).await.unwrap();
    let requests = counted.statements();
    assert!(requests <= 3, "{requests} statements for a list");
    assert!(listed[0].contains("large") || !listed[0].is_empty());
    own.close(own.calls()).await;
    reader.close(reader.calls()).await;
}

/// The statements of a call.
struct Counted<'a> {
    database: &'a Database,
    before: u64,
    start: Instant,
}

impl<'a> Counted<'a> {
    fn start(database: &'a Database) -> Self {
        Self { database, before: database.statistics().requests, start: Instant::now() }
    }

    /// The statements so far, without as many heartbeats as may have fallen between them.
    fn statements(&self) -> u64 {
        let requests = self.database.statistics().requests - self.before;
        let beats = self.start.elapsed().as_millis() / HEARTBEAT.as_millis() + 1;
        requests.saturating_sub(u64::try_from(beats).unwrap())
    }
}

/// The number of statements once nothing but heartbeats sends any.
async fn settled(database: &Database) -> u64 {
    loop {
        let before = database.statistics().requests;
        tokio::time::sleep(Duration::from_millis(300)).await;
        if database.statistics().requests <= before + 1 {
            return database.statistics().requests;
        }
    }
}

/// Adds copies of the contexts of a session's tool, each under a name of its own.
async fn copy_contexts(database: &Database, directory: &str, tool: &str, copies: i64) {
    let source = "SELECT id, name, length, created, modified, version FROM {schema}.file
        WHERE directory = $1 AND name LIKE '%-' || $2 || '_%.json'";
    let names = "regexp_replace(source.name, '_[0-9]+_[0-9a-f]+[.]json$',
        '_' || n || '_' || lpad(to_hex(n), 16, '0') || '.json')";
    let parts = format!(
        "INSERT INTO {{schema}}.part (file, start, bytes)
        SELECT md5(source.id::text || n)::uuid, part.start, part.bytes
        FROM ({source}) AS source
        JOIN {{schema}}.part AS part ON part.file = source.id, generate_series(1, $3) AS n"
    );
    let files = format!(
        "INSERT INTO {{schema}}.file (directory, name, id, length, created, modified, version)
        SELECT $1, {names}, md5(source.id::text || n)::uuid, source.length, source.created,
            source.modified, source.version
        FROM ({source}) AS source, generate_series(1, $3) AS n"
    );
    for sql in [parts, files] {
        let parameters = Parameters::new().text(directory).text(tool).number(copies);
        database.statement(Intent::Write, &sql, &parameters).await.unwrap();
    }
}

async fn a_session_with_many_contexts_is_resumed_in_three_steps(server: &Server) {
    const COPIES: usize = 9999;
    const LONG: usize = 200;
    let (database, files) = open(&server.url(), "resumed");
    let named = || ManagerOptions { session_is_named: true, ..options(Path::new("/resumed")) };
    let own = manager(&files, named());
    save(&own, "short", &json!({ "n": 1 }), &json!("text ".repeat(4000))).await.unwrap();
    own.close(own.calls()).await;
    copy_contexts(&database, "/resumed", "short", COPIES as i64).await;
    drop((own, database, files));
    let resume = async || {
        let (database, files) = open(&server.url(), "resumed");
        // Opens a connection, and looks at the version of the tables.
        files.list(Path::new("/none")).await.unwrap();
        let files: Arc<dyn FileSystem> = Arc::new(WithoutIndexing(files));
        let resumed = manager(&files, ManagerOptions { resumes: true, ..named() });
        let counted = Counted::start(&database);
        resumed.resume().await.unwrap();
        let requests = counted.statements();
        (resumed, database, requests)
    };
    let (resumed, database, requests) = resume().await;
    assert_eq!(resumed.len(), COPIES + 1);
    println!("resume of {} contexts: {requests} statements", resumed.len());
    // The list with the heads, beside the record; the lease; the list again, beside the record.
    assert!(requests <= 5, "{requests} statements");
    let counted = Counted::start(&database);
    assert_eq!(resumed.sessions().await.unwrap().len(), 1);
    let requests = counted.statements();
    println!("sessions: {requests} statements");
    assert!(requests <= 12, "{requests} statements");
    // Heads that are longer than most are read again, at once.
    let argument = "long ".repeat(1000);
    save(&resumed, "long", &json!({ "text": argument }), &json!("x")).await.unwrap();
    copy_contexts(&database, "/resumed", "long", LONG as i64).await;
    resumed.close(resumed.calls()).await;
    drop((resumed, database));
    let (resumed, _, requests) = resume().await;
    assert_eq!(resumed.len(), COPIES + 1 + LONG + 1);
    assert!(requests <= 6, "{requests} statements");
    resumed.close(resumed.calls()).await;
}

async fn an_equal_call_and_all_sessions_are_searched_in_few_statements(server: &Server) {
    const COPIES: usize = 300;
    let (database, files) = open(&server.url(), "searched");
    let named = ManagerOptions { session_is_named: true, ..options(Path::new("/searched")) };
    let own = manager(&files, named);
    let words = json!("a needle in hay");
    save(&own, "tool", &json!({ "n": 1 }), &words).await.unwrap();
    own.close(own.calls()).await;
    copy_contexts(&database, "/searched", "tool", COPIES as i64).await;
    let other = ManagerOptions { session: "other".to_owned(), ..options(Path::new("/searched")) };
    let other = manager(&files, other);
    let counted = Counted::start(&database);
    let request = FindRequest {
        tool_name: "tool".to_owned(),
        arguments: Encoded::Text(r#"{"n":1}"#.encode_utf16().collect()),
        since: 0,
        sessions: None,
        redaction: None,
    };
    assert!(other.find(request).await.unwrap().is_some());
    let requests = counted.statements();
    assert!(requests <= 3, "{requests} statements to find a call");
    let counted = Counted::start(&database);
    let request = json!({
        "query": "needle", "allSessions": true, "limit": 10, "snippets": 1, "snippetLength": 80, "explain": false
    });
    let request: SearchRequest = serde_json::from_value(request).unwrap();
    let found = other.search(&request, None).await.unwrap();
    let requests = counted.statements();
    assert!(found[0].contains("needle"), "{found:?}");
    println!("a search of {COPIES} contexts: {requests} statements");
    assert_eq!(found.iter().map(|page| page.matches("\"score\"").count()).sum::<usize>(), 10);
    assert!(requests <= 10, "{requests} statements to search all sessions: hits are read at once");
    other.close(other.calls()).await;
}

async fn a_part_of_a_long_output_is_read_without_the_rest(server: &Server) {
    const BYTES: usize = 20_000_000;
    const MOST: u64 = 1_100 * 1024;
    let (database, files) = open(&server.url(), "long");
    let with_room = |session: &str| {
        let mut options = options(Path::new("/long"));
        session.clone_into(&mut options.session);
        options.retention.max_result_bytes = 100 << 20;
        manager(&files, options)
    };
    let own = with_room("own");
    let text = long_text(BYTES);
    let path = save(&own, "tool", &json!({}), &json!(text)).await.unwrap();
    own.close(own.calls()).await;
    // The thread that indexes the text reads it, too.
    settled(&database).await;
    let other = with_room("other");
    let (lines, mut most) = (text.lines().count(), 0);
    for place in [0, 3, 8] {
        for part in parts(text.len() * place / 8, (lines * place / 8).max(1)) {
            let before = database.statistics().bytes_received;
            let slice = read_part(&other, &path, part()).await;
            most = most.max(database.statistics().bytes_received - before);
            assert!(slice == sliced(&text, part()), "{:?}", part());
        }
    }
    println!("a part of {BYTES} bytes: at most {most} bytes were read");
    assert!(most <= MOST, "{most} bytes");
    other.close(other.calls()).await;
}

async fn an_entry_without_an_answer_is_not_tried_under_other_names(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let options = SettingsOptions {
        schema: Some("unanswered".to_owned()),
        timeout: Some(Duration::from_millis(700)),
        ..SettingsOptions::default()
    };
    let database = Database::open(Settings::parse(&server.url_at(proxy.port()), options).unwrap());
    let files = database::file_system(&database, None);
    let options = StoreOptions {
        directory: "/unanswered".into(),
        agent: "writer".to_owned(),
        session_id: "one".to_owned(),
        has_session_directory: false,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: 1 << 20,
        trust: Trust::default(),
    };
    let store = Store::new(options, &files, Debug::default());
    let draft = || Draft {
        entry_type: EntryType::Finding,
        slug: "one".to_owned(),
        content: "Text.".to_owned(),
        tags: Vec::new(),
        links: Vec::new(),
    };
    store.write(draft(), None).await.unwrap();
    proxy.set_swallows(true);
    let before = database.statistics().requests;
    let error = store.write(draft(), None).await.unwrap_err();
    assert!(matches!(error.code, Code::Timeout | Code::Storage), "{error}");
    assert!(database.statistics().requests <= before + 4, "one name is tried");
    proxy.set_swallows(false);
    proxy.cut();
    store.write(draft(), None).await.unwrap();
}
