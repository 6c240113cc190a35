//! The repository map and the symbols of files: connects a memory to the crate `code-map`.

use std::{path::Path, sync::Arc};

use code_map::{
    Definition, Notice, OnNotice, OnProgress, RefreshOptions, RenderedMap, RepoMap, Snapshot,
};
use redaction::Redaction;
use serde::Deserialize;
use serde_json::json;
use storage::{Disk, FileSystem, LocalDisk, layout};

use super::{Memory, pack::RenderMap};
use crate::{
    blocking::run_blocking,
    error::{Code, Error, Result},
};

/// The arguments of a map.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MapRequest {
    /// The greatest length of the text in UTF-16 code units.
    pub max_chars: usize,
    /// Paths, names and words that are preferred.
    pub focus: Vec<String>,
}

/// The map of a workspace, with its cache in the memory's directory. The workspace is always read from the
/// local disk, also if the memory is in a database or an injected file system: the code map lists files itself.
pub(super) fn map_of(
    file_system: &Arc<dyn FileSystem>,
    workspace: &Path,
    directory: &Path,
) -> Arc<RepoMap> {
    let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
    RepoMap::of(&disk, file_system, workspace, &directory.join(layout::INDEXES))
}

impl Memory {
    async fn snapshot(
        &self,
        redaction: Option<Redaction>,
        progress: Option<Arc<OnProgress>>,
    ) -> Result<Arc<Snapshot>> {
        let Some(map) = &self.map else {
            return Err(Error::new(
                Code::Unsupported,
                "a memory that was opened by its hash has no workspace; open it with workspace",
            ));
        };
        self.check_directory()?;
        let (durability, on_notice) = (self.options.durability, Some(self.reported()));
        Ok(map.refresh(RefreshOptions { durability, redaction, progress, on_notice }).await?)
    }

    /// Passes the notices of a refresh to the debug callback.
    fn reported(&self) -> Arc<OnNotice> {
        let debug = self.debug.clone();
        Arc::new(move |notice| match notice {
            Notice::Skipped(skipped) => {
                debug.say("Skipped source files of the workspace", || json!(skipped));
            }
            Notice::CacheNotWritten { directory, error } => {
                let error = Error::from_file("write", directory, "root", error);
                debug.say(
                    "Failed to write the symbol index of the repository",
                    || json!({ "path": directory.display().to_string(), "error": error.message }),
                );
            }
        })
    }

    /// The most important definitions of the workspace.
    ///
    /// # Errors
    /// `Unsupported` without a workspace, `NotFound` or `Io` if it cannot be read.
    pub async fn repo_map(
        &self,
        request: MapRequest,
        redaction: Option<Redaction>,
        progress: Option<Arc<OnProgress>>,
    ) -> Result<RenderedMap> {
        let snapshot = self.snapshot(redaction, progress).await?;
        run_blocking(
            move |_| Ok(snapshot.render(&snapshot.rank(&request.focus), request.max_chars)),
        )
        .await
    }

    /// The definitions of a file of the workspace, in order.
    ///
    /// # Errors
    /// `NotFound` for a file that is not in the map; otherwise as [`Memory::repo_map`].
    pub async fn symbols(
        &self,
        path: &str,
        redaction: Option<Redaction>,
    ) -> Result<Vec<Definition>> {
        let snapshot = self.snapshot(redaction, None).await?;
        let workspace = self.options.workspace.as_deref().unwrap_or(Path::new(""));
        let below = Path::new(path).strip_prefix(workspace).unwrap_or(Path::new(path));
        let names: Vec<&str> = below
            .components()
            .filter(|component| !matches!(component, std::path::Component::CurDir))
            .filter_map(|component| component.as_os_str().to_str())
            .collect();
        match snapshot.symbols(&names.join("/")) {
            Some(definitions) => Ok(definitions.to_vec()),
            None => Err(Error::new(
                Code::NotFound,
                format!(
                    "{path} is no source file that the map of {} shows; pass a path of repoMap()",
                    workspace.display()
                ),
            )),
        }
    }

    /// The renderer of the map for a context pack; `None` without a workspace, or if it cannot be read, which
    /// is reported to the debug callback.
    pub(super) async fn map_for(
        &self,
        focus: Vec<String>,
        redaction: Option<Redaction>,
    ) -> Option<RenderMap> {
        self.map.as_ref()?;
        match self.snapshot(redaction, None).await {
            Ok(snapshot) => {
                let ranked = Arc::clone(&snapshot);
                let ranking = run_blocking(move |_| Ok(ranked.rank(&focus))).await.ok()?;
                Some(Arc::new(move |most| snapshot.render(&ranking, most).text))
            }
            Err(error) => {
                self.debug.say(
                    "The context pack has no map of the repository",
                    || json!({ "path": self.options.workspace, "error": error.to_string() }),
                );
                None
            }
        }
    }
}
