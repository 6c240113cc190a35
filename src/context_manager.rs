//! The native class behind `ContextManager` (`lib/manager/context-manager.ts`).

#![allow(
    clippy::too_many_arguments,
    reason = "an object in place of the arguments of `save` would cost more than the rest of the call"
)]

use std::sync::Arc;

use agent_context_core::{
    Error, Trust,
    context::{Held, Manager, ManagerOptions, Retention, SaveRequest, Saved},
};
use database::Database;
use napi::{
    Env, Result,
    bindgen_prelude::{ClassInstance, Either, Unknown},
};
use napi_derive::napi;
use redaction::{Redacted, Redaction};
use storage::{Durability, Payload};

use super::{
    database::{NativeDatabase, StorageStats, stats_of},
    file_system::{self, NativeFileSystem},
    numbers::{count, number, size, time, whole},
    outbox::{Outbox, Queue},
    redaction::{NativeRedactor, RedactionSource},
    runtime::{Answer, Cancellable, run, run_cancellable, started},
    save_details::read_details,
    text::{JsText, Utf8},
    value,
};

/// The threads that one call of `loadAll` uses.
const LOADERS: usize = 2;

/// The options of the constructor, validated and completed in JavaScript.
#[napi(object, object_to_js = false)]
pub struct NativeOptions {
    /// The number of the manager in its environment, for debug messages and file-system calls.
    pub id: u32,
    pub directory: String,
    pub prefix: String,
    pub session: String,
    pub session_is_named: bool,
    pub persist_threshold: f64,
    pub persist_all: bool,
    pub memory_budget: f64,
    pub index_budget: f64,
    pub max_age: f64,
    pub max_files: f64,
    pub max_bytes: f64,
    pub max_result_bytes: f64,
    pub keep_paused: f64,
    pub max_paused_bytes: f64,
    pub max_live_bytes: f64,
    pub max_live_files: f64,
    pub resumes: bool,
    pub trust_locks: bool,
    pub allow_shared: bool,
    pub is_durable: bool,
    pub file_system: Option<NativeFileSystem>,
    pub has_debug: bool,
    /// Whether the caller wants reports on redacted secrets.
    pub reports_redaction: bool,
}

/// Counts and bytes in memory and on disk.
#[napi(object, object_from_js = false)]
pub struct ContextStats {
    /// Contexts with a pointer.
    pub contexts: f64,
    /// Contexts in memory.
    pub memory_contexts: f64,
    /// Bytes of the contexts in memory.
    pub memory_bytes: f64,
    /// Contexts on disk.
    pub disk_contexts: f64,
    /// Bytes on disk.
    pub disk_bytes: f64,
    /// Loads served from memory.
    pub memory_hits: f64,
    /// Loads served from disk.
    pub disk_hits: f64,
    /// Loads that found no valid record.
    pub misses: f64,
    /// Small outputs that were written to disk because the memory budget was exceeded.
    pub spills: f64,
    /// Secrets that were redacted in saves since the manager was created.
    pub redactions: f64,
    /// What was asked of the database; absent without the option `storage`.
    pub storage: Option<StorageStats>,
}

/// The answer of a save: see `NativeManager::save`.
pub(super) fn answer_of_save(
    saved: Redacted<Saved>,
    wants_handle: bool,
    reports_redaction: bool,
) -> Answer {
    let Redacted { stored, report } = saved;
    let Saved { path, handle, placeholder, leaves, parts, tool_name, stream_bytes } = stored;
    let is_told = reports_redaction && !report.is_empty();
    let told = is_told.then(
        || serde_json::json!({ "findings": report, "toolName": tool_name, "filepath": path }),
    );
    let answer = if wants_handle {
        let parts: Vec<[String; 2]> =
            parts.into_iter().map(|part| [part.steps, part.description]).collect();
        serde_json::json!({
            "path": path,
            "handle": handle,
            "placeholder": placeholder,
            "leaves": leaves,
            "parts": parts,
            "streamBytes": stream_bytes,
        })
        .to_string()
    } else {
        path
    };
    let Some(told) = told else { return Answer::Text(answer) };
    Answer::Texts([answer, told.to_string()].map(|text| Payload::new(text.into_bytes())).into())
}

