//! New entries.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    Changed, Document, Entry, EntryType, Location, NewEntry, Store, add_missing, check_links, time,
};
use crate::{
    error::{Code, Error, Result},
    file_system::Payload,
    names,
    redaction::{Pass, Redaction},
};

/// So many entries of one slug are told apart within a second.
const MAX_NUMBER: u32 = 100_000;

/// What an agent wants to be known.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// What it is.
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// What its file is called after the time: any text with a letter or a digit.
    pub slug: String,
    /// Markdown.
    pub content: String,
    /// What it is found by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The paths of entries it belongs to.
    #[serde(default)]
    pub links: Vec<String>,
}

/// An entry that is still to get its name.
pub(super) struct Prepared {
    directory: String,
    compact_time: String,
    slug: String,
    pub text: Payload,
}

impl Store {
    /// Writes an entry. Nothing is ever overwritten.
    ///
    /// # Errors
    /// `InvalidArgument`, `OutsideDirectory`, `Conflict` for a directory that differs from another in
    /// letter case alone, `TooLarge`, `Redaction`, `Io`
    pub async fn write(
        &self,
        draft: Draft,
        redaction: Option<Redaction>,
    ) -> Result<Changed<Entry>> {
        let mut pass = Pass::new(redaction);
        let prepared = self.prepare(draft, &mut pass)?;
        let root = self.own_root().await?;
        let location = self.create_entry(&root, &prepared).await?;
        self.note(&location);
        let stored = read_back(&location, &prepared.text)?;
        Ok(Changed { stored, report: pass.report() })
    }

    /// Checks a draft, takes the secrets out and makes its text.
    pub(super) fn prepare(&self, draft: Draft, pass: &mut Pass) -> Result<Prepared> {
        let Draft { entry_type, mut slug, content, tags: given, links: linked } = draft;
        let (mut tags, mut links) = (Vec::new(), Vec::new());
        add_missing(&mut tags, given);
        add_missing(&mut links, linked);
        check_links(&links)?;
        // Before it becomes a name: there its secrets would no longer look like any.
        pass.text(&mut slug)?;
        let slug = names::slug(&slug).ok_or_else(|| {
            Error::new(Code::InvalidArgument, "slug must contain a letter or a digit")
        })?;
        let now = time::whole_seconds(time::now());
        let options = &self.options;
        let mut document = Document::new(NewEntry {
            agent: &options.agent,
            session_id: &options.session_id,
            timestamp: now,
            entry_type,
            tags,
            links,
            content: &content,
        });
        let text = self.finished(&slug, &mut document, pass)?;
        let directory = if options.has_session_directory {
            format!("{}/{}", options.agent, options.session_id)
        } else {
            options.agent.clone()
        };
        Ok(Prepared { directory, compact_time: time::compact(now), slug, text })
    }

    /// The store's directory, made when it is not there, with the agent's own directories in it.
    pub(super) async fn own_root(&self) -> Result<PathBuf> {
        let Self { options, shared, .. } = self;
        let refused = |error| shared.refused("create", error);
        shared.file_system.create_directories(&options.directory).await.map_err(refused)?;
        let root = shared.file_system.canonical(&options.directory).await.map_err(refused)?;
        self.check_directory()?;
        let agent = root.join(&options.agent);
        if self.is_named_well.get().is_none() {
            self.check_case(&root, &options.agent).await?;
            if options.has_session_directory {
                self.check_case(&agent, &options.session_id).await?;
            }
            let _ = self.is_named_well.set(());
        }
        let own =
            if options.has_session_directory { agent.join(&options.session_id) } else { agent };
        shared.create_directory(&own, options.durability).await?;
        self.check_directory()?;
        Ok(root)
    }

    /// Refuses a directory that some file systems take for another one.
    async fn check_case(&self, parent: &Path, name: &str) -> Result<()> {
        let refused = |error| self.shared.refused("list", error);
        let names = self.shared.file_system.directories(parent).await.map_err(refused)?;
        if names.iter().any(|other| other == name) {
            return Ok(());
        }
        let folded = name.to_lowercase();
        match names.iter().find(|other| other.to_lowercase() == folded) {
            None => Ok(()),
            Some(other) => Err(Error::new(
                Code::Conflict,
                format!(
                    "{name:?} differs from {other:?} in {} in letter case alone, and some systems take both for one; use {other:?}",
                    parent.display()
                ),
            )),
        }
    }

    /// Gives an entry the first free name.
    async fn create_entry(&self, root: &Path, prepared: &Prepared) -> Result<Location> {
        // Only a disk refuses to replace a file by itself.
        let _turn = match self.shared.file_system.disk() {
            Some(_) => None,
            None => Some(self.shared.turn(self.options.lock_timeout, &self.debug).await?),
        };
        let mut number = 1;
        loop {
            let location = self.free_location(root, prepared, &mut number).await?;
            let path = root.join(location.as_str());
            let created =
                self.shared.files.create(&path, &prepared.text, self.options.durability).await;
            match created {
                Ok(()) => return Ok(location),
                Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    if error.is_not_found() {
                        self.shared.files.forget_directory(&root.join(&prepared.directory));
                    }
                    return Err(self.refused("write", &location, error));
                }
            }
        }
    }

    /// The next place from `number` on where nothing is.
    pub(super) async fn free_location(
        &self,
        root: &Path,
        prepared: &Prepared,
        number: &mut u32,
    ) -> Result<Location> {
        let Prepared { directory, compact_time, slug, .. } = prepared;
        while *number <= MAX_NUMBER {
            let name = names::entry(compact_time, slug, *number);
            let location = Location::parse(&format!("{directory}/{name}"))?;
            let found = self.shared.file_system.read(root, Path::new(location.as_str()), 0).await;
            match found {
                Err(error) if error.is_not_found() => return Ok(location),
                // A link or a directory may have the name as well.
                _ => *number += 1,
            }
        }
        Err(Error::new(
            Code::Conflict,
            format!("{MAX_NUMBER} entries called {slug} were written in one second"),
        ))
    }
}

/// The entry that a text just written is.
pub(super) fn read_back(location: &Location, text: &Payload) -> Result<Entry> {
    Entry::read(location, text).map_err(|problem| super::corrupt(location.as_str(), &problem))
}
