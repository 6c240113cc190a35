//! Writes the files of a streamed context in pieces.

use std::sync::Arc;

use storage::{Durability, FileResult, Pieces, Target, layout};

use super::{
    super::context_directory::{ATTEMPTS, ContextDirectory, Opened},
    contents::Contents,
};
use crate::error::Result;

/// The parts of a streamed context's files.
pub(in crate::context) struct StreamedFile {
    /// The record before the stream.
    pub head: Vec<u8>,
    pub(super) contents: Arc<Contents>,
    /// The record after the stream.
    pub tail: Vec<u8>,
    /// The first line of the file of binary data.
    pub line: Vec<u8>,
}

impl StreamedFile {
    fn record(&self) -> Pieces {
        let (head, tail) = (self.head.clone(), self.tail.clone());
        let contents = Arc::clone(&self.contents);
        Box::new(move |write| {
            write(&head)?;
            contents.write_result(write)?;
            write(&tail)
        })
    }

    /// The file of binary data, if there is any.
    fn bytes(&self) -> Option<Pieces> {
        self.contents.bytes()?;
        let (line, contents) = (self.line.clone(), Arc::clone(&self.contents));
        Some(Box::new(move |write| {
            write(&line)?;
            contents.bytes().map_or(Ok(()), |bytes| bytes.read_all(write))
        }))
    }
}

impl ContextDirectory {
    /// As [`ContextDirectory::write`], for a stream.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn write_streamed(
        &self,
        filename: &str,
        handle: Option<u64>,
        file: &StreamedFile,
    ) -> Result<()> {
        let mut attempts_left = ATTEMPTS;
        loop {
            let opened = self.held().await?;
            // The temporary files stay open, so that a second attempt can read them.
            let created = self.create_streamed(&opened, filename, file).await;
            attempts_left -= 1;
            if let Some(written) = self.ended(&opened, handle, filename, created, attempts_left) {
                return written;
            }
        }
    }

    async fn create_streamed(
        &self,
        opened: &Opened,
        filename: &str,
        file: &StreamedFile,
    ) -> FileResult<()> {
        let Some(bytes) = file.bytes() else {
            return self.create_of_pieces(opened, filename, file.record()).await;
        };
        let name_of_bytes = layout::bytes_of(filename);
        self.create_of_pieces(opened, &name_of_bytes, bytes).await?;
        let created = self.create_of_pieces(opened, filename, file.record()).await;
        if created.is_err() {
            // If the removal fails, a sweep removes the file later, because no record refers to it.
            let _ = self.remove_file(&name_of_bytes).await;
        }
        created
    }

    async fn create_of_pieces(
        &self,
        opened: &Opened,
        filename: &str,
        pieces: Pieces,
    ) -> FileResult<()> {
        let (Some((shared, _)), Some(disk)) = (&opened.shared, &self.disk) else { return Ok(()) };
        let temporary = shared.temporary()?;
        if self.options.durability == Durability::Full {
            shared.sync_ancestors().await?;
        }
        let path = opened.root.join(filename);
        let target = Target { directory: &opened.root, temporary: &temporary, path: &path };
        storage::create_file_of_pieces(
            Arc::clone(disk),
            self.file_system.as_ref(),
            target,
            pieces,
            self.options.durability,
            &shared.sync,
        )
        .await
    }
}
