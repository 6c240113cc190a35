//! The analysed terms of one document.

use crate::analysis::stop_words::StopWords;
use crate::analysis::tokens::{Token, tokenize_all, tokenize_with_opening};
use crate::analysis::words::hash;
use crate::index::collector::Collector;
use crate::index::facts::{self, FACT_FIELD};
use crate::index::fields::{Document, FIELDS, Lengths, RESULT_FIELDS, shared_opening};
use crate::index::postings::Frequencies;
use crate::index::sketch::{Sketch, identifiers};
use crate::index::start::Start;

/// The distinct terms of one document, ordered by hash, then text.
#[derive(Debug)]
pub(crate) struct DocumentTerms {
    pub(crate) lengths: Lengths,
    pub(crate) stop_words: StopWords,
    pub(crate) sketch: Sketch,
    terms: Box<[Term]>,
    text: Box<str>,
    /// The first bytes of each term.
    starts: Box<[Start]>,
    /// A bit set of the terms, by which the absence of a term is detected quickly.
    signature: Signature,
}

#[derive(Debug)]
struct Term {
    hash: u32,
    end: u32,
    frequencies: Frequencies,
}

impl DocumentTerms {
    pub(crate) fn new(document: &Document<'_>) -> Self {
        Collector::with(|collector| {
            let mut stop_words = StopWords::default();
            let mut pairs = std::mem::take(&mut collector.pairs);
            let lengths = for_each_token(document, |field, token| match token {
                Token::Term(term, hash) => {
                    collector.add(field, term, hash);
                    pairs.add(field, hash);
                }
                Token::StopWord(number) => stop_words.insert(number),
            });
            let sketch = Sketch { pairs: pairs.take(), identifiers: identifiers(collector) };
            collector.pairs = pairs;
            let names_time = names_time(collector);
            for_each_fact(document, names_time, |fact| {
                collector.add(FACT_FIELD, fact, hash(fact));
            });
            let order = collector.order();
            let mut terms = Vec::with_capacity(order.len());
            let mut starts = Vec::with_capacity(order.len());
            let mut text = String::with_capacity(collector.text.len());
            let mut signature = Signature::default();
            for entry in order.iter().filter_map(|number| collector.entries.get(*number)) {
                let term = collector.text_of(entry);
                text.push_str(term);
                signature.insert(entry.hash);
                starts.push(Start::of(term));
                terms.push(Term {
                    hash: entry.hash,
                    end: text.len() as u32,
                    frequencies: Frequencies::from_counts(&entry.counts),
                });
            }
            let (terms, text, starts) = (terms.into(), text.into(), starts.into());
            Self { lengths, stop_words, sketch, terms, text, starts, signature }
        })
    }

    /// The approximate memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.terms) + self.text.len() + self.sketch.bytes()
    }

    /// The number of terms.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// How often each field contains a term.
    pub(crate) fn find(&self, hash: u32, term: &str) -> Frequencies {
        if !self.signature.may_contain(hash) {
            return Frequencies::default();
        }
        let first = self.terms.partition_point(|entry| entry.hash < hash);
        let same_hash = self.from(first).take_while(|(other, ..)| *other == hash);
        same_hash
            .filter(|(_, text, _)| *text == term)
            .map(|(.., frequencies)| frequencies)
            .next()
            .unwrap_or_default()
    }

    /// The terms with a hash.
    pub(crate) fn with_hash(&self, hash: u32) -> impl Iterator<Item = &str> {
        let first = if self.signature.may_contain(hash) {
            self.terms.partition_point(|entry| entry.hash < hash)
        } else {
            self.terms.len()
        };
        let same_hash = self.from(first).take_while(move |(other, ..)| *other == hash);
        same_hash.map(|(_, text, _)| text)
    }

    /// Hash, text and frequencies of every term, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &str, Frequencies)> {
        self.from(0)
    }

    /// The terms that begin with `start`.
    pub(crate) fn starting_with(&self, start: Start) -> impl Iterator<Item = &str> {
        let matching =
            self.starts.iter().enumerate().filter(move |(_, other)| start.begins(**other));
        matching.filter_map(|(number, _)| {
            let end = |number: usize| self.terms.get(number).map(|term| term.end as usize);
            let start = number.checked_sub(1).map_or(Some(0), end)?;
            self.text.get(start..end(number)?)
        })
    }

    fn from(&self, first: usize) -> impl Iterator<Item = (u32, &str, Frequencies)> {
        let (before, terms) = self.terms.split_at(first.min(self.terms.len()));
        let mut start = before.last().map_or(0, |term| term.end as usize);
        terms.iter().map(move |term| {
            let text = self.text.get(start..term.end as usize).unwrap_or_default();
            start = term.end as usize;
            (term.hash, text, term.frequencies)
        })
    }
}

/// A bit set of hashes: a document of usual length sets about a seventh of the bits.
#[derive(Debug, Default)]
struct Signature([u64; 8]);

impl Signature {
    fn insert(&mut self, hash: u32) {
        let (word, bit) = Self::place(hash);
        self.0.get_mut(word).into_iter().for_each(|bits| *bits |= bit);
    }

