//! The text of a context from which the caller's embedding model computes its vector: the description and the beginning
//! of the result.

use rustc_hash::{FxHashMap, FxHashSet};
use text_index::{fuse, nearness};

use super::{
    collection::Collection, context_directory::ContextDirectory, held::Held,
    pointer_table::PointerTable, record, selection::scale, session::Session,
    stored_text::beginning_of_result,
};
use crate::vectors::{Embedded, TextDigest, Vectors, embedded_text};

/// Contexts that are looked up without a pause.
const BATCH: usize = 4096;
/// The part of a result that is read, in bytes: more than an embedded text needs.
const MAX_RESULT: usize = 16 * 1024;
/// The part of a file that is read first, in bytes; longer if its arguments are longer.
const MAX_HEAD: u64 = 64 * 1024;

/// The texts of contexts that have no vector: each once, at most `limit`. Only as many contexts are considered as vectors fit.
pub(super) async fn missing_texts(
    session: &Session,
    vectors: &Vectors,
    latest_first: impl Iterator<Item = u64>,
    limit: usize,
) -> Vec<String> {
    vectors.refresh().await;
    let latest: Vec<u64> = latest_first.take(vectors.room()).collect();
    let (mut texts, mut seen) = (Vec::new(), FxHashSet::default());
    for batch in latest.chunks(BATCH) {
        let known = session.index.embedded_texts(batch);
        for (&sequence, known) in batch.iter().zip(known) {
            if texts.len() == limit {
                return texts;
            }
            if known.is_some_and(|text| seen.contains(&text) || vectors.has(text)) {
                continue;
            }
            let text = text_of(&session.pointers, &session.directory, sequence).await;
            let Some(text) = text else { continue };
            let digest = TextDigest::of(&text);
            let is_known = |sequence| session.pointers.contains(sequence);
            session.index.set_embedded_text(sequence, digest, is_known);
            if !vectors.has(digest) && seen.insert(digest) {
                texts.push(text);
            }
            tokio::task::yield_now().await;
        }
        tokio::task::yield_now().await;
    }
    texts
}

/// How near contexts are to the query of a search.
pub(super) struct Near {
    /// The positions of contexts in `near`.
    positions: FxHashMap<u64, usize>,
    numbers: Vec<u64>,
    near: Vec<f32>,
    /// The greatest cosine.
    nearest: f32,
}

impl Near {
    /// `None` if none of the contexts has a vector.
    pub fn new(
        embedded: &Embedded,
        numbers: impl Iterator<Item = u64>,
        collection: &Collection<'_>,
    ) -> Option<Self> {
        let numbers: Vec<u64> = numbers.collect();
        let cosines = embedded.cosines(collection.embedded_texts(&numbers))?;
        Some(Self {
            positions: numbers.iter().copied().zip(0..).collect(),
            nearest: cosines.iter().flatten().copied().fold(0.0, f32::max),
            near: nearness(&cosines),
            numbers,
        })
    }

    /// Adds the nearness of contexts to their scores by terms, from 0 to 1. The sums are from 0 to 1, too; the best is at least the
    /// best score by terms and the greatest cosine.
    pub fn fuse(&self, ranked: Vec<(u64, f32)>) -> Vec<(u64, f32)> {
        let at = |(number, score)| Some((*self.positions.get(&number)?, score));
        let mut scored: Vec<(usize, f32)> = ranked.into_iter().filter_map(at).collect();
        fuse(&mut scored, &self.near);
        let scale = scale(scored.first().map_or(0.0, |(_, best)| *best), 1.0, self.nearest);
        let number =
            |(position, score): (usize, f32)| Some((*self.numbers.get(position)?, score * scale));
        scored.into_iter().filter_map(number).collect()
    }
}

/// A context's description and the beginning of its result; `None` if the context was removed.
async fn text_of(
    pointers: &PointerTable,
    directory: &ContextDirectory,
    sequence: u64,
) -> Option<String> {
    let ((description, filename), held) = pointers.with_cached(sequence, |pointer| {
        let description = json_text::decode_string(pointer.description().as_bytes())?.into_owned();
        Some((description, pointer.filename().to_owned()))
    })?;
    let result = match held {
        Some(Held::Text { text, .. }) => {
            let beginning = text.get(..MAX_RESULT).unwrap_or(&text);
            String::from_utf8_lossy(beginning).into_owned()
        }
        Some(Held::Whole(record) | Held::WithBytes { record, .. }) => {
            beginning_of_result(&record, MAX_RESULT)
        }
        // If the file cannot be read, the text is only the description.
        None => {
            let record = beginning_of(directory, &filename).await.unwrap_or_default();
            beginning_of_result(&record, MAX_RESULT)
        }
    };
    Some(embedded_text(&[&description, &result]))
}

async fn beginning_of(directory: &ContextDirectory, filename: &str) -> Option<Vec<u8>> {
    let root = directory.root(filename).await.ok()?;
    let mut limit = MAX_HEAD;
    loop {
        let contents = directory.read(&root, filename, limit).await.ok()?;
        let is_whole = contents.bytes.len() as u64 == contents.length;
        if is_whole || record::parse_head(&contents.bytes).is_ok() {
            return Some(contents.bytes);
        }
        limit = contents.length;
    }
}
