//! Evaluates JSON paths (RFC 9535) on JSON text without building a tree: results are positions in
//! the text, so numbers and strings keep their spelling, and nesting has no limit.
//!
//! Queries are parsed by the crate `jsonpath-rust`. Its evaluation is not used, because it needs a
//! tree, recurses as deep as the tree, and cannot be limited. The evaluation here stops when a
//! query takes too much work or the operation is cancelled.
//!
//! | module | contents |
//! |---|---|
//! | `children` | iterating over the members and elements of a value |
//! | `check` | rejecting queries that the parser accepts and the RFC does not |
//! | `evaluate` | segments and selectors |
//! | `filter` | filters and functions |
//! | `operand` | comparing values |
//! | `paths` | normalised paths of positions in the text |
//! | `through` | paths that continue within a string with JSON |

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

/// The most steps of the parser, which does not terminate for some invalid queries.
const MAX_PARSER_CALLS: usize = 1_000_000;
/// The least limit of the text that a query may examine, in bytes: some seconds of work. Repeated
/// bytes count again, so the limit is higher for long texts.
const MAX_WORK: usize = 1 << 30;
const MAX_WORK_PER_BYTE: usize = 8;
/// The most values that a query may select.
const MAX_VALUES: usize = 5_000_000;

/// The position of a value in a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

impl Value {
    /// The position as a range.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A parsed query.
#[derive(Debug)]
pub struct JsonPath(JpQuery);

impl JsonPath {
    /// Parses a query.
    ///
    /// # Errors
    /// `InvalidArgument` with the position for an invalid query.
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

    /// The values that the query selects, in the order of the RFC.
    ///
    /// # Errors
    /// `InvalidArgument` if the query takes too much work.
    pub fn find(&self, text: &str, cancelled: &Cancelled) -> Result<Vec<Value>> {
        find_within(&self.0.segments, text, max_work(text), cancelled)
    }
}

/// The number of bytes of a text that a query may examine.
const fn max_work(text: &str) -> usize {
    MAX_WORK + MAX_WORK_PER_BYTE * text.len()
}

/// The values that segments select from the root of a text.
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

/// The reason and the position of a parse error.
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

/// The root value of a valid text.
fn root_of(text: &[u8]) -> Value {
    let start = json_text::skip_whitespace(text, 0);
    Value { start, end: start + text.trim_ascii().len() }
}
