//! Contents in object storage: one object for each file whose contents are long. The object's name is random; the row of the file
//! refers to it. Its beginning is in the database as well, where lists look.

use std::{ops::Range, path::Path, sync::Arc};

use bytes::Bytes;
use storage::{FileError, FileResult, Payload};
use uuid::Uuid;

use super::{
    Files, connections, failed, refused, sql,
    whole::{Existing, NewContents, Object},
};
use crate::{
    blobs::{Blobs, Refusal},
    database::Intent,
    failure::{Failure, FailureKind},
    parameters::Parameters,
};

/// The bytes of an object that are in the database as well: as many as lists of contexts read of each record.
pub const BEGINNING: usize = 16 * 1024;

impl Files {
    /// The path of an object in the bucket.
    pub fn path_of(&self, blobs: &Blobs, id: Uuid) -> String {
        blobs.path(self.database.schema(), &id.to_string())
    }

    /// Runs a request on the thread of the connections.
    pub async fn request<T: Send + 'static>(
        &self,
        at: (&'static str, &Path),
        request: impl Future<Output = T> + Send + 'static,
    ) -> FileResult<T> {
        let (operation, path) = at;
        let sent = connections(at)?.spawn(request).await;
        sent.map_err(|error| FileError::system(operation, path, std::io::Error::other(error)))
    }

    /// Writes a file with its contents in an object.
    pub async fn write_object(
        self: &Arc<Self>,
        path: &Path,
        contents: &Payload,
        existing: Existing,
    ) -> FileResult<()> {
        let Some(mut upload) = self.upload() else {
            return Err(refused("write", path, std::io::ErrorKind::Unsupported));
        };
        let bytes = Bytes::from_owner(SharedBytes(Arc::clone(contents)));
        let (length, first) = (contents.len(), bytes.slice(..BEGINNING.min(contents.len())));
        let path_of_file = path.to_owned();
        let uploading = async move {
            let sent = upload.send_whole(&path_of_file, bytes).await;
            if sent.is_err() {
                upload.give_up().await;
            }
            sent.map(|()| upload)
        };
        let mut upload = self.request(("write", path), uploading).await??;
        let contents = NewContents { length, first: &first, blob: Some(upload.id()) };
        let named = self.write_named(path, &contents, existing).await;
        if named.is_err() {
            upload.give_up().await;
        }
        self.collect_if_due();
        named
    }

    /// Reads a range of a file that is in its object.
    pub async fn read_object(
        &self,
        path: &Path,
        object: Object,
        range: Range<u64>,
    ) -> FileResult<Bytes> {
        let Some(blobs) = self.blobs.clone() else {
            return Err(self.elsewhere(path, object, None).await);
        };
        let (name, range) =
            (self.path_of(&blobs, object.id), range.start..range.end.min(object.length));
        let read = async move { blobs.get(&name, range).await };
        match self.request(("read", path), read).await? {
            Ok(bytes) => Ok(bytes),
            Err(refusal) if refusal.may_be_missing => {
                Err(self.elsewhere(path, object, Some(refusal)).await)
            }
            Err(refusal) => Err(failed("read", path, refusal.failure)),
        }
    }

    /// The error of an object that is not in the bucket of this process: its file was removed, or written with another bucket.
    async fn elsewhere(&self, path: &Path, object: Object, refusal: Option<Refusal>) -> FileError {
        let (at, parameters) = (("read", path), Parameters::new().id(object.id));
        let rows = match self.statement(Intent::Read, at, sql::PLACE_OF_BLOB, parameters).await {
            Ok(rows) => rows,
            Err(error) => return error,
        };
        let Some(place) = rows.first().map(|row| row.get::<_, String>(0)) else {
            return refused("read", path, std::io::ErrorKind::NotFound);
        };
        let own = self.blobs.as_ref().map(|blobs| blobs.place());
        match refusal {
            Some(refusal) if own.as_ref() == Some(&place) => failed("read", path, refusal.failure),
            _ => {
                let given = own.map_or("is not given".to_owned(), |own| format!("names {own}"));
                let message = format!(
                    "its contents are in {place}, and the option blobs {given}; pass the bucket and the prefix with which it was stored"
                );
                failed("read", path, Failure::new(FailureKind::Unsupported, message))
            }
        }
    }
}

/// Contents that uploads share with the caller.
struct SharedBytes(Payload);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
