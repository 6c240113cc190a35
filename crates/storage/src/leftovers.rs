//! Temporary files that processes left when they ended.

use std::path::Path;

use chrono::Utc;

use crate::file_system::{Disk, FileResult};

/// No temporary file is written for longer, in ms.
const ABANDONED: i64 = 60 * 60 * 1000;

/// Removes the regular files of a directory that `is_temporary` recognises by their names and that
/// nobody changed for an hour. Blocks its thread.
///
/// # Errors
/// The first that kept a file from being removed; the others are gone all the same.
pub fn remove_leftovers(
    disk: &dyn Disk,
    directory: &Path,
    is_temporary: impl Fn(&str) -> bool,
) -> FileResult<()> {
    let now = Utc::now().timestamp_millis();
    let mut outcome = Ok(());
    // Names first: most directories hold many files and no leftover.
    for name in disk.names(directory)?.iter().filter(|name| is_temporary(name)) {
        let removed = disk.entry(directory, name).and_then(|entry| {
            let modified = entry.and_then(|entry| entry.modified);
            match modified.is_some_and(|modified| now.saturating_sub(modified) > ABANDONED) {
                true => disk.remove(&directory.join(name)).map(drop),
                false => Ok(()),
            }
        });
        outcome = outcome.and(removed);
    }
    outcome
}
