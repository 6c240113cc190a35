//! Lines of many contexts that match a regular expression.

use std::sync::Arc;

use serde::Serialize;

use super::{collection::Collection, filter::ContextFilter, read::with_stored, session::Session};
use crate::{
    error::Result,
    slices::{Grep, LineMatch, Room, grep_lines},
};

/// Which contexts are searched, for what, and how much is returned.
#[derive(Debug)]
pub struct GrepRequest {
    /// These contexts, in this order; without them those of the filter, the latest first.
    pub paths: Option<Vec<String>>,
    /// Which of this manager's contexts are searched where no paths are given.
    pub filter: ContextFilter,
    /// What to find, and how many lines around it.
    pub grep: Grep,
    /// At most this many matching lines.
    pub limit: usize,
    /// Text of at most so many bytes.
    pub max_bytes: usize,
}

/// The lines of one context.
#[derive(Debug, Serialize)]
pub struct GrepFound {
    /// The context's path.
    pub filepath: String,
    /// Its lines.
    pub lines: Vec<LineMatch>,
}

/// What a search through contexts found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Grepped {
    /// Contexts with lines that match.
    pub found: Vec<GrepFound>,
    /// How many contexts were searched, the last one perhaps in part.
    pub searched: usize,
    /// Contexts that could not be read: they are gone, or no records.
    pub skipped: usize,
    /// All matching lines were found.
    pub is_complete: bool,
}

/// Finds lines in many contexts.
///
/// # Errors
/// `InvalidArgument` when the expression needs too much work.
pub(super) async fn grep(session: &Arc<Session>, request: GrepRequest) -> Result<Grepped> {
    let GrepRequest { paths, filter, grep, limit, max_bytes } = request;
    let paths = match paths {
        Some(paths) => paths,
        None => {
            let collection = Collection::new(session, None);
            let chosen = collection.choose(|pointer, _| filter.matches(pointer)).await;
            let pointers =
                chosen.into_iter().filter_map(|(_, number, _)| collection.pointer(number));
            pointers.map(|pointer| session.directory.path_of(pointer.filename())).collect()
        }
    };
    let grep = Arc::new(grep);
    let mut room = Room { lines: limit, bytes: max_bytes };
    let mut all = Grepped { found: Vec::new(), searched: 0, skipped: 0, is_complete: true };
    for filepath in paths {
        // Other tasks run here, and a cancelled search stops here.
        tokio::task::yield_now().await;
        let (grep, given) = (Arc::clone(&grep), room);
        let look = move |stored: crate::slices::Stored<'_>, _: &_, cancelled: &_| {
            grep_lines(stored, &grep, given, cancelled)
        };
        let (lines, rest) = match with_stored(session, &filepath, look).await {
            Ok(found) => found,
            Err(error) if error.code == crate::error::Code::InvalidArgument => return Err(error),
            Err(_) => {
                all.skipped += 1;
                continue;
            }
        };
        all.searched += 1;
        if !lines.is_empty() {
            all.found.push(GrepFound { filepath, lines });
        }
        match rest {
            Some(rest) => room = rest,
            None => {
                all.is_complete = false;
                break;
            }
        }
    }
    Ok(all)
}
