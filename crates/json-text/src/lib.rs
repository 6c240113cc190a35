//! JSON as text: finding, reading, sorting and writing values without building a tree.
//!
//! Values stay JSON text: their numbers and strings keep their spelling, including escaped lone surrogates. No
//! function recurses, and nesting has no limit.
//!
//! This crate is not a parser into Rust types: `serde_json` reads settings and records whose exact text
//! does not matter. It does no I/O and does not know which texts its callers store.
//!
//! Terms:
//! - *token*: a piece of JSON text with its exact bytes; a string token includes its quotes.
//! - *member*: a key of an object and its value.
//! - *canonical form*: a value with sorted keys, without whitespace and without repeated keys. Strings and numbers
//!   keep their spelling.
//! - *snapshot*: a JavaScript value as operations and UTF-16 text, from which a worker thread writes the
//!   text that `JSON.stringify` would write.
//!
//! | module | contents |
//! |---|---|
//! | `scan` | where values begin and end: [`walk_value`], [`Members`], [`ScanError`] |
//! | `decode` | the content of a string token, decoded |
//! | `text` | decoded string tokens, the plain text of a value, objects cut to a maximum length |
//! | `in_place` | text without escape sequences in which every character keeps its offset |
//! | `sample` | plain text of a bounded part of a long value |
//! | `canonical` | the canonical form |
//! | `escape` | strings as JSON text |
//! | `encoded`, `snapshot` | values from JavaScript: [`Encoded`], [`MalformedSnapshot`] |

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod canonical;
mod decode;
mod encoded;
mod escape;
mod in_place;
mod sample;
mod scan;
mod snapshot;
mod text;

pub use canonical::canonical;
pub use decode::decode_content;
pub use encoded::Encoded;
pub use escape::{escape_string, string_token, write_string, write_string_part, write_text};
pub use in_place::{FILLER, unescaped_in_place};
pub use sample::append_sample;
pub use scan::{
    Members, ScanError, Token, skip_value, skip_whitespace, validate_document, walk_value,
};
pub use snapshot::MalformedSnapshot;
pub use text::{append_separated, append_text, cut_arguments, decode_string, decode_utf16};
