//! The map of the workspace that a memory was opened with.

use std::{path::Path, sync::Arc};

use code_map::{
    Definition, Notice, OnNotice, OnProgress, RefreshOptions, RenderedMap, RepoMap, Snapshot,
};
use redaction::Redaction;
use serde::Deserialize;
use serde_json::json;
use storage::{FileSystem, LocalDisk, layout};

use super::{Memory, pack::RenderMap};
use crate::{
    blocking::run_blocking,
    error::{Code, Error, Result},
};

/// What of a repository is to be shown.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MapRequest {
    /// The text's length in UTF-16 code units, at most.
    pub max_chars: usize,
    /// Paths, names and words that matter more than others.
    pub focus: Vec<String>,
}

/// The map of a workspace, with its cache in the memory's directory. The workspace is read from the local
/// disk where the memory is in an injected file system: its files are listed by a walk of the map's own, and
/// were read there to identify the repository.
pub(super) fn map_of(
    file_system: &Arc<dyn FileSystem>,
    workspace: &Path,
    directory: &Path,
) -> Arc<RepoMap> {
    let disk = file_system.disk().unwrap_or_else(|| Arc::new(LocalDisk));
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
                "a memory that was opened by its hash alone knows no workspace; open it with workspace",
            ));
        };
        self.check_directory()?;
        let (durability, on_notice) = (self.options.durability, Some(self.reported()));
        Ok(map.refresh(RefreshOptions { durability, redaction, progress, on_notice }).await?)
    }

    /// What a refresh reports goes to the debug callback.
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

    /// What matters most in the workspace.
    ///
    /// # Errors
    /// `Unsupported` without a workspace, `NotFound` or `Io` when it cannot be read.
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

    /// What a file of the workspace defines, in its order.
    ///
    /// # Errors
    /// `NotFound` for a file that is not among those of the map; else as [`Memory::repo_map`].
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

    /// What makes the map for a pack; `None` without a workspace, or when that cannot be read, which is
    /// told.
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
