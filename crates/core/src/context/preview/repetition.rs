//! Recognises repeated lines: lines that differ in numbers, times and ids only have the same form.

use std::hash::{BuildHasher, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

/// The most forms that are counted; a text with more is not repetitive.
const MAX_FORMS: usize = 1 << 16;
/// The least lines of a form that repeats.
const LEAST_REPEATED: u32 = 8;
/// The part of a line that is examined, in bytes.
const MAX_LOOKED_AT: usize = 256;

/// The form of a line, as hashes of its text without numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// The whole line.
    pub whole: u64,
    /// Its first word.
    first: u64,
    /// Its first two words.
    second: u64,
}

impl Form {
    /// The form of a line; `None` for a blank one.
    pub fn of(line: &str) -> Option<Self> {
        let line = line.get(..line.floor_char_boundary(MAX_LOOKED_AT)).unwrap_or_default();
        if line.trim().is_empty() {
            return None;
        }
        let whole = hash_without_numbers(line);
        let mut words = line.split_whitespace().filter(|word| is_word(word));
        let hash = |word: &str| FxBuildHasher.hash_one(word);
        let first = words.next().map_or(whole, hash);
        let second = words.next().map_or(first, |word| hash(word) ^ first.rotate_left(17));
        Some(Self { whole, first, second })
    }
}

/// Whether a word has letters and no digits.
fn is_word(word: &str) -> bool {
    word.chars().filter(|one| one.is_alphabetic()).nth(1).is_some()
        && !word.bytes().any(|byte| byte.is_ascii_digit())
}

fn hash_without_numbers(line: &str) -> u64 {
    let mut hasher = FxHasher::default();
    let mut in_number = false;
    for byte in line.bytes() {
        let is_digit = byte.is_ascii_digit();
        if !is_digit {
            hasher.write_u8(byte);
        } else if !in_number {
            hasher.write_u8(b'0');
        }
        in_number = is_digit;
    }
    hasher.finish()
}

/// The number of lines of each form in a text.
#[derive(Default)]
pub(super) struct Forms {
    counts: FxHashMap<u64, u32>,
    lines: u32,
}

impl Forms {
    /// Counts a line.
    pub fn add(&mut self, form: Form) {
        self.lines += 1;
        let keys = [form.first, form.second];
        // For a line of one word, both hashes are equal and count once.
        for key in keys.iter().take(if form.first == form.second { 1 } else { 2 }) {
            if let Some(count) = self.counts.get_mut(key) {
                *count += 1;
            } else if self.counts.len() < MAX_FORMS {
                self.counts.insert(*key, 1);
            }
        }
    }

    /// The number of lines with this form.
    pub fn count(&self, form: Form) -> u32 {
        let count = |key| self.counts.get(key).copied().unwrap_or_default();
        count(&form.first).max(count(&form.second))
    }

    /// Whether many lines begin like this one.
    pub fn is_repeated(&self, form: Form) -> bool {
        self.count(form) >= LEAST_REPEATED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_numbers_are_of_one_form() {
        let form = |line| Form::of(line).map(|form| form.whole);
        assert_eq!(
            form("12:00:01 INFO request 17 took 5 ms"),
            form("12:00:59 INFO request 1801 took 12 ms")
        );
        assert_ne!(form("12:00:01 INFO request 17"), form("12:00:01 INFO response 17"));
        assert_eq!(form(" \t"), None);
    }

    #[test]
    fn what_many_lines_begin_with_is_repeated() {
        let mut forms = Forms::default();
        let lines: Vec<String> =
            (0..20).map(|id| format!("[{id}] Compiling package-{id} v1")).collect();
        for line in lines.iter().map(String::as_str).chain(["error: it does not compile"]) {
            forms.add(Form::of(line).unwrap());
        }
        assert!(forms.is_repeated(Form::of("[99] Compiling another v2").unwrap()));
        assert!(!forms.is_repeated(Form::of("error: it does not compile").unwrap()));
    }
}
