//! Detector for armoured private keys: complete, escaped, on one line, cut short, and with prefixes that tools write
//! before their lines. It also finds lines of keys whose header is not in the text.

mod armour;
mod base64_runs;
mod block;
mod body;
mod framed;
mod gap;
#[cfg(test)]
mod tests;

use std::{ops::Range, sync::LazyLock};

use memchr::memmem::Finder;

use armour::{Delimiter, Holds};
use base64_runs::{Runs, is_mixed, without_escape};
pub(super) use block::LINES;

/// Maximum length of a key.
const MAX_KEY: usize = 64 << 10;
/// Minimum length of a run that counts as a line of a key.
const LINE: usize = 40;
/// Number of lines between a header and a footer that make a key, whatever separates them.
const KEY_LINES: usize = 3;
/// Maximum length of a key with fewer lines, including the prefixes of tools.
const MAX_SHORT_KEY: usize = 2 << 10;

static PRIVATE: LazyLock<Finder> = LazyLock::new(|| Finder::new("PRIVATE"));
static PUTTY: LazyLock<Finder> = LazyLock::new(|| Finder::new("Private-Lines: "));

/// Calls `hit` with the keys of a text, and parts of keys, in no particular order.
pub(super) fn find(text: &str, mut hit: impl FnMut(Range<usize>)) {
    if text.len() < body::SHORTEST_LINE {
        return;
    }
    let bytes = text.as_bytes();
    let delimiters = armour::delimiters(bytes);
    let mut before: Option<&Delimiter> = None;
    for (index, delimiter) in delimiters.iter().enumerate() {
        let next = delimiters.get(index + 1);
        if delimiter.holds == Holds::PrivateKey {
            let key = if delimiter.is_end {
                block::before_end(bytes, before, delimiter)
            } else {
                let limit = next.map_or(text.len(), |next| next.range.start);
                of_header(text, &delimiter.range, limit, next)
            };
            if let Some(key) = key {
                hit(key);
            }
        }
        before = Some(delimiter);
    }
    let mut headers = PUTTY.find_iter(bytes).peekable();
    while let Some(start) = headers.next() {
        let limit = headers.peek().copied().unwrap_or(text.len());
        if let Some(key) = of_header(text, &(start..start + PUTTY.needle().len()), limit, None) {
            hit(key);
        }
    }
    block::find(bytes, &delimiters, hit);
}

/// Visits the positions in a text that [`find`] and [`may_hold_part`] would examine, in no particular order.
pub(super) fn signs(bytes: &[u8], visit: &mut impl FnMut(usize)) {
    for finder in [armour::dash_pair(), &PRIVATE, &PUTTY] {
        finder.find_iter(bytes).for_each(&mut *visit);
    }
    Runs::new(bytes, 0..bytes.len(), block::SHORTEST_LINE).for_each(|run| visit(run.start));
}

/// Whether a text may contain the header or the footer of a key.
pub(super) fn has_delimiter(text: &str) -> bool {
    PRIVATE.find(text.as_bytes()).is_some() || PUTTY.find(text.as_bytes()).is_some()
}

/// Whether a text may contain a part of a key of which other texts contain the rest.
pub(super) fn may_hold_part(text: &str) -> bool {
    block::lines(text.as_bytes()).next().is_some() || has_delimiter(text)
}

/// The number of lines of keys in a text.
pub(super) fn count_lines(text: &str) -> usize {
    block::lines(text.as_bytes()).count()
}

/// Whether a text is only the header or the footer of a block.
pub(super) fn is_delimiter(text: &str) -> bool {
    let text = text.trim();
    let delimiters = armour::delimiters(text.as_bytes());
    delimiters.first().is_some_and(|delimiter| delimiter.range == (0..text.len()))
}

/// The key after a header, up to its footer or to text that does not belong to it, before `limit` at the latest. A
/// header that is only mentioned in prose, without a key after it, gives `None`.
fn of_header(
    text: &str,
    header: &Range<usize>,
    limit: usize,
    next: Option<&Delimiter>,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let limit = text.floor_char_boundary(limit.min(header.end + MAX_KEY));
    let end =
        next.filter(|next| next.range.start == limit && next.is_end && next.holds != Holds::Other);
    if let Some(end) = end
        && holds_key(bytes, header.end..limit)
    {
        return Some(header.start..end.range.end);
    }
    let plain = body::end(text, header.end, limit, end.is_some());
    let framed = framed::end(bytes, header, limit, end.is_some());
    let last = plain.max(framed)?;
    let closing = end.filter(|_| body::skip_separators(text, last, limit) == limit);
    Some(header.start..closing.map_or(last, |end| end.range.end))
}

/// Whether lines of a key are between a header and a footer.
fn holds_key(bytes: &[u8], between: Range<usize>) -> bool {
    let is_short = between.len() <= MAX_SHORT_KEY;
    let lines = Runs::new(bytes, between, LINE).map(|run| without_escape(bytes, run));
    let lines = lines.filter(|line| line.len() >= LINE);
    let mut count = 0;
    for line in lines.take(KEY_LINES) {
        count += 1;
        if is_short && is_mixed(bytes.get(line).unwrap_or_default()) {
            return true;
        }
    }
    count == KEY_LINES
}
