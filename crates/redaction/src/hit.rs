//! The secrets of a text.

use std::ops::Range;

use super::rules::{Detector, Method, RULES};

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub range: Range<usize>,
    /// The rule's number.
    pub rule: usize,
}

/// Hits in order; those that touch each other become one, under the name of the longest. Between
/// equals a rule for a form tells more than a name beside the value, and what comes first in the
/// rules' file more than what comes later.
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
