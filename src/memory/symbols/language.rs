//! The language of a file.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// A line that begins what C does not have. A comment that wraps to such a line does little harm:
/// nearly all of C is C++.
static CPP_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?mx-u)^[\ \t]*(?:
            class\s+[A-Za-z_][A-Za-z0-9_\ ]*[:{]
          | namespace(?:\s+[A-Za-z_][A-Za-z0-9_:]*)?\s*\{
          | template\s*<
          | using\s+namespace\s
          | using\s+[A-Za-z_][A-Za-z0-9_]*\s*=
          | (?:public|protected|private)\s*:
        )",
    )
    .ok()
});

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
    /// All of them.
    #[cfg(test)]
    pub(super) const ALL: [Self; 9] = [
        Self::TypeScript,
        Self::Tsx,
        Self::JavaScript,
        Self::Python,
        Self::Rust,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
    ];

    /// The language of a file, by its name.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next()?;
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        // The case of the letter is all that tells C++ from C here.
        if matches!(extension, "C" | "H") {
            return Some(Self::Cpp);
        }
        Some(match extension.to_ascii_lowercase().as_str() {
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "py" | "pyi" | "pyw" => Self::Python,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "cp" | "cppm" | "ixx" | "hh" | "hpp" | "hxx" | "h++"
            | "ipp" | "inl" | "tpp" | "txx" | "tcc" => Self::Cpp,
            _ => return None,
        })
    }

    /// C++ for a file of C that plainly is C++, as many headers named `.h` are.
    pub(super) fn or_cpp(self, text: &str) -> Self {
        let is_cpp = self == Self::C && CPP_LINE.as_ref().is_some_and(|line| line.is_match(text));
        if is_cpp { Self::Cpp } else { self }
    }
}
