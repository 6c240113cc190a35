//! Query filters for entries.

use redaction::{Redaction, RedactionSession};

use super::entry::Entry;
use crate::error::Result;

/// The conditions of a search; absent conditions admit all entries.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of one of these tools.
    pub tool_names: Option<Vec<String>>,
    /// Whether the call succeeded.
    pub success: Option<bool>,
    /// Called at this time or later, ms since 1970.
    pub since: Option<i64>,
    /// Called at this time or earlier, ms since 1970.
    pub until: Option<i64>,
    /// Text in the tool's name, the parameters, the result or the summary, ignoring case.
    pub text: Option<String>,
    /// The most entries: the latest ones, or for a ranked search the best ones.
    pub limit: usize,
}

impl Filter {
    /// Redacts the tool names of the filter, because entries are stored redacted.
    ///
    /// # Errors
    /// `Redaction`
    pub fn redacted(mut self, redaction: Option<Redaction>) -> Result<Self> {
        if let Some(names) = &mut self.tool_names {
            RedactionSession::new(redaction).add_texts(names)?;
        }
        Ok(self)
    }

    /// The filter with its text in lower case, for the comparison.
    pub(super) fn prepared(mut self) -> Self {
        self.text = self.text.map(|text| text.to_lowercase()).filter(|text| !text.is_empty());
        self
    }

    /// Whether the index can rule out some entries.
    pub(super) fn is_indexed(&self) -> bool {
        self.tool_names.is_some()
            || self.success.is_some()
            || self.since.is_some()
            || self.until.is_some()
    }

    pub(super) fn matches_time(&self, time: Option<i64>) -> bool {
        match time {
            None => self.since.is_none() && self.until.is_none(),
            Some(time) => {
                self.since.is_none_or(|since| since <= time)
                    && self.until.is_none_or(|until| time <= until)
            }
        }
    }

    /// Whether an entry with a time in this range may match; `None` if no entry has a time.
    pub(super) fn matches_any_time(&self, times: Option<(i64, i64)>) -> bool {
        match times {
            Some((earliest, latest)) => {
                self.since.is_none_or(|since| since <= latest)
                    && self.until.is_none_or(|until| earliest <= until)
            }
            None => self.matches_time(None),
        }
    }

    pub(super) fn matches(&self, entry: &Entry<'_>) -> bool {
        self.success.is_none_or(|success| success == entry.success())
            && self.tool_names.as_ref().is_none_or(|names| names.contains(&entry.tool_name()))
            && ((self.since.is_none() && self.until.is_none()) || self.matches_time(entry.time()))
            && self.text.as_ref().is_none_or(|text| entry.contains(text))
    }
}
