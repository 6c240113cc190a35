//! Query filters on the members of JSON values, and their lookup in the member index.

use std::{cmp::Ordering, ops::Range};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::scalar::{Scalar, member};

/// A condition from JavaScript, which has validated it.
#[derive(Debug, Deserialize)]
pub struct NewCondition {
    path: Vec<String>,
    operator: Operator,
    /// The value as JSON; an array for [`Operator::In`].
    value: Box<RawValue>,
}

/// How a member is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Operator {
    /// Equal to the value.
    #[serde(rename = "$eq")]
    Equal,
    /// Not equal, or absent.
    #[serde(rename = "$ne")]
    NotEqual,
    /// Greater than the value, of the same type.
    #[serde(rename = "$gt")]
    Greater,
    /// Greater than or equal to the value.
    #[serde(rename = "$gte")]
    GreaterOrEqual,
    /// Less than the value, of the same type.
    #[serde(rename = "$lt")]
    Less,
    /// Less than or equal to the value.
    #[serde(rename = "$lte")]
    LessOrEqual,
    /// Equal to one of an array's elements.
    #[serde(rename = "$in")]
    In,
    /// Whether the member exists.
    #[serde(rename = "$exists")]
    Exists,
}

/// Conditions, all of which an item's value has to meet.
#[derive(Debug, Default)]
pub struct Filter(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    path: Vec<String>,
    operator: Operator,
    values: Vec<Scalar>,
}

impl Filter {
    /// A filter with these conditions.
    #[must_use]
    pub fn new(conditions: Vec<NewCondition>) -> Self {
        Self(conditions.into_iter().map(Condition::new).collect())
    }

    /// Whether there are no conditions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a JSON text meets all conditions.
    pub(super) fn accepts(&self, json: &[u8]) -> bool {
        self.0.iter().all(|condition| condition.accepts(json))
    }

    /// An indexed member, by the name that `spelling` writes, and ranges of its index with all values that meet one of
    /// the conditions, and possibly others. The most selective kind of condition is chosen.
    pub(super) fn lookup(
        &self,
        is_indexed: impl Fn(&str) -> bool,
    ) -> Option<(String, Vec<Range<Vec<u8>>>)> {
        let candidates = self.0.iter().filter_map(|condition| {
            let path = spelling(&condition.path);
            let ranges = is_indexed(&path).then(|| condition.ranges()).flatten()?;
            Some((condition.operator != Operator::Equal, path, ranges))
        });
        candidates.min_by_key(|(is_range, ..)| *is_range).map(|(_, path, ranges)| (path, ranges))
    }
}

impl Condition {
    fn new(condition: NewCondition) -> Self {
        let NewCondition { path, operator, value } = condition;
        let token = value.get().as_bytes();
        let values = match operator {
            Operator::In => elements(token),
            _ => vec![Scalar::of_token(token)],
        };
        Self { path, operator, values }
    }

    fn accepts(&self, json: &[u8]) -> bool {
        let token = member(json, &self.path);
        if self.operator == Operator::Exists {
            return self.values.first() == Some(&Scalar::Boolean(token.is_some()));
        }
        let Some(value) = token.map(Scalar::of_token) else {
            return self.operator == Operator::NotEqual;
        };
        let compares = |accepted: fn(Ordering) -> bool| {
            self.values.iter().any(|given| value.order(given).is_some_and(accepted))
        };
        match self.operator {
            Operator::Equal | Operator::In => self.values.contains(&value),
            Operator::NotEqual => !self.values.contains(&value),
            Operator::Greater => compares(Ordering::is_gt),
            Operator::GreaterOrEqual => compares(Ordering::is_ge),
            Operator::Less => compares(Ordering::is_lt),
            Operator::LessOrEqual => compares(Ordering::is_le),
            Operator::Exists => false,
        }
    }

    /// Ranges of index keys that contain all accepted values.
    fn ranges(&self) -> Option<Vec<Range<Vec<u8>>>> {
        let after = |mut form: Vec<u8>| {
            form.push(0);
            form
        };
        let type_of = |form: &[u8]| form.first().copied().unwrap_or_default();
        let ranges = self.values.iter().map(|value| {
            let form = value.indexed();
            let kind = type_of(&form);
            match self.operator {
                // The keys of long strings are truncated, so strings with an equal key are compared in full.
                Operator::Equal | Operator::In => form.clone()..after(form),
                Operator::Greater | Operator::GreaterOrEqual => form..vec![kind + 1],
                _ => vec![kind]..after(form),
            }
        });
        match self.operator {
            Operator::NotEqual | Operator::Exists => None,
            _ => Some(ranges.collect()),
        }
    }
}

