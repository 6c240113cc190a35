//! Finds terms that a user may have meant by words that no document contains: misspelt terms by edit distance,
//! compounds by their parts, and terms with most trigrams in common. Used by searches with the search syntax, when they
//! run again with the similar terms; `expansion` does this for free-text queries.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::inverted_index::Index;
use crate::query::expansion::{similarity, trigrams};

/// Minimum number of letters: in shorter words, one letter is too large a part.
const LEAST_LETTERS: usize = 4;
/// Words of at least this many letters may have two errors.
const TWO_EDITS_FROM: usize = 8;
/// Maximum number of terms for a word.
const MOST_TERMS: usize = 5;
/// Maximum number of letters of a term.
const LONGEST_TERM: usize = 64;
/// Minimum number of letters of a term that a word begins with, except for few letters at its end; such a term has this
/// similarity.
const LEAST_BEGINNING: usize = 5;
const MOST_ENDING: usize = 7;
const BEGINNING_SIMILARITY: f32 = 0.4;
/// Minimum share of common trigrams (Dice's coefficient).
const LEAST_TRIGRAMS: f32 = 0.6;
/// Similarity of a word that is part of a term; it grows with the share of the term that the word makes up.
const PART_SIMILARITY: f32 = 0.5;

/// The lengths of terms that may be similar to one of these words, in characters. `None` if no word can be misspelt.
pub(crate) fn lengths_of_similar(words: &[Box<str>]) -> Option<RangeInclusive<usize>> {
    let lengths = words.iter().filter_map(|word| Wanted::new(word)).map(|word| word.letters.len());
    let shortest = lengths.min()?.saturating_sub(MOST_ENDING).max(LEAST_LETTERS - 1);
    // A long term may contain a word.
    Some(shortest..=LONGEST_TERM)
}

/// The terms of the indexes and of `vocabulary` that may be meant by these words, none of which is indexed.
pub(crate) fn similar_terms(
    indexes: &[&Index],
    vocabulary: &[String],
    words: &[Box<str>],
) -> Vec<Box<str>> {
    let words: Vec<Wanted> = words.iter().filter_map(|word| Wanted::new(word)).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut terms: FxHashSet<Box<str>> = FxHashSet::default();
    Index::having(indexes, |having| {
        let mut best: Vec<FxHashMap<&str, f32>> =
            words.iter().map(|_| FxHashMap::default()).collect();
        let mut compare = |term| {
            for (wanted, best) in words.iter().zip(&mut best) {
                if let Some(similarity) = wanted.similarity(term) {
                    best.insert(term, similarity);
                }
            }
        };
        having.for_each_term(|term, _| compare(term));
        vocabulary.iter().for_each(|term| compare(term));
        for best in &best {
            let mut best: Vec<(&str, f32)> = best.iter().map(|(term, one)| (*term, *one)).collect();
            best.sort_by(|one, other| match other.1.total_cmp(&one.1) {
                Ordering::Equal => one.0.cmp(other.0),
                unequal => unequal,
            });
            terms.extend(best.into_iter().take(MOST_TERMS).map(|(term, _)| Box::from(term)));
        }
    });
    let mut terms: Vec<Box<str>> = terms.into_iter().collect();
    terms.sort_unstable();
    terms
}

/// A word to search for.
struct Wanted {
    letters: Vec<char>,
    text: Box<str>,
    trigrams: Vec<[char; 3]>,
    edits: usize,
}

impl Wanted {
    /// `None` for words that are too short to be misspelt, and for numbers.
    fn new(word: &str) -> Option<Self> {
        let letters: Vec<char> = word.chars().collect();
        let is_word =
            letters.len() >= LEAST_LETTERS && letters.iter().all(|one| one.is_alphabetic());
        is_word.then(|| Self {
            edits: if letters.len() < TWO_EDITS_FROM { 1 } else { 2 },
            text: word.into(),
            trigrams: trigrams(word),
            letters,
        })
    }

