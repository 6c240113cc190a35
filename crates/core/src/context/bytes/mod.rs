//! Bytes that a result holds: they are in a file beside the record, and the result has a reference in their place.
//!
//! The record's member `bytes` says where they are in the result, and has their digests. It alone decides: a result of a tool
//! that looks like a reference is a result. A handle is of that member as well, so that only the bytes that were
//! saved are redeemed by it.
//!
//! | module | what it knows |
//! |---|---|
//! | `taking` | which texts of a result are bytes, before redaction |
//! | `placing` | the references, once the result is redacted |
//! | `part` | the record's member |
//! | `file` | the form of the file |
//! | `reading` | the parts of a stored context, verified, and slices of them |

mod file;
mod part;
mod placing;
mod reading;
mod taking;
#[cfg(test)]
mod tests;

pub(super) use file::{MAX_LINE, owner_of, write as write_file};
pub(super) use part::{Part, hex, parts_of, size_of, whole};
pub(super) use placing::{Placed, PlacedParts, member, streamed_part};
pub(super) use reading::{are_stored, asked, damaged, load, slice, verified};
pub use taking::{GivenBytes, GivenPart};
pub(super) use taking::{Taken, take};
