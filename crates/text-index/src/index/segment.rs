//! A segment: an immutable set of documents with the postings of every term. Only the flags of removed documents
//! change.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::analysis::stop_words::StopWords;
use crate::index::bounds::Bounds;
use crate::index::fields::{Lengths, RESULT_FIELDS};
use crate::index::postings::Posting;
use crate::index::row::Row;
use crate::index::sketch::Sketch;
use crate::index::sorting::sort_by_upper_half;
use crate::index::start::Start;
use crate::index::tail::TailDocument;
use crate::scoring::ranking::Totals;

/// Average number of terms per entry of the directory.
const TERMS_PER_BUCKET: usize = 4;

/// Documents are ordered by sequence, terms by hash, then text. Both are found by binary search, and segments are
/// merged by reading them in parallel. A segment is immutable except for `removed`.
#[derive(Debug)]
pub(crate) struct Segment {
    sequences: Box<[u64]>,
    timestamps: Box<[i64]>,
    groups: Box<[u64]>,
    stop_words: Box<[StopWords]>,
    lengths: Box<[Lengths]>,
    pair_ends: Box<[u32]>,
    pairs: Box<[u16]>,
    identifier_ends: Box<[u32]>,
    identifiers: Box<[u32]>,
    totals: Totals,
    removed: Box<[AtomicU64]>,
    removed_count: AtomicU32,
    /// Whether its documents are indexed without their results.
    is_thinned: bool,

    hashes: Box<[u32]>,
    /// For each value of the upper bits of a hash, the index of the first term.
    directory: Box<[u32]>,
    text_ends: Box<[u32]>,
    text: Box<str>,
    posting_ends: Box<[u32]>,
    postings: Box<[Posting]>,
    /// Indices of the terms, ordered by the first bytes of their text.
    by_start: Box<[u32]>,
    /// Computed on first use.
    bounds: OnceLock<Bounds>,
}

