//! What is wrong with a regular expression, and where.

use std::fmt;

/// Groups in groups.
pub(crate) const MAX_NESTING: u32 = 100;

/// What is wrong with an expression.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, in characters from 0.
    pub position: usize,
    /// What.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, at character {}", self.reason, self.position + 1)
    }
}

/// Why an expression in the syntax of the `regex` crate does not compile, and at which byte.
pub(super) fn fault_of(expression: &str) -> (usize, String) {
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

impl Fault {
    /// Why an expression in the syntax of the `regex` crate does not compile.
    pub(crate) fn of(expression: &str) -> Self {
        let (offset, reason) = fault_of(expression);
        let before = expression.get(..offset).unwrap_or(expression);
        Self { position: before.chars().count(), reason }
    }
}

/// The beginning of an expression, for messages.
pub(crate) fn shown(expression: &str) -> String {
    let mut beginning: String = expression.chars().take(50).collect();
    if beginning.len() < expression.len() {
        beginning.push('…');
    }
    format!("/{beginning}/")
}
