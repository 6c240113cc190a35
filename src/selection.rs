//! The methods of `NativeManager` that select contexts for a question (`lib/manager/select-contexts.ts`).

use std::sync::Arc;

use agent_context_core::context::{Candidate, ForeignPointer, Selection, append_arguments};
use napi::{Result, bindgen_prelude::ClassInstance};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use storage::Payload;

use super::{
    context_manager::NativeManager,
    numbers::{size, time, whole},
    request::parse,
    runtime::Answer,
    text::Utf8,
    vectors::{GivenEmbedded, NativeVectors, embedded, query_and_texts},
};

/// A pointer that the manager may not know, JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativePointer {
    filepath: String,
    tool_name: String,
    tool_description: String,
    args: Option<Box<RawValue>>,
    /// A JSON token, like `task_id`.
    query_id: Option<String>,
    task_id: Option<String>,
    timestamp: f64,
}

impl From<NativePointer> for ForeignPointer {
    fn from(pointer: NativePointer) -> Self {
        let mut arguments = String::new();
        if let Some(args) = pointer.args {
            append_arguments(args.get().as_bytes(), &mut arguments);
        }
        Self {
            path: pointer.filepath,
            tool_name: pointer.tool_name,
            description: pointer.tool_description,
            arguments,
            query: pointer.query_id,
            task: pointer.task_id,
            timestamp: time(pointer.timestamp),
        }
    }
}

fn payloads(first: String, texts: Vec<String>) -> Answer {
    let texts = std::iter::once(first).chain(texts);
    Answer::Texts(texts.map(|text| Payload::new(text.into_bytes())).collect())
}

#[napi]
impl NativeManager {
    /// The positions of the matching candidates, best first. `sequences` has the call number of each
    /// candidate, or -1 for the next pointer in `foreign`, a JSON array. `null` if a known candidate was
    /// cleared: the caller then passes all candidates in `foreign`.
    #[napi]
    pub fn rank(
        &self,
        #[napi(ts_arg_type = "string")] query: Utf8,
        sequences: &[f64],
        #[napi(ts_arg_type = "string")] foreign: Utf8,
    ) -> Result<Option<Vec<u32>>> {
        let query = query.into_string();
        let is_ascending = sequences.is_sorted_by(|one, next| one < next);
        if is_ascending && sequences.first().is_some_and(|&first| first >= 0.0) {
            return Ok(self.manager.rank_ascending(&query, sequences).map(numbers_of));
        }
        let foreign: Vec<NativePointer> = parse(&foreign)?;
        let mut foreign = foreign.into_iter().map(ForeignPointer::from);
        let candidates: Vec<Candidate> = sequences
            .iter()
            .map(|&sequence| {
                if sequence < 0.0 {
                    Candidate::Foreign(foreign.next().unwrap_or_default())
                } else {
                    Candidate::Known(whole(sequence))
                }
            })
            .collect();
        Ok(self.manager.rank(&query, &candidates).map(numbers_of))
    }

    /// Selects contexts; the request is JSON, `given` is the question's embedding. Answers with `{ isMatched
    /// }` and with arrays of the selected contexts, all as JSON.
    #[napi]
    pub fn select(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] query: Utf8,
        #[napi(ts_arg_type = "string")] request: Utf8,
        #[napi(ts_arg_type = "NativeEmbedded | undefined | null")] given: GivenEmbedded<'_>,
    ) -> Result<()> {
        let (manager, query) = (Arc::clone(&self.manager), query.into_string());
        let mut selection: Selection = parse(&request)?;
        let redaction = self.redaction();
        let embedded = embedded(given);
        self.run_cancellable(operation, async move {
            selection.filter = selection.filter.redacted(redaction)?;
            let selected = manager.select(&query, &selection, embedded).await?;
            let head = json!({ "isMatched": selected.is_matched }).to_string();
            Ok(payloads(head, selected.texts))
        })
    }

    /// The vectors of contexts by the model with this name; without a name, new ones in memory.
    #[napi]
    #[must_use]
    pub fn vectors(&self, model: Option<String>) -> NativeVectors {
        NativeVectors::new(self.manager.vectors(model.as_deref()), &self.queue)
    }

    /// Answers with `query`, as JSON, and with the texts without a vector of contexts that a selection admits, at most `limit`.
    #[napi]
    pub fn texts_to_select(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] query: Utf8,
        #[napi(ts_arg_type = "string")] request: Utf8,
        vectors: ClassInstance<'_, NativeVectors>,
        limit: f64,
    ) -> Result<()> {
        let (manager, vectors) = (Arc::clone(&self.manager), vectors.vectors());
        let (query, mut selection): (_, Selection) = (query.into_string(), parse(&request)?);
        let redaction = self.redaction();
        self.run_cancellable(operation, async move {
            selection.filter = selection.filter.redacted(redaction)?;
            let texts = manager.texts_to_select(&selection, &vectors, size(limit)).await;
            Ok(query_and_texts(Some(&query), texts))
        })
    }
}

fn numbers_of(positions: Vec<usize>) -> Vec<u32> {
    positions.into_iter().filter_map(|position| u32::try_from(position).ok()).collect()
}
