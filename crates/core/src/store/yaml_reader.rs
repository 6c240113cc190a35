//! A parser for the subset of YAML that front matter uses: scalars and lists of scalars.
//! `front_matter` calls it.
//!
//! Supported are plain, quoted and block scalars, lists in both styles, and comments; anchors,
//! aliases, tags and nesting are refused. The parser does not recurse, and its time is linear in
//! the input.

use std::ops::Range;

use super::yaml_quoted;

const MAPPING: &str = "a mapping stands where a text belongs";
const REFERENCE: &str = "anchors, aliases and tags are not read here";
const LIST: &str = "a list stands where a text belongs";

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// No value, `null` or `~`.
    Nothing,
    /// A text.
    Scalar(String),
    /// A list of texts.
    List(Vec<String>),
}

/// A parse error.
#[derive(Debug)]
pub(super) struct Fault {
    /// The position in the parsed text, in bytes.
    pub(super) at: usize,
    /// The reason.
    pub(super) reason: String,
}

pub(super) type Read<T> = Result<T, Fault>;

/// A parser at a position of the text, whose lines end with `\n` or `\r\n`.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// The ranges of the comments before the current position.
    pub(super) comments: Vec<Range<usize>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, comments: Vec::new() }
    }

    /// Parses a key and its colon, which a blank or the end of the line must follow.
    pub(super) fn key(&mut self) -> Read<String> {
        let name = match self.peek() {
            Some(b'"') => yaml_quoted::double(self, usize::MAX)?,
            Some(b'\'') => yaml_quoted::single(self, usize::MAX)?,
            Some(b'&' | b'*' | b'!') => return Err(self.fault(REFERENCE)),
            _ => self.plain_key().to_owned(),
        };
        self.skip_blanks();
        if name.is_empty() || !self.is_colon() {
            return Err(Fault { at: 0, reason: "this is no `key: value`".to_owned() });
        }
        self.at += 1;
        Ok(name)
    }

    fn plain_key(&mut self) -> &'a str {
        let start = self.at;
        if self.check_plain_start(false).is_ok() {
            while !self.is_at_line_break() && !self.is_colon() && !self.rest().is_empty() {
                if self.peek() == Some(b'#') && self.is_after_blank() {
                    break;
                }
                self.at += 1;
            }
        }
        self.text.get(start..self.at).unwrap_or_default().trim_end_matches([' ', '\t'])
    }

    fn is_colon(&self) -> bool {
        self.peek() == Some(b':') && self.is_separator(self.at + 1, false)
    }

    /// Parses the value after a key's colon, to the end of the text. Only comments and empty lines
    /// may follow the value.
    pub(super) fn value(&mut self) -> Read<Value> {
        let start = self.at;
        self.skip_blanks();
        let value = if self.is_at_end_of_line() {
            match self.skip_to_content()? {
                None => Value::Nothing,
                Some(indent) if self.is_dash() => Value::List(self.block_list(indent)?),
                Some(0) => return Err(self.fault("this belongs to no key")),
                Some(_) => self.scalar_or_flow_list()?,
            }
        } else {
            self.scalar_or_flow_list()?
        };
        if self.rest().is_empty() && value == Value::Nothing {
            self.go_back(start, 0);
        }
        let (end, kept) = (self.at, self.comments.len());
        self.check_end_of_line()?;
        if self.skip_to_content()?.is_some() {
            return Err(self.fault("this line does not belong to the value above it"));
        }
        self.go_back(end, kept);
        Ok(value)
    }

    fn scalar_or_flow_list(&mut self) -> Read<Value> {
        if self.peek() == Some(b'[') {
            return self.flow_list().map(Value::List);
        }
        Ok(self.scalar(1, false)?.map_or(Value::Nothing, Value::Scalar))
    }

    /// Parses a block list. Items without a value are left out.
    fn block_list(&mut self, indent: usize) -> Read<Vec<String>> {
        let mut items = Vec::new();
        loop {
            self.at += 1;
            let (mut end, mut kept) = (self.at, self.comments.len());
            self.skip_blanks();
            let is_below = self.is_at_end_of_line();
            let mut next = if is_below { self.skip_to_content()? } else { None };
            if !is_below || next.is_some_and(|inner| inner > indent) {
                items.extend(self.scalar(indent + 1, false)?);
                (end, kept) = (self.at, self.comments.len());
                self.check_end_of_line()?;
                next = self.skip_to_content()?;
            }
            if next != Some(indent) || !self.is_dash() {
                self.go_back(end, kept);
                return Ok(items);
            }
        }
    }

    /// Parses a flow list. Items without a value are left out.
    fn flow_list(&mut self) -> Read<Vec<String>> {
        let mut items = Vec::new();
        let opening = self.at;
        self.at += 1;
        loop {
            self.skip_within_flow(opening)?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(items);
            }
            items.extend(self.scalar(1, true)?);
            self.skip_within_flow(opening)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {}
                Some(b':') => return Err(self.fault(MAPPING)),
                _ => return Err(self.fault("a comma is missing between two items")),
            }
        }
    }

    fn skip_within_flow(&mut self, opening: usize) -> Read<()> {
        self.skip_blanks();
        if self.is_at_end_of_line() && (self.peek() != Some(b'#') || self.is_after_blank()) {
            self.skip_to_content()?;
        }
        if self.rest().is_empty() {
            let reason = "the list is not closed with `]`".to_owned();
            return Err(Fault { at: opening, reason });
        }
        Ok(())
    }

    /// Parses a scalar; `None` for plain `null` or `~`. Its lines must be indented by at least
    /// `least` spaces.
    fn scalar(&mut self, least: usize, is_in_flow: bool) -> Read<Option<String>> {
        match self.peek() {
            Some(b'"') => yaml_quoted::double(self, least).map(Some),
            Some(b'\'') => yaml_quoted::single(self, least).map(Some),
            Some(b'|' | b'>') if !is_in_flow => self.block_scalar(least).map(Some),
            _ => {
                self.check_plain_start(is_in_flow)?;
                let plain = self.plain(least, is_in_flow)?;
                let is_null = matches!(plain.as_str(), "~" | "null" | "Null" | "NULL");
                Ok((!is_null).then_some(plain))
            }
        }
    }

    fn check_plain_start(&self, is_in_flow: bool) -> Read<()> {
        let Some(first) = self.peek() else { return Err(self.fault("a text is missing")) };
        let reason = match first {
            b'&' | b'*' | b'!' => REFERENCE,
            b'[' => LIST,
            b'{' => MAPPING,
            b'-' | b'?' | b':' if self.is_separator(self.at + 1, is_in_flow) => match first {
                b'-' if !is_in_flow => LIST,
                b'-' => "a text that begins with `-` must be quoted",
                _ => MAPPING,
            },
            b',' => "a text is missing before the comma",
            b'|' | b'>' | b'@' | b'`' | b'%' | b'#' | b']' | b'}' => {
                "a text that begins with this character must be quoted"
            }
            _ => return Ok(()),
        };
        Err(self.fault(reason))
    }

    /// Parses a plain scalar, to the end of its last character.
    fn plain(&mut self, least: usize, is_in_flow: bool) -> Read<String> {
        let mut text = String::new();
        loop {
            let start = self.at;
            self.skip_plain_line(is_in_flow)?;
            text.push_str(self.text.get(start..self.at).unwrap_or_default());
            let end = self.at;
            self.skip_blanks();
            if !self.is_at_line_break() {
                self.at = end;
                return Ok(text);
            }
            let breaks = self.skip_breaks();
            let goes_on = match self.peek() {
                None | Some(b'#') => false,
                Some(b',' | b']' | b'}' | b'[' | b'{') if is_in_flow => false,
                Some(_) => self.indent() >= least,
            };
            if !goes_on {
                self.at = end;
                return Ok(text);
            }
            fold(&mut text, breaks);
        }
    }

    /// Skips the part of the line that belongs to a plain scalar.
    fn skip_plain_line(&mut self, is_in_flow: bool) -> Read<()> {
        let (mut end, mut is_after_blank) = (self.at, false);
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' | b'\r' => break,
                b'#' if is_after_blank => break,
                b':' if self.is_separator(self.at + 1, is_in_flow) => {
                    return Err(self.fault(MAPPING));
                }
                b',' | b']' if is_in_flow => break,
                b'[' | b'{' | b'}' if is_in_flow => {
                    return Err(self.fault("a text with brackets must be quoted"));
                }
                _ => {}
            }
            self.at += 1;
            is_after_blank = matches!(byte, b' ' | b'\t');
            if !is_after_blank {
                end = self.at;
            }
        }
        self.at = end;
        Ok(())
    }

    /// Parses a block scalar (`|` or `>`), to the end of its last line that is not empty.
    fn block_scalar(&mut self, least: usize) -> Read<String> {
        let is_folded = self.peek() == Some(b'>');
        self.at += 1;
        let (mut chomping, mut indent) = (None, None);
        while let Some(byte) = self.peek() {
            match byte {
                b'+' | b'-' if chomping.is_none() => chomping = Some(byte),
                b'1'..=b'9' if indent.is_none() => {
                    indent = Some(least - 1 + usize::from(byte - b'0'))
                }
                _ => break,
            }
            self.at += 1;
        }
        self.check_end_of_line()?;
        let mut end = self.at + self.rest().find(['\r', '\n']).unwrap_or(self.rest().len());
        self.skip_line();
        let (mut lines, mut longest_empty) = (Vec::new(), 0);
        let mut next = self.at;
        for whole in self.rest().split_inclusive('\n') {
            let line = whole.strip_suffix('\n').unwrap_or(whole);
            let line = line.strip_suffix('\r').unwrap_or(line);
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let is_empty = spaces == line.len();
            if indent.is_none() && !is_empty && spaces >= least {
                indent = Some(spaces);
                if longest_empty > spaces {
                    self.at = next;
                    return Err(self.fault("an empty line above is indented further than this"));
                }
            }
            match indent {
                Some(indent) if spaces >= indent => {
                    lines.push(line.get(indent..).unwrap_or_default())
                }
                _ if is_empty => lines.push(""),
                _ => break,
            }
            longest_empty = longest_empty.max(spaces);
            if !is_empty {
                end = next + line.len();
            }
            next += whole.len();
        }
        self.at = end;
        Ok(joined(&lines, is_folded, chomping))
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault { at: self.at, reason: reason.into() }
    }

    fn go_back(&mut self, at: usize, comments: usize) {
        self.at = at;
        self.comments.truncate(comments);
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn is_after_blank(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.as_bytes().get(at));
        matches!(before, None | Some(b' ' | b'\t' | b'\n'))
    }

    pub(super) fn is_at_line_break(&self) -> bool {
        matches!(self.peek(), Some(b'\n' | b'\r'))
    }

    fn is_at_end_of_line(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b'\r' | b'#'))
    }

    fn is_separator(&self, at: usize, is_in_flow: bool) -> bool {
        match self.text.as_bytes().get(at) {
            None | Some(b' ' | b'\t' | b'\n' | b'\r') => true,
            Some(b',' | b'[' | b']' | b'{' | b'}') => is_in_flow,
            Some(_) => false,
        }
    }

    fn is_dash(&self) -> bool {
        self.peek() == Some(b'-') && self.is_separator(self.at + 1, false)
    }

    /// The number of spaces before the current byte, which must be the first non-blank of its line.
    fn indent(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.len() - line.trim_start_matches(' ').len()
    }

    /// Skips one line end and the empty lines and blanks after it; returns the number of line ends.
    pub(super) fn skip_breaks(&mut self) -> usize {
        let mut breaks = 0;
        while self.is_at_line_break() {
            self.skip_line();
            self.skip_blanks();
            breaks += 1;
        }
        breaks
    }

    /// Skips line ends within a quoted scalar.
    pub(super) fn skip_breaks_of(&mut self, least: usize) -> Read<usize> {
        let breaks = self.skip_breaks();
        if self.peek().is_some() && self.indent() < least {
            return Err(self.fault("this line must be indented further"));
        }
        Ok(breaks)
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').map_or(rest.len(), |line_end| line_end + 1);
    }

    /// Checks that only a comment follows a value on its line.
    fn check_end_of_line(&mut self) -> Read<()> {
        self.skip_blanks();
        let is_over = match self.peek() {
            Some(b'#') => self.is_after_blank(),
            _ => self.is_at_end_of_line(),
        };
        if is_over { Ok(()) } else { Err(self.fault("there is text behind the end of the value")) }
    }

    /// Skips comments and empty lines to the next line with content; returns its indentation.
    fn skip_to_content(&mut self) -> Read<Option<usize>> {
        loop {
            if self.peek() == Some(b'#') {
                let line = self.rest().split(['\r', '\n']).next().unwrap_or_default();
                let length = line.trim_end_matches([' ', '\t']).len();
                self.comments.push(self.at..self.at + length);
            }
            self.skip_line();
            self.skip_blanks();
            if self.peek().is_none() {
                return Ok(None);
            }
            if !self.is_at_end_of_line() {
                let indent = self.indent();
                let line_start = self.at - indent;
                let is_spaces =
                    line_start == 0 || self.text.as_bytes().get(line_start - 1) == Some(&b'\n');
                return if is_spaces {
                    Ok(Some(indent))
                } else {
                    Err(self.fault("a tab indents this line; YAML wants spaces"))
                };
            }
        }
    }
}

/// Folds line ends within a scalar: a single one becomes a space, of several the first is dropped.
pub(super) fn fold(text: &mut String, breaks: usize) {
    if breaks == 1 {
        text.push(' ');
    } else {
        text.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
    }
}

/// Joins the lines of a block scalar.
fn joined(lines: &[&str], is_folded: bool, chomping: Option<u8>) -> String {
    let (mut text, mut breaks, mut is_first, mut was_indented) = (String::new(), 0, true, false);
    for line in lines {
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        let is_indented = line.starts_with([' ', '\t']);
        if is_first {
            text.extend(std::iter::repeat_n('\n', breaks));
        } else if !is_folded || was_indented || is_indented {
            text.extend(std::iter::repeat_n('\n', breaks + 1));
        } else {
            fold(&mut text, breaks + 1);
        }
        text.push_str(line);
        (breaks, is_first, was_indented) = (0, false, is_indented);
    }
    let kept = match chomping {
        Some(b'-') => 0,
        Some(_) => breaks + usize::from(!is_first),
        None => usize::from(!is_first),
    };
    text.extend(std::iter::repeat_n('\n', kept));
    text
}
