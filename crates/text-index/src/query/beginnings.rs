//! A fast prefilter for texts: a run of text in which no pair of adjacent letters begins a searched term is skipped
//! without being tokenised.

use crate::analysis::words::irregular_forms;

/// For every pair of letters, whether a searched term can begin with it in ASCII text.
pub(crate) struct Beginnings(Box<[bool; 1 << 16]>);

impl Default for Beginnings {
    fn default() -> Self {
        Self(Box::new([false; 1 << 16]))
    }
}

impl Beginnings {
    /// Used in place of the second letter at the end of a text.
    const END: u8 = 0;

    /// Adds an index term, in all the forms of its word.
    pub(crate) fn add_term(&mut self, term: &str) {
        self.add(term);
        irregular_forms(term).for_each(|form| self.add(form));
    }

    /// Adds the start of a word. Stemming keeps the first letter of a word and, except for the shortest words, the
    /// second.
    pub(crate) fn add(&mut self, beginning: &str) {
        let mut bytes = beginning.bytes();
        let Some(first) = bytes.next().filter(u8::is_ascii) else { return };
        let second = bytes.next().filter(|_| beginning.len() > 3);
        let cases = |byte: u8| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        for first in cases(first) {
            match second {
                None => (0..=u8::MAX).for_each(|second| self.set(first, second)),
                Some(second) => {
                    // In text, a joiner may follow the first letter of an identifier.
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

    /// Whether the run may contain a searched term.
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
