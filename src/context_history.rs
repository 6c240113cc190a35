//! The native class behind `ContextHistory` (`lib/history/context-history.ts`).

#![allow(
    clippy::too_many_arguments,
    reason = "an object in place of the arguments of `append` would cost more than the rest of the call"
)]

use std::{path::Path, sync::Arc, time::Duration};

use agent_context_core::{
    Error, Trust,
    history::{
        AnyHistory, AnyTail, Appended, Bounds, DatabaseHistory, DatabaseHistoryOptions, Filter,
        History, HistoryOptions, NewEntry, Policy, Previous, Summary, TailStart, copy_history,
    },
};
use napi::{
    Env, Result,
    bindgen_prelude::{ClassInstance, Unknown},
};
use napi_derive::napi;
use redaction::Redaction;
use serde::Deserialize;
use serde_json::json;
use storage::{Durability, LogPath, Payload};

use super::{
    answers::{answer, redacted, redacted_texts},
    database::NativeDatabase,
    file_system::{self, NativeFileSystem},
    numbers::{size, whole},
    outbox::{Outbox, Queue},
    redaction::{NativeRedactor, RedactionSource},
    request::parse,
    runtime::{Answer, Cancellable, run, run_cancellable},
    text::Utf8,
    value,
    vectors::{GivenEmbedded, NativeVectors, embedded, query_and_texts},
};

/// The options of the constructor, validated and completed in JavaScript.
#[napi(object, object_to_js = false)]
pub struct NativeHistoryOptions {
    /// The number of the history's hooks in its environment.
    pub id: u32,
    pub path: String,
    pub is_durable: bool,
    pub lock_timeout: f64,
    pub max_entry_bytes: f64,
    pub max_bytes: Option<f64>,
    pub max_entries: Option<f64>,
    pub trust_locks: bool,
    pub allow_shared: bool,
    pub file_system: Option<NativeFileSystem>,
    pub has_debug: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeFilter {
    tool_names: Option<Vec<String>>,
    success: Option<bool>,
    since: Option<i64>,
    until: Option<i64>,
    text: Option<String>,
    ranked: Option<bool>,
    limit: usize,
}

impl NativeFilter {
    fn into_filter(self) -> Filter {
        let Self { tool_names, success, since, until, text, ranked: _, limit } = self;
        Filter { tool_names, success, since, until, text, limit }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativePolicy {
    keep_last: Option<u64>,
    max_age: Option<i64>,
    max_bytes: Option<u64>,
    wants_entries: bool,
}

/// The conditions under which an entry is written.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeConditions {
    operation_id: Option<String>,
    previous: Option<NativePrevious>,
}

/// Returns a random UUID. `crypto.randomUUID` loads the complete Web Cryptography module first, which takes 4 ms of a short process.
#[napi]
pub fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The expected last entry; without an id, the log must be empty.
#[derive(Deserialize)]
struct NativePrevious {
    id: Option<String>,
}

#[napi]
pub struct NativeHistory {
    history: AnyHistory,
    queue: Arc<Queue>,
    cancellable: Arc<Cancellable>,
    redaction: Option<RedactionSource>,
}

/// The log's path. An injected file system uses its own spelling of the directory's path.
fn log_path(path: &str, file_system: Option<&NativeFileSystem>) -> LogPath {
    let split = Path::new(path);
    let name = match file_system {
        Some(file_system) => path.strip_prefix(&file_system.prefix),
        None => split.file_name().and_then(|name| name.to_str()),
    };
    let name = name.unwrap_or(path).to_owned();
    let prefix = path.strip_suffix(&name).unwrap_or_default().to_owned();
    LogPath { directory: split.parent().unwrap_or(split).to_owned(), prefix, name }
}

fn texts(texts: Vec<Vec<u8>>) -> Answer {
    Answer::Texts(texts.into_iter().map(Payload::new).collect())
}

#[napi]
impl NativeHistory {
    #[napi(constructor)]
    pub fn new(
        outbox: &Outbox,
        options: NativeHistoryOptions,
        redactor: Option<ClassInstance<'_, NativeRedactor>>,
        database: Option<ClassInstance<'_, NativeDatabase>>,
    ) -> Self {
        let queue = outbox.queue();
        let redaction = redactor.map(|redactor| redactor.source());
        let debug = queue.debug(options.id, options.has_debug, redaction.clone());
        let max_entry_bytes = size(options.max_entry_bytes);
        let bounds = Bounds {
            max_bytes: options.max_bytes.map(whole),
            max_entries: options.max_entries.map(whole),
        };
        let history = if let Some(database) = database {
            let namespace = options.path;
            let options = DatabaseHistoryOptions { namespace, max_entry_bytes, bounds };
            AnyHistory::Database(DatabaseHistory::new(options, database.database(), debug))
        } else {
            let path = log_path(&options.path, options.file_system.as_ref());
            let file_system = file_system::of(&queue, options.file_system);
            let options = HistoryOptions {
                path,
                durability: if options.is_durable { Durability::Full } else { Durability::Process },
                lock_timeout: Duration::from_millis(whole(options.lock_timeout)),
                max_entry_bytes,
                bounds,
                trust: Trust { locks: options.trust_locks, shared: options.allow_shared },
            };
            AnyHistory::File(History::new(options, file_system, debug))
        };
        Self { history, queue, cancellable: Arc::default(), redaction }
    }

