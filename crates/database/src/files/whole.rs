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

/// A number of the database, or 0 for null.
fn unsigned(number: Option<i64>) -> u64 {
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default()
}

/// The contents of a new file.
#[derive(Default)]
pub struct NewContents<'a> {
    pub length: usize,
    /// All of them, or the beginning of those in an object.
    pub first: &'a [u8],
    /// The object that has all of them.
    pub blob: Option<Uuid>,
}

/// The parameters of [`sql::CREATE`].
fn new_file(id: Uuid, place: &Place, contents: &NewContents<'_>) -> Parameters {
    let (starts, bytes) = parts(0, contents.first);
    Parameters::new()
        .id(id)
        .text(place.directory.clone())
        .text(place.name.clone())
        .number(number(contents.length))
        .numbers(starts)
        .byte_strings(bytes)
        .optional_id(contents.blob)
}

/// The object with the first bytes of a file.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    pub id: Uuid,
    /// How many of its bytes are the file's.
    pub length: u64,
}

impl Object {
    /// The object in two columns of a row.
    fn of(row: &Row, column: usize) -> Option<Self> {
        let id: Option<Uuid> = row.get(column);
        Some(Self { id: id?, length: unsigned(row.get(column + 1)) })
    }
}

/// What the database has of the beginning of a file.
struct Beginning {
    id: Uuid,
    contents: Contents,
    object: Option<Object>,
}

/// A part of a file.
pub struct FileRange {
    pub bytes: Vec<u8>,
    /// Where the object of the file ends: what is before is never changed. 0 without an object.
    pub end_of_object: u64,
}

/// What happens to a file that has the name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    Replace,
}

impl Files {
    /// Writes a file that readers see whole or not at all.
    pub async fn write(
        self: &Arc<Self>,
        path: &Path,
        contents: &Payload,
        existing: Existing,
    ) -> FileResult<()> {
        if contents.len() > PART && self.blobs.is_some() {
            return self.write_object(path, contents, existing).await;
        }
        if contents.len() > AT_ONCE {
            return self.write_long(path, contents, existing).await;
        }
        let contents = NewContents { length: contents.len(), first: contents, blob: None };
        self.write_named(path, &contents, existing).await
    }

    /// Creates or replaces a file in one statement.
    pub async fn write_named(
        self: &Arc<Self>,
        path: &Path,
        contents: &NewContents<'_>,
        existing: Existing,
    ) -> FileResult<()> {
        let (place, id) = (Place::of(path)?, Uuid::new_v4());
        let parameters = new_file(id, &place, contents);
        if existing == Existing::Replace {
            let at = ("write", path);
            let gone = self.statement(Intent::Write, at, sql::REPLACE, parameters).await?;
            self.note_removed(&gone);
            return Ok(());
        }
        self.create(path, &place, id, parameters.into()).await
    }

