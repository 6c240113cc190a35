//! Passes pointers to JavaScript: rows as a JSON array, and their call numbers in an array of the caller.

use napi::bindgen_prelude::Float64ArraySlice;
use napi_derive::napi;
use storage::Payload;

use super::{
    context_manager::NativeManager,
    numbers::{number, whole},
    redaction::as_stored,
    text::{JsText, Utf8},
};

#[napi]
impl NativeManager {
    /// At most `sequences.length` pointers from call number `start` on: writes their numbers to `sequences`,
    /// and returns a JSON array.
    #[napi(ts_return_type = "string")]
    pub fn pointers_from(&self, start: f64, sequences: Float64ArraySlice<'_>) -> JsText {
        let limit = sequences.len();
        fill(self.manager.pointers_from(whole(start), limit), sequences)
    }

    /// The latest pointers, newest first, as `pointersFrom`; only those of one tool and those before a
    /// context, if given. `null` if that context does not exist.
    #[napi(ts_return_type = "string | null")]
    pub fn latest_pointers(
        &self,
        #[napi(ts_arg_type = "string | undefined")] tool_name: Option<Utf8>,
        #[napi(ts_arg_type = "string | undefined")] before: Option<Utf8>,
        sequences: Float64ArraySlice<'_>,
    ) -> Option<JsText> {
        let tool_name = tool_name.map(|name| as_stored(self.redaction.as_ref(), name.into_token()));
        let before = before.map(Utf8::into_string);
        let limit = sequences.len();
        let found = self.manager.latest_pointers(tool_name.as_deref(), before.as_deref(), limit)?;
        Some(fill(found, sequences))
    }

    /// The pointers of a query, as `pointersFrom`; `null` if `sequences` is too short.
    #[napi(ts_return_type = "string | null")]
    pub fn pointers_for_query(
        &self,
        #[napi(ts_arg_type = "string")] query: Utf8,
        sequences: Float64ArraySlice<'_>,
    ) -> Option<JsText> {
        let query = as_stored(self.redaction.as_ref(), query.into_token());
        fit(self.manager.pointers_for_query(&query), sequences)
    }

    /// The pointers of a task (as JSON), as `pointersForQuery`.
    #[napi(ts_return_type = "string | null")]
    pub fn pointers_for_task(
        &self,
        #[napi(ts_arg_type = "string")] task: Utf8,
        sequences: Float64ArraySlice<'_>,
    ) -> Option<JsText> {
        let task = as_stored(self.redaction.as_ref(), task.into_string());
        fit(self.manager.pointers_for_task(&task), sequences)
    }
}

fn fill((numbers, text): (Vec<u64>, String), mut sequences: Float64ArraySlice<'_>) -> JsText {
    // SAFETY: this is the only reference to the array's memory while the call lasts, and no
    // JavaScript runs meanwhile.
    let sequences = unsafe { sequences.as_mut() };
    for (slot, sequence) in sequences.iter_mut().zip(&numbers) {
        *slot = number(*sequence);
    }
    if let Some(slot) = sequences.get_mut(numbers.len()) {
        *slot = -1.0;
    }
    JsText(Payload::new(text.into_bytes()))
}

fn fit(pointers: (Vec<u64>, String), sequences: Float64ArraySlice<'_>) -> Option<JsText> {
    (pointers.0.len() <= sequences.len()).then(|| fill(pointers, sequences))
}
