//! The index file: a sequence of segments. Each segment describes the part of the log that begins where the
//! one before it ends. A segment that begins elsewhere, as concurrent writes of two processes may leave it,
//! is skipped; reading ends at the first damaged segment; and if the first segment describes another log, the
//! whole file is ignored.

use std::{io, sync::Arc};

use storage::{Access, FileError, OpenFile, layout};

use super::{
    super::History,
    block::{Block, Place},
    segment::{LogId, PREAMBLE, Preamble},
};

/// The beginning of the previous index format, after a checksum of 8 digits.
const FORMER: &[u8] = b"\n{\"format\":";
const FORMER_CHECKSUM: usize = 8;

/// The open index file.
#[derive(Clone)]
pub(super) struct IndexFile {
    pub handle: Arc<dyn OpenFile>,
    /// The file's length at the last read or write.
    length: u64,
}

/// The validity of an index file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// All of it is valid.
    Whole,
    /// Something invalid follows the valid segments.
    Damaged,
    /// It describes another log, or was written with another line limit or by another version.
    Other,
}

/// The result of writing a segment.
pub(super) enum Writing {
    Done,
    /// Another process changed the file, which has to be read again.
    Changed,
}

impl IndexFile {
    /// Opens the file for reading.
    pub fn open(history: &History) -> Result<Self, FileError> {
        let path = &history.options.path;
        let disk = history.file_system.disk().ok_or_else(|| {
            FileError::system("open", &path.file(), io::ErrorKind::NotFound.into())
        })?;
        let handle = disk.open(&path.beside(&layout::index(&path.name)), Access::Read)?;
        let length = handle.length()?;
        Ok(Self { handle: Arc::from(handle), length })
    }

    /// The segments that describe the log without gaps, from its beginning.
    pub fn blocks(&self, log: LogId) -> (Vec<Block>, Condition) {
        let mut blocks: Vec<Block> = Vec::new();
        let mut position = 0;
        while position < self.length {
            let Some((head, total)) = self.head(position) else {
                let is_former = position == 0 && self.is_former();
                return (blocks, if is_former { Condition::Other } else { Condition::Damaged });
            };
            let covered = blocks.last().map_or(0, |block| block.range.end);
            if head.log == log && head.begin == covered {
                blocks.push(Block::of(&head, Place::File(position), total));
            } else if position == 0 {
                return (blocks, Condition::Other);
            }
            position += total;
        }
        (blocks, Condition::Whole)
    }

    /// A segment's head and total length; `None` if no valid segment begins there.
    fn head(&self, position: u64) -> Option<(super::segment::Head, u64)> {
        let read = |offset: u64, length: usize| {
            let end = offset.checked_add(length as u64)?;
            if end > self.length {
                return None;
            }
            let mut bytes = vec![0; length];
            let count = self.handle.read_at(offset, &mut bytes).ok()?;
            (count == length).then_some(bytes)
        };
        let preamble = Preamble::decode(&read(position, PREAMBLE)?)?;
        if position.checked_add(preamble.total())? > self.length {
            return None;
        }
        let head = read(position + PREAMBLE as u64, preamble.head)?;
        Some((preamble.decode_head(&head)?, preamble.total()))
    }

    fn is_former(&self) -> bool {
        let mut start = [0; FORMER_CHECKSUM + FORMER.len()];
        let count = self.handle.read_at(0, &mut start).unwrap_or_default();
        count == start.len() && start.ends_with(FORMER)
    }

    /// Writes a segment at `position` and truncates the file after it. `known` is the file at its last read
    /// or write; `None` if there was none.
    ///
    /// # Errors The file system's. The previous contents from `position` on may be lost then.
    pub fn write(
        history: &History,
        known: &mut Option<Self>,
        position: u64,
        bytes: &[u8],
    ) -> Result<Writing, FileError> {
        let path = &history.options.path;
        let disk = history.file_system.disk().ok_or_else(|| {
            FileError::system("open", &path.file(), io::ErrorKind::Unsupported.into())
        })?;
        let handle = disk.open(&path.beside(&layout::index(&path.name)), Access::Append)?;
        let length = handle.length()?;
        let is_known = match known {
            Some(known) => known.handle.identity() == handle.identity() && known.length == length,
            None => length == 0,
        };
        if !is_known {
            return Ok(Writing::Changed);
        }
        if position < length {
            handle.truncate(position)?;
        }
        let written = handle.append(bytes);
        if written.is_err() {
            // A partial segment that cannot be removed is recognised as invalid.
            let _ = handle.truncate(position);
        }
        let length = if written.is_ok() { position + bytes.len() as u64 } else { position };
        *known = Some(Self { handle: Arc::from(handle), length });
        written?;
        Ok(Writing::Done)
    }

    /// Truncates the file at `position`, unless the file was replaced meanwhile.
    pub fn cut(&mut self, history: &History, position: u64) {
        let path = &history.options.path;
        let Some(disk) = history.file_system.disk().filter(|_| position < self.length) else {
            return;
        };
        // If this fails, the rest is ignored and truncated by a later search.
        let Ok(file) = disk.open(&path.beside(&layout::index(&path.name)), Access::Append) else {
            return;
        };
        let is_same = file.identity() == self.handle.identity();
        if is_same && file.truncate(position).is_ok() {
            self.length = position;
        }
    }

    /// Removes the file.
    pub fn remove(history: &History) {
        if let Some(disk) = history.file_system.disk() {
            let path = &history.options.path;
            // If this fails, the file is ignored because it describes another log.
            let _ = disk.remove(&path.beside(&layout::index(&path.name)));
        }
    }
}
