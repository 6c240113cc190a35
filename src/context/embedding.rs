//! Contexts as texts for a model that makes vectors of them, and the vectors that come back.

use std::{
    path::Path,
    sync::{MutexGuard, PoisonError},
};

use serde_json::json;

use super::{held::Held, manager::Manager, record, selection::Selection};
use crate::{
    json,
    retrieval::vectors::{Vector, Vectors},
};

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
            let description = json::decode_string(pointer.description().as_bytes())?.into_owned();
            (description, pointer.filename().to_owned(), state.memory.get(sequence).cloned())
        };
        let result = match held {
            Some(Held::Text { text, .. }) => {
                let beginning = text.get(..MAX_RESULT).unwrap_or(&text);
                String::from_utf8_lossy(beginning).into_owned()
            }
            Some(Held::Whole(record)) => text_of_result(&record),
            // A file that cannot be read has a description all the same.
            None => text_of_result(&self.beginning_of(&filename).await.unwrap_or_default()),
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

/// The text at the beginning of a record's result. The record may be cut short there.
fn text_of_result(record: &[u8]) -> String {
    let rest = record::result_start(record).and_then(|start| record.get(start..));
    let rest = rest.unwrap_or_default();
    let mut beginning = rest.get(..MAX_RESULT).unwrap_or(rest).to_vec();
    close_string(&mut beginning);
    let mut text = String::new();
    json::append_text(&beginning, &mut text, MAX_RESULT);
    text
}

/// Ends a string that the end of the text cuts off, between two characters.
fn close_string(text: &mut Vec<u8>) {
    let mut opening = None;
    let mut at = 0;
    // Where the last whole character of the string ends.
    let mut end = 0;
    while let Some(&byte) = text.get(at) {
        let length = match (opening, byte) {
            (None, b'"') => {
                opening = Some(at);
                1
            }
            (Some(_), b'"') => {
                opening = None;
                1
            }
            (Some(_), b'\\') if text.get(at + 1) == Some(&b'u') => 6,
            (Some(_), b'\\') => 2,
            (_, 0xC0..=0xDF) => 2,
            (_, 0xE0..=0xEF) => 3,
            (_, 0xF0..=0xFF) => 4,
            _ => 1,
        };
        if at + length > text.len() {
            break;
        }
        at += length;
        end = at;
    }
    if opening.is_some() {
        text.truncate(end);
        text.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_of_a_result_is_told_wherever_it_is_cut() {
        let head = r#"{"toolName":"t","timestamp":"2024-01-15T10:30:00Z","args":{},"result":"#;
        let result = r#"{"file":"a\"b\u00e9\\","lines":["one é €","two 😀"],"n":15}"#;
        let whole = format!("{head}{result}}}");
        let text = text_of_result(whole.as_bytes());
        assert_eq!(text, "file a\"bé\\ lines one é € two 😀 n 15");
        let mut longest = 0;
        for end in head.len()..whole.len() {
            let cut = text_of_result(&whole.as_bytes()[..end]);
            assert!(text.starts_with(&cut), "cut at {end}: {cut:?}");
            assert!(cut.len() + 3 >= longest, "cut at {end}: {cut:?} lost what was there before");
            longest = cut.len();
        }
        assert!(longest + 3 >= text.len(), "nearly all of the text is there at last");
    }

    proptest! {
        #[test]
        fn a_string_is_told_to_the_character_before_the_cut(text in "[a-z\"\\\\é😀\n]{1,40}", cut in 0_usize..200) {
            let mut token = Vec::new();
            json::escape_string(&text, &mut token);
            let cut = cut.min(token.len() - 1).max(1);
            token.truncate(cut);
            close_string(&mut token);
            let told = json::decode_string(&token).map(std::borrow::Cow::into_owned);
            prop_assert!(told.as_ref().is_some_and(|told| text.starts_with(told.as_str())), "{told:?}");
        }

        #[test]
        fn any_bytes_are_taken(bytes in any::<Vec<u8>>()) {
            let _ = text_of_result(&bytes);
            let mut closed = bytes;
            close_string(&mut closed);
        }
    }
}
