//! `cargo run --release --example random [INPUTS] [SEED] [redaction|front_matter]`: runs the checks on texts that are combined from a dictionary and from random characters.

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use agent_context_fuzz::{check_document, check_json, check_text, json_of};

/// Maximum number of pieces of a text.
const PIECES: u64 = 14;
const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/_-";

/// Random numbers with the same sequence for the same seed: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Appends letters as random as secrets: all letters, or hexadecimal digits.
    fn letters(&mut self, out: &mut String) {
        let kinds = [&LETTERS[..16], &LETTERS[..62], LETTERS];
        let letters = kinds[self.below(3) as usize];
        for _ in 0..self.below(70) {
            out.push(letters[self.below(letters.len() as u64) as usize].into());
        }
    }

    fn text(&mut self, words: &[String]) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(PIECES) {
            match self.below(8) {
                0..=4 => text.push_str(&words[self.below(words.len() as u64) as usize]),
                5 | 6 => self.letters(&mut text),
                _ => text.extend(char::from_u32(self.below(0x2_0000) as u32)),
            }
        }
        text
    }
}

/// The words of a dictionary, in libFuzzer's format.
fn words(dictionary: &str) -> Vec<String> {
    let quoted = dictionary.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    quoted
        .map(|word| {
            let word = word.replace("\\x0a", "\n").replace("\\x0d", "\r").replace("\\x09", "\t");
            word.replace("\\\"", "\"").replace("\\\\", "\\")
        })
        .collect()
}

/// A check of one input.
type Check = fn(&str);

fn check_redaction(text: &str) {
    check_text(text);
    check_json(json_of(text).as_bytes());
    check_json(text.as_bytes());
}

fn main() {
    let argument = |index, default: u64| {
        env::args().nth(index).map_or(default, |text| text.parse().expect("a number"))
    };
    let (inputs, seed) = (argument(1, 1_000_000), argument(2, 5));
    let (check, dictionary): (Check, _) = match env::args().nth(3).as_deref() {
        None | Some("redaction") => (check_redaction, include_str!("redaction.dict")),
        Some("front_matter") => (check_document, include_str!("front_matter.dict")),
        Some(other) => panic!("no checks are called {other:?}"),
    };
    let (mut random, words, start) = (Random(seed), words(dictionary), Instant::now());
    let mut failures = 0_u64;
    for input in 1..=inputs {
        let text = random.text(&words);
        // The panic message of a failed check is printed.
        failures += u64::from(catch_unwind(AssertUnwindSafe(|| check(&text))).is_err());
        if input % 100_000 == 0 || input == inputs {
            println!("{input} inputs, {failures} of them fail, after {:.0?}", start.elapsed());
        }
    }
    assert!(failures == 0, "{failures} inputs fail");
}
