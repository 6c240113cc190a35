//! Regular expressions of the linear-time kind, bounded in size.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use super::{
    javascript,
    text::{ceil, floor},
};
use crate::error::{Code, Error, Result};

/// Compiled expressions take at most so many bytes: at worst, time is this times the text's length.
const MAX_COMPILED: usize = 1 << 20;
/// Those that take more are not for very long lines, within which a search cannot be stopped.
const SMALL: usize = 1 << 17;
/// Bytes of a very long line.
const VERY_LONG: usize = 4 << 20;
/// Groups in groups.
const MAX_NESTING: u32 = 100;

/// Whose syntax a pattern is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax<'a> {
    /// That of the `regex` crate, and so of ripgrep.
    Rust,
    /// A JavaScript `RegExp` with these flags.
    JavaScript {
        /// Its `flags`.
        flags: &'a str,
    },
}

/// What is wrong with a pattern.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatternFault {
    /// Where, in characters from 0.
    pub position: usize,
    pub reason: String,
}

/// A regular expression, matched line by line.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    /// As it was given.
    source: String,
    is_small: bool,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `InvalidArgument` with the position when it is malformed, needs backtracking (look-around,
    /// back references), or becomes too large.
    pub fn new(pattern: &str, syntax: Syntax<'_>, ignore_case: bool) -> Result<Self> {
        let (translated, ignore_case) = match syntax {
            Syntax::Rust => (None, ignore_case),
            Syntax::JavaScript { flags } => {
                let translated = javascript::translate(pattern, flags)
                    .map_err(|fault| invalid(pattern, &fault))?;
                (Some(translated), ignore_case || flags.contains('i'))
            }
        };
        let expression = translated.as_deref().unwrap_or(pattern);
        let build = |max_bytes| {
            RegexBuilder::new(expression)
                .case_insensitive(ignore_case)
                .size_limit(max_bytes)
                .nest_limit(MAX_NESTING)
                .build()
        };
        let small = build(SMALL);
        let is_small = small.is_ok();
        small
            .or_else(|_| build(MAX_COMPILED))
            .map(|regex| Self { regex, source: pattern.to_owned(), is_small })
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => refused(pattern, "it repeats too much"),
                _ => invalid(pattern, &fault_of(expression)),
            })
    }

    /// # Errors
    /// `InvalidArgument` when the line is too long for this expression.
    pub(super) fn check_line(&self, line: &str) -> Result<()> {
        if self.is_small || line.len() < VERY_LONG {
            return Ok(());
        }
        Err(refused(
            &self.source,
            &format!("it repeats too much for a line of {} bytes", line.len()),
        ))
    }

    /// The first match in a line at or after `at`, on boundaries of characters. An empty match
    /// where the line ends and began before is none.
    pub(super) fn find_at(&self, line: &str, at: usize) -> Option<Range<usize>> {
        let found =
            (at <= line.len()).then(|| self.regex.find_at(line.as_bytes(), at)).flatten()?;
        Some(floor(line, found.start())..ceil(line, found.end()))
    }
}

fn invalid(pattern: &str, fault: &PatternFault) -> Error {
    let PatternFault { position, reason } = fault;
    refused(pattern, &format!("{reason}, at character {}", position + 1))
}

fn refused(pattern: &str, reason: &str) -> Error {
    Error::new(
        Code::InvalidArgument,
        format!(
            "grep must be a regular expression of the linear-time kind, not {}: {reason}",
            shown(pattern)
        ),
    )
}

/// A pattern in messages.
fn shown(pattern: &str) -> String {
    let end = floor(pattern, 50);
    let more = if end < pattern.len() { "…" } else { "" };
    format!("/{}{more}/", pattern.get(..end).unwrap_or_default())
}

/// Why a pattern does not compile.
fn fault_of(pattern: &str) -> PatternFault {
    let error = regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern);
    let (offset, reason) = match error {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        _ => (0, "it does not compile".to_owned()),
    };
    let before = pattern.get(..offset).unwrap_or(pattern);
    PatternFault { position: before.chars().count(), reason }
}
