//! What a query sees of one index or of several.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::index::announced::Announced;
use crate::index::document_terms::DocumentTerms;
use crate::index::maintenance::Snapshot;
use crate::index::segment::Segment;
use crate::index::tail::{Tail, TailDocument};

/// Announced documents are read whole as far as this goes, in bytes of text: nobody waits longer.
const LATE_BYTES: usize = 256 * 1024;

/// What a query sees.
#[derive(Default)]
pub(crate) struct View {
    announced: Vec<Arc<Announced>>,
    /// Their sequences: elsewhere those do not count.
    announced_sequences: FxHashSet<u64>,
    pub(crate) segments: Vec<Arc<Segment>>,
    tails: Vec<Arc<Tail>>,
    /// Documents of no index.
    analysed: Vec<Arc<TailDocument>>,
}

impl View {
    /// A collection of documents of no index.
    pub(crate) fn of(documents: impl Iterator<Item = Arc<TailDocument>>) -> Self {
        Self { analysed: documents.collect(), ..Self::default() }
    }

    /// Adds an index, whose sequences differ from those of the others.
    pub(crate) fn add(&mut self, announced: Vec<Arc<Announced>>, snapshot: &Snapshot) {
        for announced in announced {
            self.announced_sequences.insert(announced.sequence());
            self.announced.push(announced);
        }
        self.segments.extend(snapshot.segments.iter().map(Arc::clone));
        self.tails.extend(snapshot.tails.iter().map(Arc::clone));
    }

    /// The documents outside the segments, with as many of their terms as are known.
    pub(crate) fn recent(&self) -> Vec<(&TailDocument, &DocumentTerms)> {
        let mut late_bytes = LATE_BYTES;
        // the latest first: they are asked for most
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

    /// Whether the document counts as announced, wherever else it is.
    pub(crate) fn is_announced(&self, sequence: u64) -> bool {
        self.announced_sequences.contains(&sequence)
    }

    pub(crate) fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }
}
