//! What was redacted: how often which rule hit, never the secret.

use std::sync::Arc;

use serde::Serialize;

/// How often a rule hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name, which stands in the replacement as well.
    pub rule: Arc<str>,
    /// How many secrets it found.
    pub count: u64,
}

/// Hits by rule, in the order of the first hit of each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Counts a hit.
    pub(super) fn add(&mut self, rule: &Arc<str>) {
        match self.findings.iter_mut().find(|finding| finding.rule == *rule) {
            Some(finding) => finding.count += 1,
            None => self.findings.push(Finding { rule: Arc::clone(rule), count: 1 }),
        }
    }

    /// Counts the hits of `found` that `counted` has not.
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

    /// Counts the hits of another part of the record.
    pub fn add_all(&mut self, other: &Self) {
        self.add_new(other, &Self::default());
    }

    /// Hits by rule.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many secrets were found.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.findings.iter().map(|finding| finding.count).sum()
    }
}

/// The answer of an operation that redacts what it stores.
#[derive(Debug)]
pub struct Redacted<T> {
    /// What is stored.
    pub stored: T,
    /// What was redacted in it.
    pub report: Report,
}
