//! Regular expressions of the linear-time kind, bounded in size.

use std::ops::Range;

use javascript_regex::{MAX_NESTING, PatternError, Translated, translate};
use regex::bytes::{Regex, RegexBuilder};

use crate::error::{Code, Error, Result};

/// Compiled expressions take at most so many bytes: at worst, time is this times the text's length.
const MAX_COMPILED: usize = 1 << 20;
/// Those that take more are not for very long lines, within which a search cannot be stopped.
const SMALL: usize = 1 << 17;
/// Bytes of a very long line.
const VERY_LONG: usize = 4 << 20;

/// Whose syntax a pattern is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax<'a> {
    /// That of the `regex` crate, and so of ripgrep.
    Rust,
    /// A JavaScript `RegExp` with these flags. `^` and `$` are a line's ends whatever the flag `m`
    /// says.
    JavaScript {
        /// Its `flags`.
        flags: &'a str,
    },
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
                let translated =
                    translate(pattern, flags).map_err(|error| invalid(pattern, &error))?;
                (Some(translated), ignore_case || flags.contains('i'))
            }
        };
        let expression = translated.as_ref().map_or(pattern, |translated| &translated.expression);
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
                _ => {
                    let error = translated
                        .as_ref()
                        .map_or_else(|| PatternError::of(pattern), Translated::error);
                    invalid(pattern, &error)
                }
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
        Some(line.floor_char_boundary(found.start())..line.ceil_char_boundary(found.end()))
    }
}

fn invalid(pattern: &str, error: &PatternError) -> Error {
    refused(pattern, &error.to_string())
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

/// The beginning of an expression, for messages.
fn shown(expression: &str) -> String {
    let mut beginning: String = expression.chars().take(50).collect();
    if beginning.len() < expression.len() {
        beginning.push('…');
    }
    format!("/{beginning}/")
}
