//! Objects in a bucket of S3, Google Cloud Storage, Azure, or a service that speaks the protocol of S3.
//!
//! An object is created once under a random name, and never changed: every request can be repeated after a lost answer, until a
//! deadline. The client is made by the first request; nothing of it exists before.
//!
//! | module | contents |
//! |---|---|
//! | `settings` | the parsed URL and the options |
//! | `service` | the client of a bucket's service |
//! | `http` | its HTTP client |
//! | `credentials` | credentials that the caller's function gives |
//! | `failure` | what errors mean |

mod credentials;
mod failure;
mod http;
mod service;
mod settings;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use bytes::Bytes;
use object_store::{Error, ObjectStoreExt, PutPayload, multipart::PartId, path::Path};
use storage::Registry;
use tokio::sync::Semaphore;

use crate::{
    failure::{Failure, FailureKind},
    pause::Pauses,
};
use failure::{Meaning, describe, is_without_credentials, meaning};
use service::Bucket;
pub use settings::{BlobOptions, BlobSettings};

/// The requests of this process to one bucket at a time, which bounds their memory and connections.
const MOST_REQUESTS: usize = 16;
/// How often credentials are looked for where nothing answers.
const ATTEMPTS_WITHOUT_CREDENTIALS: usize = 2;

/// A request that was given up.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Why.
    pub failure: Failure,
    /// Whether the service says that the object does not exist, or does not say whether it does.
    pub may_be_missing: bool,
}

/// A bucket.
pub struct Blobs {
    settings: BlobSettings,
    timeout: Duration,
    requests: Semaphore,
    bucket: OnceLock<Result<Arc<dyn Bucket>, String>>,
}

/// The buckets in use, by the identity of their settings.
static OPEN: Registry<String, Blobs> = Registry::new();

impl Blobs {
    /// The bucket with these settings. Each request is repeated until `timeout` has passed. Opens no connection.
    #[must_use]
    pub fn open(settings: BlobSettings, timeout: Duration) -> Arc<Self> {
        let identity = format!("{}\0{}", settings.identity(), timeout.as_millis());
        OPEN.get_or_insert_with(identity, || {
            Arc::new(Self::new(settings, timeout, OnceLock::new()))
        })
    }

    fn new(
        settings: BlobSettings,
        timeout: Duration,
        bucket: OnceLock<Result<Arc<dyn Bucket>, String>>,
    ) -> Self {
        Self { settings, timeout, requests: Semaphore::new(MOST_REQUESTS), bucket }
    }

    /// The bucket and the prefix, without credentials: `s3://bucket/prefix`.
    #[must_use]
    pub fn place(&self) -> String {
        self.settings.place()
    }

    /// The path of an object in the bucket.
    pub(crate) fn path(&self, folder: &str, name: &str) -> String {
        let prefix = &self.settings.prefix;
        let separator = if prefix.is_empty() { "" } else { "/" };
        format!("{prefix}{separator}{folder}/{name}")
    }

    /// Stores an object.
    pub(crate) async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Refusal> {
        let put = |bucket: Arc<dyn Bucket>, location| {
            let payload = PutPayload::from_bytes(bytes.clone());
            async move { bucket.put(&location, payload).await.map(drop) }
        };
        self.repeat("store", path, put).await
    }

    /// Reads a range of an object, which must be in it.
    pub(crate) async fn get(&self, path: &str, range: Range<u64>) -> Result<Bytes, Refusal> {
        let get = |bucket: Arc<dyn Bucket>, location| {
            let range = range.clone();
            async move { bucket.get_range(&location, range).await }
        };
        self.repeat("read", path, get).await
    }

    /// Removes an object; one that does not exist counts as removed.
    pub(crate) async fn remove(&self, path: &str) -> Result<(), Refusal> {
        let delete = |bucket: Arc<dyn Bucket>, location| async move {
            unless_missing(bucket.delete(&location).await)
        };
        self.repeat("remove", path, delete).await
    }

    /// Begins an upload in parts, and returns its id.
    pub(crate) async fn begin(&self, path: &str) -> Result<String, Refusal> {
        let create = |bucket: Arc<dyn Bucket>, location| async move {
            bucket.create_multipart(&location).await
        };
        self.repeat("store", path, create).await
    }

    /// Uploads a part.
    pub(crate) async fn put_part(
        &self,
        path: &str,
        upload: &str,
        number: usize,
        bytes: Bytes,
    ) -> Result<PartId, Refusal> {
        let put_part = |bucket: Arc<dyn Bucket>, location| {
            let (upload, part) = (upload.to_owned(), PutPayload::from_bytes(bytes.clone()));
            async move { bucket.put_part(&location, &upload, number, part).await }
        };
        self.repeat("store", path, put_part).await
    }

    /// Makes an object of the parts of an upload, `length` bytes in all.
    pub(crate) async fn complete(
        &self,
        path: &str,
        upload: &str,
        parts: Vec<PartId>,
        length: u64,
    ) -> Result<(), Refusal> {
        let complete = |bucket: Arc<dyn Bucket>, location| {
            let (upload, parts) = (upload.to_owned(), parts.clone());
            async move {
                let completed = bucket.complete_multipart(&location, &upload, parts).await;
                let Err(error) = completed else { return Ok(()) };
                // An attempt whose answer was lost may have ended the upload: its object then has all bytes.
                match bucket.head(&location).await {
                    Ok(found) if found.size == length => Ok(()),
                    _ => Err(error),
                }
            }
        };
        self.repeat("store", path, complete).await
    }

