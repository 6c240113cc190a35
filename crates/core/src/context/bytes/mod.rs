//! Binary data within results: it is stored in a file beside the record, and the result has a reference in its place.
//!
//! The record's member `bytes` says where in the result each part was, with its digest. Only this member is trusted: a
//! tool's result that looks like a reference is an ordinary result. The handle covers the member too, so it identifies
//! exactly the bytes that were saved.
//!
//! | module | contents |
//! |---|---|
//! | `taking` | finds binary data in a result and replaces it with markers, before redaction |
//! | `placing` | replaces the markers with references, after redaction |
//! | `part` | one part, as in the record's member |
//! | `file` | the format of the file |
//! | `reading` | verified reading of a context's parts, and slices of them |

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
