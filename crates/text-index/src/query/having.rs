//! Posting lookup without ranking: which documents contain a term, and which terms the documents have.

use rustc_hash::FxHashSet;

use crate::analysis::stop_words::StopWords;
use crate::analysis::words::hash;
use crate::index::document_terms::DocumentTerms;
use crate::index::facts::is_fact;
use crate::index::inverted_index::Index;
use crate::index::postings::Posting;
use crate::index::segment::Segment;
use crate::index::sequences::Sequences;
use crate::index::start::Start;
use crate::index::tail::TailDocument;
use crate::index::view::View;

/// A lookup on a view of one or several indexes.
pub(crate) struct Having<'v> {
    view: &'v View,
    recent: Vec<(&'v TailDocument, &'v DocumentTerms)>,
}

impl<'v> Having<'v> {
    pub(crate) fn new(view: &'v View) -> Self {
        Self { view, recent: view.recent() }
    }

    /// The documents that contain the term.
    pub(crate) fn term<S: DocumentSet>(&self, term: &str) -> S {
        let mut found = S::default();
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

    pub(crate) fn has_term(&self, term: &str) -> bool {
        !self.term::<Sequences>(term).is_empty()
    }

    /// The documents that contain all of the terms; `None` (any document) when there are no terms.
    pub(crate) fn all_terms<S: DocumentSet>(&self, terms: &[Box<str>]) -> Option<S> {
        let mut all: Option<S> = None;
        for term in terms {
            let found = self.term(term);
            match &mut all {
                Some(all) => all.intersect(&found),
                None => all = Some(found),
            }
        }
        all
    }

    /// The documents that contain a term with this prefix.
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

    /// Calls `visit` with every term that has this prefix and the number of documents that contain it. A term may be
    /// visited several times.
    pub(crate) fn for_each_term_beginning(
        &self,
        beginning: &str,
        mut visit: impl FnMut(&'v str, usize),
    ) {
        let start = Start::of(beginning);
        let in_segments = self.view.segments.iter().flat_map(|segment| {
            segment.starting_with(start).map(|(term, postings)| (term, postings.len()))
        });
        let in_recent = self
            .recent
            .iter()
            .flat_map(|(_, terms)| terms.starting_with(start))
            .map(|term| (term, 1));
        for (term, documents) in in_segments.chain(in_recent) {
            if term.starts_with(beginning) {
                visit(term, documents);
            }
        }
    }

    /// As [`Having::for_each_term_beginning`], for all terms.
    pub(crate) fn for_each_term(&self, mut visit: impl FnMut(&'v str, usize)) {
        for segment in &self.view.segments {
            for number in 0..segment.term_count() {
                if let Some((_, term)) = segment.term(number).filter(|(_, term)| !is_fact(term)) {
                    visit(term, segment.postings_of(number).len());
                }
            }
        }
        for (_, terms) in &self.recent {
            let terms = terms.iter().filter(|(_, term, _)| !is_fact(term));
            terms.for_each(|(_, term, _)| visit(term, 1));
        }
    }

    /// The documents that contain all of the stop words.
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

    fn add(&self, segment: &Segment, postings: &[Posting], found: &mut impl DocumentSet) {
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
    /// Calls `ask` with a lookup on the current state of the indexes as one collection.
    pub(crate) fn having<T>(indexes: &[&Self], ask: impl FnOnce(&Having<'_>) -> T) -> T {
        ask(&Having::new(&Self::view_of(indexes)))
    }
}

/// A set of documents. [`Sequences`] is used for one index; hash sets are used for several, whose sequences may be far
/// apart.
pub(crate) trait DocumentSet: Default {
    fn insert(&mut self, sequence: u64);
    /// Keeps only documents that are also in the other set.
    fn intersect(&mut self, other: &Self);
}

impl DocumentSet for Sequences {
    fn insert(&mut self, sequence: u64) {
        Self::insert(self, sequence);
    }

    fn intersect(&mut self, other: &Self) {
        Self::intersect(self, other);
    }
}

impl DocumentSet for FxHashSet<u64> {
    fn insert(&mut self, sequence: u64) {
        Self::insert(self, sequence);
    }

    fn intersect(&mut self, other: &Self) {
        self.retain(|sequence| other.contains(sequence));
    }
}
