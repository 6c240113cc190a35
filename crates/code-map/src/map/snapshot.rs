//! A snapshot: the state of a workspace at its last refresh.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use super::{
    focus::Focus,
    graph::Graph,
    ranking::Ranking,
    record::SourceFile,
    render::{RenderedMap, render},
    skipped::Skipped,
    words::Words,
};
use crate::symbols::Definition;

/// The source files of a workspace and their definitions. Immutable.
#[derive(Debug)]
pub struct Snapshot {
    workspace: PathBuf,
    /// Ordered by path.
    files: Vec<SourceFile>,
    skipped: Skipped,
    graph: OnceLock<Graph>,
    words: OnceLock<Arc<Words>>,
}

impl Snapshot {
    /// `files` must be ordered by path.
    pub(super) fn new(workspace: PathBuf, files: Vec<SourceFile>, skipped: Skipped) -> Self {
        Self { workspace, files, skipped, graph: OnceLock::new(), words: OnceLock::new() }
    }

    /// Whether the snapshot equals these files and skipped files.
    pub(super) fn is_same(&self, files: &[SourceFile], skipped: &Skipped) -> bool {
        self.skipped == *skipped
            && self.files.len() == files.len()
            && self.files.iter().zip(files).all(|(one, other)| one.is_same(other))
    }

    /// The ranking for a query focus: paths of files and directories, relative to the workspace or absolute, names of
    /// definitions, or words. The result is deterministic. Takes tens of milliseconds for large workspaces.
    #[must_use]
    pub fn rank(&self, focus: &[String]) -> Ranking {
        let graph = self.graph();
        let words =
            || Arc::clone(self.words.get_or_init(|| Arc::new(Words::new(&self.files, graph))));
        let focus = Focus::of(focus, &self.workspace, &self.files, graph, words);
        Ranking::new(&self.files, graph, &focus)
    }

    /// The best part of a ranking of this snapshot, as text of at most `max_chars` UTF-16 units.
    #[must_use]
    pub fn render(&self, ranking: &Ranking, max_chars: usize) -> RenderedMap {
        render(&self.files, ranking, max_chars, self.skipped.beyond_bound > 0)
    }

    /// The definitions of a file, in order; `None` if the file is not in the snapshot. `path` is relative to the
    /// workspace, with `/` between components.
    #[must_use]
    pub fn symbols(&self, path: &str) -> Option<&[Definition]> {
        let number = self.files.binary_search_by(|file| (*file.path).cmp(path)).ok()?;
        self.files.get(number).map(|file| file.symbols.definitions.as_slice())
    }

    /// The paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.path)
    }

    /// Number of files.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Number of definitions in all files.
    #[cfg(test)]
    pub(super) fn definition_count(&self) -> usize {
        self.files.iter().map(|file| file.symbols.definitions.len()).sum()
    }

    /// The files that are not part of the snapshot, or are part of it without symbols.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| Graph::new(&self.files))
    }
}
