//! Redacts a document that arrives in pieces.

use std::sync::{Arc, Mutex, PoisonError};

use agent_context_core::{Error, run_long};
use napi::{
    Env, Result,
    bindgen_prelude::{ClassInstance, Unknown},
};
use napi_derive::napi;
use redaction::ByteStream;
use storage::Payload;

use super::{
    outbox::{Outbox, Queue},
    redaction::{NativeRedactor, findings},
    runtime::{Answer, run},
    text::Part,
    value,
};

/// The maximum number of bytes of a document that wait to be redacted.
const MOST_WAITING: usize = 4 * 1024 * 1024;

/// Redacts a document that arrives in pieces. The caller starts each operation after the preceding one has completed, and makes no
/// further call after an error.
#[napi]
pub struct NativeRedactionStream {
    stream: Arc<Mutex<Option<ByteStream>>>,
    queue: Arc<Queue>,
}

#[napi]
impl NativeRedactionStream {
    #[napi(constructor)]
    pub fn new(outbox: &Outbox, redactor: ClassInstance<'_, NativeRedactor>) -> Self {
        let stream = ByteStream::new(Some(redactor.source().current()));
        Self { stream: Arc::new(Mutex::new(Some(stream))), queue: outbox.queue() }
    }

    /// Adds bytes. Answers with the newly redacted part of the document.
    #[napi]
    pub fn push(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "Uint8Array")] bytes: Unknown<'_>,
    ) -> Result<()> {
        let piece = value::read_bytes(env, &bytes)?;
        let stream = Arc::clone(&self.stream);
        run(&self.queue, operation, async move {
            // A short piece can complete a part of the document, which is redacted then.
            let out = run_long(MOST_WAITING, move || {
                let mut out = Vec::new();
                let mut open = taken(&stream)?;
                open.push(&piece, &mut out)?;
                *stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
                Ok(out)
            })
            .await?;
            Ok(Answer::Parts(vec![Part::Bytes(out)]))
        })?;
        Ok(())
    }

    /// Ends the document. Answers with the rest of it, and with the findings as JSON.
    #[napi]
    pub fn finish(&self, operation: u32) -> Result<()> {
        let stream = Arc::clone(&self.stream);
        run(&self.queue, operation, async move {
            let (out, report) = run_long(MOST_WAITING, move || {
                let mut out = Vec::new();
                let mut stream = taken(&stream)?;
                stream.finish(&mut out)?;
                Ok((out, stream.report()))
            })
            .await?;
            let found = Part::Text(Payload::new(findings(&report).into_bytes()));
            Ok(Answer::Parts(vec![Part::Bytes(out), found]))
        })?;
        Ok(())
    }
}

fn taken(stream: &Mutex<Option<ByteStream>>) -> agent_context_core::Result<ByteStream> {
    let taken = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
    taken.ok_or_else(|| Error::internal("the stream of redaction has ended"))
}
