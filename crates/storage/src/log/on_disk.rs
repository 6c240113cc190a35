//! Implementation of logs on a [`Disk`]: the log's file is kept open, and its lock file serialises the processes.

use std::{
    borrow::Cow,
    collections::HashSet,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    check::{LogView, Verdict},
    error::LogError,
    job::{Record, Rewrite},
    path::LogPath,
};
use crate::{
    Durability,
    directory_sync::sync_ancestors,
    file_lock::{FileLock, LockError, LockGuard},
    file_system::{Access, Disk, FileError, FileResult, OpenFile},
    layout,
};

/// Bytes that a rewrite copies at once.
const BLOCK: usize = 256 * 1024;
/// Timeout for acquiring the lock to roll back records. If it expires, the records stay.
const ROLLBACK_TIMEOUT: Duration = Duration::from_millis(100);
/// Maximum number of times that records are written again after writes through other mounts split them.
const MAX_COMPLETIONS: usize = 100;

pub(super) struct DiskLog {
    disk: Arc<dyn Disk>,
    path: LogPath,
    file_path: PathBuf,
    lock: Arc<FileLock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    opened: Option<Opened>,
    has_locks: Option<bool>,
    is_swept: bool,
    /// The file's length after the last write.
    length: u64,
    /// Duration of the last fsync, if several records shared it.
    shared_trip: Duration,
}

#[derive(Clone)]
struct Opened {
    file: Arc<dyn OpenFile>,
    /// Whether the file's directory entry and those of its parents are on stable storage.
    is_entered: bool,
}

/// Whether the checks of records are evaluated.
#[derive(Clone, Copy)]
enum Checks {
    Run,
    /// They were evaluated before.
    Skip,
}

/// The result of writing a batch.
struct Written {
    file: Arc<dyn OpenFile>,
    is_entered: bool,
    /// The file's length before and after the batch.
    begin: u64,
    end: u64,
    outcomes: Vec<Result<(), LogError>>,
}

