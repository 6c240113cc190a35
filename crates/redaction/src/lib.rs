//! Redaction: finds secrets in text and JSON, and replaces them with `[REDACTED:<rule>]`.
//!
//! A text is scanned once for the anchors of all rules (`scanner`), and examined around each anchor: with
//! the expressions of `rules.toml`, for private keys (`private_key`), and for values beside names that look
//! secret (`assignment`). In JSON the decoded strings are examined under the names of their members
//! (`json_walker`).
//!
//! This crate does not decide what is written, and knows no files and no environment: its caller passes the
//! texts and the values of environment variables. Its work is bounded for every text: lines beyond the work
//! budget are replaced without being examined. If a search fails, it returns an error, and the caller must not
//! write the text.
//!
//! Terms:
//! - *rule*: a name and a method of finding one kind of secret. The rules are data in `rules.toml`.
//! - *anchor*: a literal text that every match of a rule contains.
//! - *hit*: the byte range of a secret and the rule that found it.
//! - [`Redactor`]: the compiled rules. [`Redaction`]: a redactor and the environment's values.
//! - [`RedactionSession`]: redacts all parts of one record and counts what it finds in one [`Report`].
//! - [`TextStream`], [`ByteStream`], [`ElementStream`]: redact a text that arrives in pieces, a document that arrives as bytes, and an array that arrives in batches, in bounded memory.
//! - *view*: a text without parts that hide secrets: terminal escape sequences, zero-width characters, or prefixes
//!   of lines.
//! - *custom rule*: a rule of the caller; its expressions are matched by `linear_regex`.

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod allowed;
mod anchor_filter;
mod anchors;
mod assignment;
mod basic;
mod beginning;
mod byte_stream;
mod command_line;
mod commands;
mod common_values;
mod custom;
mod dotted_token;
mod element_stream;
mod environment;
mod error;
mod expression;
#[cfg(test)]
mod form_tests;
mod hit;
mod json_frames;
mod json_offsets;
#[cfg(test)]
mod json_rows_tests;
mod json_value_check;
mod json_walker;
mod known_strings;
mod linear_regex;
mod literals;
mod member_name;
mod names;
mod options;
mod parts;
mod pattern_match;
mod plain_strings;
mod private_key;
mod redaction;
mod redactor;
mod replacement;
mod report;
mod required;
mod rules;
#[cfg(test)]
mod rules_tests;
mod scanner;
mod searches;
mod session;
mod skipped;
mod split_key;
#[cfg(test)]
mod tests;
mod text_stream;
mod value;
mod vendor;
mod view;
mod word_set;
mod work;
#[cfg(test)]
mod work_tests;

pub use byte_stream::ByteStream;
pub use element_stream::ElementStream;
pub use environment::EnvironmentValues;
pub use error::{Error, ErrorKind, Result};
pub use options::{Allowed, CustomFind, CustomRule, RedactionOptions};
pub use redaction::Redaction;
pub use redactor::Redactor;
pub use report::{Finding, Redacted, Report};
pub use session::RedactionSession;
pub use text_stream::TextStream;

/// The name of the rule for values of environment variables.
const ENVIRONMENT: &str = "environment";
/// The name of the rule for lines that are replaced without being examined, because they would exceed the work budget.
/// It cannot be disabled.
const UNSCANNED: &str = "unscanned";
