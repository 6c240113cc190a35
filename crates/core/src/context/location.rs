//! What a path means, by its spelling alone.

use std::path::{Component, Path, PathBuf};

use storage::layout;

use crate::error::{Error, Result};

/// The path below `directory` that `path` means. `prefix` is the directory with its separator, `root` the
/// directory without symbolic links.
///
/// # Errors
/// `OutsideDirectory` when it leads elsewhere.
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
