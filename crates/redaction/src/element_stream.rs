//! Redacts the elements of an array that arrive in batches, in bounded memory. The core uses it for streamed results.
//! Whether an element is a secret may depend on the elements before it (a flag before its value, the lines of a private
//! key), so each batch is examined together with the last elements of earlier batches. Elements that may be lines of a
//! private key whose end has not arrived are withheld until it does.

use std::{
    collections::VecDeque,
    ops::{ControlFlow, Range},
};

use json_text::Token;
use memchr::memmem;

use super::{
    Redaction, Report,
    error::{Error, ErrorKind, Result},
    private_key,
    session::RedactionSession,
};

/// Bytes of earlier elements that are examined together with a batch: more than the longest secret, a private key of 64
/// KiB.
const BEFORE: usize = 72 * 1024;

/// The prefixes of the first and the last line of a key.
const BEGIN: &[u8] = b"-----BEGIN";
const END: &[u8] = b"-----END";

/// Redacts the elements of one array in batches. A secret that spans several elements is found if they take up to 64
/// KiB.
#[derive(Debug)]
pub struct ElementStream {
    redaction: Option<Redaction>,
    report: Report,
    /// The last elements before redaction.
    before: VecDeque<Vec<u8>>,
    before_bytes: usize,
    /// Number of elements at the end that were not returned yet: the following elements may show that they are lines of
    /// a key.
    waiting: usize,
}

impl ElementStream {
    /// Without a redaction, elements stay unchanged.
    #[must_use]
    pub fn new(redaction: Option<Redaction>) -> Self {
        Self {
            redaction,
            report: Report::default(),
            before: VecDeque::new(),
            before_bytes: 0,
            waiting: 0,
        }
    }

    /// Redacts the next elements. Replaces the JSON array in `batch` by an array of the elements that are complete.
    /// `is_last` marks the last batch.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`], also when `batch` is not an array. The elements must not be written then.
    pub fn redact(&mut self, batch: &mut Vec<u8>, is_last: bool) -> Result<()> {
        if self.redaction.is_none() {
            return Ok(());
        }
        let given = elements_of(batch).ok_or_else(no_array)?;
        let before: Vec<&[u8]> = self.before.iter().map(Vec::as_slice).collect();
        let before = before.join(&b","[..]);
        let known = self.before.len();
        let after = batch.get(1..).unwrap_or_default();
        let comma: &[u8] = if known > 0 && !given.is_empty() { b"," } else { b"" };
        let (mut joined, found) = self.redacted([&b"["[..], &before, comma, after].concat())?;
        let mut counted = Report::default();
        if known > 0 && !found.is_empty() {
            // Hits in earlier elements were counted with their own batch.
            (_, counted) = self.redacted([&b"["[..], &before, b"]"].concat())?;
        }
        self.report.add_new(&found, &counted);
        let done = known - self.waiting;
        self.waiting += given.len();
        for range in &given {
            self.remember(batch.get(range.clone()).unwrap_or_default());
        }
        let elements = elements_of(&joined).ok_or_else(no_array)?;
        self.waiting = if is_last { 0 } else { self.key_lines_at_the_end() };
        let end = elements.len() - self.waiting;
        let start = elements.get(done).map_or(joined.len() - 1, |first| first.start);
        let end =
            end.checked_sub(1).filter(|last| *last >= done).and_then(|last| elements.get(last));
        let settled = end.and_then(|last| joined.get(start..last.end)).unwrap_or_default();
        joined = [&b"["[..], settled, b"]"].concat();
        *batch = joined;
        Ok(())
    }

    fn redacted(&self, mut json: Vec<u8>) -> Result<(Vec<u8>, Report)> {
        let mut session = RedactionSession::new(self.redaction.clone());
        session.json(&mut json, 0)?;
        Ok((json, session.report()))
    }

    fn remember(&mut self, element: &[u8]) {
        self.before_bytes += element.len();
        self.before.push_back(element.to_vec());
        while self.before_bytes > BEFORE
            && let Some(first) = self.before.pop_front()
        {
            self.before_bytes -= first.len();
        }
    }

    /// Number of withheld elements at the end that may be lines of a private key whose end has not arrived.
    fn key_lines_at_the_end(&self) -> usize {
        let waiting = || self.before.iter().rev().take(self.waiting);
        let lines = waiting().take_while(|element| may_hold_key_line(element)).count();
        // From the start of a key whose end has not arrived.
        let holds =
            |label: &[u8]| waiting().position(|element| memmem::find(element, label).is_some());
        match (holds(BEGIN), holds(END)) {
            (Some(begin), end) if end.is_none_or(|end| begin < end) => lines.max(begin + 1),
            _ => lines,
        }
    }

    /// The hits so far.
    #[must_use]
    pub fn report(self) -> Report {
        self.report
    }
}

