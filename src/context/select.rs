//! Choosing what a question needs.
//!
//! Nothing here takes a lock that a save holds: the index publishes snapshots, and whether a path is
//! this manager's can be told from the path itself.

use rustc_hash::FxHashMap;

use super::manager::Manager;
use crate::{
    names,
    retrieval::{Document, Query, Which},
};

/// One pointer to choose from.
#[derive(Debug, Clone)]
pub enum Candidate {
    /// A context of this manager, by the number of its call.
    Known(u64),
    /// A pointer that comes with its text.
    Foreign(ForeignPointer),
}

/// A pointer that this manager may not know: what it says of itself.
#[derive(Debug, Clone, Default)]
pub struct ForeignPointer {
    /// `filepath`.
    pub path: String,
    /// `toolName`.
    pub tool_name: String,
    /// `toolDescription`.
    pub description: String,
    /// Keys and values of `args` as plain text.
    pub arguments: String,
    /// `timestamp`, ms since 1970.
    pub timestamp: i64,
}

impl Manager {
    /// The positions of the candidates that share a term with the query, best first; `None` when a
    /// known candidate was cleared since, so that its text is needed.
    #[must_use]
    pub fn rank(&self, query: &str, candidates: &[Candidate]) -> Option<Vec<usize>> {
        let query = Query::parse(query);
        let mut positions = FxHashMap::default();
        let mut foreign = Vec::new();
        let mut foreign_positions = Vec::new();
        for (position, candidate) in candidates.iter().enumerate() {
            let known = match candidate {
                Candidate::Known(sequence) if self.is_cleared(*sequence) => return None,
                Candidate::Known(sequence) => Some(*sequence),
                Candidate::Foreign(pointer) => self.recognise(&pointer.path),
            };
            match (known, candidate) {
                // A context that is offered twice is chosen once.
                (Some(sequence), _) => drop(positions.entry(sequence).or_insert(position)),
                (None, Candidate::Foreign(pointer)) => {
                    foreign_positions.push(position);
                    foreign.push(Document {
                        name: &pointer.tool_name,
                        description: &pointer.description,
                        arguments: &pointer.arguments,
                        timestamp: pointer.timestamp,
                        ..Document::default()
                    });
                }
                (None, Candidate::Known(_)) => {}
            }
        }
        let position = |sequence| positions.get(&sequence).copied();
        Some(self.rank_documents(&query, &position, &foreign, &foreign_positions))
    }

    /// As [`Manager::rank`] for candidates that are all this manager's and stand in the order of
    /// the calls, as `getAllPointers` gives them: a million need no table.
    #[must_use]
    pub fn rank_ascending(&self, query: &str, sequences: &[f64]) -> Option<Vec<usize>> {
        #[expect(clippy::cast_precision_loss, reason = "numbers of calls stay far below 2^53")]
        let position = |sequence: u64| {
            sequences.binary_search_by(|other| other.total_cmp(&(sequence as f64))).ok()
        };
        let first = sequences.first().map_or(0, |&first| first as u64);
        if self.is_cleared(first) {
            return None;
        }
        Some(self.rank_documents(&Query::parse(query), &position, &[], &[]))
    }

    fn rank_documents(
        &self,
        query: &Query,
        position: &dyn Fn(u64) -> Option<usize>,
        foreign: &[Document<'_>],
        foreign_positions: &[usize],
    ) -> Vec<usize> {
        if query.is_empty() {
            return Vec::new();
        }
        let ranked = self.index.rank(query, &|sequence| position(sequence).is_some(), foreign);
        ranked
            .hits
            .into_iter()
            .filter_map(|hit| match hit.which {
                Which::Known(sequence) => position(sequence),
                Which::Foreign(number) => foreign_positions.get(number).copied(),
            })
            .collect()
    }

    /// The pointers of the best contexts for the query, best first, as
    /// [`Manager::pointers_from`]; every pointer in the order of the calls when nothing matches.
    #[must_use]
    pub fn select(&self, query: &str, limit: Option<usize>) -> (Vec<u64>, String) {
        let query = Query::parse(query);
        let hits =
            if query.is_empty() { Vec::new() } else { self.index.search(&query, limit).hits };
        if hits.is_empty() {
            return self.pointers_from(0, limit.unwrap_or(usize::MAX));
        }
        let sequences: Vec<u64> = hits.into_iter().map(|hit| hit.sequence).collect();
        Self::show_all(&self.state(), &sequences)
    }

    /// The number of the call that made the context at `path`, told from the path alone.
    fn recognise(&self, path: &str) -> Option<u64> {
        let name = path.strip_prefix(&self.options.prefix)?;
        let stamp = names::parse_context(name)?;
        let is_ours = stamp.random == self.identity(stamp.counter);
        (is_ours && !self.is_cleared(stamp.counter)).then_some(stamp.counter)
    }
}
