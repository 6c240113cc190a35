//! The native class behind `StateStore` (`lib/state/state-store.ts`).

use std::{path::PathBuf, sync::Arc, time::Duration};

use agent_context_core::{
    Error, Trust,
    state::{
        Expected, Filter, ItemText, Kind, Listing, NamespaceListing, Operation, Order, Outcome,
        Place, Put, SeparateValue, SharedStateOptions, Since, State, StateOptions, wtf8,
    },
};
use json_text::Encoded;
use napi::{
    Env, Result, ValueType,
    bindgen_prelude::{Array, ClassInstance, FromNapiValue, JsValue, Unknown},
};
use napi_derive::napi;
use redaction::{Redaction, Report};
use serde::Serialize;
use serde_json::json;
use storage::{Durability, Payload};

use super::{
    answers::answer,
    database::NativeDatabase,
    numbers::{size, whole},
    outbox::{Outbox, Queue},
    redaction::{NativeRedactor, RedactionSource, findings},
    request::parse,
    runtime::{Answer, Cancellable, run, run_cancellable},
    state_requests::{
        NativeConditions, NativeListing, NativeNamespaceListing, NativeOperation,
        NativeOperationKind,
    },
    text::{Part, Utf8},
    value,
};

/// Longer texts are passed as UTF-8, because UTF-16 units would take twice the memory.
const LONG_TEXT: usize = 1024 * 1024;
/// Longer answers are fetched one by one.
const LONG_ANSWER: usize = 32 * 1024;

/// The options of the constructor, validated and completed in JavaScript.
#[napi(object, object_to_js = false)]
pub struct NativeStateOptions {
    /// The number of the store's hooks in its environment.
    pub id: u32,
    pub path: String,
    /// The number of the store's own segments at the start of every namespace.
    pub root: u32,
    pub is_durable: bool,
    pub lock_timeout: f64,
    pub max_value_bytes: f64,
    pub max_changes: f64,
    pub indexes: Vec<Vec<String>>,
    pub trust_locks: bool,
    pub allow_shared: bool,
    pub has_debug: bool,
}

#[napi]
pub struct NativeState {
    pub(super) state: Arc<State>,
    pub(super) queue: Arc<Queue>,
    cancellable: Arc<Cancellable>,
    redaction: Option<RedactionSource>,
    pub(super) root: usize,
}

fn place(env: &Env, text: &Unknown<'_>) -> Result<Place> {
    Place::parse(&value::read_string(env, text)?)
        .ok_or_else(|| napi::Error::from_reason("a namespace and a key are expected"))
}

/// A text in the form of the database: a namespace, or a prefix of keys.
pub(super) fn bytes_of(env: &Env, text: &Unknown<'_>) -> Result<Vec<u8>> {
    Ok(wtf8(&value::read_string(env, text)?))
}

/// JSON text, or the bytes of a `Uint8Array`.
fn put(env: &Env, place: Place, given: &Unknown<'_>, conditions: NativeConditions) -> Result<Put> {
    let NativeConditions { expected, ttl, expires_at, media_type } = conditions;
    let mut put = Put {
        place,
        kind: Kind::Json,
        value: Vec::new(),
        encoded: None,
        expected: expected.map(Expected::from),
        ttl,
        expires_at,
        media_type,
        report: Report::default(),
    };
    if given.get_type()? == ValueType::String {
        let text = given.raw();
        if value::length(env, given)? > LONG_TEXT {
            // SAFETY: the value is a string of the running call.
            put.value = unsafe { Utf8::from_napi_value(env.raw(), text) }?.0;
        } else {
            put.encoded = Some(Encoded::Text(value::read_string(env, given)?));
        }
    } else if given.is_array()? {
        put.value = value::read_pieces(env, given)?;
    } else {
        put.kind = Kind::Bytes;
        put.value = value::read_bytes(env, given)?;
    }
    Ok(put)
}

/// An answer with items: their JSON, followed by the values that are not in it.
fn items(ItemText { json, values }: ItemText) -> Answer {
    if values.is_empty() && json.len() <= LONG_ANSWER {
        return Answer::Text(text(json));
    }
    let mut parts = vec![Part::Text(Payload::new(json))];
    parts.extend(values.into_iter().map(separate));
    Answer::Parts(parts)
}

