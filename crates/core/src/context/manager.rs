//! `Manager`: the operations of a session's outputs, each of which is a module of its own.

use std::sync::{Arc, OnceLock};

use redaction::{Redacted, Redaction};
use storage::FileSystem;

use super::{
    answer_key, bounds, bytes,
    directory_index::DirectoryIndex,
    directory_view::DirectoryView,
    filter::ContextFilter,
    find::{self, FindRequest},
    forget::{self, ForgetReport},
    found,
    grep::{self, GrepRequest, Grepped},
    held::Held,
    import::{self, ImportRequest, Imported},
    lifecycle::{self, Cleared, Clearing},
    list::{self, Listing},
    load,
    options::ManagerOptions,
    outcome::Outcome,
    read, resume, save,
    save_request::{SaveRequest, Saved},
    search::{self, SearchRequest},
    select::{self, Candidate},
    selection::{self, Selected, Selection},
    session::Session,
    sessions::SessionInfo,
    state::Stats,
    streamed::{self, Envelope, StreamedResult},
    sweep::{Mode, SweepReport},
};
use crate::{
    context::vectors::Vector,
    debug::Debug,
    error::{Code, Result},
    slices::{Request, Slice},
};

/// Keeps the tool outputs of one session.
pub struct Manager {
    session: Arc<Session>,
    /// What others keep in the directory, once a search asked for it.
    others: OnceLock<DirectoryIndex>,
    /// What all sessions keep there, once a selection asked for it.
    view: DirectoryView,
}

impl Manager {
    /// A manager; touches no file.
    #[must_use]
    pub fn new(
        options: ManagerOptions,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let session = Session::new(options, file_system, debug);
        Arc::new(Self { session, others: OnceLock::new(), view: DirectoryView::default() })
    }

    /// Numbers a save, in the order of the calls; [`Manager::save`] takes the number.
    pub fn begin_save(&self) -> u64 {
        self.session.pointers.begin()
    }

    /// Saves a tool output; returns its path once it is where its durability level says.
    ///
    /// # Errors
    /// `TooLarge`, `InvalidArgument` for a value that cannot be read, `Redaction`, or `Io`. Nothing is
    /// left behind then.
    pub async fn save(&self, sequence: u64, request: SaveRequest) -> Result<String> {
        self.store(sequence, request).await.map(|saved| saved.stored.path)
    }

    /// As [`Manager::save`]; returns as well what the request's `offload` asks for, and what was
    /// redacted.
    ///
    /// # Errors
    /// As [`Manager::save`].
    pub async fn store(&self, sequence: u64, request: SaveRequest) -> Result<Redacted<Saved>> {
        self.resumed().await;
        save::store(&self.session, sequence, request).await
    }

    /// A result that comes piece by piece, of which at most `limit` bytes of JSON are kept. Touches no file; the file system must
    /// be a disk.
    #[must_use]
    pub fn stream(&self, redaction: Option<Redaction>, limit: usize) -> StreamedResult {
        StreamedResult::new(Arc::clone(&self.session), redaction, limit)
    }

    /// As [`Manager::store`], for what came of a stream: the request's own result is not looked at.
    ///
    /// # Errors
    /// As [`Manager::store`].
    pub async fn store_streamed(
        &self,
        sequence: u64,
        request: SaveRequest,
        stream: &StreamedResult,
        envelope: Option<Envelope>,
    ) -> Result<Redacted<Saved>> {
        self.resumed().await;
        streamed::store(&self.session, sequence, request, stream, envelope).await
    }

    /// The key with which tools for models sign their answers, as hex digits. Where the directory has none: made with
    /// `creates`, else `None`.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `Corrupt` or `Io`
    pub async fn answer_key(&self, creates: bool) -> Result<Option<String>> {
        answer_key::read(&self.session.directory, creates).await
    }

