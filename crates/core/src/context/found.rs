//! A short description of each of several results, for listings of calls: the number of elements, search hits or lines.

use std::sync::Arc;

use super::{outline::outline, preview::search_hits_in, read::with_stored, session::Session};
use crate::slices::Stored;

/// The longest description, in bytes.
const MAX_SAID: usize = 160;
/// The longest outline that counts are read from, in bytes.
const MAX_OUTLINE: usize = 1024;

/// The descriptions for these paths; `None` for those that cannot be read.
pub(super) async fn found(session: &Arc<Session>, paths: &[String]) -> Vec<Option<String>> {
    let mut all = Vec::with_capacity(paths.len());
    for path in paths {
        // Lets other tasks run; a cancelled call stops here.
        tokio::task::yield_now().await;
        let look = |stored: Stored<'_>, _: &_, _: &_| Ok(found_in(stored));
        all.push(with_stored(session, path, look).await.ok());
    }
    all
}

/// Counts the elements, hits or lines of a result.
fn found_in(stored: Stored<'_>) -> String {
    let text = match stored {
        Stored::Json(json) => match json_text::decode_string(json.as_bytes()) {
            Some(text) => text,
            None => return counted_json(json).unwrap_or_else(|| json.chars().take(40).collect()),
        },
        Stored::Text(text) => text.into(),
    };
    if let Some(said) = counted_json(&text) {
        return said;
    }
    if let Some((hits, files)) = search_hits_in(&text) {
        return format!("{hits} hits in {files} files");
    }
    let lines = text.lines().count();
    format!("{lines} {} of text", if lines == 1 { "line" } else { "lines" })
}

/// The sizes of an object's arrays, or the number of an array's elements; `None` for other texts.
fn counted_json(json: &str) -> Option<String> {
    let outline = outline(json.as_bytes(), MAX_OUTLINE)?;
    let mut lines = outline.lines();
    let first = lines.next()?;
    let arrays: Vec<&str> = lines
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' ') && line.contains(": array of "))
        .map(|line| line.split(';').next().unwrap_or(line))
        .collect();
    let said = if arrays.is_empty() {
        first.split(';').next().unwrap_or(first).to_owned()
    } else {
        arrays.join(", ")
    };
    Some(super::delimited::harmless_line(&said, MAX_SAID))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_hits_and_lines_are_counted() {
        let found = |text: &str| found_in(Stored::Text(text));
        assert_eq!(
            found(r#"{"total":3,"results":[1,2,3],"tags":[]}"#),
            "results: array of 3 numbers, tags: array of 0 elements"
        );
        assert_eq!(found("[{\"a\":1},{\"a\":2}]"), "array of 2 objects");
        assert_eq!(found("{\"a\":1}"), "object with 1 key");
        assert_eq!(found("one\ntwo"), "2 lines of text");
        assert_eq!(found(&"src/a.ts:7:text\n".repeat(9)), "9 hits in 1 files");
        assert_eq!(found_in(Stored::Json("true")), "true");
    }
}
