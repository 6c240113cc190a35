//! [`FileTerms`]: an index of the terms of files, which a file system may have. A database has one.
//!
//! The index is a cache. A caller adds the terms of the files that have none before it asks for candidates; the file system removes
//! the terms of a file together with the file.

use std::{ops::RangeInclusive, path::Path};

use super::{FileEntry, FileFuture};

/// A file whose terms are unknown.
#[derive(Debug, Clone)]
pub struct FileWithoutTerms {
    /// The file.
    pub entry: FileEntry,
    /// Its id. A file that takes its name has another one.
    pub id: u128,
}

/// The part of a file's text that its terms are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// None: the file is of another kind, and is never a candidate.
    None,
    /// The beginning.
    Part,
    /// All.
    Whole,
}

/// The terms of a file.
#[derive(Debug, Clone)]
pub struct TermsOfFile {
    /// The file's id.
    pub id: u128,
    /// The part of its text that the terms are of.
    pub coverage: Coverage,
    /// The distinct terms.
    pub terms: Vec<String>,
    /// The lengths of the fields of its text.
    pub lengths: Vec<u16>,
}

/// A term that a query asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The term, or the beginning of terms.
    pub text: String,
    /// Whether all terms that begin with the text are asked for.
    pub is_prefix: bool,
    /// Its weight; 1 is the usual one.
    pub weight: f32,
    /// Terms with the same number stand for the same part of the query.
    pub part: u32,
    /// Whether a file that contains only such terms is no candidate.
    pub is_extra: bool,
}

/// A condition for the terms of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TermCondition {
    /// The file has this term.
    Term(String),
    /// The file has a term that begins with this text.
    Beginning(String),
    /// It meets all of these conditions.
    All(Vec<Self>),
    /// It meets one of these conditions.
    Any(Vec<Self>),
}

/// What candidates have to contain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermQuery {
    /// Terms of which a candidate contains at least one, and by which candidates are ordered.
    pub any: Vec<QueryTerm>,
    /// What a candidate meets besides; none if empty.
    pub all: Vec<TermCondition>,
}

/// The candidates for a query, and the statistics of the directory.
#[derive(Debug, Clone, Default)]
pub struct FoundFiles {
    /// The candidates, best first.
    pub entries: Vec<FileEntry>,
    /// Whether there are no others.
    pub is_all: bool,
    /// The number of files with terms.
    pub files: u64,
    /// For each field, the sum of its lengths and the number of files in which it is not empty.
    pub fields: Vec<(u64, u64)>,
    /// The number of files that contain each term of [`TermQuery::any`], in its order; `None` for terms that were left out
    /// because the query has many.
    pub containing: Vec<Option<u64>>,
}

/// A file that meets a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchingFile {
    /// Its path, relative to the directory.
    pub path: String,
    /// Whether it meets the stricter condition as well.
    pub is_certain: bool,
}

/// The files of a directory that may have terms and are searched together. A file is of one such directory only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Those in the directory itself whose names are those of contexts.
    Contexts,
    /// Those in the directories below it, at any depth, whose names are those of entries of a store.
    Entries,
}

/// An index of the terms of files of a [`FileKind`]. A file that takes the name of another one has none; files are not appended to.
///
/// Names in the [`FileEntry`]s that it returns are paths relative to the directory.
///
/// # Errors
/// Every operation fails with a [`super::FileError`], also where the file system refuses to keep terms.
pub trait FileTerms: Send + Sync {
    /// At most `limit` files of a directory whose terms are unknown, latest first.
    fn missing<'a>(
        &'a self,
        directory: &'a Path,
        kind: FileKind,
        limit: usize,
    ) -> FileFuture<'a, Vec<FileWithoutTerms>>;

    /// Adds the terms of files. Files that were removed or that have terms are left out. Returns the number of the others.
    fn add<'a>(&'a self, directory: &'a Path, files: Vec<TermsOfFile>) -> FileFuture<'a, u64>;

    /// The best `limit` candidates of a directory.
    fn candidates<'a>(
        &'a self,
        directory: &'a Path,
        query: &'a TermQuery,
        limit: usize,
    ) -> FileFuture<'a, FoundFiles>;

    /// The files of a directory that meet the condition `possible`, which is not empty, and whether each meets `certain` as well
    /// (none does if that is absent). Returns `None` if there are more than `limit`.
    fn matching<'a>(
        &'a self,
        directory: &'a Path,
        possible: &'a TermCondition,
        certain: Option<&'a TermCondition>,
        limit: usize,
    ) -> FileFuture<'a, Option<Vec<MatchingFile>>>;

    /// The files of a directory of which only a part has terms, latest first, at most `limit`.
    fn partly_covered<'a>(
        &'a self,
        directory: &'a Path,
        limit: usize,
    ) -> FileFuture<'a, Vec<FileEntry>>;

    /// Distinct terms of the latest `files` files of a directory that have terms, with as many characters as `lengths` says.
    fn vocabulary<'a>(
        &'a self,
        directory: &'a Path,
        files: usize,
        lengths: RangeInclusive<usize>,
    ) -> FileFuture<'a, Vec<String>>;
}
