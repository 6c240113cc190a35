//! Housekeeping: finds expired entries by a retention policy and removes them; no other module
//! removes entries. Also removes leftover temporary files from the store's directories.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Entry, Location, Store, index::Known, time};
use crate::error::{Code, Error, Result};

/// The retention policy.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// The present time, ms since 1970.
    pub now: i64,
    /// Entries that were neither written nor changed for longer than this have expired, in ms.
    pub older_than: i64,
    /// The same for the entries of single agents, instead of `older_than`.
    #[serde(default)]
    pub retention: HashMap<String, i64>,
    /// Only entries of these agents expire; `None`: those of all agents.
    #[serde(default)]
    pub agents: Option<Vec<String>>,
    /// Removes expired entries even if an entry that is kept links to them.
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

/// The result of a dry run.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HousekeepingPlan {
    /// The expired entries, oldest first.
    pub expired: Vec<Expired>,
    /// The paths of the expired entries that are kept because another kept entry links to them.
    pub kept_linked: Vec<String>,
}

/// An expired entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expired {
    /// The path relative to the store.
    pub path: String,
    /// The agent that wrote it.
    pub agent: String,
    /// When it was written or last changed, ISO 8601.
    pub timestamp: String,
    /// The file's length in bytes.
    pub bytes: u64,
}

/// The result of removing a batch of expired entries.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Removal {
    /// The paths of the removed entries.
    pub removed: Vec<String>,
    /// The paths of the entries that no longer meet the policy.
    pub kept: Vec<String>,
    /// The entries whose removal failed.
    pub problems: Vec<Unremoved>,
}

/// An entry whose removal failed.
#[derive(Debug, Clone, Serialize)]
pub struct Unremoved {
    /// The path relative to the store.
    pub path: String,
    /// The reason.
    pub reason: String,
}

impl Store {
    /// Lists what housekeeping would remove. Changes nothing.
    ///
    /// # Errors
    /// `Io`
    pub async fn plan_housekeeping(&self, policy: &Policy) -> Result<HousekeepingPlan> {
        let Some((_, index)) = self.fresh_index().await? else {
            return Ok(HousekeepingPlan::default());
        };
        Ok(plan(policy, index.known()))
    }

    /// Removes entries of a plan. Each is checked again first; entries that were changed since the
    /// plan are kept. The store's lock is held meanwhile, so callers pass some hundred paths at a
    /// time.
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
        // Links to some of the entries may have been added since the plan.
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
                // An entry that cannot be removed does not keep the others from being removed.
                Err(Error { code: Code::Io, message, .. }) => {
                    removal.problems.push(Unremoved { path: path.clone(), reason: message });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(removal)
    }

    /// Removes the temporary files of ended processes from all directories that may have entries. A
    /// file that cannot be removed is reported and stays.
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
        // A file whose name does not begin with a time was not written by this package and is never
        // removed.
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

/// The latest time in an entry, ms since 1970.
fn last_change(entry: &Entry) -> i64 {
    let changes = entry.changelog.iter().filter_map(|change| time::parse(&change.timestamp));
    changes.chain(time::parse(&entry.summary.timestamp)).max().unwrap_or(i64::MAX)
}

fn plan(policy: &Policy, entries: Vec<Known>) -> HousekeepingPlan {
    // Entries that were not named by this package never expire, and keep the entries they link to.
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
            // An entry that is kept because of a link keeps the entries it links to as well.
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
