//! `write`: creates an entry. Its steps (preparing the text, reserving a path) are functions that
//! `supersede` uses as well.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use redaction::{Redacted, Redaction, RedactionSession};
use serde::Deserialize;
use storage::{Payload, layout};
use tasks::CallPlace;

use super::{
    Document, Entry, EntryType, Location, NewEntry, Store, add_missing, check_links, finished,
    shared::Reserved, slug, time,
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result, is_without_answer},
};

/// The greatest number at the end of a name, which distinguishes entries with the same slug and
/// second.
const MAX_NUMBER: u32 = 100_000;

/// The caller's arguments for a new entry.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// The entry's type.
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// The readable part of the file's name: any text with a letter or a digit.
    pub slug: String,
    /// Markdown.
    pub content: String,
    /// The tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The paths of related entries.
    #[serde(default)]
    pub links: Vec<String>,
}

/// A redacted entry that has no file name yet.
pub(super) struct Prepared {
    directory: String,
    compact_time: String,
    slug: String,
    pub text: Payload,
}

impl Store {
    /// Writes a new entry; never overwrites a file. Entries get their names in the order of the
    /// calls, after the changes that were called before.
    ///
    /// # Errors `InvalidArgument`, `OutsideDirectory`, `Conflict` if the directory's name differs
    /// from an existing one in letter case only, `TooLarge`, `Redaction`, `Io`
    pub fn write(
        self: &Arc<Self>,
        draft: Draft,
        redaction: Option<Redaction>,
    ) -> impl Future<Output = Result<Redacted<Entry>>> + Send + use<> {
        let places = (self.order.shared(), self.naming.exclusive());
        let (store, called) = (Arc::clone(self), time::now());
        async move { store.write_at(places, called, draft, redaction).await }
    }

    async fn write_at(
        self: &Arc<Self>,
        (place, naming): (CallPlace, CallPlace),
        called: i64,
        draft: Draft,
        redaction: Option<Redaction>,
    ) -> Result<Redacted<Entry>> {
        let (prepared, pass) = self.prepare(draft, called, redaction).await?;
        let _permit = place.reached().await;
        let root = self.own_root().await?;
        let location = self.create_entry(&root, &prepared, naming).await?;
        self.note(&location);
        let stored = read_back(&location, prepared.text).await?;
        Ok(pass.answer(stored))
    }

    /// Checks and redacts a draft and makes its text, with the time of the call.
    pub(super) async fn prepare(
        self: &Arc<Self>,
        draft: Draft,
        called: i64,
        redaction: Option<Redaction>,
    ) -> Result<(Prepared, RedactionSession)> {
        let (store, bytes) = (Arc::clone(self), draft.content.len());
        let prepare = move || {
            let mut pass = RedactionSession::new(redaction);
            let prepared = store.prepare_with(draft, called, &mut pass)?;
            Ok((prepared, pass))
        };
        run_long(bytes, prepare).await
    }

    fn prepare_with(
        &self,
        draft: Draft,
        called: i64,
        pass: &mut RedactionSession,
    ) -> Result<Prepared> {
        let Draft { entry_type, mut slug, content, tags: given, links: linked } = draft;
        let (mut tags, mut links) = (Vec::new(), Vec::new());
        add_missing(&mut tags, given);
        add_missing(&mut links, linked);
        check_links(&links)?;
        // Redacted before it becomes a name, in which redaction would not recognise a secret.
        pass.text(&mut slug)?;
        let slug = slug::slug(&slug).ok_or_else(|| {
            Error::new(Code::InvalidArgument, "slug must contain a letter or a digit")
        })?;
        let now = time::whole_seconds(called);
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
        let text = self.within_limit(&slug, finished(&mut document, pass)?)?;
        let directory = if options.has_session_directory {
            format!("{}/{}", options.agent, options.session_id)
        } else {
            options.agent.clone()
        };
        Ok(Prepared { directory, compact_time: time::compact(now), slug, text })
    }

    /// The store's directory with the agent's own directories, which are created if missing.
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

    /// Refuses a directory name that some file systems treat as equal to an existing one.
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
                    "{name:?} differs from {other:?} in {} only in letter case, and some systems treat both as one; use {other:?}",
                    parent.display()
                ),
            )),
        }
    }

    /// Writes an entry under the first free name.
    async fn create_entry(
        &self,
        root: &Path,
        prepared: &Prepared,
        naming: CallPlace,
    ) -> Result<Location> {
        let naming = naming.reached().await;
        // Only the disk can create a file without replacing an existing one; other file systems
        // need the lock.
        let _turn = match self.shared.file_system.disk() {
            Some(_) => None,
            None => Some(self.shared.turn(self.options.lock_timeout, &self.debug).await?),
        };
        let mut number = 1;
        let mut reserved = self.reserve(root, prepared, &mut number).await?;
        // The names are reserved, so the files are written and synchronised concurrently.
        drop(naming);
        loop {
            let location = &reserved.location;
            let path = root.join(location.as_str());
            let created =
                self.shared.files.create(&path, &prepared.text, self.options.durability).await;
            match created {
                Ok(()) => return Ok(location.clone()),
                // Another process created the file first.
                Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => {
                    number += 1;
                    reserved = self.reserve(root, prepared, &mut number).await?;
                }
                Err(error) => {
                    if error.is_not_found() {
                        self.shared.files.forget_directory(&root.join(&prepared.directory));
                    }
                    return Err(self.refused("write", location, error));
                }
            }
        }
    }

    /// Reserves the first free path from `number` on.
    pub(super) async fn reserve(
        &self,
        root: &Path,
        prepared: &Prepared,
        number: &mut u32,
    ) -> Result<Reserved<'_>> {
        let Prepared { directory, compact_time, slug, .. } = prepared;
        while *number <= MAX_NUMBER {
            let name = layout::entry(compact_time, slug, *number);
            let location = Location::parse(&format!("{directory}/{name}"))?;
            if let Some(reserved) = self.shared.reserve(location) {
                let path = Path::new(reserved.location.as_str());
                let found = self.shared.file_system.read(root, path, 0).await;
                match found {
                    Err(error) if error.is_not_found() => return Ok(reserved),
                    Err(error) if is_without_answer(&error) => {
                        return Err(self.refused("write", &reserved.location, error));
                    }
                    // A symbolic link or a directory may have the name as well.
                    Ok(_) | Err(_) => {}
                }
            }
            *number += 1;
        }
        Err(Error::new(
            Code::Conflict,
            format!("{MAX_NUMBER} entries called {slug} were written in one second"),
        ))
    }
}

/// Parses the text that was just written.
pub(super) async fn read_back(location: &Location, text: Payload) -> Result<Entry> {
    let (location, bytes) = (location.clone(), text.len());
    let read = move || {
        let entry = Entry::read(&location, &text);
        entry.map_err(|problem| super::corrupt(location.as_str(), &problem))
    };
    run_long(bytes, read).await
}
