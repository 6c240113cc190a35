//! Contexts in a database, on a real server: what the operations cost in statements, and sessions with many contexts.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_context_core::{
    Debug,
    context::{Manager, ManagerOptions},
};
use contexts::{options, request, save};
use database::{Database, Settings, SettingsOptions};
use postgres_test_server::Server;
use serde_json::json;
use storage::FileSystem;

/// A database of its own, as in another process: each has another schema or timeout.
fn open(server: &Server, schema: &str) -> (Arc<Database>, Arc<dyn FileSystem>) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let timeout = Duration::from_millis(30_000 + NUMBER.fetch_add(1, Ordering::Relaxed));
    let options = SettingsOptions {
        schema: Some(schema.to_owned()),
        timeout: Some(timeout),
        ..SettingsOptions::default()
    };
    let database = Database::open(Settings::parse(&server.url(), options).unwrap());
    let files = database::file_system(&database);
    (database, files)
}

fn manager(files: &Arc<dyn FileSystem>, options: ManagerOptions) -> Arc<Manager> {
    Manager::new(options, Arc::clone(files), Debug::default())
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    a_save_takes_two_statements_and_a_load_one(&server).await;
    a_session_with_many_contexts_is_resumed_in_few_statements(&server).await;
}

async fn a_save_takes_two_statements_and_a_load_one(server: &Server) {
    let (database, files) = open(server, "costs");
    let directory = Path::new("/costs");
    let own = manager(&files, options(directory));
    save(&own, "tool", &json!({}), &json!("first")).await.unwrap();
    // Until the background sweep that the first save started has ended.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = database.statistics().requests;
    let text = "x".repeat(1000);
    let saves = 20;
    let mut paths = Vec::new();
    for number in 0..saves {
        paths.push(save(&own, "tool", &json!({ "n": number }), &json!(text)).await.unwrap());
    }
    let requests = database.statistics().requests - before;
    // A heartbeat may fall between them.
    assert!(requests <= 2 * saves + 2, "{requests} statements for {saves} saves");
    let before = database.statistics().requests;
    own.load(&paths[0]).await.unwrap();
    assert!(database.statistics().requests - before <= 1, "it is in memory");
    let reader =
        manager(&files, ManagerOptions { session: "other".to_owned(), ..options(directory) });
    let before = database.statistics().requests;
    for path in &paths {
        reader.load(path).await.unwrap();
    }
    let requests = database.statistics().requests - before;
    assert!(requests <= saves + 2, "{requests} statements for {saves} loads");
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
    let before = database.statistics().requests;
    let listed = reader.list(None).await.unwrap();
    let requests = database.statistics().requests - before;
    assert!(requests <= 4, "{requests} statements for a list");
    assert!(listed[0].contains("large") || !listed[0].is_empty());
    own.close(own.calls()).await;
    reader.close(reader.calls()).await;
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

async fn a_session_with_many_contexts_is_resumed_in_few_statements(server: &Server) {
    const CONTEXTS: usize = 2000;
    let (database, files) = open(server, "resumed");
    let named = || ManagerOptions { session_is_named: true, ..options(Path::new("/resumed")) };
    let own = manager(&files, named());
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let own = Arc::clone(&own);
            tokio::spawn(async move {
                for number in (task..CONTEXTS).step_by(4) {
                    let text = json!(format!("text {number}"));
                    save(&own, "tool", &json!({ "n": number }), &text).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    own.close(own.calls()).await;
    drop((database, files));
    let (database, files) = open(server, "resumed");
    let resumed = manager(&files, ManagerOptions { resumes: true, ..named() });
    resumed.resume().await.unwrap();
    let requests = database.statistics().requests;
    assert_eq!(resumed.len(), CONTEXTS);
    println!(
        "resume of {CONTEXTS} contexts: {requests} statements, with those of a new connection"
    );
    // Some are those of the thread that has begun to index the texts.
    assert!(requests <= 60, "{requests} statements");
    let before = settled(&database).await;
    assert_eq!(resumed.sessions().await.unwrap().len(), 1);
    let requests = database.statistics().requests - before;
    println!("sessions: {requests} statements");
    assert!(requests <= 12, "{requests} statements");
    resumed.close(resumed.calls()).await;
}
