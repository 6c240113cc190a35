//! A value passed from JavaScript, before it is converted to JSON text.

use super::{
    escape,
    snapshot::{self, MalformedSnapshot},
};

/// A value from the JavaScript thread, as `lib/native/snapshot.ts` passes it. Strings are UTF-16.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// Finished JSON text.
    Text(Vec<u16>),
    /// A string value.
    String(Vec<u16>),
    /// A snapshot: its operations, and its strings concatenated.
    Flat {
        /// The operations that describe the value.
        operations: Vec<i32>,
        /// The strings, concatenated.
        units: Vec<u16>,
    },
}

impl Encoded {
    /// Appends the value as JSON text.
    ///
    /// # Errors
    /// When the snapshot does not describe a value, which only a bug on the JavaScript side can cause.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), MalformedSnapshot> {
        match self {
            Self::Text(units) => escape::write_text(units, out),
            Self::String(units) => escape::write_string(units, out),
            Self::Flat { operations, units } => snapshot::write_flat(operations, units, out)?,
        }
        Ok(())
    }

    /// The text of a string value, in which lone surrogates become U+FFFD; `None` for other values.
    #[must_use]
    pub fn string(&self) -> Option<String> {
        let Self::String(units) = self else { return None };
        let mut text = Vec::new();
        escape::write_text(units, &mut text);
        String::from_utf8(text).ok()
    }

    /// The approximate length of the text in bytes, for ASCII.
    #[must_use]
    pub fn length_hint(&self) -> usize {
        match self {
            Self::Text(units) | Self::String(units) => units.len() + 2,
            Self::Flat { operations, units } => operations.len() * 4 + units.len(),
        }
    }
}
