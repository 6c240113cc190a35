//! Sets the linker flags that a Node.js addon needs, turns the redaction rules into statics, and compiles
//! the C part of the parser.

#[path = "src/redaction/compile_rules.rs"]
mod compile_rules;

use std::path::PathBuf;

fn main() {
    if std::env::var_os("CARGO_FEATURE_NODE").is_some() {
        napi_build::setup();
    }
    compile_parser();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/redaction/compile_rules.rs");
    println!("cargo::rerun-if-changed=src/redaction/rules.toml");
    if let Err(message) = write_rules() {
        println!(
            "cargo::error=src/redaction/rules.toml: {}",
            message.trim_end().replace('\n', " ")
        );
    }
}

fn compile_parser() {
    let source = "src/memory/symbols/bounded_parse.c";
    println!("cargo::rerun-if-changed={source}");
    let mut build = cc::Build::new();
    // Set by tree-sitter's own build script.
    if let Some(headers) = std::env::var_os("DEP_TREE_SITTER_INCLUDE").map(PathBuf::from) {
        // `parser.h` is beside them.
        build.include(headers.with_file_name("src")).include(headers);
    }
    build.std("c11").file(source).compile("bounded_parse");
}

fn write_rules() -> Result<(), String> {
    let source =
        std::fs::read_to_string("src/redaction/rules.toml").map_err(|error| error.to_string())?;
    let compiled = compile_rules::compile(&source)?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("rules.rs"), compiled.rules).map_err(|error| error.to_string())?;
    std::fs::write(out.join("rule_examples.rs"), compiled.examples)
        .map_err(|error| error.to_string())
}
