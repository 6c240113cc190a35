//! What somebody asks a map about: files and directories, names, words.
//!
//! An entry that is the path of a file or of a directory means these files; what is left of it is taken
//! apart at white space, and each piece means files by a path, or definitions by a name. Everything else
//! are words, and mean names and paths that have the same words, more where few have them.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::{graph::Graph, record::SourceFile, words::Words};
use crate::symbols::Language;

/// The part of its weight that a file passes on, when nothing is asked about; else what is asked about
/// keeps more.
const DAMPING: f64 = 0.85;
const FOCUSED_DAMPING: f64 = 0.5;
/// How surely a file is meant with its directory, or when all words that were asked for are in its path.
const BY_DIRECTORY: f64 = 0.5;
/// Weight that comes in at what is asked about. The rest comes in everywhere, and puts all else in order.
const FOCUSED: f64 = 0.85;
/// Entries of words together count for so many entries that name something.
const MOST_OF_WORDS: usize = 3;
/// Pieces that are looked for at the end of all paths.
const MAX_ENDINGS: usize = 64;

/// Where weight comes in, and which names are meant.
pub(super) struct Focus {
    /// By files. The sum is 1.
    pub teleport: Vec<f64>,
    /// What files pass on.
    pub damping: f64,
    /// How surely a file itself is meant, 0 to 1.
    pub files: Vec<f64>,
    /// How surely a name is meant, above 0 to 1, by the names' numbers.
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

/// Adds weight that comes in everywhere, and makes the sum 1.
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
    /// What names nothing by itself.
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

    /// Files by the path of one, of a directory, or by the end of such a path.
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
        // A directory's tests are not what is asked for first, a test is when it is named.
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

    /// Definitions by their names, also by several in one: `Store::write`, `store.write()`.
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

/// A path as those of files are written: below the workspace, with `/` between names.
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
