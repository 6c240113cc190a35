//! Crashes and failing disk calls of indexes with many segments.

use std::{sync::Arc, time::Duration};

use agent_context_core::{
    Debug,
    history::{Filter, History, HistoryOptions, IndexSizes, IndexState},
};
use simulator::SimulatedDisk;
use storage::Durability::Process;

use crate::{
    cuts::{cut_everywhere, names, runtime},
    evidence::Group,
    failures::fail_everywhere,
    history::{check_search_of, compact, filters, numbered, values},
    log::log_path,
    process::process_on,
    story::{DIRECTORY, NAME, Story, text},
};

/// Sizes with which few entries fill many segments.
const SIZES: IndexSizes = IndexSizes {
    min_log: 1,
    min_segment: 700,
    max_rows: 6,
    first_look: u64::MAX,
    max_memory: 1 << 20,
};
const ENTRY: usize = 300;
/// Random losses of the story.
const EACH: usize = 400;

/// The history, as another process would have it.
fn indexed_on(disk: &SimulatedDisk) -> Arc<History> {
    let options = HistoryOptions {
        path: log_path(),
        durability: Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: 1 << 20,
        bounds: agent_context_core::history::Bounds::default(),
        trust: agent_context_core::Trust::default(),
    };
    History::with_index(options, SIZES, process_on(disk), Debug::default())
}

async fn append(history: &Arc<History>, numbers: std::ops::Range<usize>) {
    for number in numbers {
        history.append(numbered(number, ENTRY).await).outcome().await.unwrap();
    }
}

async fn search(history: &Arc<History>) -> usize {
    values(&history.search(filters().remove(1)).await.unwrap()).len()
}

fn check_names(disk: &SimulatedDisk) {
    let known = [NAME.to_owned(), format!("{NAME}.index"), format!("{NAME}.lock")];
    for name in names(disk, DIRECTORY) {
        assert!(known.contains(&name), "{name} is left");
    }
}

#[test]
fn an_index_of_many_segments_changes_nothing() {
    let mut story = Story::new(SimulatedDisk::new());
    runtime().block_on(async {
        let histories = [(); 2].map(|()| indexed_on(&story.disk));
        for round in 0..8 {
            let history = &histories[round % 2];
            append(history, 4 * round..4 * round + 4).await;
            story.appended(4, Process);
            assert_eq!(search(history).await, story.lines().len().div_ceil(3));
        }
        assert_eq!(histories[0].verify().await.unwrap().index, IndexState::Valid);
        compact(&histories[0], 20).await.unwrap();
        story.rewritten();
        search(&histories[1]).await;
        append(&histories[1], 40..46).await;
        story.appended(6, Process);
        search(&histories[0]).await;
    });
    let name = "an index of many segments";
    cut_everywhere(Group::History, name, &story.disk, DIRECTORY, EACH, async |found| {
        story.check(found);
        let history = indexed_on(&found.disk);
        check_search_of(&history, &found.disk).await;
        append(&history, 50..54).await;
        check_search_of(&history, &found.disk).await;
        check_search_of(&indexed_on(&found.disk), &found.disk).await;
        if !text(&found.disk).is_empty() {
            // Together with the filters before, this reads all rows, so damaged ones are rebuilt.
            let succeeded = Filter { success: Some(true), limit: usize::MAX, ..Filter::default() };
            history.search(succeeded).await.unwrap();
            let state = history.verify().await.unwrap().index;
            assert_eq!(state, IndexState::Valid, "the index is usable again");
        }
    });
}

#[test]
fn an_index_that_cannot_be_extended_changes_nothing() {
    let begin = async || {
        let disk = SimulatedDisk::new();
        let history = indexed_on(&disk);
        append(&history, 0..20).await;
        search(&history).await;
        append(&history, 20..24).await;
        (disk, history)
    };
    let act = async |_: &SimulatedDisk, history: &Arc<History>| {
        history.search(filters().remove(1)).await.map(|found| values(&found).len())
    };
    let story = "a search that extends an index, calls fail";
    fail_everywhere(Group::History, story, begin, act, async |disk, history, failed| {
        if let Ok(found) = failed.outcome {
            assert_eq!(found, 24_usize.div_ceil(3));
        }
        check_names(disk);
        check_search_of(history, disk).await;
        append(history, 24..32).await;
        check_search_of(history, disk).await;
        check_search_of(&indexed_on(disk), disk).await;
        assert_eq!(history.verify().await.unwrap().index, IndexState::Valid);
    });
}
