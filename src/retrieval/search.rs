//! Evaluation of a query against a snapshot.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::accumulator::{Accumulator, WeightedTerm};
use super::announced::Announced;
use super::best::Best;
use super::document::{Document, DocumentTerms, match_query};
use super::index::Snapshot;
use super::postings::{Frequencies, Posting};
use super::query::{Query, QueryTerm};
use super::ranking::{Lengths, MAXIMUM_SCORE, Scorer, Totals};
use super::segment::Segment;
use super::tail::TailDocument;

/// A document that [`super::Index::search`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The sequence number it was added with.
    pub sequence: u64,
    /// How good it is, for this query and state of the index.
    pub score: f32,
    /// The timestamp it was added with.
    pub timestamp: i64,
}

/// A document that [`super::Index::rank`] ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Which document.
    pub which: Which,
    /// How good it is, for this query and these documents.
    pub score: f32,
    /// Its timestamp.
    pub timestamp: i64,
}

/// One of the documents that are ranked together. Of documents that are equal
/// in all else the greater is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// By its position among the documents handed in.
    Foreign(usize),
    /// By its sequence in the index.
    Known(u64),
}

/// Announced documents are read whole as far as this goes, in bytes of text: nobody waits longer.
const LATE_BYTES: usize = 256 * 1024;

pub(super) fn search(
    announced: &[Arc<Announced>],
    snapshot: &Snapshot,
    query: &Query,
    limit: Option<usize>,
) -> Vec<Hit> {
    let evaluation = Evaluation::new(announced, snapshot, query, &[]);
    let ranked = evaluation.run(Best::new(limit), &|_| true);
    let hit = |Ranked { which, score, timestamp }| match which {
        Which::Known(sequence) => Some(Hit { sequence, score, timestamp }),
        Which::Foreign(_) => None,
    };
    ranked.into_iter().filter_map(hit).collect()
}

pub(super) fn rank(
    announced: &[Arc<Announced>],
    snapshot: &Snapshot,
    query: &Query,
    known: &dyn Fn(u64) -> bool,
    foreign: &[Document<'_>],
) -> Vec<Ranked> {
    Evaluation::new(announced, snapshot, query, foreign).run(Best::new(None), known)
}

/// A document outside the segments that has a term of the query.
struct Loose {
    which: Which,
    timestamp: i64,
    lengths: Lengths,
}

struct Evaluation<'a> {
    segments: &'a [Arc<Segment>],
    terms: &'a [QueryTerm],
    totals: Totals,
    /// For each segment, for each term.
    postings: Vec<&'a [Posting]>,
    loose: Vec<Loose>,
    /// For each loose document, for each term.
    frequencies: Vec<Frequencies>,
    /// Documents that were announced when the query began: elsewhere they do not count.
    announced: FxHashSet<u64>,
}

