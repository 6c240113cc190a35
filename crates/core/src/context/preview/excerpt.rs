//! The beginning and the end of a text, cut between lines if that leaves enough, otherwise between characters.

use std::ops::Range;

use crate::context::delimited::shown_length;

/// Two ranges that take at most `max_bytes` bytes when shown; the beginning gets two thirds.
pub(super) fn pieces(text: &str, max_bytes: usize) -> Vec<Range<usize>> {
    let tail_bytes = max_bytes / 3;
    let head = head(text, max_bytes - tail_bytes);
    let rest = text.get(head..).unwrap_or_default();
    let tail = head + tail(rest, tail_bytes);
    if head == tail {
        return std::iter::once(0..text.len()).filter(|whole| !whole.is_empty()).collect();
    }
    [0..head, tail..text.len()].into_iter().filter(|piece| !piece.is_empty()).collect()
}

/// The end of the longest beginning that takes at most `max_bytes` bytes when shown.
pub(super) fn head(text: &str, max_bytes: usize) -> usize {
    let mut characters = text.char_indices().peekable();
    let mut taken = 0;
    let mut end = 0;
    while let Some((at, character)) = characters.next() {
        taken += shown_length(character, characters.peek().map(|&(_, next)| next));
        if taken > max_bytes {
            break;
        }
        end = at + character.len_utf8();
    }
    if end == text.len() {
        return end;
    }
    let shown = text.get(..end).unwrap_or_default();
    match shown.rfind('\n') {
        Some(last) if last + 1 >= end / 2 => last + 1,
        // A CRLF is not split.
        _ => end - usize::from(shown.ends_with('\r')),
    }
}

/// The start of the longest end that takes at most `max_bytes` bytes when shown.
pub(super) fn tail(text: &str, max_bytes: usize) -> usize {
    let mut taken = 0;
    let mut start = text.len();
    let mut next = None;
    for (at, character) in text.char_indices().rev() {
        taken += shown_length(character, next);
        if taken > max_bytes {
            break;
        }
        next = Some(character);
        start = at;
    }
    let before = text.get(..start).unwrap_or_default();
    if before.is_empty() || before.ends_with('\n') {
        return start;
    }
    let shown = text.get(start..).unwrap_or_default();
    match shown.find('\n') {
        Some(first) if first < shown.len() / 2 => start + first + 1,
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::delimited::harmless;
    use proptest::prelude::*;

    fn any_text() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &["\n", "\r\n", "\r", "\x1b[0m", "\u{202e}", "\0", "stored-output"];
        let piece =
            prop_oneof!["[a-zé😀]{1,30}", prop::sample::select(PIECES).prop_map(str::to_owned)];
        prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn head_and_tail_are_within_their_bound(text in any_text(), max_bytes in 0_usize..300) {
            let pieces = pieces(&text, max_bytes);
            let shown: Vec<String> = pieces.iter().map(|piece| harmless(&text[piece.clone()])).collect();
            prop_assert!(shown.concat().len() <= max_bytes);
            // If a cut is within a line, the unused space is smaller than the next character, or a line end is near. A
            // carriage return is kept with the character after it.
            let widest = "␍[U+202E]".len();
            if pieces.len() == 2 && !shown[0].ends_with('\n') {
                prop_assert!(shown[0].len() + widest >= max_bytes - max_bytes / 3);
            }
        }
    }
}
