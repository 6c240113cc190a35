//! The preview of the output of `grep`, `rg` and similar tools: the hits grouped by file.

use rustc_hash::FxHashMap;

use super::{Preview, counted, failures, hit_lines, lines, outlined, write_sections};

/// The least share of lines that are hits.
const LEAST_SHARE: (usize, usize) = (98, 100);
const LEAST_HITS: usize = 8;
/// The most files, and hits of each, that are remembered.
const MAX_FILES: usize = 10_000;
const MAX_HITS: usize = 20;

/// The hits in one file.
struct File<'t> {
    name: &'t str,
    hits: usize,
    first: Vec<String>,
}

/// Files in the order of their first hits.
#[derive(Default)]
struct Files<'t> {
    files: Vec<File<'t>>,
    numbers: FxHashMap<&'t str, usize>,
}

impl<'t> Files<'t> {
    fn add(&mut self, name: &'t str, hit: impl FnOnce() -> String) {
        let number = *self.numbers.entry(name).or_insert_with(|| {
            self.files.push(File { name, hits: 0, first: Vec::new() });
            self.files.len() - 1
        });
        let Some(file) = self.files.get_mut(number) else { return };
        file.hits += 1;
        if file.first.len() < MAX_HITS {
            file.first.push(hit());
        }
    }
}

/// The numbers of search hits and of files in a text; `None` if the text is not the output of a search.
pub(in crate::context) fn count(text: &str) -> Option<(usize, usize)> {
    let files = files_of(text)?;
    Some((files.iter().map(|file| file.hits).sum(), files.len()))
}

fn files_of(text: &str) -> Option<Vec<File<'_>>> {
    numbered(text).or_else(|| headed(text))
}

/// The preview of search hits; `None` for other texts.
pub(super) fn preview(text: &str, max_bytes: usize) -> Option<Preview> {
    let files = files_of(text)?;
    let hits: usize = files.iter().map(|file| file.hits).sum();
    let first = format!("{} in {}", counted(hits, "search hit"), counted(files.len(), "file"));
    let sections: Vec<(String, Vec<String>)> = files
        .into_iter()
        .map(|file| (format!("{}: {}", file.name, counted(file.hits, "hit")), file.first))
        .collect();
    Some(outlined(write_sections(&first, &sections, "files", max_bytes), text, max_bytes))
}

/// The files, if nearly all lines are hits; `read` parses a line, and returns `None` if it is no hit.
fn read<'t>(
    text: &'t str,
    mut read: impl FnMut(&'t str, &mut Files<'t>) -> bool,
) -> Option<Vec<File<'t>>> {
    let mut files = Files::default();
    let (mut all, mut strange) = (0_usize, 0_usize);
    for line in lines::contents(text) {
        if line.is_empty() || line == "--" {
            continue;
        }
        all += 1;
        if !read(line, &mut files) {
            strange += 1;
            let is_too_strange = strange > 2 && strange * 50 > all;
            if is_too_strange || failures::weight(line) >= failures::REPORTING {
                return None;
            }
        }
        if files.files.len() > MAX_FILES {
            return None;
        }
    }
    let (least, whole) = LEAST_SHARE;
    let hits: usize = files.files.iter().map(|file| file.hits).sum();
    let are_hits = hits >= LEAST_HITS && (all - strange) * whole >= all * least;
    are_hits.then_some(files.files)
}

fn numbered(text: &str) -> Option<Vec<File<'_>>> {
    read(text, |line, files| {
        let Some(hit) = hit_lines::numbered(line) else { return false };
        if !is_path(hit.name) || is_message(hit.said) {
            return false;
        }
        files.add(hit.name, || format!("  {}: {}", hit.number, hit.said.trim()));
        true
    })
}

fn headed(text: &str) -> Option<Vec<File<'_>>> {
    let mut file = None;
    read(text, |line, files| match hit_lines::headed(line) {
        Some((number, said)) => {
            let Some(name) = file else { return false };
            files.add(name, || format!("  {number}: {}", said.trim()));
            true
        }
        None => {
            file = Some(line);
            is_path(line) && !line.contains(": ")
        }
    })
}

/// Whether a name has a directory or an extension.
fn is_path(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    name.contains(['/', '\\'])
        || extension.is_some_and(|one| {
            (1..=10).contains(&one.len())
                && one.starts_with(|first: char| first.is_ascii_alphabetic())
        })
}

/// Whether a text is the message of a compiler.
fn is_message(said: &str) -> bool {
    let said = said.trim_start();
    ["error", "warning", "fatal", "note:", "Error", "Warning", "ERROR", "FAIL"]
        .iter()
        .any(|word| said.starts_with(word))
}
