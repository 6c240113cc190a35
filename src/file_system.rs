//! A file system that the caller injects: a JavaScript object, whose methods are called through the
//! completion queue.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use napi_derive::napi;
use serde::Deserialize;
use serde_json::json;
use storage::{Contents, FileEntry, FileError, FileFuture, FileSystem, LocalDisk, Origin, Payload};

use super::{database::NativeDatabase, numbers::whole, outbox::Queue};

/// Owner-only permissions.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The injected object, identified by the number that JavaScript assigned to it.
pub struct InjectedFileSystem {
    queue: Arc<Queue>,
    prefix: String,
    scope: u64,
    can_rename: bool,
    can_append: bool,
    can_chmod: bool,
    timeout: f64,
}

/// The description of an injected file system, which JavaScript has validated.
#[napi(object, object_to_js = false)]
pub struct NativeFileSystem {
    /// A number from `newScope`, the same for the same object.
    pub scope: f64,
    /// The prefix of the paths in the directory, as the object's `joinPath` spells it.
    pub prefix: String,
    pub can_rename: bool,
    pub can_append: bool,
    pub can_chmod: bool,
    /// The timeout of a call, in ms; infinite for none.
    pub timeout: f64,
}

/// A number that no other file system of this process has.
#[napi]
#[must_use]
pub fn new_scope() -> f64 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    f64::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A thrown value, as JavaScript describes it.
#[derive(Deserialize)]
struct Thrown {
    message: String,
    code: Option<String>,
    handle: u32,
}

type Outcome<T> = std::result::Result<T, FileError>;

/// The files of a database or the injected file system, or the local disk without either.
pub fn chosen(
    queue: &Arc<Queue>,
    options: Option<NativeFileSystem>,
    database: Option<&NativeDatabase>,
) -> Arc<dyn FileSystem> {
    match database {
        Some(database) => database.file_system(),
        None => of(queue, options),
    }
}

/// The injected file system, or the local disk without one.
pub fn of(queue: &Arc<Queue>, options: Option<NativeFileSystem>) -> Arc<dyn FileSystem> {
    match options {
        Some(options) => Arc::new(InjectedFileSystem::new(Arc::clone(queue), options)),
        None => Arc::new(LocalDisk),
    }
}

impl InjectedFileSystem {
    /// The file system with the scope in `options`.
    pub fn new(queue: Arc<Queue>, options: NativeFileSystem) -> Self {
        Self {
            queue,
            prefix: options.prefix,
            scope: whole(options.scope),
            can_rename: options.can_rename,
            can_append: options.can_append,
            can_chmod: options.can_chmod,
            timeout: options.timeout,
        }
    }

    async fn call(
        &self,
        method: &'static str,
        path: &Path,
        argument: serde_json::Value,
        content: Option<Payload>,
    ) -> Outcome<String> {
        let error =
            |kind, origin| FileError { kind, operation: method, path: path.to_owned(), origin };
        let (scope, timeout) = (self.scope, self.timeout);
        let answer = self
            .queue
            .call(|_| {
                let call = json!({
                    "scope": scope,
                    "method": method,
                    "path": path.to_str().unwrap_or_default(),
                    "argument": argument,
                    // JSON has no infinity: that becomes null.
                    "timeout": timeout,
                });
                (call.to_string(), content)
            })
            .await;
        match answer {
            Some(Ok(text)) => Ok(text),
            Some(Err(thrown)) => {
                let thrown: Thrown = serde_json::from_str(&thrown).unwrap_or_else(|_| Thrown {
                    message: "threw something unreadable".to_owned(),
                    code: None,
                    handle: 0,
                });
                let kind = kind_of(thrown.code.as_deref());
                let origin = Origin::Injected { message: thrown.message, handle: thrown.handle };
                Err(error(kind, origin))
            }
            None => {
                let message = "was never settled: its environment ended".to_owned();
                Err(error(io::ErrorKind::Interrupted, Origin::Injected { message, handle: 0 }))
            }
        }
    }

    async fn exists(&self, path: &Path) -> Outcome<bool> {
        Ok(self.call("exists", path, json!(null), None).await? == "true")
    }

