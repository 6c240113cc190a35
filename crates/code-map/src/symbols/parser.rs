//! Parses a file and finds its symbols, within work and memory limits.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use tasks::Cancelled;
use tree_sitter::QueryCursor;

use super::bounded_parse::{BoundedParse, ParseError, install_allocator};
use super::bounds::{Bounds, is_too_deep};
use super::macros::without_macros;
use super::matches::{Claim, Found};
use super::memory_budget::{budget, reserve};
use super::names::{LONGEST_NAME, is_built_in};
use super::rules::Rules;
use super::scopes::{Placed, resolve};
use super::signature::Signature;
use super::{Definition, FileSymbols, Language, Reference, SymbolKind};

/// Larger files have no symbols.
pub const LARGEST_FILE: usize = 1 << 20;

/// Maximum number of definitions in a file.
const MOST_DEFINITIONS: usize = 10_000;

/// A NUL among this many first bytes marks a binary file, as in git.
const BINARY_PREFIX: usize = 8000;

/// Maximum number of matches that the query follows at the same time.
const MATCH_LIMIT: u32 = 256;

/// The parser ran out of memory, so that a file's symbols are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotParsed {
    /// The file needs more than its budget: 64 MiB, or 512 bytes for each of its bytes. Parsing it again fails in the
    /// same way.
    OverBudget,
    /// The system has no more memory.
    OutOfMemory,
}

/// Finds symbols. Created once per thread.
pub struct SymbolParser {
    cursor: QueryCursor,
}

impl SymbolParser {
    /// A parser for all languages. Cheap: a language's rules are loaded on first use.
    #[must_use]
    pub fn new() -> Self {
        install_allocator();
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MATCH_LIMIT);
        Self { cursor }
    }

    /// The symbols of a file. A malformed file gives the symbols that could be parsed. A file of more than a MiB, a
    /// binary file, or text unlike any program gives none. Stops early when `cancelled`, with the symbols found so far.
    /// All threads together use at most 1 GiB to parse; a file that needs more than is left waits for others.
    ///
    /// # Errors
    /// When the parser runs out of memory. The memory it used is released.
    pub fn symbols(
        &mut self,
        language: Language,
        source: &[u8],
        cancelled: &Cancelled,
    ) -> Result<FileSymbols, NotParsed> {
        self.symbols_in(language, source, None, cancelled).map(Option::unwrap_or_default)
    }

    /// As [`Self::symbols`] for a waiting caller: `None` when it takes longer than `time`, when the text is unlike any
    /// program, or when it needs too much memory. Loading the rules of a language does not count.
    pub fn symbols_within(
        &mut self,
        language: Language,
        source: &[u8],
        time: Duration,
        cancelled: &Cancelled,
    ) -> Option<FileSymbols> {
        self.symbols_in(language, source, Some(time), cancelled).ok().flatten()
    }

    /// `None` when interrupted.
    fn symbols_in(
        &mut self,
        language: Language,
        source: &[u8],
        time: Option<Duration>,
        cancelled: &Cancelled,
    ) -> Result<Option<FileSymbols>, NotParsed> {
        if source.len() > LARGEST_FILE || is_binary(source) {
            return Ok(None);
        }
        let mut text = String::from_utf8_lossy(source);
        let language = language.or_cpp(&text);
        if language == Language::Cpp {
            text = without_macros(text);
        }
        if is_too_deep(&text) {
            return Ok(None);
        }
        let Some(rules) = Rules::of(language) else { return Ok(None) };
        let mut bounds = Bounds::new(language, text.len(), cancelled);
        if let Some(time) = time {
            bounds.limit(time);
        }
        let parsed = match parse(rules, &text, budget(source.len()), &mut bounds) {
            Ok(parsed) => parsed,
            Err(ParseError::Interrupted) => return Ok(None),
            Err(ParseError::OverBudget) => return Err(NotParsed::OverBudget),
            Err(ParseError::OverTotal | ParseError::OutOfMemory) => {
                return Err(NotParsed::OutOfMemory);
            }
        };
        bounds.next_stage();
        let found = Found::of(rules, &mut self.cursor, parsed.root(), &text, &mut bounds);
        // With a time limit, the result is complete or absent, so that it does not depend on speed.
        if time.is_some() && bounds.is_over() {
            return Ok(None);
        }
        let resolved = resolve(language, &found, &text);
        Ok(Some(FileSymbols {
            definitions: definitions(language, resolved.definitions, &found, &text),
            references: references(language, resolved.uses),
        }))
    }
}

