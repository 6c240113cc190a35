//! The contexts that `selectRelevantContexts` covers if other sessions are included: the pointers of all context files
//! in the directory, with an index of them. Refreshed before each such selection.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use storage::layout;
use tokio::sync::Mutex;

use super::{
    beginnings::Beginnings, context_files::Listed, file_head::from_head, options::ManagerOptions,
    refused, resume, session::Session,
};
use crate::error::Result;

/// Files that are read between two yields.
const BATCH: usize = 64;

/// A session without saves of its own, which adopts the pointers of the directory's files.
#[derive(Default)]
pub(super) struct DirectoryView {
    session: OnceLock<Arc<Session>>,
    /// The adopted files. Held during a refresh.
    files: Mutex<HashSet<String>>,
}

impl DirectoryView {
    /// The session with all contexts that the directory of `own` has now.
    ///
    /// # Errors
    /// `UnsafeDirectory`, or `Io` if the directory cannot be read.
    pub async fn refreshed(&self, own: &Arc<Session>) -> Result<&Arc<Session>> {
        let view = self.session.get_or_init(|| {
            let options = ManagerOptions { session_is_named: false, ..(*own.options).clone() };
            let file_system = Arc::clone(&own.directory.file_system);
            Session::unlisted(options, file_system, own.debug.clone())
        });
        let mut files = self.files.lock().await;
        own.directory.check()?;
        let Listed { entries, root } =
            own.directory.list().await.map_err(|error| {
                refused("list the context directory", own.directory.path(), error)
            })?;
        let present: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        files.retain(|name| {
            let is_there = present.contains(name.as_str());
            if !is_there && let Some(removed) = view.pointers.remove(name) {
                view.index.remove(removed.sequence);
            }
            is_there
        });
        let mut new: Vec<_> = entries
            .iter()
            .filter(|entry| {
                layout::parse_context(&entry.name).is_some() && !files.contains(&entry.name)
            })
            .collect();
        // In the order of the calls, because the ranking prefers later ones.
        new.sort_by_cached_key(|entry| {
            layout::parse_context(&entry.name).map(|name| (name.timestamp, name.counter))
        });
        let file_system = own.directory.file_system.as_ref();
        let mut heads = Beginnings::of_heads(file_system, &root, new.iter().copied());
        for (number, entry) in new.into_iter().enumerate() {
            if number % BATCH == BATCH - 1 {
                tokio::task::yield_now().await;
            }
            if let Ok(file) = heads.head(&entry.name).await {
                let call = view.pointers.begin();
                resume::adopt(view, call, from_head(entry, &file));
                drop(view.pointers.tracked(call));
            }
            files.insert(entry.name.clone());
        }
        view.index.index_in_background();
        Ok(view)
    }
}
