//! Removes objects that no file has: those of removed files, and those whose upload never ended. Their rows in the database remain
//! until they are removed, so that an attempt that fails is repeated, by this process or another one.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use storage::FileResult;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{Files, failed, sql};
use crate::{
    blobs::{Blobs, Refusal},
    connections::runtime,
    database::Intent,
    parameters::Parameters,
};

/// Age in µs from which an upload counts as abandoned.
const ABANDONED: i64 = 24 * 3600 * 1_000_000;
/// How often objects are looked for that other processes left.
const PERIOD: Duration = Duration::from_secs(3600);
/// How long more removals are waited for.
const GATHERING: Duration = Duration::from_millis(20);
/// The objects that one statement gives.
const AT_ONCE: i64 = 500;
/// The requests that are under way at once.
const REQUESTS: usize = 8;

/// When objects are removed.
#[derive(Default)]
pub struct Collector(Mutex<State>);

#[derive(Default)]
struct State {
    is_running: bool,
    is_wanted: bool,
    last: Option<Instant>,
}

impl Collector {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    /// Removes objects soon, in the background.
    pub fn collect(self: &Arc<Self>) {
        // The files of another process, which has a bucket, are removed by such a process.
        let Some(blobs) = self.blobs.clone() else { return };
        let mut state = self.collector.state();
        state.is_wanted = true;
        if state.is_running {
            return;
        }
        if let Ok(runtime) = runtime() {
            state.is_running = true;
            runtime.spawn(Arc::clone(self).run_collector(blobs));
        }
    }

    /// Looks for objects that other processes left, if that was long ago.
    pub fn collect_if_due(self: &Arc<Self>) {
        let last = self.collector.state().last;
        if last.is_none_or(|last| last.elapsed() > PERIOD) {
            self.collect();
        }
    }

    async fn run_collector(self: Arc<Self>, blobs: Arc<Blobs>) {
        loop {
            tokio::time::sleep(GATHERING).await;
            {
                let mut state = self.collector.state();
                if !state.is_wanted {
                    state.is_running = false;
                    return;
                }
                state.is_wanted = false;
                state.last = Some(Instant::now());
            }
            // What could not be removed is tried again by the next collection.
            let _ = self.collect_all(&blobs).await;
        }
    }

    async fn collect_all(&self, blobs: &Arc<Blobs>) -> FileResult<()> {
        let at = ("unlink", Path::new("blobs"));
        loop {
            let parameters =
                Parameters::new().text(blobs.place()).number(ABANDONED).number(AT_ONCE);
            let rows = self.statement(Intent::Write, at, sql::COLLECT, parameters).await?;
            let (mut removing, mut removed, mut refusal) = (JoinSet::new(), Vec::new(), None);
            for row in &rows {
                let (id, upload): (Uuid, Option<String>) = (row.get(0), row.get(1));
                let (blobs, name) = (Arc::clone(blobs), self.path_of(blobs, id));
                removing.spawn(async move { remove(&blobs, &name, upload).await.map(|()| id) });
                while removing.len() >= REQUESTS
                    && let Some(outcome) = removing.join_next().await
                {
                    note(outcome, &mut removed, &mut refusal);
                }
                if refusal.is_some() {
                    break;
                }
            }
            while let Some(outcome) = removing.join_next().await {
                note(outcome, &mut removed, &mut refusal);
            }
            let parameters = Parameters::new().ids(removed);
            self.statement(Intent::Write, at, sql::FORGET, parameters).await?;
            if let Some(refusal) = refusal {
                return Err(failed("unlink", at.1, refusal.failure));
            }
            if i64::try_from(rows.len()).unwrap_or_default() < AT_ONCE {
                return Ok(());
            }
        }
    }
}

async fn remove(blobs: &Blobs, name: &str, upload: Option<String>) -> Result<(), Refusal> {
    if let Some(upload) = upload {
        // A completed upload is unknown to the service, or refused by it: the object is what counts.
        let _ = blobs.abort(name, &upload).await;
    }
    blobs.remove(name).await
}

fn note(
    outcome: Result<Result<Uuid, Refusal>, tokio::task::JoinError>,
    removed: &mut Vec<Uuid>,
    refusal: &mut Option<Refusal>,
) {
    match outcome {
        Ok(Ok(id)) => removed.push(id),
        Ok(Err(error)) => *refusal = Some(error),
        // It ended with the runtime.
        Err(_) => {}
    }
}