    async fn chmod(&self, path: &Path, mode: u32) {
        if self.can_chmod {
            // Not every file system supports permissions.
            let _ = self.call("chmod", path, json!(mode), None).await;
        }
    }

    /// Whether an error means that the file does not exist: by its code, or without a code by calling
    /// `exists`.
    async fn is_missing(&self, path: &Path, error: &FileError) -> bool {
        error.is_not_found()
            || (error.kind == io::ErrorKind::Other
                && self.exists(path).await.is_ok_and(|exists| !exists))
    }
}

fn kind_of(code: Option<&str>) -> io::ErrorKind {
    match code {
        Some("ENOENT") => io::ErrorKind::NotFound,
        Some("EEXIST") => io::ErrorKind::AlreadyExists,
        Some("EACCES" | "EPERM") => io::ErrorKind::PermissionDenied,
        Some("EROFS") => io::ErrorKind::ReadOnlyFilesystem,
        Some("ENOSPC") => io::ErrorKind::StorageFull,
        Some("ENOTDIR") => io::ErrorKind::NotADirectory,
        Some("ETIMEDOUT") => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::Other,
    }
}

impl FileSystem for InjectedFileSystem {
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(async move {
            if !self.exists(path).await? {
                self.call("mkdir", path, json!(null), None).await?;
                self.chmod(path, DIRECTORY_MODE).await;
            }
            Ok(())
        })
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        Box::pin(std::future::ready(Ok(path.to_owned())))
    }

    fn has_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        Box::pin(self.exists(path))
    }

    fn write_new<'a>(&'a self, path: &'a Path, contents: Payload, _: bool) -> FileFuture<'a, ()> {
        Box::pin(async move {
            self.call("writeFile", path, json!(null), Some(contents)).await?;
            self.chmod(path, FILE_MODE).await;
            Ok(())
        })
    }

    fn can_rename(&self) -> bool {
        self.can_rename
    }

    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(async move {
            let to = json!(to.to_str().unwrap_or_default());
            self.call("rename", from, to, None).await.map(drop)
        })
    }

    fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        self.rename_new(from, to)
    }

    fn append<'a>(&'a self, path: &'a Path, contents: Payload) -> FileFuture<'a, bool> {
        Box::pin(async move {
            if self.can_append {
                self.call("appendFile", path, json!(null), Some(contents)).await?;
            }
            Ok(self.can_append)
        })
    }

    fn sync_directory<'a>(&'a self, _: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn read<'a>(&'a self, _: &'a Path, relative: &'a Path, limit: u64) -> FileFuture<'a, Contents> {
        Box::pin(async move {
            // In the spelling of the injected `joinPath`.
            let path = PathBuf::from(format!("{}{}", self.prefix, relative.display()));
            match self.call("readFile", &path, json!(null), None).await {
                Ok(text) => {
                    let length = text.len() as u64;
                    let mut bytes = text.into_bytes();
                    bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                    Ok(Contents { bytes, length })
                }
                Err(mut error) => {
                    if self.is_missing(&path, &error).await {
                        error.kind = io::ErrorKind::NotFound;
                    }
                    Err(error)
                }
            }
        })
    }

    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>> {
        Box::pin(async move {
            if !self.exists(directory).await? {
                return Ok(Vec::new());
            }
            let names = self.call("readdir", directory, json!(null), None).await?;
            let names: Vec<String> = serde_json::from_str(&names).unwrap_or_default();
            Ok(names.into_iter().map(FileEntry::named).collect())
        })
    }

    fn directories<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<String>> {
        Box::pin(async move {
            let mut directories = Vec::new();
            for FileEntry { name, .. } in self.list(directory).await? {
                // The interface has no other test: a path that can be listed is a directory.
                let path = directory.join(&name);
                if self.call("readdir", &path, json!(null), None).await.is_ok() {
                    directories.push(name);
                }
            }
            Ok(directories)
        })
    }

    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        Box::pin(async move {
            match self.call("unlink", path, json!(null), None).await {
                Ok(_) => Ok(true),
                Err(error) if self.is_missing(path, &error).await => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    fn scope(&self) -> u64 {
        self.scope
    }
}
