//! Housekeeping: which entries are over, and their removal. Entries are removed here alone.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Entry, Location, Store, index::Known, time};
use crate::error::{Code, Error, Result};

/// Which entries are kept.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// What time it is, ms since 1970.
    pub now: i64,
    /// Entries that nobody wrote or changed for longer than this are over, in ms.
    pub older_than: i64,
    /// The same for single agents, in its place.
    #[serde(default)]
    pub retention: HashMap<String, i64>,
    /// Only the entries of these agents; `None`: of all.
    #[serde(default)]
    pub agents: Option<Vec<String>>,
    /// Also what entries that stay link to.
    #[serde(default)]
    pub include_linked: bool,
}

impl Policy {
    fn is_over(&self, agent: &str, changed: i64) -> bool {
        let kept = self.retention.get(agent).copied().unwrap_or(self.older_than);
        self.agents.as_ref().is_none_or(|agents| agents.iter().any(|other| other == agent))
            && self.now.saturating_sub(changed) > kept
    }
}

/// What housekeeping would do.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HousekeepingPlan {
    /// The entries that are over, oldest first.
    pub expired: Vec<Expired>,
    /// The paths of those that stay because entries that stay link to them.
    pub kept_linked: Vec<String>,
}

/// An entry that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expired {
    /// Relative to the store.
    pub path: String,
    /// Who wrote it.
    pub agent: String,
    /// When it was last written or changed, ISO 8601.
    pub timestamp: String,
    /// Its length.
    pub bytes: u64,
}

/// What became of a batch of entries that are over.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Removal {
    /// The paths of those that were removed.
    pub removed: Vec<String>,
    /// The paths of those that are not over any more.
    pub kept: Vec<String>,
    /// Those that could not be removed.
    pub problems: Vec<Unremoved>,
}

/// An entry that could not be removed.
#[derive(Debug, Clone, Serialize)]
pub struct Unremoved {
    /// Relative to the store.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Store {
    /// What housekeeping would do. Changes nothing.
    ///
    /// # Errors
    /// `Io`
    pub async fn plan_housekeeping(&self, policy: &Policy) -> Result<HousekeepingPlan> {
        let Some((_, index)) = self.fresh_index().await? else {
            return Ok(HousekeepingPlan::default());
        };
        Ok(plan(policy, index.known()))
    }

