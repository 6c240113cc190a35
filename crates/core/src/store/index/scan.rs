//! Compares the index with listings of the store's directories, without reading files.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use storage::{Children, FileEntry, FileError, Ownership};
use tasks::Cancelled;
use text_index::Sequences;

use super::{
    EntryIndex, Problem,
    files::Files,
    location_of,
    table::{KnownAs, Table},
};
use crate::{
    error::{Error, Result},
    safety::is_exposed,
    store::Location,
};

/// A file to examine.
#[derive(Debug)]
pub(super) struct Look {
    pub location: Location,
    /// Its metadata from a listing; `None` if it was in no listing.
    pub file: Option<FileEntry>,
}

/// The result of listing all directories.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Files that are new, removed, or may have changed.
    pub looks: Vec<Look>,
    /// The directories that cannot be read.
    pub closed: Vec<(String, Problem)>,
}

/// The result of listing one directory.
#[derive(Default)]
struct Part {
    looks: Vec<Look>,
    /// The numbers of entries, and the paths of other files, that are certainly unchanged.
    unchanged: Vec<u32>,
    still_broken: Vec<Arc<str>>,
    directories: Vec<String>,
    closed: Option<(String, Problem)>,
    /// The first file that other users can read, or that another user owns.
    exposed: Option<(String, Ownership)>,
}

impl EntryIndex {
    /// Lists all directories; `None` if cancelled.
    ///
    /// # Errors `Io` if the store's directory cannot be listed.
    pub(super) fn scan(&self, files: &Files, cancelled: &Cancelled) -> Result<Option<Scan>> {
        let root = files.children("").map_err(|error| {
            Error::from_file("read the context store", &files.root, "path", error)
        })?;
        let visible = |name: &String| !name.starts_with('.');
        let agents: Vec<String> = root.directories.into_iter().filter(visible).collect();
        let of_agents = tasks::map_on_few_threads(&agents, cancelled, |agent| {
            self.scan_directory(files, agent, true)
        });
        let sessions: Vec<&String> = of_agents.iter().flat_map(|part| &part.directories).collect();
        let of_sessions = tasks::map_on_few_threads(&sessions, cancelled, |session| {
            self.scan_directory(files, session, false)
        });
        if cancelled.is_set() {
            return Ok(None);
        }
        let (mut scan, mut broken) = (Scan::default(), FxHashSet::default());
        let mut unchanged = Sequences::default();
        for part in of_agents.into_iter().chain(of_sessions) {
            if let Some(exposed) = part.exposed {
                let _ = self.exposed.set(exposed);
            }
            part.unchanged.into_iter().for_each(|number| unchanged.insert(u64::from(number)));
            broken.extend(part.still_broken);
            scan.looks.extend(part.looks);
            scan.closed.extend(part.closed);
        }
        let table = self.table();
        let listed: FxHashSet<&str> =
            scan.looks.iter().map(|look| look.location.as_str()).collect();
        let entries = table.paths().filter(|(number, _)| !unchanged.contains(u64::from(*number)));
        let others = table.broken_paths().filter(|path| !broken.contains(*path));
        let missing: Vec<Look> = entries
            .map(|(_, path)| path)
            .chain(others)
            .filter(|path| !listed.contains(&***path))
            .filter_map(|path| location_of(path))
            .map(|location| Look { location, file: None })
            .collect();
        scan.looks.extend(missing);
        Ok(Some(scan))
    }

    fn scan_directory(&self, files: &Files, directory: &str, is_agent: bool) -> Part {
        match files.children(directory) {
            Ok(children) => Part {
                exposed: files.user().and_then(|user| exposed(directory, &children, user)),
                ..compare(&self.table(), directory, children, is_agent)
            },
            Err(error) => {
                Part { closed: Some((directory.to_owned(), unreadable(&error))), ..Part::default() }
            }
        }
    }
}

/// The first visible file that other users can read, or that another user owns.
fn exposed(directory: &str, children: &Children, user: u32) -> Option<(String, Ownership)> {
    children.files.iter().filter(|file| !file.name.starts_with('.')).find_map(|file| {
        let ownership = file.ownership.filter(|ownership| is_exposed(*ownership, user))?;
        Some((format!("{directory}/{}", file.name), ownership))
    })
}

fn compare(table: &Table, directory: &str, children: Children, is_agent: bool) -> Part {
    let mut part = Part::default();
    let mut path = String::new();
    for file in children.files {
        path.clear();
        path.push_str(directory);
        path.push('/');
        path.push_str(&file.name);
        match table.known(&path).filter(|(_, stamp)| stamp.is_of(&file)) {
            Some((KnownAs::Entry(number), _)) => part.unchanged.push(number),
            Some((KnownAs::Broken(path), _)) => part.still_broken.push(Arc::clone(path)),
            None => {
                if let Some(location) = location_of(&path) {
                    part.looks.push(Look { location, file: Some(file) });
                }
            }
        }
    }
    if is_agent {
        let visible = children.directories.iter().filter(|name| !name.starts_with('.'));
        part.directories = visible.map(|name| format!("{directory}/{name}")).collect();
    }
    part
}

/// The problem for a file or a directory that cannot be read.
pub(super) fn unreadable(error: &FileError) -> Problem {
    Problem { line: 1, reason: format!("it cannot be read: {error}") }
}
