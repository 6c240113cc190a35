//! The table of a long result's blocks, by which a part of the result is read without the rest. It is the last member of a
//! record: `"resultBlocks":[version,checksum,flags,…]`, with four numbers for each block. A block ends between two characters
//! of the text, so that each can be decoded alone.
//!
//! The table is a cache: the bytes of a block are compared with its checksum and its size, and a result without a valid table
//! is read whole.

use std::{fmt::Write, ops::Range};

use crc32fast::Hasher;
use memchr::{memchr_iter, memchr2, memrchr};

/// The shortest result that gets a table, in bytes of JSON.
pub(crate) const MIN_RESULT: usize = 512 * 1024;
/// The longest member, with the end of the record.
pub(crate) const MAX_MEMBER: usize = 40 * 1024;
/// The length of a block in the record, unless there would be too many.
const BLOCK: usize = 64 * 1024;
const MAX_BLOCKS: usize = 1000;
const VERSION: u64 = 1;
const KEY: &str = ",\"resultBlocks\":[";
const IS_STRING: u64 = 1;
const ENDS_LINE: u64 = 2;

/// A block of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Block {
    /// Its bytes in the record.
    stored: usize,
    /// The bytes of its text.
    text: usize,
    /// The line feeds of its text.
    breaks: usize,
    /// The CRC-32 of its bytes in the record.
    checksum: u32,
}

/// A position between two blocks: what is before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Bytes in the record, from the first of the result's content.
    pub stored: usize,
    /// Bytes of text.
    pub text: usize,
    /// Line feeds of the text.
    pub breaks: usize,
}

/// The table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    is_string: bool,
    ends_line: bool,
    checksums: Vec<u32>,
    /// The starts of the blocks, and the end.
    places: Vec<Place>,
}

impl Blocks {
    /// The table of a result; `None` for a short one.
    pub fn of(result: &[u8]) -> Option<Self> {
        if result.len() < MIN_RESULT {
            return None;
        }
        let mut writer = BlocksWriter::new(result.len());
        writer.add(result);
        writer.finish()
    }

    fn new(is_string: bool, ends_line: bool, blocks: &[Block]) -> Self {
        let mut place = Place::default();
        let mut places = vec![place];
        for block in blocks {
            place.stored = place.stored.saturating_add(block.stored);
            place.text = place.text.saturating_add(block.text);
            place.breaks = place.breaks.saturating_add(block.breaks);
            places.push(place);
        }
        let checksums = blocks.iter().map(|block| block.checksum).collect();
        Self { is_string, ends_line, checksums, places }
    }

    /// Whether the result is a string, whose text is decoded; the text of other results is their JSON.
    pub fn is_string(&self) -> bool {
        self.is_string
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.checksums.len()
    }

    /// The start of a block, or the end.
    pub fn place(&self, block: usize) -> Place {
        self.places.get(block.min(self.len())).copied().unwrap_or_default()
    }

    /// The numbers of lines and bytes of the text.
    pub fn size(&self) -> (usize, usize) {
        let Place { text, breaks, .. } = self.place(self.len());
        (breaks + usize::from(text > 0 && !self.ends_line), text)
    }

    /// The block with a byte of the text.
    pub fn with_byte(&self, at: usize) -> usize {
        let after = self.places.partition_point(|place| place.text <= at);
        after.saturating_sub(1).min(self.len().saturating_sub(1))
    }

    /// The block with a line feed, counted from 1.
    pub fn with_break(&self, number: usize) -> usize {
        let after = self.places.partition_point(|place| place.breaks < number);
        after.saturating_sub(1).min(self.len().saturating_sub(1))
    }

    /// The length of the result in the record, with the quotes of a string.
    pub fn stored(&self) -> usize {
        self.place(self.len()).stored + if self.is_string { 2 } else { 0 }
    }

    /// The text of blocks from `first` on, whose bytes in the record these are; `None` if the bytes are not those of the table.
    pub fn text(&self, first: usize, end: usize, stored: &[u8]) -> Option<String> {
        let start = self.place(first);
        for block in first..end {
            let range = self.place(block).stored - start.stored
                ..self.place(block + 1).stored - start.stored;
            if crc32fast::hash(stored.get(range)?) != *self.checksums.get(block)? {
                return None;
            }
        }
        let text = if self.is_string {
            let token = [b"\"", stored, b"\""].concat();
            json_text::decode_string(&token)?.into_owned()
        } else {
            String::from_utf8(stored.to_vec()).ok()?
        };
        (text.len() == self.place(end).text - start.text).then_some(text)
    }

    /// Appends the member to a record without its closing brace.
    pub fn append_to(&self, record: &mut Vec<u8>) {
        record.extend_from_slice(self.member().as_bytes());
    }