    /// Whether the word begins with almost the same letters as the term and continues where the term ends, like a word
    /// with an ending that stemming removes.
    fn begins_as(&self, term: &[char]) -> bool {
        let length = self.letters.len();
        let has_ending = (1..=MOST_ENDING).contains(&length.saturating_sub(term.len()));
        let begins = |end: usize| {
            self.letters.get(..end).is_some_and(|beginning| distance(beginning, term, 1).is_some())
        };
        term.len() >= LEAST_BEGINNING && has_ending && (term.len() - 1..=term.len() + 1).any(begins)
    }

    /// The similarity to a term, from 0 to 1; `None` if the term is too different.
    fn similarity(&self, term: &str) -> Option<f32> {
        let length = self.letters.len();
        let letters: Vec<char> = term.chars().collect();
        let share = |part: usize, whole: usize| part as f32 / whole.max(1) as f32;
        if letters.len().abs_diff(length) <= self.edits
            && let Some(edits) = distance(&self.letters, &letters, self.edits)
        {
            return Some(1.0 - share(edits, length) / 2.0);
        }
        if term.contains(&*self.text) {
            return Some(PART_SIMILARITY + share(length, letters.len()) / 4.0);
        }
        if self.begins_as(&letters) {
            return Some(BEGINNING_SIMILARITY);
        }
        // A much longer term has few common trigrams.
        let trigrams_in_common = || similarity(&self.trigrams, &trigrams(term));
        (letters.len() <= 2 * length)
            .then(trigrams_in_common)
            .filter(|similarity| *similarity >= LEAST_TRIGRAMS)
            .map(|similarity| similarity / 2.0)
    }
}

/// The number of letters to insert, delete, replace or transpose; `None` if it exceeds `most`.
fn distance(one: &[char], other: &[char], most: usize) -> Option<usize> {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut current = Vec::with_capacity(other.len() + 1);
        current.push(row + 1);
        for (column, other_letter) in other.iter().enumerate() {
            let at =
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&last, column) + usize::from(letter != other_letter);
            let mut least = replaced.min(at(&last, column + 1) + 1).min(at(&current, column) + 1);
            let is_exchanged = row > 0
                && column > 0
                && one.get(row - 1) == Some(other_letter)
                && other.get(column - 1) == Some(letter);
            if is_exchanged {
                least = least.min(at(&before_last, column - 1) + 1);
            }
            current.push(least);
        }
        if current.iter().all(|edits| *edits > most) {
            return None;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Document;

    fn edits(one: &str, other: &str) -> Option<usize> {
        let letters = |text: &str| text.chars().collect::<Vec<char>>();
        distance(&letters(one), &letters(other), 2)
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("effect", "effect"), Some(0));
        assert_eq!(edits("ffect", "effect"), Some(1));
        assert_eq!(edits("recieve", "receive"), Some(1));
        assert_eq!(edits("kubrnetse", "kubernetes"), Some(2));
        assert_eq!(edits("abcd", "wxyz"), None);
    }

    #[test]
    fn the_most_similar_terms_are_taken() {
        let index = Index::new();
        let result = "kubernetes effect authentication cube affection";
        index.add(1, &Document { result, ..Document::default() });
        let similar = |word: &str| similar_terms(&[&index], &[], &[word.into()]);
        assert_eq!(similar("kubernt"), ["kubernet".into()]);
        assert!(similar("ffect").contains(&"effect".into()));
        assert_eq!(similar("uthent"), ["authent".into()]);
        assert_eq!(similar("uthenticatio"), ["authent".into()]);
        assert!(
            similar("abc").is_empty()
                && similar("zzzzzz").is_empty()
                && similar("x8664").is_empty()
        );
    }

    proptest! {
        #[test]
        fn a_distance_is_symmetric(one in "[a-c]{0,8}", other in "[a-c]{0,8}") {
            prop_assert_eq!(edits(&one, &other), edits(&other, &one));
            prop_assert_eq!(edits(&one, &one), Some(0));
        }
    }
}
