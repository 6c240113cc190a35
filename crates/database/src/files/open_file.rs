//! Open files: read at offsets, appended to, truncated and locked. They are known by their ids, under whatever name.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use storage::{Access, FileError, FileResult, LockAttempt, OpenFile};
use uuid::Uuid;

use super::{
    AT_ONCE, Files,
    locks::Knowledge,
    place::Place,
    refused, sql, wait_for,
    whole::{ATTEMPTS, FileRange, number, parts},
};
use crate::{database::Intent, parameters::Parameters};

/// How long freeing a lock is waited for: it ends with its owner if the server does not answer.
const FREEING: Duration = Duration::from_secs(2);

/// An open file.
pub struct DatabaseFile {
    files: Arc<Files>,
    id: Uuid,
    path: PathBuf,
    access: Access,
    /// The token of its lock.
    token: Mutex<Option<Uuid>>,
    /// Whether it was found removed.
    is_gone: AtomicBool,
    ahead: Mutex<Ahead>,
}

/// Bytes of a file's object that were read beyond what was asked for, because the file is read from one end to the other: a
/// request for each piece would take longer than the bytes.
#[derive(Default)]
struct Ahead {
    start: u64,
    bytes: Vec<u8>,
    /// Where the last read ended, if that was within the object.
    end: Option<u64>,
}

impl Ahead {
    /// Copies bytes from `start` on that were read before, and returns how many.
    fn take(&mut self, start: u64, buffer: &mut [u8]) -> usize {
        let known = start.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        let known = known.and_then(|skip| self.bytes.get(skip..)).unwrap_or_default();
        let count = known.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(known) {
            *place = *byte;
        }
        if count > 0 {
            self.end = Some(start + count as u64);
        }
        count
    }

    /// How many bytes to read from `start` on for a buffer of this length.
    fn piece(&self, start: u64, length: usize) -> usize {
        let most = length.min(4 * AT_ONCE);
        if self.end == Some(start) { most.max(AT_ONCE) } else { most }
    }

    /// Copies a range that was read from `start` on, and keeps what goes beyond the buffer. Returns how many bytes were copied.
    fn keep(&mut self, start: u64, range: FileRange, buffer: &mut [u8]) -> usize {
        let FileRange { mut bytes, end_of_object } = range;
        let count = bytes.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(&bytes) {
            *place = *byte;
        }
        let end = start + count as u64;
        self.end = (end <= end_of_object).then_some(end);
        // What is behind the object may be cut off and written again.
        let left = usize::try_from(end_of_object.saturating_sub(end)).unwrap_or(usize::MAX);
        bytes.drain(..count);
        bytes.truncate(left);
        (self.start, self.bytes) = (end, bytes);
        count
    }
}

impl Files {
    /// The id of the file at `path`, which is created if it is missing.
    pub async fn open_for_appending(&self, path: &Path) -> FileResult<Uuid> {
        let place = Place::of(path)?;
        let parameters =
            Parameters::new().id(Uuid::new_v4()).text(place.directory).text(place.name);
        let parameters = Arc::new(parameters);
        for _ in 0..ATTEMPTS {
            let at = ("open", path);
            let rows =
                self.statement(Intent::Write, at, sql::OPEN, Arc::clone(&parameters)).await?;
            // No row: another process created it while this statement ran.
            if let Some(row) = rows.first() {
                return Ok(row.get(0));
            }
        }
        Err(refused("open", path, io::ErrorKind::NotFound))
    }

    /// Creates a file with these contents, which is locked from the beginning.
    pub async fn create_locked(
        self: Arc<Self>,
        path: PathBuf,
        contents: &[u8],
    ) -> FileResult<DatabaseFile> {
        let (id, token) = self.locks.create_locked(&path, contents).await?;
        let (access, token) = (Access::AppendNew, Mutex::new(Some(token)));
        let (is_gone, ahead) = (AtomicBool::new(false), Mutex::default());
        Ok(DatabaseFile { files: self, id, path, access, token, is_gone, ahead })
    }

    /// Opens a file.
    pub async fn open(self: Arc<Self>, path: PathBuf, access: Access) -> FileResult<DatabaseFile> {
        let id = match access {
            Access::Read => {
                let place = Place::of(&path)?;
                let parameters = Parameters::new().text(place.directory).text(place.name);
                let at = ("open", path.as_path());
                let rows = self.statement(Intent::Read, at, sql::FIND, parameters).await?;
                let found = rows.first().map(|row| row.get(0));
                found.ok_or_else(|| refused("open", &path, io::ErrorKind::NotFound))?
            }
            Access::Append => self.open_for_appending(&path).await?,
            Access::AppendNew => self.create_empty(&path).await?,
        };
        let (token, is_gone) = (Mutex::default(), AtomicBool::new(false));
        let ahead = Mutex::default();
        Ok(DatabaseFile { files: self, id, path, access, token, is_gone, ahead })
    }

    /// Appends bytes to a file, under the lock with `token`. Several pieces if they are many.
    pub async fn append(
        &self,
        path: &Path,
        id: Uuid,
        token: Option<Uuid>,
        contents: &[u8],
    ) -> FileResult<()> {
        for piece in contents.chunks(AT_ONCE) {
            let (starts, bytes) = parts(0, piece);
            let parameters = Parameters::new()
                .id(id)
                .optional_id(token)
                .id(Uuid::new_v4())
                .number(number(piece.len()))
                .numbers(starts)
                .byte_strings(bytes);
            self.change(("write", path), sql::APPEND, parameters).await?;
        }
        Ok(())
    }

