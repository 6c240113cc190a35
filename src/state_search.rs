//! The methods of `NativeState` that search (`lib/state/state-store.ts`).

use std::sync::Arc;

use agent_context_core::{
    state::{Filter, Search},
    vectors::Embedded,
};
use napi::{
    Env, Result,
    bindgen_prelude::{ClassInstance, Unknown},
};
use napi_derive::napi;

use super::{
    numbers::size,
    request::parse,
    state_requests::NativeSearch,
    state_store::{NativeState, bytes_of, item_list},
    text::Utf8,
    vectors::{GivenEmbedded, NativeVectors, embedded, query_and_texts},
};

#[napi]
impl NativeState {
    /// The vectors of items by the model with this name; without a name, new ones in memory.
    #[napi]
    #[must_use]
    pub fn vectors(&self, model: Option<String>) -> NativeVectors {
        NativeVectors::new(self.state.vectors(model.as_deref()), &self.queue)
    }

    /// Answers with the query, as JSON, and with the texts without a vector of items that a search would rank, at most `limit`.
    #[napi]
    pub fn texts_to_search(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] prefix: Unknown<'_>,
        #[napi(ts_arg_type = "string")] request: Utf8,
        vectors: ClassInstance<'_, NativeVectors>,
        limit: f64,
    ) -> Result<()> {
        let search = self.search_of(bytes_of(env, &prefix)?, &request, None)?;
        let (state, vectors) = (Arc::clone(&self.state), vectors.vectors());
        self.run_cancellable(operation, async move {
            let query = search.query.clone();
            let texts = state.texts_without_vector(search, &vectors, size(limit)).await?;
            Ok(query_and_texts(Some(&query), texts))
        })
    }

    /// Searches; the request is JSON, `given` is the query's embedding. Answers as `list`, with scores and without a cursor.
    #[napi]
    pub fn search(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] prefix: Unknown<'_>,
        #[napi(ts_arg_type = "string")] request: Utf8,
        #[napi(ts_arg_type = "NativeEmbedded | undefined | null")] given: GivenEmbedded<'_>,
    ) -> Result<()> {
        let search = self.search_of(bytes_of(env, &prefix)?, &request, embedded(given))?;
        let state = Arc::clone(&self.state);
        self.run_cancellable(
            operation,
            async move { Ok(item_list(state.search(search).await?, "")) },
        )
    }
}

impl NativeState {
    fn search_of(
        &self,
        prefix: Vec<u8>,
        request: &Utf8,
        embedded: Option<Embedded>,
    ) -> Result<Search> {
        let NativeSearch { query, filter, limit } = parse(request)?;
        let filter = Filter::new(filter);
        Ok(Search { prefix, query, filter, limit, embedded, root: self.root })
    }
}