/// The elements of a JSON array.
fn elements(array: &[u8]) -> Vec<Scalar> {
    let mut values = Vec::new();
    let mut at = json_text::skip_whitespace(array, 1);
    while let Ok(end) = json_text::skip_value(array, at) {
        values.extend(array.get(at..end).map(Scalar::of_token));
        let next = json_text::skip_whitespace(array, end);
        if array.get(next) != Some(&b',') {
            break;
        }
        at = json_text::skip_whitespace(array, next + 1);
    }
    values
}

/// A path as the database stores it: keys as JSON strings, each after a dot.
pub(super) fn spelling(path: &[String]) -> String {
    let mut spelling = Vec::from(*b"$");
    for key in path {
        spelling.push(b'.');
        json_text::escape_string(key, &mut spelling);
    }
    String::from_utf8(spelling).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(conditions: &str) -> Filter {
        Filter::new(serde_json::from_str(conditions).unwrap())
    }

    fn condition(operator: &str, value: &str) -> Filter {
        filter(&format!(r#"[{{"path":["a"],"operator":"{operator}","value":{value}}}]"#))
    }

    #[test]
    fn operators_compare_values_of_one_type() {
        for (operator, value, accepted, refused) in [
            (
                "$eq",
                "1",
                &["{\"a\":1}", "{\"a\":1.0}"][..],
                &["{\"a\":\"1\"}", "{}", "[1]", "1"][..],
            ),
            ("$eq", "null", &["{\"a\":null}"], &["{}", "{\"a\":0}"]),
            (
                "$eq",
                "{\"x\":1,\"y\":[2]}",
                &["{\"a\":{\"y\":[2],\"x\":1}}"],
                &["{\"a\":{\"x\":1}}"],
            ),
            ("$ne", "1", &["{\"a\":2}", "{}", "{\"a\":\"1\"}", "[]"], &["{\"a\":1}"]),
            ("$gt", "1", &["{\"a\":1.5}"], &["{\"a\":1}", "{\"a\":\"2\"}", "{}", "{\"a\":true}"]),
            ("$gte", "\"b\"", &["{\"a\":\"b\"}", "{\"a\":\"c\"}"], &["{\"a\":\"a\"}", "{\"a\":3}"]),
            ("$lt", "-1", &["{\"a\":-1.5}"], &["{\"a\":-1}", "{\"a\":null}"]),
            ("$lte", "2", &["{\"a\":2}", "{\"a\":-7}"], &["{\"a\":3}"]),
            (
                "$in",
                "[1, \"x\" ,[2]]",
                &["{\"a\":1}", "{\"a\":\"x\"}", "{\"a\":[2]}"],
                &["{\"a\":2}", "{}"],
            ),
            ("$in", "[]", &[], &["{\"a\":1}", "{}"]),
            ("$exists", "true", &["{\"a\":null}"], &["{}", "[]", "3"]),
            ("$exists", "false", &["{}", "[]", "3"], &["{\"a\":null}"]),
        ] {
            let filter = condition(operator, value);
            for json in accepted {
                assert!(filter.accepts(json.as_bytes()), "{json} {operator} {value}");
            }
            for json in refused {
                assert!(!filter.accepts(json.as_bytes()), "{json} {operator} {value}");
            }
        }
    }

    #[test]
    fn the_index_has_every_value_that_is_accepted() {
        let values =
            ["null", "true", "-1", "0", "1", "1.5", "2", "\"\"", "\"b\"", "\"c\"", "[2]", "{}"];
        for operator in ["$eq", "$gt", "$gte", "$lt", "$lte"] {
            for given in values {
                let filter = condition(operator, given);
                let (path, ranges) = filter.lookup(|_| true).unwrap();
                assert_eq!(path, "$.\"a\"");
                for value in values {
                    let form = Scalar::of_token(value.as_bytes()).indexed();
                    let is_found = ranges.iter().any(|range| range.contains(&form));
                    let json = format!("{{\"a\":{value}}}");
                    assert!(
                        is_found || !filter.accepts(json.as_bytes()),
                        "{value} {operator} {given}"
                    );
                }
            }
        }
        assert!(condition("$ne", "1").lookup(|_| true).is_none());
        assert!(condition("$exists", "true").lookup(|_| true).is_none());
        assert!(condition("$eq", "1").lookup(|_| false).is_none());
    }

    #[test]
    fn equality_is_looked_up_first() {
        let filter = filter(
            r#"[{"path":["a"],"operator":"$gt","value":1},{"path":["b","c"],"operator":"$eq","value":"x"}]"#,
        );
        assert_eq!(filter.lookup(|_| true).unwrap().0, "$.\"b\".\"c\"");
    }
}
