//! Documents whose terms the caller keeps, so that they can be ranked together without an index.

use std::sync::Arc;

use crate::index::fields::Document;
use crate::index::inverted_index::Index;
use crate::index::tail::TailDocument;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::scoring::ranked::{Hit, RankedList};
use crate::scoring::search::search;

/// The terms of a document, without its text. It can be ranked in many collections; clones share the terms.
#[derive(Clone, Debug)]
pub struct Analysed(Arc<TailDocument>);

impl Analysed {
    /// Analyses a document.
    #[must_use]
    pub fn new(sequence: u64, document: &Document<'_>) -> Self {
        Self(Arc::new(TailDocument::new(sequence, document)))
    }

    /// The approximate memory use in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<TailDocument>() + self.0.terms.bytes()
    }
}

impl Index {
    /// Ranks documents as a collection of their own. Their sequences must differ. Returns the best of those that share
    /// a term with the query, as [`Index::search`] does. The scores depend on these documents only.
    #[must_use]
    pub fn rank_analysed(
        query: &Query,
        documents: Vec<Analysed>,
        limit: Option<usize>,
    ) -> RankedList<Hit> {
        search(&View::of(documents.into_iter().map(|document| document.0)), query, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Which;

    const TEXTS: [&str; 5] = [
        "green tea and black tea",
        "bread with butter, and tea",
        "an electric car",
        "who is who",
        "tea",
    ];

    fn documents() -> Vec<Document<'static>> {
        let document = |(timestamp, result): (usize, &&'static str)| Document {
            name: "read_note",
            result,
            timestamp: timestamp as i64,
            ..Document::default()
        };
        TEXTS.iter().enumerate().map(document).collect()
    }

    #[test]
    fn analysed_documents_rank_as_their_texts_do() {
        let documents = documents();
        let analysed: Vec<Analysed> = (0..)
            .zip(&documents)
            .map(|(sequence, document)| Analysed::new(sequence, document))
            .collect();
        for text in ["tea", "black tea", "who", "electricity", "notes", "teas with bread", "absent"]
        {
            let query = Query::parse(text);
            let ranked = Index::new().rank(&query, &|_| false, &documents);
            let expected: Vec<(u64, f32)> = ranked
                .hits
                .iter()
                .map(|hit| match hit.which {
                    Which::Foreign(position) => (position as u64, hit.score),
                    Which::Known(sequence) => panic!("{sequence} is in no index"),
                })
                .collect();
            let found = |limit| -> Vec<(u64, f32)> {
                let hits = Index::rank_analysed(&query, analysed.clone(), limit).hits;
                hits.iter().map(|hit| (hit.sequence, hit.score)).collect()
            };
            assert_eq!(found(None), expected, "{text}");
            assert_eq!(found(Some(1)), expected.get(..1).unwrap_or_default(), "{text}");
        }
    }
}
