//! Replaces terms of a free-text query that no document contains by the indexed terms that share the most trigrams with
//! them, at a lower weight.

use crate::analysis::words::hash;
use crate::index::document_terms::DocumentTerms;
use crate::index::segment::Segment;
use crate::index::start::Start;
use crate::query::free_text::{Origin, Query, QueryTerm};

/// Minimum similarity of a replacement (Dice's coefficient of trigrams).
const LEAST_SIMILARITY: f32 = 0.6;

/// Weight of a replacement, multiplied by its similarity.
const REPLACEMENT_WEIGHT: f32 = 0.7;

const REPLACEMENTS: usize = 3;

/// Minimum number of letters of a term to replace: in shorter terms, one letter is too large a part.
const LEAST_LETTERS: usize = 4;

/// Maximum difference of length. A replacement must also begin with the same bytes ([`Start`]).
const LENGTH_DIFFERENCE: usize = 3;

/// The terms to replace, and the candidates so far.
#[derive(Debug, Default)]
pub(crate) struct Expansion<'a> {
    absent: Vec<Absent<'a>>,
}

/// A query term that no document has contained so far.
#[derive(Debug)]
struct Absent<'a> {
    term: &'a QueryTerm,
    trigrams: Vec<[char; 3]>,
    similar: Vec<(f32, Box<str>)>,
}

impl<'a> Expansion<'a> {
    /// Starts a search for the terms of a query that are absent.
    pub(crate) fn new(query: &'a Query, is_absent: impl Fn(usize) -> bool) -> Self {
        let terms = query.terms().iter().enumerate();
        let absent = terms
            .filter(|(number, term)| is_replaceable(term) && is_absent(*number))
            .map(|(_, term)| Absent { term, trigrams: trigrams(&term.text), similar: Vec::new() });
        Self { absent: absent.collect() }
    }

    /// The terms to replace.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &str> {
        self.absent.iter().map(|absent| &*absent.term.text)
    }

    /// Whether there is no term to replace.
    pub(crate) fn is_idle(&self) -> bool {
        self.absent.is_empty()
    }

    /// Examines the terms of a segment.
    pub(crate) fn see_segment(&mut self, segment: &Segment) {
        for absent in &mut self.absent {
            let similar = segment.starting_with(Start::of(&absent.term.text));
            similar.for_each(|(text, _)| absent.see(text));
        }
    }

    /// Examines the terms of a document.
    pub(crate) fn see_document(&mut self, document: &DocumentTerms) {
        for absent in &mut self.absent {
            let similar = document.starting_with(Start::of(&absent.term.text));
            similar.for_each(|text| absent.see(text));
        }
    }

    /// Examines one term of a document.
    pub(crate) fn see(&mut self, text: &str) {
        self.absent.retain_mut(|absent| {
            if *text == *absent.term.text {
                return false;
            }
            absent.see(text);
            true
        });
    }

    /// The replacements found.
    pub(crate) fn into_terms(self) -> Vec<QueryTerm> {
        let mut terms = Vec::new();
        for Absent { term, mut similar, .. } in self.absent {
            similar.sort_unstable_by(|left, right| {
                right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1))
            });
            similar.dedup();
            terms.extend(similar.into_iter().take(REPLACEMENTS).map(|(similarity, text)| {
                let weight = term.weight * REPLACEMENT_WEIGHT * similarity;
                QueryTerm {
                    hash: hash(&text),
                    text,
                    weight,
                    part: term.part,
                    origin: Origin::Similar,
                }
            }));
        }
        terms
    }
}

impl Absent<'_> {
    fn see(&mut self, text: &str) {
        if Start::of(text) != Start::of(&self.term.text)
            || text.len().abs_diff(self.term.text.len()) > LENGTH_DIFFERENCE
        {
            return;
        }
        let similarity = similarity(&self.trigrams, &trigrams(text));
        if similarity >= LEAST_SIMILARITY {
            self.similar.push((similarity, text.into()));
        }
    }
}

/// Whether a term may be misspelt. Numbers and identifiers with digits are not replaced.
fn is_replaceable(term: &QueryTerm) -> bool {
    term.origin == Origin::Own
        && term.text.chars().count() >= LEAST_LETTERS
        && term.text.chars().all(char::is_alphabetic)
}
/// The trigrams of a term with a boundary on either side, in order.
pub(crate) fn trigrams(text: &str) -> Vec<[char; 3]> {
    let bordered = || std::iter::once(' ').chain(text.chars()).chain(std::iter::once(' '));
    let triples = bordered().zip(bordered().skip(1)).zip(bordered().skip(2));
    let mut trigrams: Vec<[char; 3]> =
        triples.map(|((first, second), third)| [first, second, third]).collect();
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// Dice's coefficient: 0 for nothing in common, 1 for equality.
pub(crate) fn similarity(left: &[[char; 3]], right: &[[char; 3]]) -> f32 {
    let common = left.iter().filter(|trigram| right.binary_search(trigram).is_ok()).count();
    2.0 * common as f32 / (left.len() + right.len()).max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacements(query: &str, vocabulary: &[&str]) -> Vec<(String, f32)> {
        let query = Query::builder().text(query, 1.0).build();
        let mut expansion = Expansion::new(&query, |_| true);
        vocabulary.iter().for_each(|term| expansion.see(term));
        let terms = expansion.into_terms();
        terms.iter().map(|term| (term.text.to_string(), term.weight)).collect()
    }

    #[test]
    fn an_absent_term_is_replaced_by_the_most_similar() {
        let found =
            replacements("kubernetx", &["kubernet", "kubectl", "cubernet", "kubernetxesofio"]);
        assert_eq!(found.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), ["kubernet"]);
        assert!(found[0].1 > 0.5 && found[0].1 < REPLACEMENT_WEIGHT);
        let many = ["handlera", "handlerb", "handlerc", "handlerd"];
        assert_eq!(replacements("handlerx", &many).len(), REPLACEMENTS);
    }

    #[test]
    fn present_short_and_numbered_terms_are_not_replaced() {
        assert!(replacements("handler", &["handlers", "handler"]).is_empty());
        assert!(replacements("abc", &["abcd"]).is_empty());
        assert!(replacements("hat084", &["hat085"]).is_empty());
    }

    #[test]
    fn similarity_is_symmetric_and_bounded() {
        let of = |left: &str, right: &str| similarity(&trigrams(left), &trigrams(right));
        assert_eq!(of("same", "same"), 1.0);
        assert_eq!(of("same", "other"), 0.0);
        assert_eq!(of("recieve", "receive"), of("receive", "recieve"));
    }
}
