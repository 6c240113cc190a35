//! Finds the source files of a workspace.
//!
//! The rules are those of ripgrep: hidden files, symbolic links and ignored files are left out. Ignore files are
//! `.gitignore` and `.git/info/exclude` up to the root of the repository, and `.ignore` and `.rgignore` also above it.
//! Unlike in ripgrep, `.gitignore` also applies without a repository, where ignore files above the workspace do not
//! apply, and the user's own ignore file (`core.excludesFile`) never applies. A workspace therefore has the same map
//! for every user. Directories of installed packages, [`FOREIGN`], are left out even if they are not ignored.

use std::{
    cmp::Ordering,
    path::{Component, Path},
    sync::{Mutex, PoisonError},
};

use ignore::{
    DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkParallel, WalkState,
};
use storage::{Disk, FileEntry};
use tasks::Cancelled;

use super::{
    Limits,
    skipped::{SkipReason, Skipped, SkippedFile},
};
use crate::{
    error::{Error, Result},
    symbols::Language,
};

/// Directories that never contain the repository's own sources, regardless of ignore files.
const FOREIGN: [&str; 3] = [".git", "bower_components", "node_modules"];
/// Maximum depth of directories, deeper than in any hand-written project.
const MAX_DEPTH: usize = 64;

/// A source file of a workspace.
#[derive(Debug)]
pub(super) struct Listed {
    /// Relative to the workspace, with `/` between components.
    pub path: String,
    pub language: Language,
    pub entry: FileEntry,
}

/// The result of a walk.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Ordered by path.
    pub files: Vec<Listed>,
    pub skipped: Skipped,
}

/// Lists all directories of a workspace on several threads; `None` when cancelled.
///
/// # Errors
/// The workspace itself cannot be read.
pub(super) fn walk(
    disk: &dyn Disk,
    workspace: &Path,
    limits: &Limits,
    cancelled: &Cancelled,
) -> Result<Option<Listing>> {
    let found = Mutex::new(Found::default());
    let mut visitors =
        Visitors { disk, workspace, max_files: limits.files, cancelled, found: &found };
    walker(disk, workspace).visit(&mut visitors);
    if cancelled.is_set() {
        return Ok(None);
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = found.fatal {
        return Err(error);
    }
    found.prune(limits.files);
    found.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    let skipped = Skipped::of(found.skipped, found.beyond);
    Ok(Some(Listing { files: found.files, skipped }))
}

fn walker(disk: &dyn Disk, workspace: &Path) -> WalkParallel {
    let is_repository = is_in_repository(disk, workspace);
    WalkBuilder::new(workspace)
        .threads(tasks::thread_count())
        .max_depth(Some(MAX_DEPTH))
        .git_global(false)
        .require_git(is_repository)
        .parents(is_repository)
        .add_custom_ignore_filename(".rgignore")
        .filter_entry(|entry| entry.depth() == 0 || !is_foreign(entry))
        .build_parallel()
}

fn is_foreign(entry: &DirEntry) -> bool {
    entry.file_name().to_str().is_some_and(|name| FOREIGN.contains(&name))
}

/// Whether the workspace is in the work tree of a repository.
fn is_in_repository(disk: &dyn Disk, workspace: &Path) -> bool {
    let is_root = |directory: &Path| {
        [".git", ".jj"].iter().any(|name| disk.canonical(&directory.join(name)).is_ok())
    };
    workspace.ancestors().any(is_root)
}

/// The files found so far.
#[derive(Default)]
struct Found {
    files: Vec<Listed>,
    skipped: Vec<SkippedFile>,
    beyond: u64,
    fatal: Option<Error>,
}

impl Found {
    /// Keeps the files with the fewest directories in their paths; among equals, the first by path.
    fn prune(&mut self, most: usize) {
        if self.files.len() <= most {
            return;
        }
        self.beyond += (self.files.len() - most) as u64;
        if most > 0 {
            self.files.select_nth_unstable_by(most - 1, shallowest_first);
        }
        self.files.truncate(most);
    }

    fn add(&mut self, other: Self, most: usize) {
        self.files.extend(other.files);
        self.skipped.extend(other.skipped);
        self.beyond += other.beyond;
        self.fatal = self.fatal.take().or(other.fatal);
        self.prune(most);
    }
}

fn shallowest_first(one: &Listed, other: &Listed) -> Ordering {
    let depth = |file: &Listed| file.path.bytes().filter(|byte| *byte == b'/').count();
    depth(one).cmp(&depth(other)).then_with(|| one.path.cmp(&other.path))
}

/// Creates a visitor for each thread.
struct Visitors<'a> {
    disk: &'a dyn Disk,
    workspace: &'a Path,
    max_files: usize,
    cancelled: &'a Cancelled,
    found: &'a Mutex<Found>,
}

