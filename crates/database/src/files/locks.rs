//! The locks that this process holds in a database, and the heartbeat that keeps them.
//!
//! The rows of locks name an owner, one for each process and database. An owner lives for 6 s after its last heartbeat, by the
//! server's clock; then other processes may take its locks. The heartbeat runs while locks are held, and finds out which of them
//! are still there. It also frees locks that this process has without knowing, because the answer to the statement that took or
//! freed them was lost. Between two heartbeats, questions about a lock are answered from memory.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use storage::{FileResult, LockAttempt};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{failed, place::Place, refused, sql, whole::ATTEMPTS};
use crate::{
    connections::{Purpose, runtime},
    database::{Database, Intent},
    parameters::Parameters,
};

/// The time between two heartbeats.
const BEAT: Duration = Duration::from_millis(1500);
/// The pause after a heartbeat without an answer.
const REPEAT: Duration = Duration::from_millis(200);
/// How long this process relies on a heartbeat: one second less than the server does.
const RELIABLE: Duration = Duration::from_secs(5);

/// The locks of this process.
pub struct Locks {
    database: Arc<Database>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    owner: Option<Owner>,
    /// The files of the locks that are held, by token.
    held: HashMap<Uuid, Held>,
    /// The tokens of locks that are being taken.
    wanted: HashSet<Uuid>,
    is_beating: bool,
    /// Changes of `held` that did not come from a heartbeat.
    changes: u64,
}

#[derive(Clone, Copy)]
struct Owner {
    id: Uuid,
    confirmed: Moment,
}

struct Held {
    file: Uuid,
    /// The name of the file; `None` once it was removed.
    place: Option<Place>,
}

/// A moment by both clocks of this machine: the monotonic clock may stop while the machine sleeps, and the other may be set.
#[derive(Clone, Copy)]
struct Moment(Instant, SystemTime);

impl Moment {
    fn now() -> Self {
        Self(Instant::now(), SystemTime::now())
    }

    fn is_recent(self) -> bool {
        self.0.elapsed() < RELIABLE && self.1.elapsed().is_ok_and(|elapsed| elapsed < RELIABLE)
    }
}

/// The token of a lock that is being taken, until this is dropped.
struct Wanted<'l> {
    locks: &'l Locks,
    token: Uuid,
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.locks.state().wanted.remove(&self.token);
    }
}

/// What is known of a lock.
#[derive(Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// It is held, and its file has this name, or none any more.
    Held(Option<Place>),
    /// Another process may have it.
    Lost,
    /// The last heartbeat was too long ago.
    Unsure,
}