    /// A record that is in memory, without I/O.
    #[must_use]
    pub fn peek(&self, path: &str) -> Option<Held> {
        let relative = self.session.locate_by_spelling(path).ok()?;
        self.session.pointers.in_memory(&relative)
    }

    /// A context's record, whole.
    ///
    /// # Errors
    /// `NotFound`, `OutsideDirectory`, `Corrupt`, `TooLarge` or `Io`.
    pub async fn load(&self, path: &str) -> Result<Held> {
        self.resumed().await;
        load::load(&self.session, path).await
    }

    /// The bytes of a context's result: of each part that its record names, in that order.
    ///
    /// # Errors
    /// Those of [`Manager::load`]; `Corrupt` when they are not those that were saved, `InvalidArgument` when there are none.
    pub async fn bytes(&self, path: &str) -> Result<Vec<Vec<u8>>> {
        self.resumed().await;
        bytes::load(&self.session, path).await
    }

    /// Reads a part of a context's result. The record is read and checked as a load does it; only the
    /// part is handed on. With `sessions`, contexts of others are not found.
    ///
    /// # Errors
    /// Those of [`Manager::load`], and `InvalidArgument` when a JSON path asks for too much work.
    pub async fn read(
        &self,
        path: &str,
        request: Request,
        sessions: Option<&[String]>,
    ) -> Result<(Slice, Outcome)> {
        self.resumed().await;
        read::read(&self.session, path, request, sessions).await
    }

    /// Finds lines in many contexts.
    ///
    /// # Errors
    /// `InvalidArgument` when the expression needs too much work.
    pub async fn grep(&self, request: GrepRequest) -> Result<Grepped> {
        grep::grep(&self.session, request).await
    }

    /// What was found by the calls behind these paths, in a few words; `None` for those that cannot be read.
    pub async fn found(&self, paths: &[String]) -> Vec<Option<String>> {
        found::found(&self.session, paths).await
    }

    /// Every context of the directory, or of one session: from disk, and what only this process's
    /// memory has. Oldest first.
    ///
    /// # Errors
    /// `Io` when the directory cannot be read.
    pub async fn list(&self, session: Option<&str>) -> Result<Listing> {
        list::list(&self.session, session).await
    }

    /// The stored outputs that the query finds, best first, each a pointer with its score and its
    /// snippets, as JSON arrays.
    ///
    /// # Errors
    /// `InvalidArgument` for a query that says nothing or names no time, `Io` when the directory
    /// cannot be read.
    pub async fn search(&self, request: &SearchRequest) -> Result<Listing> {
        self.resumed().await;
        search::search(&self.session, &self.others, request).await
    }

    /// Chooses contexts for a question. `vector` is that of the question.
    ///
    /// # Errors
    /// With `all_sessions`, `UnsafeDirectory`, or `Io` when the directory cannot be read.
    pub async fn select(
        &self,
        question: &str,
        selection: &Selection,
        vector: Option<Vector>,
    ) -> Result<Selected> {
        self.resumed().await;
        if selection.all_sessions {
            let view = self.view.refreshed(&self.session).await?;
            return Ok(selection::select(view, question, selection, vector).await);
        }
        Ok(selection::select(&self.session, question, selection, vector).await)
    }

    /// The positions of the candidates that share a term with the query, best first; `None` when a
    /// known candidate was cleared since, so that its text is needed.
    #[must_use]
    pub fn rank(&self, query: &str, candidates: &[Candidate]) -> Option<Vec<usize>> {
        select::rank(&self.session, query, candidates)
    }

    /// As [`Manager::rank`] for candidates that are all this manager's and stand in the order of
    /// the calls, as `getAllPointers` gives them: a million need no table.
    #[must_use]
    pub fn rank_ascending(&self, query: &str, sequences: &[f64]) -> Option<Vec<usize>> {
        select::rank_ascending(&self.session, query, sequences)
    }