impl DiskLog {
    pub fn new(disk: Arc<dyn Disk>, path: LogPath) -> Self {
        let lock = FileLock::new(Arc::clone(&disk), path.lock());
        let file_path = path.file();
        Self { disk, path, file_path, lock: Arc::new(lock), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open(&self) -> FileResult<Box<dyn OpenFile>> {
        self.disk.open(&self.file_path, Access::Read)
    }

    /// How long a record may wait for others to share its fsync; zero while records arrive one at a time.
    pub fn trip_worth_waiting_for(&self) -> Duration {
        self.state().shared_trip
    }

    pub fn length(&self) -> u64 {
        self.state().length
    }

    pub fn has_locks(&self) -> Option<bool> {
        self.state().has_locks
    }

    pub fn trust_locks(&self) {
        self.lock.trust();
    }

    pub fn untrusted_locks(&self) -> Option<Cow<'static, str>> {
        self.lock.untrusted()
    }

    /// Acquires the lock, and creates the directory if it does not exist. The first holder in this process removes what
    /// crashed rewrites left: no other rewrite can be running.
    async fn acquire(&self, deadline: Instant) -> Result<LockGuard, LogError> {
        let guard = match self.lock.acquire(deadline).await {
            Err(LockError::File(error)) if error.is_not_found() => {
                self.disk.create_directories(&self.path.directory)?;
                self.lock.acquire(deadline).await?
            }
            other => other?,
        };
        let is_swept = {
            let mut state = self.state();
            state.has_locks = Some(guard.is_exclusive());
            std::mem::replace(&mut state.is_swept, true)
        };
        if !is_swept && guard.is_exclusive() {
            self.sweep();
        }
        Ok(guard)
    }

    fn sweep(&self) {
        // A file that cannot be listed or removed stays and does no harm.
        for entry in self.disk.list(&self.path.directory).unwrap_or_default() {
            if layout::is_replacement(&entry.name, &self.path.name) {
                let _ = self.disk.remove(&self.path.beside(&entry.name));
            }
        }
    }

    /// Appends records, each in one write. Returns the outcome of each.
    pub async fn append(
        &self,
        records: &[Record],
        deadline: Instant,
    ) -> Result<Vec<Result<(), LogError>>, LogError> {
        let guard = self.acquire(deadline).await?;
        let all: Vec<&Record> = records.iter().collect();
        let mut written = self.write(&all, guard.is_exclusive(), Checks::Run)?;
        if self.lock.untrusted().is_some() {
            written = self.complete(records, written)?;
        }
        self.state().length = written.end;
        drop(guard);
        let is_wanted = |durability| durability == Durability::Full;
        // A record may be refused because of another one, on which the caller then relies: that one must be durable.
        let is_decided =
            |outcome: &Result<(), LogError>| matches!(outcome, Ok(()) | Err(LogError::Refused));
        let has_full = records
            .iter()
            .zip(&written.outcomes)
            .any(|(record, outcome)| is_wanted(record.durability) && is_decided(outcome));
        let begun = Instant::now();
        let synced = if has_full { self.sync(&written).await } else { Ok(()) };
        let is_shared = has_full && records.len() > 1;
        self.state().shared_trip = if is_shared { begun.elapsed() } else { Duration::ZERO };
        if let Err(error) = synced {
            // A failed fsync is not repeated on the same open file: the system may have dropped the data.
            self.state().opened = None;
            let rolls_back = records.iter().all(|record| is_wanted(record.durability));
            self.resynchronise(&written, rolls_back).await;
            for (record, outcome) in records.iter().zip(&mut written.outcomes) {
                if is_wanted(record.durability) && is_decided(outcome) {
                    *outcome = Err(LogError::File(error.duplicate()));
                }
            }
        }
        Ok(written.outcomes)
    }

    /// The file under the log's name, reopened if another process replaced or removed it.
    fn opened(&self) -> FileResult<Opened> {
        if let Some(opened) = &self.state().opened
            && opened.file.is_at(&self.file_path)
        {
            return Ok(opened.clone());
        }
        let open = || self.disk.open(&self.file_path, Access::Append);
        let file = match open() {
            Err(error) if error.is_not_found() => {
                // The directory was removed while the lock file was still open.
                self.disk.create_directories(&self.path.directory)?;
                open()?
            }
            other => other?,
        };
        let opened = Opened { file: Arc::from(file), is_entered: false };
        self.state().opened = Some(opened.clone());
        Ok(opened)
    }

    /// Writes records again that were not written as complete lines. Where a lock binds one mount only, the system may
    /// split a write, and a write through another mount can fall between the parts. A complete line stays complete,
    /// because other writers only append.
    fn complete(&self, records: &[Record], mut written: Written) -> FileResult<Written> {
        for _ in 0..MAX_COMPLETIONS {
            let present = self.lines_since(written.begin)?;
            let torn = |index: usize, record: &Record| {
                let line = record.line.strip_suffix(b"\n").unwrap_or(&record.line);
                matches!(written.outcomes.get(index), Some(Ok(()))) && !present.contains(line)
            };
            let torn: Vec<(usize, &Record)> =
                records.iter().enumerate().filter(|(index, record)| torn(*index, record)).collect();
            if torn.is_empty() {
                return Ok(written);
            }
            let (indices, again): (Vec<usize>, Vec<&Record>) = torn.into_iter().unzip();
            let Written { file, is_entered, end, outcomes, .. } =
                self.write(&again, false, Checks::Skip)?;
            written = Written { file, is_entered, end, ..written };
            for (index, outcome) in indices.into_iter().zip(outcomes) {
                if let Some(slot) = written.outcomes.get_mut(index) {
                    *slot = outcome;
                }
            }
        }
        let error = io::Error::other("writes through other mounts tear its records apart");
        Err(FileError::system("write", &self.file_path, error))
    }

    /// The complete lines from `begin` on, as stored: the file is opened again, so that no stale cached pages are read.
    fn lines_since(&self, begin: u64) -> FileResult<HashSet<Vec<u8>>> {
        let file = match self.open() {
            Err(error) if error.is_not_found() => return Ok(HashSet::new()),
            other => other?,
        };
        // If another process replaced the file by a shorter one, all of it is read.
        let begin = if begin <= file.length()? { begin } else { 0 };
        // Includes the byte before `begin`, which shows whether a line starts there.
        let mut position = begin.saturating_sub(1);
        let mut text = if position < begin { Vec::new() } else { vec![b'\n'] };
        let mut block = vec![0; BLOCK];
        loop {
            let count = file.read_at(position, &mut block)?;
            text.extend_from_slice(block.get(..count).unwrap_or_default());
            position += count as u64;
            if count < block.len() {
                break;
            }
        }
        // Text before the first and after the last newline character is not a complete line.
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').skip(1).collect();
        lines.pop();
        Ok(lines.into_iter().map(<[u8]>::to_vec).collect())
    }

    fn write(
        &self,
        records: &[&Record],
        is_exclusive: bool,
        checks: Checks,
    ) -> FileResult<Written> {
        let Opened { file, is_entered } = self.opened()?;
        let begin = file.length()?;
        let mut end = begin;
        let mut is_torn = is_torn(file.as_ref(), end)?;
        let mut outcomes = Vec::with_capacity(records.len());
        for record in records {
            if let (Checks::Run, Some(check)) = (checks, &record.check) {
                let refused = match check(&LogView::of_file(file.as_ref())) {
                    Ok(Verdict::Write) => None,
                    Ok(Verdict::Refuse) => Some(LogError::Refused),
                    Err(error) => Some(LogError::File(error)),
                };
                if let Some(refused) = refused {
                    outcomes.push(Err(refused));
                    continue;
                }
            }
            let appended = if is_torn {
                let mut line = Vec::with_capacity(record.line.len() + 1);
                line.push(b'\n');
                line.extend_from_slice(&record.line);
                file.append(&line).map(|()| line.len())
            } else {
                file.append(&record.line).map(|()| record.line.len())
            };
            match appended {
                Ok(count) => {
                    end += count as u64;
                    is_torn = false;
                    outcomes.push(Ok(()));
                }
                Err(error) => {
                    // Without an exclusive lock, another process may be appending.
                    if is_exclusive {
                        roll_back_part(file.as_ref(), end, record.line.len());
                    }
                    outcomes.push(Err(LogError::File(error)));
                    let looked = file
                        .length()
                        .and_then(|length| Ok((length, self::is_torn(file.as_ref(), length)?)));
                    match looked {
                        Ok(found) => (end, is_torn) = found,
                        Err(error) => {
                            // Nothing more is written; earlier records stay written.
                            outcomes.resize_with(records.len(), || {
                                Err(LogError::File(error.duplicate()))
                            });
                            break;
                        }
                    }
                }
            }
        }
        Ok(Written { file, is_entered, begin, end, outcomes })
    }

    /// Synchronises a batch, and the file's directory entry if it may be new.
    async fn sync(&self, written: &Written) -> FileResult<()> {
        let (file, is_entered) = (Arc::clone(&written.file), written.is_entered);
        let (disk, directory) = (Arc::clone(&self.disk), self.path.directory.clone());
        tokio::task::spawn_blocking(move || {
            file.sync()?;
            if is_entered {
                return Ok(());
            }
            let directory = disk.canonical(&directory)?;
            disk.sync_directory(&directory)?;
            sync_ancestors(disk.as_ref(), &directory)
        })
        .await
        .unwrap_or_else(|error| {
            Err(FileError::system("fsync", &self.file_path, io::Error::other(error)))
        })?;
        if let Some(opened) = &mut self.state().opened
            && Arc::ptr_eq(&opened.file, &written.file)
        {
            opened.is_entered = true;
        }
        Ok(())
    }

    /// Resynchronises the log after a failed fsync: terminates lines of which the system may have dropped any part.
    /// With `rolls_back`, removes the records, unless other processes have appended since.
    async fn resynchronise(&self, written: &Written, rolls_back: bool) {
        let Ok(guard) = self.lock.acquire(Instant::now() + ROLLBACK_TIMEOUT).await else { return };
        if !written.file.is_at(&self.file_path) {
            return;
        }
        let is_last = written.file.length().is_ok_and(|length| length == written.end);
        if rolls_back && is_last && guard.is_exclusive() {
            // If truncating fails, a record remains that was reported as failed; it may or may not be complete.
            let _ = written.file.truncate(written.begin);
        }
        // Readers skip empty lines. Without the newline, the next record could be lost.
        if written.file.length().is_ok_and(|length| length > 0) {
            let _ = written.file.append(b"\n");
        }
    }

    /// Replaces the log's contents.
    pub async fn rewrite(&self, rewrite: Rewrite, deadline: Instant) -> Result<u64, LogError> {
        let guard = self.acquire(deadline).await?;
        if !guard.is_exclusive() {
            return Err(match self.lock.untrusted() {
                Some(kind) => LogError::Untrusted(kind),
                None => LogError::Unlockable,
            });
        }
        let (disk, path) = (Arc::clone(&self.disk), self.path.clone());
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = replace(disk.as_ref(), &path, &rewrite);
            drop(guard);
            outcome
        })
        .await
        .unwrap_or_else(|error| {
            let error = io::Error::other(error);
            Err(LogError::File(FileError::system("rename", &self.file_path, error)))
        });
        let mut state = self.state();
        state.opened = None;
        if let Ok(length) = &outcome {
            state.length = *length;
        }
        drop(state);
        outcome
    }
}

