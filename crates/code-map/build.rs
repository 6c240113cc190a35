//! Build script: compiles the C part of the parser.

use std::path::PathBuf;

fn main() {
    let source = "src/symbols/bounded_parse.c";
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={source}");
    let mut build = cc::Build::new();
    // Set by tree-sitter's build script.
    if let Some(headers) = std::env::var_os("DEP_TREE_SITTER_INCLUDE").map(PathBuf::from) {
        // `parser.h` is in the neighbouring directory.
        build.include(headers.with_file_name("src")).include(headers);
    }
    build.std("c11").file(source).compile("bounded_parse");
}
