//! Where contexts are: paths as the caller spells them, and what they mean.

use std::path::{Component, Path, PathBuf};

use storage::layout;

use super::{handle, manager::Manager};
use crate::error::{Error, Result};

impl Manager {
    /// A context's path, as the caller's directory spells it.
    pub(super) fn path_of(&self, filename: &str) -> String {
        format!("{}{filename}", self.options.prefix)
    }

    /// The path below the directory that `path` means, which may be a handle as well.
    ///
    /// # Errors
    /// `OutsideDirectory` when it leads elsewhere, `NotFound` for a handle that is not known.
    pub(super) async fn locate(&self, path: &str) -> Result<String> {
        let root = self.opened().map(|opened| opened.root.clone());
        let is_unknown = root.is_none();
        let located = self.locate_below(path, root.as_deref());
        if located.is_err() && is_unknown {
            // The path may spell the directory without the symbolic links that lead to it.
            let directory = Path::new(&self.options.directory);
            if let Ok(root) = self.file_system.canonical(directory).await {
                return self.locate_below(path, Some(&root));
            }
        }
        located
    }

    /// As [`Manager::locate`], without I/O. `root` is the directory without symbolic links.
    pub(super) fn locate_below(&self, path: &str, root: Option<&Path>) -> Result<String> {
        if handle::is_handle(path) {
            return self.state().filename_of(path).ok_or_else(|| handle::not_found(path));
        }
        let outside = || Error::outside(path, &self.options.directory);
        if let Some(name) = path.strip_prefix(&self.options.prefix)
            && layout::parse_context(name).is_some()
        {
            return Ok(name.to_owned());
        }
        if path.contains('\0') {
            return Err(outside());
        }
        let directory = Path::new(&self.options.directory);
        let given = Path::new(path);
        let absolute = if given.is_absolute() || given.starts_with(directory) {
            given.to_owned()
        } else if given.components().count() == 1 {
            // A bare file name, as `pointer.filename` is one.
            directory.join(given)
        } else {
            std::path::absolute(given).map_err(|_| outside())?
        };
        let normal = normalise(&absolute);
        let below = normal
            .strip_prefix(normalise(directory))
            .or_else(|error| root.map_or(Err(error), |root| normal.strip_prefix(root)))
            .map_err(|_| outside())?;
        let text = below.to_str().filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(outside)
    }

    /// Whether both keep the same directory, however they spell it.
    pub(super) async fn shares_directory(&self, other: &Self) -> bool {
        self.options.directory == other.options.directory
            || matches!(
                (self.real_directory().await, other.real_directory().await),
                (Some(own), Some(others)) if own == others
            )
    }

    /// The directory without symbolic links, when it exists.
    async fn real_directory(&self) -> Option<PathBuf> {
        if let Some(opened) = self.opened() {
            return Some(opened.root.clone());
        }
        self.file_system.canonical(Path::new(&self.options.directory)).await.ok()
    }
}

/// Resolves `.` and `..` by the path's spelling.
fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}