/// Whether the file ends without a newline.
fn is_torn(file: &dyn OpenFile, length: u64) -> FileResult<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    Ok(file.read_at(last, &mut byte)? == 1 && byte != *b"\n")
}

/// Removes what a failed write of `size` bytes (and the newline that may precede them) left. If that fails, an
/// incomplete line remains, which the next append terminates.
fn roll_back_part(file: &dyn OpenFile, length: u64, size: usize) {
    let is_ours = file.length().is_ok_and(|now| now > length && now <= length + size as u64 + 1);
    if is_ours {
        let _ = file.truncate(length);
    }
}

fn replace(disk: &dyn Disk, path: &LogPath, rewrite: &Rewrite) -> Result<u64, LogError> {
    let old = match disk.open(&path.file(), Access::Read) {
        Err(error) if error.is_not_found() => return Err(LogError::Replaced),
        other => other?,
    };
    let identity = old.identity();
    if !rewrite.snapshot.is_of(old.as_ref(), identity)? {
        return Err(LogError::Replaced);
    }
    let replacement = path.replacement();
    let written = write_replacement(disk, &replacement, old.as_ref(), rewrite);
    let renamed = written.and_then(|length| {
        disk.rename_over(&replacement, &path.file())?;
        Ok(length)
    });
    match renamed {
        Ok(length) => {
            // The old file must not reappear after a power loss, at any level: the next append at `full` synchronises
            // this file, and relies on its being the log.
            disk.sync_directory(&path.directory)?;
            Ok(length)
        }
        Err(error) => {
            let _ = disk.remove(&replacement);
            Err(error.into())
        }
    }
}

