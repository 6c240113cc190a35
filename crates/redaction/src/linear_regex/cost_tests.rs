//! Hostile patterns: a search takes a bounded number of steps for every expression and every text.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use super::{LinearRegex, TooManySteps};

/// Expressions that are repeated.
const PARTS: [&str; 20] = [
    "a",
    "x+",
    "a|a",
    "a|b",
    r"\w",
    r"\w+\s?",
    ".",
    ".*",
    "[01]",
    "[^A-Z]",
    r"[\s\S]",
    "a{1,100}",
    r"\p{L}",
    r"[\p{L}\p{N}_-]",
    "(?:ab?|cd?|ef?|gh?|ij?|kl?)",
    "é|ü",
    r"\d{1,3}\.",
    "aa|aaa|aaaa",
    r"(?<secret>[a-z]\d?)",
    r"[^\d]|[^\w]",
];

/// How they are repeated; `P` is replaced by the expression.
const SHAPES: [&str; 25] = [
    "(?:P)+",
    "(?:(?:P)+)+$",
    "((P)+(P)+)+y",
    "(?:.*P){20}",
    "(?:P)*b",
    "[01]*1(?:P){20}",
    "(?:P)+.*z|a",
    "(?:P)+?.*?z",
    ".*P|P",
    "(?:P){1,100}",
    "(?:(?:P){1,10}){1,10}",
    "P.{0,40}P.{0,40}P",
    r"\b(?:P)+\b",
    "^(?:P)+",
    r"(?:\B|\b)(?:P)+(?:$|x)",
    "(?:P)+(?:P)?(?:P)?(?:P)?(?:P)?1",
    "(?:(?:P)?){60}a",
    "(?:x|P|y|P|z|P|0|P|1|P)+",
    r"P[\s\S]*P",
    r"P[\s\S]*?P",
    "(?:P)+(?:.*(?:P).*END)?",
    "(?:P){200}",
    "(?:P)+[^a]|1(?:P)+",
    "(?:P[ab]?[01]?x?)+?(?:$|z|y)",
    "(?:(?:(?:P)*x)*a)*z|P",
];

fn patterns() -> impl Iterator<Item = String> {
    SHAPES.iter().flat_map(|shape| PARTS.iter().map(move |part| shape.replace('P', part)))
}

/// Texts of the given number of bytes.
fn texts(bytes: usize) -> Vec<(&'static str, String)> {
    let repeat = |text: &str| text.repeat(bytes / text.len());
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |letters: &str| -> String {
        let letters: Vec<char> = letters.chars().collect();
        let mut text = String::new();
        while text.len() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(letters[(state >> 33) as usize % letters.len()]);
        }
        text
    };
    vec![
        ("a", repeat("a")),
        ("ax", repeat("ax")),
        ("letters", random("abcdefgxyz")),
        ("binary", random("01")),
        ("words", random("abcxyz019 _-.\n")),
        ("accents", random("éüäößaA1 ")),
        ("wide", random("汉字é😀aZ0")),
    ]
}

#[test]
fn hostile_patterns_need_a_bounded_number_of_steps() {
    const BYTES: usize = 1 << 10;
    let texts = texts(BYTES);
    let (mut searched, mut failed, mut most) = (0, 0, 0);
    for pattern in patterns() {
        let Ok(expression) = LinearRegex::new(&pattern, "gu") else { continue };
        for (_, text) in &texts {
            searched += 1;
            match expression.find(text, &mut Vec::new()) {
                Ok(steps) => most = most.max(steps / text.len() as u64),
                Err(TooManySteps) => failed += 1,
            }
        }
    }
    assert!(searched > 3000, "{searched} are searched for");
    assert!(failed < searched / 25, "{failed} of {searched} need too many steps");
    assert!(most <= 160, "{most} steps for a byte");
}

/// CPU time of this thread, where the system reports it, otherwise elapsed time.
fn time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split(' ').next().and_then(|ran| ran.parse().ok()) {
        Some(ran) => Duration::from_nanos(ran),
        None => START.get_or_init(Instant::now).elapsed(),
    }
}

#[test]
#[ignore = "measures, and so wants a release build and a quiet machine"]
fn times_of_hostile_patterns() {
    let texts = texts(1_000_000);
    let (mut compiling, mut finding) = (Vec::new(), Vec::new());
    let (mut refused, mut failed) = (0, 0);
    for pattern in patterns() {
        let start = time();
        let compiled = LinearRegex::new(&pattern, "gu");
        compiling.push((time() - start, format!("/{pattern}/")));
        let Ok(expression) = compiled else {
            refused += 1;
            continue;
        };
        for (name, text) in &texts {
            let mut hits = Vec::new();
            let start = time();
            let steps = expression.find(text, &mut hits);
            let time = time() - start;
            failed += usize::from(steps.is_err());
            finding.push((time, format!("{steps:?} {} hits of /{pattern}/ on {name}", hits.len())));
        }
    }
    for (title, times) in [("to compile", &mut compiling), ("to find in 1 MB", &mut finding)] {
        times.sort();
        let at = |part: usize| times[(times.len() - 1) * part / 100].0;
        println!("{title}: median {:?}, 99 % {:?}, worst", at(50), at(99));
        times.iter().rev().take(20).for_each(|(time, what)| println!("  {time:?} {what}"));
    }
    println!("{refused} refused, {failed} need too many steps");
}
