//! Replacements of secrets: labels such as `[REDACTED:assignment]`, or masks of the same length.

use std::{ops::Range, sync::LazyLock};

use memchr::memmem::Finder;

/// The start of every label. Text that begins like this is not redacted again.
pub(super) const START: &str = "[REDACTED:";

static FIRST: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(START));

/// Whether a text contains the start of a label.
pub(super) fn holds_label(text: &[u8]) -> bool {
    memchr::memchr(b'[', text).is_some() && FIRST.find(text).is_some()
}

/// The start of the last label of a text.
pub(super) fn last_label(text: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b'[', text)
        .find(|&start| text.get(start..).is_some_and(|label| label.starts_with(START.as_bytes())))
}

/// Appends the replacement of `secret`.
pub(super) fn write(secret: &str, rule: &str, preserves_length: bool, out: &mut String) {
    if !preserves_length {
        out.push_str(START);
        out.push_str(rule);
        out.push(']');
        return;
    }
    for character in secret.chars() {
        match character {
            '\n' | '\r' => out.push(character),
            _ => out.extend(std::iter::repeat_n('*', character.len_utf16())),
        }
    }
}

/// Removes the hits from index `first` on that touch a label: a label is not a secret.
pub(super) fn without_labels<Hit>(
    text: &str,
    first: usize,
    hits: &mut Vec<Hit>,
    range: impl Fn(&Hit) -> &Range<usize>,
) {
    if hits.len() == first {
        return;
    }
    let labels = labels(text);
    let found = hits.split_off(first);
    hits.extend(found.into_iter().filter(|hit| {
        let hit = range(hit);
        let label = labels.partition_point(|label| label.end <= hit.start);
        labels.get(label).is_none_or(|label| hit.end <= label.start)
    }));
}

/// The ranges of the labels in a text.
fn labels(text: &str) -> Vec<Range<usize>> {
    let starts = text.match_indices(START).map(|(start, _)| start);
    let label = |start: usize| {
        let name = text.get(start + START.len()..)?;
        let is_name =
            |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
        let end = name.find(|character| !is_name(character))?;
        name.get(end..)?.starts_with(']').then(|| start..start + START.len() + end + 1)
    };
    starts.filter_map(label).collect()
}
