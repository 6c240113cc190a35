//! `find`: the latest stored output of an equal call, for caching.

use std::sync::Arc;

use json_text::Encoded;
use redaction::{Redaction, RedactionSession};
use sha2::{Digest, Sha256};
use storage::layout;

use super::{
    beginnings::Beginnings, context_files::Listed, file_head::from_head, pointer::Pointer, refused,
    session::Session,
};
use crate::error::{Code, Error, Result};

/// Files that are read between two yields.
const BATCH: usize = 64;

/// The call that is looked for.
#[derive(Debug)]
pub struct FindRequest {
    /// The tool's name, plain.
    pub tool_name: String,
    /// The arguments, a JSON object.
    pub arguments: Encoded,
    /// Called at this time or later, ms since 1970.
    pub since: i64,
    /// The ids of the sessions; `None` for all.
    pub sessions: Option<Vec<String>>,
    /// The redaction of stored calls, which is applied to this one for the comparison.
    pub redaction: Option<Redaction>,
}

/// The hash of a call's canonical arguments, as file names have it.
pub(super) fn arguments_hash(canonical: &[u8]) -> String {
    Sha256::digest(canonical).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The pointer of the latest equal call, as JSON; `None` if there is none.
///
/// # Errors
/// `InvalidArgument` for arguments that are not valid, `Redaction`, `UnsafeDirectory` or `Io`.
pub(super) async fn find(session: &Arc<Session>, request: FindRequest) -> Result<Option<String>> {
    let FindRequest { mut tool_name, arguments, since, sessions, redaction } = request;
    let mut pass = RedactionSession::new(redaction);
    pass.text(&mut tool_name)?;
    let unreadable =
        || Error::new(Code::InvalidArgument, "args could not be turned into JSON".to_owned());
    let mut text = Vec::new();
    arguments.write(&mut text).map_err(|_| unreadable())?;
    pass.json(&mut text, 0)?;
    let mut canonical = Vec::new();
    json_text::canonical(&text, &mut canonical).map_err(|_| unreadable())?;
    let call = Call {
        hash: arguments_hash(&canonical),
        tool_name: json_text::string_token(&tool_name),
        canonical,
        since,
        sessions: sessions.map(|ids| ids.iter().map(|id| json_text::string_token(id)).collect()),
    };
    let own = call.latest_of(session);
    // If only this manager's contexts are wanted, the directory is not read.
    let is_own_only = call.sessions.as_deref() == Some(&[session.token.to_string()]);
    let found = if is_own_only && own.is_some() {
        own
    } else {
        latest(own, call.latest_in_directory(session).await?)
    };
    Ok(found.map(|pointer| {
        let mut text = String::new();
        pointer.write_json(session.directory.escaped_prefix(), &mut text);
        text
    }))
}

/// The call in its stored (redacted, canonical) form.
struct Call {
    hash: String,
    tool_name: String,
    canonical: Vec<u8>,
    since: i64,
    sessions: Option<Vec<String>>,
}

impl Call {
    /// Whether a pointer could be of an equal call. Its arguments may be truncated, so the record has to be compared.
    fn may_match(&self, pointer: &Pointer) -> bool {
        layout::arguments_hash(pointer.filename()) == Some(self.hash.as_str())
            && pointer.tool_name() == self.tool_name
            && pointer.timestamp >= self.since
            && self.sessions.as_ref().is_none_or(|sessions| {
                sessions.iter().any(|id| pointer.session.as_deref() == Some(id.as_str()))
            })
    }

    /// The latest equal call of this manager.
    fn latest_of(&self, session: &Session) -> Option<Pointer> {
        let mut found = None;
        session.pointers.visit_stored_from(0, usize::MAX, |_, pointer| {
            if self.may_match(pointer) {
                found = latest(found.take(), Some(pointer.clone()));
            }
        });
        found
    }

    async fn latest_in_directory(&self, session: &Session) -> Result<Option<Pointer>> {
        let directory = &session.directory;
        directory.check()?;
        let Listed { entries, root } = directory
            .list()
            .await
            .map_err(|error| refused("list the context directory", directory.path(), error))?;
        let equal = |name: &str| layout::arguments_hash(name) == Some(self.hash.as_str());
        let mut found: Option<Pointer> = None;
        let equal = || entries.iter().filter(|entry| equal(&entry.name));
        let mut heads = Beginnings::of_heads(directory.file_system.as_ref(), &root, equal());
        for (number, entry) in equal().enumerate() {
            if number % BATCH == BATCH - 1 {
                tokio::task::yield_now().await;
            }
            let Ok(file) = heads.head(&entry.name).await else { continue };
            let arguments = file.head.arguments.clone().and_then(|range| file.text.get(range));
            let mut canonical = Vec::new();
            let is_equal = json_text::canonical(arguments.unwrap_or(b"{}"), &mut canonical).is_ok()
                && canonical == self.canonical;
            let pointer = from_head(entry, &file);
            if is_equal && self.may_match(&pointer) {
                found = latest(found, Some(pointer));
            }
        }
        Ok(found)
    }
}

fn latest(one: Option<Pointer>, other: Option<Pointer>) -> Option<Pointer> {
    let time = |pointer: &Pointer| {
        (pointer.timestamp, layout::parse_context(pointer.filename()).map(|name| name.counter))
    };
    match (one, other) {
        (Some(one), Some(other)) if time(&one) > time(&other) => Some(one),
        (one, other) => other.or(one),
    }
}
