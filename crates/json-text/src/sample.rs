//! Takes a bounded sample of a value's text: its start, its end, and pieces from in between. Used for indexing long
//! values.

use std::ops::Range;

use super::append_text;

/// Shares of the limit for a value that is too long: this share for its start, this for its end, and the rest for
/// pieces from in between.
const HEAD_SHARE: usize = 2;
const TAIL_SHARE: usize = 8;
/// Length of a piece in bytes.
const PIECE: usize = 2048;

/// Appends the keys, strings, numbers and booleans of a value as plain text. Of a value with more than `max_bytes`
/// bytes, appends its start, its end, and evenly spaced pieces from in between. Appends hardly more than `max_bytes`
/// bytes, and reads no more of the value, for values of any length. Returns whether the text is complete.
pub fn append_sample(raw_json: &[u8], out: &mut String, max_bytes: usize) -> bool {
    if raw_json.len() <= max_bytes {
        append_text(raw_json, out, max_bytes);
        return true;
    }
    append_text(raw_json, out, max_bytes / HEAD_SHARE);
    for range in pieces(raw_json.len(), max_bytes) {
        out.push(' ');
        append_raw(raw_json.get(range).unwrap_or_default(), out);
    }
    false
}

/// The ranges of the pieces after the start, the end last.
fn pieces(length: usize, max_bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let (head, tail) = (max_bytes / HEAD_SHARE, max_bytes / TAIL_SHARE);
    let between = head..length.saturating_sub(tail).max(head);
    let count = ((max_bytes - head - tail) / PIECE).max(1);
    let stride = between.len() / count;
    let starts = (0..count).map(move |number| between.start + number * stride);
    let end = between.end;
    starts
        .map(move |start| start..(start + PIECE.min(stride)).min(end))
        .chain(std::iter::once(end..length))
}

/// Appends a piece of JSON text as plain text. The piece may begin and end anywhere; tokens that are cut are left out.
fn append_raw(piece: &[u8], out: &mut String) {
    let is_break = |byte: &u8| byte.is_ascii_whitespace() || b",:\"[]{}".contains(byte);
    // The text before the first break is the rest of a word or of an escape sequence.
    let start = piece.iter().take(PIECE / 8).position(is_break).unwrap_or(0);
    let text = String::from_utf8_lossy(piece.get(start..).unwrap_or_default());
    let mut rest: &str = &text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut characters = escape.chars();
        match characters.next() {
            Some('u') => {
                let unit = escape.get(1..5).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                // Surrogate pairs encode emoji, mostly, and no words.
                out.push(unit.and_then(char::from_u32).unwrap_or(' '));
                rest = escape.get(5..).unwrap_or_default();
                continue;
            }
            Some(character @ ('"' | '\\' | '/')) => out.push(character),
            Some(_) => out.push(' '),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(value: &serde_json::Value, max_bytes: usize) -> (String, bool) {
        let mut out = String::new();
        let is_whole = append_sample(value.to_string().as_bytes(), &mut out, max_bytes);
        (out, is_whole)
    }

    #[test]
    fn what_fits_is_taken_whole() {
        let value = serde_json::json!({ "path": "a\nb", "lines": [1, true, null] });
        assert_eq!(sample(&value, 1000), ("path a\nb lines 1 true".to_owned(), true));
    }

    #[test]
    fn beginning_end_and_pieces_in_between() {
        let lines: String = (0..100_000).map(|number| format!("line{number}\n\"é\t")).collect();
        let (text, is_whole) = sample(&serde_json::Value::String(lines), 65_536);
        assert!(!is_whole && text.len() < 70_000);
        assert!(text.contains("line0\n\"é\t") && text.contains("line99999"));
        let numbers = text.split(|character: char| !character.is_ascii_digit());
        let numbers: Vec<u32> = numbers.filter_map(|digits| digits.parse().ok()).collect();
        for tenth in 0..10 {
            let range = tenth * 10_000..(tenth + 1) * 10_000;
            assert!(numbers.iter().any(|number| range.contains(number)), "{range:?}");
        }
        assert!(!text.contains("nline") && !text.contains('\\'));
    }

    proptest! {
        #[test]
        fn any_bytes_are_sampled_within_bounds(bytes in prop::collection::vec(any::<u8>(), 0..5000), max_bytes in 0_usize..3000) {
            let mut out = String::new();
            append_sample(&bytes, &mut out, max_bytes);
            // Invalid UTF-8 takes three bytes per byte.
            prop_assert!(out.len() <= 3 * (max_bytes + 2 * PIECE) + 64);
        }

        #[test]
        fn any_text_is_sampled(text in "(?s).{0,2000}", max_bytes in 0_usize..3000) {
            let value = serde_json::Value::String(text.clone());
            let (sampled, is_whole) = sample(&value, max_bytes);
            if is_whole {
                prop_assert_eq!(sampled, text);
            }
        }
    }
}
