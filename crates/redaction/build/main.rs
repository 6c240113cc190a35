//! Build script: compiles the redaction rules in `rules.toml` into Rust statics.

mod compile_rules;

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=rules.toml");
    if let Err(message) = write_rules() {
        println!("cargo::error=rules.toml: {}", message.trim_end().replace('\n', " "));
    }
}

fn write_rules() -> Result<(), String> {
    let source = std::fs::read_to_string("rules.toml").map_err(|error| error.to_string())?;
    let compiled = compile_rules::compile(&source)?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("rules.rs"), compiled.rules).map_err(|error| error.to_string())?;
    std::fs::write(out.join("rule_examples.rs"), compiled.examples)
        .map_err(|error| error.to_string())
}
