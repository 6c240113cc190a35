//! Vectors by the caller's embedding model (`lib/embedding/embeddings.ts`).

use std::sync::Arc;

use agent_context_core::vectors::{Embedded, Vectors};
use napi::{
    Result,
    bindgen_prelude::{ClassInstance, Float32ArraySlice},
};
use napi_derive::napi;
use serde_json::json;
use storage::Payload;

use super::{
    outbox::Queue,
    runtime::{Answer, run},
};

/// The vectors of texts by one model.
#[napi]
pub struct NativeVectors {
    vectors: Vectors,
    queue: Arc<Queue>,
}

/// The vector of a query, with the vectors of the texts by the same model.
#[napi]
pub struct NativeEmbedded(Embedded);

#[napi]
impl NativeVectors {
    /// Adds and saves the vectors of texts: finite numbers, all vectors of one length, one after the other.
    #[napi]
    pub fn add(
        &self,
        operation: u32,
        texts: Vec<String>,
        numbers: Float32ArraySlice<'_>,
    ) -> Result<()> {
        let (vectors, numbers) = (self.vectors.clone(), numbers.to_vec());
        run(&self.queue, operation, async move {
            vectors.add(texts, numbers).await;
            Ok(Answer::Text(String::new()))
        })?;
        Ok(())
    }

    /// The vector of a query; `null` if it is not valid.
    #[napi]
    #[must_use]
    pub fn query(&self, numbers: Float32ArraySlice<'_>) -> Option<NativeEmbedded> {
        self.vectors.query(&numbers).map(NativeEmbedded)
    }
}

impl NativeVectors {
    pub fn new(vectors: Vectors, queue: &Arc<Queue>) -> Self {
        Self { vectors, queue: Arc::clone(queue) }
    }

    pub fn vectors(&self) -> Vectors {
        self.vectors.clone()
    }
}

/// The embedding that JavaScript passes, if any.
pub type GivenEmbedded<'a> = Option<ClassInstance<'a, NativeEmbedded>>;

pub fn embedded(given: GivenEmbedded<'_>) -> Option<Embedded> {
    given.map(|given| given.0.clone())
}

/// Answers with the text of a query, as JSON, and with texts that have no vector.
pub fn query_and_texts(query: Option<&str>, texts: Vec<String>) -> Answer {
    let texts = std::iter::once(json!(query).to_string()).chain(texts);
    Answer::Texts(texts.map(|text| Payload::new(text.into_bytes())).collect())
}
