//! Results that come in pieces and need not fit into memory.
//!
//! Each piece is redacted when it comes ([`redaction::TextStream`], [`redaction::ElementStream`]) and appended to a
//! temporary file of the directory: text and bytes as they are, without JSON encoding, other values as elements of a
//! JSON array. When the stream ends, the record's head with the outcome is written, and the data is copied after it as
//! JSON.
//!
//! | module | contents |
//! |---|---|
//! | `contents` | the data of a stream so far |
//! | `excerpt` | bounded excerpts of it, for the placeholder and the index |
//! | `file` | writing the record and the file of binary data |
//! | `place` | the temporary files |
//! | `save` | the context made of a finished stream |

mod contents;
mod excerpt;
mod file;
mod place;
mod save;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use json_text::Encoded;
use redaction::Redaction;

pub(super) use file::StreamedFile;
pub(super) use save::store;

use self::contents::Contents;
use super::{bytes::GivenBytes, session::Session};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
};

/// The object that a stream is a member of, if the stream is only a part of the result.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The rest of the object, JSON, not redacted.
    pub object: String,
    /// The name of the stream's member.
    pub member: String,
}

/// A piece of a stream.
#[derive(Debug)]
pub enum Piece {
    /// Text as UTF-8, or bytes.
    Bytes(Vec<u8>),
    /// Elements of an array.
    Elements {
        /// A JSON array with them.
        array: Encoded,
        /// Their binary data, for which the JSON has markers.
        bytes: Option<GivenBytes>,
    },
}

impl Piece {
    fn length_hint(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Elements { array, .. } => array.length_hint(),
        }
    }
}

/// A result in progress. Dropping it discards the data.
pub struct StreamedResult {
    session: Arc<Session>,
    redaction: Option<Redaction>,
    /// The most bytes of JSON that are kept.
    limit: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
enum State {
    /// No piece came yet.
    #[default]
    Empty,
    Open(Box<Contents>),
    /// The result was stored or discarded.
    Over,
}

impl StreamedResult {
    /// A result of a session, of which at most `limit` bytes of JSON are kept. Touches no file.
    pub(super) fn new(session: Arc<Session>, redaction: Option<Redaction>, limit: usize) -> Self {
        let limit = limit.min(session.options.retention.max_result_bytes);
        Self { session, redaction, limit, state: Arc::default() }
    }

    /// Adds a piece; returns whether the limit is reached. The caller waits for each piece before the next.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `Redaction`, `Io`, or `InvalidArgument` after the result was stored or discarded.
    pub async fn write(&self, piece: Piece) -> Result<bool> {
        self.open().await?;
        let state = Arc::clone(&self.state);
        // Even a short piece may cause a long part to be redacted, so this runs on a thread for long work.
        run_long(piece.length_hint().max(tasks::LONG + 1), move || {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let State::Open(contents) = &mut *state else { return Err(over()) };
            match piece {
                Piece::Bytes(bytes) => contents.add_bytes(&bytes)?,
                Piece::Elements { array, bytes } => contents.add_elements(&array, bytes)?,
            }
            Ok(contents.is_full())
        })
        .await
    }

    /// Discards the data.
    pub fn discard(&self) {
        drop(self.take());
    }

    fn take(&self) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, State::Over)
    }

    /// Opens the directory for the first piece.
    async fn open(&self) -> Result<()> {
        let is_empty =
            matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Empty);
        if !is_empty {
            return Ok(());
        }
        let (place, main) = self.session.directory.place_for_stream().await?;
        let contents = Contents::new(place, main, self.redaction.clone(), self.limit);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Empty) {
            *state = State::Open(Box::new(contents));
        }
        Ok(())
    }

    /// Takes the data of the stream.
    async fn contents(&self) -> Result<Box<Contents>> {
        self.open().await?;
        match self.take() {
            State::Open(contents) => Ok(contents),
            State::Empty | State::Over => Err(over()),
        }
    }
}

fn over() -> Error {
    Error::new(Code::InvalidArgument, "the stream was stored already, or given up")
}
