//! Maps offsets in the decoded text of a JSON string to offsets in the string's token.

/// The text escaped as the content of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let token = json_text::string_token(text);
    token.get(1..token.len() - 1).unwrap_or_default().to_owned()
}

/// Converts offsets of one string, in ascending order.
pub(super) struct Offsets<'a> {
    content: &'a [u8],
    raw: usize,
    decoded: usize,
}

impl<'a> Offsets<'a> {
    /// `content` is the token without its quotes.
    pub fn new(content: &'a [u8]) -> Self {
        Self { content, raw: 0, decoded: 0 }
    }

    /// The offset in the token for an offset in the decoded text. Offsets must not descend.
    pub fn of(&mut self, decoded: usize) -> usize {
        while self.decoded < decoded {
            let at = |ahead: usize| self.content.get(self.raw + ahead).copied();
            let Some(byte) = at(0) else { break };
            let (raw, length) = match (byte, at(1)) {
                (b'\\', Some(b'u')) => self.unicode_escape(),
                (b'\\', _) => (2, 1),
                _ => (1, 1),
            };
            self.raw += raw;
            self.decoded += length;
        }
        self.raw
    }

    /// The lengths of an escape `\uXXXX`, or of a surrogate pair, and of the decoded character.
    fn unicode_escape(&self) -> (usize, usize) {
        let unit = |from: usize| {
            let digits = self.content.get(self.raw + from + 2..self.raw + from + 6)?;
            (self.content.get(self.raw + from..self.raw + from + 2) == Some(b"\\u"))
                .then(|| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())
                .flatten()
        };
        let first = unit(0).unwrap_or_default();
        match (first, unit(6)) {
            (0xD800..=0xDBFF, Some(0xDC00..=0xDFFF)) => (12, 4),
            _ => (6, char::from_u32(u32::from(first)).map_or(3, char::len_utf8)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_follow_every_escape() {
        let content = br#"a\n\u00e9\ud83d\ude00\ud800x\\"#;
        let raw = [b"\"", &content[..], b"\""].concat();
        let text = json_text::decode_string(&raw).unwrap();
        let mut offsets = Offsets::new(content);
        let found: Vec<usize> = text.char_indices().map(|(at, _)| offsets.of(at)).collect();
        assert_eq!(found, [0, 1, 3, 9, 21, 27, 28]);
        assert_eq!(offsets.of(text.len()), content.len());
    }
}
