//! A document beside its terms.

use crate::analysis::stop_words::StopWords;
use crate::index::fields::Lengths;

/// What is kept of a document beside its terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) sequence: u64,
    pub(crate) timestamp: i64,
    pub(crate) group: u64,
    pub(crate) stop_words: StopWords,
    pub(crate) lengths: Lengths,
}
