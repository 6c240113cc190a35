//! The paths of entries, `<agent>/[<session>/]<name>.md`, relative to the store's directory.

use storage::layout;

use crate::error::{Code, Error, Result};

use super::time;

/// The path of an entry, relative to the store. Any Markdown file at such a path may be an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    path: String,
}

impl Location {
    /// The greatest number of directories between the store and an entry.
    pub(super) const MAX_DIRECTORIES: usize = 2;

    /// Parses a path from a caller.
    ///
    /// # Errors `OutsideDirectory` for a path that leads out of the store, `InvalidArgument` for
    /// one that no entry can have.
    pub fn parse(path: &str) -> Result<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        let leads_out = path.starts_with(['/', '\\', '~'])
            || path.contains(['\\', '\0', ':'])
            || parts.iter().any(|part| matches!(*part, "" | "." | ".."));
        if leads_out && !path.is_empty() {
            return Err(Error::new(
                Code::OutsideDirectory,
                // Not quoted: escape sequences in a quoted path would hide secrets from redaction.
                format!("{path} is no path below the context store; pass an entry's path"),
            ));
        }
        Self::of(&parts).ok_or_else(|| {
            Error::new(
                Code::InvalidArgument,
                format!(
                    "{path} is no path of an entry; pass one like \"code-reviewer/20260221T143022-auth.md\""
                ),
            )
        })
    }

    /// The path of these directories and this file name; `None` if no entry can have it.
    pub(super) fn of(parts: &[&str]) -> Option<Self> {
        let (name, directories) = parts.split_last()?;
        let is_place = (1..=Self::MAX_DIRECTORIES).contains(&directories.len())
            && name.len() > layout::ENTRY_SUFFIX.len()
            && name.ends_with(layout::ENTRY_SUFFIX)
            && parts.iter().all(|part| !part.starts_with('.') && !part.is_empty());
        is_place.then(|| Self { path: parts.join("/") })
    }

    /// The path relative to the store, with `/` between its parts.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// The first directory, named like the agent.
    #[must_use]
    pub fn agent(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// The second directory, named like the session, if there is one.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        let mut parts = self.path.split('/');
        parts.nth(1).filter(|_| parts.next().is_some())
    }

    /// The directories, `/` between them.
    #[must_use]
    pub fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The time at the start of the file's name, ms since 1970; `None` if the file was not named by
    /// this package.
    #[must_use]
    pub fn time(&self) -> Option<i64> {
        time::parse_compact(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_an_agent_and_perhaps_a_session() {
        let plain = Location::parse("code-reviewer/20260221T143022-auth.md").unwrap();
        assert_eq!((plain.agent(), plain.session()), ("code-reviewer", None));
        assert_eq!((plain.directory(), plain.name()), ("code-reviewer", "20260221T143022-auth.md"));
        assert_eq!(plain.time(), Some(1_771_684_222_000));
        let of_session = Location::parse("code-reviewer/a1b2/notes.md").unwrap();
        assert_eq!((of_session.agent(), of_session.session()), ("code-reviewer", Some("a1b2")));
        assert_eq!((of_session.directory(), of_session.time()), ("code-reviewer/a1b2", None));
    }

    #[test]
    fn never_leads_out_of_the_store() {
        for path in [
            "/etc/passwd.md",
            "../a/b.md",
            "a/../../b.md",
            "a/./b.md",
            "a//b.md",
            "~/a/b.md",
            "C:/a/b.md",
            "a\\b.md",
            "a/b.md\0",
            "\\\\server\\share\\a.md",
            "a/b.md/",
            "a/b:stream.md",
        ] {
            assert_eq!(Location::parse(path).unwrap_err().code, Code::OutsideDirectory, "{path}");
        }
    }

    #[test]
    fn is_a_markdown_file_of_an_agent() {
        for path in ["", "a.md", "a/b", "a/b.txt", "a/.md", "a/.hidden.md", ".a/b.md", "a/b/c/d.md"]
        {
            assert_eq!(Location::parse(path).unwrap_err().code, Code::InvalidArgument, "{path}");
        }
    }
}
