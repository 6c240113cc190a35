//! Which entries are looked for.

use redaction::{Redaction, RedactionSession};

use super::entry::Entry;
use crate::error::Result;

/// What entries have to be like; absent conditions hold for all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// One of these tools.
    pub tool_names: Option<Vec<String>>,
    /// How the call ended.
    pub success: Option<bool>,
    /// Not before this time, ms since 1970.
    pub since: Option<i64>,
    /// Not after this time, ms since 1970.
    pub until: Option<i64>,
    /// Text in the tool's name, the parameters, the result or the summary, whatever its case.
    pub text: Option<String>,
    /// At most this many, the most recent ones; of a ranking the best ones.
    pub limit: usize,
}

impl Filter {
    /// Names that hold secrets are written without them: they are looked for as that, too.
    ///
    /// # Errors
    /// `Redaction`
    pub fn redacted(mut self, redaction: Option<Redaction>) -> Result<Self> {
        if let Some(names) = &mut self.tool_names {
            RedactionSession::new(redaction).add_texts(names)?;
        }
        Ok(self)
    }

    /// The filter with its text in lower case, as it is compared.
    pub(super) fn prepared(mut self) -> Self {
        self.text = self.text.map(|text| text.to_lowercase()).filter(|text| !text.is_empty());
        self
    }

    /// Whether an index can tell some of the entries that do not match.
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

    /// Whether one of several entries may match whose times are between these; `None`: none has a time.
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