    /// Runs a statement that changes an open file.
    async fn change(
        &self,
        at: (&'static str, &Path),
        sql: &'static str,
        parameters: Parameters,
    ) -> FileResult<()> {
        let ((operation, path), parameters) = (at, Arc::new(parameters));
        for _ in 0..ATTEMPTS {
            let rows = self.statement(Intent::Write, at, sql, Arc::clone(&parameters)).await?;
            let Some(row) = rows.first() else { continue };
            if row.get(0) {
                return Ok(());
            }
            if !row.get::<_, bool>(2) {
                break;
            }
            if !row.get::<_, bool>(1) {
                let lost = io::Error::other(
                    "another process may have taken the lock, because this one did not reach the database for some seconds",
                );
                return Err(FileError::system(operation, path, lost));
            }
            // The file was removed while the statement waited.
        }
        Err(refused(operation, path, io::ErrorKind::NotFound))
    }
}

impl DatabaseFile {
    fn token(&self) -> MutexGuard<'_, Option<Uuid>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work on this file, and notes whether the file was found removed.
    fn wait_for<T, Work>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Arc<Files>, PathBuf, Uuid) -> Work,
    ) -> FileResult<T>
    where
        T: Send + 'static,
        Work: Future<Output = FileResult<T>> + Send + 'static,
    {
        let work = work(Arc::clone(&self.files), self.path.clone(), self.id);
        let outcome = wait_for((operation, &self.path), work);
        if outcome.as_ref().is_err_and(FileError::is_not_found) {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// The length, and the present name.
    fn status(&self) -> FileResult<(u64, Place)> {
        self.wait_for("stat", async |files, path, id| {
            let at = ("stat", path.as_path());
            let parameters = Parameters::new().id(id);
            let rows = files.statement(Intent::Read, at, sql::STATUS, parameters).await?;
            let missing = || refused("stat", &path, io::ErrorKind::NotFound);
            let row = rows.first().ok_or_else(missing)?;
            let place = Place { directory: row.get(1), name: row.get(2) };
            Ok((u64::try_from(row.get::<_, i64>(0)).unwrap_or_default(), place))
        })
    }

    /// The present name; `None` if the file was removed or its lock was lost.
    fn place(&self) -> Option<Place> {
        let token = *self.token();
        let Some(token) = token else { return self.status().ok().map(|(_, place)| place) };
        let mut knowledge = self.files.locks.knowledge(token);
        if knowledge == Knowledge::Unsure {
            // If the server does not answer, the next step of the caller reports why.
            let beat = self.wait_for("lock", async |files, _, _| Ok(files.locks.beat().await));
            let _ = beat;
            knowledge = self.files.locks.knowledge(token);
        }
        match knowledge {
            Knowledge::Held(place) => place,
            Knowledge::Lost | Knowledge::Unsure => None,
        }
    }
}

impl OpenFile for DatabaseFile {
    fn length(&self) -> FileResult<u64> {
        Ok(self.status()?.0)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let start = offset + filled as u64;
            let rest = buffer.get_mut(filled..).unwrap_or_default();
            let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
            let count = match ahead.take(start, rest) {
                0 => {
                    let most = ahead.piece(start, rest.len());
                    let range = self.wait_for("read", move |files, path, id| async move {
                        files.read_range(&path, id, start..start + most as u64).await
                    })?;
                    ahead.keep(start, range, rest)
                }
                count => count,
            };
            filled += count;
            if count == 0 {
                break;
            }
        }
        Ok(filled)
    }

    fn append(&self, bytes: &[u8]) -> FileResult<()> {
        let (token, bytes) = (*self.token(), bytes.to_vec());
        self.wait_for("write", move |files, path, id| async move {
            files.append(&path, id, token, &bytes).await
        })
    }

    fn truncate(&self, length: u64) -> FileResult<()> {
        let token = *self.token();
        self.wait_for("ftruncate", move |files, path, id| async move {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let parameters = Parameters::new().id(id).optional_id(token).number(length);
            files.change(("ftruncate", &path), sql::TRUNCATE, parameters).await
        })
    }

    fn sync(&self) -> FileResult<()> {
        Ok(())
    }

    fn try_lock(&self) -> FileResult<LockAttempt> {
        if self.token().is_some_and(|token| self.files.locks.knowledge(token) != Knowledge::Lost) {
            return Ok(LockAttempt::Taken);
        }
        let (attempt, token) =
            self.wait_for("lock", async |files, path, id| files.locks.try_lock(&path, id).await)?;
        *self.token() = token;
        Ok(attempt)
    }

    fn unlock(&self) {
        let Some(token) = self.token().take() else { return };
        if self.files.locks.forget(token) {
            let _ = self.wait_for("unlock", async move |files, _, id| {
                let _ = tokio::time::timeout(FREEING, files.locks.unlock(id, token)).await;
                Ok(())
            });
        }
    }

    fn keeps_lock(&self) -> bool {
        self.token().is_none() || self.place().is_some()
    }

    fn is_linked(&self) -> bool {
        // Appending to a removed file fails, so that a file that is open for this need not be looked at.
        if self.access != Access::Read && self.token().is_none() {
            return !self.is_gone.load(Ordering::Relaxed);
        }
        self.place().is_some()
    }

    fn length_if_linked(&self) -> FileResult<Option<u64>> {
        match self.length() {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_at(&self, path: &Path) -> bool {
        Place::of(path).is_ok_and(|place| self.place() == Some(place))
    }

    fn identity(&self) -> u64 {
        self.id.as_u64_pair().1
    }
}

impl Drop for DatabaseFile {
    fn drop(&mut self) {
        self.unlock();
    }
}
