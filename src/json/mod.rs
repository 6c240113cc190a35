//! JSON as text: values from JavaScript become text once, and stay the text they are.

mod canonical;
mod encoded;
mod escape;
mod in_place;
mod sample;
mod scan;
mod snapshot;
mod text;

pub use canonical::canonical;
pub use encoded::Encoded;
pub use escape::{escape_string, string_token};
pub use in_place::{FILLER, unescaped_in_place};
pub use sample::append_sample;
pub use scan::{
    Members, ScanError, Token, skip_value, skip_whitespace, validate_document, walk_value,
};
pub use snapshot::MalformedSnapshot;
pub use text::{append_text, cut_arguments, decode_string, decode_utf16};
