//! Moves memories to a repository's present hash, for example after a clone was moved to another path, which
//! changes its hash. Records are written to the new memory before they are removed from the old one; after a
//! crash, the same call completes the move.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use redaction::{Redaction, RedactionSession};
use serde::Serialize;
use storage::{Durability, FileSystem, LogError, Rewrite, layout};

use super::{
    Identity, Memory, MemoryOptions, Repository, directory_of, is_repo_hash,
    summaries::{self, SummaryLine},
};
use crate::{
    debug::Debug,
    error::{Code, Error, Result},
};

/// The most attempts, if other processes keep replacing the log.
const MAX_ATTEMPTS: usize = 100;

/// The memories to be moved.
#[derive(Debug, Clone)]
pub enum Origin {
    /// All memories of a clone that was at this absolute path: one for each branch.
    Workspace(PathBuf),
    /// One memory, by its hash.
    Hash(String),
}

/// The report on one memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// The previous hash.
    pub from: String,
    /// The new hash.
    pub to: String,
    /// The number of conventions that were moved.
    pub conventions: usize,
    /// The number of decisions that were moved.
    pub decisions: usize,
    /// The number of notes that were moved.
    pub notes: usize,
    /// The number of summaries that were moved.
    pub summaries: usize,
}

/// Moves memories below `root` to the repository `identity`. If both have a record, the one that was changed
/// last is kept. `options` are those of the memories, except that their directories and repositories are set
/// here, and their durability is `Full`, because records must be durable in the new memory before they are
/// removed from the old one.
///
/// # Errors `NotFound` if there is nothing to move; otherwise as changes of a memory. Records that were not
/// moved stay in the old memory.
pub async fn migrate(
    file_system: &Arc<dyn FileSystem>,
    root: &Path,
    origin: Origin,
    identity: &Identity,
    options: &MemoryOptions,
    redaction: Option<Redaction>,
    debug: &Debug,
) -> Result<Vec<Migrated>> {
    let open = |repo_hash: &str, repository: Option<Repository>| {
        let directory = directory_of(root, repo_hash);
        let durability = Durability::Full;
        let options = MemoryOptions { directory, repository, durability, ..options.clone() };
        Memory::new(options, file_system, debug.clone())
    };
    let mut moved = Vec::new();
    match origin {
        Origin::Hash(from) => {
            if !exists(file_system, &directory_of(root, &from)).await? {
                return Err(Error::new(
                    Code::NotFound,
                    format!(
                        "there is no memory {from} in {}; check fromRepoHash and root",
                        root.display()
                    ),
                ));
            }
            moved.push((from, identity.clone()));
        }
        Origin::Workspace(path) => {
            let workspace = canonical(file_system, path).await;
            let shown = workspace.to_string_lossy();
            for from in hashes(file_system, root).await? {
                let repository = open(&from, None).directory.document().await?.repository();
                if let Some(repository) = repository.filter(|found| found.workspace == shown) {
                    moved.push((from, identity.on_branch(repository.branch)));
                }
            }
            if moved.is_empty() {
                return Err(Error::new(
                    Code::NotFound,
                    format!(
                        "there is no memory of a repository at {shown} in {}; check fromWorkspace and root",
                        root.display()
                    ),
                ));
            }
        }
    }
    let mut report = Vec::new();
    for (from, identity) in moved {
        let to = identity.repo_hash.clone();
        if from != to {
            let target = open(&to, Some(Repository::of(&identity)));
            report.push(one(&open(&from, None), from, &target, to, redaction.clone()).await?);
        }
    }
    Ok(report)
}

async fn exists(file_system: &Arc<dyn FileSystem>, directory: &Path) -> Result<bool> {
    match file_system.canonical(directory).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(Error::from_file("open the memory", directory, "root", error)),
    }
}

/// The canonical form of a path, of which the last parts may no longer exist.
async fn canonical(file_system: &Arc<dyn FileSystem>, path: PathBuf) -> PathBuf {
    let mut known = path.as_path();
    loop {
        if let Ok(canonical) = file_system.canonical(known).await {
            let rest = path.strip_prefix(known).unwrap_or(Path::new(""));
            // Joined from components, so that there is no trailing slash.
            return canonical.components().chain(rest.components()).collect();
        }
        match known.parent() {
            Some(parent) => known = parent,
            None => return path,
        }
    }
}

/// The hashes of all memories.
async fn hashes(file_system: &Arc<dyn FileSystem>, root: &Path) -> Result<Vec<String>> {
    let repositories = root.join(layout::REPOSITORIES);
    let mut found = match file_system.directories(&repositories).await {
        Ok(names) => names,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(Error::from_file("list", &repositories, "root", error)),
    };
    found.retain(|name| is_repo_hash(name));
    found.sort_unstable();
    Ok(found)
}