    /// The member, with the comma before it.
    pub fn member(&self) -> String {
        let flags =
            if self.is_string { IS_STRING } else { 0 } | if self.ends_line { ENDS_LINE } else { 0 };
        let mut body = flags.to_string();
        for (pair, checksum) in self.places.windows(2).zip(&self.checksums) {
            if let [start, end] = pair {
                let (stored, text) = (end.stored - start.stored, end.text - start.text);
                // Writing to a String cannot fail.
                let _ = write!(body, ",{stored},{text},{},{checksum}", end.breaks - start.breaks);
            }
        }
        format!("{KEY}{VERSION},{},{body}]", crc32fast::hash(body.as_bytes()))
    }

    /// The table at the end of a record, and the bytes that it takes there with the closing brace.
    pub fn at_end_of(record: &[u8]) -> Option<(Self, usize)> {
        let (start, body) = member_at_end_of(record)?;
        let (version, rest) = body.split_once(',')?;
        let (checksum, rest) = rest.split_once(',')?;
        let is_whole = version.parse() == Ok(VERSION)
            && checksum.parse() == Ok(crc32fast::hash(rest.as_bytes()));
        let mut numbers = rest.split(',').map(|number| number.parse::<u64>().ok());
        let flags = numbers.next().flatten().filter(|_| is_whole)?;
        let numbers: Vec<usize> =
            numbers.map(|number| usize::try_from(number?).ok()).collect::<Option<_>>()?;
        let blocks = numbers.chunks(4).map(|numbers| match *numbers {
            [stored, text, breaks, checksum] => {
                let checksum = u32::try_from(checksum).ok()?;
                Some(Block { stored, text, breaks, checksum })
            }
            _ => None,
        });
        let blocks: Vec<Block> = blocks.collect::<Option<_>>()?;
        let table = Self::new(flags & IS_STRING != 0, flags & ENDS_LINE != 0, &blocks);
        (!blocks.is_empty()).then_some((table, record.len() - start))
    }
}

/// Where the member begins at the end of a record, and what is between its brackets. A text of a result cannot look like it:
/// there, quotes are escaped, and what is within another value is followed by more than one bracket or brace.
fn member_at_end_of(record: &[u8]) -> Option<(usize, &str)> {
    let rest = record.strip_suffix(b"]}")?;
    let open = memrchr(b'[', rest)?;
    let (before, body) = (rest.get(..=open)?, rest.get(open + 1..)?);
    let is_list = body.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
    let start = before.strip_suffix(KEY.as_bytes())?.len();
    Some((start, str::from_utf8(body).ok().filter(|_| is_list)?))
}

/// Removes the member from the end of a record.
pub(crate) fn remove_blocks(record: &mut Vec<u8>) {
    if let Some((start, _)) = member_at_end_of(record) {
        record.truncate(start);
        record.push(b'}');
    }
}

/// Builds the table while a result is written.
pub(crate) struct BlocksWriter {
    /// The length from which a block ends.
    least: usize,
    /// Whether the result is a string; `None` before its first byte.
    is_string: Option<bool>,
    /// The bytes of an escape of which not all have come.
    escape: Vec<u8>,
    /// Whether the last character was the first half of a surrogate pair.
    is_after_high: bool,
    /// Whether the closing quote has come.
    is_over: bool,
    ends_line: bool,
    block: Block,
    checksum: Hasher,
    blocks: Vec<Block>,
}

/// A piece of a result, of which a part is in checksums.
struct Piece<'p> {
    bytes: &'p [u8],
    summed: usize,
}

impl BlocksWriter {
    /// For a result of about this length.
    pub fn new(length: usize) -> Self {
        Self::with_blocks_of(BLOCK.max(length / MAX_BLOCKS))
    }

    fn with_blocks_of(least: usize) -> Self {
        Self {
            least,
            is_string: None,
            escape: Vec::new(),
            is_after_high: false,
            is_over: false,
            ends_line: false,
            block: Block::default(),
            checksum: Hasher::new(),
            blocks: Vec::new(),
        }
    }

    /// Adds a piece of the result's JSON.
    pub fn add(&mut self, bytes: &[u8]) {
        let Some(first) = bytes.first() else { return };
        let is_first = self.is_string.is_none();
        let is_string = *self.is_string.get_or_insert(*first == b'"');
        let begin = usize::from(is_first && is_string);
        let mut piece = Piece { bytes, summed: begin };
        let end = if is_string {
            self.add_string(&mut piece, begin)
        } else {
            self.add_plain(&mut piece, begin..bytes.len());
            bytes.len()
        };
        self.sum(&mut piece, end);
    }

