//! Reads the lines of a file to which other processes may be appending, backwards from its end or forwards.

use std::io;

use memchr::{memchr, memrchr};

use crate::file_system::{FileError, FileResult, OpenFile};

/// Bytes per read; more where lines are longer.
const BLOCK: usize = 64 * 1024;
const MAX_BLOCK: usize = 4 * 1024 * 1024;

/// A source from which lines are read.
pub trait ReadAt {
    /// The length in bytes.
    ///
    /// # Errors
    /// The file system's.
    fn length(&self) -> FileResult<u64>;
    /// Reads at `offset` up to the buffer's length or the end. Returns the number of bytes.
    ///
    /// # Errors
    /// The file system's.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize>;
}

impl ReadAt for dyn OpenFile {
    fn length(&self) -> FileResult<u64> {
        OpenFile::length(self)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        OpenFile::read_at(self, offset, buffer)
    }
}

impl ReadAt for Vec<u8> {
    fn length(&self) -> FileResult<u64> {
        Ok(self.len() as u64)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(target), Some(source)) = (buffer.get_mut(..count), rest.get(..count)) {
            target.copy_from_slice(source);
        }
        Ok(count)
    }
}

/// One line, without its newline character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its offset in the file.
    pub offset: u64,
    /// Its length in bytes, without the newline character.
    pub length: u64,
    /// Its bytes; `None` if the line exceeds the reader's maximum.
    pub bytes: Option<Vec<u8>>,
    /// Whether a newline character ends it. Only the last line of a file can lack it.
    pub is_terminated: bool,
}

impl Line {
    /// The offset of the next line.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + self.length + u64::from(self.is_terminated)
    }
}

fn was_cut() -> FileError {
    let error = io::Error::new(io::ErrorKind::Interrupted, "the file was cut while it was read");
    FileError::system("read", std::path::Path::new(""), error)
}

/// Reads lines from the end backwards.
pub struct LinesBackwards<'a, S: ?Sized> {
    source: &'a S,
    /// The file from `start` on, without the lines that were returned.
    buffer: Vec<u8>,
    start: u64,
    is_terminated: bool,
    is_over: bool,
    block: usize,
    max_line: usize,
}

impl<'a, S: ReadAt + ?Sized> LinesBackwards<'a, S> {
    /// Reads the lines of `source` up to its current length. Lines longer than `max_line` bytes are returned without
    /// their bytes.
    ///
    /// # Errors
    /// The file system's.
    pub fn new(source: &'a S, max_line: usize) -> FileResult<Self> {
        let length = source.length()?;
        let mut lines = Self {
            source,
            buffer: Vec::new(),
            start: length,
            is_terminated: false,
            is_over: false,
            block: BLOCK,
            max_line,
        };
        lines.read_more(true)?;
        match lines.buffer.last() {
            None => lines.is_over = true,
            Some(b'\n') => {
                lines.buffer.pop();
                lines.is_terminated = true;
            }
            Some(_) => {}
        }
        Ok(lines)
    }

    /// Prepends the preceding block to the buffer.
    fn read_more(&mut self, is_end: bool) -> FileResult<()> {
        let count = usize::try_from(self.start).unwrap_or(usize::MAX).min(self.block);
        let mut block = vec![0; count];
        let start = self.start - count as u64;
        let read = self.source.read_at(start, &mut block)?;
        // A failed write was rolled back after the file's length was read, so that bytes are missing. If the complete
        // block is missing, the text before it is the end.
        if read < count && (!is_end || (read == 0 && start > 0)) {
            return Err(was_cut());
        }
        block.truncate(read);
        block.append(&mut self.buffer);
        self.buffer = block;
        self.start = start;
        self.block = (self.block * 2).min(MAX_BLOCK);
        Ok(())
    }

