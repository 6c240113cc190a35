//! Finds the name within a node of the syntax tree, such as a declarator or a qualified name, and recognises names that
//! are built into a language.

use tree_sitter::Node;

use super::Language;

/// Maximum length of a name in bytes.
pub const LONGEST_NAME: usize = 200;

/// Maximum depth of a name within pointers, parentheses and qualifications.
const DEEPEST_NAME: usize = 64;

/// The name within a declarator or a qualified name.
pub struct Named<'tree> {
    /// The node of the name itself.
    pub name: Node<'tree>,
    /// The qualification, such as `Type` in `Type::method`.
    pub owner: Option<Node<'tree>>,
    /// Whether the declarator declares a function.
    pub function: bool,
}

/// Finds the name in a declarator or a qualified name; `None` if it has no name, such as an operator.
pub fn named(node: Node<'_>) -> Option<Named<'_>> {
    let mut current = node;
    let mut owner = None;
    let mut function = false;
    for _ in 0..DEEPEST_NAME {
        current = match current.kind() {
            "function_declarator" => {
                function = true;
                current.child_by_field_name("declarator")?
            }
            // A pointer to a function is a variable.
            "pointer_declarator" | "array_declarator" => {
                function = false;
                current.child_by_field_name("declarator")?
            }
            "init_declarator" => current.child_by_field_name("declarator")?,
            "reference_declarator"
            | "parenthesized_declarator"
            | "attributed_declarator"
            | "dependent_name" => current.named_child(0)?,
            "qualified_identifier" => {
                owner = current.child_by_field_name("scope").or(owner);
                current.child_by_field_name("name")?
            }
            "scoped_type_identifier"
            | "template_type"
            | "template_function"
            | "template_method" => current.child_by_field_name("name")?,
            "generic_type" | "reference_type" | "pointer_type" => {
                current.child_by_field_name("type")?
            }
            "dynamic_type" => current.child_by_field_name("trait")?,
            "operator_name" | "operator_cast" | "destructor_name" => return None,
            _ => return Some(Named { name: current, owner, function }),
        };
    }
    None
}

/// Whether a name is built into the language, so that it never refers to another file.
pub fn is_built_in(language: Language, name: &str) -> bool {
    match language {
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            matches!(name, "require" | "constructor" | "undefined")
        }
        Language::Python => {
            (name.starts_with("__") && name.ends_with("__"))
                || matches!(
                    name,
                    "None"
                        | "True"
                        | "False"
                        | "bool"
                        | "bytes"
                        | "complex"
                        | "dict"
                        | "float"
                        | "frozenset"
                        | "int"
                        | "list"
                        | "object"
                        | "set"
                        | "str"
                        | "super"
                        | "tuple"
                )
        }
        // In the arguments of a macro, keywords look like names.
        Language::Rust => matches!(
            name,
            "Self"
                | "Some"
                | "None"
                | "Ok"
                | "Err"
                | "as"
                | "async"
                | "await"
                | "break"
                | "const"
                | "continue"
                | "dyn"
                | "else"
                | "enum"
                | "fn"
                | "for"
                | "if"
                | "impl"
                | "in"
                | "let"
                | "loop"
                | "match"
                | "move"
                | "mut"
                | "pub"
                | "ref"
                | "return"
                | "static"
                | "struct"
                | "trait"
                | "type"
                | "unsafe"
                | "use"
                | "where"
                | "while"
        ),
        Language::Go => matches!(
            name,
            "any"
                | "append"
                | "bool"
                | "byte"
                | "cap"
                | "clear"
                | "close"
                | "comparable"
                | "complex"
                | "complex64"
                | "complex128"
                | "copy"
                | "delete"
                | "error"
                | "float32"
                | "float64"
                | "imag"
                | "int"
                | "int8"
                | "int16"
                | "int32"
                | "int64"
                | "len"
                | "make"
                | "max"
                | "min"
                | "new"
                | "panic"
                | "print"
                | "println"
                | "real"
                | "recover"
                | "rune"
                | "string"
                | "uint"
                | "uint8"
                | "uint16"
                | "uint32"
                | "uint64"
                | "uintptr"
        ),
        Language::Java => false,
        // Keywords are parsed as names where the grammar does not match.
        Language::C | Language::Cpp => matches!(
            name,
            "NULL"
                | "auto"
                | "bool"
                | "char"
                | "class"
                | "const"
                | "constexpr"
                | "define"
                | "double"
                | "else"
                | "enum"
                | "explicit"
                | "extern"
                | "final"
                | "float"
                | "friend"
                | "inline"
                | "int"
                | "long"
                | "namespace"
                | "operator"
                | "override"
                | "private"
                | "protected"
                | "public"
                | "return"
                | "short"
                | "signed"
                | "sizeof"
                | "static"
                | "struct"
                | "template"
                | "typedef"
                | "typename"
                | "union"
                | "unsigned"
                | "using"
                | "virtual"
                | "void"
                | "volatile"
        ),
    }
}
