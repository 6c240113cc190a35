//! Hostile patterns of callers: searching takes a bounded number of steps, whatever they are and
//! whatever the text is.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::time::{Duration, Instant};

use agent_context::expressions::Expression;

/// What is repeated.
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

/// How it is repeated; `P` is the part.
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

/// Texts of so many bytes.
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
    const BYTES: usize = 1 << 12;
    let texts = texts(BYTES);
    let (mut compiled, mut most) = (0, 0);
    for pattern in patterns() {
        let Ok(expression) = Expression::new(&pattern, "gu") else { continue };
        compiled += 1;
        for (name, text) in &texts {
            let steps = expression.find(text, &mut Vec::new());
            let steps = steps.unwrap_or_else(|error| panic!("/{pattern}/ on {name}: {error:?}"));
            most = most.max(steps / text.len() as u64);
        }
    }
    assert!(compiled > 400, "{compiled} are searched for");
    assert!(most <= 300, "{most} steps for a byte");
}

#[test]
#[ignore = "measures, and so wants a release build and a quiet machine"]
fn times_of_hostile_patterns() {
    let texts = texts(1_000_000);
    let mut times = Vec::new();
    let (mut refused, mut failed) = (0, 0);
    for pattern in patterns() {
        let start = Instant::now();
        let compiled = Expression::new(&pattern, "gu");
        times.push((start.elapsed(), 0, format!("compiling /{pattern}/")));
        let Ok(expression) = compiled else {
            refused += 1;
            continue;
        };
        for (name, text) in &texts {
            let mut hits = Vec::new();
            let start = Instant::now();
            let steps = expression.find(text, &mut hits);
            failed += usize::from(steps.is_err());
            let what = format!("/{pattern}/ on {name}: {} hits", hits.len());
            times.push((start.elapsed(), steps.unwrap_or(u64::MAX), what));
        }
    }
    times.sort_by(|left, right| right.cmp(left));
    for (time, steps, what) in times.iter().take(30) {
        println!("{time:?} {steps} {what}");
    }
    let total: Duration = times.iter().map(|(time, ..)| *time).sum();
    println!("{} measured, mean {:?}", times.len(), total / times.len() as u32);
    println!("{refused} refused, {failed} need too many steps");
}