/// Parses with memory that all threads share. If that is not enough, parses again with reserved memory.
fn parse<'text>(
    rules: &Rules,
    text: &'text str,
    memory: usize,
    bounds: &mut Bounds<'_>,
) -> Result<BoundedParse<'text>, ParseError> {
    let attempt = |reservation, bounds: &mut Bounds<'_>| {
        let go_on = |offset| bounds.ask(offset).is_continue();
        BoundedParse::new(&rules.grammar, text, memory, reservation, go_on)
    };
    match attempt(None, bounds) {
        Err(ParseError::OverTotal) => {
            let reservation = reserve(memory, bounds.cancelled()).ok_or(ParseError::Interrupted)?;
            bounds.restart();
            attempt(Some(reservation), bounds)
        }
        parsed => parsed,
    }
}

impl Default for SymbolParser {
    fn default() -> Self {
        Self::new()
    }
}

fn is_binary(source: &[u8]) -> bool {
    let prefix = source.get(..BINARY_PREFIX).unwrap_or(source);
    prefix.starts_with(b"\xFF\xFE")
        || prefix.starts_with(b"\xFE\xFF")
        || memchr::memchr(0, prefix).is_some()
}

fn definitions(
    language: Language,
    mut placed: Vec<Placed<'_, '_>>,
    found: &Found<'_>,
    text: &str,
) -> Vec<Definition> {
    let lines: Vec<usize> = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
    keep_once(language, &mut placed);
    placed.truncate(MOST_DEFINITIONS);
    placed
        .into_iter()
        .map(|one| {
            let signature = Signature::of(one.candidate, found, text);
            let line = lines.partition_point(|end| *end < signature.start).saturating_add(1);
            Definition {
                name: one.name,
                kind: one.kind,
                line: u32::try_from(line).unwrap_or(u32::MAX),
                signature: signature.text,
                container: one.container,
            }
        })
        .collect()
}

/// Drops declarations of names that the file also defines. A name with one meaning counts once: the first of several
/// overloads, a getter before its setter.
fn keep_once(language: Language, placed: &mut Vec<Placed<'_, '_>>) {
    let overloads = matches!(language, Language::Java | Language::Rust | Language::Cpp);
    let key = |one: &Placed<'_, '_>| (one.name.clone(), one.container.clone(), one.kind);
    let is_prototype = |one: &Placed<'_, '_>| one.candidate.claim == Claim::Prototype;
    let defined: FxHashSet<_> = placed.iter().filter(|one| !is_prototype(one)).map(key).collect();
    let mut known = FxHashSet::default();
    placed.retain(|one| {
        let key = key(one);
        let overloads = overloads && matches!(one.kind, SymbolKind::Function | SymbolKind::Method);
        !(is_prototype(one) && defined.contains(&key)) && (known.insert(key) || overloads)
    });
}

fn references(language: Language, uses: FxHashMap<&str, u32>) -> Vec<Reference> {
    let mut references: Vec<Reference> = uses
        .into_iter()
        .filter(|(name, _)| {
            name.len() <= LONGEST_NAME
                && name.chars().nth(1).is_some()
                && !is_built_in(language, name)
        })
        .map(|(name, count)| Reference { name: name.to_owned(), count })
        .collect();
    references.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    references
}