#[napi]
pub struct NativeManager {
    pub(super) manager: Arc<Manager>,
    pub(super) queue: Arc<Queue>,
    cancellable: Arc<Cancellable>,
    pub(super) redaction: Option<RedactionSource>,
    pub(super) reports_redaction: bool,
    database: Option<Arc<Database>>,
}

#[napi]
impl NativeManager {
    #[napi(constructor)]
    pub fn new(
        outbox: &Outbox,
        options: NativeOptions,
        redactor: Option<ClassInstance<'_, NativeRedactor>>,
        database: Option<ClassInstance<'_, NativeDatabase>>,
    ) -> Self {
        let queue = outbox.queue();
        let redaction = redactor.map(|redactor| redactor.source());
        let file_system = file_system::chosen(&queue, options.file_system, database.as_deref());
        let database = database.map(|database| database.database());
        let debug = queue.debug(options.id, options.has_debug, redaction.clone());
        let reports_redaction = options.reports_redaction;
        let options = ManagerOptions {
            directory: options.directory,
            prefix: options.prefix,
            session: options.session,
            session_is_named: options.session_is_named,
            resumes: options.resumes,
            persist_threshold: whole(options.persist_threshold),
            persist_all: options.persist_all,
            memory_budget: size(options.memory_budget),
            index_budget: size(options.index_budget),
            retention: Retention {
                max_age: time(options.max_age),
                max_files: size(options.max_files),
                max_bytes: whole(options.max_bytes),
                max_result_bytes: size(options.max_result_bytes),
                keep_paused: time(options.keep_paused),
                max_paused_bytes: whole(options.max_paused_bytes),
                max_live_bytes: whole(options.max_live_bytes),
                max_live_files: size(options.max_live_files),
            },
            durability: if options.is_durable { Durability::Full } else { Durability::Process },
            trust: Trust { locks: options.trust_locks, shared: options.allow_shared },
        };
        let manager = Manager::new(options, file_system, debug);
        queue.register(&manager);
        let cancellable = Arc::default();
        Self { manager, queue, cancellable, redaction, reports_redaction, database }
    }