impl Segment {
    /// A segment of the documents that are not removed; `None` when there is none.
    pub(crate) fn from_documents<'a>(
        documents: impl Iterator<Item = &'a TailDocument>,
    ) -> Option<Self> {
        let mut documents: Vec<&TailDocument> =
            documents.filter(|document| !document.is_removed()).collect();
        documents.sort_unstable_by_key(|document| document.sequence);
        let mut builder = SegmentBuilder::default();
        let count = documents.iter().map(|document| document.terms.len()).sum();
        let mut occurrences: Vec<(&str, Posting)> = Vec::with_capacity(count);
        let mut keys: Vec<u64> = Vec::with_capacity(count);
        for (place, document) in (0..).zip(documents) {
            builder.document(&document.row());
            let Sketch { pairs, identifiers } = &document.terms.sketch;
            builder.sketch(pairs, identifiers);
            for (hash, text, frequencies) in document.terms.iter() {
                keys.push(u64::from(hash) << 32 | occurrences.len() as u64);
                occurrences.push((text, Posting::new(place, frequencies)));
            }
        }
        sort_by_upper_half(&mut keys);
        let mut same_hash: Vec<(&str, Posting)> = Vec::new();
        for group in keys.chunk_by(|left, right| left >> 32 == right >> 32) {
            let hash = group.first().map_or(0, |key| (key >> 32) as u32);
            same_hash.clear();
            same_hash.extend(
                group.iter().filter_map(|key| occurrences.get(*key as u32 as usize)).copied(),
            );
            if !same_hash.is_sorted() {
                same_hash.sort_unstable();
            }
            for term in same_hash.chunk_by(|left, right| left.0 == right.0) {
                term.iter().for_each(|(_, posting)| builder.posting(*posting));
                term.first().into_iter().for_each(|(text, _)| builder.end_term(hash, text));
            }
        }
        builder.finish()
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Number of documents, including removed ones.
    pub(crate) fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Number of documents that are not removed.
    pub(crate) fn live(&self) -> usize {
        self.len() - self.removed_count.load(Ordering::Relaxed) as usize
    }

    pub(crate) fn sequence(&self, place: u32) -> Option<u64> {
        self.sequences.get(place as usize).copied()
    }

    pub(crate) fn timestamp(&self, place: u32) -> i64 {
        self.timestamps.get(place as usize).copied().unwrap_or_default()
    }

    pub(crate) fn group(&self, place: u32) -> u64 {
        self.groups.get(place as usize).copied().unwrap_or_default()
    }

    pub(crate) fn lengths(&self) -> &[Lengths] {
        &self.lengths
    }

    pub(crate) fn has_removed(&self) -> bool {
        self.removed_count.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn is_removed(&self, place: u32) -> bool {
        let bits =
            self.removed.get(place as usize / 64).map_or(0, |bits| bits.load(Ordering::Relaxed));
        bits >> (place % 64) & 1 == 1
    }

    /// Whether it contains this document and the document is not removed.
    pub(crate) fn has(&self, sequence: u64) -> bool {
        self.place(sequence).is_some()
    }

    /// Removes a document. Returns whether it was present. Must be called by one writer at a time.
    pub(crate) fn remove(&self, sequence: u64) -> bool {
        let Some(place) = self.find(sequence) else { return false };
        let Some(bits) = self.removed.get(place / 64) else { return false };
        let bit = 1 << (place % 64);
        let removed = bits.fetch_or(bit, Ordering::Relaxed) & bit == 0;
        self.removed_count.fetch_add(u32::from(removed), Ordering::Relaxed);
        removed
    }

    /// The sequences of the documents that are removed.
    pub(crate) fn removed(&self) -> impl Iterator<Item = u64> {
        let sequences = (0..).zip(&self.sequences).filter(|_| self.has_removed());
        sequences.filter(|(place, _)| self.is_removed(*place)).map(|(_, sequence)| *sequence)
    }

    /// The approximate memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let document = size_of::<(u64, i64, Lengths, u32, u32)>();
        let term = 3 * size_of::<u32>() + size_of::<u32>() / TERMS_PER_BUCKET;
        self.len() * document
            + self.term_count() * term
            + self.text.len()
            + size_of_val(&*self.postings)
            + size_of_val(&*self.pairs)
            + size_of_val(&*self.identifiers)
            + self.bounds.get().map_or(0, Bounds::bytes)
    }

    /// Whether most of its documents are removed.
    pub(crate) fn is_sparse(&self) -> bool {
        self.live() * 2 < self.len()
    }

    pub(crate) fn is_thinned(&self) -> bool {
        self.is_thinned
    }

    /// The lowest sequence, by which segments are ordered by age.
    pub(crate) fn first_sequence(&self) -> u64 {
        self.sequences.first().copied().unwrap_or_default()
    }

    /// The sketch of a document: hashes of pairs of adjacent terms, ascending, and hashes of its identifiers. Empty if
    /// none was kept.
    pub(crate) fn sketch(&self, place: u32) -> (&[u16], &[u32]) {
        let place = place as usize;
        let pairs = self.pairs.get(range(&self.pair_ends, place)).unwrap_or_default();
        let identifiers =
            self.identifiers.get(range(&self.identifier_ends, place)).unwrap_or_default();
        (pairs, identifiers)
    }

    /// The terms with a hash, and their postings.
    pub(crate) fn with_hash(&self, hash: u32) -> impl Iterator<Item = (&str, &[Posting])> {
        let numbers = self.numbers_with_hash(hash);
        numbers.map(|number| (self.text(number), self.postings_of(number)))
    }

    fn numbers_with_hash(&self, hash: u32) -> impl Iterator<Item = usize> {
        let bucket = bucket(hash, self.directory.len() - 1);
        let bounds = self.directory.get(bucket).zip(self.directory.get(bucket + 1));
        let (start, end) = bounds.map_or((0, 0), |(start, end)| (*start as usize, *end as usize));
        let hashes = self.hashes.get(start..end).unwrap_or_default();
        let same_hash = (start..).zip(hashes).filter(move |(_, other)| **other == hash);
        same_hash.map(|(number, _)| number)
    }

    /// The number of a term.
    pub(crate) fn number_of(&self, hash: u32, term: &str) -> Option<usize> {
        self.numbers_with_hash(hash).find(|number| self.text(*number) == term)
    }

    /// The postings of a term, ordered by document.
    pub(crate) fn postings(&self, hash: u32, term: &str) -> &[Posting] {
        self.with_hash(hash).find(|(text, _)| *text == term).map_or(&[], |(_, postings)| postings)
    }

    /// Text and postings of the terms that begin with `start`.
    pub(crate) fn starting_with(&self, start: Start) -> impl Iterator<Item = (&str, &[Posting])> {
        let before = |number: &u32| Start::of(self.text(*number as usize)) < start;
        let (_, from) = self.by_start.split_at(self.by_start.partition_point(before));
        let terms = from.iter().map(|number| {
            let number = *number as usize;
            (self.text(number), self.postings_of(number))
        });
        terms.take_while(move |(text, _)| start.begins(Start::of(text)))
    }

    pub(crate) fn term_count(&self) -> usize {
        self.hashes.len()
    }

    /// Hash and text of a term by its index.
    pub(crate) fn term(&self, number: usize) -> Option<(u32, &str)> {
        Some((*self.hashes.get(number)?, self.text(number)))
    }

    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn posting_count(&self) -> usize {
        self.postings.len()
    }

    /// The documents that are not removed, with their positions.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (u32, Row)> {
        let places = (0..self.len()).filter(|place| !self.is_removed(*place as u32));
        places.filter_map(|place| Some((place as u32, self.row(place)?)))
    }

    /// A document by its position, removed or not.
    pub(crate) fn row(&self, place: usize) -> Option<Row> {
        Some(Row {
            sequence: *self.sequences.get(place)?,
            timestamp: *self.timestamps.get(place)?,
            group: *self.groups.get(place)?,
            stop_words: *self.stop_words.get(place)?,
            lengths: *self.lengths.get(place)?,
        })
    }

    /// The position of the first document whose sequence is at least `sequence`.
    pub(crate) fn first_place_from(&self, sequence: u64) -> usize {
        self.sequences.partition_point(|other| *other < sequence)
    }

    /// The position of a document that is not removed.
    pub(crate) fn place(&self, sequence: u64) -> Option<u32> {
        let place = self.find(sequence)? as u32;
        (!self.is_removed(place)).then_some(place)
    }

    /// The position of a document, removed or not.
    fn find(&self, sequence: u64) -> Option<usize> {
        // Mostly all sequences from the first on are there.
        let offset = usize::try_from(sequence.checked_sub(self.first_sequence())?).ok()?;
        if self.sequences.get(offset) == Some(&sequence) {
            return Some(offset);
        }
        let last = offset.min(self.len());
        self.sequences.split_at(last).0.binary_search(&sequence).ok()
    }

    fn text(&self, number: usize) -> &str {
        self.text.get(range(&self.text_ends, number)).unwrap_or_default()
    }

    /// The postings of a term by its index.
    pub(crate) fn postings_of(&self, number: usize) -> &[Posting] {
        self.postings.get(range(&self.posting_ends, number)).unwrap_or_default()
    }
}

