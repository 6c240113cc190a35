//! The graph of uses between files, and the ranks of files and names that follow from it (PageRank).
//!
//! A file that uses a name passes weight to the files that define it. The weight grows with the number of uses and with
//! how specific the name is, and is shared between the files that define it. A file's uses of names that it defines
//! itself are ignored.

use rustc_hash::FxHashMap;

use super::{
    prior::prior,
    reach::reach,
    record::{FAMILIES, SourceFile, name_hash},
};
use crate::symbols::{Definition, Language};

/// Maximum number of iterations; ranks hardly change after that.
const STEPS: usize = 40;
/// Iteration stops when ranks change less than this in total.
const TOLERANCE: f64 = 1e-7;
/// Up to this number of defining files, a name has full weight.
const FEW_DEFINERS: f64 = 4.0;
/// Names that more files define are ignored.
const MOST_DEFINERS: usize = 200;
/// Weight that a file with few uses keeps, so that a single use of a common name does not pass on all of it.
const RETAINED: f64 = 1.0;

/// A definition: the index of its file, and its index in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub file: u32,
    pub definition: u32,
}

/// Rows of values in contiguous memory.
#[derive(Debug)]
struct Rows<T> {
    ends: Vec<usize>,
    values: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { ends: Vec::new(), values: Vec::new() }
    }
}

impl<T> Rows<T> {
    fn end_row(&mut self) {
        self.ends.push(self.values.len());
    }

    fn get(&self, row: usize) -> &[T] {
        let start = row.checked_sub(1).and_then(|row| self.ends.get(row)).copied().unwrap_or(0);
        let end = self.ends.get(row).copied().unwrap_or(start);
        self.values.get(start..end).unwrap_or_default()
    }

    fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.ends.len()).map(|row| self.get(row))
    }
}

/// A name in a row of [`Graph::uses`].
#[derive(Debug, Clone, Copy)]
struct Weighted {
    name: u32,
    /// The share of the file's weight that goes to the files that define the name.
    part: f64,
}

/// Files, the names that they define, and the uses of these names.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The path prior of each file: its weight by its path only.
    pub priors: Vec<f64>,
    /// The indices of names, by their hashes.
    numbers: FxHashMap<u64, u32>,
    /// For each file, the name indices of its definitions.
    names_of_files: Rows<u32>,
    /// For each name, its first definition.
    first_places: Vec<Place>,
    /// For each name, the files that define it, ascending, each with its share of the uses.
    definers: Rows<(u32, f64)>,
    /// For each name, the maximum visibility weight of its definitions.
    reaches: Vec<f64>,
    /// For each file, the names of other files that it uses.
    uses: Rows<Weighted>,
}

/// The ranks.
pub(super) struct Weights {
    /// By file. The sum is 1.
    pub files: Vec<f64>,
    /// By name: the total weight that flows to the files that define it.
    pub names: Vec<f64>,
}

impl Graph {
    pub fn new(files: &[SourceFile]) -> Self {
        let mut graph = Self {
            priors: files.iter().map(|file| prior(&file.path)).collect(),
            ..Self::default()
        };
        graph.add_names(files);
        graph.add_definers(files);
        graph.add_uses(files);
        graph
    }

    /// The first definition of each name, by the name's index.
    pub fn names(&self) -> &[Place] {
        &self.first_places
    }

    /// The files that define a name, each with its share of the uses.
    pub fn definers(&self, name: u32) -> &[(u32, f64)] {
        self.definers.get(name as usize)
    }

    /// The names of a file's definitions, in order.
    pub fn names_of(&self, file: u32) -> &[u32] {
        self.names_of_files.get(file as usize)
    }

    /// The index of a name in files of a language.
    pub fn number(&self, language: Language, name: &str) -> Option<u32> {
        self.numbers.get(&name_hash(language, name)).copied()
    }

