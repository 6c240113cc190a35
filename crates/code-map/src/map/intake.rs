//! Ingestion: reads and parses files that are new or have changed.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use redaction::{Redaction, RedactionSession};
use rustc_hash::FxHashMap;
use serde::Serialize;
use storage::Disk;
use tasks::Cancelled;

use super::{
    Limits,
    record::{Known, SourceFile, Stamp, Symbols, digest},
    skipped::SkipReason,
    walk::Listed,
};
use crate::symbols::{FileSymbols, Language, NotParsed, SymbolParser};

/// The progress of a refresh, in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Files that were checked.
    pub done: u64,
    /// All files.
    pub total: u64,
    /// Files that were new or had changed, and were parsed.
    pub parsed: u64,
}

/// Receives the progress of a refresh. Called by one thread at a time: at the start, about a hundred times in between,
/// and at the end.
pub type OnProgress = dyn Fn(Progress) + Send + Sync;

/// Finds the symbols of one file after another.
pub(super) type Parse = dyn FnMut(Language, &[u8], &Cancelled) -> Parsed;
/// The symbols of a file, or why they are unknown.
pub(super) type Parsed = std::result::Result<FileSymbols, NotParsed>;
/// Creates a parser for each thread.
pub(super) type NewParser = dyn Fn() -> Box<Parse> + Send + Sync;

/// The default parser of a thread.
pub(super) fn new_parser() -> Box<Parse> {
    let mut parser = SymbolParser::new();
    Box::new(move |language, source, cancelled| parser.symbols(language, source, cancelled))
}

/// Known files by path.
pub(super) type KnownFiles = FxHashMap<Arc<str>, Known>;

/// The result of checking a file.
pub(super) enum Outcome {
    /// Not changed since it was read.
    Unchanged(Known),
    /// Its metadata changed, but its bytes are the same.
    Touched(Known),
    Parsed(Known),
    Skipped(SourceFile, SkipReason),
    Refused(String, SkipReason),
    Gone,
}

/// The checks of one refresh.
pub(super) struct Intake<'a> {
    pub disk: &'a dyn Disk,
    pub workspace: &'a Path,
    pub limits: &'a Limits,
    pub new_parser: &'a NewParser,
    pub redaction: Option<&'a Redaction>,
    pub known: &'a KnownFiles,
    /// The time before the files were listed, in ms since 1970.
    pub now: i64,
    pub cancelled: &'a Cancelled,
}

impl Intake<'_> {
    /// The results for the files, in order; fewer when cancelled.
    pub fn take_in(&self, listed: &[Listed], progress: Option<&OnProgress>) -> Vec<Outcome> {
        let unchanged = |file: &Listed| {
            let known = self.known.get(file.path.as_str())?;
            (known.file.language == file.language && known.stamp.is_of(&file.entry))
                .then(|| known.clone())
        };
        let mut outcomes: Vec<Option<Outcome>> =
            listed.iter().map(|file| unchanged(file).map(Outcome::Unchanged)).collect();
        let changed: Vec<&Listed> = listed
            .iter()
            .zip(&outcomes)
            .filter_map(|(file, outcome)| outcome.is_none().then_some(file))
            .collect();
        let counter = Counter::new(listed.len(), changed.len(), progress);
        let mut found = tasks::filter_map_on_all_cores(
            &changed,
            self.cancelled,
            self.new_parser,
            |parse, file| {
                let outcome = self.look(parse.as_mut(), file)?;
                counter.add(matches!(outcome, Outcome::Parsed(_)));
                Some(outcome)
            },
        )
        .into_iter();
        for outcome in &mut outcomes {
            if outcome.is_none() {
                *outcome = found.next();
            }
        }
        outcomes.into_iter().flatten().collect()
    }

    /// The result for one file; `None` when cancelled.
    fn look(&self, parse: &mut Parse, listed: &Listed) -> Option<Outcome> {
        let most = self.limits.file_bytes;
        let (path, language) = (listed.path.as_str(), listed.language);
        let known = self.known.get(path);
        let path = known.map_or_else(|| path.into(), |known| Arc::clone(&known.file.path));
        let file = |symbols| SourceFile { path: Arc::clone(&path), language, symbols };
        let too_large = || Some(Outcome::Skipped(file(Arc::default()), SkipReason::TooLarge));
        if listed.entry.length.is_some_and(|length| length > most) {
            return too_large();
        }
        let refused = |reason| Some(Outcome::Refused(listed.path.clone(), reason));
        let contents = match self.disk.read(self.workspace, Path::new(&*path), most) {
            Ok(contents) => contents,
            // The file was removed, or replaced by a symbolic link.
            Err(error) if error.is_not_found() || error.kind == io::ErrorKind::InvalidInput => {
                return Some(Outcome::Gone);
            }
            Err(_) => return refused(SkipReason::Unreadable),
        };
        if contents.length > most {
            return too_large();
        }
        let stamp = Stamp::new(&listed.entry, contents.length, digest(&contents.bytes), self.now);
        if let Some(known) = known
            && known.file.language == language
            && known.stamp.digest == stamp.digest
        {
            return Some(Outcome::Touched(Known { stamp, ..known.clone() }));
        }
        // The complete text: a secret is recognised by its surroundings, and signatures are shortened.
        let Ok(source) = self.redacted(contents.bytes) else {
            return refused(SkipReason::NotRedacted);
        };
        let parsed = parse(language, &source, self.cancelled);
        // The symbols found so far are incomplete.
        if self.cancelled.is_set() {
            return None;
        }
        let (symbols, skipped) = match parsed {
            Ok(symbols) => (Arc::new(Symbols::of(symbols, language)), None),
            // Not parsed again before it changes.
            Err(NotParsed::OverBudget) => (Arc::default(), Some(SkipReason::TooMuchMemory)),
            Err(NotParsed::OutOfMemory) => {
                return Some(Outcome::Skipped(file(Arc::default()), SkipReason::TooMuchMemory));
            }
        };
        Some(Outcome::Parsed(Known { file: file(symbols), stamp, skipped }))
    }

    /// The source text without secrets; lines keep their numbers.
    fn redacted(&self, source: Vec<u8>) -> redaction::Result<Vec<u8>> {
        if self.redaction.is_none() {
            return Ok(source);
        }
        let mut text = String::from_utf8(source)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        RedactionSession::new(self.redaction.cloned()).lines(&mut text)?;
        Ok(text.into_bytes())
    }
}

/// Reports the progress.
struct Counter<'a> {
    state: Mutex<(Progress, u64)>,
    /// Number of files between two reports.
    step: u64,
    on_progress: Option<&'a OnProgress>,
}

impl<'a> Counter<'a> {
    fn new(total: usize, changed: usize, on_progress: Option<&'a OnProgress>) -> Self {
        let (total, changed) = (total as u64, changed as u64);
        let progress = Progress { done: total - changed, total, parsed: 0 };
        if let Some(on_progress) = on_progress {
            on_progress(progress);
        }
        Self {
            state: Mutex::new((progress, progress.done)),
            step: (changed / 100).max(1),
            on_progress,
        }
    }

    fn add(&self, is_parsed: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (progress, reported) = &mut *state;
        progress.done += 1;
        progress.parsed += u64::from(is_parsed);
        if let Some(on_progress) = self.on_progress
            && (progress.done - *reported >= self.step || progress.done == progress.total)
        {
            *reported = progress.done;
            // Under the lock, so that reports arrive in order.
            on_progress(*progress);
        }
    }
}
