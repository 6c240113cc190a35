//! The files and directories of a directory.

use std::{
    hash::{Hash, Hasher},
    path::Path,
    sync::atomic::Ordering,
    time::{SystemTime, UNIX_EPOCH},
};

use storage::{Children, Contents, FileEntry, FileResult, ListedFile};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    Files, PART,
    place::{Place, directory_of},
    sql,
};
use crate::{database::Intent, parameters::Parameters};

/// The parameters that select what is below a directory: the first and the last path, and where the names begin.
fn below(directory: &str) -> Parameters {
    // `0` is the character after `/`.
    let (first, last) = (format!("{directory}/"), format!("{directory}0"));
    let start = i64::try_from(first.chars().count() + 1).unwrap_or(i64::MAX);
    Parameters::new().text(first).text(last).number(start)
}

/// The text after all that begin with `prefix`, in the order of their bytes.
fn after(prefix: &str) -> String {
    // No character is greater, and names have none of these.
    format!("{prefix}\u{10ffff}")
}

fn milliseconds(microseconds: i64) -> i64 {
    microseconds / 1000
}

impl Files {
    /// A file as a row of [`sql::LIST`] describes it. `None` for a directory.
    pub fn entry_of(&self, row: &Row) -> Option<FileEntry> {
        self.entry_at(row, 0)
    }

    /// As [`Files::entry_of`], with name, id, length, time and version from this column on.
    pub fn entry_at(&self, row: &Row, first: usize) -> Option<FileEntry> {
        let length: Option<i64> = row.get(first + 2);
        let length = u64::try_from(length?).unwrap_or_default();
        let mut hasher = std::hash::DefaultHasher::new();
        (row.get::<_, Uuid>(first + 1), row.get::<_, i64>(first + 4)).hash(&mut hasher);
        let offset = self.clock_offset.load(Ordering::Relaxed);
        let modified = milliseconds(row.get(first + 3)).saturating_sub(offset);
        Some(FileEntry {
            name: row.get(first),
            length: Some(length),
            modified: Some(modified),
            // Every write changes the version, however short a time after the one before.
            written: Some(i64::MIN),
            version: Some(hasher.finish()),
            ownership: None,
        })
    }

    /// Compares the server's clock with this machine's. Times of files are given in this machine's clock, with which callers
    /// compare them.
    pub fn note_clock(&self, row: Option<&Row>) {
        /// A difference in ms that does not matter.
        const NEAR: i64 = 5000;
        let Some(server) = row.map(|row| milliseconds(row.get(5))) else { return };
        let own = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let offset = server.saturating_sub(i64::try_from(own).unwrap_or_default());
        let known = self.clock_offset.load(Ordering::Relaxed);
        // The offset stays the same while it is about right, so that the times of a file do.
        if (offset - known).abs() > NEAR {
            let offset = if offset.abs() > NEAR { offset } else { 0 };
            self.clock_offset.store(offset, Ordering::Relaxed);
        }
    }

    pub async fn list(&self, path: &Path) -> FileResult<Vec<FileEntry>> {
        let parameters = Parameters::new().text(directory_of(path)?);
        let at = ("readdir", path);
        let rows = self.statement(Intent::Read, at, sql::LIST, parameters).await?;
        self.note_clock(rows.first());
        Ok(rows.iter().filter_map(|row| self.entry_of(row)).collect())
    }

    /// The files whose names begin with one of the prefixes, with at most `limit` bytes of each, as far as they fit into `most`
    /// bytes.
    pub async fn list_beginnings(
        &self,
        path: &Path,
        prefixes: &[String],
        (limit, most): (u64, u64),
    ) -> FileResult<Vec<ListedFile>> {
        let number = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let limit = limit.min(PART as u64);
        let parameters = Parameters::new()
            .text(directory_of(path)?)
            .texts(prefixes.iter().cloned().map(Some).collect())
            .texts(prefixes.iter().map(|prefix| Some(after(prefix))).collect())
            .number(number(limit))
            .number(number(most));
        let at = ("readdir", path);
        let rows = self.statement(Intent::Read, at, sql::LIST_BEGINNINGS, parameters).await?;
        self.note_clock(rows.first());
        let listed = rows.iter().filter_map(|row| {
            let entry = self.entry_of(row)?;
            let length = entry.length?;
            let bytes: Option<&[u8]> = row.get(6);
            // The first part of a file to which something was appended may be shorter.
            let bytes = bytes.filter(|bytes| bytes.len() as u64 == length.min(limit));
            let contents = bytes.map(|bytes| Contents { bytes: bytes.to_vec(), length });
            Some((entry, contents))
        });
        Ok(listed.collect())
    }

    pub async fn names(&self, path: &Path) -> FileResult<Vec<String>> {
        let parameters = Parameters::new().text(directory_of(path)?);
        let at = ("readdir", path);
        let rows = self.statement(Intent::Read, at, sql::NAMES, parameters).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub async fn directories(&self, path: &Path) -> FileResult<Vec<String>> {
        let at = ("readdir", path);
        let parameters = below(&directory_of(path)?);
        let rows = self.statement(Intent::Read, at, sql::DIRECTORIES, parameters).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub async fn children(&self, path: &Path) -> FileResult<Children> {
        let directory = directory_of(path)?;
        let parameters = below(&directory).text(directory);
        let at = ("readdir", path);
        let rows = self.statement(Intent::Read, at, sql::CHILDREN, parameters).await?;
        self.note_clock(rows.first());
        let mut children = Children::default();
        for row in rows {
            match self.entry_of(&row) {
                Some(entry) => children.files.push(entry),
                None => children.directories.push(row.get(0)),
            }
        }
        Ok(children)
    }

    pub async fn entry(&self, directory: &Path, name: &str) -> FileResult<Option<FileEntry>> {
        let path = directory.join(name);
        let place = Place::of(&path)?;
        let parameters = Parameters::new().text(place.directory).text(place.name);
        let at = ("stat", path.as_path());
        let rows = self.statement(Intent::Read, at, sql::ENTRY, parameters).await?;
        self.note_clock(rows.first());
        Ok(rows.first().and_then(|row| self.entry_of(row)))
    }

    pub async fn has_directory(&self, path: &Path) -> FileResult<bool> {
        let directory = directory_of(path)?;
        let parameters = below(&directory).text(directory);
        let at = ("stat", path);
        let rows = self.statement(Intent::Read, at, sql::HAS_DIRECTORY, parameters).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }
}
