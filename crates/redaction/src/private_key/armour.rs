//! Recognises the delimiter lines of armoured blocks (RFC 7468, RFC 4716, RFC 9580), also where a tool wrapped a line
//! in the middle of a delimiter.

use std::{ops::Range, sync::LazyLock};

use memchr::memmem::Finder;

use crate::work;

/// Number of dashes before and after a label; SSH2 uses four.
const DASHES: std::ops::RangeInclusive<usize> = 4..=5;
/// Maximum length of a delimiter, with line breaks in it.
const MAX_DELIMITER: usize = 160;
/// Maximum number of letters of a label.
const MAX_LABEL: usize = 48;
/// The end of a private key's label, without spaces.
const PRIVATE: &str = "PRIVATEKEY";

/// Work steps for reading a possible delimiter.
const READ_STEPS: usize = 60;

static DASH_PAIR: LazyLock<Finder> = LazyLock::new(|| Finder::new("--"));

/// The search for the dashes that every delimiter contains.
pub(super) fn dash_pair() -> &'static Finder<'static> {
    &DASH_PAIR
}

/// A delimiter: the header or the footer of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delimiter {
    /// From the first dash to the last.
    pub range: Range<usize>,
    pub is_end: bool,
    pub holds: Holds,
}

/// The content of a block, as its label says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    PrivateKey,
    /// A certificate, a public key or a signature, none of which is secret.
    Other,
    /// The text ends within the label of a footer.
    Cut,
}

/// All delimiters of a text, in order.
pub(super) fn delimiters(bytes: &[u8]) -> Vec<Delimiter> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| DASH_PAIR.find(rest)) {
        let start = at + offset;
        let run = bytes.get(start..).unwrap_or_default();
        let end = start + run.iter().take_while(|&&byte| byte == b'-').count();
        at = end;
        // The first dash of `------BEGIN` is the marker of a removed line in a diff.
        let start = start.max(end.saturating_sub(*DASHES.end()));
        if let Some(delimiter) = read(bytes, start) {
            at = delimiter.range.end;
            found.push(delimiter);
        }
    }
    found
}

fn read(bytes: &[u8], start: usize) -> Option<Delimiter> {
    work::add(READ_STEPS);
    let mut reader = Reader { bytes, at: start, end: bytes.len().min(start + MAX_DELIMITER) };
    if !DASHES.contains(&reader.dashes()) {
        return None;
    }
    reader.skip(b' ');
    let is_end = match reader.peek() {
        Some(b'B') => !reader.word(b"BEGIN"),
        Some(b'E') => reader.word(b"END"),
        _ => return None,
    };
    if !reader.space() && !reader.is_broken() {
        return None;
    }
    // A line can be wrapped at a space of the label; the space is lost then.
    let mut label = String::new();
    while label.len() <= MAX_LABEL {
        let letter =
            reader.peek().filter(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        if let Some(letter) = letter {
            reader.bump();
            label.push(char::from(letter));
        } else if !reader.space() {
            break;
        }
    }
    let holds = if label.contains(PRIVATE) { Holds::PrivateKey } else { Holds::Other };
    let is_closed = DASHES.contains(&reader.dashes());
    let is_cut = reader.next() >= bytes.len() || matches!(reader.peek(), Some(b'"' | b'\\'));
    let holds = match (is_closed, is_cut) {
        (true, _) => holds,
        (false, true) if is_end => Holds::Cut,
        _ => return None,
    };
    Some(Delimiter { range: start..reader.at, is_end, holds })
}

/// Reads the characters of a delimiter, skipping line breaks and the indentation after them.
struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    end: usize,
}

