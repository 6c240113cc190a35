//! Finds parts of private keys whose header is not in the text: consecutive lines of base64 with the line lengths of
//! armoured keys (PEM, PGP, OpenSSH).

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use memchr::memmem;

use super::{
    armour::{Delimiter, Holds},
    base64_runs::{Runs, is_mixed, without_escape},
    framed::follow,
    gap::{Gaps, Like, MAX_GAP},
};

/// Line lengths: PEM and PGP, OpenSSH, MIME.
const LENGTHS: [usize; 3] = [64, 70, 76];
/// Minimum length of a line.
pub(super) const SHORTEST_LINE: usize = LENGTHS[0];
/// Maximum number of base64 characters before a line, such as markers of added lines and comments.
const MAX_SIGNS: usize = 3;
/// Minimum number of consecutive lines.
pub(crate) const LINES: usize = 3;
/// Bytes before a footer in which the last lines of the key are searched.
const MAX_LAST_LINES: usize = 1536;
/// Bytes before the first line that are examined for what the lines are.
const MAX_CONTEXT: usize = 1 << 10;
/// Prefixes, in base64, of data that is not a private key: images, fonts, sounds, documents, archives, programs and SSH
/// public keys.
const OTHER_DATA: [&str; 26] = [
    "iVBORw0KGgo",
    "/9j/",
    "R0lGOD",
    "UklGR",
    "AAABAA",
    "SUkqA",
    "TU0AK",
    "d09GR",
    "d09GM",
    "AAEAAAA",
    "T1RUTw",
    "T2dnUw",
    "SUQz",
    "JVBERi0",
    "UEsDB",
    "H4sI",
    "Qlpo",
    "/Td6WFo",
    "N3q8rycc",
    "AGFzbQ",
    "f0VMRg",
    "TVqQ",
    "AAAAB3NzaC1",
    "AAAAC3NzaC1",
    "AAAAE2VjZHNh",
    "PHN2Zy",
];
/// XML elements that hold signatures and certificates.
const ELEMENTS: [&[u8]; 4] = [b"X509Certificate>", b"X509CRL>", b"SignatureValue>", b"Modulus>"];
const DATA_URI: &[u8] = b";base64,";
const BLANK_LINES: [&[u8]; 2] = [b"\n\n", b"\n\r\n"];
const MIME_HEADER: &[u8] = b"content-transfer-encoding: base64";

/// The lines of such lengths in a text.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let runs = Runs::new(bytes, 0..bytes.len(), SHORTEST_LINE);
    runs.filter_map(|run| line(bytes, run))
}

/// Calls `hit` with parts of keys that have three or more lines and are not in another kind of block.
pub(super) fn find(bytes: &[u8], delimiters: &[Delimiter], mut hit: impl FnMut(Range<usize>)) {
    let mut block = Block::default();
    let mut passed = 0;
    for run in Runs::new(bytes, 0..bytes.len(), LENGTHS[0]) {
        let start = run.start;
        let found = line(bytes, run);
        let was_passed = passed;
        while delimiters.get(passed).is_some_and(|delimiter| delimiter.range.start < start) {
            passed += 1;
        }
        let is_next =
            found.as_ref().is_some_and(|line| passed == was_passed && block.takes(bytes, line));
        if !is_next {
            hit_block(bytes, delimiters, std::mem::take(&mut block), &mut hit);
        }
        if let Some(line) = found {
            block.push(line);
        }
    }
    hit_block(bytes, delimiters, block, &mut hit);
}

fn hit_block(
    bytes: &[u8],
    delimiters: &[Delimiter],
    mut block: Block,
    hit: &mut impl FnMut(Range<usize>),
) {
    let (Some(first), Some(last)) = (block.lines.first(), block.lines.last()) else { return };
    let mixed = block.lines.iter().filter(|line| bytes.get((*line).clone()).is_some_and(is_mixed));
    if !block.is_confirmed
        || mixed.take(LINES).count() < LINES
        || is_other(bytes, delimiters, first.start..last.end)
    {
        return;
    }
    let (start, end) = (first.start, last.end);
    let next = delimiters.partition_point(|delimiter| delimiter.range.start < end);
    let footer = delimiters.get(next);
    let limit = footer.map_or(bytes.len(), |footer| footer.range.start);
    let is_closed = footer.is_some_and(|footer| footer.is_end);
    hit(start..follow(bytes, end, limit, is_closed, &mut block.gaps));
}

/// The last lines of a key before its footer, where the header is not in the text (`tail -n 3`).
pub(super) fn before_end(
    bytes: &[u8],
    before: Option<&Delimiter>,
    end: &Delimiter,
) -> Option<Range<usize>> {
    if before.is_some_and(|before| !before.is_end) {
        return None;
    }
    let start = end.range.start.saturating_sub(MAX_LAST_LINES);
    let start = start.max(before.map_or(0, |before| before.range.end));
    let mut first: Option<Range<usize>> = None;
    for run in Runs::new(bytes, start..end.range.start, LENGTHS[0]) {
        let line = line(bytes, run).filter(|line| bytes.get(line.clone()).is_some_and(is_mixed));
        first = match (first, line) {
            (Some(first), Some(line)) if line.start - first.end <= MAX_GAP => {
                Some(first.start..line.end)
            }
            (_, line) => line,
        };
    }
    first
        .filter(|lines| end.range.start - lines.end <= MAX_GAP)
        .map(|lines| lines.start..end.range.end)
}

