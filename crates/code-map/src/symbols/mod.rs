//! The definitions and references in a source file.
//!
//! | module | what it knows |
//! |---|---|
//! | `bounded_parse` | a parse by tree-sitter within a memory budget, the only part with `unsafe` code |
//! | `bounds` | how much work a file may be |
//! | `memory_budget` | how much memory the parser may use, for a file and in total |
//! | `language` | which language a file is in |
//! | `rules` | a language's grammar and its query in `queries/` |
//! | `macros` | macros of C++ where its grammar has no place for them |
//! | `matches` | what the query finds in a file |
//! | `names` | which part of a node is the name |
//! | `scopes` | what lies in what: containers, and what is local to a function |
//! | `signature` | a declaration on one line |
//! | `parser` | all of it together, within bounds |

mod bounded_parse;
mod bounds;
mod language;
mod macros;
mod matches;
mod memory_budget;
mod names;
mod parser;
mod rules;
mod scopes;
mod signature;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use language::Language;
pub use parser::{NotParsed, SymbolParser};

/// What kind of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SymbolKind {
    /// Also a Rust or Go structure, a C structure or union.
    Class,
    /// Also a Rust trait.
    Interface,
    /// A type alias.
    Type,
    /// An enumeration.
    Enum,
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A constant or variable at the top of a file, or a static one.
    Constant,
    /// A module or namespace.
    Module,
    /// A macro.
    Macro,
}

/// A name that a file defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// As others write it.
    pub name: String,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Where it begins, from 1.
    pub line: u32,
    /// How it is declared, on one line, without its body; at most 200 bytes.
    pub signature: String,
    /// The type or module it belongs to, where the file says so.
    pub container: Option<String>,
}

/// A name that a file uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u32,
}

/// What a file defines and uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSymbols {
    /// In the order of the file.
    pub definitions: Vec<Definition>,
    /// Each name once, sorted.
    pub references: Vec<Reference>,
}
