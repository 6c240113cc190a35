//! The form in which records are cached and passed to JavaScript. A result that is a long text is decoded and kept
//! apart from the rest of the record, so that JavaScript need not parse it.

use storage::Payload;

/// The shortest text that is kept apart, in bytes: shorter ones are parsed as fast with the record.
const MIN_TEXT: usize = 512;

/// A record, whole or split for fast access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// The record's JSON.
    Whole(Payload),
    /// A record whose result is a text, decoded, so that JavaScript need not parse and unescape it.
    Text {
        /// The record's JSON without its result.
        head: Payload,
        /// The result, plain.
        text: Payload,
    },
    /// A record whose result has binary data.
    WithBytes {
        /// The record's JSON.
        record: Payload,
        /// The file of the binary data.
        bytes: Payload,
    },
}

impl Held {
    /// From a record whose result begins at `result`.
    #[must_use]
    pub fn new(record: Payload, result: usize) -> Self {
        let decode =
            |token: &[u8]| Some(json_text::decode_string(token)?.into_owned().into_bytes());
        Self::apart(&record, result, decode).unwrap_or(Self::Whole(record))
    }

    /// As [`Held::new`], for a result that is the string of this text, so that its JSON is not decoded.
    #[must_use]
    pub fn of_text(record: Payload, result: usize, text: String) -> Self {
        let known = |_: &[u8]| Some(text.into_bytes());
        Self::apart(&record, result, known).unwrap_or(Self::Whole(record))
    }

    /// Splits the result off if it is a text and the last member. `plain` converts its JSON.
    fn apart(
        record: &[u8],
        result: usize,
        plain: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let (head, tail) = record.split_at_checked(result)?;
        let head = head.strip_suffix(b",\"result\":")?;
        let token = tail.strip_suffix(b"}")?;
        let is_text = token.len() >= MIN_TEXT && token.first() == Some(&b'"');
        // A lone surrogate is written as an escape, and cannot be expressed in UTF-8.
        if !is_text || memchr::memmem::find(token, b"\\ud").is_some() {
            return None;
        }
        let text = plain(token)?;
        let head = [head, b"}"].concat();
        Some(Self::Text { head: Payload::new(head), text: Payload::new(text) })
    }

    /// The record's JSON, whole.
    #[must_use]
    pub fn record(&self) -> Payload {
        match self {
            Self::Whole(record) | Self::WithBytes { record, .. } => Payload::clone(record),
            Self::Text { head, text } => {
                let mut record = Vec::with_capacity(head.len() + text.len() + 16);
                record.extend_from_slice(head.strip_suffix(b"}").unwrap_or(head));
                record.extend_from_slice(b",\"result\":");
                json_text::escape_string(&String::from_utf8_lossy(text), &mut record);
                record.push(b'}');
                Payload::new(record)
            }
        }
    }

    /// The texts for JavaScript: the record, or the record without its result followed by the result.
    #[must_use]
    pub fn into_texts(self) -> Vec<Payload> {
        match self {
            Self::Whole(record) | Self::WithBytes { record, .. } => vec![record],
            Self::Text { head, text } => vec![head, text],
        }
    }

    /// The file of the binary data, if it has any.
    #[must_use]
    pub fn bytes(&self) -> Option<Payload> {
        match self {
            Self::WithBytes { bytes, .. } => Some(Payload::clone(bytes)),
            Self::Whole(_) | Self::Text { .. } => None,
        }
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Whole(record) => record.len(),
            Self::Text { head, text } => head.len() + text.len(),
            Self::WithBytes { record, bytes } => record.len() + bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hold(result: &str) -> (Payload, Held) {
        let head = "{\"toolName\":\"t\",\"args\":{},\"result\":";
        let record = Payload::new(format!("{head}{result}}}").into_bytes());
        (Payload::clone(&record), Held::new(record, head.len()))
    }

    #[test]
    fn only_long_texts_are_taken_apart() {
        let long = format!("\"{}\"", "a\\n\\\"é".repeat(200));
        let (record, held) = hold(&long);
        assert_eq!(held.record(), record);
        let [head, text] = held.into_texts().try_into().unwrap();
        assert_eq!(head.as_slice(), b"{\"toolName\":\"t\",\"args\":{}}");
        assert_eq!(text.as_slice(), "a\n\"é".repeat(200).as_bytes());
        let lone = format!("\"{}\\ud800\"", "x".repeat(600));
        for whole in ["1", "\"short\"", &format!("[{long}]"), &lone] {
            let (record, held) = hold(whole);
            assert_eq!(held, Held::Whole(record), "{whole}");
        }
    }

    proptest! {
        #[test]
        fn what_is_held_is_what_was_given(text in "(?s).{0,800}", extra in ".{500}") {
            let mut token = Vec::new();
            json_text::escape_string(&format!("{text}{extra}"), &mut token);
            let (record, held) = hold(std::str::from_utf8(&token).unwrap());
            prop_assert_eq!(held.record(), record);
        }

        #[test]
        fn what_is_held_of_a_text_is_what_is_held_of_its_json(
            units in prop::collection::vec(prop_oneof![8 => 0x20..0x7f_u16, 1 => any::<u16>()], 400..700),
        ) {
            let mut token = Vec::new();
            json_text::write_string(&units, &mut token);
            let (record, held) = hold(std::str::from_utf8(&token).unwrap());
            let result = record.len() - token.len() - 1;
            let text = json_text::Encoded::String(units).string().unwrap();
            prop_assert_eq!(Held::of_text(record, result, text), held);
        }
    }
}
