//! The passages of a text that show why it was found.

pub(crate) mod snippets;
pub(crate) mod windows;
