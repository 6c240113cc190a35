//! `ContextManager`: stores every tool output of a session. Large outputs are written to files. Small ones are cached
//! in memory, and written to files when the cache exceeds its budget or the options require it. A compact pointer to
//! each output stays in memory.
//!
//! Terms:
//! - *context*: one stored output; *record*: its JSON text. A *session record* is something else: a small file that
//!   names a session.
//! - *pointer*: the metadata of a context with its path.
//! - *handle*: a name derived from the content of a context.
//! - *outcome*: how the call ended.
//! - *placeholder*: the text that replaces an output in a conversation.
//! - *lease*: a locked file that proves that a process still uses its sessions.
//! - *live*, *paused*, *over*: a session is live while a process holds its lease, paused if no process does but its
//!   session record exists, and otherwise over, or dead. `options::Retention` has the bounds for the contexts of each
//!   kind.
//! - *adopt*: to insert the pointer of a context that another manager saved.
//!
//! `manager` is the façade that the addon calls.

mod admission;
mod answer_key;
mod backlog;
pub(crate) mod beginnings;
mod bounds;
mod bytes;
mod call_set;
mod choice;
mod collection;
mod context_directory;
mod context_files;
mod delimited;
mod described;
mod directory;
mod directory_index;
mod directory_view;
mod embedding;
mod facets;
mod file_head;
mod file_terms;
mod file_text;
mod filter;
mod find;
mod forget;
mod found;
mod grep;
mod handle;
mod handle_groups;
mod handle_table;
mod held;
mod import;
mod indexer;
mod indexing;
mod json_preview;
mod leaves;
mod lifecycle;
mod list;
mod load;
mod location;
mod long_texts;
mod manager;
mod narrowing;
mod noted;
mod options;
mod outcome;
mod outline;
mod output_index;
mod placeholder;
mod pointer;
mod pointer_lookup;
mod pointer_table;
mod pointer_use;
mod preview;
mod read;
mod recent_use;
mod record;
mod redemption;
mod resume;
mod save;
mod save_request;
mod search;
mod searching;
mod select;
mod selection;
mod session;
mod session_record;
mod sessions;
mod shown_text;
mod sparse_read;
mod state;
mod stored_text;
mod streamed;
mod sweep;
mod tiers;

pub use bytes::{GivenBytes, GivenPart};
pub use choice::Bounds;
pub use delimited::{delimit, harmless_line};
pub use filter::ContextFilter;
pub use find::FindRequest;
pub use forget::{ForgetReport, ForgottenContext};
pub use grep::{GrepFound, GrepRequest, Grepped};
pub use held::Held;
pub use import::{ImportRequest, Imported};
pub use indexing::append_arguments;
pub use leaves::Step;
pub use lifecycle::{Cleared, Clearing};
pub use list::Listing;
pub use manager::Manager;
pub use options::{ManagerOptions, Retention};
pub use outcome::Outcome;
pub use placeholder::Kind;
pub use save_request::{Details, Leaf, OffloadRequest, SaveRequest, Saved};
pub use search::SearchRequest;
pub use select::{Candidate, ForeignPointer};
pub use selection::{Selected, Selection};
pub(crate) use session_record::last_use_of_session;
pub use sessions::{SessionInfo, SessionState};
pub use state::Stats;
pub use streamed::{Envelope, Piece, StreamedResult};
pub use sweep::{Removal, SweepReport};

use std::path::Path;

use storage::FileError;

use crate::error::Error;

/// The error for a failed file operation.
fn refused(what: &str, path: &Path, cause: FileError) -> Error {
    Error::from_file(what, path, "contextDir", cause)
}