impl<'a> Evaluation<'a> {
    fn new(
        announced: &[Arc<Announced>],
        snapshot: &'a Snapshot,
        query: &'a Query,
        foreign: &[Document<'_>],
    ) -> Self {
        let (segments, terms) = (snapshot.segments.as_slice(), query.terms());
        let mut evaluation = Self {
            segments,
            terms,
            totals: Totals::default(),
            postings: Vec::with_capacity(segments.len() * terms.len()),
            loose: Vec::new(),
            frequencies: Vec::new(),
            announced: announced.iter().map(|announced| announced.sequence()).collect(),
        };
        if terms.is_empty() {
            return evaluation;
        }
        for segment in segments {
            evaluation.totals.add_all(segment.totals());
            evaluation
                .postings
                .extend(terms.iter().map(|term| segment.postings(term.hash, &term.text)));
        }
        let mut found = Vec::with_capacity(terms.len());
        let mut late_bytes = LATE_BYTES;
        // the latest first: they are asked for most
        let announced = announced.iter().rev().map(|announced| &**announced);
        let announced =
            announced.map(|announced| (&announced.document, announced.terms(&mut late_bytes)));
        let in_tails = snapshot.tails.iter().flat_map(|tail| tail.documents());
        let in_tails = in_tails
            .filter(|document| !document.is_removed())
            .filter(|document| !evaluation.announced.contains(&document.sequence))
            .map(|document| (document, &document.terms));
        let known: Vec<(&TailDocument, &Arc<DocumentTerms>)> = announced.chain(in_tails).collect();
        for (document, document_terms) in known {
            found.clear();
            found.extend(terms.iter().map(|term| document_terms.find(term.hash, &term.text)));
            let (which, timestamp) = (Which::Known(document.sequence), document.timestamp);
            evaluation
                .add_loose(Loose { which, timestamp, lengths: document_terms.lengths }, &found);
        }
        for (position, document) in foreign.iter().enumerate() {
            let lengths = match_query(document, query, &mut found);
            let (which, timestamp) = (Which::Foreign(position), document.timestamp);
            evaluation.add_loose(Loose { which, timestamp, lengths }, &found);
        }
        evaluation
    }

    fn add_loose(&mut self, document: Loose, found: &[Frequencies]) {
        self.totals.add(&document.lengths);
        if !found.iter().all(|frequencies| frequencies.is_empty()) {
            self.loose.push(document);
            self.frequencies.extend_from_slice(found);
        }
    }

    fn run(&self, mut best: Best, known: &dyn Fn(u64) -> bool) -> Vec<Ranked> {
        let in_segments = |sequence| !self.announced.contains(&sequence) && known(sequence);
        let in_segments: &dyn Fn(u64) -> bool =
            if self.announced.is_empty() { known } else { &in_segments };
        let terms = self.weighted_terms();
        let scorer = Scorer::new(&self.totals);
        Accumulator::with(|accumulator| {
            for (segment, postings) in
                self.segments.iter().zip(self.postings.chunks(self.terms.len().max(1)))
            {
                accumulator.evaluate(segment, &terms, postings, &scorer, &mut best, in_segments);
            }
        });
        for (document, found) in
            self.loose.iter().zip(self.frequencies.chunks(self.terms.len().max(1)))
        {
            let accepted = match document.which {
                Which::Known(sequence) => known(sequence),
                Which::Foreign(_) => true,
            };
            if accepted {
                let matched =
                    terms.iter().filter_map(|term| Some((term.weight, *found.get(term.number)?)));
                let matched = matched.filter(|(_, frequencies)| !frequencies.is_empty());
                let score = matched
                    .map(|(weight, frequencies)| {
                        weight * scorer.score(frequencies, &document.lengths)
                    })
                    .sum();
                best.push(Ranked { which: document.which, score, timestamp: document.timestamp });
            }
        }
        best.into_sorted()
    }

    /// Those that can contribute most first. One order for all documents, so
    /// that equal documents get equal scores to the last bit.
    fn weighted_terms(&self) -> Vec<WeightedTerm> {
        let containing = |number: usize| {
            let in_segments = self
                .postings
                .iter()
                .skip(number)
                .step_by(self.terms.len())
                .map(|postings| postings.len());
            let loose = self.frequencies.iter().skip(number).step_by(self.terms.len());
            in_segments.sum::<usize>() + loose.filter(|frequencies| !frequencies.is_empty()).count()
        };
        let weight = |(number, term): (usize, &QueryTerm)| {
            let weight =
                term.weight * self.totals.inverse_document_frequency(containing(number) as u64);
            WeightedTerm { number, weight, remaining: 0.0 }
        };
        let mut terms: Vec<WeightedTerm> = self.terms.iter().enumerate().map(weight).collect();
        terms.sort_by(|left, right| right.weight.total_cmp(&left.weight));
        let mut remaining = 0.0;
        for term in terms.iter_mut().rev() {
            remaining += term.weight * MAXIMUM_SCORE;
            term.remaining = remaining;
        }
        terms
    }
}
