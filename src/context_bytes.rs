//! Transfers binary data: to Rust with a save, and to JavaScript from a stored context.

use std::{ptr, sync::Arc};

use agent_context_core::context::{GivenBytes, GivenPart};
use napi::{Env, JsValue, Result, bindgen_prelude::Unknown, check_status, sys};
use napi_derive::napi;
use serde::Deserialize;

use super::{
    context_manager::NativeManager,
    runtime::{Answer, run},
    text::{Part, Utf8},
    value::read_bytes,
};

/// The description of a save's binary data, in its details.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeBytes {
    /// The beginning of the text that replaces each part.
    marker: String,
    media_types: Vec<Option<String>>,
}

/// Copies the binary data of a save: `contents` is an array of `Uint8Array`.
pub(super) fn read_given(
    env: &Env,
    said: NativeBytes,
    contents: &Unknown<'_>,
) -> Result<GivenBytes> {
    let mut count = 0;
    // SAFETY: env and the value belong to the running call.
    check_status!(unsafe {
        sys::napi_get_array_length(env.raw(), contents.raw(), &raw mut count)
    })?;
    let mut media_types = said.media_types.into_iter();
    let mut parts = Vec::with_capacity(count as usize);
    for index in 0..count {
        let mut element = ptr::null_mut();
        // SAFETY: as above; the index is below the array's length.
        check_status!(unsafe {
            sys::napi_get_element(env.raw(), contents.raw(), index, &raw mut element)
        })?;
        // SAFETY: the element is a value of the running call.
        let element = unsafe { Unknown::from_raw_unchecked(env.raw(), element) };
        let contents = read_bytes(env, &element)?;
        parts.push(GivenPart { contents, media_type: media_types.next().flatten() });
    }
    Ok(GivenBytes { marker: said.marker, parts })
}

#[napi]
impl NativeManager {
    /// Reads the binary data of a context's result; answers with a `Uint8Array` for each part that its record
    /// lists.
    #[napi]
    pub fn bytes(&self, operation: u32, #[napi(ts_arg_type = "string")] path: Utf8) -> Result<()> {
        let (manager, path) = (Arc::clone(&self.manager), path.into_string());
        run(&self.queue, operation, async move {
            let parts = manager.bytes(&path).await?;
            Ok(Answer::Parts(parts.into_iter().map(Part::Bytes).collect()))
        })?;
        Ok(())
    }
}
