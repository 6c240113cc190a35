//! Resolves paths by their text, without I/O: which file of the directory a caller's path refers to.

use std::path::{Component, Path, PathBuf};

use storage::layout;

use crate::error::{Error, Result};

/// The path relative to `directory` that `path` refers to. `prefix` is the directory with its separator, `root` its
/// canonical path.
///
/// # Errors
/// `OutsideDirectory` if it leads out of the directory.
pub(super) fn below(
    path: &str,
    directory: &str,
    prefix: &str,
    root: Option<&Path>,
) -> Result<String> {
    let outside = || Error::outside(path, directory);
    if let Some(name) = path.strip_prefix(prefix)
        && layout::parse_context(name).is_some()
    {
        return Ok(name.to_owned());
    }
    if path.contains('\0') {
        return Err(outside());
    }
    let directory = Path::new(directory);
    let given = Path::new(path);
    let absolute = if given.is_absolute() || given.starts_with(directory) {
        given.to_owned()
    } else if given.components().count() == 1 {
        // A bare file name, such as `pointer.filename`.
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

/// Resolves `.` and `..` in the text of the path.
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
