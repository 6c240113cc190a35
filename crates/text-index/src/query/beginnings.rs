//! A quick look that tells of most words that they are not what is looked for.

use crate::analysis::words::irregular_forms;

/// With which two letters what is looked for can begin, where all is ASCII.
pub(crate) struct Beginnings(Box<[bool; 1 << 16]>);

impl Default for Beginnings {
    fn default() -> Self {
        Self(Box::new([false; 1 << 16]))
    }
}

impl Beginnings {
    /// What stands for the second letter at the end of a text.
    const END: u8 = 0;

    /// Adds a term of the index, in all the forms of its word.
    pub(crate) fn add_term(&mut self, term: &str) {
        self.add(term);
        irregular_forms(term).for_each(|form| self.add(form));
    }

    /// Stemming leaves the first letter of a word, and the second but for the shortest.
    pub(crate) fn add(&mut self, beginning: &str) {
        let mut bytes = beginning.bytes();
        let Some(first) = bytes.next().filter(u8::is_ascii) else { return };
        let second = bytes.next().filter(|_| beginning.len() > 3);
        let cases = |byte: u8| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        for first in cases(first) {
            match second {
                None => (0..=u8::MAX).for_each(|second| self.set(first, second)),
                Some(second) => {
                    // What joins the parts of an identifier stands between letters of the whole.
                    let joining = *b"_-'";
                    joining
                        .into_iter()
                        .chain(cases(second))
                        .for_each(|second| self.set(first, second));
                }
            }
        }
    }

    fn set(&mut self, first: u8, second: u8) {
        if let Some(slot) = self.0.get_mut(usize::from(first) << 8 | usize::from(second)) {
            *slot = true;
        }
    }

    /// Whether the run could have anything that is looked for.
    pub(crate) fn may_be_in(&self, run: &str) -> bool {
        let bytes = run.as_bytes();
        let seconds = bytes.iter().skip(1).chain(std::iter::once(&Self::END));
        bytes.iter().zip(seconds).any(|(&first, &second)| {
            self.0.get(usize::from(first) << 8 | usize::from(second)) == Some(&true)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_words_are_passed_over() {
        let mut beginnings = Beginnings::default();
        beginnings.add_term("login");
        beginnings.add_term("go");
        for run in ["login", "MyLoginForm", "l-og-in", "went", "Gone", "g"] {
            assert!(beginnings.may_be_in(run), "{run}");
        }
        for run in ["", "form", "winter", "la", "ol"] {
            assert!(!beginnings.may_be_in(run), "{run}");
        }
    }
}
