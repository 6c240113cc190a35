//! The preview of a JSON value that consists mostly of long strings, such as a tool's `stdout`: the value's outline,
//! then each string below its JSON path, with the preview for its kind of text. Strings that report a failure get most
//! of the space. `placeholder` calls it.

use std::cmp::Reverse;

use super::{
    delimited::TAG,
    long_texts::{FoundText, FoundTexts, texts_within},
    outline::{MAX_VALUE, outline, outline_with_values},
    placeholder::MAX_OUTLINE,
    preview::{self, Preview, left_out},
    shown_text::{lines, next, write},
};

/// With less space, only the beginning and the end of the JSON are shown; in bytes.
const LEAST_ROOM: usize = 320;
/// The least space for a string, in bytes: if there is not enough for all, fewer are shown.
const LEAST_FOR_TEXT: usize = 160;
/// The most short strings that are shown because they report a failure.
const MOST_SHORT: usize = 2;
/// The shares of a string that reports a failure, and of another one.
const FAILING_PARTS: usize = 4;
const OTHER_PARTS: usize = 1;
/// The most line ends that writing a preview adds, in bytes.
const LINE_ENDS: usize = 3;

/// The preview's text, and the parameters for reading further.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsonPreview {
    pub content: String,
    pub next: String,
}

/// A string that may be shown.
struct Part {
    found: FoundText,
    heading: String,
    reports: bool,
    /// The bytes that the whole string takes, up to a bound.
    need: usize,
}

/// A string's preview.
struct Written {
    text: String,
    /// The parameters for reading further; `None` if all is shown.
    next: Option<String>,
}

/// The preview of a JSON text that consists mostly of strings, in at most `max_bytes` bytes, not counting the first
/// note on omitted text, nor the part of an outline that exceeds half of them; `None` for other JSON. `path` is the
/// JSON path of the text.
pub(super) fn of_texts(
    json: &str,
    path: &str,
    arguments: &[u8],
    mark: &str,
    max_bytes: usize,
) -> Option<JsonPreview> {
    if max_bytes < LEAST_ROOM || json.len() <= max_bytes {
        return None;
    }
    let mut content = outline_with_values(json.as_bytes(), MAX_OUTLINE)?;
    let room = max_bytes.saturating_sub(content.len() + 1).max(max_bytes / 2);
    let parts = parts_of(found_in(json, path)?, mark, room);
    let longest = parts.iter().map(|part| part.found.text.len()).max()?;
    let mut left = room + left_out(longest, mark).len();
    let mut parts_left: usize = parts.iter().map(Part::weight).sum();
    // A string that needs less than its share leaves the rest to the ones after it.
    let mut in_turn: Vec<usize> = (0..parts.len()).collect();
    in_turn.sort_by_key(|&at| parts.get(at).map(|part| (part.need / part.weight(), at)));
    let mut written: Vec<Option<Written>> = parts.iter().map(|_| None).collect();
    for at in in_turn {
        let (Some(part), Some(place)) = (parts.get(at), written.get_mut(at)) else { continue };
        let share = left * part.weight() / parts_left.max(1);
        parts_left -= part.weight();
        *place = part.write(arguments, mark, share);
        left = left.saturating_sub(place.as_ref().map_or(0, |written| written.text.len()));
    }
    content.push('\n');
    for Written { text, .. } in written.iter().flatten() {
        content.push_str(text);
    }
    let next = parts
        .iter()
        .zip(&written)
        .filter_map(|(part, written)| Some((part, written.as_ref()?.next.as_ref()?)))
        .max_by_key(|(part, _)| (part.reports, part.found.text.len()))
        .map_or_else(|| "\"json_path\":\"$.…\"".to_owned(), |(_, next)| next.clone());
    written.iter().any(Option::is_some).then_some(JsonPreview { content, next })
}

/// The strings of a value. If a string is JSON that consists mostly of strings itself, its strings replace it.
fn found_in(json: &str, path: &str) -> Option<FoundTexts> {
    let FoundTexts { long, mut short } = texts_within(json, path);
    let mut texts = Vec::new();
    for found in long {
        let is_json = outline(found.text.as_bytes(), MAX_OUTLINE).is_some();
        let inner = match is_json {
            true => texts_within(&found.text, &found.path),
            false => FoundTexts::default(),
        };
        if inner.long.is_empty() {
            texts.push(found);
        } else {
            texts.extend(inner.long);
            short.extend(inner.short);
        }
    }
    (!texts.is_empty()).then_some(FoundTexts { long: texts, short })
}

