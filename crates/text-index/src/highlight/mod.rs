//! Selects the passages of a text that show why the text was found.

pub(crate) mod snippets;
pub(crate) mod windows;
