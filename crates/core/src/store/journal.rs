//! Write-ahead journal of `supersede`, which changes two files: it creates the new entry, and adds
//! a link and a changelog line to the old one. The journal is written before both changes and
//! removed after them. Creating the new entry's file is the commit point: if that file exists with
//! the journal's revision, recovery changes the old entry; if not, recovery only removes the
//! journal.

use std::path::Path;

use redaction::RedactionSession;
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::{Durability, FileError, Payload, layout};

use super::{Change, Location, Store, add_missing, changelog, entry};
use crate::error::{Code, Result};

/// The durability of every step of a supersession, whatever the store's level: each step relies on
/// the one before it, and the last one changes an entry that was durable before.
pub(super) const LEVEL: Durability = Durability::Full;

/// The longest journal that is read, in bytes.
const MAX_JOURNAL: u64 = 1 << 20;

/// The contents of the journal: a supersession in progress.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    /// The path of the new entry.
    pub replacement: String,
    /// The new entry's revision. A file at its path with another revision is not the new entry.
    pub revision: String,
    /// The path of the superseded entry.
    pub old: String,
    /// The line for the old entry's changelog.
    pub change: JournalChange,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalChange {
    timestamp: String,
    agent: String,
    description: String,
}

impl From<Change> for JournalChange {
    fn from(Change { timestamp, agent, description }: Change) -> Self {
        Self { timestamp, agent, description }
    }
}

impl From<JournalChange> for Change {
    fn from(JournalChange { timestamp, agent, description }: JournalChange) -> Self {
        Self { timestamp, agent, description }
    }
}

impl Store {
    /// Recovers from an interrupted supersession before entries are read. If the store cannot be
    /// written, entries are read without recovery.
    pub(super) async fn settle(&self, root: &Path) {
        if !self.has_journal(root).await {
            return;
        }
        let recovered = match self.shared.turn(self.options.lock_timeout, &self.debug).await {
            Ok(_turn) => self.recover(root).await,
            Err(error) => Err(error),
        };
        if let Err(error) = recovered {
            self.debug.say(
                "A change of the context store that was interrupted could not be completed",
                || json!({ "path": self.shared.directory, "reason": error.message }),
            );
        }
    }

    async fn has_journal(&self, root: &Path) -> bool {
        self.read_journal(root, 0).await.is_ok_and(|bytes| bytes.is_some())
    }

    async fn read_journal(
        &self,
        root: &Path,
        limit: u64,
    ) -> std::result::Result<Option<Vec<u8>>, FileError> {
        let name = Path::new(layout::STORE_JOURNAL);
        match self.shared.file_system.read(root, name, limit).await {
            Ok(contents) => Ok(Some(contents.bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Completes or discards an interrupted supersession. The caller holds the store's lock.
    pub(super) async fn recover(&self, root: &Path) -> Result<()> {
        let bytes = self.read_journal(root, MAX_JOURNAL).await;
        let Some(bytes) =
            bytes.map_err(|error| self.shared.refused("read the journal of", error))?
        else {
            return Ok(());
        };
        // The journal is always written whole, so a file that cannot be decoded was not written by
        // a store.
        if let Ok(journal) = serde_json::from_slice::<Journal>(&bytes)
            && self.is_begun(root, &journal).await?
        {
            // The change in the journal was redacted before it was written, so no secrets are
            // passed here.
            match self.mark_superseded(root, &journal, RedactionSession::new(None)).await {
                Err(error) if error.code == Code::Io => return Err(error),
                // The old entry was removed or replaced by another process: there is nothing to
                // mark.
                Ok(_) | Err(_) => {}
            }
        }
        self.drop_journal(root).await
    }

    /// Whether the new entry exists, which is the commit point.
    async fn is_begun(&self, root: &Path, journal: &Journal) -> Result<bool> {
        let Ok(location) = Location::parse(&journal.replacement) else { return Ok(false) };
        match self.bytes_of(root, &location).await {
            Ok(bytes) => Ok(entry::revision(&bytes) == journal.revision),
            Err(error) if error.code == Code::Io => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Writes the journal. The caller holds the store's lock.
    pub(super) async fn write_journal(&self, root: &Path, journal: &Journal) -> Result<()> {
        let refused = |error| self.shared.refused("write the journal of", error);
        let text = serde_json::to_vec(journal).unwrap_or_default();
        let path = root.join(layout::STORE_JOURNAL);
        self.shared.files.replace(&path, Payload::new(text), LEVEL).await.map_err(refused)
    }

    /// Removes the journal. The caller holds the store's lock.
    pub(super) async fn drop_journal(&self, root: &Path) -> Result<()> {
        let path = root.join(layout::STORE_JOURNAL);
        let removed = self.shared.files.remove(&path, LEVEL).await;
        removed.map(drop).map_err(|error| self.shared.refused("remove the journal of", error))
    }

    /// Marks the old entry as superseded. The caller holds the store's lock. Idempotent.
    pub(super) async fn mark_superseded(
        &self,
        root: &Path,
        journal: &Journal,
        pass: RedactionSession,
    ) -> Result<(Payload, RedactionSession)> {
        let old = Location::parse(&journal.old)?;
        let mut document = self.document(root, &old, None).await?;
        let change = Change::from(journal.change.clone());
        let mut links = document.links().to_vec();
        add_missing(&mut links, [journal.replacement.clone()]);
        let is_listed = changelog::as_read(&change)
            .is_some_and(|change| document.changelog().contains(&change));
        if is_listed && links == document.links() {
            return Ok((Payload::new(document.to_text().into_bytes()), pass));
        }
        document.set_links(links);
        document.add_change(&change);
        self.replace_entry(root, &old, document, LEVEL, pass).await
    }
}
