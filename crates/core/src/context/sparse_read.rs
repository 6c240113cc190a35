//! Reads a part of a long result without the rest, by the table of blocks at the end of its record. Where the table is missing
//! or does not match the record, the caller reads the whole record.

use std::{ops::Range, path::Path, sync::Arc};

use super::{context_files::Reading, outcome::Outcome, record, session::Session};
use crate::{
    blocking::run_long,
    error::Result,
    slices::{Blocks, MAX_MEMBER, Request, Slice, Sliced, SparseRequest, Window, needs_whole},
};

/// The bytes that are read first. A shorter record is whole then, and has no table.
const BEGINNING: u64 = 512 * 1024;

/// What the first steps found.
pub(super) enum Looked {
    /// The slice, and how the call ended.
    Slice(Box<(Slice, Outcome)>),
    /// The whole record, which is short. Not validated yet.
    Record(Vec<u8>),
    /// The whole record has to be read.
    Unknown,
}

/// Looks for a part of a record's result. `path` is the caller's spelling, for error messages.
///
/// # Errors
/// Those of [`ContextDirectory::read_whole`](super::context_directory::ContextDirectory::read_whole).
pub(super) async fn look(
    session: &Arc<Session>,
    path: &str,
    relative: &str,
    request: &Request,
) -> Result<Looked> {
    let directory = &session.directory;
    // An injected file system reads whole files only.
    if needs_whole(request) || directory.disk.is_none() {
        return Ok(Looked::Unknown);
    }
    let root = directory.root(path).await?;
    let reading = Reading { path, relative, limit: BEGINNING };
    let beginning = directory.read_for(&root, reading).await?;
    if beginning.bytes.len() as u64 == beginning.length {
        return Ok(Looked::Record(beginning.bytes));
    }
    let Ok(length) = usize::try_from(beginning.length) else { return Ok(Looked::Unknown) };
    let record = LongRecord { session, root: &root, relative, beginning: beginning.bytes, length };
    let slice = record.slice(request).await;
    Ok(slice.map_or(Looked::Unknown, |slice| {
        Looked::Slice(Box::new((slice, Outcome::of_record(&record.beginning).shortened())))
    }))
}

/// A record of which the beginning was read.
struct LongRecord<'a> {
    session: &'a Session,
    root: &'a Path,
    relative: &'a str,
    beginning: Vec<u8>,
    length: usize,
}

impl LongRecord<'_> {
    /// The slice; `None` if the record has no table, or one that does not match it.
    async fn slice(&self, request: &Request) -> Option<Slice> {
        if record::parse_head(&self.beginning).ok()?.bytes.is_some() {
            return None;
        }
        let result = record::result_start(&self.beginning)?;
        let end = self.length.saturating_sub(MAX_MEMBER).max(result)..self.length;
        let (blocks, taken) = Blocks::at_end_of(&self.read(end).await?)?;
        let is_string = self.beginning.get(result) == Some(&b'"');
        let length = result.checked_add(blocks.stored())?.checked_add(taken)?;
        if length != self.length || is_string != blocks.is_string() {
            return None;
        }
        let (content, blocks) = (result + usize::from(is_string), Arc::new(blocks));
        let sparse = SparseRequest::new(request, &blocks)?;
        let window = self.window(&sparse, &blocks, content, sparse.needs()).await?;
        match sparse.slice(&window)? {
            Sliced::Done(slice) => Some(slice),
            Sliced::LacksEnd(slice, block) => {
                let window = self.window(&sparse, &blocks, content, block..block + 1).await?;
                sparse.with_end(slice, &window)
            }
        }
    }

    /// The text of blocks. `content` is the position of the first one in the record.
    async fn window(
        &self,
        sparse: &SparseRequest<'_>,
        blocks: &Arc<Blocks>,
        content: usize,
        wanted: Range<usize>,
    ) -> Option<Window> {
        let Range { start, end } = wanted;
        let place = |block| content.checked_add(blocks.place(block).stored);
        let stored = self.read(place(start)?..place(end)?).await?;
        let blocks = Arc::clone(blocks);
        let text = run_long(stored.len(), move || Ok(blocks.text(start, end, &stored))).await;
        Some(sparse.window(start, text.ok().flatten()?))
    }

    /// A range of the record; `None` if it is not there.
    async fn read(&self, range: Range<usize>) -> Option<Vec<u8>> {
        if let Some(read) = self.beginning.get(range.clone()) {
            return Some(read.to_vec());
        }
        let wanted = range.start as u64..range.end as u64;
        let relative = Path::new(self.relative);
        let file_system = &self.session.directory.file_system;
        let read = file_system.read_range(self.root, relative, wanted).await.ok()??;
        (read.len() == range.len()).then_some(read)
    }
}
