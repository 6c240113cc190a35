//! Converts strings between JavaScript and Rust, in one pass each.

use std::ptr;

use agent_context_core::state::LongText;
use napi::{Error, Result, Status, bindgen_prelude::*, check_status, sys};
use storage::Payload;

/// A JavaScript string as UTF-8 (lone surrogates become U+FFFD).
pub struct Utf8(pub Vec<u8>);

impl Utf8 {
    /// As a `String`; the engine gives valid UTF-8.
    pub fn into_string(self) -> String {
        String::from_utf8(self.0)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl Utf8 {
    /// As a JSON string literal.
    pub fn into_token(self) -> String {
        json_text::string_token(&self.into_string())
    }
}

impl TypeName for Utf8 {
    fn type_name() -> &'static str {
        "String"
    }
    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for Utf8 {}

impl FromNapiValue for Utf8 {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut units = 0;
        // SAFETY: env and value come from the running call; a null buffer asks for the length,
        // which engines know without looking at the text.
        let status = unsafe {
            sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &raw mut units)
        };
        if status != sys::Status::napi_ok {
            return Err(Error::new(Status::StringExpected, "a string is expected"));
        }
        // Three bytes hold any UTF-16 unit: one pass instead of measuring first.
        let capacity = units * 3 + 1;
        let mut bytes: Vec<u8> = Vec::with_capacity(capacity);
        let mut written = 0;
        // SAFETY: the buffer has `capacity` bytes; the call writes at most that many, the
        // terminating zero included, and says how many came before it.
        let status = unsafe {
            sys::napi_get_value_string_utf8(
                env,
                value,
                bytes.as_mut_ptr().cast(),
                capacity,
                &raw mut written,
            )
        };
        if status != sys::Status::napi_ok {
            return Err(Error::new(Status::GenericFailure, "the string could not be read"));
        }
        // SAFETY: `written` bytes were initialised above, and fit the capacity.
        unsafe { bytes.set_len(written) };
        Ok(Self(bytes))
    }
}

/// A stored text for JavaScript.
pub struct JsText(pub Payload);

impl TypeName for JsText {
    fn type_name() -> &'static str {
        "String"
    }
    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for JsText {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> Result<sys::napi_value> {
        // SAFETY: env comes from the running call.
        unsafe { string_value(env, &text.0) }
    }
}

/// A copy of a text as a JavaScript string.
///
/// # Safety
/// `env` is that of the running call.
unsafe fn string_value(env: sys::napi_env, text: &[u8]) -> Result<sys::napi_value> {
    let mut value = ptr::null_mut();
    let too_long = |_| Error::new(Status::InvalidArg, "the text is too long");
    let status = if text.is_ascii() {
        let length = isize::try_from(text.len()).map_err(too_long)?;
        // SAFETY: data and length describe the text, which outlives the call; the engine copies.
        unsafe { sys::napi_create_string_latin1(env, text.as_ptr().cast(), length, &raw mut value) }
    } else {
        // Engines take ten times as long to decode UTF-8 as to copy UTF-16.
        let units: Vec<u16> = String::from_utf8_lossy(text).encode_utf16().collect();
        let length = isize::try_from(units.len()).map_err(too_long)?;
        // SAFETY: as above, for the units.
        unsafe { sys::napi_create_string_utf16(env, units.as_ptr(), length, &raw mut value) }
    };
    if status != sys::Status::napi_ok {
        return Err(Error::new(Status::GenericFailure, "the text is too long for a string"));
    }
    Ok(value)
}

/// A part of an answer for JavaScript.
pub enum Part {
    /// A string.
    Text(Payload),
    /// A `Uint8Array`.
    Bytes(Vec<u8>),
    /// An array of strings. Each piece is freed before the next one is copied.
    Pieces(LongText),
}

impl TypeName for Part {
    fn type_name() -> &'static str {
        "String"
    }
    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for Part {
    unsafe fn to_napi_value(env: sys::napi_env, part: Self) -> Result<sys::napi_value> {
        match part {
            // SAFETY: env comes from the running call.
            Self::Text(text) => unsafe { JsText::to_napi_value(env, JsText(text)) },
            // SAFETY: as above. The engine takes the bytes over, where it can without a copy.
            Self::Bytes(bytes) => unsafe { Uint8Array::to_napi_value(env, bytes.into()) },
            Self::Pieces(text) => {
                let mut array = ptr::null_mut();
                // SAFETY: as above.
                check_status!(unsafe { sys::napi_create_array(env, &raw mut array) })?;
                for (index, piece) in (0..).zip(text) {
                    // SAFETY: as above; the array is the one that was just made.
                    unsafe {
                        let piece = string_value(env, &piece)?;
                        check_status!(sys::napi_set_element(env, array, index, piece))?;
                    }
                }
                Ok(array)
            }
        }
    }
}
