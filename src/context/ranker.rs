//! What a ranking is told and asked beside its documents.

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::pointer::Pointer;
use crate::{
    json,
    retrieval::{Document, Index, Query},
};

/// What a term of the query contributed to a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MatchedTerm {
    pub term: String,
    /// `name`, `description`, `arguments`, `result`.
    pub fields: Vec<&'static str>,
    /// Of the score that the text alone gives.
    pub share: f32,
}

/// Tells which terms of a question counted.
pub(super) struct Explainer {
    words: Vec<(String, Query)>,
}

impl Explainer {
    pub fn new(question: &str) -> Self {
        let mut seen = FxHashSet::default();
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let words = question.split(|character| !is_word(character)).map(str::to_lowercase);
        let words = words.filter(|word| seen.insert(word.clone())).map(|word| {
            let query = Query::parse(&word);
            (word, query)
        });
        Self { words: words.filter(|(_, query)| !query.is_empty()).collect() }
    }

    /// What counted for a context, most first.
    pub fn explain(&self, index: &Index, sequence: u64, pointer: &Pointer) -> Vec<MatchedTerm> {
        let found = self.words.iter().filter_map(|(word, query)| {
            let ranked = index.rank(query, &|other| other == sequence, &[]).hits;
            let share = ranked.first()?.score;
            Some(MatchedTerm { term: word.clone(), fields: fields(query, pointer), share })
        });
        let mut terms: Vec<MatchedTerm> = found.collect();
        let sum: f32 = terms.iter().map(|term| term.share).sum();
        terms.iter_mut().for_each(|term| term.share /= sum);
        terms.sort_by(|one, other| other.share.total_cmp(&one.share));
        terms
    }
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
