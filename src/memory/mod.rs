//! `RepoMemory`: what is known about a repository.
//!
//! | module | what it knows |
//! |---|---|
//! | `identity` | which repository a workspace belongs to |
//! | `symbols` | the definitions and references in a source file |
//! | `map` | the files of a workspace, what they define, and which of it matters |

mod identity;
pub mod map;
mod symbols;

pub use identity::{BranchScope, Identity, is_repo_hash};
pub use symbols::{Definition, FileSymbols, Language, Reference, SymbolKind, SymbolParser};