impl Locks {
    pub fn new(database: &Arc<Database>) -> Arc<Self> {
        Arc::new(Self { database: Arc::clone(database), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owner under which the next lock is taken.
    fn owner(&self) -> Uuid {
        let mut state = self.state();
        let is_over = |owner: &Owner| !owner.confirmed.is_recent();
        if state.held.is_empty() && state.owner.as_ref().is_some_and(is_over) {
            state.owner = None;
        }
        let new = || Owner { id: Uuid::new_v4(), confirmed: Moment::now() };
        state.owner.get_or_insert_with(new).id
    }

    /// Ends an owner that the server does not know any more, with its locks.
    fn end_owner(&self, id: Uuid) {
        let mut state = self.state();
        if state.owner.is_some_and(|owner| owner.id == id) {
            state.owner = None;
            state.held.clear();
        }
    }

    /// Notes that a statement did not see an owner: either it is over, or a statement that ran at the same time created it, which the
    /// next one sees. `unseen` is the owner that the statement before did not see.
    fn end_unseen(&self, owner: Uuid, unseen: &mut Option<Uuid>) {
        if unseen.replace(owner) == Some(owner) {
            self.end_owner(owner);
        }
    }

    /// A new token of a lock.
    fn want(&self) -> Wanted<'_> {
        let token = Uuid::new_v4();
        self.state().wanted.insert(token);
        Wanted { locks: self, token }
    }

    /// Sends a heartbeat if the statement that took a lock waited for a connection or for the tables: this process would not rely on
    /// the lock.
    async fn confirm_late(self: &Arc<Self>) {
        let is_old = self.state().owner.is_some_and(|owner| owner.confirmed.0.elapsed() > BEAT);
        if is_old {
            self.beat().await;
        }
    }

    /// Tries to lock a file under a new token, which is returned if the lock was taken.
    pub async fn try_lock(
        self: &Arc<Self>,
        path: &Path,
        file: Uuid,
    ) -> FileResult<(LockAttempt, Option<Uuid>)> {
        let wanted = self.want();
        let (token, mut unseen) = (wanted.token, None);
        for _ in 0..ATTEMPTS {
            let owner = self.owner();
            let parameters = Parameters::new().id(file).id(token).id(owner);
            let rows = self
                .database
                .statement_for(Purpose::Files, Intent::Write, sql::LOCK, &parameters)
                .await;
            let rows = rows.map_err(|failure| failed("lock", path, failure))?;
            let Some(row) = rows.first() else { continue };
            let holder: Option<Uuid> = row.get(3);
            // An earlier attempt, whose answer was lost, took it.
            let is_own = row.get::<_, Option<Uuid>>(2) == Some(token);
            if row.get(0) || is_own {
                self.hold(token, Held { file, place: place_in(row, 5) });
                self.confirm_late().await;
                return Ok((LockAttempt::Taken, Some(token)));
            }
            if !row.get::<_, bool>(1) {
                self.end_unseen(owner, &mut unseen);
                continue;
            }
            // Another process was quicker, and may have freed it again.
            let Some(holder) = holder else { continue };
            if row.get(4) {
                return Ok((LockAttempt::Held, None));
            }
            let parameters = Parameters::new().id(file).id(holder);
            let expired = self
                .database
                .statement_for(Purpose::Files, Intent::Write, sql::EXPIRE, &parameters)
                .await;
            expired.map_err(|failure| failed("lock", path, failure))?;
        }
        Ok((LockAttempt::Held, None))
    }

    /// Creates a file that is locked from the beginning; returns its id and the token of its lock.
    pub async fn create_locked(
        self: &Arc<Self>,
        path: &Path,
        contents: &[u8],
    ) -> FileResult<(Uuid, Uuid)> {
        let (place, file, wanted) = (Place::of(path)?, Uuid::new_v4(), self.want());
        let (token, mut unseen) = (wanted.token, None);
        for _ in 0..ATTEMPTS {
            let owner = self.owner();
            let parameters = Parameters::new()
                .id(file)
                .text(place.directory.clone())
                .text(place.name.clone())
                .bytes(contents)
                .id(token)
                .id(owner);
            let rows = self
                .database
                .statement_for(Purpose::Files, Intent::Write, sql::CREATE_LOCKED, &parameters)
                .await;
            let rows = rows.map_err(|failure| failed("open", path, failure))?;
            let Some(row) = rows.first() else { continue };
            // An earlier attempt, whose answer was lost, may have created it.
            if row.get::<_, Option<Uuid>>(1) == Some(token) {
                self.hold(token, Held { file, place: Some(place) });
                self.confirm_late().await;
                return Ok((file, token));
            }
            if row.get(0) {
                break;
            }
            self.end_unseen(owner, &mut unseen);
        }
        Err(refused("open", path, std::io::ErrorKind::AlreadyExists))
    }

    fn hold(self: &Arc<Self>, token: Uuid, held: Held) {
        let mut state = self.state();
        state.held.insert(token, held);
        state.changes += 1;
        if !state.is_beating
            && let Ok(runtime) = runtime()
        {
            state.is_beating = true;
            runtime.spawn(Arc::clone(self).keep());
        }
    }

    /// Forgets a lock that is freed. Returns whether its row may still be there.
    pub fn forget(&self, token: Uuid) -> bool {
        let mut state = self.state();
        state.changes += 1;
        state.held.remove(&token).is_some_and(|held| held.place.is_some())
    }

    /// Frees a lock.
    pub async fn unlock(&self, file: Uuid, token: Uuid) {
        let parameters = Parameters::new().id(file).id(token);
        // A heartbeat frees it if this fails; without one, it ends with its owner.
        let _ = self
            .database
            .statement_for(Purpose::Files, Intent::Write, sql::UNLOCK, &parameters)
            .await;
    }

    /// What is known of a lock without asking the server.
    pub fn knowledge(&self, token: Uuid) -> Knowledge {
        let state = self.state();
        let Some(held) = state.held.get(&token) else { return Knowledge::Lost };
        match &state.owner {
            Some(owner) if owner.confirmed.is_recent() => Knowledge::Held(held.place.clone()),
            Some(_) => Knowledge::Unsure,
            None => Knowledge::Lost,
        }
    }

    /// This process removed a file.
    pub fn note_removed(&self, file: Uuid) {
        self.note(file, None);
    }

    /// This process renamed a file.
    pub fn note_renamed(&self, file: Uuid, place: &Place) {
        self.note(file, Some(place));
    }

    fn note(&self, file: Uuid, place: Option<&Place>) {
        let mut state = self.state();
        state.changes += 1;
        for held in state.held.values_mut().filter(|held| held.file == file) {
            held.place = place.cloned();
        }
    }

    /// Sends heartbeats while locks are held.
    async fn keep(self: Arc<Self>) {
        let mut pause = BEAT;
        loop {
            tokio::time::sleep(pause).await;
            {
                let mut state = self.state();
                if state.held.is_empty() {
                    state.is_beating = false;
                    return;
                }
            }
            pause = if self.beat().await { BEAT } else { REPEAT };
        }
    }

    /// Sends one heartbeat. Returns whether it was answered soon. If not, it goes on beside the next one: while the server or
    /// this machine is busy, it takes longer to open a connection.
    pub async fn beat(self: &Arc<Self>) -> bool {
        let Ok(runtime) = runtime() else { return false };
        let locks = Arc::clone(self);
        let sent = runtime.spawn(async move { locks.send_beat().await });
        matches!(tokio::time::timeout(BEAT, sent).await, Ok(Ok(true)))
    }

    async fn send_beat(&self) -> bool {
        let (owner, tokens, changes) = {
            let state = self.state();
            let Some(owner) = state.owner else { return true };
            (owner.id, state.held.keys().copied().collect::<Vec<_>>(), state.changes)
        };
        let sent = Moment::now();
        let parameters = Parameters::new().id(owner);
        let beat = self.database.statement_beside(sql::BEAT, &parameters);
        let Ok(Some(rows)) = tokio::time::timeout(RELIABLE, beat).await else { return false };
        if !rows.first().is_some_and(|row| row.get(0)) {
            self.end_owner(owner);
            return true;
        }
        let places: HashMap<Uuid, Option<Place>> = rows
            .iter()
            .filter_map(|row| Some((row.get::<_, Option<Uuid>>(1)?, place_in(row, 2))))
            .collect();
        self.note_beat(owner, sent, changes, &tokens, &places);
        self.free_unknown(owner, &places).await;
        true
    }

    /// Notes the locks that a heartbeat found. `changes` and `tokens` are those before it was sent.
    fn note_beat(
        &self,
        owner: Uuid,
        sent: Moment,
        changes: u64,
        tokens: &[Uuid],
        places: &HashMap<Uuid, Option<Place>>,
    ) {
        let mut state = self.state();
        let is_same = state.changes == changes;
        let is_newer = |known: &&mut Owner| known.id == owner && known.confirmed.0 < sent.0;
        if let Some(known) = state.owner.as_mut().filter(is_newer) {
            known.confirmed = sent;
        }
        for token in tokens {
            match places.get(token) {
                Some(place) if is_same => {
                    if let Some(held) = state.held.get_mut(token) {
                        held.place.clone_from(place);
                    }
                }
                Some(_) => {}
                // Another process took it, or removed the file.
                None => drop(state.held.remove(token)),
            }
        }
    }

    /// Frees the locks of the owner that nothing in this process holds or takes.
    async fn free_unknown(&self, owner: Uuid, places: &HashMap<Uuid, Option<Place>>) {
        let unknown: Vec<Uuid> = {
            let state = self.state();
            let is_unknown =
                |token: &Uuid| !state.held.contains_key(token) && !state.wanted.contains(token);
            places.keys().copied().filter(is_unknown).collect()
        };
        if !unknown.is_empty() {
            let parameters = Parameters::new().id(owner).ids(unknown);
            // The next heartbeat repeats it if it fails.
            let freed = self.database.statement_beside(sql::FREE, &parameters);
            let _ = tokio::time::timeout(RELIABLE, freed).await;
        }
    }
}

/// The directory and the name of a file in a row; `None` if the file was removed.
fn place_in(row: &Row, at: usize) -> Option<Place> {
    let directory: Option<String> = row.get(at);
    let name: Option<String> = row.get(at + 1);
    Some(Place { directory: directory?, name: name? })
}