/// Lines of equal length, separated by similar gaps.
#[derive(Default)]
struct Block {
    lines: Vec<Range<usize>>,
    gaps: Gaps,
    /// Whether two similar gaps were seen.
    is_confirmed: bool,
}

impl Block {
    /// Adds the line if it continues the block; returns whether it does.
    fn takes(&mut self, bytes: &[u8], line: &Range<usize>) -> bool {
        let Some(last) = self.lines.last() else { return true };
        let gap = last.end..line.start;
        if last.len() != line.len() || gap.len() > MAX_GAP {
            return false;
        }
        if self.is_confirmed {
            if self.gaps.like(bytes, &gap).is_none() {
                return false;
            }
        } else {
            let like = self.gaps.like(bytes, &gap);
            self.is_confirmed = like.is_some();
            // Lines that are separated by other gaps are not part of the block.
            let of_block = if like == Some(Like::Last) { LINES - 1 } else { LINES };
            let others = self.lines.len().saturating_sub(of_block);
            self.lines.drain(..others);
        }
        self.gaps.push(gap);
        true
    }

    fn push(&mut self, line: Range<usize>) {
        self.lines.push(line);
    }
}

/// The line of a key that a run of base64 forms.
fn line(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let run = without_escape(bytes, run);
    let before = bytes.get(run.start.saturating_sub("sha384-".len())..run.start)?;
    let is_digest = before.starts_with(b"sha") && before.ends_with(b"-");
    if is_digest || before.ends_with(b"_") || matches!(bytes.get(run.end), Some(b'_' | b'-' | b'='))
    {
        return None;
    }
    let signs = LENGTHS
        .iter()
        .find_map(|&length| run.len().checked_sub(length).filter(|&signs| signs <= MAX_SIGNS))?;
    let signs_before = bytes.get(run.start..run.start + signs)?;
    let is_line = [b'+', b'/'].iter().any(|sign| signs_before.iter().all(|byte| byte == sign));
    is_line.then_some(run.start + signs..run.end)
}

/// Whether the lines are not a private key: a certificate, a public key, a signature, a data URI, part of a mail, an
/// image.
fn is_other(bytes: &[u8], delimiters: &[Delimiter], lines: Range<usize>) -> bool {
    let first = delimiters.partition_point(|delimiter| delimiter.range.start < lines.start);
    let before = first.checked_sub(1).and_then(|before| delimiters.get(before));
    let before = before.filter(|before| !before.is_end && before.holds == Holds::Other);
    let after =
        delimiters.get(first).filter(|after| after.is_end && after.holds != Holds::PrivateKey);
    let is_in_block = match (before, after) {
        (Some(_), Some(_)) => true,
        (Some(before), None) => lines.start - before.range.end <= MAX_GAP,
        (None, Some(after)) => {
            after.holds == Holds::Other && after.range.start - lines.end <= MAX_GAP
        }
        (None, None) => false,
    };
    let text = bytes.get(lines.clone()).unwrap_or_default();
    is_in_block
        || OTHER_DATA.iter().any(|start| text.starts_with(start.as_bytes()))
        || is_public_structure(text)
        || is_other_context(
            bytes.get(lines.start.saturating_sub(MAX_CONTEXT)..lines.start).unwrap_or_default(),
        )
}

/// Whether the lines are the start of a certificate, a certificate request, a revocation list, a signature or a public
/// key. In DER, these begin with a sequence within a sequence, an object identifier or a status. Private keys begin
/// with a number, encrypted private keys with a short sequence.
fn is_public_structure(text: &[u8]) -> bool {
    let start = text.get(..12).and_then(|start| STANDARD_NO_PAD.decode(start).ok());
    let content = match start.as_deref() {
        Some([0x30, 0x82, _, _, content @ ..] | [0x30, 0x81, _, content @ ..]) => content,
        _ => return false,
    };
    matches!(content, [0x30, 0x81 | 0x82 | 0x0D, ..] | [0x06 | 0x0A, ..])
}

/// Whether the text before the lines shows that they are not a private key.
fn is_other_context(before: &[u8]) -> bool {
    let behind = |marker: &[u8]| {
        let at = memmem::rfind(before, marker)?;
        before.get(at + marker.len()..)
    };
    let of_mail = || {
        let headers = memmem::rfind(&before.to_ascii_lowercase(), MIME_HEADER)?;
        let rest = before.get(headers..)?;
        let blank = BLANK_LINES.iter().filter_map(|line| memmem::find(rest, line)).min()?;
        rest.get(blank..)
    };
    // The first line of the data may have a different length.
    let is_data = |rest: &[u8]| {
        rest.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/\\\"'`".contains(byte)
        })
    };
    let mut markers =
        ELEMENTS.iter().copied().chain([DATA_URI]).filter_map(behind).chain(of_mail());
    markers.any(is_data)
}
