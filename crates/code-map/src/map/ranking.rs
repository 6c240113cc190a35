//! Ranks the files and definitions of a workspace.

use super::{
    focus::Focus,
    graph::{Graph, Place},
    reach::visibility,
    record::SourceFile,
};
use crate::symbols::SymbolKind;

/// Share of a file's weight that each of its definitions gets, used or not.
const OF_ALL: f64 = 0.1;
/// Weight of the tenth definition of a file relative to its first, so that good definitions of other files are ranked
/// between them.
const TENTH: f64 = 0.5;
/// Factor for a definition whose name is in focus.
const NAMED: f64 = 20.0;
/// Share of a file's weight for a definition within a type that is in focus.
const IN_NAMED: f64 = 0.1;
/// Factor for a file whose path is in focus.
const MEANT: f64 = 5.0;

/// The order of a snapshot's files and definitions. Valid for that snapshot only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// The indices of files, best first.
    pub(super) files: Vec<u32>,
    /// The definitions, best first.
    pub(super) definitions: Vec<Place>,
}

impl Ranking {
    pub(super) fn new(files: &[SourceFile], graph: &Graph, focus: &Focus) -> Self {
        let weights = graph.weigh(&focus.teleport, focus.damping);
        let mut file_scores: Vec<(f64, u32)> = Vec::with_capacity(files.len());
        let mut scores: Vec<(f64, Place)> = Vec::new();
        let meant = focus.files.iter().zip(&graph.priors).zip(&weights.files);
        for ((file, source), ((meant, prior), weight)) in (0..).zip(files).zip(meant) {
            let damping = prior.min(1.0) * (1.0 + MEANT * meant);
            let base = weight * damping;
            let definitions = &source.symbols.definitions;
            let share = base * OF_ALL / definitions.len().max(1) as f64;
            let names = graph.names_of(file);
            let asked = |name: Option<u32>| {
                name.and_then(|name| focus.names.get(&name)).copied().unwrap_or_default()
            };
            let start = scores.len();
            for ((definition, defined), name) in (0..).zip(definitions).zip(names) {
                let used = weights.names_of(graph, *name, file) * damping;
                let visible = visibility(source.language, defined);
                let container = defined.container.as_deref().filter(|_| !focus.names.is_empty());
                let container =
                    container.and_then(|container| graph.number(source.language, container));
                let (named, in_named) = (asked(Some(*name)), asked(container));
                let score =
                    (used + share * visible) * importance(defined.kind) * (1.0 + NAMED * named)
                        + base * (named * named + in_named * in_named * IN_NAMED);
                scores.push((score, Place { file, definition }));
            }
            spread(scores.get_mut(start..).unwrap_or_default(), names);
            file_scores.push((base, file));
        }
        Self { files: in_order(file_scores), definitions: in_order(scores) }
    }
}

/// Shares the weight of a name between its definitions; further definitions in a file get less.
fn spread(scores: &mut [(f64, Place)], names: &[u32]) {
    let mut by_name: Vec<usize> = (0..scores.len()).collect();
    by_name.sort_unstable_by_key(|number| (names.get(*number), *number));
    for same in by_name.chunk_by(|one, other| names.get(*one) == names.get(*other)) {
        for number in same {
            if let Some((score, _)) = scores.get_mut(*number) {
                *score /= same.len() as f64;
            }
        }
    }
    scores.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    for (before, (score, _)) in scores.iter_mut().enumerate() {
        *score /= 1.0 + before as f64 / 9.0 * (1.0 / TENTH - 1.0);
    }
}

fn in_order<T: Ord>(mut scores: Vec<(f64, T)>) -> Vec<T> {
    scores
        .sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    scores.into_iter().map(|(_, item)| item).collect()
}

/// The weight of a kind of definition.
fn importance(kind: SymbolKind) -> f64 {
    match kind {
        SymbolKind::Class | SymbolKind::Interface => 1.2,
        SymbolKind::Enum | SymbolKind::Type | SymbolKind::Function => 1.0,
        SymbolKind::Method => 0.8,
        SymbolKind::Macro => 0.7,
        SymbolKind::Constant => 0.5,
        SymbolKind::Module => 0.3,
    }
}