    fn may_contain(&self, hash: u32) -> bool {
        let (word, bit) = Self::place(hash);
        self.0.get(word).is_none_or(|bits| bits & bit != 0)
    }

    fn place(hash: u32) -> (usize, u64) {
        ((hash >> 6) as usize % 8, 1 << (hash & 63))
    }
}

/// Whether a term of the result names a time.
fn names_time(collector: &Collector) -> bool {
    let is_in_result = |counts: &[u32]| {
        RESULT_FIELDS.iter().any(|field| counts.get(*field).is_some_and(|count| *count > 0))
    };
    let mut in_result = collector.entries.iter().filter(|entry| is_in_result(&entry.counts));
    in_result.any(|entry| facts::is_hashed_time(entry.hash, collector.text_of(entry)))
}

/// Calls `emit` with each fact about a document.
pub(crate) fn for_each_fact(document: &Document<'_>, names_time: bool, mut emit: impl FnMut(&str)) {
    if facts::is_empty_result(document.result) {
        emit(facts::EMPTY);
    }
    if names_time {
        emit(facts::TIME);
    }
    facts::for_each_argument(document, emit);
}

/// Calls `emit` with each token of each field. Returns the number of terms of each field.
pub(crate) fn for_each_token(
    document: &Document<'_>,
    mut emit: impl FnMut(usize, Token<'_>),
) -> Lengths {
    let mut lengths = Lengths::default();
    let mut add = |number: usize, token: Token<'_>| {
        if let Some(length) = lengths.get_mut(number) {
            *length = length.saturating_add(u16::from(matches!(token, Token::Term(..))));
        }
        emit(number, token);
    };
    let shared_opening = shared_opening(document.result);
    for (number, field) in FIELDS.iter().enumerate() {
        let text = (field.text)(document);
        match (shared_opening, RESULT_FIELDS) {
            // Counted with the result, of which it is the first part.
            (Some(_), [_, opening]) if number == opening => {}
            (Some(length), [result, opening]) if number == result => {
                tokenize_with_opening(text, length, field.maximum_bytes, |token, is_opening| {
                    add(result, token);
                    if is_opening {
                        add(opening, token);
                    }
                });
            }
            _ => tokenize_all(text, field.maximum_bytes, |token| add(number, token)),
        }
    }
    lengths
}

/// The stop words of a document that is not indexed.
pub(crate) fn stop_words(document: &Document<'_>) -> StopWords {
    let mut stop_words = StopWords::default();
    for_each_token(document, |_, token| {
        if let Token::StopWord(number) = token {
            stop_words.insert(number);
        }
    });
    stop_words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::fields::FIELD_COUNT;

    const DOCUMENT: Document<'_> = Document {
        name: "read_file",
        description: "read_file: /src/auth/LoginForm.tsx",
        arguments: "path /src/auth/LoginForm.tsx login login login login login",
        result: "export function LoginForm",
        group: 0,
        timestamp: 0,
    };

    fn find(terms: &DocumentTerms, term: &str) -> [f32; FIELD_COUNT] {
        terms.find(hash(term), term).values()
    }

    #[test]
    fn terms_are_counted_by_field() {
        let terms = DocumentTerms::new(&DOCUMENT);
        assert_eq!(terms.lengths, [3, 9, 12, 5, 5]);
        assert_eq!(find(&terms, "file"), [1.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(find(&terms, "login"), [0.0, 1.0, 6.0, 1.0, 1.0]);
        assert_eq!(find(&terms, "absent"), [0.0; FIELD_COUNT]);
        assert!(terms.iter().map(|(hash, text, _)| (hash, text)).is_sorted());
        assert!(
            terms
                .iter()
                .all(|(number, text, frequencies)| number == hash(text) && !frequencies.is_empty())
        );
    }

    proptest! {
        #[test]
        fn the_opening_is_counted_as_a_text_of_its_own(
            words in prop::collection::vec(
                prop_oneof![Just("May"), Just("7"), Just("Sept."), Just("2023-05-07"), Just("é"), Just("東京"), Just("\u{a0}"),
                    Just("don't"), Just("loginForm"), Just("x-y_z"), Just("word"), Just("a"), Just("12"), Just("\n"), Just("")],
                0..60,
            ),
            separator in prop_oneof![Just(" "), Just(", "), Just("\n"), Just("\u{a0}"), Just(".")],
        ) {
            let result = words.join(separator);
            let document = Document { result: &result, ..Document::default() };
            let mut found = vec![Vec::new(); FIELD_COUNT];
            let lengths = for_each_token(&document, |field, token| found[field].push(format!("{token:?}")));
            for (number, field) in FIELDS.iter().enumerate() {
                let mut expected = Vec::new();
                tokenize_all((field.text)(&document), field.maximum_bytes, |token| expected.push(format!("{token:?}")));
                let terms = expected.iter().filter(|token| token.starts_with("Term")).count();
                prop_assert_eq!(usize::from(lengths[number]), terms);
                prop_assert_eq!(&found[number], &expected);
            }
        }
    }

    #[test]
    fn an_empty_document_has_no_terms() {
        let terms = DocumentTerms::new(&Document::default());
        assert_eq!(terms.iter().count(), 0);
        assert_eq!(terms.lengths, Lengths::default());
    }
}