/// Upper bounds of the scores of its documents.
impl Segment {
    /// The levels of its postings, and its units. The first call computes them, which takes about as long as scoring all
    /// postings once.
    pub(crate) fn bounds(&self) -> &Bounds {
        self.bounds.get_or_init(|| Bounds::new(self))
    }

    /// The levels of a term's postings, by the index of the term.
    pub(crate) fn levels_of(&self, number: usize) -> &[u8] {
        self.bounds().levels().get(range(&self.posting_ends, number)).unwrap_or_default()
    }
}

fn range(ends: &[u32], number: usize) -> std::ops::Range<usize> {
    let end = |number: usize| ends.get(number).map_or(0, |end| *end as usize);
    number.checked_sub(1).map_or(0, end)..end(number)
}

fn terms_by_start(text_ends: &[u32], text: &str) -> Box<[u32]> {
    let text = |number: usize| text.get(range(text_ends, number)).unwrap_or_default();
    let numbers = 0..text_ends.len();
    let mut keys: Vec<u64> =
        numbers.map(|number| Start::of(text(number)).with_number(number as u32)).collect();
    sort_by_upper_half(&mut keys);
    keys.into_iter().map(|key| key as u32).collect()
}

/// The bucket of a hash. `buckets` must be a power of two.
fn bucket(hash: u32, buckets: usize) -> usize {
    ((u64::from(hash) * buckets as u64) >> u32::BITS) as usize
}

/// Builds a segment from documents ordered by sequence, followed by terms in order.
#[derive(Default)]
pub(crate) struct SegmentBuilder {
    sequences: Vec<u64>,
    timestamps: Vec<i64>,
    groups: Vec<u64>,
    stop_words: Vec<StopWords>,
    lengths: Vec<Lengths>,
    pair_ends: Vec<u32>,
    pairs: Vec<u16>,
    identifier_ends: Vec<u32>,
    identifiers: Vec<u32>,
    totals: Totals,
    hashes: Vec<u32>,
    text_ends: Vec<u32>,
    text: String,
    posting_ends: Vec<u32>,
    postings: Vec<Posting>,
    /// The start of the current term's postings.
    term_start: usize,
    is_thinned: bool,
}

