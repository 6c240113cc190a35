//! `Manager`, the façade of `ContextManager`: the operations of one session. The addon calls them; each is implemented
//! in a module of its own.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use redaction::{Redacted, Redaction};
use storage::{FileSystem, layout};

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
    debug::Debug,
    error::{Code, Result},
    slices::{Request, Slice},
    vectors::{Embedded, Vectors},
};

/// Stores the tool outputs of one session.
pub struct Manager {
    session: Arc<Session>,
    /// The contexts of other sessions, indexed by the first search that covers them.
    others: OnceLock<DirectoryIndex>,
    /// The contexts of all sessions, read by the first selection that covers them.
    view: DirectoryView,
}

impl Manager {
    /// A manager. Touches no file.
    #[must_use]
    pub fn new(
        options: ManagerOptions,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let session = Session::new(options, file_system, debug);
        Arc::new(Self { session, others: OnceLock::new(), view: DirectoryView::default() })
    }

    /// Assigns a number to a save, in the order of the calls; pass it to [`Manager::save`].
    pub fn begin_save(&self) -> u64 {
        self.session.pointers.begin()
    }

    /// As [`Manager::begin_save`], for `count` saves; returns their numbers.
    #[must_use]
    pub fn begin_saves(&self, count: u64) -> Range<u64> {
        self.session.pointers.begin_all(count)
    }

    /// Ends a save that was numbered, without saving.
    pub fn abandon_save(&self, sequence: u64) {
        drop(self.session.pointers.tracked(sequence));
    }

    /// Saves a tool output; returns its path once the record is as durable as the options require.
    ///
    /// # Errors
    /// `TooLarge`, `InvalidArgument` for a value that is not valid, `Redaction`, or `Io`. Nothing is left on disk then.
    pub async fn save(&self, sequence: u64, request: SaveRequest) -> Result<String> {
        self.store(sequence, request).await.map(|saved| saved.stored.path)
    }

    /// As [`Manager::save`]; also returns what the request's `offload` asks for, and which secrets were redacted.
    ///
    /// # Errors
    /// As [`Manager::save`].
    pub async fn store(&self, sequence: u64, request: SaveRequest) -> Result<Redacted<Saved>> {
        self.resumed().await;
        save::store(&self.session, sequence, request).await
    }

    /// A result that comes in pieces, of which at most `limit` bytes of JSON are kept. Touches no file. The file system
    /// must be a disk.
    #[must_use]
    pub fn stream(&self, redaction: Option<Redaction>, limit: usize) -> StreamedResult {
        StreamedResult::new(Arc::clone(&self.session), redaction, limit)
    }

    /// As [`Manager::store`], with the result from a stream instead of the request's.
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

    /// The key with which the tools for models sign their answers, as hex digits. If the directory has none, it is
    /// created if `creates` is set, otherwise `None` is returned.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `Corrupt` or `Io`
    pub async fn answer_key(&self, creates: bool) -> Result<Option<String>> {
        answer_key::read(&self.session.directory, creates).await
    }

    /// A record that is cached in memory, without I/O.
    #[must_use]
    pub fn peek(&self, path: &str) -> Option<Held> {
        let Session { directory, pointers, .. } = &*self.session;
        // A path from a save needs no resolution.
        let filename = directory.filename_in(path);
        if let Some(held) = filename.and_then(|filename| pointers.in_memory(filename)) {
            return Some(held);
        }
        let relative = self.session.locate_by_spelling(path).ok()?;
        self.session.pointers.in_memory(&relative)
    }

    /// A whole record.
    ///
    /// # Errors
    /// `NotFound`, `OutsideDirectory`, `Corrupt`, `TooLarge` or `Io`.
    pub async fn load(&self, path: &str) -> Result<Held> {
        self.resumed().await;
        load::load(&self.session, path).await
    }

    /// The binary data of a context's result: each part that its record lists, in that order.
    ///
    /// # Errors
    /// Those of [`Manager::load`]; `Corrupt` if the data are not those that were saved, `InvalidArgument` if there are
    /// none.
    pub async fn bytes(&self, path: &str) -> Result<Vec<Vec<u8>>> {
        self.resumed().await;
        bytes::load(&self.session, path).await
    }

    /// Reads a part of a context's result. The whole record is read and validated, but of a long one only what the part needs,
    /// where it has a table of its blocks. With `sessions`, contexts of other
    /// sessions are not found.
    ///
    /// # Errors
    /// Those of [`Manager::load`], and `InvalidArgument` if evaluating the JSON path takes too much work.
    pub async fn read(
        &self,
        path: &str,
        request: Request,
        sessions: Option<&[String]>,
    ) -> Result<(Slice, Outcome)> {
        self.resumed().await;
        read::read(&self.session, path, request, sessions).await
    }

