//! Documents and their indexed fields.

use crate::analysis::tokens::{cut, is_word_border};

/// The fields of one stored context, as they are indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Document<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// The description in the context's pointer.
    pub description: &'a str,
    /// Keys and string values of the arguments, separated by spaces, or by [`Document::BEFORE_STRING`] and
    /// [`Document::BEFORE_OTHER`].
    pub arguments: &'a str,
    /// The part of the result's text that is to be indexed.
    pub result: &'a str,
    /// The group of the document, such as all documents of one query; 0 for none.
    pub group: u64,
    /// Milliseconds since 1970. Of equally scored documents, the later one is first.
    pub timestamp: i64,
}

impl Document<'_> {
    /// Separator before a string value of the arguments that is also indexed as a whole.
    pub const BEFORE_STRING: char = '\u{1e}';
    /// Separator before any other text of the arguments; it ends a string value.
    pub const BEFORE_OTHER: char = '\u{1f}';

    /// Whether the complete text is indexed. Of a very long text, only the start is.
    #[must_use]
    pub fn is_short(&self) -> bool {
        FIELDS.iter().all(|field| (field.text)(self).len() <= field.maximum_bytes)
    }
}

/// An indexed field and its parameters.
pub(crate) struct Field {
    pub(crate) text: for<'a> fn(&Document<'a>) -> &'a str,
    pub(crate) weight: f32,
    /// How much the length of the text lowers its score: 0 not at all, 1 in proportion (BM25's b).
    pub(crate) length_normalisation: f32,
    /// Maximum number of bytes that are indexed.
    pub(crate) maximum_bytes: usize,
}

/// All fields, one per line.
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

/// The indices in [`FIELDS`] of the fields with text of the result.
pub(crate) const RESULT_FIELDS: [usize; 2] = [3, 4];

/// The start of a result, such as a title, a signature or a first sentence, describes its topic best.
const OPENING_BYTES: usize = 128;

/// The first words of a text. They are also words of the complete text.
fn opening(text: &str) -> &str {
    if text.len() <= OPENING_BYTES {
        return text;
    }
    let start = cut(text, OPENING_BYTES);
    let end = start.rfind(|character: char| character.is_whitespace() || !character.is_ascii());
    start.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The length of the opening in bytes, if its tokens are the first tokens of the result.
pub(crate) fn shared_opening(result: &str) -> Option<usize> {
    let length = opening(result).len();
    is_word_border(result, length).then_some(length)
}

/// The number of fields.
pub(crate) const FIELD_COUNT: usize = FIELDS.len();

/// The number of fields that have a text of their own; the others repeat part of one.
pub(crate) const DOCUMENT_FIELDS: usize = 4;

/// The number of tokens in each field of one document.
pub type Lengths = [u16; FIELD_COUNT];

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
