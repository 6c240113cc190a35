//! Finds the repository of a workspace, and reads its remotes and HEAD.
//!
//! Only the repository's own files are read. The `git` program, the settings of the user, of the machine and
//! of the environment, and the owners of the files have no influence. Nothing is executed, and files that a
//! configuration includes are not read.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    config,
    discover::upwards,
    sec::Trust,
};
use storage::{Disk, FileError, FileResult, LocalDisk};

use super::remote;
use crate::error::{Code, Error, Result};

/// The longest file of git that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// The content of `HEAD` if references are not stored in files.
const ELSEWHERE: &[u8] = b"refs/heads/.invalid";

/// The result of looking for a repository.
pub(super) struct Place {
    /// The root of the work tree, the directory of a repository without one, or without a repository the
    /// workspace; canonical.
    pub root: PathBuf,
    /// The repository.
    pub repository: Option<Repository>,
}

/// A repository, seen from one of its work trees.
pub(super) struct Repository {
    /// The directory with the work tree's own files, such as `HEAD`; canonical.
    own: PathBuf,
    /// The directory with the files that all work trees share; canonical.
    common: PathBuf,
    config: config::File,
}

/// The checked-out branch or commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A branch, by its full name (`refs/heads/main`); it may have no commit yet.
    Branch(BString),
    /// A commit, by its lower-case hexadecimal digits.
    Commit(BString),
}

impl Head {
    /// The name without the prefix, for people.
    pub fn short_name(&self) -> &BStr {
        let name = self.whole_name();
        name.strip_prefix(b"refs/heads/").unwrap_or(name).as_bstr()
    }

    /// The full name. The names of branches differ from all commits.
    pub fn whole_name(&self) -> &BStr {
        let (Self::Branch(name) | Self::Commit(name)) = self;
        name.as_bstr()
    }
}

impl Place {
    /// Finds the repository of the canonical directory `workspace`. Like git, this does not look across file
    /// system boundaries, and ignores `.git` directories without a repository.
    ///
    /// If a `.git` file has an invalid target (its repository was moved, or is not mounted), where git fails,
    /// there is no repository, and the file's directory is the root.
    ///
    /// # Errors `InvalidArgument` if the workspace is no directory. `Io` and `Corrupt` for a repository that
    /// exists but cannot be read: if it were ignored, the workspace would get another identity.
    pub fn of(workspace: &Path) -> Result<Self> {
        let options = upwards::Options {
            trust: upwards::TrustPolicy::Assume(Trust::Full),
            ..upwards::Options::default()
        };
        let found = match gix::discover::upwards_opts(workspace, options) {
            Ok((found, _)) => Ok(found.into_repository_and_work_tree_directories()),
            Err(error) => match error.downcast_any_ref::<upwards::Error>() {
                Some(upwards::Error::NoGitRepositoryWithinFs { limit, .. }) => {
                    Err(Some(limit.clone()))
                }
                Some(_) => Err(None),
                None if error.classify().is_validation() => return Err(no_directory(workspace)),
                None => {
                    let error = io::Error::other(error.to_string());
                    return Err(unreadable(FileError::system("stat", workspace, error)));
                }
            },
        };
        let ends: Vec<&PathBuf> = match &found {
            Ok((git, work_tree)) => work_tree.iter().chain([git]).collect(),
            Err(limit) => limit.iter().collect(),
        };
        let ends: Vec<PathBuf> =
            ends.into_iter().filter_map(|end| LocalDisk.canonical(end).ok()).collect();
        for directory in workspace.ancestors() {
            if ends.iter().any(|end| end == directory) {
                break;
            }
            if leads_nowhere(directory)? {
                return Ok(Self { root: directory.to_owned(), repository: None });
            }
        }
        let Ok((git, work_tree)) = found else {
            return Ok(Self { root: workspace.to_owned(), repository: None });
        };
        let repository = Repository::open(&git)?;
        // The work tree of a repository's directory may have been removed.
        let root = work_tree.and_then(|work_tree| LocalDisk.canonical(&work_tree).ok());
        let root = root.map_or_else(|| repository.shared_path(), Ok)?;
        Ok(Self { root, repository: Some(repository) })
    }
}

impl Repository {
    fn open(git: &Path) -> Result<Self> {
        let own = LocalDisk.canonical(git).map_err(unreadable)?;
        let common = match contents(&own.join("commondir"))? {
            Some(path) => LocalDisk.canonical(&own.join(native(path.trim_end()))),
            None => Ok(own.clone()),
        };
        let common = common.map_err(unreadable)?;
        let config = read_config(&common.join("config"))?;
        Ok(Self { own, common, config })
    }

    /// The path that all work trees share: the root of the main one, or the directory of the repository.
    ///
    /// # Errors
    /// `Io`, `Corrupt`
    pub fn shared_path(&self) -> Result<PathBuf> {
        Ok(self.main_work_tree()?.unwrap_or_else(|| self.common.clone()))
    }

    /// The main work tree: as configured (for a submodule, for example), or the parent directory. It has to
    /// refer back to this repository, because several repositories can name the same directory.
    fn main_work_tree(&self) -> Result<Option<PathBuf>> {
        const KEY: &str = "core.worktree";
        let configured = match self.config.string(KEY) {
            Some(path) => Some(path),
            None => read_config(&self.common.join("config.worktree"))?.string(KEY),
        };
        let configured = configured.map(|path| self.common.join(native(&path)));
        let above = self.common.parent().map(Path::to_owned);
        let candidates = configured.into_iter().chain(above);
        Ok(candidates
            .filter_map(|candidate| LocalDisk.canonical(&candidate).ok())
            .find(|candidate| self.is_of(candidate)))
    }

