//! The native class behind `copyStorage` (`lib/copying/copy-storage.ts`): copies files between directories and databases.

use std::{path::PathBuf, sync::Arc};

use agent_context_core::copying::{CopyPolicy, FileKind, Tree, copy_files};
use napi::{Result, bindgen_prelude::ClassInstance};
use napi_derive::napi;
use serde::Deserialize;

use super::{
    answers::answer,
    database::NativeDatabase,
    file_system,
    outbox::{Outbox, Queue},
    request::parse,
    runtime::{Cancellable, run_cancellable},
    text::Utf8,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeCopyRequest {
    kind: NativeFileKind,
    from: String,
    to: String,
    overwrite: bool,
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum NativeFileKind {
    Contexts,
    Store,
    Memories,
}

#[napi]
pub struct NativeCopier {
    queue: Arc<Queue>,
    cancellable: Arc<Cancellable>,
}

#[napi]
impl NativeCopier {
    #[napi(constructor)]
    pub fn new(outbox: &Outbox) -> Self {
        Self { queue: outbox.queue(), cancellable: Arc::default() }
    }

    /// Copies the files of a place to another. The request is JSON; its paths are absolute, or namespaces of the database.
    /// Answers with a report as JSON.
    #[napi]
    pub fn copy_files(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] request: Utf8,
        from: Option<ClassInstance<'_, NativeDatabase>>,
        to: Option<ClassInstance<'_, NativeDatabase>>,
    ) -> Result<()> {
        let request: NativeCopyRequest = parse(&request)?;
        let tree = |path: String, database: Option<ClassInstance<'_, NativeDatabase>>| Tree {
            file_system: file_system::chosen(&self.queue, None, database.as_deref()),
            directory: PathBuf::from(path),
        };
        let (from, to) = (tree(request.from, from), tree(request.to, to));
        let kind = match request.kind {
            NativeFileKind::Contexts => FileKind::Contexts,
            NativeFileKind::Store => FileKind::Store,
            NativeFileKind::Memories => FileKind::Memories,
        };
        let policy = CopyPolicy { overwrite: request.overwrite, dry_run: request.dry_run };
        run_cancellable(&self.cancellable, Arc::clone(&self.queue), operation, async move {
            answer(&copy_files(kind, from, to, policy).await?)
        })
    }

    /// Cancels an operation.
    #[napi]
    pub fn cancel(&self, operation: u32) {
        self.cancellable.cancel(operation);
    }
}
