//! Contents that are uploaded to an object: at once if they are short, else in parts, some of which are under way together.
//! All of it runs on the thread of the connections.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use object_store::multipart::PartId;
use storage::{FileError, FileResult};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{
    Files, PART, failed,
    objects::BEGINNING,
    sql,
    whole::{Existing, NewContents},
};
use crate::{
    blobs::{Blobs, Refusal},
    database::Intent,
    parameters::Parameters,
};

/// The longest contents that are sent by one request.
const LONGEST_REQUEST: usize = 16 * 1024 * 1024;
/// The length of a part of an upload. All parts but the last have it, as some services demand.
const PART_OF_UPLOAD: usize = 8 * 1024 * 1024;
/// The parts that are under way at once.
const PARTS_AT_ONCE: usize = 3;

/// An object that is being uploaded.
pub struct Upload {
    files: Arc<Files>,
    blobs: Arc<Blobs>,
    id: Uuid,
    /// Its path in the bucket.
    name: String,
    /// Whether the database knows it.
    is_noted: bool,
    /// What was gathered and not sent.
    gathered: Vec<u8>,
    /// The beginning of the contents.
    first: Vec<u8>,
    length: usize,
    in_parts: Option<InParts>,
}

/// An upload in parts.
struct InParts {
    upload: Arc<str>,
    sending: JoinSet<Result<(usize, PartId), Refusal>>,
    sent: Vec<Option<PartId>>,
}

fn refused(path: &Path, refusal: Refusal) -> FileError {
    failed("write", path, refusal.failure)
}

impl Files {
    /// A new object; `None` without a bucket.
    pub fn upload(self: &Arc<Self>) -> Option<Upload> {
        let (blobs, id) = (self.blobs.clone()?, Uuid::new_v4());
        let name = self.path_of(&blobs, id);
        Some(Upload {
            files: Arc::clone(self),
            blobs,
            id,
            name,
            is_noted: false,
            gathered: Vec::new(),
            first: Vec::new(),
            length: 0,
            in_parts: None,
        })
    }
}

impl Upload {
    /// The id of the object.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Sends contents that are in memory.
    pub async fn send_whole(&mut self, path: &Path, contents: Bytes) -> FileResult<()> {
        if contents.len() <= LONGEST_REQUEST {
            return self.send_at_once(path, contents).await;
        }
        for start in (0..contents.len()).step_by(PART_OF_UPLOAD) {
            let end = contents.len().min(start + PART_OF_UPLOAD);
            self.send_part(path, contents.slice(start..end)).await?;
        }
        self.complete(path, contents.len()).await
    }

    /// Adds a piece of contents that come one after the other.
    pub fn gather(&mut self, piece: &[u8]) {
        let missing = BEGINNING.saturating_sub(self.first.len()).min(piece.len());
        self.first.extend(piece.iter().take(missing));
        self.gathered.extend_from_slice(piece);
        self.length += piece.len();
    }

    /// Whether what was gathered must be sent.
    pub fn is_full(&self) -> bool {
        self.gathered.len() > LONGEST_REQUEST
    }

    /// Sends a part of what was gathered.
    pub async fn send(&mut self, path: &Path) -> FileResult<()> {
        let rest = self.gathered.split_off(PART_OF_UPLOAD.min(self.gathered.len()));
        let part = std::mem::replace(&mut self.gathered, rest);
        self.send_part(path, part.into()).await
    }

    /// Sends the rest, and creates the file with all that was gathered.
    pub async fn finish(mut self, path: &Path) -> FileResult<()> {
        if self.length <= PART {
            let contents = NewContents { length: self.length, first: &self.gathered, blob: None };
            return self.files.write_named(path, &contents, Existing::Refuse).await;
        }
        if self.in_parts.is_some() {
            while !self.gathered.is_empty() {
                self.send(path).await?;
            }
            self.complete(path, self.length).await?;
        } else {
            let contents = std::mem::take(&mut self.gathered);
            self.send_at_once(path, contents.into()).await?;
        }
        let contents = NewContents { length: self.length, first: &self.first, blob: Some(self.id) };
        let named = self.files.write_named(path, &contents, Existing::Refuse).await;
        if named.is_err() {
            self.give_up().await;
        }
        self.files.collect_if_due();
        named
    }

