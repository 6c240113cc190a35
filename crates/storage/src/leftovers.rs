//! Removes leftovers: temporary files that were not changed for an hour, because the processes that wrote them have
//! presumably ended.

use std::path::Path;

use chrono::Utc;

use crate::file_system::{Disk, FileResult};

/// Age in ms from which a temporary file counts as abandoned; writing takes less time.
const ABANDONED: i64 = 60 * 60 * 1000;

/// Removes the regular files of a directory whose names `is_temporary` recognises and that were not changed for an
/// hour. Blocks its thread.
///
/// # Errors
/// The first error of a removal; the other files are removed all the same.
pub fn remove_leftovers(
    disk: &dyn Disk,
    directory: &Path,
    is_temporary: impl Fn(&str) -> bool,
) -> FileResult<()> {
    let now = Utc::now().timestamp_millis();
    let mut outcome = Ok(());
    // Names first, because most directories have many files and no leftovers.
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
