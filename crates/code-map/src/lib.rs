//! A map of source code: the files of a workspace, what they define and use, and which definitions matter most within a
//! budget of text. Called by `RepoMemory` in the crate `core`, and by previews of source text.
//!
//! This crate does not know memories or what callers do with a map, and reads no data of Git except ignore files. It
//! reads source files through `storage`, redacts them before it parses them if the caller passes a redaction, and keeps
//! the symbols in a cache that can be rebuilt. Only directories and ignore files are not read through `storage`, but by
//! the `ignore` crate.
//!
//! | folder | contents |
//! |---|---|
//! | `symbols` | the definitions and references of one source file, found by tree-sitter within bounds |
//! | `map` | the files of a workspace, the cache, the ranking, and its text |
//!
//! Terms:
//! - *symbol*: a name that a file defines ([`Definition`]) or uses ([`Reference`]).
//! - *workspace*: the directory whose source files are mapped.
//! - [`Snapshot`]: the files of a workspace and their symbols at one time.
//! - *focus* (query focus): paths, names and words that the caller of one query is interested in.
//! - [`Ranking`]: files and definitions, best first, for a focus.
//! - [`Notice`]: what a refresh reports beside its result.

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod error;
mod map;
mod symbols;

pub use error::{Error, Result};
pub use map::{
    MappedFile, Notice, OnNotice, OnProgress, Progress, Ranking, RefreshOptions, RenderedMap,
    RepoMap, SkipReason, Skipped, SkippedFile, Snapshot,
};
pub use symbols::{
    Definition, FileSymbols, Language, NotParsed, Reference, SymbolKind, SymbolParser,
};
