//! Paths as the database has them: a directory and a name, separated by `/` on every system.

use std::{
    io,
    path::{Component, Path},
};

use storage::{FileError, FileResult};

/// The row of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The directory, without a separator at its end: empty for the root.
    pub directory: String,
    /// The name in it.
    pub name: String,
}

/// A directory's path, without a separator at its end.
pub fn directory_of(path: &Path) -> FileResult<String> {
    let mut text = String::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => {
                let name = name.to_str().filter(|name| !name.contains('\0'));
                let Some(name) = name else { return Err(invalid(path)) };
                text.push('/');
                text.push_str(name);
            }
            Component::ParentDir => text.truncate(text.rfind('/').unwrap_or_default()),
            Component::RootDir | Component::Prefix(_) | Component::CurDir => {}
        }
    }
    Ok(text)
}

fn invalid(path: &Path) -> FileError {
    let error = io::Error::new(
        io::ErrorKind::InvalidInput,
        "a path in a database must be UTF-8 without the character U+0000",
    );
    FileError::system("open", path, error)
}

impl Place {
    /// The place of a file.
    pub fn of(path: &Path) -> FileResult<Self> {
        let mut directory = directory_of(path)?;
        let Some(at) = directory.rfind('/') else {
            return Err(FileError::system("open", path, io::ErrorKind::IsADirectory.into()));
        };
        let name = directory.split_off(at + 1);
        directory.pop();
        Ok(Self { directory, name })
    }

    /// The place of a file below a directory. All components of `relative` must be names.
    pub fn below(root: &Path, relative: &Path) -> FileResult<Self> {
        let are_names =
            relative.components().all(|component| matches!(component, Component::Normal(_)));
        if !are_names || relative.as_os_str().is_empty() {
            let error =
                io::Error::new(io::ErrorKind::InvalidInput, "not a path below the directory");
            return Err(FileError::system("read", &root.join(relative), error));
        }
        Self::of(&root.join(relative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_directories_and_names() {
        let place =
            |path: &str| Place::of(Path::new(path)).map(|place| (place.directory, place.name));
        let expected = |directory: &str, name: &str| (directory.to_owned(), name.to_owned());
        assert_eq!(place("/a/b/x.json").unwrap(), expected("/a/b", "x.json"));
        assert_eq!(place("/x").unwrap(), expected("", "x"));
        assert_eq!(place("/a//b/../c/./x").unwrap(), expected("/a/c", "x"));
        assert!(place("/").is_err() && place("/a\0b").is_err());
        let below = |path: &str| Place::below(Path::new("/a"), Path::new(path));
        assert_eq!(below("b/x").unwrap().directory, "/a/b");
        for wrong in ["", "..", "../x", "/x", "."] {
            assert_eq!(below(wrong).unwrap_err().kind, io::ErrorKind::InvalidInput, "{wrong}");
        }
    }
}
