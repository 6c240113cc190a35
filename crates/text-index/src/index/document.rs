//! A document and the terms of it.

use crate::analysis::tokens::{Token, tokenize_all};
use crate::analysis::words::hash;
use crate::index::collector::Collector;
use crate::index::postings::Frequencies;
use crate::index::start::Start;
use crate::query::free_text::Query;
use crate::query::stop_words::StopWords;
use crate::scoring::ranking::{FIELD_COUNT, FIELDS, Lengths};

/// What is indexed of one stored context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Document<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// What the pointer says about it.
    pub description: &'a str,
    /// Keys and string values of the arguments, separated by spaces.
    pub arguments: &'a str,
    /// The text of the result: as much of it as is to be indexed.
    pub result: &'a str,
    /// Documents of one group were made for one purpose, such as one query; 0 is no group.
    pub group: u64,
    /// Milliseconds since 1970; of equally good documents the later is first.
    pub timestamp: i64,
}

impl Document<'_> {
    /// Whether all of its text is indexed: of a very long one only the beginning is.
    #[must_use]
    pub fn is_short(&self) -> bool {
        FIELDS.iter().all(|field| (field.text)(self).len() <= field.maximum_bytes)
    }
}

/// The distinct terms of one document, ordered by hash, then text.
#[derive(Debug)]
pub(crate) struct DocumentTerms {
    pub(crate) lengths: Lengths,
    pub(crate) stop_words: StopWords,
    terms: Box<[Term]>,
    text: Box<str>,
    /// The first bytes of each term.
    starts: Box<[Start]>,
    /// A bit for each term, to tell quickly that one is absent.
    signature: u64,
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
            let lengths = for_each_token(document, |field, token| match token {
                Token::Term(term) => collector.add(field, term),
                Token::StopWord(number) => stop_words.insert(number),
            });
            let order = collector.order();
            let mut terms = Vec::with_capacity(order.len());
            let mut starts = Vec::with_capacity(order.len());
            let mut text = String::with_capacity(collector.text.len());
            let mut signature = 0;
            for entry in order.iter().filter_map(|number| collector.entries.get(*number)) {
                let term = collector.text_of(entry);
                text.push_str(term);
                signature |= signature_bit(entry.hash);
                starts.push(Start::of(term));
                terms.push(Term {
                    hash: entry.hash,
                    end: text.len() as u32,
                    frequencies: Frequencies::from_counts(&entry.counts),
                });
            }
            let (terms, text, starts) = (terms.into(), text.into(), starts.into());
            Self { lengths, stop_words, terms, text, starts, signature }
        })
    }

    /// What they take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.terms) + self.text.len()
    }

    /// How often the fields have a term.
    pub(crate) fn find(&self, hash: u32, term: &str) -> Frequencies {
        if self.signature & signature_bit(hash) == 0 {
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

fn signature_bit(hash: u32) -> u64 {
    1 << (hash & 63)
}

/// Calls `emit` with each token of each field; the number of terms in each.
fn for_each_token(document: &Document<'_>, mut emit: impl FnMut(usize, Token<'_>)) -> Lengths {
    let mut lengths = Lengths::default();
    for ((number, field), length) in FIELDS.iter().enumerate().zip(&mut lengths) {
        tokenize_all((field.text)(document), field.maximum_bytes, |token| {
            *length = length.saturating_add(u16::from(matches!(token, Token::Term(_))));
            emit(number, token);
        });
    }
    lengths
}

/// The stop words of a document, without an index of it.
pub(crate) fn stop_words(document: &Document<'_>) -> StopWords {
    let mut stop_words = StopWords::default();
    for_each_token(document, |_, token| {
        if let Token::StopWord(number) = token {
            stop_words.insert(number);
        }
    });
    stop_words
}

/// How often a document has the terms of a query (in `frequencies`, replaced),
/// without an index of the document. `see` is shown all terms of the document.
pub(crate) fn match_query(
    document: &Document<'_>,
    query: &Query,
    frequencies: &mut Vec<Frequencies>,
    mut see: impl FnMut(&str),
) -> Lengths {
    let mut counts = vec![[0_u32; FIELD_COUNT]; query.terms().len()];
    let lengths = for_each_token(document, |field, token| {
        let Token::Term(token) = token else { return };
        see(token);
        let counts =
            query.position(hash(token), token).and_then(|position| counts.get_mut(position));
        if let Some(count) = counts.and_then(|counts| counts.get_mut(field)) {
            *count += 1;
        }
    });
    frequencies.clear();
    frequencies.extend(counts.iter().map(Frequencies::from_counts));
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn matching_without_an_index_gives_the_same() {
        let query = Query::builder().text("login file path absent tsx", 1.0).build();
        let terms = DocumentTerms::new(&DOCUMENT);
        let mut frequencies = Vec::new();
        assert_eq!(match_query(&DOCUMENT, &query, &mut frequencies, |_| {}), terms.lengths);
        let expected: Vec<Frequencies> =
            query.terms().iter().map(|term| terms.find(term.hash, &term.text)).collect();
        assert_eq!(frequencies, expected);
    }

    #[test]
    fn an_empty_document_has_no_terms() {
        let terms = DocumentTerms::new(&Document::default());
        assert_eq!(terms.iter().count(), 0);
        assert_eq!(terms.lengths, Lengths::default());
    }
}
