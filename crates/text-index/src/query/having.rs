//! Which documents have a term: all of them, without a ranking.

use rustc_hash::FxHashMap;

use crate::analysis::stop_words::StopWords;
use crate::analysis::words::hash;
use crate::index::document_terms::DocumentTerms;
use crate::index::inverted_index::Index;
use crate::index::postings::Posting;
use crate::index::segment::Segment;
use crate::index::sequences::Sequences;
use crate::index::start::Start;
use crate::index::tail::TailDocument;
use crate::index::view::View;

/// What an index has now.
pub(crate) struct Having<'v> {
    view: &'v View,
    recent: Vec<(&'v TailDocument, &'v DocumentTerms)>,
}

impl<'v> Having<'v> {
    pub(crate) fn new(view: &'v View) -> Self {
        Self { view, recent: view.recent() }
    }

    /// The documents that have the term.
    pub(crate) fn term(&self, term: &str) -> Sequences {
        let mut found = Sequences::default();
        let hash = hash(term);
        for segment in &self.view.segments {
            self.add(segment, segment.postings(hash, term), &mut found);
        }
        for (document, terms) in &self.recent {
            if !terms.find(hash, term).is_empty() {
                found.insert(document.sequence);
            }
        }
        found
    }

    /// The documents that have a term with this beginning.
    pub(crate) fn beginning(&self, beginning: &str) -> Sequences {
        let mut found = Sequences::default();
        let start = Start::of(beginning);
        for segment in &self.view.segments {
            for (term, postings) in segment.starting_with(start) {
                if term.starts_with(beginning) {
                    self.add(segment, postings, &mut found);
                }
            }
        }
        for (document, terms) in &self.recent {
            if terms.starting_with(start).any(|term| term.starts_with(beginning)) {
                found.insert(document.sequence);
            }
        }
        found
    }

    /// Terms with this beginning: those of the most documents, at most so many.
    pub(crate) fn terms_beginning(&self, beginning: &str, count: usize) -> Vec<Box<str>> {
        let mut found: FxHashMap<&str, usize> = FxHashMap::default();
        let start = Start::of(beginning);
        for segment in &self.view.segments {
            for (term, postings) in segment.starting_with(start) {
                *found.entry(term).or_default() += postings.len();
            }
        }
        for (_, terms) in &self.recent {
            for term in terms.starting_with(start) {
                *found.entry(term).or_default() += 1;
            }
        }
        found.retain(|term, _| term.starts_with(beginning));
        let mut terms: Vec<(usize, &str)> =
            found.into_iter().map(|(term, documents)| (documents, term)).collect();
        terms.sort_unstable_by(|left, right| right.cmp(left));
        terms.into_iter().take(count).map(|(_, term)| term.into()).collect()
    }

    /// The documents that have all of the stop words.
    pub(crate) fn stop_words(&self, wanted: &StopWords) -> Sequences {
        let mut found = Sequences::default();
        let mut look_at = |sequence: u64, stop_words: &StopWords| {
            if stop_words.common(wanted) == *wanted {
                found.insert(sequence);
            }
        };
        for segment in &self.view.segments {
            for (_, row) in segment.documents() {
                if !self.view.is_announced(row.sequence) {
                    look_at(row.sequence, &row.stop_words);
                }
            }
        }
        for (document, terms) in &self.recent {
            look_at(document.sequence, &terms.stop_words);
        }
        found
    }

    fn add(&self, segment: &Segment, postings: &[Posting], found: &mut Sequences) {
        let places = postings.iter().map(|posting| posting.document());
        let places = places.filter(|place| !segment.has_removed() || !segment.is_removed(*place));
        for sequence in places.filter_map(|place| segment.sequence(place)) {
            if !self.view.is_announced(sequence) {
                found.insert(sequence);
            }
        }
    }
}

impl Index {
    /// Calls `ask` with what the index has now.
    pub(crate) fn having<T>(&self, ask: impl FnOnce(&Having<'_>) -> T) -> T {
        ask(&Having::new(&self.view()))
    }
}
