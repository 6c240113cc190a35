//! What a workspace was when it was last looked at.

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

/// The source files of a workspace and what they define. It does not change.
#[derive(Debug)]
pub struct Snapshot {
    workspace: PathBuf,
    /// By their paths.
    files: Vec<SourceFile>,
    skipped: Skipped,
    graph: OnceLock<Graph>,
    words: OnceLock<Arc<Words>>,
}

impl Snapshot {
    /// `files` are in the order of their paths.
    pub(super) fn new(workspace: PathBuf, files: Vec<SourceFile>, skipped: Skipped) -> Self {
        Self { workspace, files, skipped, graph: OnceLock::new(), words: OnceLock::new() }
    }

    /// Whether both say the same.
    pub(super) fn is_same(&self, files: &[SourceFile], skipped: &Skipped) -> bool {
        self.skipped == *skipped
            && self.files.len() == files.len()
            && self.files.iter().zip(files).all(|(one, other)| one.is_same(other))
    }

    /// What matters most, to whoever asks about `focus`: paths of files and directories, below the
    /// workspace or absolute, names of definitions, or words. The same snapshot and focus give the same
    /// ranking. Takes long for large workspaces, tens of milliseconds.
    #[must_use]
    pub fn rank(&self, focus: &[String]) -> Ranking {
        let graph = self.graph();
        let words =
            || Arc::clone(self.words.get_or_init(|| Arc::new(Words::new(&self.files, graph))));
        let focus = Focus::of(focus, &self.workspace, &self.files, graph, words);
        Ranking::new(&self.files, graph, &focus)
    }

    /// The best of a ranking of this snapshot as text of at most `max_chars` UTF-16 units.
    #[must_use]
    pub fn render(&self, ranking: &Ranking, max_chars: usize) -> RenderedMap {
        render(&self.files, ranking, max_chars, self.skipped.beyond_bound > 0)
    }

    /// What a file defines, in its order; `None` when it is not among the files. `path` is below the
    /// workspace, with `/` between names.
    #[must_use]
    pub fn symbols(&self, path: &str) -> Option<&[Definition]> {
        let number = self.files.binary_search_by(|file| (*file.path).cmp(path)).ok()?;
        self.files.get(number).map(|file| file.symbols.definitions.as_slice())
    }

    /// The paths of all files, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.path)
    }

    /// How many files there are.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// How many definitions all files have.
    #[cfg(test)]
    pub(super) fn definition_count(&self) -> usize {
        self.files.iter().map(|file| file.symbols.definitions.len()).sum()
    }

    /// What is not among the files, or only by its name.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| Graph::new(&self.files))
    }
}
