//! The terms of files, in rows with a full-text index. The column `coverage` of a file says whether its terms are known, so that
//! an index of the files without terms finds these.

use std::{
    ops::RangeInclusive,
    path::Path,
    time::{Duration, Instant},
};

use storage::{
    Coverage, FileEntry, FileFuture, FileKind, FileResult, FileTerms, FileWithoutTerms, FoundFiles,
    MatchingFile, QueryTerm, TermCondition, TermQuery, TermsOfFile,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Files, file_system::DatabaseFileSystem, place::directory_of, term_sql};
use crate::{
    database::Intent,
    parameters::Parameters,
    terms::{AskedTerm, Candidates, Tag, asked},
};

/// How long statistics of a directory are used again, unless this process adds terms.
const FRESH: Duration = Duration::from_secs(10);

/// The most directories whose statistics are kept.
const DIRECTORIES: usize = 1000;

/// Statistics of the files of a directory that have terms.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    files: u64,
    /// The sum of all lengths.
    length: u64,
    /// For each field, the sum of its lengths and the number of files in which it is not empty.
    fields: Vec<(u64, u64)>,
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn code(coverage: Coverage) -> i64 {
    match coverage {
        Coverage::None => 0,
        Coverage::Part => 1,
        Coverage::Whole => 2,
    }
}

impl Files {
    async fn missing_terms(
        &self,
        path: &Path,
        kind: FileKind,
        limit: usize,
    ) -> FileResult<Vec<FileWithoutTerms>> {
        let parameters = Parameters::new().text(directory_of(path)?).number(number(limit));
        let sql = match kind {
            FileKind::Contexts => term_sql::MISSING_TERMS_OF_CONTEXTS,
            FileKind::Entries => term_sql::MISSING_TERMS_OF_ENTRIES,
        };
        let rows = self.statement(Intent::Read, ("search", path), sql, parameters).await?;
        self.note_clock(rows.first());
        let files = rows.iter().filter_map(|row| {
            let id: Uuid = row.get(1);
            Some(FileWithoutTerms { entry: self.entry_of(row)?, id: id.as_u128() })
        });
        Ok(files.collect())
    }

    async fn add_terms(&self, path: &Path, files: Vec<TermsOfFile>) -> FileResult<u64> {
        let directory = directory_of(path)?;
        let tag = Tag::of(directory.as_bytes());
        let length =
            |file: &TermsOfFile| file.lengths.iter().map(|length| i64::from(*length)).sum();
        let lengths = |file: &TermsOfFile| {
            let lengths: Vec<String> = file.lengths.iter().map(u16::to_string).collect();
            format!("{{{}}}", lengths.join(","))
        };
        let vector = |file: &TermsOfFile| tag.vector(file.terms.iter().map(String::as_str));
        let parameters = Parameters::new()
            .text(directory.clone())
            .ids(files.iter().map(|file| Uuid::from_u128(file.id)).collect())
            .numbers(files.iter().map(|file| Some(code(file.coverage))).collect())
            .numbers(files.iter().map(|file| Some(length(file))).collect())
            .texts(files.iter().map(|file| Some(lengths(file))).collect())
            .texts(files.iter().map(|file| Some(vector(file))).collect());
        let rows = self
            .statement(Intent::Write, ("search", path), term_sql::ADD_TERMS, parameters)
            .await?;
        self.statistics_of_terms().remove(&directory);
        Ok(rows.first().map_or(0, |row| unsigned(row.get(0))))
    }

    /// The statistics of a directory, which are read again from time to time.
    async fn statistics(&self, path: &Path, directory: &str) -> FileResult<Statistics> {
        if let Some((read, statistics)) = self.statistics_of_terms().get(directory)
            && read.elapsed() < FRESH
        {
            return Ok(statistics.clone());
        }
        let read = Instant::now();
        let parameters = Parameters::new().text(directory);
        let at = ("search", path);
        let rows = self.statement(Intent::Read, at, term_sql::TERM_STATISTICS, parameters).await?;
        let count = |row: &Row, column| row.get::<_, Option<i64>>(column).map_or(0, unsigned);
        let statistics = rows.first().map(|row| Statistics {
            files: count(row, 0),
            length: count(row, 1),
            fields: (2..row.len())
                .step_by(2)
                .map(|at| (count(row, at), count(row, at + 1)))
                .collect(),
        });
        let statistics = statistics.unwrap_or_default();
        let mut kept = self.statistics_of_terms();
        if kept.len() >= DIRECTORIES {
            kept.clear();
        }
        kept.insert(directory.to_owned(), (read, statistics.clone()));
        Ok(statistics)
    }