impl Reader<'_> {
    /// The position of the next character that is not part of a line break.
    fn next(&self) -> usize {
        let byte = |at: usize| self.bytes.get(at).filter(|_| at < self.end);
        let mut at = self.at;
        let mut is_broken = false;
        loop {
            match byte(at) {
                Some(b'\n') => is_broken = true,
                Some(b'\r') if byte(at + 1) == Some(&b'\n') => {}
                Some(b' ' | b'\t') if is_broken => {}
                _ => return at,
            }
            at += 1;
        }
    }

    /// Whether a line break follows.
    fn is_broken(&self) -> bool {
        self.next() > self.at
    }

    fn peek(&self) -> Option<u8> {
        let next = self.next();
        self.bytes.get(next).copied().filter(|_| next < self.end)
    }

    fn bump(&mut self) {
        self.at = self.next() + 1;
    }

    fn skip(&mut self, expected: u8) -> bool {
        let is_next = self.peek() == Some(expected);
        if is_next {
            self.bump();
        }
        is_next
    }

    fn word(&mut self, word: &[u8]) -> bool {
        word.iter().all(|&byte| self.skip(byte))
    }

    /// Reads a space, also if it is URL-encoded or replaced by a line break.
    fn space(&mut self) -> bool {
        self.skip(b' ') || self.skip(b'+') || self.peek() == Some(b'%') && self.word(b"%20")
    }

    /// Reads dashes, up to the maximum, with an optional space before them.
    fn dashes(&mut self) -> usize {
        if self.peek() == Some(b' ') {
            self.bump();
        }
        let mut count = 0;
        while count < *DASHES.end() && self.skip(b'-') {
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, bool, Holds)> {
        let found = delimiters(text.as_bytes());
        found.into_iter().map(|one| (&text[one.range], one.is_end, one.holds)).collect()
    }

    fn one(text: &str, expected: &str, is_end: bool, holds: Holds) {
        assert_eq!(found(text), [(expected, is_end, holds)], "{text:?}");
    }

    #[test]
    fn labels_say_what_a_block_holds() {
        for kind in ["", "RSA ", "EC ", "ENCRYPTED ", "OPENSSH ", "SSH2 ENCRYPTED "] {
            let line = format!("-----BEGIN {kind}PRIVATE KEY-----");
            one(&format!("x {line}\\n"), &line, false, Holds::PrivateKey);
        }
        one(
            "-----END PGP PRIVATE KEY BLOCK-----",
            "-----END PGP PRIVATE KEY BLOCK-----",
            true,
            Holds::PrivateKey,
        );
        one(
            "---- BEGIN SSH2 PUBLIC KEY ----",
            "---- BEGIN SSH2 PUBLIC KEY ----",
            false,
            Holds::Other,
        );
        one("------END CERTIFICATE-----", "-----END CERTIFICATE-----", true, Holds::Other);
        one(
            "-----BEGIN+RSA+PRIVATE%20KEY-----%0A",
            "-----BEGIN+RSA+PRIVATE%20KEY-----",
            false,
            Holds::PrivateKey,
        );
    }

    #[test]
    fn delimiters_may_be_wrapped_anywhere() {
        let line = "-----BEGIN RSA PRIVATE KEY-----";
        for at in 1..line.len() {
            for separator in ["\n", "\r\n", "\n    "] {
                let text = format!("{}{separator}{}", &line[..at], &line[at..]);
                let whole = text.clone();
                // One of five dashes may be on the other line, where it is not recognised.
                if at != 1 {
                    assert_eq!(
                        found(&text),
                        [(whole.as_str(), false, Holds::PrivateKey)],
                        "{text:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn ends_may_be_cut() {
        for text in ["-----END RSA PRIV", "-----END RSA PRIVATE KEY--", "-----END "] {
            one(text, text, true, Holds::Cut);
        }
        one("-----END RSA\"", "-----END RSA", true, Holds::Cut);
    }

    #[test]
    fn other_dashes_delimit_nothing() {
        for text in [
            "",
            "-",
            "-----",
            "-----BEGIN",
            "-----BEGIN RSA PRIVATE KEY",
            "-----BEGIN lower PRIVATE KEY-----",
            "--BEGIN X--",
            "-----BEGINNING-----",
            "-----END OF FILE, as it were\n",
            "-----BEGIN A VERY LONG LABEL THAT IS MUCH TOO LONG FOR ANY BLOCK OF ARMOUR-----",
        ] {
            assert_eq!(found(text), [], "{text:?}");
        }
    }
}