/// Whether a string of an element may be a line of a private key.
fn may_hold_key_line(element: &[u8]) -> bool {
    let mut holds = false;
    let _ = json_text::walk_value(element, 0, |token| {
        if let Token::String(raw) = token {
            holds =
                json_text::decode_string(raw).is_some_and(|text| private_key::may_hold_part(&text));
        }
        if holds { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    holds
}

/// The ranges of an array's elements; `None` when the text is not an array.
fn elements_of(array: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut elements = Vec::new();
    let mut at = json_text::skip_whitespace(array, 0);
    if array.get(at) != Some(&b'[') {
        return None;
    }
    at = json_text::skip_whitespace(array, at + 1);
    while array.get(at) != Some(&b']') {
        let end = json_text::skip_value(array, at).ok()?;
        elements.push(at..end);
        at = json_text::skip_whitespace(array, end);
        match array.get(at) {
            Some(b',') => at = json_text::skip_whitespace(array, at + 1),
            Some(b']') => {}
            _ => return None,
        }
    }
    Some(elements)
}

fn no_array() -> Error {
    Error::new(ErrorKind::Failed, "nothing was written: the value to redact is not an array")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::{EnvironmentValues, RedactionOptions, Redactor};

    fn redaction() -> Redaction {
        let redactor = Redactor::new(RedactionOptions::default()).unwrap();
        Redaction::new(redactor, Arc::new(EnvironmentValues::default()))
    }

    fn streamed(batches: &[&[Value]]) -> (Vec<Value>, u64) {
        let mut stream = ElementStream::new(Some(redaction()));
        let mut out = Vec::new();
        for (number, batch) in batches.iter().enumerate() {
            let mut json = serde_json::to_vec(batch).unwrap();
            stream.redact(&mut json, number + 1 == batches.len()).unwrap();
            out.extend(serde_json::from_slice::<Vec<Value>>(&json).unwrap());
        }
        (out, stream.report().total())
    }

    fn whole(elements: &[Value]) -> (Vec<Value>, u64) {
        let mut session = RedactionSession::new(Some(redaction()));
        let mut json = serde_json::to_vec(elements).unwrap();
        session.json(&mut json, 0).unwrap();
        (serde_json::from_slice(&json).unwrap(), session.report().total())
    }

    /// A key as lines, possibly without its start.
    fn any_key() -> impl Strategy<Value = Vec<Value>> {
        let label = |what: &str| json!(["-----", what, " RSA PRIVATE ", "KEY-----"].concat());
        let lines = prop::collection::vec("[A-Za-z0-9+/]{64}".prop_map(Value::from), 3..8);
        (any::<bool>(), lines).prop_map(move |(has_beginning, mut lines)| {
            if has_beginning {
                lines.insert(0, label("BEGIN"));
            }
            lines.push(label("END"));
            lines
        })
    }

    fn any_element() -> impl Strategy<Value = Vec<Value>> {
        any_plain().prop_map(|value| vec![value]).boxed().prop_union(any_key().boxed())
    }

    fn any_plain() -> impl Strategy<Value = Value> {
        let password = ["hunter", "2-Blue-Whale"].concat();
        prop_oneof![
            "[a-z \"\\\\é]{0,12}".prop_map(Value::from),
            Just(json!("--password")),
            Just(json!(password.clone())),
            Just(json!({ "password": password, "id": 7 })),
            any::<i32>().prop_map(Value::from),
            Just(json!([[], {}, null])),
        ]
    }

    proptest! {
        #[test]
        fn any_batches_give_what_the_whole_array_gives(
            elements in prop::collection::vec(any_element(), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let elements = elements.concat();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(elements.len() + 1)).collect();
            places.extend([0, elements.len()]);
            places.sort_unstable();
            let batches: Vec<&[Value]> =
                places.windows(2).map(|pair| &elements[pair[0]..pair[1]]).collect();
            prop_assert_eq!(streamed(&batches).0, whole(&elements).0);
        }
    }

    #[test]
    fn what_is_found_is_counted_once() {
        let password = ["hunter", "2-Blue-Whale"].concat();
        let elements: Vec<Value> =
            (0..20).map(|id| json!({ "id": id, "password": password })).collect();
        let batches: Vec<&[Value]> = elements.chunks(3).collect();
        assert_eq!(streamed(&batches), whole(&elements));
        assert_eq!(streamed(&batches).1, 20);
    }

    #[test]
    fn of_the_elements_before_a_bounded_part_is_kept() {
        let mut stream = ElementStream::new(Some(redaction()));
        for length in [10, BEFORE - 100, BEFORE, 10, BEFORE * 2, 5, 30_000, 30_000, 30_000] {
            let mut json = serde_json::to_vec(&["é".repeat(length / 2)]).unwrap();
            stream.redact(&mut json, false).unwrap();
            assert!(stream.before.iter().map(Vec::len).sum::<usize>() <= BEFORE);
        }
        assert_eq!(stream.before.len(), 2);
        assert_eq!(stream.before_bytes, 60_004);
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let mut stream = ElementStream::new(Some(redaction()));
        for json in ["", "1", "[1", "[1 2", "{}"] {
            assert!(stream.redact(&mut json.as_bytes().to_vec(), true).is_err(), "{json}");
        }
    }
}
