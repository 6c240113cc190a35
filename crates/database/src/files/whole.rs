//! Whole files: creating, replacing, renaming, removing and reading them.

use std::{
    collections::HashMap,
    io::ErrorKind::{AlreadyExists, NotFound},
    ops::Range,
    path::Path,
    sync::Arc,
};

use storage::{Contents, FileResult, Payload};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{AT_ONCE, Files, PART, place::Place, refused, sql};
use crate::{database::Intent, parameters::Parameters};

/// How often a statement runs again that met another process at the same name.
pub const ATTEMPTS: usize = 5;
/// The directory of files that are still being written, which no path leads to.
const UNFINISHED: &str = "unfinished";
/// Age in µs from which an unfinished file is removed.
const ABANDONED: i64 = 24 * 3600 * 1_000_000;

/// The number of bytes as the database counts them.
pub fn number(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The starts and the bytes of the parts of contents that begin at `start`.
pub fn parts(start: usize, contents: &[u8]) -> (Vec<Option<i64>>, Vec<Vec<u8>>) {
    let starts = (0..contents.len()).step_by(PART).map(|at| Some(number(start + at))).collect();
    (starts, contents.chunks(PART).map(<[u8]>::to_vec).collect())
}

/// What happens to a file that has the name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    Replace,
}

impl Files {
    /// Writes a file that readers see whole or not at all.
    pub async fn write(&self, path: &Path, contents: &[u8], existing: Existing) -> FileResult<()> {
        let (place, id) = (Place::of(path)?, Uuid::new_v4());
        if contents.len() > AT_ONCE {
            return self.write_long(path, &place, id, contents, existing).await;
        }
        let at = ("write", path);
        let (starts, bytes) = parts(0, contents);
        let parameters = Parameters::new()
            .id(id)
            .text(place.directory.clone())
            .text(place.name.clone())
            .number(number(contents.len()))
            .numbers(starts)
            .byte_strings(bytes);
        if existing == Existing::Replace {
            let gone = self.statement(Intent::Write, at, sql::REPLACE, parameters).await?;
            self.note_removed(&gone);
            return Ok(());
        }
        self.create(path, &place, id, parameters.into()).await
    }

    /// Creates an empty file, and returns its id.
    pub async fn create_empty(&self, path: &Path) -> FileResult<Uuid> {
        let (place, id) = (Place::of(path)?, Uuid::new_v4());
        let parameters = Parameters::new()
            .id(id)
            .text(place.directory.clone())
            .text(place.name.clone())
            .number(0)
            .numbers(Vec::new())
            .byte_strings(Vec::new());
        self.create(path, &place, id, parameters.into()).await?;
        Ok(id)
    }

    async fn create(
        &self,
        path: &Path,
        place: &Place,
        id: Uuid,
        parameters: Arc<Parameters>,
    ) -> FileResult<()> {
        let at = ("open", path);
        for _ in 0..ATTEMPTS {
            let rows =
                self.statement(Intent::Write, at, sql::CREATE, Arc::clone(&parameters)).await?;
            if rows.first().is_some_and(|row| row.get(0)) {
                return Ok(());
            }
            match self.find(at, place).await? {
                // An earlier attempt, whose answer was lost, created it.
                Some(found) if found == id => return Ok(()),
                Some(_) => return Err(refused("open", path, AlreadyExists)),
                None => {}
            }
        }
        Err(refused("open", path, AlreadyExists))
    }