    /// The line before the last returned one.
    ///
    /// # Errors
    /// The file system's; `Interrupted` when the file was truncated meanwhile.
    pub fn next_line(&mut self) -> FileResult<Option<Line>> {
        if self.is_over {
            return Ok(None);
        }
        let is_terminated = std::mem::replace(&mut self.is_terminated, true);
        let mut searched = self.buffer.len();
        let mut beyond = 0;
        loop {
            let newline = memrchr(b'\n', self.buffer.get(..searched).unwrap_or_default());
            if newline.is_none() && self.start > 0 {
                if self.buffer.len() > self.max_line {
                    // The line is too long: only its start is needed.
                    beyond += self.buffer.len() as u64;
                    self.buffer.clear();
                }
                let before = self.buffer.len();
                self.read_more(false)?;
                searched = self.buffer.len() - before;
                continue;
            }
            let begin = newline.map_or(0, |newline| newline + 1);
            let bytes = self.buffer.split_off(begin);
            self.is_over = newline.is_none();
            self.buffer.pop();
            self.block = BLOCK;
            let length = bytes.len() as u64 + beyond;
            return Ok(Some(Line {
                offset: self.start + begin as u64,
                length,
                bytes: (length <= self.max_line as u64).then_some(bytes),
                is_terminated,
            }));
        }
    }
}

/// Reads lines forwards.
pub struct LinesForwards<'a, S: ?Sized> {
    source: &'a S,
    buffer: Vec<u8>,
    /// The offset of the next line in the buffer, and of the buffer in the file.
    position: usize,
    start: u64,
    is_at_end: bool,
    max_line: usize,
}

impl<'a, S: ReadAt + ?Sized> LinesForwards<'a, S> {
    /// Reads the lines from `offset`, which must be the start of a line. Lines longer than `max_line` bytes are
    /// returned without their bytes.
    pub fn new(source: &'a S, offset: u64, max_line: usize) -> Self {
        Self { source, buffer: Vec::new(), position: 0, start: offset, is_at_end: false, max_line }
    }

