//! JSON paths through strings: if a path leads to a string whose content is JSON text, which is
//! common in results of tools, the rest of the path is evaluated on that text.

use std::borrow::Cow;

use jsonpath_rust::parser::model::Segment;
use tasks::Cancelled;

use super::{JsonPath, Value, check::is_singular, find_within, max_work, paths};
use crate::{error::Result, slices::is_container};

/// The most strings with JSON that are nested in each other.
const MAX_STRINGS: usize = 8;

/// A text in which values were found: the whole text, or the content of one of its strings.
#[derive(Debug)]
pub struct Place<'t> {
    /// The JSON text.
    pub text: Cow<'t, str>,
    /// The normalised path of the string.
    base: String,
}

impl Place<'_> {
    /// The normalised paths of values, and whether all are included: see [`paths()`].
    pub fn paths(&self, values: &[Value], max_bytes: usize) -> (Vec<String>, bool) {
        let (mut found, are_all) = paths(&self.text, values, max_bytes);
        for path in &mut found {
            path.replace_range(..1, &self.base);
        }
        (found, are_all)
    }
}

impl JsonPath {
    /// The values that the query selects, and the text that they are in. If it selects none, and
    /// its first names and indices lead to a string with the JSON of an object or an array, the
    /// remaining segments are applied to that.
    ///
    /// # Errors `InvalidArgument` if the query takes too much work.
    pub fn find_through<'t>(
        &self,
        text: &'t str,
        cancelled: &Cancelled,
    ) -> Result<(Place<'t>, Vec<Value>)> {
        let mut place = Place { text: Cow::Borrowed(text), base: "$".to_owned() };
        let mut values = self.find(text, cancelled)?;
        let mut segments = self.0.segments.as_slice();
        for _ in 0..MAX_STRINGS {
            if !values.is_empty() {
                break;
            }
            let Some((value, rest)) = string_on_the_way(&place.text, segments, cancelled)? else {
                break;
            };
            let token = place.text.get(value.range()).unwrap_or_default();
            let Some(inner) = json_text::decode_string(token.as_bytes()) else { break };
            if !is_container(&inner) {
                break;
            }
            let text = inner.into_owned();
            values = find_within(rest, &text, max_work(&text), cancelled)?;
            let base = place.paths(&[value], usize::MAX).0.pop().unwrap_or_default();
            segments = rest;
            place = Place { text: Cow::Owned(text), base };
        }
        Ok((place, values))
    }
}

/// The string that the first segments select, and the remaining segments, of which there is at
/// least one.
fn string_on_the_way<'s>(
    text: &str,
    segments: &'s [Segment],
    cancelled: &Cancelled,
) -> Result<Option<(Value, &'s [Segment])>> {
    let singular = segments.iter().take_while(|segment| is_singular(segment)).count();
    // A string has no children, so at most one prefix of the path leads to a string.
    for end in 1..segments.len().min(singular + 1) {
        let (to, rest) = segments.split_at(end);
        let values = find_within(to, text, max_work(text), cancelled)?;
        let Some(value) = values.first() else { break };
        if text.as_bytes().get(value.start) == Some(&b'"') {
            return Ok(Some((*value, rest)));
        }
    }
    Ok(None)
}
