//! Loads a record: from memory if it is cached, otherwise from its file, which is validated.

use std::{ops::Range, sync::Arc};

use storage::Payload;

use super::{
    held::Held,
    record::{self, NoRecord},
    session::Session,
};
use crate::{
    blocking::run_long,
    error::{Error, Result},
    slices::remove_blocks,
};

/// A whole record.
///
/// # Errors
/// `NotFound`, `OutsideDirectory`, `Corrupt`, `TooLarge` or `Io`.
pub(super) async fn load(session: &Arc<Session>, path: &str) -> Result<Held> {
    let relative = session.locate(path).await?;
    if let Some(record) = cached(session, &relative).await {
        return Ok(record);
    }
    let loaded = match session.directory.read_whole(path, &relative).await {
        Ok(bytes) => {
            let (path, length) = (path.to_owned(), bytes.len());
            let hold = move || {
                let mut bytes = bytes;
                let result = check(&path, &bytes)?;
                remove_blocks(&mut bytes);
                Ok(Held::new(Payload::new(bytes), result.start))
            };
            run_long(length, hold).await
        }
        Err(error) => Err(error),
    };
    session.pointers.count_load(loaded.is_ok());
    session.pointers.touch(&relative);
    loaded
}

/// A record from this manager's memory; or from another manager's of this process, if it has no file.
pub(super) async fn cached(session: &Arc<Session>, relative: &str) -> Option<Held> {
    if let Some(record) = session.pointers.in_memory(relative) {
        return Some(record);
    }
    for neighbour in session.neighbours() {
        if let Some(record) = neighbour.pointers.in_memory_only(relative)
            && session.directory.is_same(&neighbour.directory).await
        {
            return Some(record);
        }
    }
    None
}

/// Checks that a file has a whole record; returns the range of its result.
pub(super) fn check(path: &str, bytes: &[u8]) -> Result<Range<usize>> {
    record::check(bytes).map_err(|reason| {
        let reason = match reason {
            NoRecord::Incomplete if bytes.is_empty() => "the file is empty",
            other => other.reason(),
        };
        Error::corrupt(path, reason)
    })
}
