//! Errors in regular expressions, with their positions.

use std::fmt;

/// The deepest nesting of groups that is compiled.
pub const MAX_NESTING: u32 = 100;

/// An expression that is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The position of the error in the expression, in characters from 0.
    pub position: usize,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, at character {}", self.reason, self.position + 1)
    }
}

/// The reason and the byte at which an expression in the syntax of the `regex` crate does not compile.
pub(super) fn error_in(expression: &str) -> (usize, String) {
    match regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(expression) {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        _ => (0, "it does not compile".to_owned()),
    }
}

impl std::error::Error for PatternError {}

impl PatternError {
    /// The error of an expression in the syntax of the `regex` crate that does not compile.
    #[must_use]
    pub fn of(expression: &str) -> Self {
        let (offset, reason) = error_in(expression);
        let before = expression.get(..offset).unwrap_or(expression);
        Self { position: before.chars().count(), reason }
    }
}