    fn read_more(&mut self) -> FileResult<()> {
        self.start += self.position as u64;
        self.buffer.drain(..self.position);
        self.position = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + before.clamp(BLOCK, MAX_BLOCK), 0);
        let target = self.buffer.get_mut(before..).unwrap_or_default();
        let read = self.source.read_at(self.start + before as u64, target)?;
        self.buffer.truncate(before + read);
        self.is_at_end = read == 0;
        Ok(())
    }

    /// The next line.
    ///
    /// # Errors
    /// The file system's.
    pub fn next_line(&mut self) -> FileResult<Option<Line>> {
        let mut searched = self.position;
        // The start of a line that is too long.
        let mut long: Option<u64> = None;
        loop {
            let rest = self.buffer.get(searched..).unwrap_or_default();
            let newline = memchr(b'\n', rest).map(|at| searched + at);
            if newline.is_none() && !self.is_at_end {
                if self.buffer.len() - self.position > self.max_line {
                    long.get_or_insert(self.start + self.position as u64);
                    self.position = self.buffer.len();
                }
                let unsearched = self.buffer.len() - self.position;
                self.read_more()?;
                searched = unsearched;
                continue;
            }
            let end = newline.unwrap_or(self.buffer.len());
            let begin = self.start + self.position as u64;
            let offset = long.unwrap_or(begin);
            let bytes = self.buffer.get(self.position..end).unwrap_or_default();
            let length = begin - offset + bytes.len() as u64;
            if newline.is_none() && length == 0 {
                return Ok(None);
            }
            let bytes = (length <= self.max_line as u64).then(|| bytes.to_vec());
            self.position = end + usize::from(newline.is_some());
            return Ok(Some(Line { offset, length, bytes, is_terminated: newline.is_some() }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn backwards(text: &[u8], max_line: usize) -> Vec<Line> {
        let source = text.to_vec();
        let mut lines = LinesBackwards::new(&source, max_line).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push(line);
        }
        found.reverse();
        found
    }

    fn forwards(text: &[u8], offset: u64, max_line: usize) -> Vec<Line> {
        let source = text.to_vec();
        let mut lines = LinesForwards::new(&source, offset, max_line);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push(line);
        }
        found
    }

    /// The lines of a text, computed by a simple reference implementation.
    fn expected(text: &[u8], max_line: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut offset = 0;
        for part in text.split_inclusive(|&byte| byte == b'\n') {
            let is_terminated = part.ends_with(b"\n");
            let bytes = part.strip_suffix(b"\n").unwrap_or(part).to_vec();
            let length = bytes.len() as u64;
            let bytes = (bytes.len() <= max_line).then_some(bytes);
            lines.push(Line { offset, length, bytes, is_terminated });
            offset += part.len() as u64;
        }
        lines
    }

    #[test]
    fn both_ways_tell_the_same_lines() {
        let long = [vec![b'x'; 200_000], vec![b'\n'], b"short".to_vec()].concat();
        let texts: [&[u8]; 8] =
            [b"", b"\n", b"\n\n", b"a", b"a\n", b"a\nb", b"\na\n\nb\n", long.as_slice()];
        for text in texts {
            for max_line in [0, 3, 150_000, usize::MAX] {
                assert_eq!(backwards(text, max_line), expected(text, max_line));
                assert_eq!(forwards(text, 0, max_line), expected(text, max_line));
            }
        }
    }

    #[test]
    fn lines_longer_than_a_block_are_read_whole() {
        let mut text = Vec::new();
        for length in [1_000_000, 3, BLOCK - 1, BLOCK, BLOCK + 1, 0, 5_000_000] {
            text.extend(std::iter::repeat_n(b'a', length));
            text.push(b'\n');
        }
        assert_eq!(backwards(&text, usize::MAX), expected(&text, usize::MAX));
        assert_eq!(forwards(&text, 0, usize::MAX), expected(&text, usize::MAX));
        assert_eq!(backwards(&text, 70_000), expected(&text, 70_000));
        assert_eq!(forwards(&text, 0, 70_000), expected(&text, 70_000));
    }

    /// A file that is truncated after its length was read.
    struct Shrinking(Vec<u8>, u64);
    impl ReadAt for Shrinking {
        fn length(&self) -> FileResult<u64> {
            Ok(self.1)
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
            self.0.read_at(offset, buffer)
        }
    }

    #[test]
    fn a_write_that_was_taken_back_is_not_there() {
        let source = Shrinking(b"a\nb\n".to_vec(), 10);
        let mut lines = LinesBackwards::new(&source, 100).unwrap();
        assert_eq!(lines.next_line().unwrap().unwrap().bytes.unwrap(), b"b");
        assert_eq!(lines.next_line().unwrap().unwrap().bytes.unwrap(), b"a");
        assert_eq!(lines.next_line().unwrap(), None);
        let gone = Shrinking(Vec::new(), 10);
        assert_eq!(LinesBackwards::new(&gone, 100).unwrap().next_line().unwrap(), None);
    }

    #[test]
    fn a_long_write_that_was_taken_back_hides_nothing() {
        let source = Shrinking(b"a\nb\n".to_vec(), 4 + 2 * BLOCK as u64);
        let error = LinesBackwards::new(&source, 100).err().unwrap();
        assert_eq!(error.kind, io::ErrorKind::Interrupted, "the reader looks again");
    }

    proptest! {
        #[test]
        fn any_bytes_are_the_same_both_ways(
            parts in proptest::collection::vec((0_usize..100_000, any::<bool>()), 0..8),
            max_line in prop_oneof![Just(usize::MAX), 0_usize..100_000],
        ) {
            let mut text = Vec::new();
            for (length, is_terminated) in parts {
                text.extend(std::iter::repeat_n(b'x', length));
                if is_terminated {
                    text.push(b'\n');
                }
            }
            let lines = expected(&text, max_line);
            prop_assert_eq!(&backwards(&text, max_line), &lines);
            prop_assert_eq!(&forwards(&text, 0, max_line), &lines);
            if let Some(line) = lines.get(lines.len() / 2) {
                prop_assert_eq!(
                    &forwards(&text, line.offset, max_line)[..],
                    &lines[lines.len() / 2..]
                );
            }
        }
    }
}
