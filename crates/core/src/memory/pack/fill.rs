//! Budget packing: chooses the entries that fit into a number of UTF-16 code units, cuts very long ones, and
//! adds the map and a note on omitted entries.

use std::collections::HashSet;

use super::{
    Filled, Part, RenderMap,
    entry::{Entry, utf16_length},
};

const MAP_HEAD: &str = "## Repository map\n```\n";
const MAP_TAIL: &str = "\n```";
const MAP_FRAME: usize = MAP_HEAD.len() + MAP_TAIL.len();
/// The length of the gap between two sections.
const GAP: usize = 2;
/// The map gets at least one part in this many of a full pack.
const MAP_SHARE: usize = 4;
/// A record that is larger than the budget is cut to one part in this many, if there are others.
const LARGE_SHARE: usize = 3;
/// A length in which every map is useful.
const ENOUGH_TO_TELL: usize = 2000;
/// The least space for a map.
const LEAST_MAP: usize = 40;

/// The pack in at most `most` UTF-16 code units.
pub(super) fn fill(entries: &[Entry], map: Option<&RenderMap>, most: usize) -> Filled {
    let map = map.filter(|render| !render(ENOUGH_TO_TELL).is_empty());
    let whole = Selection::of(entries);
    if whole.length() <= most {
        return assemble(entries, &whole, map, most);
    }
    let reserved = map.map_or(0, |render| {
        let share = (most / MAP_SHARE).saturating_sub(GAP + MAP_FRAME);
        if share < LEAST_MAP { 0 } else { GAP + MAP_FRAME + utf16_length(&render(share)) }
    });
    // The longest possible note on omitted entries.
    let note = GAP + utf16_length(&left_out(entries, &HashSet::new(), true));
    let mut selection = [most.saturating_sub(reserved + note), most.saturating_sub(note), most]
        .into_iter()
        .map(|room| Selection::within(entries, room, most))
        .find(|selection| !selection.is_empty())
        .unwrap_or_default();
    while selection.chosen.len() > 1 && selection.length_with_note(entries) > most {
        selection.drop_least();
    }
    assemble(entries, &selection, map, most)
}

/// The chosen entries, the map in the remaining space, and the note on omitted entries.
fn assemble(
    entries: &[Entry],
    selection: &Selection,
    map: Option<&RenderMap>,
    most: usize,
) -> Filled {
    let mut parts = Vec::new();
    let mut left = most;
    let mut add = |part: String| {
        let gap = if parts.is_empty() { 0 } else { GAP };
        let rest = left.checked_sub(gap + utf16_length(&part)).filter(|_| !part.is_empty());
        if let Some(rest) = rest {
            left = rest;
            parts.push(part);
        }
        (left, rest.is_some())
    };
    let (room, has_entries) = add(selection.text());
    let said = left_out(entries, &selection.numbers, false);
    let said_length = if said.is_empty() { 0 } else { GAP + utf16_length(&said) };
    let room = room.saturating_sub(GAP + MAP_FRAME + said_length);
    let map_text = map.map(|render| render(room)).filter(|text| !text.is_empty());
    let lacks_map = map.is_some() && map_text.is_none();
    let has_map = map_text.is_some_and(|text| add(format!("{MAP_HEAD}{text}{MAP_TAIL}")).1);
    let (_, is_said) = add(left_out(entries, &selection.numbers, lacks_map));
    if !is_said {
        add(said);
    }
    let mut filled = Filled {
        text: parts.join("\n\n"),
        has_repo_map: has_map,
        lacks_repo_map: map.is_some() && !has_map,
        ..Filled::default()
    };
    for (number, entry) in entries.iter().enumerate() {
        let is_included = has_entries && selection.numbers.contains(&number);
        let list = if is_included { &mut filled.included } else { &mut filled.left_out };
        list.push(entry.record.clone());
        if is_included && selection.cut.contains(&number) {
            filled.cut.push(entry.record.clone());
        }
    }
    filled
}

/// The chosen entries.
#[derive(Default)]
struct Selection {
    /// Most useful first.
    chosen: Vec<Entry>,
    /// Their indices among all entries.
    numbers: HashSet<usize>,
    /// The indices, among all entries, of those that are cut to their beginning.
    cut: HashSet<usize>,
}

impl Selection {
    fn of(entries: &[Entry]) -> Self {
        Self {
            chosen: entries.to_vec(),
            numbers: (0..entries.len()).collect(),
            cut: HashSet::new(),
        }
    }

    /// The most useful entries that fit into `room` of a budget of `most`.
    fn within(entries: &[Entry], room: usize, most: usize) -> Self {
        let mut selection = Self::default();
        let mut length = 0;
        let is_alone = entries.len() == 1;
        for (number, whole) in entries.iter().enumerate() {
            let added = selection.cost(whole.part);
            let left = room.saturating_sub(length + added);
            let entry = if whole.length + whole.part.heading().len() >= most {
                let share = if is_alone { left } else { left.min(most / LARGE_SHARE) };
                whole.cut(share)
            } else {
                Some(whole.clone())
            };
            let Some(entry) = entry.filter(|entry| entry.length <= left && left > 0) else {
                continue;
            };
            if entry.length < whole.length {
                selection.cut.insert(number);
            }
            length += added + entry.length;
            selection.chosen.push(entry);
            selection.numbers.insert(number);
        }
        selection
    }

    fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// The length of the text with the note on omitted entries.
    fn length_with_note(&self, entries: &[Entry]) -> usize {
        self.length() + GAP + utf16_length(&left_out(entries, &self.numbers, false))
    }

    fn drop_least(&mut self) {
        self.chosen.pop();
        if let Some(least) = self.numbers.iter().max().copied() {
            self.numbers.remove(&least);
        }
    }

    /// The additional length for an entry of a section: its gap, and a new heading.
    fn cost(&self, part: Part) -> usize {
        let newline = 1;
        if self.chosen.iter().any(|entry| entry.part == part) {
            newline
        } else {
            let gap = if self.is_empty() { 0 } else { GAP };
            gap + part.heading().len() + newline
        }
    }

    /// The sections, the one with the most useful entry first.
    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for entry in &self.chosen {
            if !parts.contains(&entry.part) {
                parts.push(entry.part);
            }
        }
        parts
    }

    /// The length of the text, in UTF-16 code units.
    fn length(&self) -> usize {
        let parts = self.parts();
        let headings: usize = parts.iter().map(|part| part.heading().len()).sum();
        let entries: usize = self.chosen.iter().map(|entry| entry.length + 1).sum();
        headings + entries + GAP * parts.len().saturating_sub(1)
    }

    fn text(&self) -> String {
        let part = |part: Part| {
            let mut text = part.heading().to_owned();
            for entry in self.chosen.iter().filter(|entry| entry.part == part) {
                text.push('\n');
                text.push_str(&entry.text);
            }
            text
        };
        self.parts().into_iter().map(part).collect::<Vec<String>>().join("\n\n")
    }
}

/// The note on the entries without these numbers, and on a missing map.
fn left_out(entries: &[Entry], numbers: &HashSet<usize>, lacks_map: bool) -> String {
    let mut missing = Vec::new();
    for part in Part::ALL {
        let count = entries
            .iter()
            .enumerate()
            .filter(|(number, entry)| entry.part == part && !numbers.contains(number))
            .count();
        if count > 0 {
            missing.push(part.count(count));
        }
    }
    if lacks_map {
        missing.push("the repository map".to_owned());
    }
    if missing.is_empty() {
        return String::new();
    }
    format!("_Left out for lack of room: {}._", missing.join(", "))
}
