//! `cargo run --profile timing --example slowest_texts [TEXTS] [SEED] [MILLISECONDS A MB]`: redacts generated texts,
//! and prints those that take the most CPU time for each byte. Fails when one takes more than it may.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    env,
    time::{Duration, Instant},
};

use agent_context_fuzz::{
    repeated::{self, Random},
    time,
};

/// So many of the slowest texts are printed.
const SHOWN: usize = 10;
/// Of what is printed of a text, in characters.
const EXCERPT: usize = 160;
/// Progress is printed so often.
const PROGRESS: Duration = Duration::from_secs(60);

fn main() {
    let argument = |index, default: u64| {
        env::args().nth(index).map_or(default, |text| text.parse().expect("a number"))
    };
    let (texts, seed, bound) = (argument(1, 10_000), argument(2, 1), argument(3, time::BOUND));
    let (tokens, mut slowest) = (repeated::tokens(time::anchors()), BinaryHeap::new());
    let mut printed = Instant::now();
    let print = |count: u64, slowest: &BinaryHeap<Reverse<(u64, u64)>>| {
        let worst = slowest.iter().map(|Reverse((time, _))| *time).max().unwrap_or_default();
        println!("{count} texts, the slowest takes {} µs a MB", worst);
    };
    for number in 0..texts {
        // Each text has a seed of its own: it can be made again alone.
        let seed = seed << 32 | number;
        let text = repeated::text(&mut Random(seed), &tokens);
        let floor = slowest.peek().map_or(0, |Reverse((time, _))| *time);
        let time = time::of_redaction(&text, if slowest.len() < SHOWN { 0 } else { floor });
        slowest.push(Reverse((time, seed)));
        if slowest.len() > SHOWN {
            slowest.pop();
        }
        if printed.elapsed() > PROGRESS {
            printed = Instant::now();
            print(number + 1, &slowest);
        }
    }
    print(texts, &slowest);
    let slowest = slowest.into_sorted_vec();
    for Reverse((time, seed)) in &slowest {
        let text = repeated::text(&mut Random(*seed), &tokens);
        let excerpt: String = text.chars().take(EXCERPT).collect();
        println!("{time:>7} µs/MB  {:>6} bytes  seed {seed:>12}  {excerpt:?}", text.len());
    }
    let worst = slowest.first().map_or(0, |Reverse((time, _))| *time);
    assert!(worst <= bound * 1000, "a text takes more than {bound} ms a MB");
}
