//! Contexts as texts for a model that makes vectors of them, and the vectors that come back.

use std::{
    path::Path,
    sync::{MutexGuard, PoisonError},
};

use serde_json::json;

use super::{
    held::Held, manager::Manager, record, selection::Selection, stored_text::beginning_of_result,
};
use crate::context::vectors::{Vector, Vectors};

/// A text has at most this many characters.
const MAX_TEXT: usize = 2000;
/// What of a result is looked at, in bytes: more than enough for [`MAX_TEXT`].
const MAX_RESULT: usize = 16 * 1024;
/// What of a file is read first, in bytes; the whole of it when its arguments are longer.
const MAX_HEAD: u64 = 64 * 1024;

impl Manager {
    /// Texts of contexts in question that have no vector and would keep one: at most `limit`, the
    /// latest first, with the numbers of their calls.
    pub async fn texts_without_vector(
        &self,
        selection: &Selection,
        limit: usize,
    ) -> (Vec<u64>, Vec<String>) {
        let candidates = self.candidates(selection, false).await;
        let wanted: Vec<u64> = {
            let vectors = self.vectors();
            let latest_first = candidates.sequences.iter().rev().copied();
            latest_first.filter(|&sequence| vectors.wants(sequence)).take(limit).collect()
        };
        let (mut sequences, mut texts) = (Vec::new(), Vec::new());
        for sequence in wanted {
            if let Some(text) = self.text_of(sequence).await {
                sequences.push(sequence);
                texts.push(text);
            }
            tokio::task::yield_now().await;
        }
        (sequences, texts)
    }

    /// Keeps vectors of contexts. Those of contexts that went meanwhile are dropped.
    pub fn add_vectors(&self, vectors: impl Iterator<Item = (u64, Vector)>) {
        // Locked before the look: whoever forgets a context drops its vector after.
        let mut kept = self.vectors();
        for (sequence, vector) in vectors {
            if self.state().pointers.contains_key(&sequence) {
                kept.insert(sequence, vector);
            }
        }
    }

    /// Vectors of another length than a question's come from another model: they go.
    pub(super) fn check_dimensions(&self, wanted: usize) {
        let mut vectors = self.vectors();
        let found = vectors.dimensions();
        if found == 0 || found == wanted {
            return;
        }
        vectors.clear();
        drop(vectors);
        self.debug.say(
            "The vectors of contexts are not as long as the query's: they will be made anew",
            || json!({ "length": found, "queryLength": wanted }),
        );
    }

    pub(super) fn vectors(&self) -> MutexGuard<'_, Vectors> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A context's description and the beginning of its result; `None` when it is gone.
    async fn text_of(&self, sequence: u64) -> Option<String> {
        let (mut text, filename, held) = {
            let state = self.state();
            let pointer = state.pointers.get(&sequence)?;
            let description =
                json_text::decode_string(pointer.description().as_bytes())?.into_owned();
            (description, pointer.filename().to_owned(), state.memory.get(sequence).cloned())
        };
        let result = match held {
            Some(Held::Text { text, .. }) => {
                let beginning = text.get(..MAX_RESULT).unwrap_or(&text);
                String::from_utf8_lossy(beginning).into_owned()
            }
            Some(Held::Whole(record)) => beginning_of_result(&record, MAX_RESULT),
            // A file that cannot be read has a description all the same.
            None => {
                let record = self.beginning_of(&filename).await.unwrap_or_default();
                beginning_of_result(&record, MAX_RESULT)
            }
        };
        text.push('\n');
        text.push_str(&result);
        if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
            text.truncate(end);
        }
        Some(text.trim_end().to_owned())
    }

    async fn beginning_of(&self, filename: &str) -> Option<Vec<u8>> {
        let root = self.root(filename).await.ok()?;
        let mut limit = MAX_HEAD;
        loop {
            let contents = self.file_system.read(&root, Path::new(filename), limit).await.ok()?;
            let is_whole = contents.bytes.len() as u64 == contents.length;
            if is_whole || record::parse_head(&contents.bytes).is_ok() {
                return Some(contents.bytes);
            }
            limit = contents.length;
        }
    }
}
