//! `grep`: lines of many contexts that match a regular expression.

use std::sync::Arc;

use serde::Serialize;

use super::{collection::Collection, filter::ContextFilter, read::with_stored, session::Session};
use crate::{
    error::Result,
    slices::{Grep, LineMatch, Room, grep_lines},
};

/// The contexts, the expression and the limits.
#[derive(Debug)]
pub struct GrepRequest {
    /// These contexts, in this order; if absent, those that match the filter, latest first.
    pub paths: Option<Vec<String>>,
    /// The filter for this manager's contexts if no paths are given.
    pub filter: ContextFilter,
    /// The expression, and the number of lines around each match.
    pub grep: Grep,
    /// The most matching lines.
    pub limit: usize,
    /// The most bytes of text.
    pub max_bytes: usize,
}

/// The matching lines of one context.
#[derive(Debug, Serialize)]
pub struct GrepFound {
    /// The context's path.
    pub filepath: String,
    /// Its lines.
    pub lines: Vec<LineMatch>,
}

/// The result of a search.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Grepped {
    /// Contexts with matching lines.
    pub found: Vec<GrepFound>,
    /// The number of contexts that were searched, the last one possibly in part.
    pub searched: usize,
    /// Contexts that could not be read, because they were removed or are no valid records.
    pub skipped: usize,
    /// Whether all matching lines were found.
    pub is_complete: bool,
}

/// Finds lines in many contexts.
///
/// # Errors
/// `InvalidArgument` if matching the expression takes too much work.
pub(super) async fn grep(session: &Arc<Session>, request: GrepRequest) -> Result<Grepped> {
    let GrepRequest { paths, filter, grep, limit, max_bytes } = request;
    let paths = match paths {
        Some(paths) => paths,
        None => {
            let collection = Collection::own(session);
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
        // Lets other tasks run; a cancelled search stops here.
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