    /// Removes what was uploaded. Not after a request without an answer, which may still be carried out: its object is removed
    /// when it is abandoned.
    pub async fn give_up(&mut self) {
        if let Some(in_parts) = &mut self.in_parts {
            in_parts.sending.shutdown().await;
        }
        if self.is_noted {
            let (at, parameters) =
                (("unlink", Path::new(&self.name)), Parameters::new().id(self.id));
            // If this fails, the object is removed when it is abandoned. Another error is to be reported.
            let _ = self.files.statement(Intent::Write, at, sql::GIVE_UP_UPLOAD, parameters).await;
            self.files.collect();
        }
    }

    /// Notes the object in the database before anything of it exists.
    async fn note(&mut self, path: &Path) -> FileResult<()> {
        if !self.is_noted {
            let parameters = Parameters::new().id(self.id).text(self.blobs.place());
            let at = ("write", path);
            self.files.statement(Intent::Write, at, sql::BEGIN_UPLOAD, parameters).await?;
            self.is_noted = true;
        }
        Ok(())
    }

    async fn send_at_once(&mut self, path: &Path, contents: Bytes) -> FileResult<()> {
        self.note(path).await?;
        self.blobs.put(&self.name, contents).await.map_err(|refusal| refused(path, refusal))
    }

    async fn send_part(&mut self, path: &Path, part: Bytes) -> FileResult<()> {
        self.note(path).await?;
        let in_parts = match &mut self.in_parts {
            Some(in_parts) => in_parts,
            None => {
                let begun = self.blobs.begin(&self.name).await;
                let upload = begun.map_err(|refusal| refused(path, refusal))?;
                let parameters = Parameters::new().id(self.id).text(upload.clone());
                let at = ("write", path);
                self.files.statement(Intent::Write, at, sql::NOTE_UPLOAD, parameters).await?;
                let (sending, sent) = (JoinSet::new(), Vec::new());
                self.in_parts.insert(InParts { upload: upload.into(), sending, sent })
            }
        };
        while in_parts.sending.len() >= PARTS_AT_ONCE {
            in_parts.next().await.map_err(|refusal| refused(path, refusal))?;
        }
        let number = in_parts.sent.len();
        in_parts.sent.push(None);
        let (blobs, name) = (Arc::clone(&self.blobs), self.name.clone());
        let upload = Arc::clone(&in_parts.upload);
        in_parts.sending.spawn(async move {
            Ok((number, blobs.put_part(&name, &upload, number, part).await?))
        });
        Ok(())
    }

    async fn complete(&mut self, path: &Path, length: usize) -> FileResult<()> {
        let Some(in_parts) = &mut self.in_parts else { return Ok(()) };
        while !in_parts.sending.is_empty() {
            in_parts.next().await.map_err(|refusal| refused(path, refusal))?;
        }
        let parts = in_parts.sent.iter().flatten().cloned().collect();
        let completed =
            self.blobs.complete(&self.name, &in_parts.upload, parts, length as u64).await;
        completed.map_err(|refusal| refused(path, refusal))
    }
}

impl InParts {
    /// Waits for a part that is under way.
    async fn next(&mut self) -> Result<(), Refusal> {
        match self.sending.join_next().await {
            Some(Ok(sent)) => {
                let (number, part) = sent?;
                if let Some(place) = self.sent.get_mut(number) {
                    *place = Some(part);
                }
                Ok(())
            }
            // A task ends otherwise only with the runtime, and `complete` misses the part.
            Some(Err(_)) | None => Ok(()),
        }
    }
}
