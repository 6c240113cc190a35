//! A summary of a step, which is one line of `summaries.jsonl`.

use redaction::RedactionSession;
use serde::{Deserialize, Serialize};

use super::record::{check_line, invalid};
use crate::error::{Code, Error, Result};

/// The longest text of a summary, in bytes.
pub const MAX_SUMMARY: usize = 64 * 1024;
/// The longest name of a run or step, or tag, in bytes.
const MAX_NAME: usize = 300;
/// The most tags of a summary.
const MAX_TAGS: usize = 50;

/// The summary of one step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The run.
    pub run_id: String,
    /// The step of the run.
    pub step_id: String,
    /// The time of writing, ISO 8601; empty in a caller's argument.
    #[serde(default)]
    pub timestamp: String,
    /// The text.
    pub summary: String,
    /// The tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The operation that appended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
}

impl Summary {
    /// Validates and redacts it.
    pub(super) fn prepare(&mut self, pass: &mut RedactionSession) -> Result<()> {
        check_line("runId", &self.run_id, MAX_NAME)?;
        check_line("stepId", &self.step_id, MAX_NAME)?;
        if self.summary.is_empty() {
            return Err(invalid("summaryText must not be empty"));
        }
        if self.summary.len() > MAX_SUMMARY {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "summaryText takes {} bytes, more than {MAX_SUMMARY}; keep what matters, and the rest as a tool's output",
                    self.summary.len()
                ),
            ));
        }
        for text in [&mut self.run_id, &mut self.step_id, &mut self.summary] {
            pass.text(text)?;
        }
        if let Some(id) = &self.operation_id {
            check_line("operationId", id, MAX_NAME)?;
            let mut redacted = id.clone();
            pass.text(&mut redacted)?;
            if redacted != *id {
                // A redacted id would be the same for several operations.
                return Err(invalid(
                    "operationId must not look like a secret: redaction would change it",
                ));
            }
        }
        if let Some(tags) = &mut self.tags {
            if tags.len() > MAX_TAGS {
                return Err(invalid(format!("tags must have at most {MAX_TAGS} items")));
            }
            for tag in tags.iter_mut() {
                check_line("tags", tag, MAX_NAME)?;
                pass.text(tag)?;
            }
        }
        Ok(())
    }

    /// The summary with the time `now`, and its line without the newline character.
    pub(super) fn line(mut self, now: String) -> Result<(Self, Vec<u8>)> {
        self.timestamp = now;
        let unwritable = |error: serde_json::Error| {
            Error::internal(format!("the summary could not be turned into JSON: {error}"))
        };
        let line = serde_json::to_vec(&self).map_err(unwritable)?;
        Ok((self, line))
    }
}