    /// Creates an empty file, and returns its id.
    pub async fn create_empty(&self, path: &Path) -> FileResult<Uuid> {
        let (place, id) = (Place::of(path)?, Uuid::new_v4());
        let parameters = new_file(id, &place, &NewContents::default());
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
        self: &Arc<Self>,
        path: &Path,
        contents: &[u8],
        existing: Existing,
    ) -> FileResult<()> {
        let (place, id) = (Place::of(path)?, Uuid::new_v4());
        let at = ("write", path);
        let nowhere = Place { directory: UNFINISHED.to_owned(), name: id.to_string() };
        let without_bytes = NewContents { length: contents.len(), ..NewContents::default() };
        let unfinished = new_file(id, &nowhere, &without_bytes);
        self.statement(Intent::Write, at, sql::CREATE, unfinished).await?;
        for (piece, start) in contents.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)) {
            let (starts, bytes) = parts(start, piece);
            let parameters = Parameters::new().id(id).numbers(starts).byte_strings(bytes);
            self.statement(Intent::Write, at, sql::ADD_PARTS, parameters).await?;
        }
        let named = match existing {
            Existing::Refuse => self.give_new_name(path, &place, id).await,
            Existing::Replace => self.give_name(path, &place, id).await,
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

    pub async fn rename_over(self: &Arc<Self>, from: &Path, to: &Path) -> FileResult<()> {
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

    async fn give_name(self: &Arc<Self>, to: &Path, place: &Place, id: Uuid) -> FileResult<()> {
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
        if row.get(2) {
            self.collect();
        }
        self.locks.note_renamed(id, place);
        Ok(())
    }

    pub async fn remove(self: &Arc<Self>, path: &Path) -> FileResult<bool> {
        let place = Place::of(path)?;
        let parameters = Parameters::new().text(place.directory).text(place.name);
        let gone = self.statement(Intent::Write, ("unlink", path), sql::REMOVE, parameters).await?;
        self.note_removed(&gone);
        Ok(!gone.is_empty())
    }

    fn note_removed(self: &Arc<Self>, rows: &[Row]) {
        for row in rows {
            self.locks.note_removed(row.get(0));
        }
        if rows.iter().any(|row| row.get::<_, Option<Uuid>>(1).is_some()) {
            self.collect();
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
        let mut found =
            self.find_beginnings(("read", &path), place.directory, names, limit).await?;
        let Some(Beginning { id, mut contents, object }) = found.remove(&place.name) else {
            return Err(refused("read", &path, NotFound));
        };
        let wanted = contents.length.min(limit);
        while (contents.bytes.len() as u64) < wanted {
            let at = contents.bytes.len() as u64;
            let end = wanted.min(at + 4 * AT_ONCE as u64);
            let bytes = match object.filter(|object| at < object.length) {
                Some(object) => self.read_object(&path, object, at..end).await?.into(),
                None => self.read_range(&path, id, at..end).await?.bytes,
            };
            if bytes.is_empty() {
                return Err(refused("read", &path, NotFound));
            }
            contents.bytes.extend_from_slice(&bytes);
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
    ) -> FileResult<HashMap<String, Contents>> {
        let (_, path) = at;
        let beginnings = self.find_beginnings(at, directory, names, limit).await?;
        let mut found = HashMap::new();
        for (name, Beginning { mut contents, object, .. }) in beginnings {
            // The beginnings that lists ask for are in the database.
            let (start, wanted) = (contents.bytes.len() as u64, limit.min(AT_ONCE as u64));
            if let Some(object) = object.filter(|object| start < wanted.min(object.length)) {
                let file = path.join(&name);
                let rest = self.read_object(&file, object, start..wanted).await?;
                contents.bytes.extend_from_slice(&rest);
            }
            found.insert(name, contents);
        }
        Ok(found)
    }

    /// What the database has of the beginnings of files.
    async fn find_beginnings(
        &self,
        at: (&'static str, &Path),
        directory: String,
        names: Vec<String>,
        limit: u64,
    ) -> FileResult<HashMap<String, Beginning>> {
        let limit = i64::try_from(limit.min(AT_ONCE as u64)).unwrap_or_default();
        let names = names.into_iter().map(Some).collect();
        let parameters = Parameters::new().text(directory).texts(names).number(limit);
        let rows = self.statement(Intent::Read, at, sql::READ, parameters).await?;
        let mut found: HashMap<String, Beginning> = HashMap::new();
        for row in rows {
            let name: &str = row.get(0);
            if !found.contains_key(name) {
                let contents = Contents { bytes: Vec::new(), length: unsigned(row.get(2)) };
                let object = Object::of(&row, 5);
                let beginning = Beginning { id: row.get(1), contents, object };
                found.insert(name.to_owned(), beginning);
            }
            let (Some(Beginning { contents, .. }), Some(bytes)) =
                (found.get_mut(name), row.get::<_, Option<&[u8]>>(4))
            else {
                continue;
            };
            // Parts behind an object do not follow the beginning.
            if unsigned(row.get(3)) == contents.bytes.len() as u64 {
                contents.bytes.extend_from_slice(bytes);
            }
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
            let found = self.assemble(&path, &rows, at..end).await?;
            bytes.extend_from_slice(&found.bytes);
            let next = range.start + bytes.len() as u64;
            if next < end {
                break;
            }
            at = next;
        }
        Ok(bytes)
    }

    /// A range of an open file, as far as the file goes.
    pub async fn read_range(
        &self,
        path: &Path,
        id: Uuid,
        range: Range<u64>,
    ) -> FileResult<FileRange> {
        let bound = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let parameters = Parameters::new()
            .id(id)
            .number(bound(range.start))
            .number(bound(range.end))
            .number(bound(range.start).saturating_sub(number(PART)));
        let rows =
            self.statement(Intent::Read, ("read", path), sql::READ_RANGE, parameters).await?;
        if rows.is_empty() {
            return Err(refused("read", path, NotFound));
        }
        self.assemble(path, &rows, range).await
    }

    /// A range of a file of the rows of [`sql::READ_RANGE`] and the file's object.
    async fn assemble(
        &self,
        path: &Path,
        rows: &[Row],
        range: Range<u64>,
    ) -> FileResult<FileRange> {
        let object = rows.first().and_then(|row| Object::of(row, 2));
        let (mut bytes, mut at) = (Vec::new(), range.start);
        let parts = rows
            .iter()
            .filter_map(|row| Some((unsigned(row.get(0)), row.get::<_, Option<&[u8]>>(1)?)));
        // The end, at which no part begins, comes last.
        for (start, part) in parts.chain([(range.end, [].as_slice())]) {
            let in_object = object.map_or(0, |object| object.length.min(start));
            if let Some(object) = object.filter(|_| at < in_object) {
                bytes.extend_from_slice(&self.read_object(path, object, at..in_object).await?);
                at = in_object;
            }
            if start == at {
                bytes.extend_from_slice(part);
                at += part.len() as u64;
            }
        }
        Ok(FileRange { bytes, end_of_object: object.map_or(0, |object| object.length) })
    }
}