    /// Saves a tool output. Answers with the path, or if the details have `offload`, with JSON: `path`,
    /// `handle`, `placeholder` and `leaves`. If secrets were redacted and reports are wanted, answers with
    /// two texts: this one, and the report as JSON. `kind` to `chunks` are an encoded value, `details` is
    /// JSON, `bytes` is the value's binary data, which `details` describes.
    #[napi]
    pub fn save(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] tool_name: Utf8,
        timestamp: f64,
        #[napi(ts_arg_type = "string | undefined")] query: Option<Utf8>,
        #[napi(ts_arg_type = "string | undefined")] task: Option<Utf8>,
        #[napi(ts_arg_type = "string")] argument_text: Unknown<'_>,
        kind: u32,
        #[napi(ts_arg_type = "string")] text: Unknown<'_>,
        #[napi(ts_arg_type = "Int32Array")] operations: Unknown<'_>,
        length: u32,
        #[napi(ts_arg_type = "readonly string[]")] chunks: Unknown<'_>,
        #[napi(ts_arg_type = "string | undefined")] details: Option<Utf8>,
        #[napi(ts_arg_type = "readonly Uint8Array[]")] bytes: Unknown<'_>,
    ) -> Result<()> {
        let arguments = value::read_text(env, &argument_text)?;
        let result = value::read(env, kind, &text, &operations, length, &chunks)?;
        let details =
            details.map(|text| read_details(env, &text, &bytes)).transpose()?.map(Box::new);
        let request = SaveRequest {
            tool_name: tool_name.into_string(),
            arguments,
            result,
            timestamp: time(timestamp),
            task: task.map(Utf8::into_string),
            query: query.map(Utf8::into_token),
            details,
            redaction: self.redaction(),
        };
        let manager = Arc::clone(&self.manager);
        let sequence = manager.begin_save();
        let wants_handle =
            request.details.as_ref().is_some_and(|details| details.offload.is_some());
        let reports_redaction = self.reports_redaction;
        run(&self.queue, operation, async move {
            let saved = manager.store(sequence, request).await?;
            Ok(answer_of_save(saved, wants_handle, reports_redaction))
        })?;
        Ok(())
    }

    /// The key with which the tools for models sign their answers, as hex digits; empty if there is none and
    /// `creates` is false.
    #[napi]
    pub fn answer_key(&self, operation: u32, creates: bool) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        run(&self.queue, operation, async move {
            manager.answer_key(creates).await.map(|key| Answer::Text(key.unwrap_or_default()))
        })?;
        Ok(())
    }

    /// A context in memory, synchronously: its record, or if the result is a text an array of its record without
    /// the result and of the result. `null` if it has to be loaded.
    #[napi(ts_return_type = "string | string[] | null")]
    pub fn peek(
        &self,
        #[napi(ts_arg_type = "string")] path: Utf8,
    ) -> Option<Either<JsText, Vec<JsText>>> {
        Some(match self.manager.peek(&path.into_string())? {
            Held::Whole(record) => Either::A(JsText(record)),
            held => Either::B(held.into_texts().into_iter().map(JsText).collect()),
        })
    }

    /// Loads; answers with the record, or with the record without its result and the result.
    #[napi]
    pub fn load(&self, operation: u32, #[napi(ts_arg_type = "string")] path: Utf8) -> Result<()> {
        let (manager, path) = (Arc::clone(&self.manager), path.into_string());
        run(&self.queue, operation, async move {
            manager.load(&path).await.map(|held| Answer::Texts(held.into_texts()))
        })?;
        Ok(())
    }

    /// Loads several contexts, whose paths are separated by NUL characters, in one operation, because waking
    /// a thread costs more than reading a small file. For each, answers with the number of its texts and the
    /// texts, or with `!` and the error as JSON.
    #[napi]
    pub fn load_all(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] paths: Utf8,
    ) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        let paths = paths.into_string();
        run(&self.queue, operation, async move {
            let paths: Vec<String> = paths.split('\0').map(str::to_owned).collect();
            let share = paths.len().div_ceil(LOADERS).max(1);
            let shares: Vec<_> = paths
                .chunks(share)
                .map(|paths| tokio::spawn(load_share(Arc::clone(&manager), paths.to_vec())))
                .collect();
            let mut texts = Vec::with_capacity(paths.len() * 2);
            for share in shares {
                let loaded = share.await.map_err(|error| {
                    Error::internal(format!("loading was interrupted: {error}"))
                })?;
                texts.extend(loaded);
            }
            Ok(Answer::Texts(texts))
        })?;
        Ok(())
    }

    /// Lists a session's contexts, or all; answers with JSON arrays.
    #[napi]
    pub fn list(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string | undefined")] session: Option<Utf8>,
    ) -> Result<()> {
        let (manager, session) = (Arc::clone(&self.manager), session.map(Utf8::into_string));
        self.run_cancellable(operation, async move {
            let texts = manager.list(session.as_deref()).await?;
            Ok(Answer::Texts(
                texts.into_iter().map(|text| Payload::new(text.into_bytes())).collect(),
            ))
        })
    }

    /// Removes one context; answers with `true` or `false`.
    #[napi]
    pub fn forget(&self, operation: u32, #[napi(ts_arg_type = "string")] path: Utf8) -> Result<()> {
        let (manager, path) = (Arc::clone(&self.manager), path.into_string());
        run(&self.queue, operation, async move {
            manager.forget(&path).await.map(|forgot| Answer::Text(forgot.to_string()))
        })?;
        Ok(())
    }

    #[napi]
    pub fn clear(&self, operation: u32) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        let clearing = manager.begin_clear();
        run(&self.queue, operation, async move {
            manager.clear(clearing).await.map(|deleted| Answer::Text(deleted.to_string()))
        })?;
        Ok(())
    }

    #[napi]
    pub fn clear_directory(&self, operation: u32) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        let clearing = manager.begin_clear();
        run(&self.queue, operation, async move {
            manager.clear_directory(clearing).await.map(|deleted| Answer::Text(deleted.to_string()))
        })?;
        Ok(())
    }

    #[napi]
    pub fn clear_pointers(&self) {
        self.manager.clear_pointers();
    }

    #[napi]
    pub fn close(&self, operation: u32) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        let calls = manager.calls();
        run(&self.queue, operation, async move {
            manager.close(calls).await;
            Ok(Answer::Text(String::new()))
        })?;
        Ok(())
    }

    /// Cancels an operation.
    #[napi]
    pub fn cancel(&self, operation: u32) {
        self.cancellable.cancel(operation);
    }

    /// A number that changes whenever the pointers may have changed.
    #[napi]
    pub fn generation(&self) -> f64 {
        number(self.manager.generation())
    }

    #[napi]
    pub fn size(&self) -> f64 {
        count(self.manager.len())
    }

    #[napi]
    pub fn stats(&self) -> ContextStats {
        let stats = self.manager.stats();
        ContextStats {
            contexts: count(stats.contexts),
            memory_contexts: count(stats.memory_contexts),
            memory_bytes: count(stats.memory_bytes),
            disk_contexts: number(stats.disk_contexts),
            disk_bytes: number(stats.disk_bytes),
            memory_hits: number(stats.memory_hits),
            disk_hits: number(stats.disk_hits),
            misses: number(stats.misses),
            spills: number(stats.spills),
            redactions: number(stats.redactions),
            storage: self.database.as_deref().map(stats_of),
        }
    }
}

