//! The vectors of one model on disk, to which several processes append.
//!
//! ```text
//! magic           16 bytes, name the format and its version
//! model           the SHA-256 of the model's name
//! dimensions      32 bits, little endian
//! checksum        the CRC-32 of these three
//! per vector:     the text's digest (128 bits), a byte per dimension, and the CRC-32 of both
//! ```
//!
//! The file is a cache. What follows a damaged record is not read, and the next writer replaces the file. Writers hold
//! a lock on it while they append or replace it; a process that does not get the lock keeps its vectors for the next
//! time. A file is replaced when it has a quarter more vectors than fit into memory: it then has those in memory, the
//! least recently used first.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sha2::{Digest, Sha256};
use storage::{Access, Disk, FileResult, LockAttempt, OpenFile, layout, remove_leftovers};

use super::{TextDigest, table::Table};

const MAGIC: &[u8; 16] = b"ac vectors 8bit\n";
const MODEL: usize = 32;
const CHECKSUM: usize = 4;
const HEADER: usize = MAGIC.len() + MODEL + 4 + CHECKSUM;
/// The length of a text's digest.
const TEXT: usize = 16;
/// A longer file is not one of this version.
const MAX_FILE: u64 = 1024 * 1024 * 1024;
/// How often, and in which interval, a lock is tried.
const ATTEMPTS: usize = 50;
const INTERVAL: Duration = Duration::from_millis(4);
/// The most models that have a file in one directory; those that were written to last stay.
const MAX_MODELS: usize = 8;

/// The cache file of one model.
pub(super) struct CacheFile {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    name: String,
    model: [u8; MODEL],
    /// The file as last read or written, if all of it was valid.
    known: Option<Known>,
    /// The texts whose vectors are not in the file yet.
    unsaved: Vec<TextDigest>,
}

/// Identifies a state of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    identity: u64,
    length: u64,
    dimensions: usize,
}

/// A whole file as read.
struct Contents<'f> {
    dimensions: usize,
    records: Vec<&'f [u8]>,
    /// Whether all of the file is valid.
    is_whole: bool,
}

