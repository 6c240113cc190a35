//! Results that come piece by piece and need not fit into memory.
//!
//! Pieces are redacted as they come ([`redaction::TextStream`], [`redaction::ElementStream`]) and kept in temporary files of
//! the directory: a text and bytes as they are, other values as the elements of a JSON array. Once the stream is over, the
//! record's head is written, which says how it ended, and what was kept is copied behind it.
//!
//! | module | what it knows |
//! |---|---|
//! | `contents` | what was kept of a stream |
//! | `excerpt` | bounded parts of that, for the placeholder and the index |
//! | `file` | the record and the file of bytes, in pieces |
//! | `place` | where the temporary files are |
//! | `save` | the context made of it |

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

/// The part of a result that a stream is: the rest is the JSON of an object, in which it becomes a member.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The object, JSON, not redacted.
    pub object: String,
    /// The member's name.
    pub member: String,
}

/// A piece of a stream.
#[derive(Debug)]
pub enum Piece {
    /// Text as UTF-8, or bytes.
    Bytes(Vec<u8>),
    /// Elements of an array.
    Elements {
        /// A JSON array of them.
        array: Encoded,
        /// The bytes that they hold, of which the JSON has markers.
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

/// A result that is still coming. Dropping it forgets what came.
pub struct StreamedResult {
    session: Arc<Session>,
    redaction: Option<Redaction>,
    /// So many bytes of JSON are kept.
    limit: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
enum State {
    /// Nothing came yet.
    #[default]
    Empty,
    Open(Box<Contents>),
    /// It was stored, or given up.
    Over,
}

impl StreamedResult {
    /// A result of a session, of which at most `limit` bytes of JSON are kept. Touches no file.
    pub(super) fn new(session: Arc<Session>, redaction: Option<Redaction>, limit: usize) -> Self {
        let limit = limit.min(session.options.retention.max_result_bytes);
        Self { session, redaction, limit, state: Arc::default() }
    }

    /// Adds a piece; whether there is no room for more. Pieces are added one after the other: the caller waits for each.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `Redaction`, `Io`, or `InvalidArgument` once the result was stored or given up.
    pub async fn write(&self, piece: Piece) -> Result<bool> {
        self.open().await?;
        let state = Arc::clone(&self.state);
        // A short piece may be the last of a part that is redacted now.
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

    /// Forgets what came.
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

    /// What came.
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