    /// Finds matching lines in many contexts.
    ///
    /// # Errors
    /// `InvalidArgument` if matching the expression takes too much work.
    pub async fn grep(&self, request: GrepRequest) -> Result<Grepped> {
        grep::grep(&self.session, request).await
    }

    /// Short descriptions of what these contexts hold; `None` for those that cannot be read.
    pub async fn found(&self, paths: &[String]) -> Vec<Option<String>> {
        found::found(&self.session, paths).await
    }

    /// All contexts of the directory, or of one session: those on disk, and those that are only in this process's
    /// memory. Oldest first.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn list(&self, session: Option<&str>) -> Result<Listing> {
        list::list(&self.session, session).await
    }

    /// The stored outputs that match the query, best first, as JSON arrays of pointers with score and snippets.
    ///
    /// # Errors
    /// `InvalidArgument` for a query without terms or with an invalid time, `Io` if the directory cannot be read.
    pub async fn search(
        &self,
        request: &SearchRequest,
        embedded: Option<Embedded>,
    ) -> Result<Listing> {
        self.resumed().await;
        search::search(&self.session, &self.others, request, embedded).await
    }

    /// Selects the contexts that are relevant to a question. `embedded` is the question's embedding.
    ///
    /// # Errors
    /// With `all_sessions`: `UnsafeDirectory`, or `Io` if the directory cannot be read.
    pub async fn select(
        &self,
        question: &str,
        selection: &Selection,
        embedded: Option<Embedded>,
    ) -> Result<Selected> {
        self.resumed().await;
        if selection.all_sessions {
            let view = self.view.refreshed(&self.session).await?;
            return Ok(selection::select(view, question, selection, embedded).await);
        }
        Ok(selection::select(&self.session, question, selection, embedded).await)
    }

    /// The positions of the candidates that share a term with the query, best first; `None` if a known candidate was
    /// cleared meanwhile, in which case the caller has to pass its text.
    #[must_use]
    pub fn rank(&self, query: &str, candidates: &[Candidate]) -> Option<Vec<usize>> {
        select::rank(&self.session, query, candidates)
    }

    /// As [`Manager::rank`] for candidates of this manager in the order of the calls, as `getAllPointers` returns them.
    /// No table of positions is needed.
    #[must_use]
    pub fn rank_ascending(&self, query: &str, sequences: &[f64]) -> Option<Vec<usize>> {
        select::rank_ascending(&self.session, query, sequences)
    }

    /// The vectors of contexts by the embedding model with this name; without a name, new ones in memory.
    #[must_use]
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        let directory = &self.session.directory;
        let folder = directory.path().join(layout::vectors(""));
        Vectors::open(directory.disk.clone(), &folder, model, self.session.debug.clone())
    }

    /// The texts of contexts that a selection admits and that have no vector: at most `limit`, latest first.
    pub async fn texts_to_select(
        &self,
        selection: &Selection,
        vectors: &Vectors,
        limit: usize,
    ) -> Vec<String> {
        self.resumed().await;
        selection::texts_without_vector(&self.session, selection, vectors, limit).await
    }

    /// As [`Manager::texts_to_select`], for a search. Also returns the text of the query; `None` if it has only filters and
    /// exclusions.
    ///
    /// # Errors
    /// `InvalidArgument` for a query with a syntax error.
    pub async fn texts_to_search(
        &self,
        request: &SearchRequest,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<(Option<String>, Vec<String>)> {
        self.resumed().await;
        search::texts_without_vector(&self.session, request, vectors, limit).await
    }

    /// Counts and bytes in memory and on disk.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.session.pointers.stats()
    }

    /// The number of saves that were called.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.session.pointers.calls()
    }

    /// The number of contexts with a pointer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.session.pointers.len()
    }

    /// Whether there is no pointer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.session.pointers.is_empty()
    }

    /// A number that changes whenever the pointers may have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.session.pointers.generation()
    }

    /// At most `limit` pointers from call number `start` on, in the order of the calls: their numbers, and a JSON array
    /// of rows (see `Pointer::write_row`).
    #[must_use]
    pub fn pointers_from(&self, start: u64, limit: usize) -> (Vec<u64>, String) {
        self.session.pointers.rows_from(start, limit)
    }

    /// At most `limit` pointers, newest first, as [`Manager::pointers_from`]; only those of a tool (a JSON token) and
    /// those before a context, if given. `None` if this manager has no such context.
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

    /// Stores a record of another directory under its file name. Its handle is recomputed from its content.
    ///
    /// # Errors
    /// `InvalidArgument` if the content is not a record or the name not that of a record's file, `Corrupt` if the binary data is
    /// missing or does not match the record, `Conflict` if another record has the name, `Redaction`, `UnsafeDirectory` or `Io`.
    pub async fn import(&self, request: ImportRequest) -> Result<Redacted<Imported>> {
        self.resumed().await;
        import::import(&self.session, request).await
    }

    /// Removes one context from memory, index and disk; returns `false` if it does not exist.
    ///
    /// # Errors
    /// `OutsideDirectory`, `Conflict` if it belongs to a session that is live in another process, or `Io`.
    pub async fn forget(&self, path: &str) -> Result<bool> {
        self.resumed().await;
        lifecycle::forget(&self.session, path).await
    }

    /// Removes this session's contexts that match the filter, or those of another session that is over.
    ///
    /// # Errors
    /// `Conflict` if the other session is live or paused, in which case nothing is removed; `UnsafeDirectory` or `Io`.
    pub async fn forget_matching(
        &self,
        filter: &ContextFilter,
        session: Option<&str>,
        is_dry_run: bool,
    ) -> Result<ForgetReport> {
        self.resumed().await;
        forget::forget_matching(&self.session, filter, session, is_dry_run).await
    }

    /// The pointer of the latest stored output of an equal call, as JSON; `None` if there is none.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that are not valid, `Redaction`, `UnsafeDirectory` or `Io`.
    pub async fn find(&self, request: FindRequest) -> Result<Option<String>> {
        self.resumed().await;
        find::find(&self.session, request).await
    }

    /// Restores the pointers of the session's earlier processes, if the options ask for that.
    ///
    /// # Errors
    /// `UnsafeDirectory`, or `Io` if the directory cannot be read; the next call tries again.
    pub async fn resume(&self) -> Result<()> {
        resume::resume(&self.session).await
    }

    /// Waits for the pointers of earlier processes. [`Manager::resume`] reports errors, so they are ignored here.
    async fn resumed(&self) {
        if let Err(error) = self.resume().await {
            self.session.debug.say(
                "Failed to resume the session",
                || serde_json::json!({ "sessionId": self.session.options.session, "error": error.message }),
            );
        }
    }

    /// Exempts a context from the bounds of the live session, or ends the exemption; returns whether this manager has
    /// it.
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

    /// The sessions of the directory, latest used first.
    ///
    /// # Errors
    /// `UnsafeDirectory`, or `Io` if the directory cannot be read.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>> {
        self.session.directory.sessions().await
    }

    /// Ends a session: once no process holds it, its files are kept within the bounds of the retention policy. Returns
    /// whether it was live or paused.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn end_session(&self, id: &str) -> Result<bool> {
        self.session.directory.end_session(id).await
    }

    /// The set of saves that a clearing covers: those that were called before.
    #[must_use]
    pub fn begin_clear(&self) -> Clearing {
        Clearing::begin(&self.session)
    }

    /// Removes the session's contexts, in memory and in files, of all saves that were called before. The next save
    /// starts the session again.
    ///
    /// # Errors
    /// `Io` if a file could not be removed; all others are removed nevertheless.
    pub async fn clear(&self, clearing: Clearing) -> Result<Cleared> {
        self.resumed().await;
        lifecycle::clear(&self.session, clearing).await
    }

    /// Drops all pointers and the records that are only in memory, of all saves that were called before; keeps files.
    pub fn clear_pointers(&self) {
        lifecycle::clear_pointers(&self.session);
    }

    /// Removes this session's files of saves that were called before, and the files of sessions that are over. Keeps
    /// the pointers, whose files no longer exist, and the files of live sessions and of other programs.
    ///
    /// # Errors
    /// `Io` if a file could not be removed; all others are removed nevertheless.
    pub async fn clear_directory(&self, clearing: Clearing) -> Result<Cleared> {
        lifecycle::clear_directory(&self.session, clearing).await
    }

    /// Removes the files of dead sessions that exceed the retention policy. With an injected file system, whose locks
    /// cannot prove which sessions are live, nothing is removed.
    ///
    /// # Errors
    /// `UnsafeDirectory`; `Io` if the directory cannot be read; files that cannot be removed are skipped.
    pub async fn sweep(&self) -> Result<SweepReport> {
        bounds::enforce_on_session(&self.session).await;
        self.session.directory.sweep(Mode::Remove).await
    }

    /// What [`Manager::sweep`] would remove, and why.
    ///
    /// # Errors
    /// `UnsafeDirectory`; `Io` if the directory cannot be read.
    pub async fn plan_sweep(&self) -> Result<SweepReport> {
        self.session.directory.sweep(Mode::DryRun).await
    }

    /// Waits for the first `calls` saves, then releases the session's lease. Its files are kept within the bounds of
    /// the retention policy.
    pub async fn close(&self, calls: u64) {
        lifecycle::close(&self.session, calls).await;
    }

    /// Ends the session without waiting; a later save starts it again.
    pub fn end(&self) {
        drop(self.session.directory.close());
    }
}
