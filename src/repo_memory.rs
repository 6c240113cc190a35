//! The native class behind `RepoMemory` (`lib/repo/repo-memory.ts`). Requests and answers are JSON.

use std::{
    collections::HashMap,
    future::Future,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_context_core::{
    Debug, Error, Trust,
    memory::{
        self, BranchScope, Identity, MapRequest, Memory, MemoryOptions, Origin, Pack, PackRequest,
        RecordKind, Repository, Summary, SummaryBounds,
    },
};
use code_map::OnProgress;
use napi::{Result, bindgen_prelude::ClassInstance};
use napi_derive::napi;
use redaction::{Redacted, Redaction};
use serde::{Deserialize, Serialize};
use storage::{Durability, FileSystem, LocalDisk, Payload};

use super::{
    answers::{Outcome, answer, redacted, redacted_json},
    database::NativeDatabase,
    file_system::{self, NativeFileSystem},
    numbers::{size, whole},
    outbox::{Outbox, Queue},
    redaction::{NativeRedactor, RedactionSource},
    request::parse,
    runtime::{Answer, Cancellable, run, run_cancellable},
    text::Utf8,
    vectors::{GivenEmbedded, NativeVectors, embedded, query_and_texts},
};

/// The options of the constructor, validated and completed in JavaScript.
#[napi(object, object_to_js = false)]
pub struct NativeRepoMemoryOptions {
    /// The number of the memory's hooks in its environment.
    pub id: u32,
    /// `repos/<repoHash>` below the root, absolute.
    pub directory: String,
    /// The repository, as `repoIdentity` returns it; absent if the memory was opened by its hash.
    pub identity: Option<String>,
    pub is_durable: bool,
    pub lock_timeout: f64,
    pub max_summaries: f64,
    pub max_summary_bytes: f64,
    pub trust_locks: bool,
    pub allow_shared: bool,
    pub file_system: Option<NativeFileSystem>,
    pub has_debug: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IdentityRequest {
    workspace: PathBuf,
    branch_scope: BranchScope,
}

/// An identity that JavaScript got from `repoIdentity` and passes back unchanged.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KnownIdentity {
    repo_hash: String,
    /// The root of the map.
    workspace: String,
    repository: Repository,
}

impl KnownIdentity {
    fn of(identity: &Identity) -> Self {
        Self {
            repo_hash: identity.repo_hash.clone(),
            workspace: identity.workspace.to_string_lossy().into_owned(),
            repository: Repository::of(identity),
        }
    }
}

#[derive(Deserialize)]
struct SymbolsRequest {
    path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MigrationRequest {
    from_workspace: Option<PathBuf>,
    from_repo_hash: Option<String>,
    workspace: PathBuf,
    root: PathBuf,
    branch_scope: BranchScope,
    is_durable: bool,
    lock_timeout: f64,
    max_summaries: f64,
    max_summary_bytes: f64,
    trust_locks: bool,
    allow_shared: bool,
}

#[derive(Deserialize)]
struct RemovalRequest {
    kind: RecordKind,
    id: String,
}

#[napi]
pub struct NativeRepoMemory {
    memory: Arc<Memory>,
    queue: Arc<Queue>,
    cancellable: Arc<Cancellable>,
    redaction: Option<RedactionSource>,
    /// Packs that were prepared and not released yet, by the number of the operation; `None` while they are
    /// being prepared.
    packs: Arc<Mutex<HashMap<u32, Option<Pack>>>>,
}

/// Answers with the identity of a workspace's repository: `repoHash`, and the other members that the
/// constructor takes.
#[napi]
pub fn repo_identity(
    outbox: &Outbox,
    operation: u32,
    #[napi(ts_arg_type = "string")] request: Utf8,
) -> Result<()> {
    let IdentityRequest { workspace, branch_scope } = parse(&request)?;
    run(&outbox.queue(), operation, async move {
        let identity =
            agent_context_core::run_blocking(move |_| Identity::of(&workspace, branch_scope))
                .await?;
        answer(&KnownIdentity::of(&identity))
    })
    .map(drop)
}

/// Moves the memories of a clone whose path changed; answers with a report.
#[napi]
pub fn migrate_repo_memory(
    outbox: &Outbox,
    operation: u32,
    #[napi(ts_arg_type = "string")] request: Utf8,
    redactor: Option<ClassInstance<'_, NativeRedactor>>,
) -> Result<()> {
    let request: MigrationRequest = parse(&request)?;
    let redaction = redactor.map(|redactor| redactor.source().current());
    run(&outbox.queue(), operation, async move {
        let (workspace, scope) = (request.workspace, request.branch_scope);
        let identity =
            agent_context_core::run_blocking(move |_| Identity::of(&workspace, scope)).await?;
        let origin = match (request.from_workspace, request.from_repo_hash) {
            (Some(workspace), _) => Origin::Workspace(workspace),
            (None, hash) => Origin::Hash(hash.unwrap_or_default()),
        };
        let options = MemoryOptions {
            directory: PathBuf::new(),
            prefix: None,
            repository: None,
            workspace: None,
            durability: durability(request.is_durable),
            lock_timeout: Duration::from_millis(whole(request.lock_timeout)),
            summaries: bounds(request.max_summaries, request.max_summary_bytes),
            trust: Trust { locks: request.trust_locks, shared: request.allow_shared },
        };
        let debug = Debug::default();
        let root = request.root;
        let disk: Arc<dyn FileSystem> = Arc::new(LocalDisk);
        let moved =
            memory::migrate(&disk, &root, origin, &identity, &options, redaction, &debug).await?;
        answer(&moved)
    })
    .map(drop)
}

fn durability(is_durable: bool) -> Durability {
    if is_durable { Durability::Full } else { Durability::Process }
}

fn bounds(entries: f64, bytes: f64) -> SummaryBounds {
    let entries = usize::try_from(whole(entries)).unwrap_or(usize::MAX);
    SummaryBounds { entries, bytes: whole(bytes) }
}

#[napi]
impl NativeRepoMemory {
    #[napi(constructor)]
    pub fn new(
        outbox: &Outbox,
        options: NativeRepoMemoryOptions,
        redactor: Option<ClassInstance<'_, NativeRedactor>>,
        database: Option<ClassInstance<'_, NativeDatabase>>,
    ) -> Result<Self> {
        let queue = outbox.queue();
        let redaction = redactor.map(|redactor| redactor.source());
        let debug = queue.debug(options.id, options.has_debug, redaction.clone());
        let identity: Option<KnownIdentity> = options
            .identity
            .map(|identity| serde_json::from_str(&identity))
            .transpose()
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        let (repository, workspace) = match identity {
            Some(known) => (Some(known.repository), Some(PathBuf::from(known.workspace))),
            None => (None, None),
        };
        let prefix = options.file_system.as_ref().map(|file_system| file_system.prefix.clone());
        let file_system = file_system::chosen(&queue, options.file_system, database.as_deref());
        let options = MemoryOptions {
            directory: PathBuf::from(options.directory),
            prefix,
            repository,
            workspace,
            durability: durability(options.is_durable),
            lock_timeout: Duration::from_millis(whole(options.lock_timeout)),
            summaries: bounds(options.max_summaries, options.max_summary_bytes),
            trust: Trust { locks: options.trust_locks, shared: options.allow_shared },
        };
        let memory = Memory::new(options, &file_system, debug);
        Ok(Self { memory, queue, cancellable: Arc::default(), redaction, packs: Arc::default() })
    }

    /// Adds or changes a record. Answers with it and, if secrets were redacted, with the report.
    #[napi]
    pub fn upsert(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (draft, redaction) = (parse(&request)?, self.redaction());
        self.run(operation, move |memory| {
            let upserted = memory.upsert(draft, redaction);
            async move {
                let Redacted { stored, report } = upserted.await?;
                Ok(redacted(Redacted { stored: stored.into_bytes(), report }))
            }
        })
    }

    /// Removes a record; answers whether it existed.
    #[napi]
    pub fn remove(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (RemovalRequest { kind, id }, redaction) = (parse(&request)?, self.redaction());
        self.run(operation, move |memory| {
            let removed = memory.remove(kind, id, redaction);
            async move { answer(&removed.await?) }
        })
    }

    /// Answers with all records and summaries.
    #[napi]
    pub fn contents(&self, operation: u32) -> Result<()> {
        self.run(operation, move |memory| async move {
            Ok(Answer::Texts(vec![Payload::new(memory.contents().await?)]))
        })
    }

    /// Adds a summary; answers as `upsert`.
    #[napi]
    pub fn append_summary(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (summary, redaction): (Summary, _) = (parse(&request)?, self.redaction());
        self.run(operation, move |memory| {
            let appended = memory.append_summary(summary, redaction);
            async move { redacted_json(appended.await?) }
        })
    }

    /// The vectors of records by the model with this name; without a name, new ones in memory.
    #[napi]
    #[must_use]
    pub fn vectors(&self, model: Option<String>) -> NativeVectors {
        NativeVectors::new(self.memory.vectors(model.as_deref()), &self.queue)
    }

    /// Answers with the query of a pack (JSON; `null` if it has none), and with the texts of its records that have no vector, at most
    /// `limit`.
    #[napi]
    pub fn texts_to_pack(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        vectors: ClassInstance<'_, NativeVectors>,
        limit: f64,
    ) -> Result<()> {
        let (request, redaction) = (parse(&request)?, self.redaction());
        let vectors = vectors.vectors();
        self.run_cancellable(operation, move |memory| async move {
            let limit = size(limit);
            let (query, texts) =
                memory.texts_without_vector(request, redaction, &vectors, limit).await?;
            Ok(query_and_texts(query.as_deref(), texts))
        })
    }

    /// Ranks the entries of a pack; `given` is the embedding of its query. Its number is that of the operation, for `renderPack`, until
    /// `releasePack`.
    #[napi]
    pub fn prepare_pack(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        #[napi(ts_arg_type = "NativeEmbedded | undefined | null")] given: GivenEmbedded<'_>,
    ) -> Result<()> {
        let (request, redaction): (PackRequest, _) = (parse(&request)?, self.redaction());
        let embedded = embedded(given);
        let packs = Arc::clone(&self.packs);
        packs.lock().unwrap_or_else(PoisonError::into_inner).insert(operation, None);
        self.run_cancellable(operation, move |memory| async move {
            let pack = memory.pack(request, redaction, embedded).await?;
            // Absent if the caller released the pack before it was prepared.
            if let Some(prepared) =
                packs.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&operation)
            {
                *prepared = Some(pack);
            }
            Ok(Answer::Text(operation.to_string()))
        })
    }

    /// Renders a pack in at most this many UTF-16 code units. Answers with its text, and with its included and omitted records as JSON.
    #[napi]
    pub fn render_pack(&self, operation: u32, pack: u32, max_chars: f64) -> Result<()> {
        let packs = self.packs.lock().unwrap_or_else(PoisonError::into_inner);
        let pack = packs.get(&pack).cloned().flatten();
        drop(packs);
        let most = usize::try_from(whole(max_chars)).unwrap_or(usize::MAX);
        self.run(operation, move |_| async move {
            let pack = pack.ok_or_else(|| Error::internal("the pack was released"))?;
            let filled = agent_context_core::run_blocking(move |_| Ok(pack.fill(most))).await?;
            let contents =
                serde_json::to_vec(&filled).map_err(|error| Error::internal(error.to_string()))?;
            Ok(Answer::Texts(vec![Payload::new(filled.text.into_bytes()), Payload::new(contents)]))
        })
    }

    /// Drops a prepared pack.
    #[napi]
    pub fn release_pack(&self, pack: u32) {
        self.packs.lock().unwrap_or_else(PoisonError::into_inner).remove(&pack);
    }

    /// Answers with the most important definitions of the workspace. Posts progress if requested.
    #[napi]
    pub fn repo_map(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        wants_progress: bool,
    ) -> Result<()> {
        let (request, redaction): (MapRequest, _) = (parse(&request)?, self.redaction());
        let queue = Arc::clone(&self.queue);
        let progress = wants_progress.then(|| -> Arc<OnProgress> {
            Arc::new(move |progress| queue.progress(operation, &progress))
        });
        self.run_cancellable(operation, move |memory| async move {
            answer(&memory.repo_map(request, redaction, progress).await?)
        })
    }

    /// Answers with the definitions of a file of the workspace.
    #[napi]
    pub fn symbols(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (SymbolsRequest { path }, redaction) = (parse(&request)?, self.redaction());
        self.run_cancellable(operation, move |memory| async move {
            answer(&memory.symbols(&path, redaction).await?)
        })
    }

    /// Waits for all operations that were called before.
    #[napi]
    pub fn close(&self, operation: u32) -> Result<()> {
        let memory = Arc::clone(&self.memory);
        run(&self.queue, operation, async move {
            memory.close().await;
            Ok(Answer::Text(String::new()))
        })
        .map(drop)
    }

    /// Cancels an operation.
    #[napi]
    pub fn cancel(&self, operation: u32) {
        self.cancellable.cancel(operation);
    }
}

impl NativeRepoMemory {
    /// The redaction at the time of this call.
    fn redaction(&self) -> Option<Redaction> {
        self.redaction.as_ref().map(RedactionSource::current)
    }

    /// Runs an operation of the memory; `close` waits until it has ended. `work` is called synchronously, so
    /// that operations run in the order of the calls from JavaScript.
    fn work<W, F>(&self, work: W) -> impl Future<Output = Outcome<Answer>> + Send + use<W, F>
    where
        W: FnOnce(Arc<Memory>) -> F + Send + 'static,
        F: Future<Output = Outcome<Answer>> + Send + 'static,
    {
        let call = self.memory.begin();
        let working = work(Arc::clone(&self.memory));
        async move {
            let _call = call;
            working.await
        }
    }

    fn run<W, F>(&self, operation: u32, work: W) -> Result<()>
    where
        W: FnOnce(Arc<Memory>) -> F + Send + 'static,
        F: Future<Output = Outcome<Answer>> + Send + 'static,
    {
        run(&self.queue, operation, self.work(work)).map(drop)
    }

    fn run_cancellable<W, F>(&self, operation: u32, work: W) -> Result<()>
    where
        W: FnOnce(Arc<Memory>) -> F + Send + 'static,
        F: Future<Output = Outcome<Answer>> + Send + 'static,
    {
        run_cancellable(&self.cancellable, Arc::clone(&self.queue), operation, self.work(work))
    }
}
