//! Copies values from JavaScript: the output of `encode` in `lib/native/snapshot.ts`.

use std::{ptr, slice};

use json_text::Encoded;
use napi::{Env, Error, JsValue, Result, Status, bindgen_prelude::*, check_status, sys};

/// Copies an encoded value; all other work is done on a worker thread.
pub fn read(
    env: &Env,
    kind: u32,
    text: &Unknown<'_>,
    operations: &Unknown<'_>,
    length: u32,
    chunks: &Unknown<'_>,
) -> Result<Encoded> {
    let mut units = Vec::new();
    match kind {
        0 => {
            read_units(env, text.raw(), &mut units)?;
            Ok(Encoded::Text(units))
        }
        1 => {
            read_units(env, text.raw(), &mut units)?;
            Ok(Encoded::String(units))
        }
        2 => {
            let operations = read_operations(env, operations, length as usize)?;
            read_chunks(env, chunks.raw(), &mut units)?;
            read_units(env, text.raw(), &mut units)?;
            Ok(Encoded::Flat { operations, units })
        }
        _ => Err(Error::new(Status::InvalidArg, "an unknown kind of value")),
    }
}

/// JSON text from JavaScript.
pub fn read_text(env: &Env, text: &Unknown<'_>) -> Result<Encoded> {
    let mut units = Vec::new();
    read_units(env, text.raw(), &mut units)?;
    Ok(Encoded::Text(units))
}

/// The UTF-16 units of the strings in an array and of a last string.
pub fn read_texts(env: &Env, chunks: &Unknown<'_>, last: &Unknown<'_>) -> Result<Vec<u16>> {
    let mut units = Vec::new();
    read_chunks(env, chunks.raw(), &mut units)?;
    read_units(env, last.raw(), &mut units)?;
    Ok(units)
}

/// The UTF-16 units of a string.
pub fn read_string(env: &Env, text: &Unknown<'_>) -> Result<Vec<u16>> {
    let mut units = Vec::new();
    read_units(env, text.raw(), &mut units)?;
    Ok(units)
}

/// Appends the UTF-16 units of a string: a plain copy on every engine.
fn read_units(env: &Env, value: sys::napi_value, out: &mut Vec<u16>) -> Result<()> {
    let (env, mut length) = (env.raw(), 0);
    // SAFETY: a null buffer asks for the length, which every engine has cached.
    check_status!(unsafe {
        sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &raw mut length)
    })?;
    out.reserve(length + 1);
    let mut written = 0;
    // SAFETY: `length` units and the terminating zero fit behind the current end; the engine writes
    // no more than that and says how many came before the zero.
    unsafe {
        let end = out.as_mut_ptr().add(out.len());
        check_status!(sys::napi_get_value_string_utf16(
            env,
            value,
            end,
            length + 1,
            &raw mut written
        ))?;
        out.set_len(out.len() + written);
    }
    Ok(())
}

fn read_chunks(env: &Env, chunks: sys::napi_value, out: &mut Vec<u16>) -> Result<()> {
    let mut count = 0;
    // SAFETY: env and the value belong to the running call.
    check_status!(unsafe { sys::napi_get_array_length(env.raw(), chunks, &raw mut count) })?;
    for index in 0..count {
        let mut chunk = ptr::null_mut();
        // SAFETY: as above; the index is below the array's length.
        check_status!(unsafe { sys::napi_get_element(env.raw(), chunks, index, &raw mut chunk) })?;
        read_units(env, chunk, out)?;
    }
    Ok(())
}

/// The JSON of a long text in pieces, none of which ends within a surrogate pair.
pub fn read_pieces(env: &Env, pieces: &Unknown<'_>) -> Result<Vec<u8>> {
    let (mut count, mut units, mut json) = (0, Vec::new(), vec![b'"']);
    // SAFETY: env and the value belong to the running call.
    check_status!(unsafe { sys::napi_get_array_length(env.raw(), pieces.raw(), &raw mut count) })?;
    for index in 0..count {
        let mut piece = ptr::null_mut();
        // SAFETY: as above; the index is below the array's length.
        check_status!(unsafe {
            sys::napi_get_element(env.raw(), pieces.raw(), index, &raw mut piece)
        })?;
        units.clear();
        read_units(env, piece, &mut units)?;
        if index == 0 {
            json.reserve(units.len() * count as usize + 2);
        }
        json_text::write_string_part(&units, &mut json);
    }
    json.push(b'"');
    Ok(json)
}

/// The first `length` integers of an Int32Array.
pub fn read_operations(env: &Env, value: &Unknown<'_>, length: usize) -> Result<Vec<i32>> {
    let (mut kind, mut available, mut data) = (0, 0, ptr::null_mut());
    // SAFETY: all out pointers are valid, or null where nothing is asked.
    check_status!(unsafe {
        sys::napi_get_typedarray_info(
            env.raw(),
            value.raw(),
            &raw mut kind,
            &raw mut available,
            &raw mut data,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    })?;
    if kind != sys::TypedarrayType::int32_array || length > available {
        return Err(Error::new(Status::InvalidArg, "an Int32Array is expected"));
    }
    if length == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the engine vouches for `available` aligned integers; no JavaScript runs meanwhile.
    Ok(unsafe { slice::from_raw_parts(data.cast::<i32>(), length) }.to_vec())
}

/// The bytes of a `Uint8Array`.
pub fn read_bytes(env: &Env, value: &Unknown<'_>) -> Result<Vec<u8>> {
    let (mut kind, mut length, mut data) = (0, 0, ptr::null_mut());
    // SAFETY: all out pointers are valid, or null where nothing is asked.
    check_status!(unsafe {
        sys::napi_get_typedarray_info(
            env.raw(),
            value.raw(),
            &raw mut kind,
            &raw mut length,
            &raw mut data,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    })?;
    if kind != sys::TypedarrayType::uint8_array {
        return Err(Error::new(Status::InvalidArg, "a Uint8Array is expected"));
    }
    if length == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the engine vouches for `length` bytes; no JavaScript runs meanwhile.
    Ok(unsafe { slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec())
}

/// The number of UTF-16 units of a string.
pub fn length(env: &Env, text: &Unknown<'_>) -> Result<usize> {
    let mut length = 0;
    // SAFETY: a null buffer asks for the length, which every engine has cached.
    check_status!(unsafe {
        sys::napi_get_value_string_utf16(env.raw(), text.raw(), ptr::null_mut(), 0, &raw mut length)
    })?;
    Ok(length)
}
