//! Announced (provisional) documents: they are found by their short fields at once, while their long text is still to
//! be indexed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

use crate::index::document_terms::DocumentTerms;
use crate::index::fields::Document;
use crate::index::tail::TailDocument;

/// Provides the complete document later, when it is needed.
pub trait LateText: Send + Sync {
    /// The approximate cost of reading it: bytes of text.
    fn bytes(&self) -> usize;

    /// Calls `read` with the document, once.
    fn read(&self, read: &mut dyn FnMut(&Document<'_>));
}

/// A document that is found by its short fields until [`crate::Index::complete`] indexes all of it.
pub struct Announced {
    pub(crate) document: TailDocument,
    /// The deferred text. Dropped when it is not needed any more, because it may keep a complete record in memory.
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

    /// The sequence with which it was announced.
    pub fn sequence(&self) -> u64 {
        self.document.sequence
    }

    /// Whether it was removed or completely indexed, so that no work is left.
    pub fn is_removed(&self) -> bool {
        self.document.is_removed()
    }

    /// Removes the document. Returns whether it was present.
    pub(crate) fn remove(&self) -> bool {
        self.late.store(None);
        self.document.remove()
    }

    /// Its known terms. Reads the deferred text if that costs no more than `budget` bytes, and reduces the budget.
    pub(crate) fn terms(&self, budget: &mut usize) -> &Arc<DocumentTerms> {
        if self.whole.get().is_none()
            && let Some(late) = self.late.load_full().filter(|late| late.bytes() <= *budget)
        {
            *budget -= late.bytes();
            late.read(&mut |document| self.fill(document));
        }
        self.whole.get().unwrap_or(&self.document.terms)
    }

    /// All its terms: from `document`, from the deferred text, or else from the short fields.
    pub(crate) fn whole_terms(&self, document: Option<&Document<'_>>) -> Arc<DocumentTerms> {
        if let Some(document) = document.filter(|_| self.whole.get().is_none()) {
            self.fill(document);
        }
        let mut unbounded = usize::MAX;
        Arc::clone(self.terms(&mut unbounded))
    }

    fn fill(&self, document: &Document<'_>) {
        // Another thread may have set the same value first.
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
