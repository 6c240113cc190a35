//! `supersede`: creates an entry that replaces another one, adds a line to the old entry's
//! changelog, and links both to each other. After a crash, recovery with the `journal` leaves both
//! changes or none.

use std::sync::Arc;

use redaction::{Redacted, Redaction};
use serde::{Deserialize, Serialize};
use tasks::CallPlace;

use super::{
    Draft, Entry, Location, Store, add_missing, changelog, entry,
    journal::{self, Journal},
    time,
    write::read_back,
};
use crate::error::Result;

/// The arguments of [`Store::supersede`].
#[derive(Debug, Clone, Deserialize)]
pub struct Supersession {
    /// The path of the superseded entry.
    pub path: String,
    /// The entry that replaces it.
    pub replacement: Draft,
    /// The reason, for the changelog.
    pub reason: String,
}

/// The result of [`Store::supersede`].
#[derive(Debug, Clone, Serialize)]
pub struct Superseded {
    /// The superseded entry, with the link and the changelog line.
    pub old: Entry,
    /// The new entry.
    pub replacement: Entry,
}

impl Store {
    /// Replaces an entry with a new one: each links to the other, and the old one's changelog names
    /// the new one. After a crash, either both files are changed or none. Runs in the order of the
    /// calls, as [`Store::update`].
    ///
    /// # Errors Those of [`Store::write`] and [`Store::update`]. If the new entry was created
    /// before the error, the next read or change completes the supersession; otherwise nothing was
    /// changed.
    pub fn supersede(
        self: &Arc<Self>,
        supersession: Supersession,
        redaction: Option<Redaction>,
    ) -> impl Future<Output = Result<Redacted<Superseded>>> + Send + use<> {
        let (store, place) = (Arc::clone(self), self.order.exclusive());
        let called = time::now();
        async move { store.supersede_at(place, called, supersession, redaction).await }
    }

    async fn supersede_at(
        self: &Arc<Self>,
        place: CallPlace,
        called: i64,
        supersession: Supersession,
        redaction: Option<Redaction>,
    ) -> Result<Redacted<Superseded>> {
        let Supersession { path, mut replacement, reason } = supersession;
        let old = Location::parse(&path)?;
        add_missing(&mut replacement.links, [path]);
        let (prepared, mut pass) = self.prepare(replacement, called, redaction).await?;
        let _permit = place.reached().await;
        self.root_of(&old).await?;
        let _turn = self.shared.turn(self.options.lock_timeout, &self.debug).await?;
        let root = self.own_root().await?;
        self.recover(&root).await?;
        self.document(&root, &old, None).await?;
        let mut number = 1;
        let (journal, location) = loop {
            let reserved = self.reserve(&root, &prepared, &mut number).await?;
            let location = &reserved.location;
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
                Ok(()) => break (journal, location.clone()),
                // Other processes create new entries without the lock, so the path may be taken
                // meanwhile.
                Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    self.drop_journal(&root).await?;
                    return Err(self.refused("write", location, error));
                }
            }
        };
        self.note(&location);
        let (text, pass) = self.mark_superseded(&root, &journal, pass).await?;
        self.drop_journal(&root).await?;
        let stored = Superseded {
            old: read_back(&old, text).await?,
            replacement: read_back(&location, prepared.text).await?,
        };
        Ok(pass.answer(stored))
    }
}
