//! The methods of `NativeManager` for sessions and for the removal of contexts (`lib/manager/sessions.ts`).

use std::sync::Arc;

use agent_context_core::context::{self, ContextFilter, FindRequest};
use napi::{Env, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use serde::{Deserialize, Serialize};

use super::{
    context_manager::NativeManager,
    numbers::{number, time},
    request::parse,
    runtime::{Answer, run},
    text::Utf8,
    value,
};

/// The report of a sweep or of a dry run.
#[napi(object)]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// Contexts of dead sessions that were removed.
    pub deleted_files: f64,
    /// Their size in bytes.
    pub deleted_bytes: f64,
    /// Unfinished files of dead processes that were removed.
    pub deleted_temporaries: f64,
    /// Contexts of dead sessions that were kept within the bounds of the retention policy.
    pub kept_files: f64,
    /// Their size in bytes.
    pub kept_bytes: f64,
    /// Live sessions of the directory.
    pub live_sessions: f64,
    /// Paused sessions: no process holds them, and they can be resumed.
    pub paused_sessions: f64,
    /// The size of their contexts in bytes.
    pub paused_bytes: f64,
    /// With `dryRun`: each file that would be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removals: Option<Vec<SweepRemoval>>,
}

/// A file that a sweep would remove.
#[napi(object)]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepRemoval {
    /// The file's name.
    pub filename: String,
    /// The session whose context it is; absent for an unfinished file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its size in bytes.
    pub size_bytes: f64,
    /// Why it would be removed.
    pub reason: String,
}

impl SweepReport {
    fn of(report: context::SweepReport, is_dry_run: bool) -> Self {
        let removal = |removal: context::Removal| SweepRemoval {
            filename: removal.name,
            session_id: removal.session,
            size_bytes: number(removal.bytes),
            reason: removal.reason.to_owned(),
        };
        Self {
            deleted_files: number(report.deleted_files),
            deleted_bytes: number(report.deleted_bytes),
            deleted_temporaries: number(report.deleted_temporaries),
            kept_files: number(report.kept_files),
            kept_bytes: number(report.kept_bytes),
            live_sessions: number(report.live_sessions),
            paused_sessions: number(report.paused_sessions),
            paused_bytes: number(report.paused_bytes),
            removals: is_dry_run.then(|| report.removals.into_iter().map(removal).collect()),
        }
    }
}

/// The filter of the contexts to remove, JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeForget {
    filter: ContextFilter,
    session: Option<String>,
    is_dry_run: bool,
}

/// The call to look for, without its tool and arguments, JSON.
#[derive(Deserialize)]
struct NativeFind {
    since: Option<f64>,
    sessions: Option<Vec<String>>,
}

fn json(value: &impl Serialize) -> Answer {
    Answer::Text(serde_json::to_string(value).unwrap_or_default())
}

#[napi]
impl NativeManager {
    /// Sweeps, or reports what a sweep would remove; answers with a report as JSON.
    #[napi]
    pub fn sweep(&self, operation: u32, is_dry_run: bool) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        self.run_cancellable(operation, async move {
            let report =
                if is_dry_run { manager.plan_sweep().await } else { manager.sweep().await };
            Ok(json(&SweepReport::of(report?, is_dry_run)))
        })
    }

    /// Restores the pointers of the session's earlier processes.
    #[napi]
    pub fn resume(&self, operation: u32) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        run(&self.queue, operation, async move {
            manager.resume().await.map(|()| Answer::Text(String::new()))
        })?;
        Ok(())
    }

    /// Lists the sessions of the directory; answers with a JSON array.
    #[napi]
    pub fn sessions(&self, operation: u32) -> Result<()> {
        let manager = Arc::clone(&self.manager);
        self.run_cancellable(operation, async move { Ok(json(&manager.sessions().await?)) })
    }

    /// Ends a session; answers with `true` or `false`.
    #[napi]
    pub fn end_session(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] session: Utf8,
    ) -> Result<()> {
        let (manager, session) = (Arc::clone(&self.manager), session.into_string());
        run(&self.queue, operation, async move {
            manager.end_session(&session).await.map(|ended| Answer::Text(ended.to_string()))
        })?;
        Ok(())
    }

    /// Exempts a context from the bounds of the live session, or ends the exemption; answers with `true` or
    /// `false`.
    #[napi]
    pub fn pin(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] path: Utf8,
        is_pinned: bool,
    ) -> Result<()> {
        let (manager, path) = (Arc::clone(&self.manager), path.into_string());
        run(&self.queue, operation, async move {
            manager.pin(&path, is_pinned).await.map(|known| Answer::Text(known.to_string()))
        })?;
        Ok(())
    }

    /// Removes the contexts that match a filter; `request` is JSON, the answer is a report as JSON.
    #[napi]
    pub fn forget_matching(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let NativeForget { filter, session, is_dry_run } = parse(&request)?;
        let (manager, redaction) = (Arc::clone(&self.manager), self.redaction());
        run(&self.queue, operation, async move {
            let filter = filter.redacted(redaction)?;
            Ok(json(&manager.forget_matching(&filter, session.as_deref(), is_dry_run).await?))
        })?;
        Ok(())
    }

    /// The pointer of the latest equal call as JSON, or an empty text; `request` is JSON.
    #[napi]
    pub fn find_context(
        &self,
        env: &Env,
        operation: u32,
        #[napi(ts_arg_type = "string")] tool_name: Utf8,
        #[napi(ts_arg_type = "string")] argument_text: Unknown<'_>,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let arguments = value::read_text(env, &argument_text)?;
        let NativeFind { since, sessions } = parse(&request)?;
        let request = FindRequest {
            tool_name: tool_name.into_string(),
            arguments,
            since: since.map_or(i64::MIN, time),
            sessions,
            redaction: self.redaction(),
        };
        let manager = Arc::clone(&self.manager);
        self.run_cancellable(operation, async move {
            Ok(Answer::Text(manager.find(request).await?.unwrap_or_default()))
        })
    }
}
