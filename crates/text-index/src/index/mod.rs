//! The inverted index: documents with their fields and postings, segments and tails that store them, and the views that
//! queries read.

pub(crate) mod analysed;
pub(crate) mod announced;
pub(crate) mod batch;
pub(crate) mod bounds;
pub(crate) mod collector;
pub(crate) mod document_terms;
pub(crate) mod facts;
pub(crate) mod fields;
pub(crate) mod inverted_index;
pub(crate) mod maintenance;
pub(crate) mod merge;
pub(crate) mod postings;
pub(crate) mod row;
pub(crate) mod segment;
pub(crate) mod sequences;
pub(crate) mod sketch;
pub(crate) mod slots;
pub(crate) mod sorting;
pub(crate) mod start;
pub(crate) mod stored_segment;
pub(crate) mod tail;
pub(crate) mod view;
