//! The table of handles of a directory: a file, shared by all processes, that maps each handle to the files of the
//! contexts with that handle.
//!
//! Rows have a fixed size and are only appended: `ctx_<16 hex> <mark> <file name>`, padded with spaces and ended by a
//! line feed. The mark is one character: the context was saved, or removed by a bound of its live session, or by the
//! retention policy. A row is added before a save is acknowledged; concurrent rows are added in one write.
//!
//! The table is a cache: a file found through it is verified against its record, files without a row are found by
//! reading the directory, and a table that is damaged or has mostly obsolete rows is deleted and rebuilt from the
//! records. The table is therefore never written with fsync.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustc_hash::{FxHashMap, FxHashSet};
use storage::{Access, Disk, FileResult, LockAttempt, OpenFile, layout};

use super::handle;

/// Bytes of a row: a handle, a mark, the longest file name, two spaces and a line feed, rounded up.
const ROW: usize = 224;
/// The offset of the mark in a row.
const MARK: usize = 21;
/// The offset of the file name in a row.
const NAME: usize = 23;
/// Rows read at once.
const ROWS_AT_ONCE: usize = 4096;
/// How often a table with an incomplete last row is examined, and the pause in between.
const LOOKS: usize = 20;
const LOOK_PAUSE: Duration = Duration::from_micros(500);
/// The smallest table that is compacted, in rows.
const MIN_ROWS: usize = 1024;

/// The state of a context in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It was saved.
    Saved,
    /// A bound of its live session removed it.
    DeletedByCap,
    /// The retention policy removed it.
    DeletedByRetention,
}

impl Mark {
    const fn byte(self) -> u8 {
        match self {
            Self::Saved => b'+',
            Self::DeletedByCap => b'c',
            Self::DeletedByRetention => b'r',
        }
    }

    const fn of(byte: u8) -> Option<Self> {
        match byte {
            b'+' => Some(Self::Saved),
            b'c' => Some(Self::DeletedByCap),
            b'r' => Some(Self::DeletedByRetention),
            _ => None,
        }
    }

    /// Why the context was removed; `None` if it was not.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Saved => None,
            Self::DeletedByCap => Some("deleted by cap (retention.maxLiveBytes or maxLiveFiles)"),
            Self::DeletedByRetention => Some("deleted by retention"),
        }
    }
}

/// Formats a row; `None` if the name is too long to be one of this package.
fn row(handle: u64, mark: Mark, filename: &str) -> Option<[u8; ROW]> {
    let mut row = [b' '; ROW];
    let text = handle::text(handle);
    row.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    *row.get_mut(MARK)? = mark.byte();
    row.get_mut(NAME..NAME + filename.len()).filter(|_| NAME + filename.len() < ROW)?;
    row.get_mut(NAME..NAME + filename.len())?.copy_from_slice(filename.as_bytes());
    *row.last_mut()? = b'\n';
    Some(row)
}

/// Parses a row; `None` if it is not valid.
fn parse(row: &[u8]) -> Option<(u64, Mark, &str)> {
    let (handle, mark) = parse_head(row)?;
    let filename = str::from_utf8(row.get(NAME..row.len() - 1)?).ok()?.trim_end_matches(' ');
    layout::parse_context(filename)?;
    Some((handle, mark, filename))
}

/// Parses a row without its file name, which takes longest and is parsed only when needed.
fn parse_head(row: &[u8]) -> Option<(u64, Mark)> {
    let handle = handle::parse(str::from_utf8(row.get(..MARK - 1)?).ok()?)?;
    let mark = Mark::of(*row.get(MARK)?)?;
    let is_whole = row.get(MARK - 1) == Some(&b' ') && row.get(MARK + 1) == Some(&b' ');
    (is_whole && row.last() == Some(&b'\n')).then_some((handle, mark))
}

/// The rows that this process has read.
#[derive(Default)]
struct Known {
    file: Option<Box<dyn OpenFile>>,
    /// The number of rows.
    rows: u32,
    /// The latest row of each handle.
    latest: FxHashMap<u64, u32>,
    /// For each row, the row before it with the same handle, or itself if there is none.
    previous: Vec<u32>,
    /// The random parts of the saved file names in the first `rows_named` rows.
    named: FxHashSet<u64>,
    rows_named: u32,
    /// Whether the directory's files were compared with the rows.
    is_compared: bool,
}

/// A context that a handle may refer to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub filename: String,
    pub mark: Mark,
}

