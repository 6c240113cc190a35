//! Parts of long results: read from the blocks that contain them, and whole where the table of the blocks is damaged.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;
mod long_texts;

use std::{fs, path::Path, sync::Arc};

use agent_context_core::{
    Debug,
    context::{Manager, ManagerOptions, Piece},
};
use contexts::{options, request, save};
use long_texts::{long_text, parts, read_part, sliced};
use serde_json::json;
use storage::LocalDisk;

/// A manager that keeps no long output in memory.
fn manager(directory: &Path, session: &str) -> Arc<Manager> {
    let mut options = ManagerOptions { session: session.to_owned(), ..options(directory) };
    options.retention.max_result_bytes = 64 << 20;
    Manager::new(options, Arc::new(LocalDisk), Debug::default())
}

/// Reads parts at many places, and compares them with those of the text.
async fn read_all(manager: &Arc<Manager>, path: &str, text: &str) {
    let lines = text.lines().count();
    for place in 0..=8 {
        for part in parts(text.len() * place / 8, (lines * place / 8).max(1)) {
            let (slice, expected) = (read_part(manager, path, part()).await, sliced(text, part()));
            assert!(slice == expected, "{:?}: {:.300} {:.300}", part(), slice, expected);
        }
    }
}

#[tokio::test]
async fn parts_are_those_of_the_whole_result() {
    let folder = tempfile::tempdir().unwrap();
    let own = manager(folder.path(), "own");
    let text = long_text(3_000_000);
    let path = save(&own, "tool", &json!({}), &json!(text)).await.unwrap();
    let record = fs::read(&path).unwrap();
    assert!(String::from_utf8_lossy(&record).contains(",\"resultBlocks\":[1,"));
    read_all(&manager(folder.path(), "other"), &path, &text).await;
    let loaded = manager(folder.path(), "other").load(&path).await.unwrap();
    assert!(!String::from_utf8_lossy(&loaded.record()).contains("resultBlocks"));
    let values = json!({ "lines": text.lines().collect::<Vec<_>>() });
    let path = save(&own, "tool", &json!({}), &values).await.unwrap();
    read_all(&manager(folder.path(), "other"), &path, &values.to_string()).await;
}

#[tokio::test]
async fn parts_of_streams_are_those_of_the_whole_stream() {
    let folder = tempfile::tempdir().unwrap();
    let own = manager(folder.path(), "own");
    let text = long_text(3_000_000);
    let stream = own.stream(None, usize::MAX);
    for piece in text.as_bytes().chunks(100_001) {
        stream.write(Piece::Bytes(piece.to_vec())).await.unwrap();
    }
    let request = request("tool", &json!({}), &json!(null));
    let saved = own.store_streamed(own.begin_save(), request, &stream, None).await.unwrap();
    let path = saved.stored.path;
    assert!(String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(",\"resultBlocks\":[1,"));
    read_all(&manager(folder.path(), "other"), &path, &text).await;
}

#[tokio::test]
async fn a_damaged_table_or_block_makes_the_record_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let own = manager(folder.path(), "own");
    let text = long_text(1_000_000);
    let path = save(&own, "tool", &json!({}), &json!(text)).await.unwrap();
    let record = fs::read(&path).unwrap();
    let table = record.len() - 100;
    let at = |needle: &str| {
        record.windows(needle.len()).rposition(|found| found == needle.as_bytes()).unwrap()
    };
    let digit = |byte: u8| if byte == b'7' { b'8' } else { b'7' };
    let number = (table..record.len()).find(|at| record[*at].is_ascii_digit()).unwrap();
    let mut wrong_table = record.clone();
    wrong_table[number] = digit(record[number]);
    fs::write(&path, &wrong_table).unwrap();
    read_all(&manager(folder.path(), "other"), &path, &text).await;
    // The text of a record that was edited is that of the file. The table is that of before.
    let last = text.rfind("line 9").unwrap();
    let changed = [&text[..last], "LINE 9", &text[last + 6..]].concat();
    let mut other_text = record.clone();
    let found = at("line 9");
    other_text[found..found + 6].copy_from_slice(b"LINE 9");
    fs::write(&path, &other_text).unwrap();
    for part in parts(last, 1) {
        let slice = read_part(&manager(folder.path(), "other"), &path, part()).await;
        let expected = sliced(&changed, part());
        assert_eq!(slice, expected);
    }
    let mut shorter = record.clone();
    shorter.remove(found);
    fs::write(&path, &shorter).unwrap();
    let shortened = [&text[..last], &text[last + 1..]].concat();
    read_all(&manager(folder.path(), "other"), &path, &shortened).await;
    fs::write(&path, &record[..record.len() - 10]).unwrap();
    let read = manager(folder.path(), "other").read(&path, parts(0, 1)[0](), None).await;
    assert_eq!(read.unwrap_err().code, agent_context_core::Code::Corrupt);
}
