//! The storage form of segments. Data that is read back is not trusted: inconsistent data gives no segment.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::analysis::stop_words::StopWords;
use crate::analysis::words::hash;
use crate::index::fields::Lengths;
use crate::index::inverted_index::Index;
use crate::index::postings::{MAXIMUM_DOCUMENTS, Posting};
use crate::index::row::Row;
use crate::index::segment::{Segment, SegmentBuilder};

/// A segment as plain data. Ascending numbers are stored as differences, because small numbers are short in compact
/// formats.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredSegment {
    /// Differences between the sequences of consecutive documents.
    sequences: Vec<u64>,
    timestamps: Vec<i64>,
    groups: Vec<u64>,
    stop_words: Vec<StopWords>,
    lengths: Vec<Lengths>,
    removed: Vec<u64>,
    /// The terms in order, concatenated.
    text: String,
    text_lengths: Vec<u32>,
    posting_counts: Vec<u32>,
    /// Differences between consecutive postings of each term.
    postings: Vec<u32>,
}

impl StoredSegment {
    fn new(segment: &Segment) -> Self {
        let mut stored = Self {
            sequences: Vec::with_capacity(segment.len()),
            timestamps: Vec::with_capacity(segment.len()),
            groups: Vec::with_capacity(segment.len()),
            stop_words: Vec::with_capacity(segment.len()),
            lengths: Vec::with_capacity(segment.len()),
            removed: segment.removed().collect(),
            text: String::with_capacity(segment.text_bytes()),
            text_lengths: Vec::with_capacity(segment.term_count()),
            posting_counts: Vec::with_capacity(segment.term_count()),
            postings: Vec::with_capacity(segment.posting_count()),
        };
        let mut previous = 0;
        for row in (0..segment.len()).filter_map(|place| segment.row(place)) {
            stored.sequences.push(row.sequence.wrapping_sub(previous));
            previous = row.sequence;
            stored.timestamps.push(row.timestamp);
            stored.groups.push(row.group);
            stored.stop_words.push(row.stop_words);
            stored.lengths.push(row.lengths);
        }
        for number in 0..segment.term_count() {
            let Some((_, text)) = segment.term(number) else { break };
            let postings = segment.postings_of(number);
            stored.text.push_str(text);
            stored.text_lengths.push(text.len() as u32);
            stored.posting_counts.push(postings.len() as u32);
            let mut previous = 0;
            for posting in postings {
                stored.postings.push(posting.bits().wrapping_sub(previous));
                previous = posting.bits();
            }
        }
        stored
    }

    /// The segment, or `None` when the data is inconsistent.
    fn restore(self) -> Option<Segment> {
        let count = self.sequences.len();
        let is_whole = [self.timestamps.len(), self.groups.len(), self.stop_words.len()]
            .into_iter()
            .chain([self.lengths.len()])
            .all(|length| length == count)
            && self.text_lengths.len() == self.posting_counts.len();
        if !is_whole
            || count > MAXIMUM_DOCUMENTS
            || u32::try_from(self.text.len()).is_err()
            || u32::try_from(self.postings.len()).is_err()
        {
            return None;
        }
        let mut builder = SegmentBuilder::with_capacity(
            count,
            self.text_lengths.len(),
            self.text.len(),
            self.postings.len(),
        );
        let mut previous: Option<u64> = None;
        let short = self.timestamps.iter().zip(&self.groups).zip(&self.stop_words);
        for ((difference, ((timestamp, group), stop_words)), lengths) in
            self.sequences.iter().zip(short).zip(&self.lengths)
        {
            let sequence = previous.unwrap_or_default().checked_add(*difference)?;
            if previous.is_some_and(|previous| previous >= sequence) {
                return None;
            }
            previous = Some(sequence);
            builder.document(&Row {
                sequence,
                timestamp: *timestamp,
                group: *group,
                stop_words: *stop_words,
                lengths: *lengths,
            });
        }
        let (mut text, mut postings) = (&*self.text, &*self.postings);
        let mut previous: Option<(u32, &str)> = None;
        for (length, count) in self.text_lengths.iter().zip(&self.posting_counts) {
            let (term, rest) = text.split_at_checked(*length as usize)?;
            let (differences, others) = postings.split_at_checked(*count as usize)?;
            (text, postings) = (rest, others);
            let term = (hash(term), term);
            if differences.is_empty() || previous.is_some_and(|previous| previous >= term) {
                return None;
            }
            previous = Some(term);
            read_postings(differences, self.sequences.len(), &mut builder)?;
            builder.end_term(term.0, term.1);
        }
        let segment = builder.finish().filter(|_| text.is_empty() && postings.is_empty())?;
        for sequence in self.removed {
            segment.remove(sequence);
        }
        Some(segment)
    }
}

/// Reads postings, which must ascend by document and refer to existing documents.
fn read_postings(
    differences: &[u32],
    documents: usize,
    builder: &mut SegmentBuilder,
) -> Option<()> {
    let mut previous: Option<Posting> = None;
    for difference in differences {
        let before = previous.map_or(0, Posting::bits);
        let posting = Posting::from_bits(before.checked_add(*difference)?);
        let document = posting.document();
        let is_next = previous.is_none_or(|previous| previous.document() < document);
        if !is_next || document as usize >= documents {
            return None;
        }
        builder.posting(posting);
        previous = Some(posting);
    }
    Some(())
}

