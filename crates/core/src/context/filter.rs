//! The filter by query, task, tool, call, session and time that `search`, `selection`, `grep` and `forget` share.

use redaction::{Redaction, RedactionSession};
use serde::Deserialize;

use super::pointer::Pointer;
use crate::error::Result;

/// Conditions that a context has to meet. An absent condition admits all contexts, an empty list none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextFilter {
    /// Saved with one of these `queryId`s, JSON tokens.
    pub queries: Option<Vec<String>>,
    /// Saved with one of these `taskId`s, JSON tokens.
    pub tasks: Option<Vec<String>>,
    /// Made by one of these tools.
    pub tools: Option<Vec<String>>,
    /// Saved with one of these `callId`s, JSON tokens.
    pub calls: Option<Vec<String>>,
    /// Saved by one of these sessions, JSON tokens.
    pub sessions: Option<Vec<String>>,
    /// Called at this time or later, ms since 1970.
    pub since: Option<i64>,
    /// Called at this time or earlier, ms since 1970.
    pub until: Option<i64>,
}

impl ContextFilter {
    /// Redacts the filter: ids and names are stored redacted, so the redacted forms are compared.
    ///
    /// # Errors
    /// `Redaction`
    pub fn redacted(mut self, redaction: Option<Redaction>) -> Result<Self> {
        let mut pass = RedactionSession::new(redaction);
        for tokens in [&mut self.queries, &mut self.tasks, &mut self.calls].into_iter().flatten() {
            pass.add_tokens(tokens)?;
        }
        if let Some(tools) = &mut self.tools {
            pass.add_texts(tools)?;
        }
        Ok(self)
    }

    /// Whether there are no conditions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the context meets all conditions.
    #[must_use]
    pub fn matches(&self, pointer: &Pointer) -> bool {
        self.since.is_none_or(|since| since <= pointer.timestamp)
            && self.until.is_none_or(|until| pointer.timestamp <= until)
            && is_one_of(self.queries.as_deref(), pointer.query.as_deref())
            && is_one_of(self.tasks.as_deref(), pointer.task.as_deref())
            && is_one_of(self.sessions.as_deref(), pointer.session.as_deref())
            && is_one_of(
                self.calls.as_deref(),
                pointer.call.as_ref().and_then(|call| call.id.as_deref()),
            )
            && self.tools.as_ref().is_none_or(|tools| {
                let name = json_text::decode_string(pointer.tool_name().as_bytes());
                name.is_some_and(|name| tools.iter().any(|tool| *tool == name))
            })
    }
}

fn is_one_of(wanted: Option<&[String]>, token: Option<&str>) -> bool {
    let Some(wanted) = wanted else { return true };
    token.is_some_and(|token| wanted.iter().any(|other| is_same(other, token)))
}

/// Whether two tokens are the same string: other programs may escape more characters.
fn is_same(token: &str, other: &str) -> bool {
    if token == other {
        return true;
    }
    if !(token.contains('\\') || other.contains('\\')) {
        return false;
    }
    let units =
        |token: &str| token.starts_with('"').then(|| json_text::decode_utf16(token.as_bytes()));
    units(token).is_some_and(|text| Some(text) == units(other))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::pointer::PointerParts;

    fn pointer() -> Pointer {
        let parts = PointerParts {
            filename: "grep_1.json",
            tool_name: "\"gr\\u0065p\"",
            tool_description: "\"x\"",
            arguments: "{}",
            source_urls: "",
        };
        let mut pointer = Pointer::new(&parts, 1000, 1);
        pointer.query = Some(Arc::from("\"caf\\u00e9\""));
        pointer.task = Some(Arc::from("7"));
        pointer
    }

    fn matches(filter: &str) -> bool {
        serde_json::from_str::<ContextFilter>(filter).unwrap().matches(&pointer())
    }

    #[test]
    fn every_condition_counts_and_absent_ones_hold() {
        for filter in [
            r#"{}"#,
            r#"{"queries":null,"since":1000,"until":1000}"#,
            r#"{"queries":["\"a\"","\"café\""]}"#,
            r#"{"tasks":["7"],"tools":["read","grep"]}"#,
        ] {
            assert!(matches(filter), "{filter}");
        }
        for filter in [
            r#"{"queries":["\"cafe\""]}"#,
            r#"{"queries":[]}"#,
            r#"{"tasks":["\"7\""]}"#,
            r#"{"tasks":["70"]}"#,
            r#"{"tools":["Grep"]}"#,
            r#"{"tools":[]}"#,
            r#"{"since":1001}"#,
            r#"{"until":999}"#,
            r#"{"tasks":["7"],"tools":["read"]}"#,
        ] {
            assert!(!matches(filter), "{filter}");
        }
    }

    #[test]
    fn what_a_context_does_not_say_matches_no_list() {
        let mut bare = pointer();
        (bare.query, bare.task) = (None, None);
        let wanted = Some(vec!["null".to_owned(), "\"\"".to_owned()]);
        assert!(!ContextFilter { queries: wanted.clone(), ..Default::default() }.matches(&bare));
        assert!(!ContextFilter { tasks: wanted, ..Default::default() }.matches(&bare));
        assert!(ContextFilter::default().matches(&bare));
    }
}