/// The strings that are shown: the longest, and short ones that report a failure.
fn parts_of(found: FoundTexts, mark: &str, room: usize) -> Vec<Part> {
    let part = |found: FoundText| {
        let heading = heading(&found, mark);
        let need = heading.len() + found.text.len().min(room);
        Part { reports: preview::reports_failure(&found.text), need, heading, found }
    };
    let failing = found
        .short
        .into_iter()
        .filter(|one| one.text.len() > MAX_VALUE)
        .map(part)
        .filter(|part| part.reports)
        .take(MOST_SHORT);
    let mut parts: Vec<Part> = found.long.into_iter().map(part).chain(failing).collect();
    let most = (room / LEAST_FOR_TEXT).max(1);
    if parts.len() > most {
        let mut best: Vec<usize> = (0..parts.len()).collect();
        best.sort_by_key(|&at| {
            Reverse(parts.get(at).map(|part| (part.reports, part.found.text.len(), Reverse(at))))
        });
        best.truncate(most);
        let mut at = 0..;
        parts.retain(|_| at.next().is_some_and(|at| best.contains(&at)));
    }
    parts
}

/// The line above a string. It has the delimiter `mark`, which no string contains, so that it cannot be taken for a
/// part of one.
fn heading(found: &FoundText, mark: &str) -> String {
    let FoundText { path, text } = found;
    let shape = match outline(text.as_bytes(), MAX_OUTLINE) {
        Some(_) => "of text that is JSON".to_owned(),
        None => lines(text, None),
    };
    format!("[{path} of {TAG}-{mark}: {} bytes {shape}]\n", text.len())
}

impl Part {
    fn weight(&self) -> usize {
        if self.reports { FAILING_PARTS } else { OTHER_PARTS }
    }

    /// The preview of a string in at most `max_bytes` bytes, with its heading and all notes; `None` if that is too
    /// little.
    fn write(&self, arguments: &[u8], mark: &str, max_bytes: usize) -> Option<Written> {
        let FoundText { path, text } = &self.found;
        let mut out = self.heading.clone();
        let room = max_bytes.checked_sub(out.len() + LINE_ENDS)?;
        // Both characters of a CRLF count as one when shown.
        if text.len() <= 2 * room && preview::shown_bytes(text, &(0..text.len())) <= room {
            let pieces = std::iter::once(0..text.len()).collect();
            out.push_str(&write(&Preview { outline: String::new(), pieces }, text, None, mark));
            end_line(&mut out);
            return Some(Written { text: out, next: None });
        }
        let room = room.checked_sub(left_out(text.len(), mark).len())?;
        let shown = match outline(text.as_bytes(), room / 2) {
            Some(outline) => {
                let room = room - outline.len();
                Preview { outline, ..preview::beginning_and_end(text, room) }
            }
            None => preview::of_text(text, arguments, room),
        };
        if shown.pieces.is_empty() {
            out.push_str(&shown.outline);
            out.push_str(&left_out(text.len(), mark));
        } else {
            out.push_str(&write(&shown, text, None, mark));
        }
        end_line(&mut out);
        let next = format!("\"json_path\":\"{path}\",{}", next(&shown, text));
        Some(Written { text: out, next: Some(next) })
    }
}

