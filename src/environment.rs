//! Whether the process's environment has changed.

use napi_derive::napi;

/// A number that changes when a variable of the process's environment does; `null` where this is not known.
/// Called on the main thread, which is the only one that changes variables.
#[napi]
pub fn environment_version() -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        linux::version()
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        ffi::{CStr, c_char},
        sync::{Mutex, PoisonError},
    };

    unsafe extern "C" {
        static environ: *const *const c_char;
    }

    /// The variables as they were last, each ended by a NUL character.
    struct Seen {
        version: u32,
        variables: Vec<u8>,
        /// Reused.
        read: Vec<u8>,
    }

    static SEEN: Mutex<Seen> =
        Mutex::new(Seen { version: 0, variables: Vec::new(), read: Vec::new() });

    pub fn version() -> Option<u32> {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { version, variables, read } = &mut *seen;
        read.clear();
        // SAFETY: the array and its texts end with null, and change only while this thread calls `setenv`.
        unsafe {
            let mut next = environ;
            while !next.is_null() && !(*next).is_null() {
                read.extend_from_slice(CStr::from_ptr(*next).to_bytes_with_nul());
                next = next.add(1);
            }
        }
        if read != variables {
            std::mem::swap(read, variables);
            *version = version.wrapping_add(1);
        }
        Some(*version)
    }
}
