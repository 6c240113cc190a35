//! Slices of a long text of which only some blocks are read. The results are those of `bytes` and `lines`.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::{
    Going, MIN_BYTES, Part, Request, Slice,
    blocks::{Blocks, Place},
    needs_whole,
};

/// The bytes of the longest character.
const CHARACTER: usize = 4;

/// The text of some blocks.
pub(crate) struct Window {
    start: Place,
    text: String,
}

/// What a request needs.
enum Wanted {
    Bytes { from: usize, to: Option<usize> },
    Lines { from: usize, last: usize, to: Option<usize> },
}

/// A request for a part of a text.
pub(crate) struct SparseRequest<'b> {
    blocks: &'b Blocks,
    wanted: Wanted,
    max_bytes: usize,
}

/// The result of [`SparseRequest::slice`].
pub(crate) enum Sliced {
    /// The slice.
    Done(Slice),
    /// The slice but for the end of the requested lines, which is in this block.
    LacksEnd(Slice, usize),
}

impl<'b> SparseRequest<'b> {
    /// A request; `None` if it needs the whole text: one for matches or for a JSON path.
    pub fn new(request: &Request, blocks: &'b Blocks) -> Option<Self> {
        let wanted = match request.part {
            _ if needs_whole(request) => return None,
            Some(Part::Grep(_)) => return None,
            None => Wanted::Bytes { from: 0, to: None },
            Some(Part::Bytes { from, to }) => Wanted::Bytes { from, to },
            Some(Part::Lines { from, to }) => {
                Wanted::Lines { from: from.max(1), last: to.unwrap_or(usize::MAX), to }
            }
        };
        Some(Self { blocks, wanted, max_bytes: request.max_bytes.max(MIN_BYTES) })
    }

    /// The blocks that are read first.
    pub fn needs(&self) -> Range<usize> {
        let (total_lines, total) = self.blocks.size();
        let (first, end) = match self.wanted {
            Wanted::Bytes { from, to } => {
                let from = from.min(total);
                let to = to.unwrap_or(total).clamp(from, from.saturating_add(self.max_bytes));
                (self.blocks.with_byte(from.saturating_sub(CHARACTER)), to)
            }
            Wanted::Lines { from, last, .. } if from > total_lines || last < from => return 0..0,
            Wanted::Lines { from, .. } => {
                let first = if from == 1 { 0 } else { self.blocks.with_break(from - 1) };
                // The line begins in this block, or at its end.
                (first, self.blocks.place(first + 1).text.saturating_add(self.max_bytes))
            }
        };
        let end = end.saturating_add(CHARACTER).min(total);
        first..self.blocks.with_byte(end.saturating_sub(1)).max(first) + 1
    }

    /// The text of the blocks from `first` on.
    pub fn window(&self, first: usize, text: String) -> Window {
        Window { start: self.blocks.place(first), text }
    }

    /// The slice of the blocks of [`SparseRequest::needs`]; `None` if the text is not that of the table.
    pub fn slice(&self, window: &Window) -> Option<Sliced> {
        match self.wanted {
            Wanted::Bytes { from, to } => Some(Sliced::Done(self.bytes(window, from, to)?)),
            Wanted::Lines { from, last, to } => self.lines(window, from..=last, to),
        }
    }

    fn bytes(&self, window: &Window, from: usize, to: Option<usize>) -> Option<Slice> {
        let (_, total) = self.blocks.size();
        let boundary = |offset: usize| window.floor(offset.min(total));
        let start = boundary(from);
        let wanted = boundary(to.unwrap_or(total)).max(start);
        let end = wanted.min(boundary(start.saturating_add(self.max_bytes)));
        let next = (end < wanted).then_some(Going::Bytes { from: end, to });
        self.show(window, start..end, next)
    }

    fn lines(
        &self,
        window: &Window,
        lines: std::ops::RangeInclusive<usize>,
        to: Option<usize>,
    ) -> Option<Sliced> {
        let (total_lines, total) = self.blocks.size();
        let (from, last) = lines.into_inner();
        if from > total_lines || last < from {
            let empty = Window { start: self.blocks.place(self.blocks.len()), text: String::new() };
            return Some(Sliced::Done(self.show(&empty, total..total, None)?));
        }
        let start = if from == 1 { 0 } else { window.after_break(from - 1)? };
        let (mut line, mut position, mut fitting) = (from, start, None);
        // Whether the text goes on after the lines that fit.
        let mut is_longer = false;
        while line <= last && position < total {
            let end = window.line_end(position).or((window.end() == total).then_some(total));
            match end.filter(|end| end - start <= self.max_bytes) {
                Some(end) => {
                    fitting = Some((line, end));
                    position = end;
                    line += 1;
                }
                None => {
                    is_longer = true;
                    break;
                }
            }
        }
        if let Some((line, end)) = fitting {
            let next = is_longer.then_some(Going::Lines { from: line + 1, to });
            return Some(Sliced::Done(self.show(window, start..end, next)?));
        }
        let end = window.floor(start + self.max_bytes);
        let to = to.map(|_| total);
        let slice = self.show(window, start..end, Some(Going::Bytes { from: end, to }))?;
        Some(match to {
            Some(_) if last < total_lines => Sliced::LacksEnd(slice, self.blocks.with_break(last)),
            _ => Sliced::Done(slice),
        })
    }

    /// Completes a slice that lacks the end of the requested lines; `None` if the text is not that of the table.
    pub fn with_end(&self, slice: Slice, window: &Window) -> Option<Slice> {
        let Wanted::Lines { last, .. } = self.wanted else { return None };
        let Some(Going::Bytes { from, .. }) = slice.next else { return None };
        let to = Some(window.after_break(last)?);
        Some(Slice { next: Some(Going::Bytes { from, to }), ..slice })
    }

    fn show(&self, window: &Window, range: Range<usize>, next: Option<Going>) -> Option<Slice> {
        let (total_lines, total_bytes) = self.blocks.size();
        let start = range.start.checked_sub(window.start.text)?;
        let end = range.end.checked_sub(window.start.text)?;
        let text = window.text.get(start..end)?.to_owned();
        let breaks = |range: Range<usize>| {
            memchr_iter(b'\n', window.text.as_bytes().get(range).unwrap_or_default()).count()
        };
        let lines = (start < end).then(|| {
            let first = 1 + window.start.breaks + breaks(0..start);
            // A line end belongs to the line before it.
            (first, first + breaks(start..end - 1))
        });
        Some(Slice {
            text,
            total_bytes,
            total_lines,
            bytes: Some(range),
            lines,
            matches: None,
            paths: None,
            is_one_value: false,
            next,
            media_type: None,
        })
    }
}

impl Window {
    fn end(&self) -> usize {
        self.start.text + self.text.len()
    }

    /// The last character boundary at or before an offset. Outside of the window, the offset itself: only whether it is
    /// outside matters there.
    fn floor(&self, offset: usize) -> usize {
        match offset.checked_sub(self.start.text) {
            Some(at) if at < self.text.len() => self.start.text + self.text.floor_char_boundary(at),
            _ => offset,
        }
    }

    /// The position after a line feed, counted from 1 in the whole text.
    fn after_break(&self, number: usize) -> Option<usize> {
        let within = number.checked_sub(self.start.breaks)?.checked_sub(1)?;
        let at = memchr_iter(b'\n', self.text.as_bytes()).nth(within)?;
        Some(self.start.text + at + 1)
    }

    /// The end of the line that goes on at a position, with its line feed.
    fn line_end(&self, position: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(position.checked_sub(self.start.text)?..)?;
        Some(position + memchr(b'\n', rest)? + 1)
    }
}
