//! The documents that a query sees: those of one index or of several, or documents that are in no index.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::index::announced::Announced;
use crate::index::document_terms::DocumentTerms;
use crate::index::maintenance::Snapshot;
use crate::index::segment::Segment;
use crate::index::tail::{Tail, TailDocument};
use crate::scoring::collection::Collection;

/// Maximum bytes of deferred text that a query reads to see announced documents completely. This bounds the time of a
/// query.
const LATE_BYTES: usize = 256 * 1024;

/// The documents that a query sees.
#[derive(Default)]
pub(crate) struct View {
    announced: Vec<Arc<Announced>>,
    /// The sequences of the announced documents. Where they occur in other parts, they are ignored.
    announced_sequences: FxHashSet<u64>,
    pub(crate) segments: Vec<Arc<Segment>>,
    tails: Vec<Arc<Tail>>,
    /// Documents that are in no index.
    analysed: Vec<Arc<TailDocument>>,
    /// The statistics of a collection of which these documents are a part.
    collection: Option<Arc<Collection>>,
}

impl View {
    /// A view of documents that are in no index.
    pub(crate) fn of(documents: impl Iterator<Item = Arc<TailDocument>>) -> Self {
        Self { analysed: documents.collect(), ..Self::default() }
    }

    /// The view with the statistics of a collection of which its documents are a part.
    pub(crate) fn within(self, collection: Option<Arc<Collection>>) -> Self {
        Self { collection, ..self }
    }

    /// The statistics to rank by, if they are not those of the documents.
    pub(crate) fn collection(&self) -> Option<&Collection> {
        self.collection.as_deref()
    }

    /// Adds an index. Its sequences must differ from those of the others.
    pub(crate) fn add(&mut self, announced: Vec<Arc<Announced>>, snapshot: &Snapshot) {
        for announced in announced {
            self.announced_sequences.insert(announced.sequence());
            self.announced.push(announced);
        }
        self.segments.extend(snapshot.segments.iter().map(Arc::clone));
        self.tails.extend(snapshot.tails.iter().map(Arc::clone));
    }

    /// The documents outside segments, with their known terms.
    pub(crate) fn recent(&self) -> Vec<(&TailDocument, &DocumentTerms)> {
        let mut late_bytes = LATE_BYTES;
        // The latest first: they are requested most often.
        let announced = self.announced.iter().rev().map(|announced| &**announced);
        let announced =
            announced.map(|announced| (&announced.document, &**announced.terms(&mut late_bytes)));
        let in_tails = self.tails.iter().flat_map(|tail| tail.documents());
        let in_tails = in_tails
            .filter(|document| !document.is_removed() && !self.is_announced(document.sequence))
            .map(|document| (document, &*document.terms));
        let analysed = self.analysed.iter().map(|document| (&**document, &*document.terms));
        announced.chain(in_tails).chain(analysed).collect()
    }

    /// Whether the document is among the announced ones, so that it is ignored elsewhere.
    pub(crate) fn is_announced(&self, sequence: u64) -> bool {
        self.announced_sequences.contains(&sequence)
    }

    pub(crate) fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }
}
