//! Counts the tested cases, prints the counts, and writes them to a file.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// The tested parts.
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

/// The numbers of tested cases.
#[derive(Debug, Default)]
pub struct Counts {
    /// Operations after which the story was crashed.
    pub prefixes: usize,
    /// Ends of the process, and losses of everything or nothing.
    pub extremes: usize,
    /// Random losses.
    pub subsets: usize,
    /// Disks among these with different contents.
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

/// Prints the counts of a story, and writes them to the file with those of earlier stories.
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
