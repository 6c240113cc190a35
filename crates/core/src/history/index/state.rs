//! Verification of the index on disk against the log, for `verify`.

use storage::{FileError, LogReader, LogSnapshot};

use super::{
    super::{Cancelled, History, IndexState},
    block::Block,
    file::{Condition, IndexFile},
    segment::{LogId, Segment},
};

/// Compares the index on disk with the log.
///
/// # Errors
/// If the log cannot be read.
pub(in super::super) fn state(
    history: &History,
    reader: &LogReader,
    cancelled: &Cancelled,
) -> Result<IndexState, FileError> {
    let file = match IndexFile::open(history) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(IndexState::Missing),
        Err(_) => return Ok(IndexState::Damaged),
    };
    let log = LogId { identity: reader.identity(), max_line: history.max_line() };
    let (blocks, condition) = file.blocks(log);
    match condition {
        Condition::Other => return Ok(IndexState::Stale),
        Condition::Damaged => return Ok(IndexState::Damaged),
        Condition::Whole if blocks.is_empty() => return Ok(IndexState::Missing),
        Condition::Whole => {}
    }
    if let Some(Block { range, tail, .. }) = blocks.last() {
        let LogId { identity, .. } = log;
        let snapshot = LogSnapshot { identity, length: range.end, tail: tail.clone() };
        if !snapshot.is_of(reader, identity)? {
            return Ok(IndexState::Stale);
        }
    }
    for block in &blocks {
        if !is_right(block, &file, history, reader, cancelled)? {
            return Ok(IndexState::Damaged);
        }
    }
    Ok(IndexState::Valid)
}

/// Whether indexing the same part of the log gives the same segment.
fn is_right(
    block: &Block,
    file: &IndexFile,
    history: &History,
    reader: &LogReader,
    cancelled: &Cancelled,
) -> Result<bool, FileError> {
    let max_line = history.options.max_entry_bytes;
    let mut fresh = Segment::new(block.range.start);
    // One row too many is enough to know that they differ.
    let max_rows = block.rows.saturating_add(1);
    fresh.extend(reader, block.range.end, max_line, max_rows, cancelled)?;
    let tail = LogSnapshot::of(reader, block.log.identity, fresh.range.end)?.tail;
    let expected = fresh.encode(block.log, &tail);
    Ok(expected.is_some_and(|bytes| block.bytes(Some(file)) == Ok(bytes)))
}
