//! All rows of the index: by path, newest first, and by link target; and the files that are no
//! valid entries.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Problem;
use super::row::{Names, Row, Stamp};

/// With fewer changed rows, each is inserted into the order separately; with more, the order is
/// sorted again.
const FEW: usize = 256;

/// A file that is no valid entry.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    pub stamp: Stamp,
    pub problem: Problem,
    /// Whether the debug callback was called with it.
    pub is_reported: bool,
}

/// The result of examining a file.
#[derive(Debug)]
pub(super) enum Finding {
    Entry(Row),
    Broken(Broken),
    /// The file has the same bytes as before; only its stamp changed.
    Same(Stamp),
    Gone,
}

/// How a path is known to the index.
pub(super) enum KnownAs<'t> {
    /// A valid entry, by its number.
    Entry(u32),
    /// A file that is no valid entry.
    Broken(&'t Arc<str>),
}

/// The effect of applying findings.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// The sequences to remove from the inverted index.
    pub outdated: Vec<u64>,
    /// The number of entries that are new, changed or removed, or whose stamp became settled.
    pub changes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    by_path: FxHashMap<Arc<str>, u32>,
    /// Row numbers, newest first.
    order: Vec<u32>,
    /// The rows that link to a path, whether an entry exists there or not.
    backlinks: FxHashMap<Arc<str>, Vec<u32>>,
    pub names: Names,
    broken: BTreeMap<Arc<str>, Broken>,
    /// Directories that cannot be read.
    closed: BTreeMap<String, Broken>,
}

impl Table {
    pub fn of(names: Names, rows: Vec<Row>) -> Self {
        let mut table = Self { names, ..Self::default() };
        for row in rows {
            table.insert(row);
        }
        table.sort();
        table
    }

    pub fn len(&self) -> usize {
        self.by_path.len()
    }

    pub fn get(&self, path: &str) -> Option<&Row> {
        self.row(*self.by_path.get(path)?)
    }

    pub fn number(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    pub fn row(&self, number: u32) -> Option<&Row> {
        self.rows.get(number as usize)?.as_ref()
    }

    /// All rows, newest first.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.order.iter().filter_map(|number| self.row(*number))
    }

    /// What is known of a path, and the stamp of the file it was read from.
    pub fn known(&self, path: &str) -> Option<(KnownAs<'_>, &Stamp)> {
        if let Some(number) = self.number(path) {
            return Some((KnownAs::Entry(number), &self.row(number)?.stamp));
        }
        let (path, broken) = self.broken.get_key_value(path)?;
        Some((KnownAs::Broken(path), &broken.stamp))
    }

    /// The rows that link to a path.
    pub fn linking_to(&self, path: &str) -> impl Iterator<Item = u32> {
        self.backlinks.get(path).into_iter().flatten().copied()
    }

    /// All entries by number and path.
    pub fn paths(&self) -> impl Iterator<Item = (u32, &Arc<str>)> {
        self.by_path.iter().map(|(path, number)| (*number, path))
    }

