//! Keeps the number of segments small: merges four of similar size into one.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::index::postings::{MAXIMUM_DOCUMENTS, Posting};
use crate::index::segment::{Segment, SegmentBuilder};
use crate::index::slots::SLOTS;

const FAN_OUT: usize = 4;

/// Segments of this size class (by powers of [`FAN_OUT`] times a full tail) are not merged further. This limits the
/// memory and time of a merge.
const FINAL_CLASS: u32 = 4;

/// Maximum number of postings of a merged segment.
const MAXIMUM_POSTINGS: usize = 1 << 25;
const MAXIMUM_TEXT_BYTES: usize = 1 << 28;

const _: () = assert!(
    SLOTS * FAN_OUT.pow(FINAL_CLASS) <= MAXIMUM_DOCUMENTS,
    "a posting has no room for the document"
);

/// The segments to merge next: [`FAN_OUT`] of similar size, where thinned and complete segments are not mixed.
pub(crate) fn like_sized(segments: &[Arc<Segment>]) -> Option<Vec<Arc<Segment>>> {
    let classes = (0..FINAL_CLASS).flat_map(|class| [(class, false), (class, true)]);
    let mut candidates = classes.map(|wanted| {
        let same =
            segments.iter().filter(|segment| (class(segment), segment.is_thinned()) == wanted);
        same.take(FAN_OUT).map(Arc::clone).collect::<Vec<_>>()
    });
    candidates.find(|chosen| chosen.len() == FAN_OUT && fits(chosen))
}

fn class(segment: &Segment) -> u32 {
    (segment.live() / SLOTS).max(1).ilog(FAN_OUT)
}

fn fits(segments: &[Arc<Segment>]) -> bool {
    segments.iter().map(|segment| segment.posting_count()).sum::<usize>() <= MAXIMUM_POSTINGS
        && segments.iter().map(|segment| segment.text_bytes()).sum::<usize>() <= MAXIMUM_TEXT_BYTES
        // Size classes are rounded: four segments may have more documents than the limit.
        && segments.iter().map(|segment| segment.live()).sum::<usize>() <= MAXIMUM_DOCUMENTS
}

/// Merges the documents that are not removed into one segment, without their results when it is to be `thinned`. `None`
/// when no document is left.
pub(crate) fn merge(segments: &[Arc<Segment>], thinned: bool) -> Option<Segment> {
    let size = |of: fn(&Segment) -> usize| segments.iter().map(|segment| of(segment)).sum();
    let mut builder = SegmentBuilder::with_capacity(
        size(Segment::live),
        size(Segment::term_count),
        size(Segment::text_bytes),
        size(Segment::posting_count),
    );
    if thinned {
        builder = builder.thinned();
    }
    let mut sources = merge_documents(segments, &mut builder);
    // The sources whose next term is the least one.
    let mut least: Vec<usize> = Vec::with_capacity(sources.len());
    loop {
        let mut term: Option<(u32, &str)> = None;
        for (number, source) in sources.iter().enumerate() {
            let Some(head) = source.term else { continue };
            match term.map_or(Ordering::Less, |term| head.cmp(&term)) {
                Ordering::Less => {
                    term = Some(head);
                    least.clear();
                    least.push(number);
                }
                Ordering::Equal => least.push(number),
                Ordering::Greater => {}
            }
        }
        let Some((hash, text)) = term else { return builder.finish() };
        for number in &least {
            if let Some(source) = sources.get_mut(*number) {
                source.move_postings(&mut builder);
            }
        }
        builder.end_term(hash, text);
    }
}

/// A segment that is read term by term.
struct Source<'a> {
    segment: &'a Segment,
    number: usize,
    term: Option<(u32, &'a str)>,
    /// The new position of each document, `None` for a removed one.
    places: Vec<Option<u32>>,
}

impl Source<'_> {
    fn move_postings(&mut self, builder: &mut SegmentBuilder) {
        for posting in self.segment.postings_of(self.number) {
            if let Some(Some(place)) = self.places.get(posting.document() as usize) {
                builder.posting(Posting::new(*place, posting.frequencies()));
            }
        }
        self.number += 1;
        self.term = self.segment.term(self.number);
    }
}

/// Assigns positions to the documents of all segments, ordered by sequence.
fn merge_documents<'a>(
    segments: &'a [Arc<Segment>],
    builder: &mut SegmentBuilder,
) -> Vec<Source<'a>> {
    let source = |segment: &'a Arc<Segment>| Source {
        segment,
        number: 0,
        term: segment.term(0),
        places: vec![None; segment.len()],
    };
    let mut sources: Vec<Source<'_>> = segments.iter().map(source).collect();
    let mut documents: Vec<_> = sources
        .iter()
        .enumerate()
        .flat_map(|(number, source)| {
            source.segment.documents().map(move |document| (number, document))
        })
        .collect();
    // Mostly in order already, which makes the stable sort fast.
    documents.sort_by_key(|(_, (_, row))| row.sequence);
    for (new, (number, (old, row))) in (0..).zip(documents) {
        builder.document(&row);
        if let Some(source) = sources.get(number) {
            let (pairs, identifiers) = source.segment.sketch(old);
            builder.sketch(pairs, identifiers);
        }
        if let Some(place) =
            sources.get_mut(number).and_then(|source| source.places.get_mut(old as usize))
        {
            *place = Some(new);
        }
    }
    sources
}
