//! Regular expressions of callers.
//!
//! | module | what it knows |
//! |---|---|
//! | `javascript` | JavaScript's expressions in the syntax of the `regex` crate |
//! | `fault` | what is wrong with an expression, and where |

mod fault;
pub(crate) mod javascript;

pub use fault::Fault;
pub(crate) use fault::{MAX_NESTING, shown};
