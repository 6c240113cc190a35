//! The text of a context from which the caller's embedding model computes its vector: the description and the beginning
//! of the result.

use super::{
    context_directory::ContextDirectory, held::Held, pointer_table::PointerTable, record,
    stored_text::beginning_of_result,
};

/// The longest text, in characters.
const MAX_TEXT: usize = 2000;
/// The part of a result that is read, in bytes: more than [`MAX_TEXT`] characters need.
const MAX_RESULT: usize = 16 * 1024;
/// The part of a file that is read first, in bytes; longer if its arguments are longer.
const MAX_HEAD: u64 = 64 * 1024;

/// A context's description and the beginning of its result; `None` if the context was removed.
pub(super) async fn text_of(
    pointers: &PointerTable,
    directory: &ContextDirectory,
    sequence: u64,
) -> Option<String> {
    let ((mut text, filename), held) = pointers.with_cached(sequence, |pointer| {
        let description = json_text::decode_string(pointer.description().as_bytes())?.into_owned();
        Some((description, pointer.filename().to_owned()))
    })?;
    let result = match held {
        Some(Held::Text { text, .. }) => {
            let beginning = text.get(..MAX_RESULT).unwrap_or(&text);
            String::from_utf8_lossy(beginning).into_owned()
        }
        Some(Held::Whole(record) | Held::WithBytes { record, .. }) => {
            beginning_of_result(&record, MAX_RESULT)
        }
        // If the file cannot be read, the text is only the description.
        None => {
            let record = beginning_of(directory, &filename).await.unwrap_or_default();
            beginning_of_result(&record, MAX_RESULT)
        }
    };
    text.push('\n');
    text.push_str(&result);
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(end);
    }
    Some(text.trim_end().to_owned())
}

async fn beginning_of(directory: &ContextDirectory, filename: &str) -> Option<Vec<u8>> {
    let root = directory.root(filename).await.ok()?;
    let mut limit = MAX_HEAD;
    loop {
        let contents = directory.read(&root, filename, limit).await.ok()?;
        let is_whole = contents.bytes.len() as u64 == contents.length;
        if is_whole || record::parse_head(&contents.bytes).is_ok() {
            return Some(contents.bytes);
        }
        limit = contents.length;
    }
}
