//! One entry in another's place: the new one, its mark in the old one, and the links between both, as
//! one change.

use serde::{Deserialize, Serialize};

use super::{
    Changed, Draft, Entry, Location, Store, add_missing, changelog, entry,
    journal::{self, Journal},
    write::read_back,
};
use crate::{
    error::Result,
    redaction::{Pass, Redaction},
};

/// What takes an entry's place, and why.
#[derive(Debug, Clone, Deserialize)]
pub struct Supersession {
    /// The path of the entry that is over.
    pub path: String,
    /// What takes its place.
    pub replacement: Draft,
    /// Why, for the changelog.
    pub reason: String,
}

/// Two entries, one in the other's place.
#[derive(Debug, Clone, Serialize)]
pub struct Superseded {
    /// The entry that is over, marked as such.
    pub old: Entry,
    /// What took its place.
    pub replacement: Entry,
}

impl Store {
    /// Writes an entry in another's place: each links to the other, and the old one's changelog says
    /// so. A crash leaves all of it or nothing.
    ///
    /// # Errors
    /// Those of [`Store::write`] and [`Store::update`]. Nothing is changed then, or all of it once
    /// somebody reads or changes entries.
    pub async fn supersede(
        &self,
        supersession: Supersession,
        redaction: Option<Redaction>,
    ) -> Result<Changed<Superseded>> {
        let Supersession { path, mut replacement, reason } = supersession;
        let old = Location::parse(&path)?;
        self.root_of(&old).await?;
        let mut pass = Pass::new(redaction);
        add_missing(&mut replacement.links, [path]);
        let prepared = self.prepare(replacement, &mut pass)?;
        let _turn = self.shared.turn(self.options.lock_timeout, &self.debug).await?;
        let root = self.own_root().await?;
        self.recover(&root).await?;
        self.document(&root, &old, None).await?;
        let mut number = 1;
        let (journal, location) = loop {
            let location = self.free_location(&root, &prepared, &mut number).await?;
            let mut description = changelog::superseded(location.as_str(), &reason);
            pass.text(&mut description)?;
            let journal = Journal {
                replacement: location.as_str().to_owned(),
                revision: entry::revision(&prepared.text),
                old: old.as_str().to_owned(),
                change: self.change(description).into(),
            };
            self.write_journal(&root, &journal).await?;
            let path = root.join(location.as_str());
            let created = self.shared.files.create(&path, &prepared.text, journal::LEVEL).await;
            match created {
                Ok(()) => break (journal, location),
                // Whoever writes an entry waits for no turn.
                Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    self.drop_journal(&root).await?;
                    return Err(self.refused("write", &location, error));
                }
            }
        };
        self.note(&location);
        let text = self.mark_superseded(&root, &journal, &mut pass).await?;
        self.drop_journal(&root).await?;
        let stored = Superseded {
            old: read_back(&old, &text)?,
            replacement: read_back(&location, &prepared.text)?,
        };
        Ok(Changed { stored, report: pass.report() })
    }
}
