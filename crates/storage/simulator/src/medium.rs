//! Stable storage: the durable files, and the changes that may have reached it.

use std::{collections::BTreeMap, iter, sync::Arc};

use super::{
    image::Image,
    journal::{EntryChange, Operation, overwrite},
    survival::{Choices, Survival},
};

/// Size of the aligned blocks in which data reaches stable storage independently.
pub(super) const BLOCK: usize = 4096;

/// How entry changes reach stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryModel {
    /// Each directory and each change independently, when the directory is synchronised.
    Independent,
    /// Through one log, in order, when any file or directory is synchronised. Data and the log do not wait for each
    /// other.
    Logged,
}

/// Stable storage after a number of operations.
#[derive(Debug, Clone)]
pub(super) struct Medium {
    model: EntryModel,
    durable: Image,
    /// The entry changes since the last synchronisation, in order. Changes in one group reach a log together.
    entries: Vec<Vec<EntryChange>>,
    data: BTreeMap<u64, Unsynced>,
}

/// The changes of a file since its last synchronisation.
#[derive(Debug, Clone)]
struct Unsynced {
    changes: Vec<(Change, Fate)>,
    /// Each change of the length as (from, to); the first `from` is the durable length. An append passes through all
    /// lengths between, a truncation is one step.
    lengths: Vec<(usize, usize)>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Truncate { length: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The next synchronisation writes it.
    Waiting,
    /// A synchronisation failed: the system dropped the unwritten data.
    Forgotten,
    /// Written, but the contents below it are not.
    Durable,
}

impl Medium {
    pub(super) fn new(durable: Image, model: EntryModel) -> Self {
        Self { model, durable, entries: Vec::new(), data: BTreeMap::new() }
    }

    /// Applies an operation.
    pub(super) fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Link(changes) => self.entries.push(changes.clone()),
            Operation::Write { file, offset, bytes } => {
                let end = offset + bytes.len();
                let change = Change::Write { offset: *offset, bytes: Arc::clone(bytes) };
                self.unsynced(*file).push(change, |length| (length, length.max(end)));
            }
            Operation::Truncate { file, length } => {
                let change = Change::Truncate { length: *length };
                self.unsynced(*file).push(change, |_| (*length, *length));
            }
            Operation::Sync { file } => {
                self.sync(*file);
                if self.model == EntryModel::Logged {
                    self.sync_entries(|_| true);
                }
            }
            Operation::FailedSync { file } => self.unsynced(*file).forget(),
            Operation::SyncDirectory { directory } => match self.model {
                EntryModel::Independent => {
                    self.sync_entries(|change| change.directory == *directory);
                }
                EntryModel::Logged => self.sync_entries(|_| true),
            },
        }
    }

    /// Makes entry changes durable.
    fn sync_entries(&mut self, is_meant: impl Fn(&EntryChange) -> bool) {
        for group in &mut self.entries {
            for change in group.extract_if(.., |change| is_meant(change)) {
                self.durable.change_entries(&change);
            }
        }
        self.entries.retain(|group| !group.is_empty());
    }

    fn unsynced(&mut self, file: u64) -> &mut Unsynced {
        let durable = &self.durable;
        self.data.entry(file).or_insert_with(|| {
            let length = durable.file(file).len();
            Unsynced { changes: Vec::new(), lengths: vec![(length, length)] }
        })
    }

    fn sync(&mut self, file: u64) {
        let Some(mut unsynced) = self.data.remove(&file) else { return };
        if unsynced.settle() {
            let everything = &mut Choices::new(Survival::Everything);
            let contents = unsynced.contents(&self.durable.file(file), everything);
            self.durable.set_file(file, Arc::new(contents));
        } else {
            self.data.insert(file, unsynced);
        }
    }

    /// The image that a power cut leaves.
    pub(super) fn survivors(&self, survival: Survival) -> Image {
        let mut choices = Choices::new(survival);
        let mut image = self.durable.clone();
        match self.model {
            EntryModel::Independent => {
                for change in self.entries.iter().flatten() {
                    if choices.entry() {
                        image.change_entries(change);
                    }
                }
            }
            EntryModel::Logged => {
                let logged = choices.logged(self.entries.len());
                for change in self.entries.iter().take(logged).flatten() {
                    image.change_entries(change);
                }
            }
        }
        for (file, unsynced) in &self.data {
            let contents = unsynced.contents(&self.durable.file(*file), &mut choices);
            image.set_file(*file, Arc::new(contents));
        }
        image.linked()
    }
}

impl Unsynced {
    fn push(&mut self, change: Change, step: impl FnOnce(usize) -> (usize, usize)) {
        let length = self.lengths.last().map_or(0, |(_, to)| *to);
        self.changes.push((change, Fate::Waiting));
        self.lengths.push(step(length));
    }

    /// Makes the waiting changes durable; `false` when some were dropped before.
    fn settle(&mut self) -> bool {
        let mut is_complete = true;
        for (_, fate) in &mut self.changes {
            match fate {
                Fate::Waiting => *fate = Fate::Durable,
                Fate::Forgotten => is_complete = false,
                Fate::Durable => {}
            }
        }
        // The length is metadata: the next synchronisation makes it durable in any case.
        if let Some(&(_, length)) = self.lengths.last() {
            self.lengths = vec![(length, length)];
        }
        is_complete
    }

    /// Drops the waiting data.
    fn forget(&mut self) {
        for (change, fate) in &mut self.changes {
            if *fate == Fate::Waiting && matches!(change, Change::Write { .. }) {
                *fate = Fate::Forgotten;
            }
        }
    }

    /// The surviving contents of the file. Where a block is missing, the file has older contents or zeros.
    fn contents(&self, durable: &[u8], choices: &mut Choices) -> Vec<u8> {
        let mut contents = durable.to_vec();
        for (change, fate) in &self.changes {
            let is_durable = *fate == Fate::Durable;
            match change {
                Change::Write { offset, bytes } => {
                    for (offset, block) in blocks(*offset, bytes) {
                        if is_durable || choices.data() {
                            overwrite(&mut contents, offset, block);
                        }
                    }
                }
                Change::Truncate { length } => {
                    if is_durable || choices.data() {
                        contents.truncate(*length);
                    }
                }
            }
        }
        contents.resize(choices.length(&self.lengths), 0);
        contents
    }
}

/// The parts of a write in each block that it touches, with their offsets.
fn blocks(offset: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let (first, rest) = bytes.split_at(bytes.len().min(BLOCK - offset % BLOCK));
    let next = offset + first.len();
    let rest = rest.chunks(BLOCK).enumerate();
    iter::once((offset, first)).chain(rest.map(move |(index, block)| (next + index * BLOCK, block)))
}
