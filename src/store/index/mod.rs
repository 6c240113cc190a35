//! What is known of all entries.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Deserialize;
use serde_json::json;

use super::{Entry, EntryType, Location, Problem, Summary, time};
use crate::{debug::Debug, error::Result, file_system::FileSystem};

/// What entries have to be like; absent conditions hold for all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Filter {
    pub agents: Option<Vec<String>>,
    pub sessions: Option<Vec<String>>,
    pub types: Option<Vec<EntryType>>,
    pub tags_all: Vec<String>,
    pub tags_any: Vec<String>,
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub query: Option<String>,
    pub ranked: bool,
    pub superseded: Option<bool>,
    pub limit: usize,
}

/// Which way links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    Links,
    Backlinks,
    Both,
}

pub(super) struct Facts {
    pub path: String,
    pub agent: String,
    pub changed: i64,
    pub links: Vec<String>,
    pub length: u64,
}

pub(super) struct EntryIndex {
    file_system: Arc<dyn FileSystem>,
    root: PathBuf,
    max_entry_bytes: u64,
    entries: Mutex<Vec<(Entry, Option<i64>, u64)>>,
    problems: Mutex<HashMap<String, Problem>>,
}

impl EntryIndex {
    pub fn new(file_system: Arc<dyn FileSystem>, root: PathBuf, max_entry_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            file_system,
            root,
            max_entry_bytes,
            entries: Mutex::default(),
            problems: Mutex::default(),
        })
    }
    fn entries(&self) -> MutexGuard<'_, Vec<(Entry, Option<i64>, u64)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub async fn refresh(self: &Arc<Self>, debug: &Debug) -> Result<()> {
        let file_system = self.file_system.as_ref();
        let mut directories = Vec::new();
        for agent in file_system.directories(&self.root).await.unwrap_or_default() {
            for session in
                file_system.directories(&self.root.join(&agent)).await.unwrap_or_default()
            {
                directories.push(vec![agent.clone(), session]);
            }
            directories.push(vec![agent]);
        }
        let mut entries = Vec::new();
        for directory in directories {
            let path = directory.iter().fold(self.root.clone(), |path, name| path.join(name));
            for file in file_system.list(&path).await.unwrap_or_default() {
                let mut parts: Vec<&str> = directory.iter().map(String::as_str).collect();
                parts.push(&file.name);
                let Some(location) = Location::of(&parts) else { continue };
                let relative = Path::new(location.as_str());
                let read = file_system.read(&self.root, relative, self.max_entry_bytes).await;
                let Ok(contents) = read else { continue };
                let length = contents.length;
                let read = if length > self.max_entry_bytes {
                    Err(Problem { line: 1, reason: "too long".to_owned() })
                } else {
                    Entry::read(&location, &contents.bytes)
                };
                match read {
                    Ok(entry) => entries.push((entry, file.modified, length)),
                    Err(problem) => {
                        let mut problems =
                            self.problems.lock().unwrap_or_else(PoisonError::into_inner);
                        if problems.insert(location.as_str().to_owned(), problem.clone()).as_ref()
                            != Some(&problem)
                        {
                            debug.say("A file is no entry", || {
                                json!({ "path": location.as_str(), "line": problem.line, "reason": problem.reason })
                            });
                        }
                    }
                }
            }
        }
        let key = |(entry, modified, _): &(Entry, Option<i64>, u64)| {
            (time::parse(&entry.summary.timestamp), *modified, entry.summary.path.clone())
        };
        entries.sort_by_key(|entry| std::cmp::Reverse(key(entry)));
        *self.entries() = entries;
        Ok(())
    }
    pub fn note(&self, _: &Location) {}
    pub async fn save(&self) {}
    pub fn find(&self, filter: &Filter) -> Result<Vec<Location>> {
        Ok(self
            .summaries(filter)?
            .into_iter()
            .filter_map(|summary| Location::parse(&summary.path).ok())
            .collect())
    }
    pub fn summaries(&self, filter: &Filter) -> Result<Vec<Summary>> {
        let entries = self.entries();
        let found = entries.iter().map(|(entry, ..)| entry).filter(|entry| {
            let Entry { summary, content, .. } = entry;
            let time = time::parse(&summary.timestamp).unwrap_or_default();
            filter.agents.as_ref().is_none_or(|agents| agents.contains(&summary.agent))
                && filter.sessions.as_ref().is_none_or(|sessions| {
                    summary.session_id.as_ref().is_some_and(|id| sessions.contains(id))
                })
                && filter.types.as_ref().is_none_or(|types| types.contains(&summary.entry_type))
                && filter.tags_all.iter().all(|tag| summary.tags.contains(tag))
                && (filter.tags_any.is_empty()
                    || filter.tags_any.iter().any(|tag| summary.tags.contains(tag)))
                && filter.since.is_none_or(|since| since <= time)
                && filter.until.is_none_or(|until| time <= until)
                && filter.superseded.is_none_or(|wanted| summary.superseded_by.is_some() == wanted)
                && filter.query.as_ref().is_none_or(|query| {
                    query
                        .split_whitespace()
                        .all(|word| content.to_lowercase().contains(&word.to_lowercase()))
                })
        });
        Ok(found.take(filter.limit).map(|entry| entry.summary.clone()).collect())
    }
    pub fn summary(&self, path: &str) -> Option<Summary> {
        self.entries()
            .iter()
            .map(|(entry, ..)| &entry.summary)
            .find(|summary| summary.path == path)
            .cloned()
    }
    pub fn related(
        &self,
        path: &str,
        depth: usize,
        direction: Direction,
        limit: usize,
    ) -> Vec<Location> {
        let entries = self.entries();
        let mut seen = HashSet::from([path.to_owned()]);
        let mut near = vec![path.to_owned()];
        let mut found = Vec::new();
        for _ in 0..depth {
            let mut next = Vec::new();
            for (entry, ..) in entries.iter() {
                let own = &entry.summary;
                let is_linked = entries.iter().any(|(from, ..)| {
                    near.contains(&from.summary.path) && from.summary.links.contains(&own.path)
                });
                let links = own.links.iter().any(|link| near.contains(link));
                let is_near = match direction {
                    Direction::Links => is_linked,
                    Direction::Backlinks => links,
                    Direction::Both => links || is_linked,
                };
                if is_near && seen.insert(own.path.clone()) {
                    next.push(own.path.clone());
                }
            }
            found.extend(next.iter().filter_map(|path| Location::parse(path).ok()));
            near = next;
        }
        found.truncate(limit);
        found
    }
    pub fn facts(&self) -> Vec<Facts> {
        let entries = self.entries();
        let facts = entries.iter().map(|(entry, _, length)| Facts {
            path: entry.summary.path.clone(),
            agent: entry.summary.agent.clone(),
            changed: entry
                .changelog
                .iter()
                .map(|change| &change.timestamp)
                .chain([&entry.summary.timestamp])
                .filter_map(|text| time::parse(text))
                .max()
                .unwrap_or_default(),
            links: entry.summary.links.clone(),
            length: *length,
        });
        facts.collect()
    }
    pub fn problems(&self) -> Vec<(String, Problem)> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.iter().map(|(path, problem)| (path.clone(), problem.clone())).collect()
    }
}
