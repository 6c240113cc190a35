//! Measures the similarity of a query to many texts: `cargo run --release -p agent-context-core --example cosines --
//! [TEXTS] [DIMENSIONS]`. Prints the least and the median time of the cosines alone, and with the nearness made of them.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use agent_context_core::{
    Debug,
    vectors::{Embedded, TextDigest, Vectors},
};

const ROUNDS: usize = 51;

/// Numbers from -1 to 1, the same in each run.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 1_u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| number()).collect()
}

fn report(name: &str, mut work: impl FnMut() -> bool) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            assert!(work(), "texts have vectors");
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let [least, median] =
        [0, ROUNDS / 2].map(|place| times.get(place).copied().unwrap_or_default());
    println!("{name}: least {least:.2?}, median {median:.2?}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let count: usize = arguments.next().unwrap_or(100_000);
    let dimensions: usize = arguments.next().unwrap_or(384);
    let vectors = Vectors::open(None, Path::new(""), None, Debug::default());
    let texts: Vec<String> = (0..count).map(|number| format!("text {number}")).collect();
    let digests: Vec<Option<TextDigest>> =
        texts.iter().map(|text| Some(TextDigest::of(text))).collect();
    vectors.add(texts, numbers(count * dimensions)).await;
    let Some(embedded) = vectors.query(&numbers(dimensions)) else { return };
    println!("{count} texts, {dimensions} dimensions, room for {}", vectors.room());
    let digests = || digests.iter().copied();
    let near = |embedded: &Embedded| embedded.nearness(digests()).is_some();
    report("cosines", || embedded.cosines(digests()).is_some());
    report("nearness", || near(&embedded));
}
