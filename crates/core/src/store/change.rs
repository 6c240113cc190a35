//! `update`: changes one entry under the store's lock, so that concurrent changes by other
//! processes and agents are not lost.

use std::{path::Path, sync::Arc};

use redaction::{Redacted, Redaction, RedactionSession};
use serde::Deserialize;
use storage::{Durability, Payload};
use tasks::CallPlace;

use super::{
    Change, Document, Entry, EntryType, Location, Store, add_missing, check_links, corrupt, entry,
    finished, time, write::read_back,
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
};

/// A change of an entry. Fields that are `None` or empty leave that part of the entry unchanged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Update {
    /// The entry's path.
    pub path: String,
    /// What was changed and why, for the changelog.
    pub description: String,
    /// The new content; the changelog is kept.
    pub content: Option<String>,
    /// The new type.
    #[serde(rename = "type")]
    pub entry_type: Option<EntryType>,
    /// The new tags, in place of all present ones.
    pub tags: Option<Vec<String>>,
    /// Tags to add.
    pub add_tags: Vec<String>,
    /// Tags to remove.
    pub remove_tags: Vec<String>,
    /// Links to add.
    pub links: Vec<String>,
    /// Links to remove.
    pub remove_links: Vec<String>,
    /// Makes the change only if the entry still has this revision.
    pub if_revision: Option<String>,
}

impl Update {
    fn apply(self, document: &mut Document) -> String {
        if let Some(content) = &self.content {
            document.set_content(content);
        }
        if let Some(entry_type) = self.entry_type {
            document.set_type(entry_type);
        }
        let mut tags = Vec::new();
        add_missing(&mut tags, self.tags.unwrap_or_else(|| document.tags().to_vec()));
        add_missing(&mut tags, self.add_tags);
        tags.retain(|tag| !self.remove_tags.contains(tag));
        document.set_tags(tags);
        let mut links = document.links().to_vec();
        add_missing(&mut links, self.links);
        links.retain(|link| !self.remove_links.contains(link));
        document.set_links(links);
        self.description
    }
}

impl Store {
    /// Changes an entry and adds a line to its changelog. Changes are made in the order of the
    /// calls, whether or not the caller awaits one before the next.
    ///
    /// # Errors `InvalidArgument`, `OutsideDirectory`, `NotFound`, `Corrupt`, `Conflict` if the
    /// entry no longer has the revision `if_revision`, `TooLarge`, `Redaction`, `LockTimeout`, `Io`
    pub fn update(
        self: &Arc<Self>,
        update: Update,
        redaction: Option<Redaction>,
    ) -> impl Future<Output = Result<Redacted<Entry>>> + Send + use<> {
        let (store, place) = (Arc::clone(self), self.order.exclusive());
        async move { store.update_at(place, update, redaction).await }
    }

    async fn update_at(
        &self,
        place: CallPlace,
        mut update: Update,
        redaction: Option<Redaction>,
    ) -> Result<Redacted<Entry>> {
        let location = Location::parse(&update.path)?;
        check_links(&update.links)?;
        let mut pass = RedactionSession::new(redaction);
        // Redacted before the line ends are removed: on one line, redaction would no longer
        // recognise a secret that has several.
        pass.text(&mut update.description)?;
        let _permit = place.reached().await;
        let root = self.root_of(&location).await?;
        let _turn = self.shared.turn(self.options.lock_timeout, &self.debug).await?;
        self.recover(&root).await?;
        let mut document = self.document(&root, &location, update.if_revision.as_deref()).await?;
        let description = update.apply(&mut document);
        document.add_change(&self.change(description));
        let level = self.options.durability;
        let (text, pass) = self.replace_entry(&root, &location, document, level, pass).await?;
        let stored = read_back(&location, text).await?;
        Ok(pass.answer(stored))
    }

    /// A changelog line by this agent with the present time.
    pub(super) fn change(&self, description: String) -> Change {
        let timestamp = time::iso(time::whole_seconds(time::now()));
        Change { timestamp, agent: self.options.agent.clone(), description }
    }

    /// Reads and parses an entry. The caller holds the store's lock.
    pub(super) async fn document(
        &self,
        root: &Path,
        location: &Location,
        revision: Option<&str>,
    ) -> Result<Document> {
        let bytes = self.bytes_of(root, location).await?;
        let current = entry::revision(&bytes);
        if let Some(revision) = revision
            && revision != current
        {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{} is at revision {current}, no longer at {revision}: read it again and repeat the change",
                    location.as_str()
                ),
            ));
        }
        let (location, length) = (location.clone(), bytes.len());
        let parse = move || {
            let corrupt = |problem| corrupt(location.as_str(), &problem);
            // Checks the whole entry, as a later read does.
            Entry::read(&location, &bytes).map_err(corrupt)?;
            let text = String::from_utf8(bytes).unwrap_or_default();
            Document::parse(&text).map_err(corrupt)
        };
        run_long(length, parse).await
    }

    /// Replaces an entry's file with a document. The caller holds the store's lock.
    pub(super) async fn replace_entry(
        &self,
        root: &Path,
        location: &Location,
        mut document: Document,
        level: Durability,
        mut pass: RedactionSession,
    ) -> Result<(Payload, RedactionSession)> {
        let bytes = document.content().len();
        let finish = move || Ok((finished(&mut document, &mut pass)?, pass));
        let (text, pass) = run_long(bytes, finish).await?;
        let text = self.within_limit(location.as_str(), text)?;
        let path = root.join(location.as_str());
        let replaced = self.shared.files.replace(&path, Payload::clone(&text), level).await;
        self.note(location);
        replaced.map_err(|error| self.refused("change", location, error))?;
        Ok((text, pass))
    }
}
