//! `ContextManager`: every tool output of a session, small ones at hand in memory, large ones on
//! disk, all reachable through light pointers.

mod admission;
mod backlog;
mod choice;
mod collection;
mod context_directory;
mod delimited;
mod directory;
mod directory_index;
mod embedding;
mod file_head;
mod filter;
mod handle;
mod held;
mod indexer;
mod indexing;
mod lifecycle;
mod list;
mod load;
mod location;
mod manager;
mod options;
mod outline;
mod output_index;
mod placeholder;
mod pointer;
mod pointer_table;
mod read;
mod record;
mod save;
mod search;
mod select;
mod selection;
mod session;
mod state;
mod stored_text;
mod sweep;
mod tiers;
mod vectors;

pub use choice::Bounds;
pub use delimited::{delimit, harmless_line};
pub use filter::ContextFilter;
pub use held::Held;
pub use lifecycle::{Cleared, Clearing};
pub use list::Listing;
pub use manager::Manager;
pub use options::{ManagerOptions, Retention};
pub use save::{Details, OffloadRequest, Offloaded, SaveRequest, Saved};
pub use search::SearchRequest;
pub use select::{Candidate, ForeignPointer};
pub use selection::{Selected, Selection};
pub use state::Stats;
pub use sweep::SweepReport;
pub use vectors::normalised;

use std::path::Path;

use storage::FileError;

use crate::error::Error;

/// A file system's refusal while doing `what` with `path`.
fn refused(what: &str, path: &Path, cause: FileError) -> Error {
    Error::from_file(what, path, "contextDir", cause)
}
