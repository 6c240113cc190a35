//! The query focus: matches what a caller is interested in with files, directories, definitions and words.
//!
//! An entry that is the path of a file or directory refers to these files. Other entries are split at white space. Each
//! piece refers to files by the end of their path, or to definitions by name. The remaining text is treated as words,
//! which match names and paths that contain them; rare words count more.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::{graph::Graph, record::SourceFile, words::Words};
use crate::symbols::Language;

/// The part of its weight that a file passes on when there is no focus. With a focus, files in focus keep more.
const DAMPING: f64 = 0.85;
const FOCUSED_DAMPING: f64 = 0.5;
/// The match of a file whose directory is named, or whose path contains all words.
const BY_DIRECTORY: f64 = 0.5;
/// The part of the weight that enters at files in focus. The rest enters everywhere, so that other files are ranked as
/// well.
const FOCUSED: f64 = 0.85;
/// All entries of words together count for at most this many entries that name something.
const MOST_OF_WORDS: usize = 3;
/// Maximum number of pieces that are compared with the ends of all paths.
const MAX_ENDINGS: usize = 64;

/// Where weight enters the graph, and which names are in focus.
pub(super) struct Focus {
    /// The weight that enters at each file. The sum is 1.
    pub teleport: Vec<f64>,
    /// The part of their weight that files pass on.
    pub damping: f64,
    /// The match of each file with the focus, from 0 to 1.
    pub files: Vec<f64>,
    /// The match of names with the focus, above 0 up to 1, by the index of the name.
    pub names: FxHashMap<u32, f64>,
}

impl Focus {
    pub fn of(
        entries: &[String],
        workspace: &Path,
        files: &[SourceFile],
        graph: &Graph,
        words: impl Fn() -> std::sync::Arc<Words>,
    ) -> Self {
        let mut reader = Reader {
            files,
            graph,
            meant: Self {
                teleport: vec![0.0; files.len()],
                damping: DAMPING,
                files: vec![0.0; files.len()],
                names: FxHashMap::default(),
            },
            words: Vec::new(),
            entries_of_words: 0,
            endings: 0,
        };
        for entry in entries {
            reader.read(entry, workspace);
        }
        if !reader.words.is_empty() {
            reader.add_words(&words());
        }
        let mut meant = reader.meant;
        if meant.teleport.iter().any(|weight| *weight > 0.0) {
            meant.damping = FOCUSED_DAMPING;
        }
        mix(&mut meant.teleport, &graph.priors);
        meant
    }
}

/// Adds the weight that enters everywhere, and normalises the sum to 1.
fn mix(teleport: &mut [f64], priors: &[f64]) {
    let (meant, all) = (teleport.iter().sum::<f64>(), priors.iter().sum::<f64>());
    let focused = if meant > 0.0 { FOCUSED } else { 0.0 };
    for (weight, prior) in teleport.iter_mut().zip(priors) {
        let focus = if meant > 0.0 { *weight / meant * focused } else { 0.0 };
        *weight = focus + prior / all * (1.0 - focused);
    }
}

struct Reader<'a> {
    files: &'a [SourceFile],
    graph: &'a Graph,
    meant: Focus,
    /// Text that names neither files nor definitions.
    words: Vec<String>,
    entries_of_words: usize,
    endings: usize,
}

