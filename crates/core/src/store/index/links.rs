//! Links between entries: following them in both directions, and finding those without a target.

use rustc_hash::FxHashSet;
use serde::Deserialize;

use super::{EntryIndex, Location, row::Row, table::Table};

/// The direction in which links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From an entry to the entries it links to.
    Links,
    /// From an entry to the entries that link to it.
    Backlinks,
    /// Both directions.
    Both,
}

/// What housekeeping needs to decide whether an entry is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Known {
    /// The entry's path.
    pub location: Location,
    /// The agent that wrote it.
    pub agent: String,
    /// When it was last changed, by its front matter and its changelog; ms since 1970.
    pub changed: i64,
    /// The paths of the entries it links to.
    pub links: Vec<String>,
    /// The file's length in bytes.
    pub length: u64,
}

impl EntryIndex {
    /// The entries that are at most `depth` links away from one, without itself: nearest first,
    /// then newest first.
    pub fn related(
        &self,
        path: &str,
        depth: usize,
        direction: Direction,
        limit: usize,
    ) -> Vec<Location> {
        let table = self.table();
        let Some(start) = table.number(path) else { return Vec::new() };
        let mut seen: FxHashSet<u32> = std::iter::once(start).collect();
        let (mut found, mut level) = (Vec::new(), vec![start]);
        for _ in 0..depth {
            let mut next: Vec<(u32, &Row)> = level
                .iter()
                .filter_map(|number| table.row(*number))
                .flat_map(|row| neighbours(&table, row, direction))
                .filter(|number| seen.insert(*number))
                .filter_map(|number| Some((number, table.row(number)?)))
                .collect();
            next.sort_unstable_by(|(_, left), (_, right)| left.newest_first(right));
            found.extend(next.iter().filter_map(|(_, row)| row.location()));
            if next.is_empty() || found.len() >= limit {
                break;
            }
            level = next.into_iter().map(|(number, _)| number).collect();
        }
        found.truncate(limit);
        found
    }

    /// All links without a target: the entry with the link, and the missing path.
    pub fn dangling_links(&self) -> Vec<(String, String)> {
        let table = self.table();
        let links = table.rows().flat_map(|row| row.links.iter().map(move |link| (row, link)));
        let dangling = links.filter(|(_, link)| table.number(link).is_none());
        dangling.map(|(row, link)| (row.path.to_string(), link.to_string())).collect()
    }

    /// All entries, newest first.
    pub fn known(&self) -> Vec<Known> {
        let table = self.table();
        let known = table.rows().filter_map(|row| {
            Some(Known {
                location: row.location()?,
                agent: table.names.get(row.agent).to_owned(),
                changed: row.changed,
                links: row.links.iter().map(|link| link.to_string()).collect(),
                length: row.stamp.length,
            })
        });
        known.collect()
    }
}

/// The entries that are one link away, in no order.
fn neighbours(table: &Table, row: &Row, direction: Direction) -> Vec<u32> {
    let mut neighbours = Vec::new();
    if direction != Direction::Backlinks {
        neighbours.extend(row.links.iter().filter_map(|link| table.number(link)));
    }
    if direction != Direction::Links {
        neighbours.extend(table.linking_to(&row.path));
    }
    neighbours
}
