//! The preview of diffs: the names of the files, the headers of their hunks, and the numbers of changed lines.

use super::{Preview, counted, failures, lines, outlined, write_sections};

/// The least share of lines that have the form of a diff.
const LEAST_SHARE: (usize, usize) = (98, 100);
/// The most files, and hunks of each, that are remembered.
const MAX_FILES: usize = 1000;
const MAX_HUNKS: usize = 100;

/// A file that a diff changes.
#[derive(Debug, Default)]
struct File {
    name: String,
    added: usize,
    removed: usize,
    hunks: Vec<String>,
    /// Whether its name was taken from a `+++` line.
    is_named: bool,
}

/// The preview of a diff; `None` for other texts.
pub(super) fn preview(text: &str, max_bytes: usize) -> Option<Preview> {
    let files = files_of(text)?;
    let total = |count: fn(&File) -> usize| files.iter().map(count).sum::<usize>();
    let first = format!(
        "diff of {}: {} added, {} removed",
        counted(files.len(), "file"),
        counted(total(|file| file.added), "line"),
        counted(total(|file| file.removed), "line"),
    );
    let sections: Vec<(String, Vec<String>)> = files
        .into_iter()
        .map(|file| (format!("{} +{} -{}", file.name, file.added, file.removed), file.hunks))
        .collect();
    Some(outlined(write_sections(&first, &sections, "files", max_bytes), text, max_bytes))
}

/// The files of a diff; `None` if the text is not a diff.
fn files_of(text: &str) -> Option<Vec<File>> {
    let mut files: Vec<File> = Vec::new();
    let (mut all, mut strange) = (0, 0);
    // The lines that the current hunk still has, old and new.
    let (mut old, mut new) = (0, 0);
    let mut has_hunk = false;
    for line in lines::contents(text) {
        all += 1;
        if old > 0 || new > 0 {
            let file = files.last_mut()?;
            match line.as_bytes().first() {
                Some(b'+') => {
                    file.added += 1;
                    new -= usize::from(new > 0);
                    continue;
                }
                Some(b'-') => {
                    file.removed += 1;
                    old -= usize::from(old > 0);
                    continue;
                }
                Some(b' ') | None => {
                    (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                    continue;
                }
                Some(b'\\') => continue,
                _ => (old, new) = (0, 0),
            }
        }
        if let Some((removed, added)) = hunk(line) {
            has_hunk = true;
            (old, new) = (removed, added);
            if files.is_empty() {
                files.push(File { name: "a file without a name".to_owned(), ..File::default() });
            }
            let file = files.last_mut()?;
            if file.hunks.len() < MAX_HUNKS {
                file.hunks.push(format!("  line {all}: {line}"));
            }
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.split(" b/").last().unwrap_or(names);
            files.push(File { name: name.to_owned(), ..File::default() });
        } else if let Some(name) = line.strip_prefix("--- ") {
            // Without a `diff --git` line, a file begins here.
            if files.last().is_none_or(|file| file.is_named) {
                files.push(File { name: name_of(name).to_owned(), ..File::default() });
            }
        } else if let Some(name) = line.strip_prefix("+++ ") {
            if let Some(file) = files.last_mut() {
                file.is_named = true;
                if !name.starts_with("/dev/null") {
                    file.name = name_of(name).to_owned();
                }
            }
        } else if !is_head(line) {
            strange += 1;
            if failures::weight(line) >= failures::REPORTING {
                return None;
            }
        }
        if strange * 100 > 100 + all * (LEAST_SHARE.1 - LEAST_SHARE.0) && all > 200
            || files.len() > MAX_FILES
        {
            return None;
        }
    }
    let (least, whole) = LEAST_SHARE;
    (has_hunk && (all - strange) * whole >= all * least).then_some(files)
}

/// The numbers of old and new lines in `@@ -1,4 +1,6 @@`.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let ranges = line.strip_prefix("@@ -")?;
    let (old, rest) = ranges.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => range.parse::<usize>().ok().map(|_| 1),
    };
    Some((length(old)?, length(new)?))
}

/// A file name without git's prefix and without a time.
fn name_of(name: &str) -> &str {
    let name = name.split('\t').next().unwrap_or(name);
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

/// Whether a line belongs to a diff outside its hunks.
fn is_head(line: &str) -> bool {
    const HEADS: [&str; 19] = [
        "index ",
        "new file",
        "deleted file",
        "old mode",
        "new mode",
        "similarity ",
        "dissimilarity ",
        "rename ",
        "copy ",
        "Binary files",
        "GIT binary",
        "Only in ",
        "diff ",
        "commit ",
        "Author:",
        "Date:",
        "Merge:",
        "    ",
        "Index: ",
    ];
    line.is_empty()
        || HEADS.iter().any(|head| line.starts_with(head))
        || line.chars().all(|one| one == '=')
}
