//! Reports of redaction: how often each rule found a secret, never the secret itself.

use std::sync::Arc;

use serde::Serialize;

/// How often a rule found a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name, which is also in the replacement.
    pub rule: Arc<str>,
    /// Number of secrets found.
    pub count: u64,
}

/// Numbers of hits by rule, in the order of the first hit of each rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Counts a hit of a rule.
    pub(super) fn add(&mut self, rule: &Arc<str>) {
        match self.findings.iter_mut().find(|finding| finding.rule == *rule) {
            Some(finding) => finding.count += 1,
            None => self.findings.push(Finding { rule: Arc::clone(rule), count: 1 }),
        }
    }

    /// Counts the hits of `found` that are not in `counted`.
    pub(super) fn add_new(&mut self, found: &Self, counted: &Self) {
        for Finding { rule, count } in &found.findings {
            let known = counted.findings.iter().find(|finding| finding.rule == *rule);
            let new = count.saturating_sub(known.map_or(0, |finding| finding.count));
            match self.findings.iter_mut().find(|finding| finding.rule == *rule) {
                Some(finding) => finding.count += new,
                None if new > 0 => {
                    self.findings.push(Finding { rule: Arc::clone(rule), count: new })
                }
                None => {}
            }
        }
    }

    /// Adds the hits of another part of the record.
    pub fn add_all(&mut self, other: &Self) {
        self.add_new(other, &Self::default());
    }

    /// The hits by rule.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Total number of secrets found.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.findings.iter().map(|finding| finding.count).sum()
    }
}

/// The result of an operation that redacts what it stores.
#[derive(Debug)]
pub struct Redacted<T> {
    /// The stored data.
    pub stored: T,
    /// The secrets that were redacted in it.
    pub report: Report,
}
