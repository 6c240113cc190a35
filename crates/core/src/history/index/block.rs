//! [`Block`]: a segment whose head is in memory and whose rows are read from the index file when a search
//! needs them.

use std::{ops::Range, sync::Arc};

use storage::FileError;

use super::{
    file::IndexFile,
    segment::{BadLines, Head, LogId, PREAMBLE, Preamble, Row, Segment, Wanted},
};

/// Where a segment is stored.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// At this offset of the index file.
    File(u64),
    /// Only in memory, because the file could not be written.
    Memory(Arc<Vec<u8>>),
}

/// A segment without its rows.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub place: Place,
    /// The segment's length in bytes.
    pub length: u64,
    pub log: LogId,
    /// The part of the log that it describes.
    pub range: Range<u64>,
    /// The last bytes of the log before the end of that part.
    pub tail: Vec<u8>,
    pub rows: usize,
    pub bad_lines: BadLines,
}

/// The segment's bytes are not those that were written: they are damaged, or another process changed the
/// file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Unusable {
    /// The segment's position in the file.
    pub position: u64,
}

impl Block {
    pub fn of(head: &Head, place: Place, length: u64) -> Self {
        Self {
            place,
            length,
            log: head.log,
            range: head.begin..head.end,
            tail: head.tail.clone(),
            rows: usize::try_from(head.rows).unwrap_or(usize::MAX),
            bad_lines: head.bad_lines,
        }
    }

    pub fn is_in_file(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// The segment's end in the file; 0 if it is not in the file.
    pub fn end_in_file(&self) -> u64 {
        match self.place {
            Place::File(position) => position + self.length,
            Place::Memory(_) => 0,
        }
    }

    /// Reads bytes of the segment from `offset` on.
    fn read(&self, file: Option<&IndexFile>, offset: u64, length: usize) -> Option<Vec<u8>> {
        if offset.checked_add(length as u64)? > self.length {
            return None;
        }
        match &self.place {
            Place::Memory(bytes) => {
                let offset = usize::try_from(offset).ok()?;
                bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
            }
            Place::File(position) => {
                let mut bytes = vec![0; length];
                let read: Result<usize, FileError> =
                    file?.handle.read_at(position + offset, &mut bytes);
                (read.ok()? == length).then_some(bytes)
            }
        }
    }

    /// Reads the whole segment.
    pub fn bytes(&self, file: Option<&IndexFile>) -> Result<Vec<u8>, Unusable> {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        self.read(file, 0, length).ok_or_else(|| self.unusable())
    }

    /// The matching rows, in the order of the log.
    pub fn rows(
        &self,
        file: Option<&IndexFile>,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<Row>, Unusable> {
        self.try_rows(file, wanted).ok_or_else(|| self.unusable())
    }

    fn try_rows(&self, file: Option<&IndexFile>, wanted: &Wanted<'_>) -> Option<Vec<Row>> {
        let preamble = Preamble::decode(&self.read(file, 0, PREAMBLE)?)?;
        let head_bytes = self.read(file, PREAMBLE as u64, preamble.head)?;
        let head = preamble.decode_head(&head_bytes)?;
        // Another process may have written another segment at this position.
        let is_this = preamble.total() == self.length
            && head.log == self.log
            && (head.begin..head.end) == self.range
            && head.tail == self.tail;
        if !is_this {
            return None;
        }
        let body = PREAMBLE as u64 + head_bytes.len() as u64;
        let mut rows = Vec::new();
        for (place, group) in head.matching(wanted) {
            let bytes = self.read(file, body + place, group.length())?;
            head.decode_rows(group, &bytes, wanted, &mut rows)?;
        }
        rows.sort_unstable_by_key(|row| row.offset);
        Some(rows)
    }

    /// The segment with all of its rows.
    pub fn segment(&self, file: Option<&IndexFile>) -> Result<Segment, Unusable> {
        let rows = self.rows(file, &Wanted::all())?;
        Ok(Segment { range: self.range.clone(), rows, bad_lines: self.bad_lines })
    }

    fn unusable(&self) -> Unusable {
        let position = match self.place {
            Place::File(position) => position,
            Place::Memory(_) => u64::MAX,
        };
        Unusable { position }
    }
}
