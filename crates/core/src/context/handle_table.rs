//! The table of handles of one directory: which file each handle means, for every process that opens the directory.
//!
//! An append-only file of rows of one size, `ctx_<16 hex> <mark> <file name>`, filled up with spaces and ended by a line
//! feed. Rows are added before a save is acknowledged, all that wait in one write. The table is a cache: what it says is
//! compared with the record before it is believed, a directory whose files it does not name is read, and a damaged
//! table is removed and made from the records again. It is therefore never synchronised.

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
/// Where in a row the mark is.
const MARK: usize = 21;
/// Where in a row the file name begins.
const NAME: usize = 23;
/// Rows read at once.
const ROWS_AT_ONCE: usize = 4096;
/// Looks at a table whose last row is cut short, and the pause between them.
const LOOKS: usize = 20;
const LOOK_PAUSE: Duration = Duration::from_micros(500);
/// A table with fewer rows is not made smaller.
const MIN_ROWS: usize = 1024;

/// What a row says of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It was saved.
    Saved,
    /// A bound of a live session removed it.
    DeletedByCap,
    /// The retention removed it.
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

    /// Why the context is not there any more.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Saved => None,
            Self::DeletedByCap => Some("deleted by cap (retention.maxLiveBytes or maxLiveFiles)"),
            Self::DeletedByRetention => Some("deleted by retention"),
        }
    }
}

/// Writes a row; `None` for a name that is too long, which is not ours.
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

/// Reads a row; `None` when it is none.
fn parse(row: &[u8]) -> Option<(u64, Mark, &str)> {
    let (handle, mark) = parse_head(row)?;
    let filename = str::from_utf8(row.get(NAME..row.len() - 1)?).ok()?.trim_end_matches(' ');
    layout::parse_context(filename)?;
    Some((handle, mark, filename))
}

/// Reads a row up to its file name, which takes longest: it is read when it is asked for.
fn parse_head(row: &[u8]) -> Option<(u64, Mark)> {
    let handle = handle::parse(str::from_utf8(row.get(..MARK - 1)?).ok()?)?;
    let mark = Mark::of(*row.get(MARK)?)?;
    let is_whole = row.get(MARK - 1) == Some(&b' ') && row.get(MARK + 1) == Some(&b' ');
    (is_whole && row.last() == Some(&b'\n')).then_some((handle, mark))
}

/// What this process knows of the table.
#[derive(Default)]
struct Known {
    file: Option<Box<dyn OpenFile>>,
    /// Rows that were read.
    rows: u32,
    /// The latest row of each handle.
    latest: FxHashMap<u64, u32>,
    /// The row before each row that has the same handle; itself where there is none.
    previous: Vec<u32>,
    /// The random parts of the names that the first `rows_named` rows say were saved.
    named: FxHashSet<u64>,
    rows_named: u32,
    /// The directory's files were compared with the rows.
    is_compared: bool,
}

/// A context that a handle may mean.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub filename: String,
    pub mark: Mark,
}

/// The table of one directory, as this process uses it.
pub(super) struct HandleTable {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Rows that wait for the next write.
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

    /// Adds a row. Those that other threads add meanwhile go in the same write.
    ///
    /// # Errors
    /// The disk's; the row is not there then, and its file is found by its record.
    pub fn add(&self, handle: u64, mark: Mark, filename: &str) -> FileResult<()> {
        let Some(row) = row(handle, mark, filename) else { return Ok(()) };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&row);
        self.write_waiting()
    }

    fn write_waiting(&self) -> FileResult<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread that had the lock before may have written this thread's row.
        let rows =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if rows.is_empty() {
            return Ok(());
        }
        let file = match writer.take().filter(|file| file.is_linked()) {
            Some(file) => file,
            None => self.disk.open(&self.path, Access::Append)?,
        };
        file.append(&rows)?;
        *writer = Some(file);
        Ok(())
    }

    /// What the handle may mean, the latest first, and whether the directory's files were compared with the table.
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

    /// The names of contexts in the directory that no row has.
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

    /// Notes that every context of the directory has its row.
    pub fn note_compared(&self) {
        self.known().is_compared = true;
    }

    /// Locks the table for this process's sweep; `None` while another process sweeps. The lock ends with what is returned.
    ///
    /// # Errors
    /// The disk's.
    pub fn try_lock(&self) -> FileResult<Option<Box<dyn OpenFile>>> {
        let file = self.disk.open(&self.path, Access::Append)?;
        Ok((file.try_lock()? != LockAttempt::Held).then_some(file))
    }

    /// Makes the table smaller when most of its rows name files that are gone.
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
        // It is made again from the records when a handle is asked for.
        *known = Known::default();
        self.disk.remove(&self.path).map(drop)
    }

    /// Closes the table's files until it is used again: an open file keeps its volume mounted.
    pub fn close(&self) {
        drop(self.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.known().file = None;
    }

    /// Removes the table when none of its files is there any more.
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

    /// Reads the rows that were added since the last time.
    fn refresh(&self, known: &mut Known) -> FileResult<()> {
        if !known.file.as_ref().is_some_and(|file| file.is_linked()) {
            *known = Known::default();
            known.file = match self.disk.open(&self.path, Access::Read) {
                Ok(file) => Some(file),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(error),
            };
        }
        if !self.is_aligned(known)? || !Self::read_new_rows(known)? {
            self.drop_damaged(known)?;
        }
        Ok(())
    }

    /// As [`HandleTable::refresh`], and reads the names.
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

    /// A damaged table is made again from the records.
    fn drop_damaged(&self, known: &mut Known) -> FileResult<()> {
        *known = Known::default();
        self.disk.remove(&self.path).map(drop)
    }

    /// Whether the table ends with a whole row. One that another process is just adding is waited for.
    fn is_aligned(&self, known: &Known) -> FileResult<bool> {
        let Some(file) = &known.file else { return Ok(true) };
        for look in 0..LOOKS {
            if file.length()? % ROW as u64 == 0 {
                return Ok(true);
            }
            if look + 1 < LOOKS {
                std::thread::sleep(LOOK_PAUSE);
            }
        }
        Ok(false)
    }

    /// `false`: the table is damaged.
    fn read_new_rows(known: &mut Known) -> FileResult<bool> {
        let Known { file: Some(file), rows, latest, previous, .. } = known else { return Ok(true) };
        let count = u32::try_from(file.length()? / ROW as u64).unwrap_or(u32::MAX);
        // It never gets shorter.
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

/// Calls `visit` with each of the rows until it returns `false`; returns the number of the first row that was not read.
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
