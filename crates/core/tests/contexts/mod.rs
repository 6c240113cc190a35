//! Helpers for tests of contexts.

use std::{path::Path, sync::Arc};

use agent_context_core::{
    Result,
    context::{Manager, ManagerOptions, Retention, SaveRequest},
};
use json_text::Encoded;
use serde_json::Value;
use storage::Durability;

/// Options for a new session in the directory.
pub fn options(directory: &Path) -> ManagerOptions {
    let directory = directory.to_str().unwrap().to_owned();
    ManagerOptions {
        prefix: format!("{directory}/"),
        directory,
        session: "the-session".to_owned(),
        session_is_named: false,
        resumes: false,
        persist_threshold: 1000,
        persist_all: true,
        memory_budget: 1 << 20,
        index_budget: usize::MAX,
        retention: Retention {
            max_age: 7 * 86_400_000,
            max_files: 1000,
            max_bytes: 1 << 30,
            max_result_bytes: 1 << 20,
            keep_paused: 7 * 86_400_000,
            max_paused_bytes: 1 << 30,
            max_live_bytes: u64::MAX,
            max_live_files: usize::MAX,
        },
        durability: Durability::Process,
        trust: agent_context_core::Trust::default(),
    }
}

/// A save of a tool's output.
pub fn request(tool: &str, arguments: &Value, result: &Value) -> SaveRequest {
    let encode = |value: &Value| Encoded::Text(value.to_string().encode_utf16().collect());
    SaveRequest {
        tool_name: tool.to_owned(),
        arguments: encode(arguments),
        result: encode(result),
        timestamp: 1_700_000_000_000,
        task: None,
        query: None,
        details: None,
        redaction: None,
    }
}

/// Saves a tool's output.
pub async fn save(
    manager: &Arc<Manager>,
    tool: &str,
    arguments: &Value,
    result: &Value,
) -> Result<String> {
    let sequence = manager.begin_save();
    manager.save(sequence, request(tool, arguments, result)).await
}
