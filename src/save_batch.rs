//! Many small saves in one call: `lib/manager/save-batch.ts` puts them together, a worker takes them apart.

#![allow(clippy::too_many_arguments, reason = "one call has what many saves need")]

use std::{ops::Range, sync::Arc};

use agent_context_core::{
    Error,
    context::{Details, Manager, SaveRequest},
};
use json_text::Encoded;
use napi::{
    Env, Result, Status,
    bindgen_prelude::{Float64ArraySlice, Unknown},
};
use napi_derive::napi;
use redaction::Redaction;

use super::{
    context_manager::{NativeManager, answer_of_save},
    numbers::{size, time},
    outbox::PendingOutcomes,
    runtime::{Answer, complete, runtime},
    save_details::read_plain_details,
    value,
};

/// Numbers per save.
const FIELDS: usize = 12;

/// The numbers of a save. Lengths of texts count UTF-16 units; -1 is an absent text.
struct Head {
    operation: u32,
    timestamp: i64,
    tool_name: Option<usize>,
    query: Option<usize>,
    task: Option<usize>,
    details: Option<usize>,
    arguments: ValueHead,
    result: ValueHead,
}

/// The numbers of a value.
struct ValueHead {
    kind: usize,
    operations: usize,
    text: usize,
}

impl Head {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an operation has 31 bits"
    )]
    fn read(numbers: &[f64; FIELDS]) -> Self {
        let [operation, timestamp, tool_name, query, task, details, values @ ..] = *numbers;
        let [a_kind, a_operations, a_text, r_kind, r_operations, r_text] = values;
        let text = |length: f64| (length >= 0.0).then(|| size(length));
        let value = |kind, operations, text| ValueHead {
            kind: size(kind),
            operations: size(operations),
            text: size(text),
        };
        Self {
            operation: operation as u32,
            timestamp: time(timestamp),
            tool_name: text(tool_name),
            query: text(query),
            task: text(task),
            details: text(details),
            arguments: value(a_kind, a_operations, a_text),
            result: value(r_kind, r_operations, r_text),
        }
    }
}

/// What is left of the operations and texts of a batch.
struct Rest<'a> {
    operations: &'a [i32],
    units: &'a [u16],
}

impl<'a> Rest<'a> {
    fn units(&mut self, length: usize) -> Option<&'a [u16]> {
        let (taken, rest) = self.units.split_at_checked(length)?;
        self.units = rest;
        Some(taken)
    }

    fn text(&mut self, length: Option<usize>) -> Option<Option<String>> {
        let Some(length) = length else { return Some(None) };
        self.units(length).map(|units| Some(String::from_utf16_lossy(units)))
    }

    fn value(&mut self, head: &ValueHead) -> Option<Encoded> {
        let (operations, rest) = self.operations.split_at_checked(head.operations)?;
        self.operations = rest;
        let units = self.units(head.text)?.to_vec();
        match head.kind {
            0 => Some(Encoded::Text(units)),
            1 => Some(Encoded::String(units)),
            2 => Some(Encoded::Flat { operations: operations.to_vec(), units }),
            _ => None,
        }
    }

    /// The next save; `None` if the batch does not describe it, which only a bug on the JavaScript side can cause.
    fn save(&mut self, head: &Head, redaction: Option<&Redaction>) -> Option<SaveRequest> {
        let tool_name = self.text(head.tool_name)??;
        let query = self.text(head.query)?;
        let task = self.text(head.task)?;
        let details: Option<Details> = match self.text(head.details)? {
            Some(text) => Some(read_plain_details(&text).ok()?),
            None => None,
        };
        Some(SaveRequest {
            tool_name,
            arguments: self.value(&head.arguments)?,
            result: self.value(&head.result)?,
            timestamp: head.timestamp,
            task,
            query: query.map(|query| json_text::string_token(&query)),
            details: details.map(Box::new),
            redaction: redaction.cloned(),
        })
    }
}

/// Copied saves. The JavaScript thread only copies and numbers them.
struct Batch {
    manager: Arc<Manager>,
    reports_redaction: bool,
    redaction: Option<Redaction>,
    heads: Vec<f64>,
    /// The numbers of the saves in the order of calls.
    sequences: Range<u64>,
    outcomes: PendingOutcomes,
    operations: Vec<i32>,
    units: Vec<u16>,
}

impl Batch {
    /// Runs the saves: the first one as a part of this task, because scheduling it would wake a further thread.
    async fn run(self) {
        let mut rest = Rest { operations: &self.operations, units: &self.units };
        let mut first = None;
        let (heads, _) = self.heads.as_chunks::<FIELDS>();
        for ((head, sequence), pending) in heads.iter().zip(self.sequences).zip(self.outcomes) {
            let head = Head::read(head);
            let request = rest.save(&head, self.redaction.as_ref());
            let save = store(Arc::clone(&self.manager), sequence, request, self.reports_redaction);
            let save = complete(pending.queue(), pending, head.operation, save);
            if first.is_none() {
                first = Some(save);
            } else {
                tokio::spawn(save);
            }
        }
        if let Some(save) = first {
            save.await;
        }
    }
}

async fn store(
    manager: Arc<Manager>,
    sequence: u64,
    request: Option<SaveRequest>,
    reports_redaction: bool,
) -> std::result::Result<Answer, Error> {
    let Some(request) = request else {
        manager.abandon_save(sequence);
        return Err(Error::internal("a save could not be read"));
    };
    let wants_handle = request.details.as_ref().is_some_and(|details| details.offload.is_some());
    let saved = manager.store(sequence, request).await?;
    Ok(answer_of_save(saved, wants_handle, reports_redaction))
}

fn too_few_heads() -> napi::Error {
    napi::Error::new(Status::InvalidArg, "a save has no numbers")
}

#[napi]
impl NativeManager {
    /// Saves `count` tool outputs without binary data, as `save` does. `heads` has the numbers of each; the first `length`
    /// of `operations` and the texts, in `chunks` and then `text`, have their values one behind the other.
    #[napi]
    pub fn save_all(
        &self,
        env: &Env,
        count: u32,
        heads: Float64ArraySlice<'_>,
        #[napi(ts_arg_type = "Int32Array")] operations: Unknown<'_>,
        length: u32,
        #[napi(ts_arg_type = "string")] text: Unknown<'_>,
        #[napi(ts_arg_type = "readonly string[]")] chunks: Unknown<'_>,
    ) -> Result<()> {
        let heads = heads.get(..count as usize * FIELDS).ok_or_else(too_few_heads)?.to_vec();
        let operations = value::read_operations(env, &operations, length as usize)?;
        let units = value::read_texts(env, &chunks, &text)?;
        let runtime = runtime()?;
        let batch = Batch {
            manager: Arc::clone(&self.manager),
            reports_redaction: self.reports_redaction,
            redaction: self.redaction(),
            heads,
            sequences: self.manager.begin_saves(u64::from(count)),
            outcomes: self.queue.begin_all(count as usize),
            operations,
            units,
        };
        runtime.spawn(batch.run());
        Ok(())
    }
}