impl CacheFile {
    pub fn new(disk: Arc<dyn Disk>, directory: &Path, model: &str) -> Self {
        Self {
            disk,
            directory: directory.to_owned(),
            name: layout::vectors_of(model),
            model: Sha256::digest(model).into(),
            known: None,
            unsaved: Vec::new(),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// Reads the file into the table, unless it is unchanged since it was last read or written.
    pub fn load(&mut self, table: &Mutex<Table>) -> FileResult<()> {
        match self.disk.open(&self.path(), Access::Read) {
            Ok(file) => self.read(file.as_ref(), table).map(drop),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the file is valid, with vectors of the length of those in the table.
    fn read(&mut self, file: &dyn OpenFile, table: &Mutex<Table>) -> FileResult<bool> {
        let (identity, length) = (file.identity(), file.length()?);
        if let Some(known) = self.known
            && (known.identity, known.length) == (identity, length)
        {
            return Ok(lock(table).dimensions() == known.dimensions);
        }
        let mut bytes = vec![0; usize::try_from(length.min(MAX_FILE)).unwrap_or_default()];
        let end = file.read_at(0, &mut bytes)?;
        bytes.truncate(end);
        let Some(contents) = contents(&bytes, &self.model) else { return Ok(false) };
        let mut table = lock(table);
        // Vectors in memory are newer than the file.
        if table.dimensions() != 0 && table.dimensions() != contents.dimensions {
            return Ok(false);
        }
        let room = table.room_for(contents.dimensions);
        for record in contents.records.iter().skip(contents.records.len().saturating_sub(room)) {
            if let Some((text, numbers)) = record.split_first_chunk::<TEXT>() {
                let numbers: Vec<i8> = numbers.iter().map(|byte| byte.cast_signed()).collect();
                table.restore(TextDigest(u128::from_le_bytes(*text)), &numbers);
            }
        }
        if contents.is_whole {
            let dimensions = contents.dimensions;
            self.known = Some(Known { identity, length: end as u64, dimensions });
        }
        Ok(contents.is_whole)
    }

    /// Appends the vectors of these texts, and those that could not be saved before.
    pub fn save(&mut self, table: &Mutex<Table>, texts: Vec<TextDigest>) -> FileResult<()> {
        self.unsaved.extend(texts);
        let Some(parent) = self.directory.parent() else { return Ok(()) };
        // Without the parent, nothing else is on disk either.
        match self.disk.canonical(parent) {
            Err(error) if error.is_not_found() => return Ok(()),
            other => other.map(drop)?,
        }
        self.disk.create_directories(&self.directory)?;
        let Some(file) = self.open_locked()? else { return Ok(()) };
        let written = self.write(file.as_ref(), table);
        file.unlock();
        written
    }

    /// Opens the file for its only writer; `None` if others do not release the lock in time.
    fn open_locked(&self) -> FileResult<Option<Box<dyn OpenFile>>> {
        let path = self.path();
        for _ in 0..ATTEMPTS {
            let file = self.disk.open(&path, Access::Append)?;
            match file.try_lock()? {
                LockAttempt::Held => std::thread::sleep(INTERVAL),
                // The file may have been replaced before it was locked.
                LockAttempt::Taken if !file.is_at(&path) => file.unlock(),
                LockAttempt::Taken | LockAttempt::Unsupported => return Ok(Some(file)),
            }
        }
        Ok(None)
    }

    fn write(&mut self, file: &dyn OpenFile, table: &Mutex<Table>) -> FileResult<()> {
        let is_new = file.length()? == 0;
        let is_valid = is_new || self.read(file, table)?;
        let (dimensions, most) = {
            let table = lock(table);
            (table.dimensions(), table.room() / 4 * 5)
        };
        let record = (TEXT + dimensions + CHECKSUM) as u64;
        let after = file.length()? + record * self.unsaved.len() as u64;
        if !is_valid || after > HEADER as u64 + record * most as u64 {
            return self.replace(table, dimensions);
        }
        let mut bytes = if is_new { header(&self.model, dimensions) } else { Vec::new() };
        append_records(&lock(table), &self.unsaved, &mut bytes);
        file.append(&bytes)?;
        self.unsaved.clear();
        self.known = Some(Known { identity: file.identity(), length: file.length()?, dimensions });
        if is_new { self.tidy() } else { Ok(()) }
    }

    /// Replaces the file by the vectors in memory.
    fn replace(&mut self, table: &Mutex<Table>, dimensions: usize) -> FileResult<()> {
        let mut bytes = header(&self.model, dimensions);
        {
            let table = lock(table);
            append_records(&table, &table.in_order_of_use(), &mut bytes);
        }
        let (path, temporary) = (self.path(), self.directory.join(layout::replacement(&self.name)));
        let written = self.disk.write_new(&temporary, &bytes, false);
        let renamed = written.and_then(|()| self.disk.rename_over(&temporary, &path));
        if renamed.is_err() {
            // The error of the failed step is the one to report.
            let _ = self.disk.remove(&temporary);
        }
        renamed?;
        self.unsaved.clear();
        let file = self.disk.open(&path, Access::Read)?;
        let length = bytes.len() as u64;
        self.known = Some(Known { identity: file.identity(), length, dimensions });
        self.tidy()
    }

    /// Removes temporary files of processes that have ended, and the files of the models that were not written to for longest.
    fn tidy(&self) -> FileResult<()> {
        remove_leftovers(self.disk.as_ref(), &self.directory, layout::is_vectors_replacement)?;
        let mut models = self.disk.list(&self.directory)?;
        models.retain(|file| layout::is_vectors(&file.name) && file.name != self.name);
        models.sort_by_key(|file| std::cmp::Reverse(file.modified));
        for model in models.iter().skip(MAX_MODELS - 1) {
            self.disk.remove(&self.directory.join(&model.name))?;
        }
        Ok(())
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn header(model: &[u8; MODEL], dimensions: usize) -> Vec<u8> {
    let dimensions = u32::try_from(dimensions).unwrap_or_default().to_le_bytes();
    let mut bytes = [MAGIC.as_slice(), model, &dimensions].concat();
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

fn append_records(table: &Table, texts: &[TextDigest], bytes: &mut Vec<u8>) {
    for text in texts {
        // A vector may have been evicted since.
        let Some(numbers) = table.numbers_of(*text) else { continue };
        let start = bytes.len();
        bytes.extend(text.0.to_le_bytes());
        bytes.extend(numbers.iter().map(|number| number.cast_unsigned()));
        let checksum = crc32fast::hash(bytes.get(start..).unwrap_or_default());
        bytes.extend(checksum.to_le_bytes());
    }
}

/// The records of a file, without their checksums; `None` if it is not a file of this model.
fn contents<'f>(bytes: &'f [u8], model: &[u8; MODEL]) -> Option<Contents<'f>> {
    let (head, rest) = bytes.split_at_checked(HEADER)?;
    let dimensions = *head.get(MAGIC.len() + MODEL..)?.first_chunk()?;
    let dimensions = u32::from_le_bytes(dimensions) as usize;
    if dimensions == 0 || header(model, dimensions) != head {
        return None;
    }
    let records = rest.chunks(TEXT + dimensions + CHECKSUM).map_while(|record| {
        let (body, checksum) = record.split_last_chunk::<CHECKSUM>()?;
        let is_sound = body.len() == TEXT + dimensions
            && crc32fast::hash(body) == u32::from_le_bytes(*checksum);
        is_sound.then_some(body)
    });
    let records: Vec<&[u8]> = records.collect();
    let is_whole = records.len() * (TEXT + dimensions + CHECKSUM) == rest.len();
    Some(Contents { dimensions, records, is_whole })
}
