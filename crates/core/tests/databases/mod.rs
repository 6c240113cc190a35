//! Files in a database on a real server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use database::{Database, Settings, SettingsOptions};
use storage::FileSystem;

/// A database of its own, as in another process: each has another timeout.
pub fn open(url: &str, schema: &str) -> (Arc<Database>, Arc<dyn FileSystem>) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let timeout = Duration::from_millis(30_000 + NUMBER.fetch_add(1, Ordering::Relaxed));
    let options = SettingsOptions {
        schema: Some(schema.to_owned()),
        timeout: Some(timeout),
        ..SettingsOptions::default()
    };
    let database = Database::open(Settings::parse(url, options).unwrap());
    let files = database::file_system(&database, None);
    (database, files)
}