    /// The indices of a name: one for each family of languages in which it is defined.
    pub fn find<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u32> + 'a {
        FAMILIES.into_iter().filter_map(move |language| self.number(language, name))
    }

    fn add_names(&mut self, files: &[SourceFile]) {
        for (file, source) in (0..).zip(files) {
            for (definition, defined) in (0..).zip(&source.symbols.definitions) {
                let next = self.numbers.len() as u32;
                let hash = name_hash(source.language, &defined.name);
                let number = *self.numbers.entry(hash).or_insert(next);
                if number == next {
                    self.first_places.push(Place { file, definition });
                }
                self.names_of_files.values.push(number);
            }
            self.names_of_files.end_row();
        }
    }

    fn add_definers(&mut self, files: &[SourceFile]) {
        let mut triples: Vec<(u32, u32, f64)> =
            Vec::with_capacity(self.names_of_files.values.len());
        for ((file, source), names) in (0..).zip(files).zip(self.names_of_files.iter()) {
            for (name, defined) in names.iter().zip(&source.symbols.definitions) {
                triples.push((*name, file, reach(source.language, defined)));
            }
        }
        triples.sort_unstable_by(|one, other| {
            (one.0, one.1).cmp(&(other.0, other.1)).then(other.2.total_cmp(&one.2))
        });
        // Of several definitions in a file, the one with the highest visibility weight.
        triples.dedup_by_key(|(name, file, _)| (*name, *file));
        for same in triples.chunk_by(|one, other| one.0 == other.0) {
            let sum: f64 = same.iter().map(|(_, _, reach)| reach).sum();
            self.definers.values.extend(same.iter().map(|(_, file, reach)| (*file, reach / sum)));
            self.definers.end_row();
            self.reaches.push(same.iter().map(|(_, _, reach)| *reach).fold(0.0, f64::max));
        }
    }

    fn add_uses(&mut self, files: &[SourceFile]) {
        let strengths: Vec<f64> =
            (0..self.first_places.len()).map(|name| self.strength(files, name)).collect();
        // For each name, the last file that was seen to define it.
        let mut definer = vec![u32::MAX; self.first_places.len()];
        for (file, source) in (0..).zip(files) {
            for name in self.names_of_files.get(file as usize) {
                if let Some(definer) = definer.get_mut(*name as usize) {
                    *definer = file;
                }
            }
            let (start, mut sum) = (self.uses.values.len(), RETAINED);
            for used in &source.symbols.uses {
                let Some(&name) = self.numbers.get(&used.name) else { continue };
                let strength = strengths.get(name as usize).copied().unwrap_or_default();
                if strength > 0.0 && definer.get(name as usize) != Some(&file) {
                    let part = f64::from(used.count).sqrt() * strength;
                    sum += part;
                    self.uses.values.push(Weighted { name, part });
                }
            }
            for used in self.uses.values.get_mut(start..).unwrap_or_default() {
                used.part /= sum;
            }
            self.uses.end_row();
        }
    }

    /// The total weight of one use of a name, for all files that define it.
    fn strength(&self, files: &[SourceFile], name: usize) -> f64 {
        let definers = self.definers.get(name).len();
        let place = self.first_places.get(name);
        let defined = place.and_then(|place| definition(files, *place));
        match defined {
            Some(defined) if definers <= MOST_DEFINERS => {
                let reach = self.reaches.get(name).copied().unwrap_or_default();
                reach * specificity(&defined.name) * (FEW_DEFINERS / definers as f64).min(1.0)
            }
            _ => 0.0,
        }
    }

    /// PageRank: with each step, files pass on the part `damping` of their weight, and the rest enters as given by
    /// `teleport`, whose sum is 1. The result is deterministic, bit by bit.
    pub fn weigh(&self, teleport: &[f64], damping: f64) -> Weights {
        let mut files = teleport.to_vec();
        let mut names = vec![0.0; self.first_places.len()];
        for _ in 0..STEPS {
            self.flow(&files, &mut names);
            let mut next = vec![0.0; files.len()];
            for (share, definers) in names.iter().zip(self.definers.iter()) {
                if *share > 0.0 {
                    for (file, part) in definers {
                        if let Some(next) = next.get_mut(*file as usize) {
                            *next += share * part * damping;
                        }
                    }
                }
            }
            // The weight that is not passed on enters again.
            let rest = (1.0 - next.iter().sum::<f64>()).max(0.0);
            let mut change = 0.0;
            for ((next, teleport), now) in next.iter_mut().zip(teleport).zip(&files) {
                *next += rest * teleport;
                change += (*next - now).abs();
            }
            files = next;
            if change < TOLERANCE {
                break;
            }
        }
        self.flow(&files, &mut names);
        Weights { files, names }
    }

    /// Computes the weight that flows to the files that define each name.
    fn flow(&self, files: &[f64], names: &mut [f64]) {
        names.fill(0.0);
        for (weight, uses) in files.iter().zip(self.uses.iter()) {
            for used in uses {
                if let Some(name) = names.get_mut(used.name as usize) {
                    *name += weight * used.part;
                }
            }
        }
    }
}

impl Weights {
    /// The share of one defining file in the weight of a name.
    pub fn names_of(&self, graph: &Graph, name: u32, file: u32) -> f64 {
        let definers = graph.definers(name);
        let place = definers.binary_search_by_key(&file, |(definer, _)| *definer);
        let part = place.ok().and_then(|place| definers.get(place)).map_or(0.0, |(_, part)| *part);
        self.names.get(name as usize).map_or(0.0, |all| all * part)
    }
}

/// The definition at a place, if it exists.
pub(super) fn definition(files: &[SourceFile], place: Place) -> Option<&Definition> {
    files.get(place.file as usize)?.symbols.definitions.get(place.definition as usize)
}

/// How specific a name is: `saveContext` more than `save`, `i` hardly at all.
fn specificity(name: &str) -> f64 {
    let bare = name.trim_matches('_');
    let has_lower = bare.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_compound = bare.contains('_')
        || has_lower && bare.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let length = bare.chars().count();
    let told = match (length, is_compound) {
        (0..=2, _) => 0.2,
        (3, _) => 0.5,
        (8.., true) => 5.0,
        (_, true) | (8.., false) => 2.0,
        _ => 1.0,
    };
    if name.starts_with('_') { told * 0.2 } else { told }
}
