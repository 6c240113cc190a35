//! A language's grammar and its query.

use std::sync::LazyLock;

use tree_sitter::Query;

use super::bounded_parse::install_allocator;
use super::{Language, SymbolKind};

/// How a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// `@reference.value`: perhaps the name of a variable, or what declares it.
    Value,
    /// Others: perhaps the name of a parameter.
    Name,
    /// `@reference.method`, `.member`, `.import` and `.export`: never that of a parameter.
    Elsewhere,
}

/// What a capture of a query says about its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `@name`: the name of what the match has found.
    Name,
    /// `@definition.KIND`: a definition.
    Definition(SymbolKind),
    /// `@definition.implementation`: a function of C, unless its declarator is of something else.
    Implementation,
    /// `@definition.declaration`: a declaration of C; its declarator tells whether of a function or a variable.
    Declaration,
    /// `@definition.prototype`: a declaration of C++, of interest if it is of a function.
    Prototype,
    /// `@definition.exported`: a constant, if the file exports it elsewhere.
    IfExported,
    /// `@exported`: a name that the file exports.
    Exported,
    /// `@reference.KIND`: a use of the name.
    Reference(Use),
    /// `@ignore`: a name that is no `@reference.value`.
    Ignore,
    /// `@owner`: the type that a method written outside of it belongs to.
    Owner,
    /// `@container`: a part of the file whose definitions belong to the name.
    Container,
    /// `@scope`: a part of the file that parameters are known in.
    Scope,
    /// `@local.scope`: a part of the file whose definitions are nobody else's concern.
    LocalScope,
    /// `@local.definition`: the name of a parameter or variable.
    LocalDefinition,
    /// `@declared`: what a `@declaration` declares.
    Declared,
    /// `@declaration`: begins with words that belong to the signature of what is `@declared`.
    Outer,
    /// For the conditions of the query itself.
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
    /// What each capture of the query says, by its index.
    pub roles: Vec<Role>,
}

impl Rules {
    /// The rules of a language, made when they are first asked for.
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

    /// `None` when a query does not fit its grammar, which the tests rule out.
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

/// What languages have in common is written once.
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
