//! A document and its fields.

use crate::analysis::tokens::cut;

/// What is indexed of one stored context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Document<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// What the pointer says about it.
    pub description: &'a str,
    /// Keys and string values of the arguments, separated by spaces, or by
    /// [`Document::BEFORE_STRING`] and [`Document::BEFORE_OTHER`].
    pub arguments: &'a str,
    /// The text of the result: as much of it as is to be indexed.
    pub result: &'a str,
    /// Documents of one group were made for one purpose, such as one query; 0 is no group.
    pub group: u64,
    /// Milliseconds since 1970; of equally good documents the later is first.
    pub timestamp: i64,
}

impl Document<'_> {
    /// Precedes each string value among the arguments, where the whole of a string counts.
    pub const BEFORE_STRING: char = '\u{1e}';
    /// Precedes everything else among the arguments, which ends a string.
    pub const BEFORE_OTHER: char = '\u{1f}';

    /// Whether all of its text is indexed: of a very long one only the beginning is.
    #[must_use]
    pub fn is_short(&self) -> bool {
        FIELDS.iter().all(|field| (field.text)(self).len() <= field.maximum_bytes)
    }
}

/// A part of a document that is indexed.
pub(crate) struct Field {
    pub(crate) text: for<'a> fn(&Document<'a>) -> &'a str,
    pub(crate) weight: f32,
    /// How far a long text is held against it: 0 not at all, 1 in proportion (BM25's b).
    pub(crate) length_normalisation: f32,
    /// No more of the text is indexed.
    pub(crate) maximum_bytes: usize,
}

/// A further field is one line here.
pub(crate) const FIELDS: &[Field] = &[
    Field {
        text: |document| document.name,
        weight: 1.0,
        length_normalisation: 0.75,
        maximum_bytes: 1024,
    },
    Field {
        text: |document| document.description,
        weight: 1.0,
        length_normalisation: 0.9,
        maximum_bytes: 4096,
    },
    Field {
        text: |document| document.arguments,
        weight: 1.0,
        length_normalisation: 0.75,
        maximum_bytes: 8192,
    },
    Field {
        text: |document| document.result,
        weight: 0.5,
        length_normalisation: 0.75,
        maximum_bytes: 1024 * 1024,
    },
    Field {
        text: |document| opening(document.result),
        weight: 0.3,
        length_normalisation: 0.0,
        maximum_bytes: OPENING_BYTES,
    },
];

/// The places among [`FIELDS`] that say what the result says.
pub(crate) const RESULT_FIELDS: [usize; 2] = [3, 4];

/// The beginning of a result says more of what it is about than any other part:
/// a title, a signature, a first sentence.
const OPENING_BYTES: usize = 128;

/// The first words of a text: all of them are words of the whole text.
fn opening(text: &str) -> &str {
    if text.len() <= OPENING_BYTES {
        return text;
    }
    let start = cut(text, OPENING_BYTES);
    let end = start.rfind(|character: char| character.is_whitespace() || !character.is_ascii());
    start.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The number of fields.
pub(crate) const FIELD_COUNT: usize = FIELDS.len();

/// The fields that a document has of its own; the others repeat a part of one.
pub(crate) const DOCUMENT_FIELDS: usize = 4;

/// Tokens in each field of one document.
pub(crate) type Lengths = [u16; FIELD_COUNT];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_ends_with_a_word() {
        assert_eq!(opening("a short text"), "a short text");
        let long = "word ".repeat(40);
        assert_eq!(opening(&long).len(), 124);
        assert_eq!(opening(&"x".repeat(200)), "");
        assert_eq!(opening(&"é".repeat(100)).chars().count(), 63);
    }
}
