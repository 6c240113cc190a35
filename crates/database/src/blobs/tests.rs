//! A bucket in memory that loses requests and answers, and what [`Blobs`] makes of that.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartId, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    memory::InMemory,
    multipart::{MultipartStore, PartId},
    path::Path,
};

use super::{BlobOptions, BlobSettings, Blobs, service::Bucket};
use crate::failure::FailureKind;

/// A bucket in memory. Of 20 requests that change it, one is not carried out, and the answer of another one is lost.
#[derive(Debug, Default)]
pub(crate) struct Faulty {
    objects: InMemory,
    /// Whether requests are lost.
    pub is_faulty: AtomicBool,
    /// Whether every request is refused.
    pub is_closed: AtomicBool,
    changes: AtomicU64,
    /// The requests that read.
    pub reads: AtomicU64,
    /// The bytes that were read.
    pub bytes_read: AtomicU64,
    /// The uploads in parts that were begun, less those that were completed or aborted.
    pub uploads: AtomicU64,
}

impl fmt::Display for Faulty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Faulty")
    }
}

fn lost() -> Error {
    Error::Generic { store: "Faulty", source: "connection reset".into() }
}

fn denied() -> Error {
    Error::PermissionDenied { path: "a".to_owned(), source: "closed".into() }
}

impl Faulty {
    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.names().len()
    }

    /// Their paths.
    pub fn names(&self) -> Vec<Path> {
        let prefix = Path::from("prefix");
        let listing =
            self.objects.list(Some(&prefix)).map(|found| found.map(|found| found.location));
        // The list of a bucket in memory is ready at once.
        listing.try_collect::<Vec<_>>().now_or_never().and_then(Result::ok).unwrap_or_default()
    }

    /// Carries out a change, or loses the request or the answer.
    async fn change<T>(&self, change: impl Future<Output = Result<T>>) -> Result<T> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(denied());
        }
        let number = self.changes.fetch_add(1, Ordering::Relaxed);
        match (self.is_faulty.load(Ordering::Relaxed), number % 20) {
            (true, 3) => Err(lost()),
            (true, 13) => {
                change.await?;
                Err(lost())
            }
            _ => change.await,
        }
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.change(self.objects.put_opts(path, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let is_head = options.head;
        let answer = self.objects.get_opts(path, options).await?;
        if !is_head {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let length = answer.range.end - answer.range.start;
            self.bytes_read.fetch_add(length, Ordering::Relaxed);
        }
        Ok(answer)
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        if self.is_closed.load(Ordering::Relaxed) {
            return paths.map(|_| Err(denied())).boxed();
        }
        self.objects.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

#[async_trait]
impl MultipartStore for Faulty {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        let created = self.objects.create_multipart(path).await;
        self.uploads.fetch_add(1, Ordering::Relaxed);
        created
    }

    async fn put_part(
        &self,
        path: &Path,
        upload: &MultipartId,
        number: usize,
        data: PutPayload,
    ) -> Result<PartId> {
        self.change(self.objects.put_part(path, upload, number, data)).await
    }

    async fn complete_multipart(
        &self,
        path: &Path,
        upload: &MultipartId,
        parts: Vec<PartId>,
    ) -> Result<PutResult> {
        let completed = self.objects.complete_multipart(path, upload, parts).await?;
        self.uploads.fetch_sub(1, Ordering::Relaxed);
        // The answer of every completion is lost where requests are.
        if self.is_faulty.load(Ordering::Relaxed) { Err(lost()) } else { Ok(completed) }
    }

    async fn abort_multipart(&self, path: &Path, upload: &MultipartId) -> Result<()> {
        let aborted = self.objects.abort_multipart(path, upload).await;
        aborted
            .map_err(|error| Error::NotFound { path: path.to_string(), source: error.into() })?;
        self.uploads.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The bucket, and a client of it.
pub(crate) fn faulty() -> (Arc<Faulty>, Arc<Blobs>) {
    let bucket = Arc::new(Faulty::default());
    let settings = BlobSettings::parse("s3://bucket/prefix", BlobOptions::default());
    let shared = Arc::clone(&bucket) as Arc<dyn Bucket>;
    let blobs = Blobs::new(settings.unwrap(), Duration::from_secs(5), OnceLock::from(Ok(shared)));
    (bucket, Arc::new(blobs))
}

#[tokio::test]
async fn lost_requests_and_answers_lose_nothing() {
    let (bucket, blobs) = faulty();
    bucket.is_faulty.store(true, Ordering::Relaxed);
    for number in 0..100_u8 {
        let path = blobs.path("schema", &number.to_string());
        blobs.put(&path, Bytes::from(vec![number; 1000])).await.unwrap();
        assert_eq!(blobs.get(&path, 10..20).await.unwrap(), vec![number; 10]);
    }
    assert_eq!(bucket.objects(), 100);
    for number in 0..100_u8 {
        let path = blobs.path("schema", &number.to_string());
        blobs.remove(&path).await.unwrap();
        blobs.remove(&path).await.unwrap();
    }
    assert_eq!(bucket.objects(), 0);
}

#[tokio::test]
async fn an_upload_in_parts_is_complete_although_the_answer_is_lost() {
    let (bucket, blobs) = faulty();
    bucket.is_faulty.store(true, Ordering::Relaxed);
    for name in ["a", "b", "c", "d", "e", "f"] {
        let path = blobs.path("schema", name);
        let upload = blobs.begin(&path).await.unwrap();
        let mut parts = Vec::new();
        for number in 0..4 {
            let part = Bytes::from(vec![b'x'; 10]);
            parts.push(blobs.put_part(&path, &upload, number, part).await.unwrap());
        }
        blobs.complete(&path, &upload, parts, 40).await.unwrap();
        assert_eq!(blobs.get(&path, 0..40).await.unwrap().len(), 40);
        // Nothing is left to abort.
        blobs.abort(&path, &upload).await.unwrap();
    }
    assert_eq!(bucket.uploads.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn refusals_name_the_bucket_the_object_and_the_remedy() {
    let (bucket, blobs) = faulty();
    let refusal = blobs.get("prefix/schema/none", 0..1).await.unwrap_err();
    assert!(refusal.may_be_missing);
    let text = refusal.failure.to_string();
    assert!(text.contains("prefix/schema/none is missing in s3://bucket"), "{text}");
    bucket.is_closed.store(true, Ordering::Relaxed);
    let refusal = blobs.put("prefix/schema/a", Bytes::new()).await.unwrap_err();
    assert_eq!(refusal.failure.kind, FailureKind::Access);
    let text = refusal.failure.to_string();
    assert!(text.contains("s3://bucket refused to store the object prefix/schema/a"), "{text}");
    assert!(blobs.remove("prefix/schema/a").await.is_err());
}

#[tokio::test]
async fn an_endpoint_without_a_server_is_reported_after_the_timeout() {
    let endpoint = Some("http://127.0.0.1:1".to_owned());
    let options = BlobOptions { endpoint, ..BlobOptions::default() };
    let settings = BlobSettings::parse("s3://bucket/prefix", options).unwrap();
    let blobs = Blobs::open(settings, Duration::from_millis(300));
    let failure = blobs.put("prefix/a", Bytes::new()).await.unwrap_err().failure;
    // Without credentials in the environment, these are looked for first.
    assert!(
        [FailureKind::Unavailable, FailureKind::Access, FailureKind::Timeout]
            .contains(&failure.kind)
    );
    assert!(failure.to_string().contains("s3://bucket"), "{failure}");
}
