//! The requests of a state store, JSON.

use agent_context_core::state::{Expected, NewCondition};
use serde::Deserialize;

/// An operation without its namespace, key and value.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeOperation {
    #[serde(rename = "type")]
    pub kind: NativeOperationKind,
    #[serde(default)]
    pub expected: Option<NativeExpected>,
    pub ttl: Option<i64>,
    pub expires_at: Option<i64>,
    pub media_type: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NativeOperationKind {
    Get,
    Put,
    Delete,
    Check,
}

/// The expected revision of an item; without one, the item must not exist.
#[derive(Deserialize)]
pub(super) struct NativeExpected {
    pub revision: Option<String>,
}

/// Conditions of a single change.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeConditions {
    #[serde(default)]
    pub expected: Option<NativeExpected>,
    pub ttl: Option<i64>,
    pub expires_at: Option<i64>,
    pub media_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeListing {
    pub filter: Vec<NewCondition>,
    pub is_by_update: bool,
    pub limit: usize,
    pub cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeNamespaceListing {
    pub max_depth: Option<usize>,
    pub limit: usize,
    pub cursor: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct NativeSearch {
    pub query: String,
    pub filter: Vec<NewCondition>,
    pub limit: usize,
}

impl From<NativeExpected> for Expected {
    fn from(expected: NativeExpected) -> Self {
        expected.revision.map_or(Self::Absent, Self::Revision)
    }
}