fn separate(value: SeparateValue) -> Part {
    match value {
        SeparateValue::Bytes(bytes) => Part::Bytes(bytes),
        SeparateValue::Json(json) => Part::Text(Payload::new(json)),
        SeparateValue::Text(text) => Part::Pieces(text),
    }
}

/// As [`items`], within a JSON array.
pub(super) fn item_list(ItemText { json, values }: ItemText, rest: &str) -> Answer {
    let mut object = Vec::with_capacity(json.len() + rest.len() + 16);
    object.extend_from_slice(b"{\"items\":[");
    object.extend_from_slice(&json);
    object.push(b']');
    object.extend_from_slice(rest.as_bytes());
    object.push(b'}');
    items(ItemText { json: object, values })
}

fn text(json: Vec<u8>) -> String {
    String::from_utf8(json)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The member `cursor`, if there is one.
fn cursor_member(cursor: Option<&str>) -> String {
    cursor.map_or_else(String::new, |cursor| format!(",\"cursor\":{}", json!(cursor)))
}

/// The outcomes of a call as a JSON array, followed by the values that are not in it.
fn outcomes(outcomes: Vec<Outcome>) -> Answer {
    let mut json = vec![b'['];
    let mut parts = Vec::new();
    for (number, outcome) in outcomes.into_iter().enumerate() {
        if number > 0 {
            json.push(b',');
        }
        match outcome {
            Outcome::Item(Some(item)) => {
                json.extend_from_slice(&item.json);
                parts.extend(item.values.into_iter().map(separate));
            }
            Outcome::Item(None) | Outcome::Checked | Outcome::Position(_) => {
                json.extend_from_slice(b"null");
            }
            Outcome::Deleted(was_there) => json.extend_from_slice(was_there.to_string().as_bytes()),
            Outcome::Written { members, redacted } => {
                json.extend_from_slice(members.as_bytes());
                if let Some((kind, value, report)) = redacted {
                    // Closed again after the report; the value follows separately.
                    json.pop();
                    json.extend_from_slice(b",\"findings\":");
                    json.extend_from_slice(findings(&report).as_bytes());
                    json.push(b'}');
                    parts.push(match kind {
                        Kind::Json => Part::Text(Payload::new(value)),
                        Kind::Bytes => Part::Bytes(value),
                    });
                }
            }
        }
    }
    json.push(b']');
    if parts.is_empty() && json.len() <= LONG_ANSWER {
        return Answer::Text(text(json));
    }
    parts.insert(0, Part::Text(Payload::new(json)));
    Answer::Parts(parts)
}

#[napi]
impl NativeState {
    #[napi(constructor)]
    pub fn new(
        outbox: &Outbox,
        options: NativeStateOptions,
        redactor: Option<ClassInstance<'_, NativeRedactor>>,
        database: Option<ClassInstance<'_, NativeDatabase>>,
    ) -> Self {
        let queue = outbox.queue();
        let redaction = redactor.map(|redactor| redactor.source());
        let max_value_bytes = size(options.max_value_bytes);
        let max_changes = i64::try_from(whole(options.max_changes)).unwrap_or(i64::MAX);
        let root = options.root as usize;
        let cancellable = Arc::default();
        let debug = queue.debug(options.id, options.has_debug, redaction.clone());
        if let Some(database) = database {
            let (database, name) = (database.database(), options.path);
            let options = SharedStateOptions { database, name, max_value_bytes, max_changes };
            let state = State::shared(options, debug);
            return Self { state, queue, cancellable, redaction, root };
        }
        let durability = if options.is_durable { Durability::Full } else { Durability::Process };
        let state = State::new(
            StateOptions {
                path: PathBuf::from(options.path),
                durability,
                lock_timeout: Duration::from_millis(whole(options.lock_timeout)),
                max_value_bytes,
                max_changes,
                indexes: options.indexes,
                trust: Trust { locks: options.trust_locks, shared: options.allow_shared },
            },
            debug,
        );
        Self { state, queue, cancellable, redaction, root }
    }

    /// Answers with an item as JSON, without namespace and key, or with nothing. A binary value is not in the
    /// JSON and follows it.
    #[napi]
    pub fn get(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] at: Unknown<'_>,
    ) -> Result<()> {
        let at = place(env, &at)?;
        let state = Arc::clone(&self.state);
        run(&self.queue, operation, async move {
            Ok(state.get(at).await?.map_or_else(|| Answer::Text(String::new()), items))
        })?;
        Ok(())
    }

    /// Writes JSON text, binary data, or a long text in pieces. The conditions are JSON, or empty. Answers as
    /// `batch`.
    #[napi]
    pub fn put(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] at: Unknown<'_>,
        #[napi(ts_arg_type = "string | Uint8Array | readonly string[]")] given: Unknown<'_>,
        #[napi(ts_arg_type = "string")] conditions: Utf8,
    ) -> Result<()> {
        let conditions =
            if conditions.0.is_empty() { NativeConditions::default() } else { parse(&conditions)? };
        let put = put(env, place(env, &at)?, &given, conditions)?;
        self.change(operation, vec![Operation::Put(put)])
    }

    /// Carries out several operations, all or none of them: a JSON array, a place for each, and a value for
    /// each that writes. Answers with an array of items, of the new members of written ones (with the report
    /// if secrets were redacted, in which case the value follows), and of booleans; binary values follow.
    #[napi]
    pub fn batch(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        #[napi(ts_arg_type = "readonly string[]")] places: Array<'_>,
        #[napi(ts_arg_type = "readonly (string | Uint8Array | readonly string[])[]")] values: Array<
            '_,
        >,
    ) -> Result<()> {
        let missing = || napi::Error::from_reason("an operation lacks its place or its value");
        let requests: Vec<NativeOperation> = parse(&request)?;
        let mut operations = Vec::with_capacity(requests.len());
        let mut next_value = 0;
        for (number, request) in (0_u32..).zip(requests) {
            let at: Unknown<'_> = places.get(number)?.ok_or_else(missing)?;
            let place = place(env, &at)?;
            let NativeOperation { kind, expected, ttl, expires_at, media_type } = request;
            operations.push(match kind {
                NativeOperationKind::Get => Operation::Get(place),
                NativeOperationKind::Put => {
                    let given: Unknown<'_> = values.get(next_value)?.ok_or_else(missing)?;
                    next_value += 1;
                    let conditions = NativeConditions { expected, ttl, expires_at, media_type };
                    Operation::Put(put(env, place, &given, conditions)?)
                }
                NativeOperationKind::Delete => {
                    Operation::Delete { place, expected: expected.map(Expected::from) }
                }
                NativeOperationKind::Check => Operation::Check {
                    place,
                    expected: expected.map_or(Expected::Absent, Expected::from),
                },
            });
        }
        // A batch that only reads needs no lock.
        let places: Option<Vec<Place>> = operations
            .iter()
            .map(|operation| match operation {
                Operation::Get(place) => Some(place.clone()),
                _ => None,
            })
            .collect();
        let Some(places) = places else { return self.change(operation, operations) };
        let state = Arc::clone(&self.state);
        run(&self.queue, operation, async move { state.get_all(places).await.map(outcomes) })?;
        Ok(())
    }

    /// Lists items; the request is JSON. Answers with `{ items, cursor }` as JSON; binary values follow.
    #[napi]
    pub fn list(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] prefix: Unknown<'_>,
        #[napi(ts_arg_type = "string")] key_prefix: Unknown<'_>,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let NativeListing { filter, is_by_update, limit, cursor } = parse(&request)?;
        let listing = Listing {
            prefix: bytes_of(env, &prefix)?,
            key_prefix: bytes_of(env, &key_prefix)?,
            filter: Filter::new(filter),
            order: if is_by_update { Order::Updated } else { Order::Key },
            limit,
            cursor,
            root: self.root,
        };
        let state = Arc::clone(&self.state);
        self.run_cancellable(operation, async move {
            let page = state.list(listing).await?;
            Ok(item_list(page.items, &cursor_member(page.cursor.as_deref())))
        })
    }

    /// Lists namespaces; the request is JSON. Answers with `{ namespaces, cursor }` as JSON.
    #[napi]
    pub fn namespaces(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] prefix: Unknown<'_>,
        #[napi(ts_arg_type = "string")] suffix: Unknown<'_>,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let NativeNamespaceListing { max_depth, limit, cursor } = parse(&request)?;
        let listing = NamespaceListing {
            prefix: bytes_of(env, &prefix)?,
            suffix: bytes_of(env, &suffix)?,
            max_depth: max_depth.map_or(usize::MAX, |depth| depth.saturating_add(self.root)),
            limit,
            cursor,
            root: self.root,
        };
        let state = Arc::clone(&self.state);
        self.run_cancellable(operation, async move {
            let (mut json, cursor) = state.namespaces(listing).await?;
            json.splice(..0, *b"{\"namespaces\":");
            json.extend_from_slice(cursor_member(cursor.as_deref()).as_bytes());
            json.push(b'}');
            Ok(Answer::Texts(vec![Payload::new(json)]))
        })
    }

    /// Waits for changes below a prefix, after a cursor or from now on. Answers with the changes as a JSON
    /// array, and with the cursor after them.
    #[napi]
    pub fn changes(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] prefix: Unknown<'_>,
        #[napi(ts_arg_type = "string | undefined")] since: Option<Utf8>,
    ) -> Result<()> {
        let prefix = bytes_of(env, &prefix)?;
        let since = match since {
            Some(cursor) => Since::Cursor(cursor.into_string()),
            None => self.state.since_now(),
        };
        let (state, root) = (Arc::clone(&self.state), self.root);
        self.run_cancellable(operation, async move {
            let changed = state.changes(since, prefix, root).await?;
            let cursor = changed.cursor().into_bytes();
            Ok(Answer::Texts([changed.changes, cursor].map(Payload::new).into()))
        })
    }

    /// Removes expired items and old changes. Answers with a report as JSON.
    #[napi]
    pub fn sweep(&self, operation: u32) -> Result<()> {
        let (state, sweep) = (Arc::clone(&self.state), self.state.sweep());
        self.report(operation, async move { state.swept(sweep).await })
    }

    /// Answers with counts and sizes as JSON.
    #[napi]
    pub fn stats(&self, operation: u32) -> Result<()> {
        let state = Arc::clone(&self.state);
        self.report(operation, async move { state.stats().await })
    }

    /// Verifies the file; answers with a report as JSON.
    #[napi]
    pub fn verify(&self, operation: u32) -> Result<()> {
        let state = Arc::clone(&self.state);
        self.report(operation, async move { state.verify().await })
    }

    /// Writes a copy of the file to an absolute path.
    #[napi]
    pub fn backup(&self, operation: u32, target: String) -> Result<()> {
        let state = Arc::clone(&self.state);
        run(&self.queue, operation, async move {
            state.backup(PathBuf::from(target)).await?;
            Ok(Answer::Text(String::new()))
        })?;
        Ok(())
    }

    /// Waits for the calls so far, and closes the file.
    #[napi]
    pub fn close(&self, operation: u32) -> Result<()> {
        let state = Arc::clone(&self.state);
        run(&self.queue, operation, async move {
            state.close().await;
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

impl NativeState {
    /// The redaction at the time of this call.
    fn redaction(&self) -> Option<Redaction> {
        self.redaction.as_ref().map(RedactionSource::current)
    }

    fn change(&self, operation: u32, operations: Vec<Operation>) -> Result<()> {
        let pending = self.state.change(operations, self.redaction());
        run(&self.queue, operation, async move { pending.outcomes().await.map(outcomes) })?;
        Ok(())
    }

    fn report<T: Serialize>(
        &self,
        operation: u32,
        report: impl Future<Output = std::result::Result<T, Error>> + Send + 'static,
    ) -> Result<()> {
        run(&self.queue, operation, async move { answer(&report.await?) })?;
        Ok(())
    }

    pub(super) fn run_cancellable<F>(&self, operation: u32, work: F) -> Result<()>
    where
        F: Future<Output = std::result::Result<Answer, Error>> + Send + 'static,
    {
        run_cancellable(&self.cancellable, Arc::clone(&self.queue), operation, work)
    }
}