fn write_replacement(
    disk: &dyn Disk,
    replacement: &std::path::Path,
    old: &dyn OpenFile,
    rewrite: &Rewrite,
) -> FileResult<u64> {
    let new = disk.open(replacement, Access::AppendNew)?;
    let mut out = Vec::with_capacity(2 * BLOCK);
    out.extend_from_slice(&rewrite.head);
    let since = rewrite.snapshot.length..old.length()?;
    for range in rewrite.kept.iter().chain(std::iter::once(&since)) {
        let mut position = range.start;
        while position < range.end {
            if out.len() >= BLOCK {
                new.append(&out)?;
                out.clear();
            }
            let rest = usize::try_from(range.end - position).unwrap_or(usize::MAX);
            let filled = out.len();
            out.resize(filled + rest.min(BLOCK), 0);
            let count = old.read_at(position, out.get_mut(filled..).unwrap_or_default())?;
            out.truncate(filled + count);
            position += count as u64;
            if count == 0 {
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the log was cut");
                return Err(FileError::system("read", replacement, error));
            }
        }
        // A last line that a crash left incomplete must not merge with the next one.
        if out.last().is_some_and(|&last| last != b'\n') {
            out.push(b'\n');
        }
    }
    new.append(&out)?;
    // The owner may have granted access to others. No user gets access that they did not have.
    new.take_permissions(old)?;
    new.sync()?;
    new.length()
}
