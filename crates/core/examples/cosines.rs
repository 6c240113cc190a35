//! Measures the similarity of a query to many texts: `cargo run --release -p agent-context-core --example cosines --
//! [TEXTS] [DIMENSIONS]`. Prints the mean processor time of the cosines, and with the nearness made of them.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{path::Path, time::Duration};

use agent_context_core::{
    Debug,
    vectors::{Embedded, TextDigest, Vectors},
};

const ROUNDS: u32 = 200;

/// Numbers from -1 to 1, the same in each run.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 1_u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| number()).collect()
}

/// The processor time that this thread has taken (Linux). Other programs on the machine do not add to it.
fn processor_time() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = statistics.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(time.unwrap_or_default())
}

fn report(name: &str, work: impl Fn() -> bool) {
    let start = processor_time();
    for _ in 0..ROUNDS {
        assert!(work(), "texts have vectors");
    }
    println!("{name}: {:.2?}", (processor_time() - start) / ROUNDS);
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