    /// Writes contents in several statements, and then gives them their name.
    async fn write_long(
        &self,
        path: &Path,
        place: &Place,
        id: Uuid,
        contents: &[u8],
        existing: Existing,
    ) -> FileResult<()> {
        let at = ("write", path);
        let unfinished = Parameters::new()
            .id(id)
            .text(UNFINISHED)
            .text(id.to_string())
            .number(number(contents.len()))
            .numbers(Vec::new())
            .byte_strings(Vec::new());
        self.statement(Intent::Write, at, sql::CREATE, unfinished).await?;
        for (piece, start) in contents.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)) {
            let (starts, bytes) = parts(start, piece);
            let parameters = Parameters::new().id(id).numbers(starts).byte_strings(bytes);
            self.statement(Intent::Write, at, sql::ADD_PARTS, parameters).await?;
        }
        let named = match existing {
            Existing::Refuse => self.give_new_name(path, place, id).await,
            Existing::Replace => self.give_name(path, place, id).await,
        };
        if named.is_err() {
            let own = Parameters::new().text(UNFINISHED).text(id.to_string());
            // If this fails, the file is removed when it is abandoned. The first error is the one to report.
            let _ = self.statement(Intent::Write, at, sql::REMOVE, own).await;
        }
        let abandoned = Parameters::new().text(UNFINISHED).number(ABANDONED);
        // The next long file tries again.
        let _ = self.statement(Intent::Write, at, sql::REMOVE_UNFINISHED, abandoned).await;
        named
    }

    async fn find(&self, at: (&'static str, &Path), place: &Place) -> FileResult<Option<Uuid>> {
        let parameters = Parameters::new().text(place.directory.clone()).text(place.name.clone());
        let rows = self.statement(Intent::Read, at, sql::FIND, parameters).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// The id of a file that is renamed.
    async fn renamed(&self, from: &Path) -> FileResult<Uuid> {
        let found = self.find(("rename", from), &Place::of(from)?).await?;
        found.ok_or_else(|| refused("rename", from, NotFound))
    }

    pub async fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()> {
        let (place, id) = (Place::of(to)?, self.renamed(from).await?);
        self.give_new_name(to, &place, id).await
    }

    pub async fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()> {
        let (place, id) = (Place::of(to)?, self.renamed(from).await?);
        self.give_name(to, &place, id).await
    }

    async fn give_new_name(&self, to: &Path, place: &Place, id: Uuid) -> FileResult<()> {
        let parameters =
            Parameters::new().id(id).text(place.directory.clone()).text(place.name.clone());
        let at = ("rename", to);
        let rows = self.statement(Intent::Write, at, sql::RENAME_NEW, parameters).await?;
        if rows.is_empty() {
            let is_taken = self.find(at, place).await?.is_some();
            return Err(refused("rename", to, if is_taken { AlreadyExists } else { NotFound }));
        }
        self.locks.note_renamed(id, place);
        Ok(())
    }

    async fn give_name(&self, to: &Path, place: &Place, id: Uuid) -> FileResult<()> {
        let parameters =
            Parameters::new().id(id).text(place.directory.clone()).text(place.name.clone());
        let rows =
            self.statement(Intent::Write, ("rename", to), sql::RENAME_OVER, parameters).await?;
        let Some(row) = rows.first().filter(|row| row.get(0)) else {
            return Err(refused("rename", to, NotFound));
        };
        let gone = row.get::<_, Option<&str>>(1).and_then(|id| id.parse().ok());
        if let Some(gone) = gone {
            self.locks.note_removed(gone);
        }
        self.locks.note_renamed(id, place);
        Ok(())
    }

    pub async fn remove(&self, path: &Path) -> FileResult<bool> {
        let place = Place::of(path)?;
        let parameters = Parameters::new().text(place.directory).text(place.name);
        let gone = self.statement(Intent::Write, ("unlink", path), sql::REMOVE, parameters).await?;
        self.note_removed(&gone);
        Ok(!gone.is_empty())
    }

    fn note_removed(&self, rows: &[Row]) {
        for row in rows {
            self.locks.note_removed(row.get(0));
        }
    }

    /// Appends to the file at `path`, which is created if it is missing.
    pub async fn append_at(&self, path: &Path, contents: &Payload) -> FileResult<()> {
        for _ in 0..ATTEMPTS {
            let id = self.open_for_appending(path).await?;
            match self.append(path, id, None, contents).await {
                // Another process removed it meanwhile.
                Err(error) if error.is_not_found() => {}
                other => return other,
            }
        }
        Err(refused("write", path, NotFound))
    }

    pub async fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents> {
        let (place, path) = (Place::below(root, relative)?, root.join(relative));
        let names = vec![place.name.clone()];
        let mut found = self.read_names(("read", &path), place.directory, names, limit).await?;
        let Some((id, mut contents)) = found.remove(&place.name) else {
            return Err(refused("read", &path, NotFound));
        };
        let wanted = contents.length.min(limit);
        while (contents.bytes.len() as u64) < wanted {
            let at = contents.bytes.len() as u64;
            let end = wanted.min(at + 4 * AT_ONCE as u64);
            let before = contents.bytes.len();
            self.read_range(&path, id, at, end, |start, bytes| {
                // The parts follow one another.
                if start == contents.bytes.len() as u64 {
                    contents.bytes.extend_from_slice(bytes);
                }
            })
            .await?;
            if contents.bytes.len() == before {
                return Err(refused("read", &path, NotFound));
            }
        }
        Ok(contents)
    }

    /// The beginnings of files, up to `limit` bytes or 1 MiB of each, by their names. Files that do not exist are missing.
    pub async fn read_names(
        &self,
        at: (&'static str, &Path),
        directory: String,
        names: Vec<String>,
        limit: u64,
    ) -> FileResult<HashMap<String, (Uuid, Contents)>> {
        let limit = i64::try_from(limit.min(AT_ONCE as u64)).unwrap_or_default();
        let names = names.into_iter().map(Some).collect();
        let parameters = Parameters::new().text(directory).texts(names).number(limit);
        let rows = self.statement(Intent::Read, at, sql::READ, parameters).await?;
        let mut found: HashMap<String, (Uuid, Contents)> = HashMap::new();
        for row in rows {
            let length = u64::try_from(row.get::<_, i64>(2)).unwrap_or_default();
            let name: &str = row.get(0);
            if !found.contains_key(name) {
                let contents = Contents { bytes: Vec::new(), length };
                found.insert(name.to_owned(), (row.get(1), contents));
            }
            let (Some((_, contents)), Some(bytes)) =
                (found.get_mut(name), row.get::<_, Option<&[u8]>>(4))
            else {
                continue;
            };
            contents.bytes.extend_from_slice(bytes);
        }
        Ok(found)
    }

    /// A range of a file, as far as the file goes.
    pub async fn read_range_of(
        &self,
        root: &Path,
        relative: &Path,
        range: Range<u64>,
    ) -> FileResult<Vec<u8>> {
        let (place, path) = (Place::below(root, relative)?, root.join(relative));
        let bound = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let mut bytes = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + 4 * AT_ONCE as u64);
            let parameters = Parameters::new()
                .number(bound(at))
                .number(bound(end))
                .number(bound(at).saturating_sub(number(PART)))
                .text(place.directory.clone())
                .text(place.name.clone());
            let asked = ("read", path.as_path());
            let rows = self.statement(Intent::Read, asked, sql::READ_RANGE_OF, parameters).await?;
            if rows.is_empty() {
                return Err(refused("read", &path, NotFound));
            }
            for row in rows {
                bytes.extend_from_slice(row.get::<_, Option<&[u8]>>(1).unwrap_or_default());
            }
            let next = range.start + bytes.len() as u64;
            if next < end {
                break;
            }
            at = next;
        }
        Ok(bytes)
    }

    /// Calls `take` with the offsets and the bytes in a range of a file.
    pub async fn read_range(
        &self,
        path: &Path,
        id: Uuid,
        start: u64,
        end: u64,
        mut take: impl FnMut(u64, &[u8]),
    ) -> FileResult<()> {
        let bound = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let parameters = Parameters::new()
            .id(id)
            .number(bound(start))
            .number(bound(end))
            .number(bound(start).saturating_sub(number(PART)));
        let rows =
            self.statement(Intent::Read, ("read", path), sql::READ_RANGE, parameters).await?;
        if rows.is_empty() {
            return Err(refused("read", path, NotFound));
        }
        for row in rows {
            if let Some(bytes) = row.get::<_, Option<&[u8]>>(1) {
                let start = row.get::<_, Option<i64>>(0).unwrap_or_default();
                take(u64::try_from(start).unwrap_or_default(), bytes);
            }
        }
        Ok(())
    }
}
