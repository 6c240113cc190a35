//! Visibility weights: how likely a use of a name in another file refers to this definition. Definitions that only
//! their own file can use, and common names such as `toString`, have low weights.

use crate::symbols::{Definition, Language, SymbolKind};

/// Visible in its own file only, by its declaration.
const FILE: f64 = 0.1;
/// Mostly used in its own file.
const NEAR: f64 = 0.4;
/// Public, but standard libraries use the same name, so that most uses mean those.
const COMMON: f64 = 0.1;

/// Names that standard libraries have, or that are used in most programs.
const COMMON_NAMES: &[&str] = &[
    "__init__",
    "add",
    "all",
    "any",
    "append",
    "apply",
    "args",
    "as_bytes",
    "as_mut",
    "as_ref",
    "as_slice",
    "as_str",
    "assert",
    "at",
    "bind",
    "build",
    "bytes",
    "call",
    "catch",
    "chars",
    "check",
    "clear",
    "clone",
    "close",
    "cmp",
    "code",
    "collect",
    "compare",
    "concat",
    "contains",
    "copy",
    "count",
    "create",
    "data",
    "debug",
    "decode",
    "default",
    "delete",
    "deref",
    "describe",
    "done",
    "drain",
    "drop",
    "each",
    "emit",
    "encode",
    "end",
    "entries",
    "entry",
    "enumerate",
    "eq",
    "equals",
    "err",
    "error",
    "every",
    "exec",
    "execute",
    "exit",
    "expect",
    "extend",
    "file",
    "fill",
    "filter",
    "find",
    "finish",
    "first",
    "flatMap",
    "flat_map",
    "flush",
    "fmt",
    "fold",
    "forEach",
    "for_each",
    "format",
    "from",
    "get",
    "getName",
    "getValue",
    "get_mut",
    "handle",
    "has",
    "hash",
    "hashCode",
    "id",
    "includes",
    "index",
    "indexOf",
    "info",
    "init",
    "insert",
    "into",
    "into_iter",
    "isEmpty",
    "is_empty",
    "is_err",
    "is_none",
    "is_ok",
    "is_some",
    "it",
    "item",
    "items",
    "iter",
    "iter_mut",
    "iterator",
    "join",
    "key",
    "keys",
    "kind",
    "last",
    "len",
    "length",
    "line",
    "lines",
    "list",
    "load",
    "lock",
    "log",
    "main",
    "make",
    "map",
    "match",
    "matches",
    "max",
    "merge",
    "message",
    "min",
    "name",
    "new",
    "next",
    "ok",
    "on",
    "once",
    "open",
    "options",
    "parse",
    "path",
    "peek",
    "poll",
    "pop",
    "position",
    "print",
    "process",
    "push",
    "put",
    "range",
    "read",
    "reduce",
    "remove",
    "render",
    "replace",
    "request",
    "reset",
    "resolve",
    "result",
    "reverse",
    "run",
    "send",
    "set",
    "setName",
    "setUp",
    "setValue",
    "set_up",
    "setup",
    "shift",
    "size",
    "skip",
    "slice",
    "some",
    "sort",
    "source",
    "split",
    "start",
    "startsWith",
    "starts_with",
    "state",
    "stop",
    "string",
    "strip",
    "sub",
    "substring",
    "sum",
    "swap",
    "take",
    "tests",
    "text",
    "then",
    "toString",
    "to_owned",
    "to_string",
    "to_vec",
    "trim",
    "truncate",
    "type",
    "unwrap",
    "update",
    "url",
    "value",
    "valueOf",
    "values",
    "with_capacity",
    "write",
    "zip",
];

/// The weight of a use of the definition's name, from 0 to 1.
pub(super) fn reach(language: Language, definition: &Definition) -> f64 {
    let declared = visibility(language, definition);
    if COMMON_NAMES.binary_search(&definition.name.as_str()).is_ok() {
        declared * COMMON
    } else {
        declared
    }
}

/// The weight by the visibility in the declaration.
pub(super) fn visibility(language: Language, definition: &Definition) -> f64 {
    // Definitions in test modules are only for tests.
    if matches!(definition.container.as_deref(), Some("tests" | "test")) {
        return FILE;
    }
    let signature = definition.signature.as_str();
    let has = |word: &str| {
        let until_arguments = signature.split('(').next().unwrap_or_default();
        until_arguments.split_whitespace().any(|part| part == word)
    };
    let is_member = definition.container.is_some();
    match language {
        // A member of a trait has the visibility of the trait.
        Language::Rust => match definition.kind {
            _ if signature.starts_with("pub") => 1.0,
            SymbolKind::Method | SymbolKind::Macro => NEAR,
            _ => FILE,
        },
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            if has("private") || definition.name.starts_with('#') {
                FILE
            } else if is_member || has("export") || has("declare") {
                1.0
            } else {
                NEAR
            }
        }
        Language::Java if has("private") => FILE,
        Language::C | Language::Cpp if has("static") && !is_member => FILE,
        Language::Go if definition.name.starts_with(char::is_lowercase) => NEAR,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(
        signature: &str,
        name: &str,
        kind: SymbolKind,
        container: Option<&str>,
    ) -> Definition {
        Definition {
            name: name.to_owned(),
            kind,
            line: 1,
            signature: signature.to_owned(),
            container: container.map(str::to_owned),
        }
    }

    #[test]
    fn common_names_are_in_order() {
        assert!(COMMON_NAMES.is_sorted());
    }

    #[test]
    fn what_only_its_file_can_use_reaches_less() {
        use Language::{C, Go, Java, JavaScript, Rust, TypeScript};
        use SymbolKind::{Class, Function, Method};
        for (language, signature, name, kind, container, expected) in [
            (Rust, "pub(crate) fn find_all()", "find_all", Function, None, 1.0),
            (Rust, "fn find_all()", "find_all", Function, None, FILE),
            (Rust, "fn find_all(&self)", "find_all", Method, Some("Store"), NEAR),
            (Rust, "pub fn find_all()", "find_all", Function, Some("tests"), FILE),
            (TypeScript, "export class Store", "Store", Class, None, 1.0),
            (TypeScript, "class Store", "Store", Class, None, NEAR),
            (TypeScript, "private findAll(): void", "findAll", Method, Some("Store"), FILE),
            (TypeScript, "findAll(private: string): void", "findAll", Method, Some("Store"), 1.0),
            (JavaScript, "#findAll()", "#findAll", Method, Some("Store"), FILE),
            (Java, "private void findAll()", "findAll", Method, Some("Store"), FILE),
            (Java, "public void findAll()", "findAll", Method, Some("Store"), 1.0),
            (C, "static int find_all(void)", "find_all", Function, None, FILE),
            (C, "int find_all(static int)", "find_all", Function, None, 1.0),
            (Go, "func findAll()", "findAll", Function, None, NEAR),
            (Go, "func FindAll()", "FindAll", Function, None, 1.0),
            (Rust, "pub fn iter(&self)", "iter", Method, Some("Store"), COMMON),
        ] {
            let definition = defined(signature, name, kind, container);
            assert_eq!(reach(language, &definition), expected, "{signature}");
        }
    }
}
