//! The methods of `NativeManager` that select contexts for a question (`lib/manager/select-contexts.ts`).

use std::sync::Arc;

use agent_context_core::context::{
    Candidate, ForeignPointer, Selection, append_arguments, normalised,
};
use napi::{Result, bindgen_prelude::Float32ArraySlice};
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

    /// Selects contexts; the request is JSON, `vector` is the question's embedding. Answers with `{ isMatched
    /// }` and with arrays of the selected contexts, all as JSON.
    #[napi]
    pub fn select(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] query: Utf8,
        #[napi(ts_arg_type = "string")] request: Utf8,
        vector: Option<Float32ArraySlice<'_>>,
    ) -> Result<()> {
        let (manager, query) = (Arc::clone(&self.manager), query.into_string());
        let mut selection: Selection = parse(&request)?;
        let redaction = self.redaction();
        let vector = vector.and_then(|vector| normalised(&vector));
        self.run_cancellable(operation, async move {
            selection.filter = selection.filter.redacted(redaction)?;
            let selected = manager.select(&query, &selection, vector).await?;
            let head = json!({ "isMatched": selected.is_matched }).to_string();
            Ok(payloads(head, selected.texts))
        })
    }

    /// The texts of contexts without a vector, at most `limit`; the request is JSON. Answers with the numbers
    /// of their calls as a JSON array, and with the texts.
    #[napi]
    pub fn texts_without_vector(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        limit: f64,
    ) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        let mut selection: Selection = parse(&request)?;
        let redaction = self.redaction();
        self.run_cancellable(operation, async move {
            selection.filter = selection.filter.redacted(redaction)?;
            let (sequences, texts) = manager.texts_without_vector(&selection, size(limit)).await;
            Ok(payloads(json!(sequences).to_string(), texts))
        })
    }

    /// Stores vectors of contexts: finite numbers, all vectors of one length, one after the other.
    #[napi]
    pub fn add_vectors(&self, sequences: &[f64], vectors: Float32ArraySlice<'_>) {
        let dimensions = (vectors.len() / sequences.len().max(1)).max(1);
        let sequences = sequences.iter().map(|&sequence| whole(sequence));
        let vectors = sequences.zip(vectors.chunks_exact(dimensions));
        self.manager.add_vectors(
            vectors.filter_map(|(sequence, vector)| Some((sequence, normalised(vector)?))),
        );
    }
}

fn numbers_of(positions: Vec<usize>) -> Vec<u32> {
    positions.into_iter().filter_map(|position| u32::try_from(position).ok()).collect()
}
