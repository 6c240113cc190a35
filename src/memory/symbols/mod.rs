//! The definitions and references in a source file.

use serde::{Deserialize, Serialize};

use crate::aside::Cancelled;

/// A language whose files are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// `.ts`, `.mts`, `.cts`
    TypeScript,
    /// `.tsx`
    Tsx,
    /// `.js`, `.mjs`, `.cjs`, `.jsx`
    JavaScript,
    /// `.py`, `.pyi`
    Python,
    /// `.rs`
    Rust,
    /// `.go`
    Go,
    /// `.java`
    Java,
    /// `.c`; `.h` where nothing says that it is C++
    C,
    /// `.cc`, `.cpp`, `.cxx`, `.hh`, `.hpp`, `.hxx`, …
    Cpp,
}

impl Language {
    /// The language of a file, by its name.
    #[must_use]
    pub fn of(_path: &str) -> Option<Self> {
        None
    }
}

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
    /// The type or module it belongs to, where that is in the same file.
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

/// Finds symbols; made once per thread.
pub struct SymbolParser {}

impl SymbolParser {
    /// A parser for all languages. Cheap: a language's rules are loaded when it is first met.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }

    /// What a file defines and uses. A broken file gives what could be understood of it.
    /// Stops early, with what there is, when `cancelled`.
    pub fn symbols(
        &mut self,
        _language: Language,
        _source: &[u8],
        _cancelled: &Cancelled,
    ) -> FileSymbols {
        FileSymbols::default()
    }
}

impl Default for SymbolParser {
    fn default() -> Self {
        Self::new()
    }
}
