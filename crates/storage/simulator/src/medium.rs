//! What is on the medium for sure, and what may have reached it.

use std::{collections::BTreeMap, iter, sync::Arc};

use super::{
    image::Image,
    journal::{EntryChange, Operation, overwrite},
    survival::{Choices, Survival},
};

/// Data reaches the medium in aligned blocks of so many bytes, each on its own.
pub(super) const BLOCK: usize = 4096;

/// How entry changes reach stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryModel {
    /// Each directory by itself, each change by itself, with the directory's synchronisation.
    Independent,
    /// Through one log, in their order, with the synchronisation of any file or directory. Data does
    /// not wait for the log, and the log does not wait for data.
    Logged,
}

/// The medium after some operations.
#[derive(Debug, Clone)]
pub(super) struct Medium {
    model: EntryModel,
    durable: Image,
    /// The entry changes since their last synchronisation, in their order. What stands together
    /// reaches a log together.
    entries: Vec<Vec<EntryChange>>,
    data: BTreeMap<u64, Unsynced>,
}

/// What happened to a file since its last synchronisation.
#[derive(Debug, Clone)]
struct Unsynced {
    changes: Vec<(Change, Fate)>,
    /// From which to which length every change went; the first is the length on the medium. An
    /// append goes through all lengths between, a cut is one step.
    lengths: Vec<(usize, usize)>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Truncate { length: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The next synchronisation brings it to the medium.
    Waiting,
    /// A synchronisation failed: the system forgot that it still had to be written.
    Forgotten,
    /// On the medium, but what it was written over is not.
    Durable,
}

impl Medium {
    pub(super) fn new(durable: Image, model: EntryModel) -> Self {
        Self { model, durable, entries: Vec::new(), data: BTreeMap::new() }
    }

    /// Does what an operation does to the medium.
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

    /// Brings entry changes to the medium.
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

    /// What a power cut leaves.
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

    /// Brings to the medium what waits for it; `false` when something was forgotten before.
    fn settle(&mut self) -> bool {
        let mut is_complete = true;
        for (_, fate) in &mut self.changes {
            match fate {
                Fate::Waiting => *fate = Fate::Durable,
                Fate::Forgotten => is_complete = false,
                Fate::Durable => {}
            }
        }
        // The length is no data: the next synchronisation brings it to the medium in any case.
        if let Some(&(_, length)) = self.lengths.last() {
            self.lengths = vec![(length, length)];
        }
        is_complete
    }

    /// Forgets the data that waits for the medium.
    fn forget(&mut self) {
        for (change, fate) in &mut self.changes {
            if *fate == Fate::Waiting && matches!(change, Change::Write { .. }) {
                *fate = Fate::Forgotten;
            }
        }
    }

    /// What is left of the file: blocks that are missing keep the older contents or are zeros.
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

/// A write's parts in the blocks that it touches, each with its offset.
fn blocks(offset: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let (first, rest) = bytes.split_at(bytes.len().min(BLOCK - offset % BLOCK));
    let next = offset + first.len();
    let rest = rest.chunks(BLOCK).enumerate();
    iter::once((offset, first)).chain(rest.map(move |(index, block)| (next + index * BLOCK, block)))
}
