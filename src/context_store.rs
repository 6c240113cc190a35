//! The native class behind `ContextStore` (`lib/store/context-store.ts`). Requests and answers are JSON.

use std::{future::Future, path::PathBuf, sync::Arc, time::Duration};

use agent_context_core::{
    Trust,
    store::{Policy, Store, StoreOptions},
};
use napi::{Result, bindgen_prelude::ClassInstance};
use napi_derive::napi;
use redaction::Redaction;
use serde::Deserialize;
use storage::Durability;

use super::{
    answers::{Outcome, answer, redacted_json},
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
pub struct NativeStoreOptions {
    /// The number of the store's hooks in its environment.
    pub id: u32,
    pub path: String,
    pub agent: String,
    pub session_id: String,
    /// Whether new entries go into a directory per session.
    pub in_session: bool,
    pub is_durable: bool,
    pub lock_timeout: f64,
    pub max_entry_bytes: f64,
    pub trust_locks: bool,
    pub allow_shared: bool,
    pub file_system: Option<NativeFileSystem>,
    pub has_debug: bool,
}

#[derive(Deserialize)]
struct ReadRequest {
    path: String,
}

#[derive(Deserialize)]
struct RemovalRequest {
    paths: Vec<String>,
    #[serde(flatten)]
    policy: Policy,
}

#[napi]
pub struct NativeStore {
    store: Arc<Store>,
    queue: Arc<Queue>,
    cancellable: Arc<Cancellable>,
    redaction: Option<RedactionSource>,
}

/// The reason why a name is not a valid directory name on every system; `null` if it is valid.
#[napi(ts_return_type = "string | null")]
#[must_use]
pub fn directory_fault(#[napi(ts_arg_type = "string")] name: Utf8) -> Option<String> {
    agent_context_core::store::directory_name_error(&name.into_string()).map(str::to_owned)
}

#[napi]
impl NativeStore {
    #[napi(constructor)]
    pub fn new(
        outbox: &Outbox,
        options: NativeStoreOptions,
        redactor: Option<ClassInstance<'_, NativeRedactor>>,
        database: Option<ClassInstance<'_, NativeDatabase>>,
    ) -> Self {
        let queue = outbox.queue();
        let redaction = redactor.map(|redactor| redactor.source());
        let file_system = file_system::chosen(&queue, options.file_system, database.as_deref());
        let debug = queue.debug(options.id, options.has_debug, redaction.clone());
        let options = StoreOptions {
            directory: PathBuf::from(options.path),
            agent: options.agent,
            session_id: options.session_id,
            has_session_directory: options.in_session,
            durability: if options.is_durable { Durability::Full } else { Durability::Process },
            lock_timeout: Duration::from_millis(whole(options.lock_timeout)),
            max_entry_bytes: whole(options.max_entry_bytes),
            trust: Trust { locks: options.trust_locks, shared: options.allow_shared },
        };
        let store = Store::new(options, &file_system, debug);
        Self { store, queue, cancellable: Arc::default(), redaction }
    }

    /// Writes an entry. Answers with it and, if secrets were redacted, with the report.
    #[napi]
    pub fn write(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (draft, redaction) = (parse(&request)?, self.redaction());
        self.run(operation, move |store| {
            let written = store.write(draft, redaction);
            async move { redacted_json(written.await?) }
        })
    }

    /// Reads an entry.
    #[napi]
    pub fn read(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let ReadRequest { path } = parse(&request)?;
        self.run(operation, move |store| async move { answer(&store.read(&path).await?) })
    }

    /// Changes an entry; answers as `write`.
    #[napi]
    pub fn update(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (update, redaction) = (parse(&request)?, self.redaction());
        self.run(operation, move |store| {
            let updated = store.update(update, redaction);
            async move { redacted_json(updated.await?) }
        })
    }

    /// Supersedes an entry; answers with both entries, as `write`.
    #[napi]
    pub fn supersede(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (supersession, redaction) = (parse(&request)?, self.redaction());
        self.run(operation, move |store| {
            let superseded = store.supersede(supersession, redaction);
            async move { redacted_json(superseded.await?) }
        })
    }

    /// The vectors of entries by the model with this name; without a name, new ones in memory.
    #[napi]
    #[must_use]
    pub fn vectors(&self, model: Option<String>) -> NativeVectors {
        NativeVectors::new(self.store.vectors(model.as_deref()), &self.queue)
    }

    /// Answers with the text of a ranked query (JSON; `null` if it has only exclusions), and with the texts without a vector of entries
    /// that the search admits, at most `limit`.
    #[napi]
    pub fn texts_to_search(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        vectors: ClassInstance<'_, NativeVectors>,
        limit: f64,
    ) -> Result<()> {
        let (filter, vectors) = (parse(&request)?, vectors.vectors());
        self.run_cancellable(operation, move |store| async move {
            let (query, texts) = store.texts_without_vector(&filter, &vectors, size(limit)).await?;
            Ok(query_and_texts(query.as_deref(), texts))
        })
    }

    /// Searches; `given` is the embedding of a ranked query. Answers with entries.
    #[napi]
    pub fn search(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        #[napi(ts_arg_type = "NativeEmbedded | undefined | null")] given: GivenEmbedded<'_>,
    ) -> Result<()> {
        let (filter, embedded) = (parse(&request)?, embedded(given));
        self.run_cancellable(operation, move |store| async move {
            answer(&store.search(&filter, embedded).await?)
        })
    }

    /// Searches; answers with the entries' metadata.
    #[napi]
    pub fn list(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let filter = parse(&request)?;
        self.run_cancellable(
            operation,
            move |store| async move { answer(&store.list(&filter).await?) },
        )
    }

    /// Follows links; answers with entries.
    #[napi]
    pub fn related(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let related = parse(&request)?;
        self.run_cancellable(operation, move |store| async move {
            answer(&store.related(&related).await?)
        })
    }

    /// Verifies the store; answers with a report.
    #[napi]
    pub fn verify(&self, operation: u32) -> Result<()> {
        self.run_cancellable(operation, move |store| async move { answer(&store.verify().await?) })
    }

    /// Answers with the expired entries.
    #[napi]
    pub fn plan_housekeeping(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let policy = parse(&request)?;
        self.run_cancellable(operation, move |store| async move {
            answer(&store.plan_housekeeping(&policy).await?)
        })
    }

    /// Removes expired entries; answers with a report.
    #[napi]
    pub fn remove_expired(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let RemovalRequest { paths, policy } = parse(&request)?;
        self.run(operation, move |store| async move {
            answer(&store.remove_expired(&policy, &paths).await?)
        })
    }

    /// Removes the temporary files of ended processes.
    #[napi]
    pub fn remove_leftovers(&self, operation: u32) -> Result<()> {
        self.run(operation, move |store| async move {
            store.remove_leftovers().await?;
            Ok(Answer::Text(String::new()))
        })
    }

    /// Waits for all operations that were called before.
    #[napi]
    pub fn close(&self, operation: u32) -> Result<()> {
        let store = Arc::clone(&self.store);
        run(&self.queue, operation, async move {
            store.close().await;
            Ok(Answer::Text(String::new()))
        })?;
        Ok(())
    }

    /// Cancels an operation.
    #[napi]
    pub fn cancel(&self, operation: u32) {
        self.cancellable.cancel(operation);
    }
}

impl NativeStore {
    /// The redaction at the time of this call.
    fn redaction(&self) -> Option<Redaction> {
        self.redaction.as_ref().map(RedactionSource::current)
    }

    /// Runs an operation of the store; `close` waits until it has ended. `work` is called synchronously, so
    /// that operations run in the order of the calls from JavaScript.
    fn work<W, F>(&self, work: W) -> impl Future<Output = Outcome<Answer>> + Send + use<W, F>
    where
        W: FnOnce(Arc<Store>) -> F + Send + 'static,
        F: Future<Output = Outcome<Answer>> + Send + 'static,
    {
        let call = self.store.begin();
        let working = work(Arc::clone(&self.store));
        async move {
            let _call = call;
            working.await
        }
    }

    fn run<W, F>(&self, operation: u32, work: W) -> Result<()>
    where
        W: FnOnce(Arc<Store>) -> F + Send + 'static,
        F: Future<Output = Outcome<Answer>> + Send + 'static,
    {
        run(&self.queue, operation, self.work(work)).map(drop)
    }

    fn run_cancellable<W, F>(&self, operation: u32, work: W) -> Result<()>
    where
        W: FnOnce(Arc<Store>) -> F + Send + 'static,
        F: Future<Output = Outcome<Answer>> + Send + 'static,
    {
        run_cancellable(&self.cancellable, Arc::clone(&self.queue), operation, self.work(work))
    }
}
