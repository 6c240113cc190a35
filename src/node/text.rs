//! Strings across the border, in one pass each.

use std::ptr;

use napi::{Error, Result, Status, bindgen_prelude::*, sys};

use crate::file_system::Payload;

/// A JavaScript string as UTF-8 (lone surrogates become U+FFFD).
pub struct Utf8(pub Vec<u8>);

impl Utf8 {
    /// As a `String`; the engine gives valid UTF-8.
    pub fn into_string(self) -> String {
        String::from_utf8(self.0)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
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

/// A stored text on its way to JavaScript.
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
        let mut value = ptr::null_mut();
        let (data, length) = (text.0.as_ptr().cast(), isize::try_from(text.0.len()));
        let length = length.map_err(|_| Error::new(Status::InvalidArg, "the text is too long"))?;
        // ASCII is copied as it is; anything else is decoded by the engine.
        // SAFETY: data and length describe the payload, which outlives the call; the engine copies.
        let status = unsafe {
            if text.0.is_ascii() {
                sys::napi_create_string_latin1(env, data, length, &raw mut value)
            } else {
                sys::napi_create_string_utf8(env, data, length, &raw mut value)
            }
        };
        if status != sys::Status::napi_ok {
            return Err(Error::new(Status::GenericFailure, "the text is too long for a string"));
        }
        Ok(value)
    }
}