impl Index {
    /// The index in storage form, without announced documents. Documents that are added or removed meanwhile may be
    /// included or not.
    #[must_use]
    pub fn stored(&self) -> Vec<StoredSegment> {
        let snapshot = self.published.load_full();
        let recent = snapshot.tails.iter().flat_map(|tail| tail.documents());
        let recent = Segment::from_documents(recent);
        let segments = snapshot.segments.iter().map(|segment| &**segment).chain(recent.as_ref());
        segments.map(StoredSegment::new).collect()
    }

    /// An index from its storage form; `None` when the data is inconsistent.
    #[must_use]
    pub fn restored(stored: Vec<StoredSegment>) -> Option<Self> {
        let (mut segments, mut sequences) = (Vec::new(), FxHashSet::default());
        let restored = std::thread::scope(|scope| {
            let threads: Vec<_> =
                stored.into_iter().map(|stored| scope.spawn(|| stored.restore())).collect();
            threads.into_iter().map(|thread| thread.join().ok()?).collect::<Option<Vec<_>>>()
        })?;
        for segment in restored {
            for (_, row) in segment.documents() {
                if !sequences.insert(row.sequence) {
                    return None;
                }
            }
            segments.push(Arc::new(segment));
        }
        let index = Self::new();
        index.live.store(sequences.len(), Ordering::Relaxed);
        index.publish(sequences.into_iter().max(), segments);
        Some(index)
    }

    /// The sequences of its documents, without announced ones.
    #[must_use]
    pub fn sequences(&self) -> Vec<u64> {
        let snapshot = self.published.load_full();
        let segments = snapshot.segments.iter().flat_map(|segment| segment.documents());
        let recent = snapshot.tails.iter().flat_map(|tail| tail.documents());
        let recent = recent.filter(|document| !document.is_removed());
        let sequences = segments.map(|(_, row)| row.sequence);
        sequences.chain(recent.map(|document| document.sequence)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Document, Query};

    fn index(documents: u64) -> Index {
        let index = Index::new();
        for sequence in 0..documents {
            let result = format!("common word{} the {}", sequence % 7, "x ".repeat(40));
            let name = format!("name{sequence}");
            let document =
                Document { name: &name, result: &result, timestamp: -5, ..Document::default() };
            index.add(sequence * 3, &document);
        }
        index.maintain();
        index
    }

    fn again(index: &Index) -> Option<Index> {
        let bytes = postcard::to_stdvec(&index.stored()).unwrap();
        Index::restored(postcard::from_bytes(&bytes).unwrap())
    }

    #[test]
    fn what_is_stored_is_found_as_before() {
        let index = index(1000);
        (0..300).step_by(6).for_each(|sequence| index.remove(sequence));
        let restored = again(&index).unwrap();
        assert_eq!(restored.len(), index.len());
        assert_eq!(restored.sequences().len(), index.len());
        for query in ["common", "word3", "name7", "x", "absent"] {
            let query = Query::parse(query);
            assert_eq!(restored.search(&query, None).hits, index.search(&query, None).hits);
        }
        let stop_words = Query::builder().text("the", 1.0).keep_stop_words().build();
        let found = restored.search(&stop_words, None).hits;
        assert_eq!(found.len(), index.len());
        restored.add(10_000, &Document { name: "zebra", ..Document::default() });
        assert_eq!(restored.search(&Query::parse("zebra"), None).hits.len(), 1);
        assert!(again(&Index::new()).unwrap().is_empty());
    }

    #[test]
    fn what_makes_no_sense_makes_no_index() {
        let stored = || index(20).stored();
        let spoilt = |spoil: &dyn Fn(&mut StoredSegment)| {
            let mut segments = stored();
            spoil(&mut segments[0]);
            Index::restored(segments)
        };
        assert!(spoilt(&|_| {}).is_some());
        assert!(spoilt(&|segment| segment.sequences[3] = 0).is_none());
        assert!(spoilt(&|segment| segment.sequences[3] = u64::MAX).is_none());
        assert!(spoilt(&|segment| segment.groups.clear()).is_none());
        assert!(spoilt(&|segment| segment.text.clear()).is_none());
        assert!(spoilt(&|segment| segment.text.push('x')).is_none());
        assert!(spoilt(&|segment| segment.postings[0] = u32::MAX).is_none());
        assert!(spoilt(&|segment| segment.posting_counts[0] += 1).is_none());
        let twice = stored().into_iter().chain(stored()).collect();
        assert!(Index::restored(twice).is_none());
    }

    proptest! {
        #[test]
        fn any_damage_is_survived(flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 1..4)) {
            let mut bytes = postcard::to_stdvec(&index(30).stored()).unwrap();
            for (place, bit) in flips {
                let place = place.index(bytes.len());
                bytes[place] ^= 1 << bit;
            }
            if let Ok(stored) = postcard::from_bytes(&bytes)
                && let Some(index) = Index::restored(stored)
            {
                for query in ["common", "word3", "kubernetx"] {
                    let _ = index.search(&Query::parse(query), None);
                }
                index.maintain();
                let _ = index.stored();
            }
        }
    }
}
