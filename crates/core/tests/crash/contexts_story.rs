//! Records the operations on a directory's contexts, and checks which contexts may exist after a
//! crash.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use agent_context_core::{
    Code, Debug,
    context::{Manager, ManagerOptions, Piece, Retention},
};
use serde_json::json;
use simulator::SimulatedDisk;
use storage::{Durability, layout as file_names};

use crate::{
    contexts::{self, options},
    cuts::{Found, names},
    process::process_on,
};

/// The directory of every manager.
pub const DIRECTORY: &str = "/store/contexts";

/// A session's manager, as another process would have it, whose retention keeps no contexts of
/// sessions that are over.
pub fn manager_on(disk: &SimulatedDisk, session: &str, durability: Durability) -> Arc<Manager> {
    let own = ManagerOptions { session: session.to_owned(), durability, ..strict() };
    Manager::new(own, process_on(disk), Debug::default())
}

/// Options with which a sweep removes all contexts of dead sessions.
pub fn strict() -> ManagerOptions {
    let own = options(Path::new(DIRECTORY));
    ManagerOptions {
        retention: Retention { max_files: 0, keep_paused: -1, ..own.retention },
        ..own
    }
}

/// Saves a unique context of at least this many bytes; returns its path.
pub async fn save(manager: &Arc<Manager>, id: &str, length: usize) -> String {
    try_save(manager, id, length).await.unwrap()
}

pub async fn try_save(
    manager: &Arc<Manager>,
    id: &str,
    length: usize,
) -> agent_context_core::Result<String> {
    contexts::save(manager, "tool", &json!({ "of": id }), &json!("x".repeat(length))).await
}

/// Saves a context whose result is an image of this many bytes; returns its path.
pub async fn save_bytes(manager: &Arc<Manager>, id: &str, length: usize) -> String {
    // Base64 of bytes that are not UTF-8.
    let data = "/7+A".repeat(length / 3);
    let block = json!({ "type": "image", "mimeType": "image/png", "data": data });
    contexts::save(manager, "tool", &json!({ "of": id }), &json!([block])).await.unwrap()
}

/// Saves a streamed context, text or binary; returns its path.
pub async fn save_stream(manager: &Arc<Manager>, id: &str, pieces: &[&[u8]]) -> String {
    let stream = manager.stream(None, usize::MAX);
    for piece in pieces {
        stream.write(Piece::Bytes(piece.repeat(1000))).await.unwrap();
    }
    let request = contexts::request("tool", &json!({ "of": id }), &json!(null));
    let sequence = manager.begin_save();
    manager.store_streamed(sequence, request, &stream, None).await.unwrap().stored.path
}

/// The record at a path, or the error. The binary data that it names must exist.
pub async fn load(manager: &Arc<Manager>, path: &str) -> Result<Vec<u8>, Code> {
    let record = manager.load(path).await.map_err(|error| error.code)?.record();
    if memchr::memmem::find(&record, b"\"bytes\":[").is_some() {
        manager.bytes(path).await.map_err(|error| error.code)?;
    }
    Ok(record.to_vec())
}

/// The number of files of binary data without a record.
pub fn bytes_without_record(disk: &SimulatedDisk) -> usize {
    let names = names(disk, DIRECTORY);
    let records = names.iter().filter_map(|name| file_names::parse_bytes(name));
    records.filter(|record| !names.contains(record)).count()
}

/// The names of the directory's contexts.
pub fn context_names(disk: &SimulatedDisk) -> Vec<String> {
    let mut names = names(disk, DIRECTORY);
    names.retain(|name| file_names::parse_context(name).is_some());
    names
}

/// The numbers of leases and of temporary files.
pub fn hidden(disk: &SimulatedDisk) -> (usize, usize) {
    let names = names(disk, DIRECTORY);
    let count =
        |is: fn(&str) -> Option<&str>| names.iter().filter(|name| is(name).is_some()).count();
    (count(file_names::parse_lease), count(file_names::parse_temporary))
}

/// The life of a context, in numbers of disk operations.
struct Life {
    record: Vec<u8>,
    /// When the save was acknowledged.
    saved: usize,
    removed: Option<Removal>,
}

struct Removal {
    /// When the removal was called, and when it was acknowledged.
    begun: usize,
    done: usize,
    /// Whether the removal is durable, by the durability level.
    is_promised: bool,
}

/// The recorded operations on a directory's contexts.
pub struct Contexts {
    /// The disk that records the operations.
    pub disk: SimulatedDisk,
    durability: Durability,
    lives: BTreeMap<String, Life>,
    last: usize,
}

impl Contexts {
    pub fn new(disk: SimulatedDisk, durability: Durability) -> Self {
        Self { last: disk.operations(), disk, durability, lives: BTreeMap::new() }
    }

    /// Records the effect of an acknowledged step on the files.
    pub async fn step(&mut self) {
        self.note(true).await;
    }

    /// Records the effect of a sweep on the files, which need not be durable.
    pub async fn swept(&mut self) {
        self.note(false).await;
    }

    async fn note(&mut self, is_promised: bool) {
        let (begun, done) = (self.last, self.disk.operations());
        self.last = done;
        let there = context_names(&self.disk);
        let reader = manager_on(&self.disk, "reader", Durability::Process);
        for name in &there {
            if !self.lives.contains_key(name) {
                let record = load(&reader, &path_of(name)).await.unwrap();
                let life = Life { record, saved: done, removed: None };
                self.lives.insert(name.clone(), life);
            }
        }
        for (name, life) in &mut self.lives {
            if !there.contains(name) {
                let removal = life.removed.get_or_insert(Removal { begun, done, is_promised });
                if is_promised && !removal.is_promised {
                    *removal = Removal { done, is_promised, ..*removal };
                }
            }
        }
    }

    /// The number of contexts that were on disk at any time, and that are now.
    pub fn counts(&self) -> (usize, usize) {
        (self.lives.len(), self.lives.values().filter(|life| life.removed.is_none()).count())
    }

    /// Checks the disk after a crash; returns the existing records.
    pub async fn check(&self, found: &Found) -> BTreeMap<String, Vec<u8>> {
        let is_promised = found.is_killed() || self.durability == Durability::Full;
        let reader = manager_on(&found.disk, "reader", Durability::Process);
        let mut left = BTreeMap::new();
        for name in context_names(&found.disk) {
            assert!(self.lives.contains_key(&name), "nobody saved {name}");
        }
        for (name, life) in &self.lives {
            let may_be_there = match &life.removed {
                Some(removal) => {
                    found.at < removal.done
                        || !is_promised
                        || !(removal.is_promised || found.is_killed())
                }
                None => true,
            };
            let must_be_there = is_promised
                && life.saved <= found.at
                && life.removed.as_ref().is_none_or(|removal| found.at <= removal.begun);
            match load(&reader, &path_of(name)).await {
                Ok(record) => {
                    assert!(may_be_there, "{name} is back");
                    assert!(record == life.record, "{name} is not what was saved");
                    left.insert(name.clone(), record);
                }
                Err(Code::NotFound) => assert!(!must_be_there, "{name} is lost"),
                Err(Code::Corrupt) => assert!(!is_promised, "{name} is damaged"),
                Err(code) => panic!("{name}: {code}"),
            }
        }
        left
    }
}

/// A context's path.
pub fn path_of(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}