    /// Adds a piece of a string; returns where its content ends.
    fn add_string(&mut self, piece: &mut Piece<'_>, begin: usize) -> usize {
        let mut at = begin;
        while let Some(rest) = piece.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.is_over {
                return at;
            }
            if !self.escape.is_empty() {
                at += self.add_to_escape(rest);
                continue;
            }
            let next = at + memchr2(b'\\', b'"', rest).unwrap_or(rest.len());
            self.add_plain(piece, at..next);
            at = next;
            match piece.bytes.get(at..) {
                Some([b'\\', kind, ..]) if *kind != b'u' => {
                    self.before_escape(piece, at);
                    self.block.stored += 2;
                    self.end_escape(if *kind == b'n' { u32::from(b'\n') } else { 0 });
                    at += 2;
                }
                Some([b'\\', ..]) => {
                    self.before_escape(piece, at);
                    self.block.stored += 1;
                    self.escape.push(b'\\');
                    at += 1;
                }
                Some([_, ..]) => self.is_over = true,
                _ => {}
            }
        }
        at
    }

    /// A block may end before an escape, but not within a surrogate pair.
    fn before_escape(&mut self, piece: &mut Piece<'_>, at: usize) {
        if self.block.stored >= self.least && !self.is_after_high {
            self.end_block(piece, at);
        }
    }

    /// Adds bytes to the escape that has begun; returns how many.
    fn add_to_escape(&mut self, bytes: &[u8]) -> usize {
        let kind = self.escape.get(1).or_else(|| bytes.first());
        let length = if kind == Some(&b'u') { 6 } else { 2 };
        let added = bytes.len().min(length - self.escape.len());
        self.escape.extend_from_slice(bytes.get(..added).unwrap_or_default());
        self.block.stored += added;
        if self.escape.len() == length {
            let unit = match self.escape.as_slice() {
                [_, b'u', digits @ ..] => {
                    let digits = str::from_utf8(digits).unwrap_or_default();
                    u32::from_str_radix(digits, 16).unwrap_or_default()
                }
                [_, b'n'] => u32::from(b'\n'),
                _ => 0,
            };
            self.escape.clear();
            self.end_escape(unit);
        }
        added
    }

    /// Counts an escape for a unit of UTF-16; 0 stands for every other character of one byte.
    fn end_escape(&mut self, unit: u32) {
        // A surrogate alone becomes U+FFFD, of three bytes, and a pair a character of four.
        self.block.text += match unit {
            0xDC00..0xE000 if self.is_after_high => 1,
            0..0x80 => 1,
            0x80..0x800 => 2,
            _ => 3,
        };
        self.ends_line = unit == u32::from(b'\n');
        self.block.breaks += usize::from(self.ends_line);
        self.is_after_high = (0xD800..0xDC00).contains(&unit);
    }

    /// Adds the bytes of a piece up to `end` to the checksum.
    fn sum(&mut self, piece: &mut Piece<'_>, end: usize) {
        self.checksum.update(piece.bytes.get(piece.summed..end).unwrap_or_default());
        piece.summed = end;
    }

    fn end_block(&mut self, piece: &mut Piece<'_>, end: usize) {
        self.sum(piece, end);
        self.push_block();
    }

    fn push_block(&mut self) {
        self.block.checksum = std::mem::take(&mut self.checksum).finalize();
        self.blocks.push(std::mem::take(&mut self.block));
    }

    /// Adds bytes that are the same in the record and in the text.
    fn add_plain(&mut self, piece: &mut Piece<'_>, mut range: Range<usize>) {
        while let Some(plain) = piece.bytes.get(range.clone()) {
            let room = self.least.saturating_sub(self.block.stored);
            // A block does not end within a character.
            let is_first = |byte: &u8| !(0x80..0xC0).contains(byte);
            let end = plain.get(room..).and_then(|rest| rest.iter().position(is_first));
            let (plain, _) = plain.split_at(end.map_or(plain.len(), |end| room + end));
            if let Some(last) = plain.last() {
                self.block.stored += plain.len();
                self.block.text += plain.len();
                if self.is_string == Some(false) {
                    self.block.breaks += memchr_iter(b'\n', plain).count();
                }
                self.ends_line = *last == b'\n';
                self.is_after_high = false;
            }
            range.start += plain.len();
            if end.is_none() {
                return;
            }
            self.end_block(piece, range.start);
        }
    }

    /// The table; `None` for a short result.
    pub fn finish(mut self) -> Option<Blocks> {
        if self.block.stored > 0 {
            self.push_block();
        }
        let blocks = Blocks::new(self.is_string?, self.ends_line, &self.blocks);
        (blocks.stored() >= MIN_RESULT).then_some(blocks)
    }

    #[cfg(test)]
    pub fn of_pieces<'p>(least: usize, pieces: impl Iterator<Item = &'p [u8]>) -> Blocks {
        let mut writer = Self::with_blocks_of(least);
        pieces.for_each(|piece| writer.add(piece));
        if writer.block.stored > 0 {
            writer.push_block();
        }
        Blocks::new(writer.is_string == Some(true), writer.ends_line, &writer.blocks)
    }
}
