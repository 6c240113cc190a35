//! An index of the words in names and paths, which finds the definitions and files that contain words of a query focus.

use std::{collections::BTreeMap, hash::Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::{
    graph::{Graph, definition},
    record::SourceFile,
};

/// The occurrences of a word.
#[derive(Debug, Default)]
struct Occurrences {
    names: Vec<u32>,
    files: Vec<u32>,
}

/// The words in the names of definitions and in the paths of files.
#[derive(Debug, Default)]
pub(super) struct Words {
    occurrences: FxHashMap<u64, Occurrences>,
    /// Number of words in each name and each path.
    of_names: Vec<u32>,
    of_files: Vec<u32>,
}

/// Names and files that contain words of a text, by index, each with the share of words matched, from 0 to 1.
pub(super) struct Matches {
    pub names: Vec<(u32, f64)>,
    pub files: Vec<(u32, f64)>,
}

impl Words {
    pub fn new(files: &[SourceFile], graph: &Graph) -> Self {
        let mut words = Self::default();
        let mut found = Vec::new();
        for (number, place) in (0..).zip(graph.names()) {
            let name = definition(files, *place).map_or("", |defined| defined.name.as_str());
            read(name, &mut found);
            words.of_names.push(found.len() as u32);
            for word in &found {
                words.occurrences.entry(*word).or_default().names.push(number);
            }
        }
        for (number, file) in (0..).zip(files) {
            read(&file.path, &mut found);
            words.of_files.push(found.len() as u32);
            for word in &found {
                words.occurrences.entry(*word).or_default().files.push(number);
            }
        }
        words
    }

    /// The names and files that contain words of the text.
    pub fn find(&self, text: &str) -> Matches {
        let mut asked = Vec::new();
        read(text, &mut asked);
        let found = asked.iter().filter_map(|word| self.occurrences.get(word));
        let (mut names, mut files) = (Scores::default(), Scores::default());
        for Occurrences { names: in_names, files: in_files } in found {
            names.add(in_names, self.of_names.len());
            files.add(in_files, self.of_files.len());
        }
        Matches { names: names.best(&self.of_names), files: files.best(&self.of_files) }
    }
}

/// Collects the distinct words of a text, by hash.
fn read(text: &str, words: &mut Vec<u64>) {
    words.clear();
    text_index::terms(text, |word| {
        let mut hasher = FxHasher::default();
        hasher.write(word.as_bytes());
        words.push(hasher.finish());
    });
    words.sort_unstable();
    words.dedup();
}

#[derive(Default)]
struct Scores(BTreeMap<u32, (f64, u32)>);

impl Scores {
    /// Counts the matches of a word. A word weighs more the fewer names or files contain it.
    fn add(&mut self, those: &[u32], all: usize) {
        let weight = (1.0 + all as f64 / those.len().max(1) as f64).ln();
        for number in those {
            let (score, count) = self.0.entry(*number).or_default();
            *score += weight;
            *count += 1;
        }
    }

    /// The matches, normalised so that the best has 1. More matched words and fewer other words are better.
    fn best(self, lengths: &[u32]) -> Vec<(u32, f64)> {
        let mut scores: Vec<(u32, f64)> = self
            .0
            .into_iter()
            .map(|(number, (score, count))| {
                let length = lengths.get(number as usize).copied().unwrap_or(1).max(1);
                (number, score * (0.5 + 0.5 * f64::from(count) / f64::from(length)))
            })
            .collect();
        let best = scores.iter().map(|(_, score)| *score).fold(0.0, f64::max);
        for (_, score) in &mut scores {
            *score /= best;
        }
        scores
    }
}
