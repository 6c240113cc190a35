//! Files in the database: an implementation of [`storage::FileSystem`] and [`storage::Disk`], so that whatever works on files
//! works on a database.
//!
//! Paths are names of rows. A directory exists while a file is in it; it needs no creation. A file has an id, which the
//! client makes: a statement whose answer was lost is repeated, and finds by the id whether the file is its own. The
//! contents are rows of at most 256 KiB, so that ranges are read without the rest. Where a bucket is given, contents of more than
//! 256 KiB that are written at once are one object in it; the file's row refers to the object, and what is appended later is in rows.
//!
//! | module | contents |
//! |---|---|
//! | `sql` | the statements |
//! | `place` | paths as directory and name |
//! | `whole` | whole files: creating, replacing, renaming, removing, reading |
//! | `listing` | the files and directories of a directory |
//! | `open_file` | files that are read at offsets, appended to and locked |
//! | `objects` | contents in object storage: writing and reading them |
//! | `upload` | contents of any length that are uploaded piece by piece |
//! | `collector` | the removal of objects that no file has |
//! | `terms` | the terms of files, which narrow searches |
//! | `locks` | the locks of this process, and the heartbeat that keeps them |
//! | `file_system`, `disk` | the traits |

mod collector;
mod disk;
mod file_system;
mod listing;
mod locks;
mod objects;
mod open_file;
mod place;
mod sql;
mod term_sql;
mod terms;
#[cfg(test)]
mod tests;
mod upload;
mod whole;

use std::{
    collections::HashMap,
    future::Future,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicI64, mpsc},
    time::{Duration, Instant},
};

use storage::{FileError, FileResult, FileSystem, Registry};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};

use crate::{
    blobs::Blobs,
    connections::{Purpose, runtime},
    database::{Database, Intent},
    failure::Failure,
    parameters::Parameters,
};
use collector::Collector;
use locks::Locks;
use terms::Statistics;

/// The longest part of a file, in bytes.
const PART: usize = 256 * 1024;
/// The bytes that one statement writes or reads, at most.
const AT_ONCE: usize = 1024 * 1024;

/// How long a thread waits that belongs to no runtime: that of JavaScript, when it releases a lease at its end. The statement
/// goes on.
const OUTSIDE: Duration = Duration::from_secs(5);

/// The files of a database.
struct Files {
    database: Arc<Database>,
    locks: Arc<Locks>,
    /// Where long contents are, beside the database.
    blobs: Option<Arc<Blobs>>,
    collector: Collector,
    /// The server's clock less this machine's, in ms, if they differ much.
    clock_offset: AtomicI64,
    /// The statistics of directories with terms, and when they were read.
    statistics_of_terms: Mutex<HashMap<String, (Instant, Statistics)>>,
    scope: u64,
}

/// The files of each database and bucket in use, by their addresses.
static FILES: Registry<(usize, Option<usize>), Files> = Registry::new();

/// The files of a database as a file system, with long contents in `blobs`. Opens no connection.
#[must_use]
pub fn file_system(database: &Arc<Database>, blobs: Option<&Arc<Blobs>>) -> Arc<dyn FileSystem> {
    let bucket = blobs.map(|blobs| Arc::as_ptr(blobs) as usize);
    let files = FILES.get_or_insert_with((Arc::as_ptr(database) as usize, bucket), || {
        let mut hasher = DefaultHasher::new();
        // Objects of another user, or without the bucket, must not share what this one may read.
        database.identity().hash(&mut hasher);
        bucket.hash(&mut hasher);
        Arc::new(Files {
            database: Arc::clone(database),
            locks: Locks::new(database),
            blobs: blobs.map(Arc::clone),
            collector: Collector::default(),
            clock_offset: AtomicI64::new(0),
            statistics_of_terms: Mutex::default(),
            // Other file systems of the process have small numbers.
            scope: hasher.finish() | 1 << 63,
        })
    });
    Arc::new(file_system::DatabaseFileSystem(files))
}

/// The error of a statement about a file.
fn failed(operation: &'static str, path: &Path, failure: Failure) -> FileError {
    FileError::system(operation, path, io::Error::other(failure))
}

/// An error that a disk would report.
fn refused(operation: &'static str, path: &Path, kind: io::ErrorKind) -> FileError {
    FileError::system(operation, path, kind.into())
}

/// The runtime of the connections.
fn connections((operation, path): (&'static str, &Path)) -> FileResult<&'static Runtime> {
    runtime().map_err(|_| {
        let error = io::Error::other("the thread of the connections could not be started");
        FileError::system(operation, path, error)
    })
}

impl Files {
    fn statistics_of_terms(&self) -> MutexGuard<'_, HashMap<String, (Instant, Statistics)>> {
        self.statistics_of_terms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement on the thread of the connections. On the caller's, it could keep a connection while all threads of the
    /// caller's runtime wait for one, in blocking operations.
    async fn statement(
        &self,
        intent: Intent,
        at: (&'static str, &Path),
        sql: &'static str,
        parameters: impl Into<Arc<Parameters>>,
    ) -> FileResult<Vec<tokio_postgres::Row>> {
        self.send(intent, at, sql, parameters.into()).await
    }

    /// As [`Self::statement`]; compiled once for all types of parameters.
    async fn send(
        &self,
        intent: Intent,
        at: (&'static str, &Path),
        sql: &'static str,
        parameters: Arc<Parameters>,
    ) -> FileResult<Vec<tokio_postgres::Row>> {
        let database = Arc::clone(&self.database);
        let sent = connections(at)?.spawn(async move {
            database.statement_for(Purpose::Files, intent, sql, &parameters).await
        });
        let (operation, path) = at;
        match sent.await {
            Ok(rows) => rows.map_err(|failure| failed(operation, path, failure)),
            Err(error) => Err(FileError::system(operation, path, io::Error::other(error))),
        }
    }
}

/// Waits for work on the thread of the connections. Other tasks of the caller's thread go elsewhere meanwhile, where its
/// runtime has several threads.
fn wait_for<T: Send + 'static>(
    (operation, path): (&'static str, &Path),
    work: impl Future<Output = FileResult<T>> + Send + 'static,
) -> FileResult<T> {
    let runtime = connections((operation, path))?;
    let (sender, receiver) = mpsc::sync_channel(1);
    // Boxed, so that the runtime's code for a task is compiled once for all works.
    let sending: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        // The receiver waits.
        let _ = sender.send(work.await);
    });
    runtime.spawn(sending);
    let wait = || receiver.recv().map_err(io::Error::other);
    let outcome = match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
        Ok(_) => wait(),
        Err(_) => receiver.recv_timeout(OUTSIDE).map_err(|_| io::ErrorKind::TimedOut.into()),
    };
    outcome.unwrap_or_else(|error| Err(FileError::system(operation, path, error)))
}