    /// The files that are no valid entries.
    pub fn broken_paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.broken.keys()
    }

    /// The files that are no valid entries and the directories that cannot be read, by path.
    pub fn problems(&self) -> impl Iterator<Item = (&str, &Problem)> {
        let closed = self.closed.iter().map(|(path, broken)| (path.as_str(), &broken.problem));
        let broken = self.broken.iter().map(|(path, broken)| (&**path, &broken.problem));
        closed.chain(broken)
    }

    /// The problems that were not reported yet; marks them as reported.
    pub fn unreported(&mut self) -> Vec<(String, Problem)> {
        let closed = self.closed.iter_mut().map(|(path, broken)| (path.as_str(), broken));
        let broken = self.broken.iter_mut().map(|(path, broken)| (&**path, broken));
        let unreported = closed.chain(broken).filter(|(_, broken)| !broken.is_reported);
        unreported
            .map(|(path, broken)| {
                broken.is_reported = true;
                (path.to_owned(), broken.problem.clone())
            })
            .collect()
    }

    /// Replaces the set of directories that cannot be read.
    pub fn close(&mut self, directories: Vec<(String, Problem)>) {
        let before = std::mem::take(&mut self.closed);
        for (path, problem) in directories {
            let is_reported = before.get(&path).is_some_and(|known| known.problem == problem);
            let stamp = Stamp::default();
            self.closed.insert(path, Broken { stamp, problem, is_reported });
        }
    }

    /// Applies the results of examining files.
    pub fn apply(&mut self, findings: Vec<(Arc<str>, Finding)>) -> Applied {
        let mut applied = Applied::default();
        let mut moved: Vec<u32> = Vec::new();
        // Changed rows leave the order first, because they are found there by their old values.
        let changed: FxHashSet<u32> =
            findings.iter().filter_map(|(path, _)| self.number(path)).collect();
        if !changed.is_empty() {
            self.order.retain(|number| !changed.contains(number));
        }
        for (path, finding) in findings {
            match finding {
                Finding::Same(stamp) => {
                    if let Some(number) = self.number(&path) {
                        applied.changes += usize::from(stamp.is_settled());
                        let row = self.rows.get_mut(number as usize).and_then(Option::as_mut);
                        row.into_iter().for_each(|row| row.stamp = stamp);
                        moved.push(number);
                    } else if let Some(broken) = self.broken.get_mut(&path) {
                        broken.stamp = stamp;
                    }
                }
                Finding::Entry(row) => {
                    applied.changes += 1;
                    applied.outdated.extend(self.remove(&path));
                    self.broken.remove(&path);
                    moved.push(self.insert(row));
                }
                Finding::Broken(mut broken) => {
                    let removed = self.remove(&path);
                    applied.changes += usize::from(removed.is_some());
                    applied.outdated.extend(removed);
                    let known = self.broken.get(&path).is_some_and(|known| {
                        known.problem == broken.problem
                            && known.stamp.is_same_version(&broken.stamp)
                            && known.is_reported
                    });
                    broken.is_reported = known;
                    self.broken.insert(path, broken);
                }
                Finding::Gone => {
                    let removed = self.remove(&path);
                    applied.changes += usize::from(removed.is_some());
                    applied.outdated.extend(removed);
                    self.broken.remove(&path);
                }
            }
        }
        self.place(moved);
        applied
    }

    /// Inserts rows into the order.
    fn place(&mut self, moved: Vec<u32>) {
        if moved.len() > FEW {
            return self.sort();
        }
        for number in moved {
            let Some(row) = self.row(number) else { continue };
            let at = self.order.partition_point(|other| {
                self.row(*other).is_some_and(|other| other.newest_first(row).is_lt())
            });
            self.order.insert(at, number);
        }
    }

    fn sort(&mut self) {
        let Self { rows, order, .. } = self;
        let row = |number: &u32| rows.get(*number as usize).and_then(Option::as_ref);
        order.clear();
        order.extend((0..rows.len() as u32).filter(|number| row(number).is_some()));
        order.sort_unstable_by(|left, right| match (row(left), row(right)) {
            (Some(left), Some(right)) => left.newest_first(right),
            _ => std::cmp::Ordering::Equal,
        });
    }

    fn insert(&mut self, row: Row) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            (self.rows.len() - 1) as u32
        });
        for link in &row.links {
            self.backlinks.entry(Arc::clone(link)).or_default().push(number);
        }
        self.by_path.insert(Arc::clone(&row.path), number);
        if let Some(place) = self.rows.get_mut(number as usize) {
            *place = Some(row);
        }
        number
    }

    /// Removes an entry; returns its sequence in the inverted index.
    fn remove(&mut self, path: &str) -> Option<u64> {
        let number = self.by_path.remove(path)?;
        let row = self.rows.get_mut(number as usize)?.take()?;
        self.free.push(number);
        for link in &row.links {
            if let Some(linking) = self.backlinks.get_mut(link) {
                linking.retain(|other| *other != number);
                if linking.is_empty() {
                    self.backlinks.remove(link);
                }
            }
        }
        Some(row.sequence)
    }
}
