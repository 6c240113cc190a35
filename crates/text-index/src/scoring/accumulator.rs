//! Accumulates the scores of the documents of one segment, term by term.

use std::cell::RefCell;

use crate::index::fields::Lengths;
use crate::index::postings::{Posting, skip_to};
use crate::index::segment::Segment;
use crate::scoring::best::Best;
use crate::scoring::factors::Factor;
use crate::scoring::groups::GroupScores;
use crate::scoring::ranked::{Ranked, Which};
use crate::scoring::ranking::Scorer;

/// From this number of postings on, it pays to check whether the remaining terms can still add a document to the best
/// ones.
const WORTHWHILE_POSTINGS: usize = 256;

/// Factor that allows for rounding of sums in upper bounds.
const ROUNDING: f32 = 1.0001;

/// A query term in the order of evaluation.
pub(crate) struct WeightedTerm {
    /// The term's index in the query.
    pub(crate) number: usize,
    pub(crate) weight: f32,
    /// Whether the term only adds to documents that match another term.
    pub(crate) is_extra: bool,
    /// The maximum that this term and those after it can contribute.
    pub(crate) remaining: f32,
}

/// The parameters of the evaluation, equal for all segments.
pub(crate) struct Plan<'a> {
    /// Terms by descending weight; those that find no documents last.
    pub(crate) terms: &'a [WeightedTerm],
    pub(crate) scorer: &'a Scorer,
    pub(crate) known: &'a dyn Fn(u64) -> bool,
    /// Used only without a limit.
    pub(crate) factors: &'a [Factor],
}

thread_local! {
    static ACCUMULATOR: RefCell<Accumulator> = RefCell::default();
}

/// Sums of scores. There is one per thread, with all scores zero between segments, because resetting the touched
/// entries costs less than allocating.
#[derive(Default)]
pub(crate) struct Accumulator {
    scores: Vec<f32>,
    /// The documents whose score is not zero.
    touched: Vec<u32>,
    selection: Vec<f32>,
    /// For each document of the segment, the number of its group when groups are scored; 0 for none.
    slots: Vec<u32>,
    grouped: Vec<u32>,
}

impl Accumulator {
    /// Calls `run` with this thread's accumulator.
    pub(crate) fn with(run: impl FnOnce(&mut Self)) {
        // Taken, not borrowed: the caller's filter may start a search.
        let mut accumulator = ACCUMULATOR.take();
        run(&mut accumulator);
        ACCUMULATOR.replace(accumulator);
    }

    /// Pushes the documents of `segment` that contain a term and that the plan's filter accepts, and scores their
    /// groups if requested.
    pub(crate) fn evaluate(
        &mut self,
        segment: &Segment,
        postings: &[&[Posting]],
        plan: &Plan<'_>,
        best: &mut Best,
        groups: Option<&mut GroupScores>,
    ) {
        self.sum(segment, postings, plan, best);
        for factor in plan.factors {
            factor.for_each(segment, |document, factor| {
                let score = self.scores.get_mut(document as usize);
                score.into_iter().for_each(|score| *score *= factor);
            });
        }
        let mut groups = groups;
        if groups.is_some() && self.slots.len() < segment.len() {
            self.slots.resize(segment.len(), 0);
        }
        for document in self.touched.drain(..) {
            let score = self.scores.get_mut(document as usize).map(std::mem::take);
            let sequence =
                segment.sequence(document).filter(|_| accepts(segment, document, plan.known));
            let (Some(score), Some(sequence)) = (score, sequence) else { continue };
            let (which, group) = (Which::Known(sequence), segment.group(document));
            let timestamp = segment.timestamp(document);
            best.push(Ranked { which, score, group, group_score: 0.0, timestamp });
            let number = groups.as_mut().and_then(|groups| groups.number(group));
            if let (Some(number), Some(slot)) = (number, self.slots.get_mut(document as usize)) {
                *slot = number + 1;
                self.grouped.push(document);
            }
        }
        if let Some(groups) = groups.filter(|_| !self.grouped.is_empty()) {
            self.score_groups(segment, postings, plan, groups);
        }
    }