    /// Texts of contexts in question that have no vector and would keep one: at most `limit`, the
    /// latest first, with the numbers of their calls.
    pub async fn texts_without_vector(
        &self,
        selection: &Selection,
        limit: usize,
    ) -> (Vec<u64>, Vec<String>) {
        self.resumed().await;
        selection::texts_without_vector(&self.session, selection, limit).await
    }

    /// Keeps vectors of contexts. Those of contexts that went meanwhile are dropped.
    pub fn add_vectors(&self, vectors: impl Iterator<Item = (u64, Vector)>) {
        let is_known = |sequence| self.session.pointers.contains(sequence);
        self.session.index.add_vectors(vectors, is_known);
    }

    /// Counts and bytes by tier.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.session.pointers.stats()
    }

    /// How many saves were called so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.session.pointers.calls()
    }

    /// How many contexts have a pointer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.session.pointers.len()
    }

    /// There is no pointer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.session.pointers.is_empty()
    }

    /// Another number than before whenever the pointers may have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.session.pointers.generation()
    }

    /// At most `limit` pointers from call number `start` on, in the order of the calls: their numbers,
    /// and a JSON array of rows: file name, tool name, description, arguments, task, query, time, size,
    /// success, whether the arguments are cut, source URLs, and a handle where there is one.
    #[must_use]
    pub fn pointers_from(&self, start: u64, limit: usize) -> (Vec<u64>, String) {
        self.session.pointers.rows_from(start, limit)
    }

    /// At most `limit` pointers, newest first, as [`Manager::pointers_from`]: of a tool (a JSON token)
    /// and of calls before that of a context, when those are given. `None` when this manager has no
    /// such context.
    #[must_use]
    pub fn latest_pointers(
        &self,
        tool_name: Option<&str>,
        before: Option<&str>,
        limit: usize,
    ) -> Option<(Vec<u64>, String)> {
        let before = match before {
            Some(path) => Some(self.session.locate_by_spelling(path).ok()?),
            None => None,
        };
        self.session.pointers.latest_rows(tool_name, before.as_deref(), limit)
    }

    /// The pointers of a query (a JSON token), as [`Manager::pointers_from`].
    #[must_use]
    pub fn pointers_for_query(&self, query: &str) -> (Vec<u64>, String) {
        self.session.pointers.rows_of_query(query)
    }

    /// The pointers of a task (a JSON token), as [`Manager::pointers_from`].
    #[must_use]
    pub fn pointers_for_task(&self, task: &str) -> (Vec<u64>, String) {
        self.session.pointers.rows_of_task(task)
    }

    /// Stores a record that another directory had, under its name; its handle becomes that of its content.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no record or no name of one, `Corrupt` where its bytes are not those that it says, `Conflict` where
    /// another file has its name, `Redaction`, `UnsafeDirectory` or `Io`.
    pub async fn import(&self, request: ImportRequest) -> Result<Redacted<Imported>> {
        self.resumed().await;
        import::import(&self.session, request).await
    }

    /// Forgets one context: memory, index, file. `false` when there is none.
    ///
    /// # Errors
    /// `OutsideDirectory`, `Conflict` when it belongs to a session that is alive elsewhere, or `Io`.
    pub async fn forget(&self, path: &str) -> Result<bool> {
        self.resumed().await;
        lifecycle::forget(&self.session, path).await
    }

    /// Forgets this session's contexts that meet the filter, or those of another session that is over.
    ///
    /// # Errors
    /// `Conflict` when the other session is live or paused: nothing is removed then; `UnsafeDirectory` or `Io`.
    pub async fn forget_matching(
        &self,
        filter: &ContextFilter,
        session: Option<&str>,
        is_dry_run: bool,
    ) -> Result<ForgetReport> {
        self.resumed().await;
        forget::forget_matching(&self.session, filter, session, is_dry_run).await
    }

    /// The pointer of the latest equal call, as JSON; `None` when there is none.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that cannot be read, `Redaction`, `UnsafeDirectory` or `Io`.
    pub async fn find(&self, request: FindRequest) -> Result<Option<String>> {
        self.resumed().await;
        find::find(&self.session, request).await
    }

    /// Restores the pointers of the session's earlier processes, where the options ask for that. Returns once they are
    /// there.
    ///
    /// # Errors
    /// `UnsafeDirectory`, or `Io` when the directory cannot be read; the next call tries again.
    pub async fn resume(&self) -> Result<()> {
        resume::resume(&self.session).await
    }

    /// Waits for the pointers of earlier processes. Where they cannot be read, [`Manager::resume`] says why.
    async fn resumed(&self) {
        if let Err(error) = self.resume().await {
            self.session.debug.say(
                "Failed to resume the session",
                || serde_json::json!({ "sessionId": self.session.options.session, "error": error.message }),
            );
        }
    }

    /// Keeps a context whatever the bounds of the live session are, or no longer. Whether this manager has it.
    ///
    /// # Errors
    /// `OutsideDirectory`
    pub async fn pin(&self, path: &str, is_pinned: bool) -> Result<bool> {
        self.resumed().await;
        match self.session.locate(path).await {
            Ok(relative) => Ok(self.session.pointers.pin(&relative, is_pinned)),
            Err(error) if error.code == Code::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The sessions of the directory, the latest used first.
    ///
    /// # Errors
    /// `UnsafeDirectory`, or `Io` when the directory cannot be read.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>> {
        self.session.directory.sessions().await
    }

    /// Ends a session: what it left stays within the bounds of the retention, as soon as no process holds it. Whether it was
    /// live or paused.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn end_session(&self, id: &str) -> Result<bool> {
        self.session.directory.end_session(id).await
    }

    /// Notes which saves a clearing covers: those called before.
    #[must_use]
    pub fn begin_clear(&self) -> Clearing {
        Clearing::begin(&self.session)
    }

    /// Ends the session's contexts: memory and files, of every save called before. The session
    /// starts anew with the next save.
    ///
    /// # Errors
    /// `Io` when a file could not be removed; the others are gone all the same.
    pub async fn clear(&self, clearing: Clearing) -> Result<Cleared> {
        self.resumed().await;
        lifecycle::clear(&self.session, clearing).await
    }

    /// Drops every pointer and what only memory has, of every save called before; files stay.
    pub fn clear_pointers(&self) {
        lifecycle::clear_pointers(&self.session);
    }

    /// Removes this session's files of saves called before, and those of sessions that are over.
    /// Pointers stay, what they named on disk is gone. Files of live sessions and of other programs
    /// stay.
    ///
    /// # Errors
    /// `Io` when a file could not be removed; the others are gone all the same.
    pub async fn clear_directory(&self, clearing: Clearing) -> Result<Cleared> {
        lifecycle::clear_directory(&self.session, clearing).await
    }

    /// Removes what dead sessions left behind, within the bounds of the retention. With an injected
    /// file system, where no locks prove who is alive, nothing is touched.
    ///
    /// # Errors
    /// `UnsafeDirectory`; `Io` when the directory cannot be read; single files that resist are left.
    pub async fn sweep(&self) -> Result<SweepReport> {
        bounds::enforce_on_session(&self.session).await;
        self.session.directory.sweep(Mode::Remove).await
    }

    /// What [`Manager::sweep`] would remove of dead sessions, and why.
    ///
    /// # Errors
    /// `UnsafeDirectory`; `Io` when the directory cannot be read.
    pub async fn plan_sweep(&self) -> Result<SweepReport> {
        self.session.directory.sweep(Mode::DryRun).await
    }

    /// Waits for the first `calls` saves, then gives the session's lease up: what it wrote stays,
    /// within the bounds of the retention.
    pub async fn close(&self, calls: u64) {
        lifecycle::close(&self.session, calls).await;
    }

    /// Ends the session without waiting for anything; a later save begins it again.
    pub fn end(&self) {
        drop(self.session.directory.close());
    }
}