    async fn candidates(
        &self,
        path: &Path,
        query: &TermQuery,
        limit: usize,
    ) -> FileResult<FoundFiles> {
        let directory = directory_of(path)?;
        let Statistics { files, length, fields } = self.statistics(path, &directory).await?;
        let tag = Tag::of(directory.as_bytes());
        let terms: Vec<AskedTerm> = query.any.iter().map(asked_term).collect();
        let mean = length as f64 / files.max(1) as f64;
        // One more than wanted, to know whether there are others.
        let parameters = asked(&tag, &terms, files, mean, (0, limit.saturating_add(1)))
            .text(directory)
            .optional_text(query_of(&tag, &TermCondition::All(query.all.clone())));
        let at = ("search", path);
        let rows = self.statement(Intent::Read, at, term_sql::CANDIDATES, parameters).await?;
        let read = Candidates::<Uuid>::read(&terms, &rows);
        let read = read.map_err(|error| {
            storage::FileError::system("search", path, std::io::Error::other(error))
        })?;
        let is_all = read.best.len() <= limit;
        let entries = rows.iter().filter_map(|row| self.entry_at(row, 5)).take(limit).collect();
        let containing = terms
            .into_iter()
            .map(|term| read.containing.get(&(term.text, term.is_prefix)).copied());
        Ok(FoundFiles { entries, is_all, files, fields, containing: containing.collect() })
    }

    async fn matching(
        &self,
        path: &Path,
        (possible, certain): (&TermCondition, Option<&TermCondition>),
        limit: usize,
    ) -> FileResult<Option<Vec<MatchingFile>>> {
        let directory = directory_of(path)?;
        let tag = Tag::of(directory.as_bytes());
        let Some(possible) = query_of(&tag, possible) else { return Ok(Some(Vec::new())) };
        let parameters = Parameters::new()
            .text(directory)
            .text(possible)
            .optional_text(certain.and_then(|certain| query_of(&tag, certain)))
            .number(number(limit.saturating_add(1)));
        let at = ("search", path);
        let rows = self.statement(Intent::Read, at, term_sql::MATCHING, parameters).await?;
        let matching =
            rows.iter().map(|row| MatchingFile { path: row.get(0), is_certain: row.get(1) });
        Ok((rows.len() <= limit).then(|| matching.collect()))
    }

    async fn partly_covered(&self, path: &Path, limit: usize) -> FileResult<Vec<FileEntry>> {
        let parameters = Parameters::new().text(directory_of(path)?).number(number(limit));
        let at = ("search", path);
        let rows = self.statement(Intent::Read, at, term_sql::PARTLY_COVERED, parameters).await?;
        Ok(rows.iter().filter_map(|row| self.entry_at(row, 0)).collect())
    }

    async fn vocabulary(
        &self,
        path: &Path,
        files: usize,
        lengths: RangeInclusive<usize>,
    ) -> FileResult<Vec<String>> {
        let directory = directory_of(path)?;
        let tag = Tag::of(directory.as_bytes());
        let parameters = Parameters::new()
            .text(directory)
            .number(number(files))
            .number(number(lengths.start() + Tag::LENGTH))
            .number(number(lengths.end() + Tag::LENGTH));
        let at = ("search", path);
        let rows = self.statement(Intent::Read, at, term_sql::VOCABULARY, parameters).await?;
        let terms = rows.iter().filter_map(|row| tag.term_of(row.get(0)).map(str::to_owned));
        Ok(terms.collect())
    }
}

fn asked_term(term: &QueryTerm) -> AskedTerm {
    AskedTerm {
        text: term.text.clone(),
        is_prefix: term.is_prefix,
        weight: term.weight,
        is_extra: term.is_extra,
    }
}

/// The query for a condition; `None` if there is none.
fn query_of(tag: &Tag, condition: &TermCondition) -> Option<String> {
    let joined = |conditions: &[TermCondition], operator| {
        let queries: Vec<String> =
            conditions.iter().filter_map(|condition| query_of(tag, condition)).collect();
        (!queries.is_empty()).then(|| format!("({})", queries.join(operator)))
    };
    match condition {
        TermCondition::Term(text) => Some(tag.query(text, false)),
        TermCondition::Beginning(text) => Some(tag.query(text, true)),
        TermCondition::All(all) => joined(all, "&"),
        TermCondition::Any(any) => joined(any, "|"),
    }
}

impl FileTerms for DatabaseFileSystem {
    fn missing<'a>(
        &'a self,
        directory: &'a Path,
        kind: FileKind,
        limit: usize,
    ) -> FileFuture<'a, Vec<FileWithoutTerms>> {
        Box::pin(self.0.missing_terms(directory, kind, limit))
    }

    fn add<'a>(&'a self, directory: &'a Path, files: Vec<TermsOfFile>) -> FileFuture<'a, u64> {
        Box::pin(self.0.add_terms(directory, files))
    }

    fn candidates<'a>(
        &'a self,
        directory: &'a Path,
        query: &'a TermQuery,
        limit: usize,
    ) -> FileFuture<'a, FoundFiles> {
        Box::pin(self.0.candidates(directory, query, limit))
    }

    fn matching<'a>(
        &'a self,
        directory: &'a Path,
        possible: &'a TermCondition,
        certain: Option<&'a TermCondition>,
        limit: usize,
    ) -> FileFuture<'a, Option<Vec<MatchingFile>>> {
        Box::pin(self.0.matching(directory, (possible, certain), limit))
    }

    fn partly_covered<'a>(
        &'a self,
        directory: &'a Path,
        limit: usize,
    ) -> FileFuture<'a, Vec<FileEntry>> {
        Box::pin(self.0.partly_covered(directory, limit))
    }

    fn vocabulary<'a>(
        &'a self,
        directory: &'a Path,
        files: usize,
        lengths: RangeInclusive<usize>,
    ) -> FileFuture<'a, Vec<String>> {
        Box::pin(self.0.vocabulary(directory, files, lengths))
    }
}