    fn score_groups(
        &mut self,
        segment: &Segment,
        postings: &[&[Posting]],
        plan: &Plan<'_>,
        groups: &mut GroupScores,
    ) {
        for term in plan.terms {
            // Documents of one group are mostly consecutive.
            let mut run: Option<(u32, f32)> = None;
            for posting in postings.get(term.number).copied().unwrap_or_default() {
                let document = posting.document() as usize;
                let number = self.slots.get(document).and_then(|slot| slot.checked_sub(1));
                if let (Some(number), Some(lengths)) = (number, segment.lengths().get(document)) {
                    let score = term.weight * plan.scorer.score(posting.frequencies(), lengths);
                    run = match run {
                        Some((same, best)) if same == number => Some((number, best.max(score))),
                        other => {
                            other
                                .iter()
                                .for_each(|(number, best)| groups.add(*number, term.number, *best));
                            Some((number, score))
                        }
                    };
                }
            }
            run.iter().for_each(|(number, best)| groups.add(*number, term.number, *best));
        }
        for document in self.grouped.drain(..) {
            self.slots.get_mut(document as usize).into_iter().for_each(|slot| *slot = 0);
        }
    }

    /// Sums the contributions of the terms to the documents of a segment.
    ///
    /// `postings` are in the order of the query. Terms are evaluated by descending weight. With a limit, the last,
    /// frequent terms need not be read completely: once they cannot add a document to the best ones, only the documents
    /// found so far are looked up in their postings.
    fn sum(
        &mut self,
        segment: &Segment,
        postings: &[&[Posting]],
        plan: &Plan<'_>,
        best: &mut Best,
    ) {
        let Plan { terms, scorer, known, .. } = *plan;
        if self.scores.len() < segment.len() {
            self.scores.resize(segment.len(), 0.0);
        }
        let postings_of =
            |term: &WeightedTerm| postings.get(term.number).copied().unwrap_or_default();
        let mut unread: usize = terms.iter().map(|term| postings_of(term).len()).sum();
        let mut complete = false;
        for term in terms {
            let postings = postings_of(term);
            if !complete && (term.is_extra || unread >= WORTHWHILE_POSTINGS.max(self.touched.len()))
            {
                let is_enough = |threshold| term.remaining * ROUNDING < threshold;
                complete =
                    term.is_extra || self.threshold(segment, best, known).is_some_and(is_enough);
                if complete {
                    self.touched.sort_unstable();
                }
            }
            if complete {
                self.add_to_touched(term.weight, postings, segment.lengths(), scorer);
            } else {
                self.add(term.weight, postings, segment.lengths(), scorer);
            }
            unread -= postings.len();
        }
    }

    fn add(&mut self, weight: f32, postings: &[Posting], lengths: &[Lengths], scorer: &Scorer) {
        for posting in postings {
            let document = posting.document();
            let columns = (self.scores.get_mut(document as usize), lengths.get(document as usize));
            if let (Some(score), Some(lengths)) = columns {
                if *score == 0.0 {
                    self.touched.push(document);
                }
                *score += weight * scorer.score(posting.frequencies(), lengths);
            }
        }
    }

    fn add_to_touched(
        &mut self,
        weight: f32,
        postings: &[Posting],
        lengths: &[Lengths],
        scorer: &Scorer,
    ) {
        let mut rest = postings;
        for document in &self.touched {
            rest = skip_to(rest, *document);
            let Some(posting) = rest.first() else { return };
            let columns =
                (self.scores.get_mut(*document as usize), lengths.get(*document as usize));
            if let (true, (Some(score), Some(lengths))) = (posting.document() == *document, columns)
            {
                *score += weight * scorer.score(posting.frequencies(), lengths);
            }
        }
    }

    /// A lower bound for the score of the last of the best documents; sums only grow.
    fn threshold(
        &mut self,
        segment: &Segment,
        best: &mut Best,
        known: &dyn Fn(u64) -> bool,
    ) -> Option<f32> {
        let last = best.limit()?.checked_sub(1)?;
        let threshold = best.threshold();
        if self.touched.len() <= last {
            return threshold;
        }
        self.selection.clear();
        let accepted = self.touched.iter().filter(|document| accepts(segment, **document, known));
        self.selection.extend(accepted.filter_map(|document| self.scores.get(*document as usize)));
        if self.selection.len() <= last {
            return threshold;
        }
        let (_, here, _) =
            self.selection.select_nth_unstable_by(last, |left, right| right.total_cmp(left));
        Some(threshold.map_or(*here, |threshold| threshold.max(*here)))
    }
}

fn accepts(segment: &Segment, document: u32, known: &dyn Fn(u64) -> bool) -> bool {
    !(segment.has_removed() && segment.is_removed(document))
        && segment.sequence(document).is_some_and(known)
}
