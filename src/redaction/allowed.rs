//! What a caller says is never redacted.

use super::{custom::refused, options::Allowed};
use crate::{error::Result, expressions::Expression};

/// Texts and expressions; asked only for what was found.
#[derive(Debug, Default)]
pub(super) struct AllowList {
    literals: Vec<String>,
    expressions: Vec<Expression>,
}

impl AllowList {
    /// # Errors
    /// `InvalidArgument`, with the position, for an expression that does not compile.
    pub fn new(allowed: &[Allowed]) -> Result<Self> {
        let mut list = Self::default();
        for allowed in allowed {
            match allowed {
                Allowed::Literal(text) => list.literals.push(text.clone()),
                Allowed::Expression { source, flags } => {
                    let expression = Expression::new(source, flags);
                    list.expressions.push(expression.map_err(|fault| refused(source, &fault))?);
                }
            }
        }
        Ok(list)
    }

    /// Whether what was found is allowed to stand. What takes too long to tell is not.
    pub fn contains(&self, secret: &str) -> bool {
        self.literals.iter().any(|literal| literal == secret)
            || self.expressions.iter().any(|expression| expression.is_match(secret) == Ok(true))
    }
}
