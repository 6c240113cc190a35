//! JSON paths (RFC 9535) on the text of a value, which is never made into a tree: what is found is a
//! place in the text, numbers and strings keep their spelling, and nesting has no limit.
//!
//! The crate `jsonpath-rust` knows the grammar. Its own evaluation wants a tree, recurses as deep as
//! that, and cannot be bounded; here a query stops when it has done too much work or nobody waits.
//!
//! | module | what it knows |
//! |---|---|
//! | `children` | the members and elements of a value |
//! | `check` | what the grammar lets pass though the RFC does not |
//! | `evaluate` | segments and selectors |
//! | `filter` | filters and functions |
//! | `operand` | comparing values |
//! | `paths` | normalised paths of places in the text |
//! | `through` | paths that go on within a string that holds JSON |

mod check;
mod children;
mod evaluate;
mod filter;
mod operand;
mod paths;
#[cfg(test)]
mod tests;
mod through;

use std::{num::NonZeroUsize, ops::Range, sync::Once};

use jsonpath_rust::parser::{
    errors::JsonPathError,
    model::{JpQuery, Segment},
    parse_json_path,
};
use pest::error::{ErrorVariant, LineColLocation};
use tasks::Cancelled;

use super::cancelled_error;
use crate::error::{Code, Error, Result};
use evaluate::{Evaluation, Stop};
pub use paths::{PathStep, normalised_path, paths};

/// Steps of the parser, which some malformed queries make go back and forth for ever.
const MAX_PARSER_CALLS: usize = 1_000_000;
/// Text that a query may look at, in bytes: some seconds. The same may count more than once, and so
/// long texts get more.
const MAX_WORK: usize = 1 << 30;
const MAX_WORK_PER_BYTE: usize = 8;
/// More values are not gathered.
const MAX_VALUES: usize = 5_000_000;

/// Where a value stands in a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

impl Value {
    /// As a range.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A query.
#[derive(Debug)]
pub struct JsonPath(JpQuery);

impl JsonPath {
    /// Reads a query.
    ///
    /// # Errors
    /// `InvalidArgument` with the position when it is malformed.
    pub fn new(query: &str) -> Result<Self> {
        static BOUNDED: Once = Once::new();
        BOUNDED.call_once(|| pest::set_call_limit(NonZeroUsize::new(MAX_PARSER_CALLS)));
        if query.ends_with([' ', '\t', '\n', '\r']) {
            return Err(invalid(query, "white space at its end"));
        }
        let parsed = parse_json_path(query).map_err(|error| invalid(query, &reason_of(&error)))?;
        check::check(&parsed.segments).map_err(|reason| invalid(query, &reason))?;
        Ok(Self(parsed))
    }

    /// The values that it selects, in the order of the RFC.
    ///
    /// # Errors
    /// `InvalidArgument` when it asks for more work than is done.
    pub fn find(&self, text: &str, cancelled: &Cancelled) -> Result<Vec<Value>> {
        find_within(&self.0.segments, text, max_work(text), cancelled)
    }
}

/// How much of a text a query may look at, in bytes.
const fn max_work(text: &str) -> usize {
    MAX_WORK + MAX_WORK_PER_BYTE * text.len()
}

/// The values that segments select from a whole text.
fn find_within(
    segments: &[Segment],
    text: &str,
    max_work: usize,
    cancelled: &Cancelled,
) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    let mut evaluation = Evaluation::new(text.as_bytes(), max_work, cancelled);
    evaluation
        .select(evaluation.root, segments, &mut |_, value| {
            if values.len() >= MAX_VALUES {
                return Err(Stop::TooMany);
            }
            values.push(value);
            Ok(())
        })
        .map_err(|stop| match stop {
            Stop::Cancelled => cancelled_error(),
            Stop::TooMuch => too_much("looks at too much of this result"),
            Stop::TooMany | Stop::Enough => {
                too_much(&format!("finds more than {MAX_VALUES} values"))
            }
        })?;
    Ok(values)
}

fn too_much(what: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("jsonPath {what}; narrow it"))
}

fn invalid(query: &str, reason: &str) -> Error {
    let end = query.floor_char_boundary(100);
    let more = if end < query.len() { "…" } else { "" };
    let shown = query.get(..end).unwrap_or_default();
    Error::new(
        Code::InvalidArgument,
        format!("jsonPath must be a JSON path (RFC 9535), not '{shown}{more}': {reason}"),
    )
}

/// What is wrong, and where.
fn reason_of(error: &JsonPathError) -> String {
    match error {
        JsonPathError::PestError(error) => {
            let (LineColLocation::Pos((line, column)) | LineColLocation::Span((line, column), _)) =
                error.line_col;
            let reason = match &error.variant {
                ErrorVariant::CustomError { message } => message.clone(),
                ErrorVariant::ParsingError { .. } => "this cannot stand here".to_owned(),
            };
            if line == 1 {
                format!("{reason}, at character {column}")
            } else {
                format!("{reason}, at line {line}, character {column}")
            }
        }
        other => other.to_string(),
    }
}

/// The value of a whole text, which is valid.
fn root_of(text: &[u8]) -> Value {
    let start = json_text::skip_whitespace(text, 0);
    Value { start, end: start + text.trim_ascii().len() }
}
