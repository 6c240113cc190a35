//! Regular expressions with linear matching time and bounded size, in the syntax of Rust or
//! JavaScript.

use std::ops::Range;

use javascript_regex::{MAX_NESTING, PatternError, Translated, translate};
use regex::bytes::{Regex, RegexBuilder};

use crate::error::{Code, Error, Result};

/// The largest compiled expression, in bytes: in the worst case, time is proportional to this times
/// the text's length.
const MAX_COMPILED: usize = 1 << 20;
/// Larger expressions are refused for very long lines, within which a search cannot be cancelled.
const SMALL: usize = 1 << 17;
/// The length of a very long line, in bytes.
const VERY_LONG: usize = 4 << 20;

/// The syntax of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax<'a> {
    /// The syntax of the `regex` crate and of ripgrep.
    Rust,
    /// A JavaScript `RegExp` with these flags. `^` and `$` match at line boundaries even without
    /// the flag `m`.
    JavaScript {
        /// Its `flags`.
        flags: &'a str,
    },
}

/// A regular expression, matched line by line.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    /// The pattern as given.
    source: String,
    is_small: bool,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `InvalidArgument` with the position if it is invalid, needs backtracking (look-around, back
    /// references), or is too large.
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
    /// `InvalidArgument` if the line is too long for this expression.
    pub(super) fn check_line(&self, line: &str) -> Result<()> {
        if self.is_small || line.len() < VERY_LONG {
            return Ok(());
        }
        Err(refused(
            &self.source,
            &format!("it repeats too much for a line of {} bytes", line.len()),
        ))
    }

    /// The first match in a line at or after `at`, on character boundaries.
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
