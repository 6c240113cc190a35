//! Documents that are to be found at once, while their long part is still to be indexed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

use crate::index::document_terms::DocumentTerms;
use crate::index::fields::Document;
use crate::index::tail::TailDocument;

/// Gives a document whole when it is asked to.
pub trait LateText: Send + Sync {
    /// What reading it costs: bytes of text, about.
    fn bytes(&self) -> usize;

    /// Calls `read` with the document, once.
    fn read(&self, read: &mut dyn FnMut(&Document<'_>));
}

/// A document that is found by its short fields until [`crate::Index::complete`]
/// has it whole.
pub struct Announced {
    pub(crate) document: TailDocument,
    /// Let go of once it is not needed: it may hold a whole record.
    late: ArcSwapOption<Box<dyn LateText>>,
    whole: OnceLock<Arc<DocumentTerms>>,
}

impl Announced {
    pub(crate) fn new(
        sequence: u64,
        document: &Document<'_>,
        late: Option<Box<dyn LateText>>,
    ) -> Self {
        let late = ArcSwapOption::from(late.map(Arc::new));
        Self { document: TailDocument::new(sequence, document), late, whole: OnceLock::new() }
    }

    /// The sequence number it was announced with.
    pub fn sequence(&self) -> u64 {
        self.document.sequence
    }

    /// Whether it is removed, or indexed whole: nothing is left to do.
    pub fn is_removed(&self) -> bool {
        self.document.is_removed()
    }

    /// Whether it was there until now.
    pub(crate) fn remove(&self) -> bool {
        self.late.store(None);
        self.document.remove()
    }

    /// Its terms as far as they are known, or can be within `budget` bytes of reading.
    pub(crate) fn terms(&self, budget: &mut usize) -> &Arc<DocumentTerms> {
        if self.whole.get().is_none()
            && let Some(late) = self.late.load_full().filter(|late| late.bytes() <= *budget)
        {
            *budget -= late.bytes();
            late.read(&mut |document| self.fill(document));
        }
        self.whole.get().unwrap_or(&self.document.terms)
    }

    /// Its terms, all of them, when there is any way to know them.
    pub(crate) fn whole_terms(&self, document: Option<&Document<'_>>) -> Arc<DocumentTerms> {
        if let Some(document) = document.filter(|_| self.whole.get().is_none()) {
            self.fill(document);
        }
        let mut unbounded = usize::MAX;
        Arc::clone(self.terms(&mut unbounded))
    }

    fn fill(&self, document: &Document<'_>) {
        // Another thread may have been first: with the same.
        let _ = self.whole.set(Arc::new(DocumentTerms::new(document)));
    }
}

impl fmt::Debug for Announced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Announced")
            .field("document", &self.document)
            .finish_non_exhaustive()
    }
}
