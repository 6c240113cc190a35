//! Regular expressions of callers.
//!
//! | module | what it knows |
//! |---|---|
//! | `javascript` | JavaScript's expressions in the syntax of the `regex` crate |
//! | `fault` | what is wrong with an expression, and where |
//! | `expression` | a JavaScript expression, of which all matches are found in linear time |
//! | `program`, `assertions` | its states, and what they say of places |
//! | `set`, `characters` | sets of its positions, and which takes what |
//! | `closure`, `steps`, `ways`, `context` | what leads where, backwards and onwards |
//! | `search`, `walk` | the two passes through a text |

mod assertions;
mod characters;
mod closure;
mod context;
mod expression;
mod fault;
pub(crate) mod javascript;
mod program;
mod search;
mod set;
mod steps;
#[cfg(test)]
mod tests;
mod walk;
mod ways;

pub use expression::Expression;
pub use fault::Fault;
pub(crate) use fault::{MAX_NESTING, shown};
pub use search::TooManySteps;