/// Moves one memory.
async fn one(
    source: &Arc<Memory>,
    from: String,
    target: &Arc<Memory>,
    to: String,
    redaction: Option<Redaction>,
) -> Result<Migrated> {
    let (old, new) = (&source.directory, &target.directory);
    let writing = target.writing(redaction.clone());
    source.check_directory()?;
    target.prepare_directory().await?;
    new.make(writing.durability).await?;
    // Locks are taken in the order of the paths, so that concurrent moves cannot deadlock.
    let (first, second) = if old.path < new.path { (old, new) } else { (new, old) };
    let _first = first.turn(&writing).await?;
    let _second = second.turn(&writing).await?;
    let known = old.document().await?;
    let mut document = new.document().await?;
    let [conventions, decisions, notes] = document.merge(&known)?;
    if let Some(repository) = target.repository(&mut RedactionSession::new(redaction))? {
        document.set_repository(&repository)?;
    }
    new.write(&document, &writing).await?;
    let summaries = move_summaries(source, target).await?;
    let memory = old.memory();
    let removed = old.files.remove(&memory, writing.durability).await;
    removed.map_err(|error| old.refused("remove", &memory, error))?;
    remove_caches(source).await;
    Ok(Migrated { from, to, conventions, decisions, notes, summaries })
}

/// Removes the caches of a moved memory. A cache that cannot be removed is harmless.
async fn remove_caches(source: &Arc<Memory>) {
    let file_system = &source.directory.file_system;
    for folder in [layout::INDEXES.to_owned(), layout::vectors("")] {
        let folder = source.directory.path.join(folder);
        for entry in file_system.list(&folder).await.unwrap_or_default() {
            if layout::is_symbols(&entry.name) || layout::is_vectors(&entry.name) {
                let _ = file_system.remove(&folder.join(&entry.name)).await;
            }
        }
    }
}

/// Moves the summaries, including those that are added meanwhile. Returns their number.
async fn move_summaries(source: &Arc<Memory>, target: &Arc<Memory>) -> Result<usize> {
    let mut moved = 0;
    for _ in 0..MAX_ATTEMPTS {
        let Some(seen) = source.see().await? else { return Ok(moved) };
        if seen.snapshot.length == 0 {
            return Ok(moved);
        }
        moved += take_over(target, &seen.kept).await?;
        let rewrite = Rewrite { snapshot: seen.snapshot, head: Vec::new(), kept: Vec::new() };
        match source.log.rewrite(rewrite, source.options.lock_timeout).outcome().await {
            // Another process replaced the log: the rest is examined again.
            Some(Ok(_) | Err(LogError::Replaced)) => {}
            Some(Err(error)) => return Err(source.failed("empty", error)),
            None => return Err(summaries::interrupted()),
        }
    }
    Err(source.failed("empty", LogError::Replaced))
}

/// Adds the lines that are missing, ordered by their times. Returns their number.
async fn take_over(target: &Arc<Memory>, lines: &[SummaryLine]) -> Result<usize> {
    for _ in 0..MAX_ATTEMPTS {
        let seen = target.see().await?;
        let known: Vec<SummaryLine> =
            seen.as_ref().map(|seen| seen.kept.clone()).unwrap_or_default();
        let texts: HashSet<&[u8]> = known.iter().map(|line| line.text.as_slice()).collect();
        let new: Vec<SummaryLine> =
            lines.iter().filter(|line| !texts.contains(line.text.as_slice())).cloned().collect();
        let count = new.len();
        if count == 0 {
            return Ok(0);
        }
        let Some(seen) = seen.filter(|seen| seen.snapshot.length > 0) else {
            target.prepare_directory().await?;
            for SummaryLine { text, .. } in new {
                target.append_line(text).await?;
            }
            return Ok(count);
        };
        let mut merged = known.clone();
        merged.extend(new);
        // The sort is stable: of equal times, lines of the target come first.
        merged.sort_by(|one, other| one.summary.timestamp.cmp(&other.summary.timestamp));
        let mut head = Vec::new();
        for line in &merged {
            head.extend_from_slice(&line.text);
            head.push(b'\n');
        }
        let rewrite = Rewrite { snapshot: seen.snapshot, head, kept: Vec::new() };
        match target.log.rewrite(rewrite, target.options.lock_timeout).outcome().await {
            Some(Ok(_)) => {
                target.prune().await?;
                return Ok(count);
            }
            Some(Err(LogError::Replaced)) => {}
            Some(Err(error)) => return Err(target.failed("rewrite", error)),
            None => return Err(summaries::interrupted()),
        }
    }
    Err(target.failed("rewrite", LogError::Replaced))
}
