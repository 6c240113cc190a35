//! How much was tried, printed and kept in a file.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Files, logs and locks.
    Kernel,
    /// `ContextHistory`.
    History,
    /// `ContextManager`.
    Manager,
    /// `ContextStore`.
    Store,
    /// `RepoMemory`.
    Memory,
}

/// How much was tried.
#[derive(Debug, Default)]
pub struct Counts {
    /// Places where the story was cut off.
    pub prefixes: usize,
    /// Ends of the process, and the extreme losses.
    pub extremes: usize,
    /// Random losses.
    pub subsets: usize,
    /// Disks among all these that differ at one place.
    pub different: usize,
    /// Failing calls, each with every error.
    pub errors: usize,
}

impl Counts {
    fn line(&self) -> String {
        let Self { prefixes, extremes, subsets, different, errors } = self;
        if *errors > 0 {
            return format!("{errors} error points");
        }
        format!(
            "{prefixes} prefixes, {extremes} kills and extremes, {subsets} random subsets, {different} different disks"
        )
    }

    fn add(&mut self, other: &Self) {
        self.prefixes += other.prefixes;
        self.extremes += other.extremes;
        self.subsets += other.subsets;
        self.different += other.different;
        self.errors += other.errors;
    }
}

static TOLD: Mutex<BTreeMap<(Group, &str), Counts>> = Mutex::new(BTreeMap::new());

/// Prints how much of a story was tried, and writes it down with what was told before.
pub fn tell(group: Group, story: &'static str, counts: Counts) {
    println!("{group:?}, {story}: {}", counts.line());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.insert((group, story), counts);
    let mut text = String::new();
    for group in [Group::Kernel, Group::History, Group::Manager, Group::Store, Group::Memory] {
        let mut sum = Counts::default();
        for ((_, story), counts) in told.iter().filter(|((of, _), _)| *of == group) {
            text += &format!("{group:?}, {story}: {}\n", counts.line());
            sum.add(counts);
        }
        let (errors, cuts) = (sum.errors, Counts { errors: 0, ..sum });
        text += &format!("{group:?}, in all: {}, {errors} error points\n\n", cuts.line());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("evidence");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("crash.txt"), text).unwrap();
}