impl SegmentBuilder {
    /// Reserves memory for the expected size, so that large merges do not reallocate.
    pub(crate) fn with_capacity(
        documents: usize,
        terms: usize,
        text: usize,
        postings: usize,
    ) -> Self {
        Self {
            sequences: Vec::with_capacity(documents),
            timestamps: Vec::with_capacity(documents),
            groups: Vec::with_capacity(documents),
            stop_words: Vec::with_capacity(documents),
            lengths: Vec::with_capacity(documents),
            hashes: Vec::with_capacity(terms),
            text_ends: Vec::with_capacity(terms),
            text: String::with_capacity(text),
            posting_ends: Vec::with_capacity(terms),
            postings: Vec::with_capacity(postings),
            ..Self::default()
        }
    }

    /// Makes the builder leave out the results of documents.
    pub(crate) fn thinned(self) -> Self {
        Self { is_thinned: true, ..self }
    }

    pub(crate) fn document(&mut self, row: &Row) {
        let mut lengths = row.lengths;
        if self.is_thinned {
            for field in RESULT_FIELDS {
                lengths.get_mut(field).into_iter().for_each(|length| *length = 0);
            }
        }
        self.sequences.push(row.sequence);
        self.timestamps.push(row.timestamp);
        self.groups.push(row.group);
        self.stop_words.push(row.stop_words);
        self.lengths.push(lengths);
        self.totals.add(&lengths);
    }

    /// Adds the sketch of the last added document; a thinned segment keeps none.
    pub(crate) fn sketch(&mut self, pairs: &[u16], identifiers: &[u32]) {
        if !self.is_thinned {
            self.pairs.extend_from_slice(pairs);
            self.identifiers.extend_from_slice(identifiers);
        }
        self.pair_ends.push(self.pairs.len() as u32);
        self.identifier_ends.push(self.identifiers.len() as u32);
    }

    /// Adds a posting of the term that the next [`Self::end_term`] names.
    pub(crate) fn posting(&mut self, posting: Posting) {
        if !self.is_thinned {
            self.postings.push(posting);
            return;
        }
        let frequencies = posting.frequencies().without(&RESULT_FIELDS);
        if !frequencies.is_empty() {
            self.postings.push(Posting::new(posting.document(), frequencies));
        }
    }

    /// Names the term of the postings since the previous call; a term without postings is dropped.
    pub(crate) fn end_term(&mut self, hash: u32, text: &str) {
        let (_, postings) = self.postings.split_at_mut(self.term_start);
        if postings.is_empty() {
            return;
        }
        if !postings.is_sorted() {
            postings.sort_unstable();
        }
        self.hashes.push(hash);
        self.text.push_str(text);
        self.text_ends.push(self.text.len() as u32);
        self.posting_ends.push(self.postings.len() as u32);
        self.term_start = self.postings.len();
    }

    /// The segment; `None` when it has no document.
    pub(crate) fn finish(self) -> Option<Segment> {
        if self.sequences.is_empty() {
            return None;
        }
        let buckets = (self.hashes.len() / TERMS_PER_BUCKET).next_power_of_two();
        let mut directory = Vec::with_capacity(buckets + 1);
        let mut next = 0;
        for number in 0..=buckets {
            let in_bucket =
                self.hashes.iter().skip(next).take_while(|hash| bucket(**hash, buckets) < number);
            next += in_bucket.count();
            directory.push(next as u32);
        }
        let by_start = terms_by_start(&self.text_ends, &self.text);
        Some(Segment {
            by_start,
            bounds: OnceLock::new(),
            removed: (0..self.sequences.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            removed_count: AtomicU32::new(0),
            is_thinned: self.is_thinned,
            sequences: self.sequences.into(),
            timestamps: self.timestamps.into(),
            groups: self.groups.into(),
            stop_words: self.stop_words.into(),
            lengths: self.lengths.into(),
            pair_ends: self.pair_ends.into(),
            pairs: self.pairs.into(),
            identifier_ends: self.identifier_ends.into(),
            identifiers: self.identifiers.into(),
            totals: self.totals,
            hashes: self.hashes.into(),
            directory: directory.into(),
            text_ends: self.text_ends.into(),
            text: self.text.into(),
            posting_ends: self.posting_ends.into(),
            postings: self.postings.into(),
        })
    }
}
