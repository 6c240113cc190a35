//! Secrets found in a text, and merging of overlapping ones.

use std::ops::Range;

use super::rules::{Detector, Method, RULES};

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub range: Range<usize>,
    /// Index of the rule.
    pub rule: usize,
}

/// Sorts hits and merges those that overlap under the rule of the longest. Between equal hits, a rule for a specific
/// form wins over a rule for the name beside the value, and an earlier rule of the rules' file over a later one.
pub(super) fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
    let is_general = |rule: usize| {
        RULES.get(rule).is_some_and(|rule| {
            matches!(rule.method, Method::Detector(Detector::Assignment | Detector::Vendor))
        })
    };
    hits.sort_by_key(|hit| {
        (hit.range.start, std::cmp::Reverse(hit.range.end), is_general(hit.rule), hit.rule)
    });
    let mut merged: Vec<Hit> = Vec::with_capacity(hits.len());
    let mut longest = 0;
    for hit in hits {
        let length = Range::len(&hit.range);
        match merged.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                if length > longest || is_general(last.rule) && length * 2 > longest {
                    last.rule = hit.rule;
                    longest = longest.max(length);
                }
                last.range.end = last.range.end.max(hit.range.end);
            }
            _ => {
                longest = length;
                merged.push(hit);
            }
        }
    }
    merged
}