impl<'a> ParallelVisitorBuilder<'a> for Visitors<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(Visitor {
            disk: self.disk,
            workspace: self.workspace,
            max_files: self.max_files,
            cancelled: self.cancelled,
            all: self.found,
            found: Found::default(),
        })
    }
}

struct Visitor<'a> {
    disk: &'a dyn Disk,
    workspace: &'a Path,
    max_files: usize,
    cancelled: &'a Cancelled,
    all: &'a Mutex<Found>,
    found: Found,
}

impl ParallelVisitor for Visitor<'_> {
    fn visit(&mut self, entry: std::result::Result<DirEntry, ignore::Error>) -> WalkState {
        if self.cancelled.is_set() {
            return WalkState::Quit;
        }
        match entry {
            Ok(entry) => self.look(&entry),
            Err(error) => self.refuse(&error),
        }
        // Pruned at twice the limit, so that each file is moved only a few times.
        if self.found.files.len() >= self.max_files.saturating_mul(2).max(1024) {
            self.found.prune(self.max_files);
        }
        WalkState::Continue
    }
}

impl Visitor<'_> {
    fn look(&mut self, entry: &DirEntry) {
        let (Some(parent), true) =
            (entry.path().parent(), entry.file_type().is_some_and(|kind| kind.is_file()))
        else {
            return;
        };
        let Some(name) = entry.file_name().to_str() else { return };
        let Some(language) = Language::of(name) else { return };
        let Some(path) = relative(self.workspace, entry.path()) else { return };
        // A name with control characters would be misread where it is displayed.
        if path.chars().any(char::is_control) {
            self.found.skipped.push(SkippedFile { path, reason: SkipReason::Unnameable });
            return;
        }
        match self.disk.entry(parent, name) {
            Ok(Some(entry)) => self.found.files.push(Listed { path, language, entry }),
            // The file was removed or replaced.
            Ok(None) => {}
            Err(_) => self.found.skipped.push(SkippedFile { path, reason: SkipReason::Unreadable }),
        }
    }

    fn refuse(&mut self, error: &ignore::Error) {
        let Some(path) = place(error) else { return };
        if path == self.workspace {
            let is_missing =
                error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
            let kind =
                if is_missing { Error::WorkspaceNotFound } else { Error::WorkspaceUnreadable };
            self.found.fatal = Some(kind(error.to_string()));
        } else if let Some(path) = relative(self.workspace, path) {
            self.found.skipped.push(SkippedFile { path, reason: SkipReason::Unreadable });
        }
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        let found = std::mem::take(&mut self.found);
        self.all.lock().unwrap_or_else(PoisonError::into_inner).add(found, self.max_files);
    }
}

/// The path at which a walk failed.
fn place(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithDepth { err, .. } => place(err),
        ignore::Error::WithPath { path, .. } => Some(path),
        _ => None,
    }
}

/// A path relative to the workspace, with `/` between components; `None` if a component is not UTF-8.
fn relative(workspace: &Path, path: &Path) -> Option<String> {
    let mut relative = String::new();
    for component in path.strip_prefix(workspace).ok()?.components() {
        let Component::Normal(name) = component else { return None };
        if !relative.is_empty() {
            relative.push('/');
        }
        relative.push_str(name.to_str()?);
    }
    (!relative.is_empty()).then_some(relative)
}