    /// Appends a line: the tool's name, `params` (JSON), the encoded value `kind` to `chunks` as the result,
    /// and the members of `rest`, a JSON object with at least one member. If secrets were redacted, answers
    /// with the entry and the report, both as JSON. If the log has an entry of the same operation, answers
    /// with that. The conditions are JSON, or empty.
    #[napi]
    pub fn append(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] tool_name: Utf8,
        #[napi(ts_arg_type = "string")] params: Unknown<'_>,
        kind: u32,
        #[napi(ts_arg_type = "string")] text: Unknown<'_>,
        #[napi(ts_arg_type = "Int32Array")] operations: Unknown<'_>,
        length: u32,
        #[napi(ts_arg_type = "readonly string[]")] chunks: Unknown<'_>,
        #[napi(ts_arg_type = "string")] rest: Utf8,
        #[napi(ts_arg_type = "string")] conditions: Utf8,
    ) -> Result<()> {
        let NativeConditions { operation_id, previous } =
            if conditions.0.is_empty() { NativeConditions::default() } else { parse(&conditions)? };
        let entry = NewEntry {
            tool_name: tool_name.into_string(),
            params: value::read_text(env, &params)?,
            result: value::read(env, kind, &text, &operations, length, &chunks)?,
            rest: rest.into_string(),
            operation_id,
            previous: previous
                .map(|NativePrevious { id }| id.map_or(Previous::Nothing, Previous::Entry)),
            redaction: self.redaction(),
        };
        let appending = self.history.append(entry);
        run(&self.queue, operation, async move {
            Ok(match appending.outcome().await? {
                Appended::Earlier { entry } => Answer::Texts(vec![Payload::new(entry)]),
                Appended::Written { redacted: Some(entry) } => redacted(entry),
                Appended::Written { redacted: None } => Answer::Text(String::new()),
            })
        })?;
        Ok(())
    }

    /// Answers with the latest entries as JSON arrays, oldest first; stops after the entry with which they
    /// reach `maxBytes` of JSON.
    #[napi]
    pub fn read(&self, operation: u32, limit: f64, max_bytes: f64) -> Result<()> {
        let history = self.history.clone();
        self.run_cancellable(operation, async move {
            history.read(size(limit), size(max_bytes)).await.map(texts)
        })
    }

    /// A position to follow the log from: with its last entries, or after the entry with this id.
    #[napi]
    pub fn tail(&self, last: f64, after: Option<String>) -> NativeHistoryTail {
        let start = after.map_or_else(|| TailStart::Last(size(last)), TailStart::After);
        NativeHistoryTail {
            tail: self.history.tail(start),
            queue: Arc::clone(&self.queue),
            cancellable: Arc::clone(&self.cancellable),
        }
    }

    /// The vectors of entries by the model with this name; without a name, new ones in memory.
    #[napi]
    #[must_use]
    pub fn vectors(&self, model: Option<String>) -> NativeVectors {
        NativeVectors::new(self.history.vectors(model.as_deref()), &self.queue)
    }

    /// Answers with the filter's text, as JSON, and with the texts without a vector of entries that a ranked search would rank, at
    /// most `limit`.
    #[napi]
    pub fn texts_to_search(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] filter: Utf8,
        vectors: ClassInstance<'_, NativeVectors>,
        limit: f64,
    ) -> Result<()> {
        let (history, vectors) = (self.history.clone(), vectors.vectors());
        let filter = parse::<NativeFilter>(&filter)?.into_filter();
        let redaction = self.redaction();
        self.run_cancellable(operation, async move {
            let filter = filter.redacted(redaction)?;
            let query = filter.text.clone();
            let texts = history.texts_without_vector(filter, &vectors, size(limit)).await?;
            Ok(query_and_texts(query.as_deref(), texts))
        })
    }

