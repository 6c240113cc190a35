//! `ContextStore`: the Markdown memory that agents share.

mod entry;
mod location;
mod time;

pub use entry::{Change, Entry, EntryType, Problem, Summary};
pub use location::Location;
