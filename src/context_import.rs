//! Imports records of other directories.

use std::sync::Arc;

use agent_context_core::context::{ImportRequest, Imported};
use napi::{Env, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use redaction::Redacted;
use serde_json::json;

use super::{context_manager::NativeManager, runtime::Answer, text::Utf8, value};

#[napi]
impl NativeManager {
    /// Stores a record and its binary data under the record's file name. Answers with the result as JSON.
    #[napi]
    pub fn import_record(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] filename: Utf8,
        #[napi(ts_arg_type = "string")] record: Utf8,
        #[napi(ts_arg_type = "Uint8Array | undefined")] bytes: Option<Unknown<'_>>,
        is_dry_run: bool,
    ) -> Result<()> {
        let request = ImportRequest {
            filename: filename.into_string(),
            record: record.0,
            bytes: bytes.map(|bytes| value::read_bytes(env, &bytes)).transpose()?,
            redaction: self.redaction(),
            is_dry_run,
        };
        let manager = Arc::clone(&self.manager);
        self.run_cancellable(operation, async move {
            let Redacted { stored, report } = manager.import(request).await?;
            let Imported { path, handle, is_new } = stored;
            let answer = json!({
                "filepath": path,
                "handle": handle,
                "isNew": is_new,
                "redactions": report.findings(),
            });
            Ok(Answer::Text(answer.to_string()))
        })
    }
}