/// The table of one directory in this process.
pub(super) struct HandleTable {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Rows for the next write.
    waiting: Mutex<Vec<u8>>,
    writer: Mutex<Option<Box<dyn OpenFile>>>,
    known: Mutex<Known>,
}

impl HandleTable {
    /// The table of a directory; touches no file.
    pub fn new(disk: &Arc<dyn Disk>, directory: &Path) -> Self {
        Self {
            disk: Arc::clone(disk),
            path: directory.join(layout::HANDLES),
            waiting: Mutex::default(),
            writer: Mutex::default(),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a row. Rows that other threads add at the same time go into the same write.
    ///
    /// # Errors
    /// The disk's. The row is missing then, and the context is found by its record.
    pub fn add(&self, handle: u64, mark: Mark, filename: &str) -> FileResult<()> {
        let Some(row) = row(handle, mark, filename) else { return Ok(()) };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&row);
        self.write_waiting()
    }

    fn write_waiting(&self) -> FileResult<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // The previous lock holder may have written this thread's row.
        let rows =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if rows.is_empty() {
            return Ok(());
        }
        if let Some(file) = writer.take().filter(|file| file.is_linked()) {
            match file.append(&rows) {
                // A disk that is far away reports only now that the file was removed.
                Err(error) if error.is_not_found() => {}
                appended => {
                    *writer = Some(file);
                    return appended;
                }
            }
        }
        let file = self.disk.open(&self.path, Access::Append)?;
        file.append(&rows)?;
        *writer = Some(file);
        Ok(())
    }

    /// The contexts that the handle may refer to, latest first, and whether the directory's files were compared with
    /// the table.
    ///
    /// # Errors
    /// The disk's.
    pub fn find(&self, handle: u64) -> FileResult<(Vec<Row>, bool)> {
        let mut known = self.known();
        self.refresh(&mut known)?;
        let mut found = Vec::new();
        let mut next = known.latest.get(&handle).copied();
        while let Some(number) = next {
            let mut buffer = [0; ROW];
            let file = known.file.as_ref();
            let Some(file) = file else { break };
            file.read_at(u64::from(number) * ROW as u64, &mut buffer)?;
            let Some((_, mark, filename)) = parse(&buffer) else {
                self.drop_damaged(&mut known)?;
                return Ok((Vec::new(), false));
            };
            found.push(Row { filename: filename.to_owned(), mark });
            let previous = known.previous.get(number as usize).copied();
            next = previous.filter(|&previous| previous < number);
        }
        Ok((found, known.is_compared))
    }

    /// The names of contexts in the directory without a row.
    ///
    /// # Errors
    /// The disk's.
    pub fn unnamed(&self) -> FileResult<Vec<String>> {
        let Some(directory) = self.path.parent() else { return Ok(Vec::new()) };
        let names = self.disk.names(directory)?;
        let mut known = self.known();
        self.refresh_names(&mut known)?;
        let mut unnamed = names;
        unnamed.retain(|name| {
            layout::parse_context(name).is_some_and(|stamp| !known.named.contains(&stamp.random))
        });
        Ok(unnamed)
    }

    /// Records that every context of the directory has a row.
    pub fn note_compared(&self) {
        self.known().is_compared = true;
    }

