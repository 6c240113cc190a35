//! Sets the linker flags that a Node.js addon needs.

fn main() {
    if std::env::var_os("CARGO_FEATURE_NODE").is_some() {
        napi_build::setup();
    }
    println!("cargo::rerun-if-changed=build.rs");
}
