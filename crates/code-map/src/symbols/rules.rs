//! The tree-sitter grammar and query of each language, and the meaning of the query's captures.

use std::sync::LazyLock;

use tree_sitter::Query;

use super::bounded_parse::install_allocator;
use super::{Language, SymbolKind};

/// How a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// `@reference.value`: possibly the name of a variable, or its declaration.
    Value,
    /// Other references: possibly the name of a parameter.
    Name,
    /// `@reference.method`, `.member`, `.import` and `.export`: never the name of a parameter.
    Elsewhere,
}

/// The meaning of a query's capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `@name`: the name of the matched definition or reference.
    Name,
    /// `@definition.KIND`: a definition.
    Definition(SymbolKind),
    /// `@definition.implementation`: a C function, unless its declarator declares something else.
    Implementation,
    /// `@definition.declaration`: a C declaration; its declarator decides between function and variable.
    Declaration,
    /// `@definition.prototype`: a C++ declaration, used if it declares a function.
    Prototype,
    /// `@definition.exported`: a constant, used if the file exports it in another place.
    IfExported,
    /// `@exported`: a name that the file exports.
    Exported,
    /// `@reference.KIND`: a use of the name.
    Reference(Use),
    /// `@ignore`: a name that is not an `@reference.value`.
    Ignore,
    /// `@owner`: the type of a method that is written outside the type.
    Owner,
    /// `@container`: a region whose definitions belong to the name.
    Container,
    /// `@scope`: a region in which parameters are known.
    Scope,
    /// `@local.scope`: a region whose definitions are not visible from outside.
    LocalScope,
    /// `@local.definition`: the name of a parameter or variable.
    LocalDefinition,
    /// `@declared`: the definition within a `@declaration`.
    Declared,
    /// `@declaration`: begins with words that belong to the signature of the `@declared` definition.
    Outer,
    /// Used by the predicates of the query only.
    Other,
}

impl Role {
    fn of(capture: &str) -> Self {
        use SymbolKind::{Class, Constant, Enum, Function, Interface, Macro, Method, Module, Type};
        match capture {
            "name" => Self::Name,
            "definition.class" => Self::Definition(Class),
            "definition.interface" => Self::Definition(Interface),
            "definition.type" => Self::Definition(Type),
            "definition.enum" => Self::Definition(Enum),
            "definition.function" => Self::Definition(Function),
            "definition.method" => Self::Definition(Method),
            "definition.constant" => Self::Definition(Constant),
            "definition.module" => Self::Definition(Module),
            "definition.macro" => Self::Definition(Macro),
            "definition.implementation" => Self::Implementation,
            "definition.declaration" => Self::Declaration,
            "definition.prototype" => Self::Prototype,
            "definition.exported" => Self::IfExported,
            "exported" => Self::Exported,
            "ignore" => Self::Ignore,
            "scope" => Self::Scope,
            "owner" => Self::Owner,
            "container" => Self::Container,
            "local.scope" => Self::LocalScope,
            "local.definition" => Self::LocalDefinition,
            "declared" => Self::Declared,
            "declaration" => Self::Outer,
            "reference.value" => Self::Reference(Use::Value),
            "reference.method" | "reference.member" | "reference.import" | "reference.export" => {
                Self::Reference(Use::Elsewhere)
            }
            other if other.starts_with("reference.") => Self::Reference(Use::Name),
            _ => Self::Other,
        }
    }
}

/// A language's grammar and its query.
pub struct Rules {
    /// The grammar.
    pub grammar: tree_sitter::Language,
    /// The query.
    pub query: Query,
    /// The role of each capture, by its index.
    pub roles: Vec<Role>,
}

impl Rules {
    /// The rules of a language, created on first use.
    pub fn of(language: Language) -> Option<&'static Self> {
        static TYPESCRIPT: LazyLock<Option<Rules>> =
            LazyLock::new(|| Rules::new(Language::TypeScript));
        static TSX: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(Language::Tsx));
        static JAVASCRIPT: LazyLock<Option<Rules>> =
            LazyLock::new(|| Rules::new(Language::JavaScript));
        static PYTHON: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(Language::Python));
        static RUST: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(Language::Rust));
        static GO: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(Language::Go));
        static JAVA: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(Language::Java));
        static C: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(Language::C));
        static CPP: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(Language::Cpp));
        match language {
            Language::TypeScript => &TYPESCRIPT,
            Language::Tsx => &TSX,
            Language::JavaScript => &JAVASCRIPT,
            Language::Python => &PYTHON,
            Language::Rust => &RUST,
            Language::Go => &GO,
            Language::Java => &JAVA,
            Language::C => &C,
            Language::Cpp => &CPP,
        }
        .as_ref()
    }

    /// `None` when a query does not match its grammar, which the tests rule out.
    fn new(language: Language) -> Option<Self> {
        let grammar = grammar(language);
        let query = Query::new(&grammar, &query_source(language)).ok()?;
        let roles = query.capture_names().iter().map(|name| Role::of(name)).collect();
        Some(Self { grammar, query, roles })
    }
}

fn grammar(language: Language) -> tree_sitter::Language {
    install_allocator();
    match language {
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Java => tree_sitter_java::LANGUAGE,
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Cpp => tree_sitter_cpp::LANGUAGE,
    }
    .into()
}

/// Concatenates the parts of a query, so that languages share their common parts.
fn query_source(language: Language) -> String {
    let parts: &[&str] = match language {
        Language::TypeScript => {
            &[include_str!("queries/ecmascript.scm"), include_str!("queries/typescript.scm")]
        }
        Language::Tsx => &[
            include_str!("queries/ecmascript.scm"),
            include_str!("queries/typescript.scm"),
            include_str!("queries/jsx.scm"),
        ],
        Language::JavaScript => &[
            include_str!("queries/ecmascript.scm"),
            include_str!("queries/commonjs.scm"),
            include_str!("queries/javascript.scm"),
            include_str!("queries/jsx.scm"),
        ],
        Language::Python => &[include_str!("queries/python.scm")],
        Language::Rust => &[include_str!("queries/rust.scm")],
        Language::Go => &[include_str!("queries/go.scm")],
        Language::Java => &[include_str!("queries/java.scm")],
        Language::C => &[include_str!("queries/c.scm")],
        Language::Cpp => &[include_str!("queries/c.scm"), include_str!("queries/cpp.scm")],
    };
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_fits_its_grammar_and_every_capture_has_a_role() {
        for language in Language::ALL {
            let grammar = grammar(language);
            let query = Query::new(&grammar, &query_source(language))
                .unwrap_or_else(|error| panic!("{language:?}: {error}"));
            for name in query.capture_names() {
                assert!(
                    name.starts_with('_') || Role::of(name) != Role::Other,
                    "{language:?}: @{name}"
                );
            }
        }
    }
}
