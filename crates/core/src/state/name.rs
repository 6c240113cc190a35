//! Namespaces and keys in the form of the database.
//!
//! A JavaScript string is stored as WTF-8: UTF-8 in which a lone surrogate is the three bytes of its code point. The
//! bytes compare like the code points, and different strings have different forms.
//!
//! A namespace is its segments, each followed by the byte 0. Within a segment, 0 is written as `1 1`, and 1 as `1 2`,
//! so that namespaces sort by their segments, and a prefix of segments is a prefix of bytes.

use std::ops::Range;

/// Ends a segment; this byte occurs nowhere else.
const END: u8 = 0;
/// Escapes [`END`] or itself within a segment.
const ESCAPE: u8 = 1;
/// The first byte of a surrogate in WTF-8.
const SURROGATE: u8 = 0xed;

/// The namespace and the key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The namespace, in the form of the database.
    pub namespace: Vec<u8>,
    /// The key, as WTF-8.
    pub key: Vec<u8>,
}

impl Place {
    /// Parses the text of a place from JavaScript: the namespace in the form of the database, the character 0, the key.
    /// `None` without that character, a namespace or a key.
    #[must_use]
    pub fn parse(units: &[u16]) -> Option<Self> {
        // Segments are not empty, so two ends in succession are the end of the namespace.
        let end = units.windows(2).position(|pair| pair == [0, 0])? + 1;
        let (namespace, key) = units.split_at_checked(end)?;
        let key = key.get(1..)?;
        let place = Self { namespace: wtf8(namespace), key: wtf8(key) };
        (!place.key.is_empty()).then_some(place)
    }

    /// The text that [`Place::parse`] reads, as WTF-8.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.namespace.clone();
        bytes.push(END);
        bytes.extend_from_slice(&self.key);
        bytes
    }
}

/// Converts UTF-16 units to WTF-8.
#[must_use]
pub fn wtf8(units: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(units.len());
    for decoded in char::decode_utf16(units.iter().copied()) {
        match decoded {
            Ok(character) if character.is_ascii() => bytes.push(character as u8),
            Ok(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Err(lone) => {
                let [high, low] = lone.unpaired_surrogate().to_be_bytes();
                let middle = 0x80 | ((high & 0x0f) << 2) | (low >> 6);
                bytes.extend_from_slice(&[SURROGATE, middle, 0x80 | (low & 0x3f)]);
            }
        }
    }
    bytes
}

/// Converts WTF-8 to UTF-16 units.
#[must_use]
pub fn utf16(bytes: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => rest
                .get(..error.valid_up_to())
                .and_then(|valid| std::str::from_utf8(valid).ok())
                .unwrap_or_default(),
        };
        units.extend(valid.encode_utf16());
        rest = rest.get(valid.len()..).unwrap_or_default();
        if let [SURROGATE, middle, last, after @ ..] = rest {
            units.push(0xd000 | (u16::from(middle & 0x3f) << 6) | u16::from(last & 0x3f));
            rest = after;
        } else if let [_, after @ ..] = rest {
            units.push(0xfffd);
            rest = after;
        }
    }
    units
}

/// Appends WTF-8 as a JSON string literal.
pub fn write_token(bytes: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => json_text::escape_string(text, out),
        Err(_) => json_text::write_string(&utf16(bytes), out),
    }
}

/// The segments of a namespace, as WTF-8.
#[must_use]
pub fn segments(namespace: &[u8]) -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    let mut segment = Vec::new();
    let mut bytes = namespace.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            END => segments.push(std::mem::take(&mut segment)),
            ESCAPE => segment.push(bytes.next().map_or(ESCAPE, |escaped| escaped - 1)),
            other => segment.push(other),
        }
    }
    segments
}