    /// Locks the table for a sweep by this process; `None` while another process sweeps, and if there is no table.
    /// Dropping the returned value unlocks it.
    ///
    /// # Errors
    /// The disk's.
    pub fn try_lock(&self) -> FileResult<Option<Box<dyn OpenFile>>> {
        // Some file systems lock only files that are open for writing, but opening it so would create it in a directory
        // that is being removed.
        match self.disk.open(&self.path, Access::Read) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        }
        let file = self.disk.open(&self.path, Access::Append)?;
        Ok((file.try_lock()? != LockAttempt::Held).then_some(file))
    }

    /// Deletes the table if most of its rows name removed files.
    ///
    /// # Errors
    /// The disk's.
    pub fn shrink(&self, contexts: usize) -> FileResult<()> {
        let mut known = self.known();
        self.refresh(&mut known)?;
        let rows = known.rows as usize;
        if rows < MIN_ROWS || rows < contexts.saturating_mul(4) {
            return Ok(());
        }
        // The table is rebuilt from the records when a handle is looked up.
        *known = Known::default();
        self.disk.remove(&self.path).map(drop)
    }

    /// Closes the table's files until the next use, because an open file keeps its volume from being unmounted.
    pub fn close(&self) {
        drop(self.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.known().file = None;
    }

    /// Removes the table if none of its files exists any more.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove_when_unneeded(&self) -> FileResult<()> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        let names = self.disk.names(directory)?;
        let mut known = self.known();
        self.refresh_names(&mut known)?;
        let is_needed = names.iter().any(|name| {
            layout::parse_context(name).is_some_and(|stamp| known.named.contains(&stamp.random))
        });
        if is_needed {
            return Ok(());
        }
        *known = Known::default();
        self.disk.remove(&self.path).map(drop)
    }

    /// Reads the rows that were added since the last refresh.
    fn refresh(&self, known: &mut Known) -> FileResult<()> {
        let length = match &known.file {
            Some(file) => file.length_if_linked()?,
            None => None,
        };
        let length = match length {
            Some(length) => length,
            None => {
                *known = Known::default();
                let file = match self.disk.open(&self.path, Access::Read) {
                    Ok(file) => file,
                    Err(error) if error.is_not_found() => return Ok(()),
                    Err(error) => return Err(error),
                };
                let length = file.length_if_linked()?;
                known.file = Some(file);
                length.unwrap_or_default()
            }
        };
        let is_whole = match Self::aligned(known, length)? {
            Some(length) => Self::read_new_rows(known, length)?,
            None => false,
        };
        if is_whole { Ok(()) } else { self.drop_damaged(known) }
    }

    /// As [`HandleTable::refresh`], and parses the names too.
    fn refresh_names(&self, known: &mut Known) -> FileResult<()> {
        self.refresh(known)?;
        let Known { file: Some(file), rows, named, rows_named, .. } = known else { return Ok(()) };
        let mut is_whole = true;
        *rows_named = read_rows(&**file, *rows_named..*rows, |_, row| {
            let parsed = parse(row);
            if let Some((_, Mark::Saved, filename)) = parsed
                && let Some(stamp) = layout::parse_context(filename)
            {
                named.insert(stamp.random);
            }
            is_whole &= parsed.is_some();
            is_whole
        })?;
        if !is_whole {
            self.drop_damaged(known)?;
        }
        Ok(())
    }

    /// Removes a damaged table; it is rebuilt from the records.
    fn drop_damaged(&self, known: &mut Known) -> FileResult<()> {
        *known = Known::default();
        self.disk.remove(&self.path).map(drop)
    }

    /// The length of the table if it ends with a whole row. Waits for a row that another process is adding.
    fn aligned(known: &Known, mut length: u64) -> FileResult<Option<u64>> {
        let Some(file) = &known.file else { return Ok(Some(length)) };
        for _ in 1..LOOKS {
            if length.is_multiple_of(ROW as u64) {
                return Ok(Some(length));
            }
            std::thread::sleep(LOOK_PAUSE);
            length = file.length()?;
        }
        Ok((length.is_multiple_of(ROW as u64)).then_some(length))
    }

    /// Reads the rows up to `length`. Returns `false` if the table is damaged.
    fn read_new_rows(known: &mut Known, length: u64) -> FileResult<bool> {
        let Known { file: Some(file), rows, latest, previous, .. } = known else { return Ok(true) };
        let count = u32::try_from(length / ROW as u64).unwrap_or(u32::MAX);
        // The file only grows, unless it was replaced.
        let Some(new) = count.checked_sub(*rows) else { return Ok(false) };
        latest.reserve(new as usize);
        *rows = read_rows(&**file, *rows..count, |number, row| {
            let Some((handle, _)) = parse_head(row) else { return false };
            let before = latest.insert(handle, number);
            previous.push(before.unwrap_or(number));
            true
        })?;
        Ok(*rows == count)
    }
}

/// Calls `visit` with each row until it returns `false`; returns the number of the first row that was not visited.
fn read_rows(
    file: &dyn OpenFile,
    rows: Range<u32>,
    mut visit: impl FnMut(u32, &[u8]) -> bool,
) -> FileResult<u32> {
    let mut buffer = vec![0; ROW * rows.len().min(ROWS_AT_ONCE)];
    let mut next = rows.start;
    while next < rows.end {
        let wanted = ((rows.end - next) as usize).min(ROWS_AT_ONCE) * ROW;
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        if file.read_at(u64::from(next) * ROW as u64, buffer)? < wanted {
            return Ok(next);
        }
        for row in buffer.chunks_exact(ROW) {
            if !visit(next, row) {
                return Ok(next);
            }
            next += 1;
        }
    }
    Ok(next)
}

#[cfg(test)]
mod tests;
