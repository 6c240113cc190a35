//! Determines the language of a file by its name, and distinguishes C++ from C by the text.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// A line that begins with a construct of C++ that C does not have. A wrapped comment that matches does little harm,
/// because nearly all of C is valid C++.
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

/// A supported language.
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
    /// All languages.
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
        // Only the case of the letter distinguishes C++ from C here.
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

    /// C++ for a C file that contains C++, as many headers named `.h` do.
    pub(super) fn or_cpp(self, text: &str) -> Self {
        let is_cpp = self == Self::C && CPP_LINE.as_ref().is_some_and(|line| line.is_match(text));
        if is_cpp { Self::Cpp } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_follows_from_the_file_name() {
        use Language::{C, Cpp, Go, Java, JavaScript, Python, Rust, Tsx, TypeScript};
        for (path, language) in [
            ("a.ts", Some(TypeScript)),
            ("a/b.d.ts", Some(TypeScript)),
            ("a.MTS", Some(TypeScript)),
            ("a.cts", Some(TypeScript)),
            ("a.tsx", Some(Tsx)),
            ("a.js", Some(JavaScript)),
            ("a.min.jsx", Some(JavaScript)),
            ("a.mjs", Some(JavaScript)),
            ("a.cjs", Some(JavaScript)),
            ("a.py", Some(Python)),
            ("a.pyi", Some(Python)),
            ("C:\\a\\b.rs", Some(Rust)),
            ("a.go", Some(Go)),
            ("a.Java", Some(Java)),
            ("a.c", Some(C)),
            ("a.h", Some(C)),
            ("a.C", Some(Cpp)),
            ("a.H", Some(Cpp)),
            ("a.CPP", Some(Cpp)),
            ("a.c++", Some(Cpp)),
            ("a.hxx", Some(Cpp)),
            ("a.ipp", Some(Cpp)),
            ("a.inl", Some(Cpp)),
            ("a.ts/b", None),
            ("a.ts.txt", None),
            (".ts", None),
            ("ts", None),
            ("", None),
            ("a.", None),
        ] {
            assert_eq!(Language::of(path), language, "{path}");
        }
    }

    #[test]
    fn a_header_is_cpp_where_it_plainly_is() {
        for text in [
            "#pragma once\nclass Widget {\n",
            "class Widget;\nclass Widget final : public Base {",
            "namespace a::b {\n",
            "namespace {\n",
            "  template <typename T>\n",
            "using namespace std;",
            "using Alias = int;",
            "struct A {\r\n public:\r\n",
        ] {
            assert_eq!(Language::C.or_cpp(text), Language::Cpp, "{text}");
        }
        for text in [
            "int class_of(int a);\n",
            " * class Widget {\n",
            "// namespace a {\n",
            "struct namespace { int template; };\n",
            "int public = 1;\n",
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
        ] {
            assert_eq!(Language::C.or_cpp(text), Language::C, "{text}");
        }
        assert_eq!(Language::Java.or_cpp("class A {"), Language::Java);
    }
}