fn end_line(out: &mut String) {
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::delimited::harmless;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const MARK: &str = "1f2e3d4c5b6a7988";

    fn noise(count: usize) -> String {
        (0..count)
            .map(|id| format!("2025-01-01T00:00:{:02}Z INFO handled request {id}\n", id % 60))
            .collect()
    }

    fn within_noise(failure: &str) -> String {
        format!("{}{failure}{}", noise(400), noise(400))
    }

    fn shown_of(value: &Value, arguments: &str, max_bytes: usize) -> Option<JsonPreview> {
        of_texts(&value.to_string(), "$", arguments.as_bytes(), MARK, max_bytes)
    }

    fn shown(value: &Value) -> JsonPreview {
        shown_of(value, "{}", 1024).expect("a value that is made up of texts")
    }

    #[test]
    fn a_text_that_makes_up_a_value_is_shown_below_its_path() {
        let log = within_noise("error: cannot open the ledger\n  --> ledger.rs:7\n");
        let JsonPreview { content, next } =
            shown(&json!({ "exitCode": 1, "stderr": "", "stdout": log }));
        let head = format!(
            "object with 3 keys\n  exitCode: number (1)\n  stderr: string (\"\")\n  stdout: string of {0} bytes\n\n[$.stdout of stored-output-{MARK}: {0} bytes in 802 lines of text]\n2025",
            log.len()
        );
        assert!(content.starts_with(&head), "{content}");
        assert!(
            content.contains("error: cannot open the ledger\n  --> ledger.rs:7\n"),
            "{content}"
        );
        assert!(next.starts_with("\"json_path\":\"$.stdout\",\"from_line\":"), "{next}");
    }

    #[test]
    fn a_text_is_shown_by_its_kind() {
        let rows: String = (0..400).map(|id| format!("{id},name {id}\n")).collect();
        let table = format!("id,name\n{rows}");
        let mcp = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let content = shown(&mcp(&table)).content;
        assert!(content.contains("type: string (\"text\")"), "{content}");
        assert!(content.contains("[$.content[0].text of "), "{content}");
        assert!(content.contains("table of 2 columns and 400 rows: id, name"), "{content}");
        let source: String = (0..90).map(|id| format!("export function f{id}() {{}}\n")).collect();
        let content = shown_of(&mcp(&source), r#"{"path":"a.ts"}"#, 1024).unwrap().content;
        assert!(content.contains("source of 90 lines that defines 90 names:"), "{content}");
    }

    #[test]
    fn a_text_that_fails_gets_most_of_the_room() {
        let failure = "panicked at src/main.rs:4:9:\nindex out of bounds: the length is 0\n";
        let backtrace: String =
            (0..20).map(|id| format!("  {id}: frame::of::step_{id}\n")).collect();
        for (out, error) in [
            (noise(900), within_noise(failure)),
            (noise(900), format!("{failure}{backtrace}")),
            (within_noise(failure), noise(300)),
        ] {
            let JsonPreview { content, next } = shown(&json!({ "stdout": out, "stderr": error }));
            assert!(content.contains(failure.trim_end()), "{content}");
            let path = if out.contains(failure) { "$.stdout" } else { "$.stderr" };
            assert!(
                content.contains("[$.stderr of ") && content.contains("[$.stdout of "),
                "{content}"
            );
            let is_whole = content.contains("frame::of::step_19");
            assert!(is_whole || next.contains(&format!("\"{path}\"")), "{next}\n{content}");
        }
    }

    #[test]
    fn a_short_string_that_fails_is_shown_beside_a_long_one() {
        let error = format!("ENOENT: no such file or directory, open '{}/ledger'", "a".repeat(40));
        let value = json!({ "output": noise(900), "error": error, "note": "x".repeat(90) });
        let content = shown(&value).content;
        assert!(content.contains(&format!("in 1 line of text]\n{error}\n")), "{content}");
        assert!(!content.contains("[$.note of"), "{content}");
    }

    #[test]
    fn json_within_a_text_is_shown_as_json() {
        let log = within_noise("fatal: the ledger is gone\n");
        let inner = json!({ "stdout": log, "code": 2 }).to_string();
        let JsonPreview { content, next } = shown(&json!({ "content": [{ "text": inner }] }));
        assert!(content.contains("[$.content[0].text.stdout of "), "{content}");
        assert!(content.contains("fatal: the ledger is gone\n"), "{content}");
        assert!(next.contains("\"$.content[0].text.stdout\""), "{next}");
        let rows: Vec<Value> = (0..300).map(|id| json!({ "id": id, "name": "row" })).collect();
        let content = shown(&json!({ "text": json!(rows).to_string() })).content;
        assert!(
            content.contains("bytes of text that is JSON]\narray of 300 objects;"),
            "{content}"
        );
    }

    #[test]
    fn other_values_and_little_room_are_left_to_others() {
        let rows: Vec<Value> = (0..300).map(|id| json!({ "id": id, "name": "row" })).collect();
        assert_eq!(shown_of(&json!(rows), "{}", 1024), None);
        assert_eq!(shown_of(&json!({ "stdout": noise(900) }), "{}", LEAST_ROOM - 1), None);
        assert_eq!(shown_of(&json!({ "stdout": noise(10) }), "{}", 1024), None);
    }

    /// Checks that each string's shown parts and the omitted bytes in the notes add up to the string; returns the bytes
    /// omitted and shown.
    fn account(content: &str, value: &Value) -> Result<usize, TestCaseError> {
        let heading = |line: &str| {
            let (path, rest) =
                line.strip_prefix('[')?.split_once(&format!(" of stored-output-{MARK}: "))?;
            let bytes = rest.split_once(' ')?.0.parse::<usize>().ok()?;
            Some((path.to_owned(), bytes))
        };
        let note = |line: &str| {
            let rest = line.strip_prefix("[… ")?;
            rest.strip_suffix(&format!(" bytes of stored-output-{MARK} left out …]"))?
                .parse::<usize>()
                .ok()
        };
        let mut texts = 0;
        let mut lines = content.lines().peekable();
        while let Some(line) = lines.next() {
            let Some((path, bytes)) = heading(line) else { continue };
            let pointer = path.trim_start_matches('$').replace(['.', '['], "/").replace(']', "");
            let text = value
                .pointer(&pointer)
                .and_then(Value::as_str)
                .expect("a path that leads to a text");
            prop_assert_eq!(bytes, text.len());
            texts += 1;
            // The line end before a note may belong to the string or to the note.
            let mut ends = vec![0];
            while let Some(line) = lines.next_if(|line| heading(line).is_none()) {
                if let Some(left_out) = note(line) {
                    ends.iter_mut().for_each(|end| *end += left_out);
                } else {
                    ends.retain(|&end| text.get(end..).is_some_and(|rest| rest.starts_with(line)));
                    ends.iter_mut().for_each(|end| *end += line.len());
                    let behind = ends.iter().filter(|&&end| text[end..].starts_with('\n'));
                    ends.extend(behind.map(|end| end + 1).collect::<Vec<_>>());
                }
            }
            prop_assert!(ends.contains(&text.len()), "{:?} of {}: {}", ends, text.len(), content);
        }
        Ok(texts)
    }

    fn any_log() -> impl Strategy<Value = String> {
        const LINES: &[&str] = &[
            "error: it broke",
            "  at f (a.js:1:2)",
            "INFO request 17 done",
            "plain words of a line",
            "",
        ];
        let long = "[a-z ]{1,300}".prop_map(|line| line);
        let line = prop_oneof![6 => prop::sample::select(LINES).prop_map(str::to_owned), 1 => long];
        (prop::collection::vec(line, 0..40), 1_usize..9)
            .prop_map(|(lines, times)| format!("{}\n", lines.join("\n")).repeat(times))
    }

    proptest! {
        #[test]
        fn a_preview_is_bounded_exact_and_always_the_same(
            texts in prop::collection::vec(any_log(), 1..6), max_bytes in 0_usize..2500,
        ) {
            let value = json!({ "texts": texts, "count": texts.len() });
            if let Some(preview) = shown_of(&value, "{}", max_bytes) {
                let again = shown_of(&value, "{}", max_bytes);
                prop_assert_eq!(again.as_ref(), Some(&preview));
                let note = left_out(value.to_string().len(), MARK).len();
                let content = preview.content;
                prop_assert!(content.len() <= max_bytes + note, "{} of {max_bytes}: {content}", content.len());
                prop_assert_eq!(&harmless(&content), &content);
                prop_assert!(account(&content, &value)? > 0);
            }
        }

        #[test]
        fn any_value_has_a_bounded_preview(
            texts in prop::collection::vec(".{0,700}", 0..5), max_bytes in 0_usize..2500,
        ) {
            let value = json!(texts);
            if let Some(JsonPreview { content, .. }) = shown_of(&value, "{}", max_bytes) {
                prop_assert!(content.len() <= max_bytes + MAX_OUTLINE + 100, "{content}");
            }
        }
    }
}