/// Builds a namespace from its segments, as WTF-8.
#[must_use]
pub fn namespace<S: AsRef<[u8]>>(segments: &[S]) -> Vec<u8> {
    let mut namespace = Vec::new();
    for segment in segments {
        for &byte in segment.as_ref() {
            if byte <= ESCAPE {
                namespace.extend_from_slice(&[ESCAPE, byte + 1]);
            } else {
                namespace.push(byte);
            }
        }
        namespace.push(END);
    }
    namespace
}

/// Appends a namespace as a JSON array of strings, without its first `root` segments.
pub fn write_namespace(namespace: &[u8], root: usize, out: &mut Vec<u8>) {
    out.push(b'[');
    for (number, segment) in segments(namespace).iter().skip(root).enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write_token(segment, out);
    }
    out.push(b']');
}

/// The range of all namespaces that begin with a prefix, which may be empty.
#[must_use]
pub fn below(prefix: &[u8]) -> Range<Vec<u8>> {
    let mut end = prefix.to_vec();
    match end.last_mut() {
        Some(last) => *last = END + 1,
        // All bytes of WTF-8 are less.
        None => end.push(0xff),
    }
    prefix.to_vec()..end
}

/// The least bytes that are greater than all that begin with `prefix`.
#[must_use]
pub fn after_all_with(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    end.push(0xff);
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn a_place_is_split_at_the_end_of_its_namespace() {
        let place = Place::parse(&units("u\u{0}1\u{0}\u{0}key\u{0}\u{0}more")).unwrap();
        assert_eq!(segments(&place.namespace), [b"u".to_vec(), b"1".to_vec()]);
        assert_eq!(place.key, b"key\0\0more");
        for wrong in ["", "u", "u\u{0}key", "u\u{0}\u{0}"] {
            assert_eq!(Place::parse(&units(wrong)), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_prefix_ends_with_a_segment() {
        let range = below(&namespace(&["u", "1"]));
        assert!(range.contains(&namespace(&["u", "1"])));
        assert!(range.contains(&namespace(&["u", "1", "x"])));
        assert!(!range.contains(&namespace(&["u", "10"])));
        assert!(!range.contains(&namespace(&["u"])));
        assert!(below(&[]).contains(&namespace(&["\u{10ffff}"])));
    }

    fn any_units() -> impl Strategy<Value = Vec<u16>> {
        let unit =
            prop_oneof![Just(0_u16), Just(1), 0x61_u16..0x64, 0xd7fe_u16..0xe002, any::<u16>()];
        prop::collection::vec(unit, 1..6)
    }

    proptest! {
        #[test]
        fn strings_come_back_and_sort_by_code_points(one in any_units(), other in any_units()) {
            prop_assert_eq!(&utf16(&wtf8(&one)), &one);
            let points = |units: &[u16]| -> Vec<u32> {
                char::decode_utf16(units.iter().copied())
                    .map(|decoded| decoded.map_or_else(|lone| lone.unpaired_surrogate().into(), u32::from))
                    .collect()
            };
            prop_assert_eq!(wtf8(&one).cmp(&wtf8(&other)), points(&one).cmp(&points(&other)));
            let mut token = Vec::new();
            write_token(&wtf8(&one), &mut token);
            prop_assert_eq!(json_text::decode_utf16(&token), one);
        }

        #[test]
        fn namespaces_come_back_and_sort_by_their_segments(
            one in prop::collection::vec(any_units(), 1..4),
            other in prop::collection::vec(any_units(), 1..4),
        ) {
            let bytes = |texts: &[Vec<u16>]| texts.iter().map(|units| wtf8(units)).collect::<Vec<_>>();
            let (one, other) = (bytes(&one), bytes(&other));
            prop_assert_eq!(segments(&namespace(&one)), one.clone());
            prop_assert_eq!(namespace(&one).cmp(&namespace(&other)), one.cmp(&other));
            prop_assert_eq!(below(&namespace(&one)).contains(&namespace(&other)), other.starts_with(&one));
        }
    }
}
