//! Documents whose terms the caller keeps, so that they can be ranked together without an index.

use std::sync::Arc;

use crate::index::facts::is_fact;
use crate::index::fields::{Document, Lengths};
use crate::index::inverted_index::Index;
use crate::index::tail::TailDocument;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::scoring::collection::Collection;
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

    /// A view of documents.
    pub(crate) fn view(documents: impl Iterator<Item = Self>) -> View {
        View::of(documents.map(|document| document.0))
    }

    /// The distinct terms, for an index elsewhere.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.0.terms.iter().map(|(_, term, _)| term).filter(|term| !is_fact(term))
    }

    /// The number of terms in each field.
    #[must_use]
    pub fn lengths(&self) -> &Lengths {
        &self.0.terms.lengths
    }
}

impl Index {
    /// Ranks documents as a collection of their own. Their sequences must differ. Returns the best of those that share
    /// a term with the query, as [`Index::search`] does. The scores depend on these documents only, or on the statistics
    /// of the collection of which they are a part.
    #[must_use]
    pub fn rank_analysed(
        query: &Query,
        documents: Vec<Analysed>,
        collection: Option<Arc<Collection>>,
        limit: Option<usize>,
    ) -> RankedList<Hit> {
        search(&Analysed::view(documents.into_iter()).within(collection), query, limit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{WantedTerm, Which};

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
                let hits = Index::rank_analysed(&query, analysed.clone(), None, limit).hits;
                hits.iter().map(|hit| (hit.sequence, hit.score)).collect()
            };
            assert_eq!(found(None), expected, "{text}");
            assert_eq!(found(Some(1)), expected.get(..1).unwrap_or_default(), "{text}");
        }
    }

    /// The statistics of documents, as they are counted elsewhere.
    fn collection_of(documents: &[Analysed]) -> Collection {
        let field = |number: usize| {
            let lengths = documents.iter().map(|document| u64::from(document.lengths()[number]));
            (lengths.clone().sum(), lengths.filter(|length| *length > 0).count() as u64)
        };
        let mut collection =
            Collection::new(documents.len() as u64, (0..documents[0].lengths().len()).map(field));
        for term in documents.iter().flat_map(Analysed::terms) {
            let containing = documents.iter().filter(|other| other.terms().any(|own| own == term));
            collection.set_containing(term, containing.count() as u64);
        }
        collection
    }

    proptest! {
        #[test]
        fn the_statistics_of_the_ranked_documents_change_nothing_and_hold_for_some_of_them(
            texts in prop::collection::vec(
                prop::collection::vec(prop::sample::select(&["tea", "teapot", "bread", "car", "who", "loginForm", "butter"][..]), 0..12),
                1..12,
            ),
            query in prop::collection::vec(prop::sample::select(&["tea", "bred", "car", "form", "vehicle", "butter"][..]), 1..4),
            picked in any::<u16>(),
        ) {
            let analysed: Vec<Analysed> = (0..)
                .zip(&texts)
                .map(|(sequence, words)| {
                    let (name, result) = words.split_at(words.len() / 4);
                    let (name, result) = (name.join(" "), result.join(" "));
                    Analysed::new(sequence, &Document { name: &name, result: &result, ..Document::default() })
                })
                .collect();
            let query = Query::parse(&query.join(" "));
            let collection = Arc::new(collection_of(&analysed));
            let ranked = |documents: &[Analysed], collection: Option<&Arc<Collection>>| -> Vec<(u64, f32)> {
                let hits = Index::rank_analysed(&query, documents.to_vec(), collection.map(Arc::clone), None).hits;
                hits.iter().map(|hit| (hit.sequence, hit.score)).collect()
            };
            let counted = Collection::of_documents(&analysed, &query);
            let is_same = |term: &WantedTerm| counted.containing(&term.text) == collection.containing(&term.text);
            prop_assert!(query.wanted().iter().all(is_same));
            let all = ranked(&analysed, None);
            prop_assert_eq!(&ranked(&analysed, Some(&collection)), &all);
            // Candidates contain all terms by which documents are found.
            let wanted = query.wanted();
            let is_replaced = wanted.iter().any(|term| !analysed.iter().any(|one| one.terms().any(|own| *own == *term.text)));
            let is_picked = |sequence: u64| picked >> (sequence % 16) & 1 == 1;
            let some: Vec<Analysed> = (0..).zip(&analysed).filter(|(sequence, _)| is_picked(*sequence)).map(|(_, one)| one.clone()).collect();
            if !is_replaced {
                let expected: Vec<(u64, f32)> = all.into_iter().filter(|(sequence, _)| is_picked(*sequence)).collect();
                prop_assert_eq!(ranked(&some, Some(&collection)), expected);
            }
        }
    }

    #[test]
    fn facts_are_no_terms() {
        let arguments = format!("{}Caroline", Document::BEFORE_STRING);
        let document = Document { arguments: &arguments, result: "error", ..Document::default() };
        let analysed = Analysed::new(1, &document);
        let mut terms: Vec<&str> = analysed.terms().collect();
        terms.sort_unstable();
        assert_eq!(terms, ["carolin", "error"]);
    }
}
