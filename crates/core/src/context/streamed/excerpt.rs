//! Bounded excerpts of a stream's data, for the placeholder and for the index.

use storage::{FileResult, Spool};

use super::{
    super::{indexing::MAX_INDEXED_RESULT, shown_text::Gap},
    contents::{Contents, Form},
};

/// The least size of the beginning and of the end that a placeholder's preview is chosen from, in bytes.
const LEAST_END: usize = 128 * 1024;
/// The number and the size in bytes of the pieces of the middle that are indexed.
const INDEXED_PIECES: usize = 6;
const INDEXED_PIECE: usize = MAX_INDEXED_RESULT / 16;

/// The beginning and the end of a result's JSON, and a description of the gap between them.
pub(super) struct Excerpt {
    pub json: Vec<u8>,
    pub gap: Option<Gap>,
}

/// The excerpt for a placeholder of `preview` bytes. `around` is the JSON before and after the stream in the result.
pub(super) fn excerpt(
    contents: &Contents,
    preview: usize,
    around: Option<(&[u8], &[u8])>,
) -> FileResult<Excerpt> {
    if contents.form() == Form::Bytes {
        let (before, behind) = around.unwrap_or_default();
        return Ok(Excerpt { json: [before, contents.reference(), behind].concat(), gap: None });
    }
    let (head, tail) = ends(contents.main(), preview.max(LEAST_END))?;
    let is_text = contents.form() == Form::Text;
    let (head, tail) = match around {
        Some((before, behind)) if is_text => {
            let (head, tail) = (inside(&head), inside(&tail));
            ([before, b"\"", &head].concat(), [&tail, &b"\""[..], behind].concat())
        }
        None if is_text => {
            let gap = Gap {
                at: head.len(),
                bytes: length(contents.main()) - head.len() - tail.len(),
                line_ends: contents.line_ends() - line_ends(&head) - line_ends(&tail),
                outline: String::new(),
            };
            let json = json_text::string_token(&[head, tail].concat()).into_bytes();
            return Ok(Excerpt { json, gap: Some(gap).filter(|gap| gap.bytes > 0) });
        }
        _ => {
            let (before, behind) = around.unwrap_or_default();
            ([before, b"[", head.as_bytes()].concat(), [tail.as_bytes(), b"]", behind].concat())
        }
    };
    let around = around.map_or(0, |(before, behind)| before.len() + behind.len());
    let whole = around + 2 + if is_text { contents.size() - 2 } else { length(contents.main()) };
    let outline = match (is_text, around) {
        (false, 0) => format!("array of {} elements", contents.elements()),
        _ => String::new(),
    };
    let gap = Gap {
        at: head.len(),
        bytes: whole.saturating_sub(head.len() + tail.len()),
        line_ends: 0,
        outline,
    };
    Ok(Excerpt { json: [head, tail].concat(), gap: Some(gap).filter(|gap| gap.bytes > 0) })
}

/// The text to index, as a JSON string: the beginning, the end, and pieces in between.
pub(super) fn indexed(contents: &Contents, before: &[u8]) -> FileResult<Vec<u8>> {
    let main = contents.main();
    if contents.form() == Form::Bytes {
        return Ok([before, contents.reference()].concat());
    }
    let (head, tail) = ends(main, MAX_INDEXED_RESULT / 4)?;
    let mut text = String::from_utf8_lossy(before).into_owned();
    text.push_str(&head);
    let between = main.length().saturating_sub((head.len() + tail.len()) as u64);
    for number in 0..INDEXED_PIECES {
        let offset = head.len() as u64 + between / INDEXED_PIECES as u64 * number as u64;
        let piece = main
            .read(offset, INDEXED_PIECE.min(usize::try_from(between).unwrap_or(INDEXED_PIECE)))?;
        text.push(' ');
        // Words that are cut at its ends are dropped.
        let piece = String::from_utf8_lossy(&piece);
        let words = piece.split_once(char::is_whitespace).map_or("", |(_, words)| words);
        text.push_str(words.rsplit_once(char::is_whitespace).map_or("", |(words, _)| words));
    }
    text.push(' ');
    text.push_str(&tail);
    Ok(json_text::string_token(&text).into_bytes())
}

/// The first and the last `most` bytes, cut between lines or characters; if the data takes no more than both, all of it
/// is the first.
fn ends(spool: &Spool, most: usize) -> FileResult<(String, String)> {
    if spool.length() <= 2 * most as u64 {
        return Ok((whole_characters(&spool.read(0, 2 * most)?), String::new()));
    }
    let head = spool.read(0, most)?;
    let tail = spool.read(spool.length() - most as u64, most)?;
    let start = tail.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let mut tail = String::from_utf8_lossy(tail.get(start..).unwrap_or_default()).into_owned();
    let mut head = whole_characters(&head);
    // A partial line at the edge of the gap would look like a line of the text.
    head.truncate(head.rfind('\n').map_or(head.len(), |end| end + 1));
    tail.drain(..tail.find('\n').map_or(0, |end| end + 1));
    Ok((head, tail))
}

/// Decodes a text, without an incomplete character at its end.
fn whole_characters(bytes: &[u8]) -> String {
    let end = match str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// A text escaped for the inside of a JSON string.
fn inside(text: &str) -> Vec<u8> {
    let token = json_text::string_token(text).into_bytes();
    token.get(1..token.len() - 1).unwrap_or_default().to_vec()
}

fn length(spool: &Spool) -> usize {
    usize::try_from(spool.length()).unwrap_or(usize::MAX)
}

fn line_ends(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}