    /// Ends an upload that was not completed, and frees its parts.
    pub(crate) async fn abort(&self, path: &str, upload: &str) -> Result<(), Refusal> {
        let abort = |bucket: Arc<dyn Bucket>, location| {
            let upload = upload.to_owned();
            async move { unless_missing(bucket.abort_multipart(&location, &upload).await) }
        };
        self.repeat("remove", path, abort).await
    }

    fn bucket(&self) -> Result<&Arc<dyn Bucket>, Failure> {
        let made = self
            .bucket
            .get_or_init(|| service::bucket(&self.settings).map_err(|error| describe(&error)));
        made.as_ref().map_err(|cause| {
            let message = format!(
                "the bucket {} cannot be used: {cause}; check the environment and the option blobs",
                self.settings.bucket_url()
            );
            Failure::new(FailureKind::Access, message).with_cause(cause.clone())
        })
    }

    /// Repeats a request until it succeeds, cannot succeed, or the timeout passes.
    async fn repeat<T, Attempt>(
        &self,
        action: &str,
        path: &str,
        attempt: impl Fn(Arc<dyn Bucket>, Path) -> Attempt,
    ) -> Result<T, Refusal>
    where
        Attempt: Future<Output = Result<T, Error>>,
    {
        let given_up = |failure| Refusal { failure, may_be_missing: false };
        let bucket = self.bucket().map_err(given_up)?;
        let deadline = Instant::now() + self.timeout;
        let (mut pauses, mut cause, mut attempts) = (Pauses::default(), None, 0);
        loop {
            // An attempt without an answer leaves time for another one.
            let patience =
                (self.timeout / 2).min(deadline.saturating_duration_since(Instant::now()));
            let tried = async {
                // The semaphore is never closed.
                let _place = self.requests.acquire().await;
                attempt(Arc::clone(bucket), Path::from(path)).await
            };
            if let Ok(outcome) = tokio::time::timeout(patience, tried).await {
                let error = match outcome {
                    Ok(value) => return Ok(value),
                    Err(error) => error,
                };
                attempts += 1;
                let (meaning, text) = (meaning(&error), describe(&error));
                if is_without_credentials(&error) && attempts >= ATTEMPTS_WITHOUT_CREDENTIALS {
                    return Err(given_up(self.without_credentials(text)));
                }
                if meaning != Meaning::Repeat {
                    return Err(self.refusal(meaning, action, path, text));
                }
                cause = Some(text);
            }
            let pause = pauses.next();
            if Instant::now() + pause >= deadline {
                return Err(given_up(self.timed_out(action, path, cause)));
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn refusal(&self, meaning: Meaning, action: &str, path: &str, cause: String) -> Refusal {
        let bucket = self.settings.bucket_url();
        let (kind, message) = match meaning {
            Meaning::Missing => (
                FailureKind::Unavailable,
                format!(
                    "the object {path} is missing in {bucket} ({cause}); another program or a lifecycle rule has removed it: restore it, or run the tool again"
                ),
            ),
            Meaning::NoBucket => (
                FailureKind::Unavailable,
                format!(
                    "there is no bucket {bucket} ({cause}); create it, or correct the option blobs"
                ),
            ),
            Meaning::Access => (
                FailureKind::Access,
                format!(
                    "the bucket {bucket} refused to {action} the object {path}: {cause}; check the credentials, that the bucket exists, and that they allow to get, put and delete objects below the prefix"
                ),
            ),
            Meaning::Unsupported => (
                FailureKind::Unsupported,
                format!("the service of {bucket} cannot {action} the object {path}: {cause}"),
            ),
            Meaning::Repeat | Meaning::Refused => (
                FailureKind::Unavailable,
                format!(
                    "the bucket {bucket} refused to {action} the object {path}: {cause}; check the region and the endpoint"
                ),
            ),
        };
        // A service that may not list the bucket does not say that an object is missing.
        let may_be_missing = matches!(meaning, Meaning::Missing | Meaning::Access);
        Refusal { failure: Failure::new(kind, message).with_cause(cause), may_be_missing }
    }

    fn without_credentials(&self, cause: String) -> Failure {
        let message = format!(
            "no credentials for the bucket {}: neither the environment nor the machine has any ({cause}); set those of the environment, or the option blobs.credentials",
            self.settings.bucket_url()
        );
        Failure::new(FailureKind::Access, message).with_cause(cause)
    }

    fn timed_out(&self, action: &str, path: &str, cause: Option<String>) -> Failure {
        let (bucket, milliseconds) = (self.settings.bucket_url(), self.timeout.as_millis());
        match cause {
            Some(cause) => {
                let message = format!(
                    "could not {action} the object {path} in {bucket} within {milliseconds} ms: {cause}; check that the service can be reached"
                );
                Failure::new(FailureKind::Unavailable, message).with_cause(cause)
            }
            None => Failure::new(
                FailureKind::Timeout,
                format!(
                    "{bucket} did not answer within {milliseconds} ms when asked to {action} the object {path}; check the network, or raise storage.timeout"
                ),
            ),
        }
    }
}

fn unless_missing(outcome: Result<(), Error>) -> Result<(), Error> {
    match outcome {
        Err(error) if meaning(&error) == Meaning::Missing => Ok(()),
        other => other,
    }
}
