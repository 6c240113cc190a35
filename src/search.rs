//! The method `search` of `NativeManager` (`lib/manager/search.ts`).

use std::sync::Arc;

use agent_context_core::context::SearchRequest;
use napi::Result;
use napi_derive::napi;
use storage::Payload;

use super::{context_manager::NativeManager, request::parse, runtime::Answer, text::Utf8};

#[napi]
impl NativeManager {
    /// Searches; `request` is a `SearchRequest` as JSON. Answers with JSON arrays of hits.
    #[napi]
    pub fn search(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let mut request: SearchRequest = parse(&request)?;
        let (manager, redaction) = (Arc::clone(&self.manager), self.redaction());
        self.run_cancellable(operation, async move {
            request.filter = request.filter.redacted(redaction)?;
            let texts = manager.search(&request).await?;
            Ok(Answer::Texts(
                texts.into_iter().map(|text| Payload::new(text.into_bytes())).collect(),
            ))
        })
    }
}