async fn load_share(manager: Arc<Manager>, paths: Vec<String>) -> Vec<Payload> {
    let mut texts = Vec::with_capacity(paths.len() * 2);
    for path in paths {
        match manager.load(&path).await {
            Ok(held) => {
                let parts = held.into_texts();
                texts.push(Payload::new(parts.len().to_string().into_bytes()));
                texts.extend(parts);
            }
            Err(error) => {
                let text = format!("!{}", super::error::to_json(&error));
                texts.push(Payload::new(text.into_bytes()));
            }
        }
    }
    texts
}

impl NativeManager {
    /// The redaction at the time of this call.
    pub(super) fn redaction(&self) -> Option<Redaction> {
        self.redaction.as_ref().map(RedactionSource::current)
    }

    /// Runs an operation that `cancel` can stop.
    pub(super) fn run_cancellable<F>(&self, operation: u32, work: F) -> Result<()>
    where
        F: Future<Output = std::result::Result<Answer, Error>> + Send + 'static,
    {
        run_cancellable(&self.cancellable, Arc::clone(&self.queue), operation, work)
    }
}

impl Drop for NativeManager {
    fn drop(&mut self) {
        // Dropping the manager may release a lease, which touches files. Finalisers run on the JavaScript
        // thread, so this is done on another one.
        if let Some(runtime) = started() {
            let manager = Arc::clone(&self.manager);
            runtime.spawn(async move { drop(manager) });
        }
    }
}

/// The SHA-256 of a text, in hex.
#[napi]
pub fn sha256(#[napi(ts_arg_type = "string")] text: Utf8) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(&text.0).iter().map(|byte| format!("{byte:02x}")).collect()
}
