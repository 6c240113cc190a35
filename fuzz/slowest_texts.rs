//! `cargo run --profile timing --example slowest_texts [TEXTS] [SEED] [FIRST]`: redacts generated texts, and prints
//! those that take the most CPU time per byte. Fails when one exceeds the limit. `FIRST` is the number of the first
//! text: each text has a number, from which it can be generated again.

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

/// Number of the slowest texts that are measured again, and number of repetitions: other work on the machine makes
/// times longer.
const KEPT: usize = 500;
const ROUNDS: usize = 40;
/// Number of the slowest texts that are printed.
const SHOWN: usize = 10;
/// Number of characters of a text that are printed.
const EXCERPT: usize = 160;
/// Interval at which progress is printed.
const PROGRESS: Duration = Duration::from_secs(60);

fn main() {
    let argument = |index, default: u64| {
        env::args().nth(index).map_or(default, |text| text.parse().expect("a number"))
    };
    let (texts, seed, first) = (argument(1, 10_000), argument(2, 1), argument(3, 0));
    let (tokens, mut slowest) = (repeated::tokens(time::anchors()), BinaryHeap::new());
    let mut printed = Instant::now();
    let print = |count: u64, slowest: &BinaryHeap<Reverse<(u64, u64)>>| {
        let worst = slowest.iter().map(|Reverse((time, _))| *time).max().unwrap_or_default();
        println!("{count} texts, the slowest takes {} µs a MB", worst);
    };
    let text_of = |number| repeated::text(&mut Random(seed << 32 | number), &tokens);
    for number in first..first + texts {
        let text = text_of(number);
        let floor = slowest.peek().map_or(0, |Reverse((time, _))| *time);
        let time = time::of_redaction(&text, if slowest.len() < KEPT { 0 } else { floor });
        slowest.push(Reverse((time, number)));
        if slowest.len() > KEPT {
            slowest.pop();
        }
        if printed.elapsed() > PROGRESS {
            printed = Instant::now();
            print(number - first + 1, &slowest);
        }
    }
    print(texts, &slowest);
    let mut slowest: Vec<_> = slowest.into_iter().map(|Reverse(slow)| slow).collect();
    // All texts in each round, so that other work on the machine does not affect all measurements of a text.
    for _ in 0..ROUNDS {
        for (time, number) in &mut slowest {
            *time = time::of_redaction(&text_of(*number), 0).min(*time);
        }
    }
    slowest.sort_unstable_by_key(|&slow| Reverse(slow));
    for &(time, number) in slowest.iter().take(SHOWN) {
        let text = text_of(number);
        let excerpt: String = text.chars().take(EXCERPT).collect();
        println!("{time:>7} µs/MB  {:>6} bytes  number {number:>8}  {excerpt:?}", text.len());
    }
    let worst = slowest.first().map_or(0, |&(time, _)| time);
    assert!(worst <= time::BOUND * 1000, "a text takes more than {} ms a MB", time::BOUND);
}
