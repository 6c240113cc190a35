//! The methods `grep` and `found` of `NativeManager`. Requests and answers are JSON texts.

use std::sync::Arc;

use agent_context_core::context::{ContextFilter, GrepRequest};
use napi::Result;
use napi_derive::napi;
use serde::Deserialize;
use storage::Payload;

use super::{
    context_manager::NativeManager,
    context_slices::{NativeGrep, grep_of},
    request::parse,
    runtime::Answer,
    text::Utf8,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeGrepRequest {
    paths: Option<Vec<String>>,
    #[serde(default)]
    filter: ContextFilter,
    grep: NativeGrep,
    limit: usize,
    max_bytes: usize,
}

#[napi]
impl NativeManager {
    /// Finds matching lines in many contexts. The request is JSON, validated and completed in JavaScript; the
    /// answer is JSON.
    #[napi]
    pub fn grep(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        let given: NativeGrepRequest = parse(&request)?;
        let redaction = self.redaction();
        self.run_cancellable(operation, async move {
            let NativeGrepRequest { paths, filter, grep, limit, max_bytes } = given;
            let (filter, grep) = (filter.redacted(redaction)?, grep_of(grep)?);
            let found = manager.grep(GrepRequest { paths, filter, grep, limit, max_bytes }).await?;
            let found = serde_json::to_vec(&found).unwrap_or_default();
            Ok(Answer::Texts(vec![Payload::new(found)]))
        })
    }

    /// Describes what the contexts at `paths`, a JSON array of strings, hold; answers with an array of
    /// strings and nulls.
    #[napi]
    pub fn found(&self, operation: u32, #[napi(ts_arg_type = "string")] paths: Utf8) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        let paths: Vec<String> = parse(&paths)?;
        self.run_cancellable(operation, async move {
            let found = manager.found(&paths).await;
            let found = serde_json::to_vec(&found).unwrap_or_default();
            Ok(Answer::Texts(vec![Payload::new(found)]))
        })
    }
}
