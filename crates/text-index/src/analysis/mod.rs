//! Turns text into index terms: characters and folding, words and their stems, dates, synonyms.

pub(crate) mod characters;
pub(crate) mod dates;
pub(crate) mod short_bytes;
pub(crate) mod stop_words;
pub(crate) mod thesaurus;
pub(crate) mod tokens;
pub(crate) mod words;
