//! Renders a ranking as text: files, best first, each with its most important definitions.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{outline::Outline, ranking::Ranking, record::SourceFile};
use crate::symbols::Definition;

/// The best files and definitions of a workspace, as text and as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderedMap {
    /// Each file's path on a line, followed by its shown definitions, indented by their containers. Files without
    /// definitions come last.
    pub text: String,
    /// The files of the text, in order.
    pub files: Vec<MappedFile>,
    /// Number of source files in the workspace, as far as they were examined.
    pub total_files: usize,
    /// Whether the workspace has more source files than are examined.
    pub is_truncated: bool,
}

/// A file of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MappedFile {
    /// Relative to the workspace, with `/` between components.
    pub path: String,
    /// The shown definitions, in the order of the file.
    pub symbols: Vec<Definition>,
}

/// Shows as many definitions, best first, as fit into `max_chars` UTF-16 units with the paths of their files and their
/// containers, followed by paths of other files. With more room, no definition is dropped.
pub(super) fn render(
    files: &[SourceFile],
    ranking: &Ranking,
    max_chars: usize,
    is_truncated: bool,
) -> RenderedMap {
    // The last line has no line end.
    let mut room = max_chars.saturating_add(1);
    let mut outlines: FxHashMap<u32, Outline<'_>> = FxHashMap::default();
    for place in &ranking.definitions {
        let Some(file) = files.get(place.file as usize) else { continue };
        let path_units =
            if outlines.contains_key(&place.file) { 0 } else { Outline::path_units(&file.path) };
        // No room is left, so the file's definitions need not be examined.
        if path_units >= room {
            break;
        }
        let outline = outlines
            .entry(place.file)
            .or_insert_with(|| Outline::new(&file.path, &file.symbols.definitions));
        let Some(addition) = outline.addition(place.definition as usize) else { continue };
        let Some(left) = room.checked_sub(path_units + addition.units) else {
            if path_units > 0 {
                outlines.remove(&place.file);
            }
            break;
        };
        outline.add(&addition);
        room = left;
    }
    let mut text = String::new();
    let mut mapped = Vec::new();
    let mut bare: Vec<&str> = Vec::new();
    for number in &ranking.files {
        let Some(file) = files.get(*number as usize) else { continue };
        if let Some(outline) = outlines.get(number) {
            outline.write(&mut text);
            let symbols = outline.shown().cloned().collect();
            mapped.push(MappedFile { path: file.path.to_string(), symbols });
        } else if let Some(left) = room.checked_sub(Outline::path_units(&file.path)) {
            bare.push(&file.path);
            room = left;
        }
    }
    for path in bare {
        text.push_str(path);
        text.push('\n');
        mapped.push(MappedFile { path: path.to_owned(), symbols: Vec::new() });
    }
    text.pop();
    RenderedMap { text, files: mapped, total_files: files.len(), is_truncated }
}
