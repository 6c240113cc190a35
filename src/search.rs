//! The method `search` of `NativeManager` (`lib/manager/search.ts`).

use std::sync::Arc;

use agent_context_core::context::SearchRequest;
use napi::{Result, bindgen_prelude::ClassInstance};
use napi_derive::napi;
use storage::Payload;

use super::{
    context_manager::NativeManager,
    numbers::size,
    request::parse,
    runtime::Answer,
    text::Utf8,
    vectors::{GivenEmbedded, NativeVectors, embedded, query_and_texts},
};

#[napi]
impl NativeManager {
    /// Searches; `request` is a `SearchRequest` as JSON, `given` is the query's embedding. Answers with JSON arrays of hits.
    #[napi]
    pub fn search(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        #[napi(ts_arg_type = "NativeEmbedded | undefined | null")] given: GivenEmbedded<'_>,
    ) -> Result<()> {
        let mut request: SearchRequest = parse(&request)?;
        let embedded = embedded(given);
        let (manager, redaction) = (Arc::clone(&self.manager), self.redaction());
        self.run_cancellable(operation, async move {
            request.filter = request.filter.redacted(redaction)?;
            let texts = manager.search(&request, embedded).await?;
            Ok(Answer::Texts(
                texts.into_iter().map(|text| Payload::new(text.into_bytes())).collect(),
            ))
        })
    }

    /// Answers with the text of the query (JSON; `null` if it has only filters), and with the texts without a vector of contexts that the
    /// search admits, at most `limit`.
    #[napi]
    pub fn texts_to_search(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        vectors: ClassInstance<'_, NativeVectors>,
        limit: f64,
    ) -> Result<()> {
        let mut request: SearchRequest = parse(&request)?;
        let (manager, redaction) = (Arc::clone(&self.manager), self.redaction());
        let vectors = vectors.vectors();
        self.run_cancellable(operation, async move {
            request.filter = request.filter.redacted(redaction)?;
            let (query, texts) = manager.texts_to_search(&request, &vectors, size(limit)).await?;
            Ok(query_and_texts(query.as_deref(), texts))
        })
    }
}
