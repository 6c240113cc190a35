//! The operations of one call, and their outcomes.

use json_text::Encoded;
use redaction::{Redaction, RedactionSession, Report};

use super::{
    item::{ItemText, Kind, write_times},
    name::{Place, segments},
    revision::{Expected, Revision},
};
use crate::error::{Code, Error, Result};

/// The latest time of a JavaScript `Date`.
pub(super) const MAX_TIME: i64 = 8_640_000_000_000_000;

/// One operation of a call.
#[derive(Debug)]
pub enum Operation {
    /// Reads an item.
    Get(Place),
    /// Writes an item.
    Put(Put),
    /// Removes an item.
    Delete {
        /// The item's place.
        place: Place,
        /// The expected revision.
        expected: Option<Expected>,
    },
    /// Changes nothing, and fails if the item does not have the expected revision.
    Check {
        /// The item's place.
        place: Place,
        /// The expected revision.
        expected: Expected,
    },
    /// Returns the position of the latest change.
    Position,
}

/// The arguments of a write.
#[derive(Debug)]
pub struct Put {
    /// The item's place.
    pub place: Place,
    /// The type of the value.
    pub kind: Kind,
    /// The value; empty if it is in `encoded`.
    pub value: Vec<u8>,
    /// JSON from JavaScript, which the writer's thread turns into the value.
    pub encoded: Option<Encoded>,
    /// The expected revision of an existing item.
    pub expected: Option<Expected>,
    /// The time until it expires, in ms.
    pub ttl: Option<i64>,
    /// The time at which it expires, in ms since 1970; set instead of `ttl`.
    pub expires_at: Option<i64>,
    /// The media type of the value, for its readers.
    pub media_type: Option<String>,
    /// The report on redacted secrets in the value.
    pub report: Report,
}

/// The result of an operation.
#[derive(Debug)]
pub enum Outcome {
    /// The item that was read, without namespace and key.
    Item(Option<ItemText>),
    /// The item was written.
    Written {
        /// Its members except namespace, key, value and media type, as JSON.
        members: String,
        /// Its value with the report, if secrets in it were redacted.
        redacted: Option<(Kind, Vec<u8>, Report)>,
    },
    /// Whether the item existed.
    Deleted(bool),
    /// The item has the expected revision.
    Checked,
    /// The number of the latest change.
    Position(i64),
}

impl Put {
    /// Encodes and redacts the value.
    ///
    /// # Errors
    /// `TooLarge`, `Redaction`
    fn prepare(&mut self, max_bytes: usize, redaction: Option<&Redaction>) -> Result<()> {
        if let Some(encoded) = self.encoded.take() {
            encoded.write(&mut self.value).map_err(|_| {
                Error::new(Code::InvalidArgument, "value could not be turned into JSON")
            })?;
        }
        if self.value.len() > max_bytes {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "the value of {:?} takes {} bytes, and {max_bytes} are allowed; raise maxValueBytes or store less of it",
                    String::from_utf8_lossy(&self.place.key),
                    self.value.len()
                ),
            ));
        }
        redaction.map_or(Ok(()), |redaction| self.redact(redaction.clone()))
    }

    /// The time at which the item expires if it is written now.
    pub(super) fn expiry(&self, now: i64) -> Option<i64> {
        let expires_at = self.expires_at.or_else(|| Some(now.saturating_add(self.ttl?)));
        expires_at.map(|time| time.min(MAX_TIME))
    }

    /// The outcome of the write.
    pub(super) fn written(&self, revision: Revision, created_at: i64, now: i64) -> Outcome {
        let mut members = format!("{{\"revision\":\"{revision}\"").into_bytes();
        write_times(created_at, now, self.expiry(now), &mut members);
        members.push(b'}');
        let redacted =
            (!self.report.is_empty()).then(|| (self.kind, self.value.clone(), self.report.clone()));
        let members = String::from_utf8(members).unwrap_or_default();
        Outcome::Written { members, redacted }
    }

    /// Redacts the value. Bytes are redacted if they are UTF-8 text.
    fn redact(&mut self, redaction: Redaction) -> Result<()> {
        let mut session = RedactionSession::new(Some(redaction));
        match self.kind {
            Kind::Json => session.json(&mut self.value, 0)?,
            Kind::Bytes => match String::from_utf8(std::mem::take(&mut self.value)) {
                Ok(mut text) => {
                    session.text(&mut text)?;
                    self.value = text.into_bytes();
                }
                Err(error) => self.value = error.into_bytes(),
            },
        }
        self.report = session.report();
        Ok(())
    }
}

impl Operation {
    /// The approximate number of bytes that it writes.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Put(put) => {
                put.value.len() + put.encoded.as_ref().map_or(0, Encoded::length_hint)
            }
            _ => 0,
        }
    }
}

/// The error for an item that does not have the expected revision.
pub(super) fn conflict(place: &Place, expected: &Expected, found: Option<Revision>) -> Error {
    let namespace: Vec<_> = segments(&place.namespace)
        .iter()
        .map(|segment| String::from_utf8_lossy(segment).into_owned())
        .collect();
    let key = String::from_utf8_lossy(&place.key);
    let found = found
        .map_or_else(|| "is not there".to_owned(), |revision| format!("has revision {revision}"));
    let wanted = match expected {
        Expected::Absent => "must not exist".to_owned(),
        Expected::Revision(revision) => format!("must have revision {revision:?}"),
    };
    Error::new(
        Code::Conflict,
        format!(
            "the item {key:?} of {namespace:?} {found}, and {wanted}; read it again and decide again"
        ),
    )
}

/// Encodes and redacts the values that operations write.
pub(super) fn prepare_all(
    operations: &mut [Operation],
    max_value_bytes: usize,
    redaction: Option<&Redaction>,
) -> Result<()> {
    for operation in operations {
        if let Operation::Put(put) = operation {
            put.prepare(max_value_bytes, redaction)?;
        }
    }
    Ok(())
}

/// The error for a call whose writer ended without an answer.
pub(super) fn interrupted() -> Error {
    Error::new(Code::Internal, "a write to the state store was interrupted; please report it")
}
