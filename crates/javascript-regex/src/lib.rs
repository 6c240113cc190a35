//! JavaScript regular expressions, translated to the syntax of the `regex` crate.
//!
//! Callers pass `RegExp` objects as patterns, for `grep` and for redaction. [`translate()`] gives the same
//! expression in the other syntax, and refuses what needs backtracking: look-around and back references.
//!
//! This crate does not match: its users compile the translation, and decide what `^` and `$` mean and
//! whether letters have a case.
//!
//! Terms:
//! - *source*, *flags*: the properties of a `RegExp` with these names.
//! - *position*: an index into an expression, in characters from 0.

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod error;
mod translate;

pub use error::{MAX_NESTING, PatternError};
pub use translate::{Translated, translate};
