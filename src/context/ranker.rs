//! What a ranking is told and asked beside its documents.

use rustc_hash::FxHashSet;

use super::pointer::Pointer;
use crate::{
    json,
    retrieval::{Document, Index, Query},
};

/// What a term of the query contributed to a score.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MatchedTerm {
    pub term: String,
    /// `name`, `description`, `arguments`, `result`.
    pub fields: Vec<&'static str>,
    /// Of the score that the text alone gives.
    pub share: f32,
}

/// Which terms of the query counted, most first.
pub(super) fn explain(
    index: &Index,
    query: &str,
    sequence: u64,
    pointer: &Pointer,
) -> Vec<MatchedTerm> {
    let mut terms = Vec::new();
    let mut seen = FxHashSet::default();
    for word in query.split(|character: char| !character.is_alphanumeric() && character != '_') {
        let word = word.to_lowercase();
        let parsed = Query::parse(&word);
        if parsed.is_empty() || !seen.insert(word.clone()) {
            continue;
        }
        let ranked = index.rank(&parsed, &|other| other == sequence, &[]).hits;
        if let Some(hit) = ranked.first() {
            let fields = fields(&parsed, pointer);
            terms.push(MatchedTerm { term: word, fields, share: hit.score });
        }
    }
    let sum: f32 = terms.iter().map(|term| term.share).sum();
    terms.iter_mut().for_each(|term| term.share /= sum);
    terms.sort_by(|one, other| other.share.total_cmp(&one.share));
    terms
}

fn fields(query: &Query, pointer: &Pointer) -> Vec<&'static str> {
    let [mut name, mut description, mut arguments] = [const { String::new() }; 3];
    json::append_text(pointer.tool_name().as_bytes(), &mut name, usize::MAX);
    json::append_text(pointer.description().as_bytes(), &mut description, usize::MAX);
    json::append_text(pointer.arguments().as_bytes(), &mut arguments, usize::MAX);
    let documents = [
        ("name", Document { name: &name, ..Document::default() }),
        ("description", Document { description: &description, ..Document::default() }),
        ("arguments", Document { arguments: &arguments, ..Document::default() }),
    ];
    let mut found = Vec::new();
    for (field, document) in documents {
        if !Index::new().rank(query, &|_| false, &[document]).hits.is_empty() {
            found.push(field);
        }
    }
    if found.is_empty() {
        found.push("result");
    }
    found
}