    /// Removes entries of a plan, each after another look at it; those that somebody changed stay.
    /// Meant for some hundred at a time: others wait for their turn meanwhile.
    ///
    /// # Errors
    /// `InvalidArgument`, `OutsideDirectory`, `LockTimeout`, `Io`
    pub async fn remove_expired(&self, policy: &Policy, paths: &[String]) -> Result<Removal> {
        let mut removal = Removal::default();
        let Some(root) = self.root().await? else { return Ok(removal) };
        let _turn = self.shared.turn(self.options.lock_timeout, &self.debug).await?;
        self.recover(&root).await?;
        let index = self.shared.index(&root, self.options.max_entry_bytes);
        index.refresh(&self.debug).await?;
        // Links to some of them may have been made since the plan.
        let expired = plan(policy, index.known()).expired;
        let expired: HashSet<&str> = expired.iter().map(|entry| entry.path.as_str()).collect();
        for path in paths {
            let location = Location::parse(path)?;
            if !expired.contains(path.as_str()) {
                removal.kept.push(path.clone());
                continue;
            }
            match self.remove_if_over(&root, &location, policy).await {
                Ok(true) => removal.removed.push(path.clone()),
                Ok(false) => removal.kept.push(path.clone()),
                // One that is in the way must not keep all others.
                Err(Error { code: Code::Io, message, .. }) => {
                    removal.problems.push(Unremoved { path: path.clone(), reason: message });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(removal)
    }

    /// Removes the temporary files that ended processes left in the store, in all directories where
    /// entries may be. What cannot be removed is reported and stays.
    ///
    /// # Errors
    /// `LockTimeout`, `Io`
    pub async fn remove_leftovers(&self) -> Result<()> {
        let Some(root) = self.shared.root().await? else { return Ok(()) };
        let mut waiting = vec![(root, 0)];
        while let Some((directory, depth)) = waiting.pop() {
            let _turn = self.shared.turn(self.options.lock_timeout, &self.debug).await?;
            if let Err(error) = self.shared.files.remove_leftovers(&directory).await {
                self.debug.say(
                    "Temporary files of the context store could not be removed",
                    || json!({ "path": directory, "reason": error.to_string() }),
                );
            }
            if depth < Location::MAX_DIRECTORIES {
                let names = self.shared.file_system.directories(&directory).await;
                let names = names.map_err(|error| self.shared.refused("list", error))?;
                let names = names.iter().filter(|name| !name.starts_with('.'));
                waiting.extend(names.map(|name| (directory.join(name), depth + 1)));
            }
        }
        Ok(())
    }

    async fn remove_if_over(
        &self,
        root: &Path,
        location: &Location,
        policy: &Policy,
    ) -> Result<bool> {
        Ok(self.is_still_over(root, location, policy).await?
            && self.remove_entry(root, location).await?)
    }

    async fn is_still_over(
        &self,
        root: &Path,
        location: &Location,
        policy: &Policy,
    ) -> Result<bool> {
        // Nothing is removed that this format does not name.
        if location.time().is_none() {
            return Ok(false);
        }
        match self.bytes_of(root, location).await {
            Ok(bytes) => Ok(Entry::read(location, &bytes)
                .is_ok_and(|entry| policy.is_over(&entry.summary.agent, last_change(&entry)))),
            Err(Error { code: Code::Io, message, cause }) => {
                Err(Error { code: Code::Io, message, cause })
            }
            Err(_) => Ok(false),
        }
    }

    async fn remove_entry(&self, root: &Path, location: &Location) -> Result<bool> {
        let path = root.join(location.as_str());
        let removed = self.shared.file_system.remove(&path).await;
        self.note(location);
        removed.map_err(|error| self.refused("remove", location, error))
    }
}

/// The latest of an entry's times, ms since 1970.
fn last_change(entry: &Entry) -> i64 {
    let changes = entry.changelog.iter().filter_map(|change| time::parse(&change.timestamp));
    changes.chain(time::parse(&entry.summary.timestamp)).max().unwrap_or(i64::MAX)
}

fn plan(policy: &Policy, entries: Vec<Known>) -> HousekeepingPlan {
    // What was not named by this format stays, and keeps what it links to.
    let is_over = |entry: &Known| {
        entry.location.time().is_some() && policy.is_over(&entry.agent, entry.changed)
    };
    let (over, staying): (Vec<Known>, Vec<Known>) = entries.into_iter().partition(is_over);
    let over: HashMap<&str, &Known> =
        over.iter().map(|entry| (entry.location.as_str(), entry)).collect();
    let mut linked = HashSet::new();
    let mut waiting: Vec<&Known> = staying.iter().filter(|_| !policy.include_linked).collect();
    while let Some(entry) = waiting.pop() {
        for link in &entry.links {
            // What stays for a link keeps what it links to itself.
            if let Some(&target) = over.get(link.as_str())
                && linked.insert(target.location.as_str())
            {
                waiting.push(target);
            }
        }
    }
    let mut expired: Vec<&Known> =
        over.values().copied().filter(|entry| !linked.contains(entry.location.as_str())).collect();
    expired.sort_unstable_by(|left, right| {
        (left.changed, &left.location).cmp(&(right.changed, &right.location))
    });
    let mut kept_linked: Vec<String> = linked.into_iter().map(str::to_owned).collect();
    kept_linked.sort_unstable();
    let expired = expired.into_iter().map(|entry| Expired {
        path: entry.location.as_str().to_owned(),
        agent: entry.agent.clone(),
        timestamp: time::iso(entry.changed),
        bytes: entry.length,
    });
    HousekeepingPlan { expired: expired.collect(), kept_linked }
}
