//! Determines the repository that a workspace belongs to, and the repository's hash, which names the
//! directory of its memory. Reads git's files without the `git` program.

mod remote;
mod repository;
#[cfg(test)]
mod tests;

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use storage::{Disk, LocalDisk};

use crate::error::{Code, Error, Result};
use repository::{Head, Place, no_directory, unreadable};

/// A prefix that distinguishes these hashes from others and from other versions of the scheme.
const DOMAIN: &[u8] = b"agent-context repository 1";

/// Whether branches share a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BranchScope {
    /// Each branch of each work tree has its own memory.
    #[default]
    PerBranch,
    /// All branches and work trees of a repository share one memory.
    SharedRepo,
}

/// The repository that a workspace belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// SHA-256, 64 lower-case hexadecimal digits.
    pub repo_hash: String,
    /// The root of the work tree with the workspace, the directory of a bare repository, or without a
    /// repository the workspace; canonical.
    pub workspace: PathBuf,
    /// The path in the hash: `workspace`, or with [`BranchScope::SharedRepo`] the main work tree.
    pub path: PathBuf,
    /// The remote without protocol, credentials, default port and `.git`, such as `github.com/owner/name`, or
    /// the path of a local remote.
    pub remote: Option<String>,
    /// The branch, or the commit of a detached HEAD; `None` if neither can be read, and with
    /// [`BranchScope::SharedRepo`].
    pub branch: Option<String>,
}

impl Identity {
    /// Reads the identity of a workspace on the local disk, without the `git` program. Blocks.
    ///
    /// The hash covers the root of the work tree, the remote and the branch; without a remote, only the root.
    /// With [`BranchScope::SharedRepo`] it covers the remote and the root of the main work tree, or the
    /// directory of a repository without one. A workspace inside a repository's own directory belongs to its
    /// work tree.
    ///
    /// A `.git` file with an invalid target and a `.git` directory without a repository are ignored. A
    /// repository that exists but cannot be read is an error; otherwise the workspace would temporarily get
    /// another identity.
    ///
    /// # Errors
    /// `NotFound` if the workspace does not exist, `InvalidArgument` if it is no directory, `Io`, `Corrupt`
    /// for a repository with an invalid configuration or HEAD, `TooLarge` for a configuration over 16 MiB,
    /// `Unsupported` for a branch in a reftable
    pub fn of(workspace: &Path, scope: BranchScope) -> Result<Self> {
        let Place { root, repository } = Place::of(&canonical(workspace)?)?;
        let Some(repository) = repository else {
            let repo_hash = hash(&[root.as_os_str().as_encoded_bytes()]);
            let path = root.clone();
            return Ok(Self { repo_hash, workspace: root, path, remote: None, branch: None });
        };
        let path = match scope {
            BranchScope::PerBranch => root.clone(),
            BranchScope::SharedRepo => repository.shared_path()?,
        };
        let remote = repository.remote(&path);
        let is_branch_hashed = scope == BranchScope::PerBranch && remote.is_some();
        let head = match repository.head() {
            Err(error) if is_branch_hashed => return Err(error),
            head => head.ok().filter(|_| scope == BranchScope::PerBranch),
        };
        let hashed_head = head.as_ref().filter(|_| is_branch_hashed).map(Head::whole_name);
        let mut parts = vec![path.as_os_str().as_encoded_bytes()];
        parts.extend(remote.iter().map(|remote| remote.as_slice()));
        parts.extend(hashed_head.map(|name| &**name));
        Ok(Self {
            repo_hash: hash(&parts),
            workspace: root,
            path,
            remote: remote.map(|remote| remote.to_string()),
            branch: head.map(|head| head.short_name().to_string()),
        })
    }

    /// The identity of the same workspace on another branch or commit; `None` for the one that all branches
    /// share.
    #[must_use]
    pub fn on_branch(&self, branch: Option<String>) -> Self {
        let mut parts = vec![self.path.as_os_str().as_encoded_bytes()];
        let head = branch.as_deref().map(whole_name);
        if let Some(remote) = &self.remote {
            parts.push(remote.as_bytes());
            parts.extend(head.as_deref().map(str::as_bytes));
        }
        Self { repo_hash: hash(&parts), branch, ..self.clone() }
    }
}

fn canonical(workspace: &Path) -> Result<PathBuf> {
    LocalDisk.canonical(workspace).map_err(|error| match error.kind {
        ErrorKind::NotFound => Error::new(
            Code::NotFound,
            format!("workspace: there is no directory {}", workspace.display()),
        ),
        ErrorKind::NotADirectory | ErrorKind::InvalidInput => no_directory(workspace),
        _ => unreadable(error),
    })
}

/// The full name of a branch, as HEAD has it, or a commit.
fn whole_name(branch: &str) -> String {
    let is_commit = matches!(branch.len(), 40 | 64)
        && branch.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_commit || branch.starts_with("refs/") {
        branch.to_owned()
    } else {
        format!("refs/heads/{branch}")
    }
}

/// Hashes the parts, each after its length, so that different lists of parts never give the same input.
fn hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text has the form of a repository hash.
#[must_use]
pub fn is_repo_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
