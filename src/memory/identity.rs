//! Which repository a workspace belongs to.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};

/// Whether each branch has a memory of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BranchScope {
    /// Each branch of each work tree has its own.
    #[default]
    PerBranch,
    /// All branches and work trees of a repository share one.
    SharedRepo,
}

/// Which repository a workspace belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// SHA-256, 64 lower-case hexadecimal digits.
    pub repo_hash: String,
    /// The root of the work tree that the workspace lies in, else the workspace; canonical.
    pub workspace: PathBuf,
    /// The remote without protocol, credentials, default port and `.git`, as in `github.com/owner/name`.
    pub remote: Option<String>,
    /// The branch, or the commit of a detached HEAD.
    pub branch: Option<String>,
}

impl Identity {
    /// Reads what git says about a workspace, without the `git` program. Blocks.
    ///
    /// # Errors
    /// `NotFound`, `InvalidArgument`, `Io`
    pub fn of(workspace: &Path, _scope: BranchScope) -> Result<Self> {
        Err(Error::new(Code::NotFound, format!("there is no directory {}", workspace.display())))
    }
}

impl Identity {
    /// The same on another branch.
    #[must_use]
    pub fn on_branch(&self, branch: Option<String>) -> Self {
        Self { branch, ..self.clone() }
    }
}

/// Whether a text has the form of a repository's hash.
#[must_use]
pub fn is_repo_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
