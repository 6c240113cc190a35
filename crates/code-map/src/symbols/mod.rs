//! Finds the definitions and references of a source file. Called by `map` for each new or changed file.
//!
//! | module | contents |
//! |---|---|
//! | `bounded_parse` | a parse by tree-sitter within a memory budget, the only part with `unsafe` code |
//! | `bounds` | limits for the work of a file |
//! | `memory_budget` | memory budgets of the parser, for a file and in total |
//! | `language` | the language of a file |
//! | `rules` | a language's grammar and its query in `queries/` |
//! | `macros` | C++ macros where the grammar does not allow them |
//! | `matches` | the matches of the query in a file |
//! | `names` | the name within a node |
//! | `scopes` | containers of definitions, and local names |
//! | `signature` | a declaration on one line |
//! | `parser` | all steps together, within the limits |

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

/// The kind of a definition.
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
    /// The name as other files write it.
    pub name: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// Its declaration on one line, without the body; at most 200 bytes.
    pub signature: String,
    /// The type or module to which it belongs, if the file names it.
    pub container: Option<String>,
}

/// A name that a file uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name.
    pub name: String,
    /// The number of uses.
    pub count: u32,
}

/// The symbols of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSymbols {
    /// In the order of the file.
    pub definitions: Vec<Definition>,
    /// Each name once, sorted.
    pub references: Vec<Reference>,
}