    fn is_of(&self, work_tree: &Path) -> bool {
        let git = work_tree.join(".git");
        let target = match contents(&git) {
            Ok(Some(link)) => target_of(&link).map(|target| work_tree.join(target)),
            _ => Some(git),
        };
        target.and_then(|target| LocalDisk.canonical(&target).ok()).as_ref() == Some(&self.common)
    }

    /// The normal form of the URL of `origin`, or else of the first remote by name. Remotes with invalid URLs
    /// are ignored. A relative path is relative to `base`.
    pub fn remote(&self, base: &Path) -> Option<BString> {
        let mut urls = BTreeMap::new();
        for section in self.config.sections_by_name("remote").into_iter().flatten() {
            let name = section.header().subsection_name().map(ToOwned::to_owned);
            let url = section.values("url").into_iter().find(|url| !url.is_empty());
            if let (Some(name), Some(url)) = (name, url) {
                urls.entry(name).or_insert(url);
            }
        }
        let origin = urls.remove(b"origin".as_bstr());
        origin.into_iter().chain(urls.into_values()).find_map(|url| remote::normal_form(&url, base))
    }

    /// The checked-out branch or commit.
    ///
    /// # Errors `Io`, `Corrupt`; `Unsupported` if references are not stored in files (reftable).
    pub fn head(&self) -> Result<Head> {
        let path = self.own.join("HEAD");
        // Old versions of git made HEAD a symbolic link to the branch.
        let canonical = LocalDisk.canonical(&path).map_err(unreadable)?;
        if let Ok(name) = canonical.strip_prefix(&self.common)
            && name.starts_with("refs")
        {
            let name = name.as_os_str().as_encoded_bytes().replace("\\", "/");
            return Ok(Head::Branch(name.into()));
        }
        let text = contents(&path)?.unwrap_or_default();
        let text = text.trim_ascii();
        match text.strip_prefix(b"ref:").map(<[u8]>::trim_ascii_start) {
            Some(ELSEWHERE) => Err(Error::new(
                Code::Unsupported,
                format!(
                    "the references of {} are in no files (reftable), its branch cannot be read; set branchScope: 'sharedRepo'",
                    self.common.display()
                ),
            )),
            Some(name) if gix::validate::reference::name(name.as_bstr()).is_ok() => {
                Ok(Head::Branch(name.into()))
            }
            None if matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit) => {
                Ok(Head::Commit(text.to_ascii_lowercase().into()))
            }
            _ => Err(Error::new(
                Code::Corrupt,
                format!("{} names neither a branch nor a commit; check one out", path.display()),
            )),
        }
    }
}

/// Whether the directory has a `.git` file with an invalid target. Git found no repository here.
fn leads_nowhere(directory: &Path) -> Result<bool> {
    let git = directory.join(".git");
    let is_file = LocalDisk.entry(directory, ".git").map_err(unreadable)?.is_some();
    let target = match is_file.then(|| contents(&git)).transpose()?.flatten() {
        Some(link) => target_of(&link).map(|target| directory.join(target)),
        None => Some(git),
    };
    match target.map(|target| contents(&target.join("HEAD"))) {
        Some(Err(error)) if is_denied(&error) => Err(error),
        _ => Ok(is_file),
    }
}

/// The target of a `.git` file.
fn target_of(link: &[u8]) -> Option<PathBuf> {
    gix::discover::parse::gitdir(link).ok()
}

fn native(path: &[u8]) -> PathBuf {
    gix::path::from_bstr(path.as_bstr()).map(|path| path.into_owned()).unwrap_or_default()
}

/// Reads a configuration; empty if it does not exist.
fn read_config(path: &Path) -> Result<config::File> {
    let text = contents(path)?.unwrap_or_default();
    let config = config::File::from_bytes_no_includes(
        &text,
        config::file::Metadata::from(config::Source::Local),
        config::file::init::Options::default(),
    );
    config.map_err(|error| {
        // The parser's message quotes the text, which may contain passwords in URLs.
        let line = error.downcast_any_ref::<config::parse::Error>();
        let line =
            line.map_or_else(String::new, |error| format!(" (line {})", error.line_number()));
        let message = format!("{} is no git configuration{line}; repair it", path.display());
        Error::new(Code::Corrupt, message)
    })
}

/// A file's contents; `None` if it does not exist. Symbolic links are followed, as git does.
fn contents(path: &Path) -> Result<Option<Vec<u8>>> {
    let read = || -> FileResult<_> {
        let path = LocalDisk.canonical(path)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::system("read", &path, ErrorKind::IsADirectory.into()));
        };
        LocalDisk.read(parent, Path::new(name), MAX_BYTES)
    };
    match read() {
        Ok(contents) if contents.length > MAX_BYTES => Err(Error::new(
            Code::TooLarge,
            format!("{} is larger than {} MiB", path.display(), MAX_BYTES >> 20),
        )),
        Ok(contents) => Ok(Some(contents.bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

/// The error for a workspace that is not a directory.
pub(super) fn no_directory(workspace: &Path) -> Error {
    let message = format!("workspace must be a directory, {} is none", workspace.display());
    Error::new(Code::InvalidArgument, message)
}

fn is_denied(error: &Error) -> bool {
    error.cause.as_ref().is_some_and(|cause| cause.kind == ErrorKind::PermissionDenied)
}

/// The error for a failed file operation.
pub(super) fn unreadable(cause: FileError) -> Error {
    let message = format!("could not read {}: {cause}", cause.path.display());
    Error { code: Code::Io, message, cause: Some(cause) }
}