impl Reader<'_> {
    fn read(&mut self, entry: &str, workspace: &Path) {
        let path = below(entry, workspace);
        if self.add_path(&path) && !is_word(&path) {
            return;
        }
        let words = self.words.len();
        for piece in entry.split_whitespace() {
            let piece = piece.trim_matches(|character: char| {
                !character.is_alphanumeric() && !matches!(character, '_' | '$' | '/' | '.' | '@')
            });
            let path = below(piece.trim_end_matches('.'), workspace);
            if path.is_empty() || !is_word(&path) && (self.add_path(&path) || self.add_names(&path))
            {
                continue;
            }
            self.words.push(path);
        }
        self.entries_of_words += usize::from(self.words.len() > words);
    }

    /// Adds files by a complete path, a directory, or the end of such a path.
    fn add_path(&mut self, path: &str) -> bool {
        if path.is_empty() {
            return false;
        }
        let directory = format!("{path}/");
        let start = self.files.partition_point(|file| *file.path < *directory);
        let count = self
            .files
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|file| file.path.starts_with(&directory))
            .count();
        let mut found: Vec<usize> = (start..start + count).collect();
        found.extend(self.files.binary_search_by(|file| (*file.path).cmp(path)).ok());
        let may_be_end = path.contains('/') || Language::of(path).is_some();
        if found.is_empty() && may_be_end && self.endings < MAX_ENDINGS {
            self.endings += 1;
            let ending = format!("/{path}");
            let within = format!("/{path}/");
            let is_meant =
                |file: &SourceFile| file.path.ends_with(&ending) || file.path.contains(&within);
            let meant = self.files.iter().enumerate().filter(|(_, file)| is_meant(file));
            found.extend(meant.map(|(file, _)| file));
        }
        // Tests within a named directory have low priority; a test that is named itself does not.
        let prior = |file: &usize| self.graph.priors.get(*file).copied().unwrap_or_default();
        let sum: f64 = found.iter().map(prior).sum();
        let shares: Vec<f64> = found.iter().map(|file| prior(file) / sum).collect();
        for (file, share) in found.iter().zip(shares) {
            if let Some(weight) = self.meant.teleport.get_mut(*file) {
                *weight += share;
            }
            if let Some(meant) = self.meant.files.get_mut(*file) {
                *meant = meant.max(if found.len() == 1 { 1.0 } else { BY_DIRECTORY });
            }
        }
        !found.is_empty()
    }

    /// Adds definitions by their names, also by qualified ones: `Store::write`, `store.write()`.
    fn add_names(&mut self, piece: &str) -> bool {
        let is_part =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
        let mut is_found = false;
        for name in piece.split(|character| !is_part(character)).filter(|name| !name.is_empty()) {
            let numbers: Vec<u32> = self.graph.find(name).collect();
            for number in &numbers {
                self.meant.names.insert(*number, 1.0);
                let definers = self.graph.definers(*number);
                for (file, part) in definers {
                    if let Some(weight) = self.meant.teleport.get_mut(*file as usize) {
                        *weight += part / numbers.len() as f64;
                    }
                }
            }
            is_found |= !numbers.is_empty();
        }
        is_found
    }

    fn add_words(&mut self, words: &Words) {
        let matches = words.find(&self.words.join(" "));
        let mut weights = vec![0.0; self.files.len()];
        for (file, score) in &matches.files {
            if let Some(weight) = weights.get_mut(*file as usize) {
                *weight += score * score;
            }
            if let Some(meant) = self.meant.files.get_mut(*file as usize) {
                *meant = meant.max(score * score * BY_DIRECTORY);
            }
        }
        for (name, score) in &matches.names {
            for (file, part) in self.graph.definers(*name) {
                if let Some(weight) = weights.get_mut(*file as usize) {
                    *weight += score * score * part;
                }
            }
            let meant = self.meant.names.entry(*name).or_default();
            *meant = meant.max(*score);
        }
        for (weight, prior) in weights.iter_mut().zip(&self.graph.priors) {
            *weight *= prior;
        }
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            let mass = self.entries_of_words.clamp(1, MOST_OF_WORDS) as f64;
            for (weight, teleport) in weights.iter().zip(&mut self.meant.teleport) {
                *teleport += weight / sum * mass;
            }
        }
    }
}

/// Whether a piece is more likely a word than a name or a path.
fn is_word(piece: &str) -> bool {
    piece.chars().all(|character| character.is_alphabetic())
        && !piece.chars().skip(1).any(char::is_uppercase)
}

/// The path relative to the workspace, with `/` between components.
fn below(entry: &str, workspace: &Path) -> String {
    let entry = entry.trim();
    let relative = Path::new(entry)
        .strip_prefix(workspace)
        .ok()
        .and_then(Path::to_str)
        .map_or_else(|| entry.to_owned(), str::to_owned);
    let relative = if cfg!(windows) { relative.replace('\\', "/") } else { relative };
    let parts = relative.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.collect::<Vec<_>>().join("/")
}
