//! The metadata of an indexed document: sequence, time, group, stop words and field lengths.

use crate::analysis::stop_words::StopWords;
use crate::index::fields::Lengths;

/// The metadata of a document: everything except its terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) sequence: u64,
    pub(crate) timestamp: i64,
    pub(crate) group: u64,
    pub(crate) stop_words: StopWords,
    pub(crate) lengths: Lengths,
}
