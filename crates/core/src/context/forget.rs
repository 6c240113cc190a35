//! Removes all contexts that match a filter, either of this session or of another one that is over.

use std::sync::Arc;

use serde::Serialize;

use super::{filter::ContextFilter, handle, lifecycle, list, pointer::Pointer, session::Session};
use crate::error::{Code, Error, Result};

/// The removed contexts, or those that a dry run would remove.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgetReport {
    /// The number of contexts.
    pub deleted_files: u64,
    /// Their total size in bytes.
    pub deleted_bytes: u64,
    /// The contexts.
    pub contexts: Vec<ForgottenContext>,
}

/// A removed context.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgottenContext {
    /// Its path.
    pub filepath: String,
    /// Its handle, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The tool that made it.
    pub tool_name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// Removes this session's contexts that match the filter, or those of another session that is over.
///
/// # Errors
/// `Conflict` if the other session is live or paused, in which case nothing is removed; `UnsafeDirectory` or `Io`.
pub(super) async fn forget_matching(
    session: &Arc<Session>,
    filter: &ContextFilter,
    of_session: Option<&str>,
    is_dry_run: bool,
) -> Result<ForgetReport> {
    let id = of_session.unwrap_or(&session.options.session);
    let is_own = id == session.options.session;
    if !is_own
        && let Ok(root) = session.directory.root(id).await
        && !session.directory.is_over(&root, id).await
    {
        return Err(Error::new(
            Code::Conflict,
            format!(
                "the session {id:?} is live or paused; end it first, or forget its contexts there"
            ),
        ));
    }
    let mut report = ForgetReport::default();
    for pointer in list::pointers(session, Some(id)).await? {
        if !filter.matches(&pointer) {
            continue;
        }
        let filepath = session.directory.path_of(pointer.filename());
        if is_dry_run || lifecycle::forget(session, &filepath).await? {
            report.add(filepath, &pointer);
        }
    }
    Ok(report)
}

impl ForgetReport {
    fn add(&mut self, filepath: String, pointer: &Pointer) {
        self.deleted_files += 1;
        self.deleted_bytes += pointer.size;
        let name = json_text::decode_string(pointer.tool_name().as_bytes());
        self.contexts.push(ForgottenContext {
            filepath,
            handle: pointer.handle.map(handle::text),
            tool_name: name.map(std::borrow::Cow::into_owned).unwrap_or_default(),
            size_bytes: pointer.size,
        });
    }
}
