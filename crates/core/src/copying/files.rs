//! Copying files, some at a time.

use std::{
    collections::HashMap,
    io::ErrorKind::{AlreadyExists, NotFound},
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::{
    DirectorySync, Durability, FileError, FileResult, FileSystem, Payload, Target, create_file,
    layout, replace_file,
};
use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

use super::{
    CopyPolicy, CopyReport,
    selection::{Comparison, FileKind, STAGES, SelectedFile, select},
};
use crate::{
    context::last_use_of_session,
    debug::Debug,
    error::{Code, Error, Result},
    safety::{Inspection, Place, Trust},
};

/// The files that are copied at the same time.
const AT_ONCE: u32 = 8;
/// A file is in memory while it is copied: a longer one is copied alone.
const LONG: u64 = 8 * 1024 * 1024;

/// A place of files.
#[derive(Clone)]
pub struct Tree {
    /// Where it is.
    pub file_system: Arc<dyn FileSystem>,
    /// Its absolute path or its namespace.
    pub directory: PathBuf,
}

/// What became of a file.
enum Outcome {
    /// It was removed since it was listed.
    Gone,
    AlreadyThere,
    Copied {
        bytes: u64,
        is_replacement: bool,
    },
    Conflict,
}

type Ended = std::result::Result<Result<(SelectedFile, Outcome)>, JoinError>;

/// How many of the files that are copied at the same time it counts for.
fn weight_of(file: &SelectedFile) -> u32 {
    if file.length.is_some_and(|length| length <= LONG) { 1 } else { AT_ONCE }
}

struct Copier {
    from: Tree,
    to: Tree,
    policy: CopyPolicy,
    /// The canonical path of the source.
    root: PathBuf,
    synchronisation: DirectorySync,
}

/// Copies the files of a place that the destination does not have. Files that both have with different contents are reported, and
/// stay as they are unless the policy says otherwise. Can be repeated after any interruption.
///
/// # Errors
/// `Corrupt` if what is read back is not what was written, `Conflict` if a change of the store is unfinished, `UnsafeDirectory`,
/// and those of the file system or the database.
pub async fn copy_files(
    kind: FileKind,
    from: Tree,
    to: Tree,
    policy: CopyPolicy,
) -> Result<CopyReport> {
    let mut report = CopyReport::default();
    inspect(&from)?;
    let root = match from.file_system.canonical(&from.directory).await {
        Err(error) if error.is_not_found() => return Ok(report),
        other => other.map_err(|error| unreadable(&from.directory, error))?,
    };
    if kind == FileKind::Store {
        refuse_pending_change(&from, &root).await?;
    }
    let listed = select(kind, from.file_system.as_ref(), &root).await;
    let listed = listed.map_err(|error| unreadable(&from.directory, error))?;
    if !policy.dry_run && !listed.is_empty() {
        prepare(&to, &listed).await?;
    }
    inspect(&to)?;
    let synchronisation = DirectorySync::default();
    let copier = Arc::new(Copier { from, to, policy, root, synchronisation });
    let lengths = copier.lengths(&listed).await?;
    let permits = Arc::new(Semaphore::new(AT_ONCE as usize));
    for stage in 0..STAGES {
        let mut running = JoinSet::new();
        for file in listed.iter().filter(|file| file.stage == stage).cloned() {
            let (copier, length) = (Arc::clone(&copier), lengths.get(&file.relative()).copied());
            let permit = Arc::clone(&permits).acquire_many_owned(weight_of(&file)).await;
            running.spawn(async move {
                let _permit = permit;
                let outcome = copier.copy(&file, length).await;
                outcome.map(|outcome| (file, outcome))
            });
            while let Some(ended) = running.try_join_next() {
                report.add(ended)?;
            }
        }
        while let Some(ended) = running.join_next().await {
            report.add(ended)?;
        }
    }
    Ok(report)
}

impl CopyReport {
    fn add(&mut self, ended: Ended) -> Result<()> {
        let (file, outcome) = ended.map_err(|error| Error::internal(error.to_string()))??;
        match outcome {
            Outcome::Gone => {}
            Outcome::AlreadyThere => self.already_there += 1,
            Outcome::Copied { bytes, is_replacement } => {
                self.copied += 1;
                self.bytes += bytes;
                self.replaced += u64::from(is_replacement);
            }
            Outcome::Conflict => self.add_conflict(file.relative().to_string_lossy().into_owned()),
        }
        Ok(())
    }
}

impl Copier {
    /// The lengths of the files that the destination has; of unknown lengths, the largest number.
    async fn lengths(&self, listed: &[SelectedFile]) -> Result<HashMap<PathBuf, u64>> {
        let mut lengths = HashMap::new();
        let mut directories: Vec<&Path> =
            listed.iter().map(|file| file.directory.as_path()).collect();
        directories.sort_unstable();
        directories.dedup();
        for directory in directories {
            let path = self.to.directory.join(directory);
            let files = match self.to.file_system.list(&path).await {
                Err(error) if error.is_not_found() => continue,
                other => other.map_err(|error| unreadable(&path, error))?,
            };
            lengths.extend(
                files
                    .into_iter()
                    .map(|file| (directory.join(&file.name), file.length.unwrap_or(u64::MAX))),
            );
        }
        Ok(lengths)
    }

    async fn copy(&self, file: &SelectedFile, length: Option<u64>) -> Result<Outcome> {
        let relative = file.relative();
        let from = self.from.file_system.as_ref();
        let contents = match from.read(&self.root, &relative, u64::MAX).await {
            Err(error) if error.kind == NotFound => return Ok(Outcome::Gone),
            other => other.map_err(|error| unreadable(&self.root.join(&relative), error))?.bytes,
        };
        let contents = Payload::new(contents);
        let Some(length) = length else {
            return match self.write(file, &contents, false).await? {
                Some(outcome) => Ok(outcome),
                // Another process was faster.
                None => self.compare(file, &contents).await,
            };
        };
        let differs = ![contents.len() as u64, u64::MAX].contains(&length);
        if differs && file.comparison == Comparison::Equal && !self.policy.overwrite {
            return Ok(Outcome::Conflict);
        }
        self.compare(file, &contents).await
    }

    /// Compares the file with the one that the destination has, and replaces that if it may.
    async fn compare(&self, file: &SelectedFile, contents: &Payload) -> Result<Outcome> {
        let there = self.read_destination(file).await?;
        if there.as_deref() == Some(contents.as_slice()) {
            return Ok(Outcome::AlreadyThere);
        }
        let replaces = match (file.comparison, there.as_deref()) {
            (_, None) => true,
            (Comparison::LastUsed, Some(there)) => {
                if last_use_of_session(there) >= last_use_of_session(contents) {
                    return Ok(Outcome::AlreadyThere);
                }
                true
            }
            (Comparison::Longer, Some(there)) if there.starts_with(contents) => {
                return Ok(Outcome::AlreadyThere);
            }
            (Comparison::Longer, Some(there)) if contents.starts_with(there) => true,
            _ => self.policy.overwrite,
        };
        if !replaces {
            return Ok(Outcome::Conflict);
        }
        Ok(self.write(file, contents, true).await?.unwrap_or(Outcome::Conflict))
    }

    /// Writes the file and reads it back. `None` if a new file was created by another process meanwhile.
    async fn write(
        &self,
        file: &SelectedFile,
        contents: &Payload,
        is_replacement: bool,
    ) -> Result<Option<Outcome>> {
        let done = Outcome::Copied { bytes: contents.len() as u64, is_replacement };
        if self.policy.dry_run {
            return Ok(Some(done));
        }
        let directory = self.to.directory.join(&file.directory);
        let (path, temporary) =
            (directory.join(&file.name), directory.join(layout::replacement(&file.name)));
        let target = Target { directory: &directory, temporary: &temporary, path: &path };
        let (file_system, contents) = (self.to.file_system.as_ref(), Payload::clone(contents));
        let (durability, sync) = (Durability::Full, &self.synchronisation);
        let written: FileResult<()> = if is_replacement {
            replace_file(file_system, target, Payload::clone(&contents), durability, sync).await
        } else {
            create_file(file_system, target, Payload::clone(&contents), durability, sync).await
        };
        match written {
            Err(error) if error.kind == AlreadyExists && !is_replacement => return Ok(None),
            Err(error) => return Err(Error::from_file("write", &path, "to", error)),
            Ok(()) => {}
        }
        if self.read_destination(file).await?.as_deref() != Some(contents.as_slice()) {
            return Err(Error::new(
                Code::Corrupt,
                format!(
                    "{} is not what was written; see whether another program changes it, and copy again",
                    path.display()
                ),
            ));
        }
        Ok(Some(done))
    }

    async fn read_destination(&self, file: &SelectedFile) -> Result<Option<Vec<u8>>> {
        let directory = &self.to.directory;
        let root = self.to.file_system.canonical(directory).await;
        let read = match root {
            Ok(root) => self.to.file_system.read(&root, &file.relative(), u64::MAX).await,
            Err(error) => Err(error),
        };
        match read {
            Err(error) if error.kind == NotFound => Ok(None),
            other => other
                .map(|contents| Some(contents.bytes))
                .map_err(|error| unreadable(&directory.join(file.relative()), error)),
        }
    }
}

/// Creates the directories of the destination.
async fn prepare(to: &Tree, listed: &[SelectedFile]) -> Result<()> {
    let mut directories: Vec<&Path> = listed.iter().map(|file| file.directory.as_path()).collect();
    directories.sort_unstable();
    directories.dedup();
    for directory in directories {
        let path = to.directory.join(directory);
        let made = to.file_system.create_directories(&path).await;
        made.map_err(|error| Error::from_file("create", &path, "to", error))?;
    }
    Ok(())
}

fn inspect(tree: &Tree) -> Result<()> {
    let Some(disk) = tree.file_system.disk() else { return Ok(()) };
    let place = Place {
        what: "directory",
        setting: "from or to",
        directories: &[&tree.directory],
        files: &[],
        own_files: &[],
    };
    Inspection::default().check(disk.as_ref(), &place, Trust::default(), &Debug::default())
}

/// A change of two entries that a crash interrupted is completed by the next process that opens the store.
async fn refuse_pending_change(from: &Tree, root: &Path) -> Result<()> {
    match from.file_system.read(root, Path::new(layout::STORE_JOURNAL), 1).await {
        Err(error) if error.kind == NotFound => Ok(()),
        Err(error) => Err(unreadable(&from.directory, error)),
        Ok(_) => Err(Error::new(
            Code::Conflict,
            format!(
                "a change of the context store {} is unfinished; open the store with ContextStore, list its entries, and copy again",
                from.directory.display()
            ),
        )),
    }
}

fn unreadable(path: &Path, error: FileError) -> Error {
    Error::from_file("read", path, "from or to", error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use storage::LocalDisk;

    use super::*;

    const CONTEXT: &str = "tool_0123456789ab_1700000000000_0_0123456789abcdef";

    fn tree(directory: &Path) -> Tree {
        Tree { file_system: Arc::new(LocalDisk), directory: directory.to_owned() }
    }

    async fn copy(kind: FileKind, from: &Path, to: &Path, overwrite: bool) -> CopyReport {
        let policy = CopyPolicy { overwrite, dry_run: false };
        copy_files(kind, tree(from), tree(to), policy).await.unwrap()
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn contexts_and_sessions_are_copied_and_what_processes_leave_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir(&from).unwrap();
        let kept = [
            format!("{CONTEXT}.json"),
            format!("{CONTEXT}.bin"),
            layout::session("s"),
            layout::ANSWER_KEY.to_owned(),
        ];
        let left = [
            layout::HANDLES.to_owned(),
            layout::lease("0123456789abcdef"),
            layout::temporary("0123456789abcdef", 1),
            "notes.txt".to_owned(),
        ];
        for name in kept.iter().chain(&left) {
            fs::write(from.join(name), name).unwrap();
        }
        let report = copy(FileKind::Contexts, &from, &to, false).await;
        assert_eq!((report.copied, report.conflicts), (4, 0));
        let mut expected = kept.to_vec();
        expected.sort();
        assert_eq!(names(&to), expected);
        assert_eq!(copy(FileKind::Contexts, &from, &to, false).await.already_there, 4);
    }

    #[tokio::test]
    async fn a_session_keeps_its_later_use_and_a_context_its_contents() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let record =
            |used: i64| format!(r#"{{"id":"s","createdAt":1,"lastUsedAt":{used},"keepPaused":9}}"#);
        let (session, context) = (layout::session("s"), format!("{CONTEXT}.json"));
        for (directory, used, text) in [(&from, 5, "one"), (&to, 7, "two")] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join(&session), record(used)).unwrap();
            fs::write(directory.join(&context), text).unwrap();
        }
        let report = copy(FileKind::Contexts, &from, &to, false).await;
        assert_eq!((report.copied, report.already_there), (0, 1));
        assert_eq!(report.conflicting, std::slice::from_ref(&context));
        fs::write(from.join(&session), record(8)).unwrap();
        let report = copy(FileKind::Contexts, &from, &to, true).await;
        assert_eq!((report.copied, report.replaced, report.conflicts), (2, 2, 0));
        assert_eq!(fs::read_to_string(to.join(&session)).unwrap(), record(8));
        assert_eq!(fs::read_to_string(to.join(&context)).unwrap(), "one");
    }

    #[tokio::test]
    async fn entries_and_memories_are_found_at_their_depth() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let hash = "ab".repeat(32);
        for path in [
            "me/20260221T143022-a.md".to_owned(),
            "me/session/20260221T143022-b.md".to_owned(),
            "me/session/deeper/20260221T143022-c.md".to_owned(),
            ".hidden/20260221T143022-d.md".to_owned(),
            layout::STORE_INDEX.to_owned(),
            format!("repos/{hash}/memory.json"),
            format!("repos/{hash}/indexes/x.index"),
        ] {
            let path = from.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        assert_eq!(copy(FileKind::Store, &from, &to, false).await.copied, 2);
        assert_eq!(copy(FileKind::Memories, &from, &to, false).await.copied, 1);
        assert_eq!(names(&to.join("me/session")), ["20260221T143022-b.md"]);
        // A log that continues the copied one replaces it.
        let summaries = format!("repos/{hash}/summaries.jsonl");
        fs::write(from.join(&summaries), "one\n").unwrap();
        assert_eq!(copy(FileKind::Memories, &from, &to, false).await.copied, 1);
        fs::write(from.join(&summaries), "one\ntwo\n").unwrap();
        assert_eq!(copy(FileKind::Memories, &from, &to, false).await.replaced, 1);
        fs::write(from.join(&summaries), "two\n").unwrap();
        assert_eq!(copy(FileKind::Memories, &from, &to, false).await.conflicts, 1);
    }

    #[tokio::test]
    async fn an_unfinished_change_of_a_store_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(layout::STORE_JOURNAL), "{}").unwrap();
        let (from, to) = (tree(folder.path()), tree(&folder.path().join("to")));
        let refused = copy_files(FileKind::Store, from, to, CopyPolicy::default()).await;
        assert_eq!(refused.unwrap_err().code, Code::Conflict);
    }
}
