//! Results that come in pieces: JavaScript passes each piece when it has read it from a stream.

#![allow(clippy::too_many_arguments, reason = "the arguments are those of `save`")]

use std::sync::Arc;

use agent_context_core::context::{Envelope, Piece, SaveRequest, StreamedResult};
use json_text::Encoded;
use napi::{
    Env, Result,
    bindgen_prelude::{ClassInstance, Unknown},
};
use napi_derive::napi;

use super::{
    context_bytes::{NativeBytes, read_given},
    context_manager::{NativeManager, answer_of_save},
    numbers::{size, time},
    outbox::Queue,
    request::parse,
    runtime::{Answer, run, started},
    save_details::read_details,
    text::Utf8,
    value,
};

/// A result in progress. It is discarded when the engine collects it.
#[napi]
pub struct NativeStream {
    stream: Arc<StreamedResult>,
    queue: Arc<Queue>,
}

#[napi]
impl NativeStream {
    /// Adds text. As for all pieces, answers with `full` once the limit is reached, and the caller waits for
    /// the answer before the next piece.
    #[napi]
    pub fn write_text(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] text: Utf8,
    ) -> Result<()> {
        self.write(operation, Piece::Bytes(text.0))
    }

    /// Adds bytes.
    #[napi]
    pub fn write_bytes(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "Uint8Array")] bytes: Unknown<'_>,
    ) -> Result<()> {
        self.write(operation, Piece::Bytes(value::read_bytes(env, &bytes)?))
    }

    /// Adds values: a JSON array, and their binary data, which `said`, JSON, describes.
    #[napi]
    pub fn write_elements(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] array: Unknown<'_>,
        #[napi(ts_arg_type = "string | undefined")] said: Option<Utf8>,
        #[napi(ts_arg_type = "readonly Uint8Array[]")] bytes: Unknown<'_>,
    ) -> Result<()> {
        let array = value::read_text(env, &array)?;
        let given = said.map(|said| read_given(env, parse::<NativeBytes>(&said)?, &bytes));
        self.write(operation, Piece::Elements { array, bytes: given.transpose()? })
    }

    /// Discards the data.
    #[napi]
    pub fn discard(&self) {
        let stream = Arc::clone(&self.stream);
        match started() {
            // Not on the JavaScript thread, because files are removed.
            Some(runtime) => drop(runtime.spawn_blocking(move || stream.discard())),
            None => stream.discard(),
        }
    }
}

impl NativeStream {
    fn write(&self, operation: u32, piece: Piece) -> Result<()> {
        let stream = Arc::clone(&self.stream);
        run(&self.queue, operation, async move {
            let is_full = stream.write(piece).await?;
            Ok(Answer::Text(if is_full { "full" } else { "" }.to_owned()))
        })?;
        Ok(())
    }
}

#[napi]
impl NativeManager {
    /// A result in progress, of which at most `limit` bytes of JSON are kept.
    #[napi]
    pub fn open_stream(&self, limit: f64) -> NativeStream {
        let stream = self.manager.stream(self.redaction(), size(limit));
        NativeStream { stream: Arc::new(stream), queue: Arc::clone(&self.queue) }
    }

    /// As `save`, with the result from a stream; with `object`, JSON, the stream becomes its member `member`.
    #[napi]
    pub fn save_stream(
        &self,
        env: &Env,
        operation: u32,
        stream: ClassInstance<'_, NativeStream>,
        #[napi(ts_arg_type = "string")] tool_name: Utf8,
        timestamp: f64,
        #[napi(ts_arg_type = "string | undefined")] query: Option<Utf8>,
        #[napi(ts_arg_type = "string | undefined")] task: Option<Utf8>,
        #[napi(ts_arg_type = "string")] argument_text: Unknown<'_>,
        #[napi(ts_arg_type = "string")] details: Utf8,
        #[napi(ts_arg_type = "readonly Uint8Array[]")] no_bytes: Unknown<'_>,
        #[napi(ts_arg_type = "string | undefined")] object: Option<Utf8>,
        #[napi(ts_arg_type = "string | undefined")] member: Option<Utf8>,
    ) -> Result<()> {
        let request = SaveRequest {
            tool_name: tool_name.into_string(),
            arguments: value::read_text(env, &argument_text)?,
            result: Encoded::Text(Vec::new()),
            timestamp: time(timestamp),
            task: task.map(Utf8::into_string),
            query: query.map(Utf8::into_token),
            details: Some(Box::new(read_details(env, &details, &no_bytes)?)),
            redaction: self.redaction(),
        };
        let envelope = object.zip(member).map(|(object, member)| Envelope {
            object: object.into_string(),
            member: member.into_string(),
        });
        let (manager, stream) = (Arc::clone(&self.manager), Arc::clone(&stream.stream));
        let sequence = manager.begin_save();
        let wants_handle =
            request.details.as_ref().is_some_and(|details| details.offload.is_some());
        let reports_redaction = self.reports_redaction;
        run(&self.queue, operation, async move {
            let saved = manager.store_streamed(sequence, request, &stream, envelope).await?;
            Ok(answer_of_save(saved, wants_handle, reports_redaction))
        })?;
        Ok(())
    }
}
