//! Measures the CPU time that redaction takes per byte of a text.

use redaction::{Redaction, RedactionOptions, Redactor, Report};
use rustix::time::{ClockId, clock_gettime};
use std::sync::{Arc, LazyLock};

/// Maximum time of redaction in milliseconds per MB, for any text.
pub const BOUND: u64 = 60;
/// Number of repetitions for texts that seem slow, because the machine may have been busy.
const REPEATS: usize = 5;
/// Minimum length of a text: shorter texts do not give a meaningful time per MB.
const SHORTEST: usize = 4 << 10;
/// Approximate slowdown by a fuzzer's instrumentation.
const SLOWER: u64 = 10;

static REDACTION: LazyLock<Redaction> = LazyLock::new(|| {
    let redactor = Redactor::new(RedactionOptions::default()).expect("the rules compile");
    Redaction::new(redactor, Arc::default())
});

/// The anchors of all rules.
///
/// # Panics
/// When the rules cannot be read.
#[must_use]
pub fn anchors() -> Vec<String> {
    let rules: toml::Table = include_str!("../../crates/redaction/rules.toml").parse().expect("TOML");
    let rules = rules["rule"].as_array().expect("an array of rules");
    let anchors = rules.iter().filter_map(|rule| rule.get("anchors")?.as_array()).flatten();
    anchors.filter_map(|anchor| anchor.as_str().map(str::to_owned)).collect()
}

/// The CPU time of redacting a text, in microseconds per MB. If it is above `floor`, the fastest of several runs is
/// returned.
#[must_use]
pub fn of_redaction(text: &str, floor: u64) -> u64 {
    let mut fastest = u64::MAX;
    for _ in 0..REPEATS {
        let start = cpu_time();
        let redacted = REDACTION.text(text, &mut Report::default());
        let time = cpu_time() - start;
        drop(redacted.expect("any text can be redacted"));
        fastest = fastest.min(time * 1000 / text.len().max(1) as u64);
        if fastest <= floor {
            break;
        }
    }
    fastest
}

/// Checks that redaction takes time in proportion to the text, in a build for fuzzing.
///
/// # Panics
/// When it does not.
pub fn check_time(text: &str) {
    let bound = SLOWER * BOUND * 1000;
    let is_long = text.len() >= SHORTEST;
    assert!(!is_long || of_redaction(text, bound) <= bound, "slow: {text:?}");
}

/// The CPU time of this thread, in nanoseconds.
fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