    /// Searches; the filter is JSON, `given` is the embedding of its text. Answers as `read`, or best first with `ranked`.
    #[napi]
    pub fn search(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] filter: Utf8,
        #[napi(ts_arg_type = "NativeEmbedded | undefined | null")] given: GivenEmbedded<'_>,
    ) -> Result<()> {
        let history = self.history.clone();
        let filter: NativeFilter = parse(&filter)?;
        let (ranked, filter) = (filter.ranked, filter.into_filter());
        let (redaction, embedded) = (self.redaction(), embedded(given));
        self.run_cancellable(operation, async move {
            let filter = filter.redacted(redaction)?;
            let found = match ranked {
                Some(true) => history.rank(filter, embedded).await,
                _ => history.search(filter).await,
            };
            found.map(texts)
        })
    }

    /// The first step of a compaction; the policy is JSON. Answers with the plan (JSON, to be passed to
    /// `compact`) and, if requested, with the entries that would be dropped.
    #[napi]
    pub fn plan_compaction(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] policy: Utf8,
    ) -> Result<()> {
        let history = self.history.clone();
        let NativePolicy { keep_last, max_age, max_bytes, wants_entries } = parse(&policy)?;
        let policy = Policy { keep_last, max_age, max_bytes, keeps_latest: false };
        self.run_cancellable(operation, async move {
            let (plan, mut entries) = history.plan(policy, wants_entries).await?;
            let plan = serde_json::to_vec(&plan)
                .map_err(|error| Error::internal(format!("no plan: {error}")))?;
            entries.insert(0, plan);
            Ok(texts(entries))
        })
    }

    /// The second step: `summary` is the line to write, or empty. Answers with a report as JSON and, if
    /// secrets were redacted, as `append`.
    #[napi]
    pub fn compact(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] plan: Utf8,
        #[napi(ts_arg_type = "string")] summary: Utf8,
    ) -> Result<()> {
        let history = self.history.clone();
        let plan = parse(&plan)?;
        let line = summary.into_string();
        let redaction = self.redaction();
        let summary = (!line.is_empty()).then_some(Summary { line, redaction });
        run(&self.queue, operation, async move {
            let (report, redacted) = history.compact(plan, summary).await?;
            let report = json!({
                "keptEntries": report.kept_entries,
                "droppedEntries": report.dropped_entries,
                "droppedBadLines": report.dropped_bad_lines,
                "bytesBefore": report.bytes_before,
                "bytesAfter": report.bytes_after,
            });
            let mut answer = vec![Payload::new(report.to_string().into_bytes())];
            answer.extend(redacted.map(redacted_texts).into_iter().flatten());
            Ok(Answer::Texts(answer))
        })?;
        Ok(())
    }

    /// Verifies the log; answers with a report as JSON.
    #[napi]
    pub fn verify(&self, operation: u32) -> Result<()> {
        let history = self.history.clone();
        self.run_cancellable(operation, async move {
            let report = history.verify().await?;
            let problems: Vec<_> = report
                .problems
                .iter()
                .map(|problem| {
                    json!({
                        "line": problem.line,
                        "offset": problem.offset,
                        "reason": problem.reason,
                    })
                })
                .collect();
            let report = json!({
                "entries": report.entries,
                "bytes": report.bytes,
                "badLines": report.bad_lines,
                "problems": problems,
                "hasTornTail": report.has_torn_tail,
                "index": report.index.as_str(),
            });
            Ok(Answer::Text(report.to_string()))
        })
    }

    /// Waits for all appends that were called before.
    #[napi]
    pub fn close(&self, operation: u32) -> Result<()> {
        let history = self.history.clone();
        run(&self.queue, operation, async move {
            history.close().await;
            Ok(Answer::Text(String::new()))
        })?;
        Ok(())
    }

    /// Adds the lines of this history to another that does not have them. Answers with a report as JSON.
    #[napi]
    pub fn copy_to(
        &self,
        operation: u32,
        target: ClassInstance<'_, NativeHistory>,
        is_dry_run: bool,
    ) -> Result<()> {
        let (from, to) = (self.history.clone(), target.history.clone());
        self.run_cancellable(operation, async move {
            answer(&copy_history(&from, &to, is_dry_run).await?)
        })
    }

    /// Cancels an operation.
    #[napi]
    pub fn cancel(&self, operation: u32) {
        self.cancellable.cancel(operation);
    }
}

/// A position in a history that moves forwards.
#[napi]
pub struct NativeHistoryTail {
    tail: AnyTail,
    queue: Arc<Queue>,
    cancellable: Arc<Cancellable>,
}

#[napi]
impl NativeHistoryTail {
    /// Answers with the entries after the position as `read`; with none if there are none yet.
    #[napi]
    pub fn next(&self, operation: u32) -> Result<()> {
        let tail = self.tail.clone();
        run_cancellable(&self.cancellable, Arc::clone(&self.queue), operation, async move {
            tail.next().await.map(texts)
        })
    }

    /// Cancels an operation.
    #[napi]
    pub fn cancel(&self, operation: u32) {
        self.cancellable.cancel(operation);
    }
}

impl NativeHistory {
    /// The redaction at the time of this call.
    fn redaction(&self) -> Option<Redaction> {
        self.redaction.as_ref().map(RedactionSource::current)
    }

    fn run_cancellable<F>(&self, operation: u32, work: F) -> Result<()>
    where
        F: Future<Output = std::result::Result<Answer, Error>> + Send + 'static,
    {
        run_cancellable(&self.cancellable, Arc::clone(&self.queue), operation, work)
    }
}
