use std::{collections::BTreeSet, fs, io::Write, path::Path, sync::Arc, time::Duration};

use proptest::prelude::*;
use serde_json::{Value, json};
use storage::{Durability, LocalDisk, LogPath};
use text_index::Query;

use super::*;
use crate::{
    debug::Debug,
    history::{HistoryOptions, IndexState, Policy, ranked::Ranking, recall},
};

/// Sizes with which few entries fill many segments.
const SMALL: IndexSizes = IndexSizes {
    min_log: 1,
    min_segment: 300,
    max_rows: 16,
    first_look: 1 << 30,
    max_memory: 1 << 20,
};
const LONGEST: usize = 400;

fn history_with(directory: &Path, sizes: IndexSizes, debug: Debug) -> Arc<History> {
    let path = LogPath {
        directory: directory.to_owned(),
        prefix: format!("{}/", directory.display()),
        name: "context.jsonl".to_owned(),
    };
    let options = HistoryOptions {
        path,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: LONGEST,
        bounds: crate::history::Bounds::default(),
        trust: crate::safety::Trust::default(),
    };
    History::with_index(options, sizes, Arc::new(LocalDisk), debug)
}

fn history_in(directory: &Path) -> Arc<History> {
    history_with(directory, SMALL, Debug::default())
}

fn line(number: u64) -> String {
    json!({
        "tool_name": format!("t{}", number % 5),
        "result": number,
        "success": !number.is_multiple_of(3),
        "timestamp": time_of(number),
    })
    .to_string()
        + "\n"
}

fn time_of(number: u64) -> String {
    let time = chrono::DateTime::from_timestamp(i64::try_from(number).unwrap(), 0);
    time.unwrap().to_rfc3339()
}

fn add(directory: &Path, text: &str) {
    let path = directory.join("context.jsonl");
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn add_entries(directory: &Path, numbers: std::ops::Range<u64>) {
    add(directory, &numbers.map(line).collect::<String>());
}

fn of_tool(name: &str) -> Filter {
    Filter { tool_names: Some(vec![name.to_owned()]), limit: usize::MAX, ..Filter::default() }
}

fn values(texts: &[Vec<u8>]) -> Vec<Value> {
    texts.iter().flat_map(|text| serde_json::from_slice::<Vec<Value>>(text).unwrap()).collect()
}

async fn found(history: &Arc<History>, filter: &Filter) -> Vec<Value> {
    values(&history.search(filter.clone()).await.unwrap())
}

/// The result of reading every line.
fn scanned(directory: &Path, filter: &Filter) -> Vec<Value> {
    let text = fs::read(directory.join("context.jsonl")).unwrap();
    let history = history_in(directory);
    let filter = filter.clone().prepared();
    values(&recall::scan_for_tests(&LogReader::Text(text), &filter, &history))
}

/// As [`scanned`], ranked by the filter's text.
fn ranked(directory: &Path, filter: &Filter) -> Vec<Value> {
    let reader = LogReader::Text(fs::read(directory.join("context.jsonl")).unwrap());
    let query = Query::parse(filter.text.as_deref().unwrap_or_default());
    let filter = Filter { text: None, ..filter.clone() };
    let history = history_in(directory);
    let ranking = Ranking { query: &query, embedded: None, window: 10_000 };
    let entries = history.try_rank(&reader, &ranking, &filter, &Cancelled::default());
    values(&recall::texts(entries.unwrap().unwrap()))
}

fn index_path(directory: &Path) -> std::path::PathBuf {
    directory.join("context.jsonl.index")
}

fn index_of(directory: &Path) -> Vec<u8> {
    fs::read(index_path(directory)).unwrap()
}

fn known(history: &History) -> Arc<Index> {
    history.index.lock().unwrap().clone().unwrap()
}

async fn state_of(directory: &Path) -> IndexState {
    history_in(directory).verify().await.unwrap().index
}

#[tokio::test]
async fn a_log_of_many_segments_is_searched_through_its_index() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..1000);
    let history = history_in(folder.path());
    let rare = Filter { since: Some(5000), until: Some(6000), ..of_tool("t1") };
    assert_eq!(found(&history, &rare).await, scanned(folder.path(), &rare));
    let index = known(&history);
    assert_eq!(index.blocks.len(), 1000_usize.div_ceil(SMALL.max_rows));
    assert!(index.open.rows.is_empty(), "nothing but the ends of segments is in memory");
    assert_eq!(state_of(folder.path()).await, IndexState::Valid);
    for filter in [of_tool("t3"), Filter { success: Some(false), ..of_tool("t0") }] {
        assert_eq!(
            found(&history_in(folder.path()), &filter).await,
            scanned(folder.path(), &filter)
        );
    }
}

#[tokio::test]
async fn appended_entries_extend_the_index_and_rewrite_its_end_only() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..1000);
    let history = history_in(folder.path());
    found(&history, &of_tool("t1")).await;
    let mut rounds = 0;
    for first in (1000..2000).step_by(4) {
        let before = index_of(folder.path());
        add_entries(folder.path(), first..first + 4);
        let latest = Filter { limit: 3, ..of_tool("t1") };
        assert_eq!(found(&history, &latest).await, scanned(folder.path(), &latest));
        let after = index_of(folder.path());
        let same = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
        assert!(
            after.len() - same < 4096,
            "{} of {} bytes are new",
            after.len() - same,
            after.len()
        );
        rounds += usize::from(after != before);
    }
    assert!(rounds > 200);
    let blocks = &known(&history).blocks;
    assert!(blocks.len() <= 2 * 2000 / SMALL.max_rows + 4, "{} segments", blocks.len());
    assert_eq!(state_of(folder.path()).await, IndexState::Valid);
}

#[tokio::test]
async fn two_histories_extend_one_index() {
    let folder = tempfile::tempdir().unwrap();
    let histories = [history_in(folder.path()), history_in(folder.path())];
    for round in 0..60_u64 {
        add_entries(folder.path(), 10 * round..10 * round + 10);
        for history in &histories {
            let all = Filter { success: Some(true), ..of_tool("t2") };
            assert_eq!(found(history, &all).await, scanned(folder.path(), &all));
        }
        assert_eq!(state_of(folder.path()).await, IndexState::Valid);
    }
    let places: Vec<BTreeSet<u64>> = histories
        .iter()
        .map(|history| known(history).blocks.iter().map(|block| block.range.start).collect())
        .collect();
    assert!(places[0].intersection(&places[1]).count() > 20, "they share segments");
}

#[tokio::test]
async fn an_index_that_was_cut_anywhere_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..100);
    found(&history_in(folder.path()), &of_tool("t1")).await;
    let whole = index_of(folder.path());
    let history = history_in(folder.path());
    found(&history, &of_tool("t1")).await;
    let ends = known(&history).blocks.iter().map(Block::end_in_file).collect::<BTreeSet<_>>();
    let ends: BTreeSet<usize> = ends.into_iter().map(|end| usize::try_from(end).unwrap()).collect();
    assert!(ends.len() > 5);
    for length in (0..whole.len()).step_by(7).chain(ends.iter().copied()) {
        fs::write(index_path(folder.path()), &whole[..length]).unwrap();
        let expected = match length {
            0 => IndexState::Missing,
            _ if ends.contains(&length) => IndexState::Valid,
            _ => IndexState::Damaged,
        };
        assert_eq!(state_of(folder.path()).await, expected, "{length}");
        let history = history_in(folder.path());
        assert_eq!(found(&history, &of_tool("t1")).await, scanned(folder.path(), &of_tool("t1")));
        assert_eq!(index_of(folder.path()), whole, "{length}");
    }
}

#[tokio::test]
async fn an_index_that_was_changed_anywhere_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..100);
    let filter = Filter { since: Some(0), ..of_tool("t1") };
    let expected = scanned(folder.path(), &filter);
    found(&history_in(folder.path()), &filter).await;
    let whole = index_of(folder.path());
    for at in (0..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(index_path(folder.path()), changed).unwrap();
        assert_eq!(state_of(folder.path()).await, IndexState::Damaged, "{at}");
        let history = history_in(folder.path());
        assert_eq!(found(&history, &filter).await, expected, "{at}");
        // Reading all rows finds the damage and rebuilds the index.
        let all = Filter { since: Some(0), limit: usize::MAX, ..Filter::default() };
        assert_eq!(found(&history, &all).await.len(), 100);
        assert_eq!(index_of(folder.path()), whole, "{at}");
    }
}

#[tokio::test]
async fn an_index_of_the_former_format_is_stale_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..100);
    let former = format!("0123abcd\n{}\n\0\0\0", json!({"format": 3, "max_line": LONGEST}));
    fs::write(index_path(folder.path()), former).unwrap();
    assert_eq!(state_of(folder.path()).await, IndexState::Stale);
    let history = history_in(folder.path());
    assert_eq!(found(&history, &of_tool("t1")).await, scanned(folder.path(), &of_tool("t1")));
    assert_eq!(state_of(folder.path()).await, IndexState::Valid);
}

#[tokio::test]
async fn a_log_whose_end_was_lost_keeps_the_index_of_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..200);
    found(&history_in(folder.path()), &of_tool("t1")).await;
    let before = index_of(folder.path());
    let log = folder.path().join("context.jsonl");
    let length: usize = (0..150).map(|number| line(number).len()).sum();
    let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.set_len(length as u64).unwrap();
    assert_eq!(state_of(folder.path()).await, IndexState::Stale);
    add_entries(folder.path(), 500..520);
    let history = history_in(folder.path());
    assert_eq!(found(&history, &of_tool("t1")).await, scanned(folder.path(), &of_tool("t1")));
    let after = index_of(folder.path());
    let same = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
    assert!(same > before.len() / 2, "{same} of {} bytes stayed", before.len());
    assert_eq!(state_of(folder.path()).await, IndexState::Valid);
}

#[tokio::test]
async fn an_index_that_cannot_be_written_is_kept_in_memory_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..200);
    fs::create_dir(index_path(folder.path())).unwrap();
    for max_memory in [0, 500, 1 << 20] {
        let messages = Arc::new(std::sync::Mutex::new(Vec::new()));
        let heard = Arc::clone(&messages);
        let debug = Debug::new(move |message, _| heard.lock().unwrap().push(message.to_owned()));
        let history = history_with(folder.path(), IndexSizes { max_memory, ..SMALL }, debug);
        for filter in [of_tool("t1"), Filter { success: Some(false), ..of_tool("t0") }] {
            assert_eq!(found(&history, &filter).await, scanned(folder.path(), &filter));
        }
        let index = known(&history);
        assert!(index.blocks.iter().map(|block| block.length).sum::<u64>() <= max_memory);
        assert_eq!(index.blocks.is_empty(), max_memory == 0);
        let is_complete =
            index.covered() == fs::metadata(folder.path().join("context.jsonl")).unwrap().len();
        assert_eq!(is_complete, max_memory == 1 << 20);
        let messages = messages.lock().unwrap();
        // Other users can read the log, which is reported as well.
        let failures: Vec<_> =
            messages.iter().filter(|message| !message.contains("is readable by others")).collect();
        assert!(matches!(failures.len(), 1 | 2), "reported once per attempt: {messages:?}");
        assert!(failures.iter().all(|message| *message == "Failed to write the history's index"));
    }
    // Once the file can be written, it is.
    let history = history_in(folder.path());
    found(&history, &of_tool("t1")).await;
    fs::remove_dir(index_path(folder.path())).unwrap();
    add_entries(folder.path(), 200..220);
    assert_eq!(found(&history, &of_tool("t1")).await, scanned(folder.path(), &of_tool("t1")));
    assert!(known(&history).blocks.iter().all(Block::is_in_file));
    assert_eq!(state_of(folder.path()).await, IndexState::Valid);
}

#[tokio::test]
async fn a_search_that_the_end_of_the_log_answers_does_not_wait_for_an_index() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..500);
    let history =
        history_with(folder.path(), IndexSizes { first_look: 2000, ..SMALL }, Debug::default());
    let latest = Filter { limit: 2, ..of_tool("t1") };
    assert_eq!(found(&history, &latest).await, scanned(folder.path(), &latest));
    assert!(!index_path(folder.path()).exists());
    let more = Filter { limit: 50, ..of_tool("t1") };
    assert_eq!(found(&history, &more).await, scanned(folder.path(), &more));
    assert_eq!(state_of(folder.path()).await, IndexState::Valid);
}

#[tokio::test]
async fn a_log_that_is_replaced_while_it_is_indexed_leaves_no_index() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..100);
    let history = history_in(folder.path());
    let reader = history.reader().await.unwrap().unwrap();
    fs::remove_file(folder.path().join("context.jsonl")).unwrap();
    add_entries(folder.path(), 0..10);
    let index = Index::known(&history, &reader).unwrap().unwrap();
    let index = index.extended(&history, &reader, &Cancelled::default()).unwrap();
    assert_eq!(index.covered(), 0);
    assert!(!index_path(folder.path()).exists());
}

#[tokio::test]
async fn a_cancelled_search_stops_indexing() {
    let folder = tempfile::tempdir().unwrap();
    add_entries(folder.path(), 0..100);
    let history = history_in(folder.path());
    let reader = history.reader().await.unwrap().unwrap();
    let index = Index::known(&history, &reader).unwrap().unwrap();
    let index = index.extended(&history, &reader, &Cancelled::set()).unwrap();
    assert_eq!(index.covered(), 0);
    assert_eq!(found(&history, &of_tool("t1")).await, scanned(folder.path(), &of_tool("t1")));
}

/// A line of a log: entries of all kinds, and lines without an entry.
fn any_line() -> impl Strategy<Value = String> {
    let tool = prop_oneof![Just("grep"), Just("read"), Just("Grüße"), Just("")];
    let time = proptest::option::weighted(0.8, 0_u64..50);
    let entry =
        (tool, any::<bool>(), time, 0_usize..80).prop_map(|(tool, success, time, padding)| {
            let mut entry =
                json!({"tool_name": tool, "success": success, "result": "x".repeat(padding)});
            if let Some(time) = time {
                entry["timestamp"] = json!(time_of(time));
            }
            entry.to_string()
        });
    prop_oneof![
        8 => entry,
        1 => prop_oneof![Just(""), Just("   "), Just("no entry"), Just("{\"tool_name\":1}")]
            .prop_map(str::to_owned),
        1 => (LONGEST - 40..LONGEST + 40)
            .prop_map(|length| json!({"tool_name": "x".repeat(length)}).to_string()),
    ]
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let name = prop_oneof![Just("grep"), Just("read"), Just("Grüße"), Just(""), Just("none")];
    let names = proptest::collection::vec(name.prop_map(str::to_owned), 0..3);
    (
        proptest::option::of(names),
        proptest::option::of(any::<bool>()),
        proptest::option::of(0_i64..50_000),
        proptest::option::of(0_i64..50_000),
        proptest::option::weighted(0.3, prop_oneof![Just("XX"), Just("grep"), Just("")]),
        prop_oneof![Just(usize::MAX), 0_usize..8],
    )
        .prop_map(|(tool_names, success, since, until, text, limit)| Filter {
            tool_names,
            success,
            since,
            until,
            text: text.map(str::to_owned),
            limit,
        })
}

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<String>),
    /// A partial line, as a crash leaves it.
    Torn(String),
    Search(Filter),
    /// A search by another process.
    SearchElsewhere(Filter),
    Compact(u64),
    /// Truncates the log by this many bytes.
    Cut(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => proptest::collection::vec(any_line(), 0..30).prop_map(Step::Append),
        1 => any_line().prop_map(Step::Torn),
        6 => any_filter().prop_map(Step::Search),
        3 => any_filter().prop_map(Step::SearchElsewhere),
        1 => (0_u64..40).prop_map(Step::Compact),
        1 => (0_u64..2000).prop_map(Step::Cut),
    ]
}

async fn take(step: Step, directory: &Path, history: &Arc<History>) {
    match step {
        Step::Append(lines) => {
            add(directory, &lines.into_iter().map(|line| line + "\n").collect::<String>())
        }
        Step::Torn(line) => {
            let half = line.floor_char_boundary(line.len() / 2);
            add(directory, &line[..half]);
        }
        Step::Search(filter) => {
            assert_eq!(found(history, &filter).await, scanned(directory, &filter));
            if filter.text.as_deref() == Some("grep") {
                let best = values(&history.rank(filter.clone(), None).await.unwrap());
                assert_eq!(best, ranked(directory, &filter));
            }
        }
        Step::SearchElsewhere(filter) => {
            let other = history_in(directory);
            assert_eq!(found(&other, &filter).await, scanned(directory, &filter));
        }
        Step::Compact(keep) => {
            let policy = Policy { keep_last: Some(keep), ..Policy::default() };
            let (plan, _) = history.plan(policy, false).await.unwrap();
            history.compact(plan, None).await.unwrap();
        }
        Step::Cut(bytes) => {
            let path = directory.join("context.jsonl");
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            let length = file.metadata().unwrap().len();
            file.set_len(length.saturating_sub(bytes)).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn searches_find_the_same_with_an_index_and_without(
        steps in proptest::collection::vec(any_step(), 1..20),
        max_rows in 1_usize..12,
        first_look in prop_oneof![Just(1_u64 << 30), 0_u64..3000],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            add(folder.path(), "");
            let sizes = IndexSizes { max_rows, first_look, ..SMALL };
            let history = history_with(folder.path(), sizes, Debug::default());
            for step in steps {
                take(step, folder.path(), &history).await;
            }
            let all = Filter { since: Some(0), limit: usize::MAX, ..Filter::default() };
            assert_eq!(found(&history, &all).await, scanned(folder.path(), &all));
            // Segments of another process may describe lines that the log lost since: a process that opens
            // the index removes them.
            let opened = history_with(folder.path(), sizes, Debug::default());
            assert_eq!(found(&opened, &all).await, scanned(folder.path(), &all));
            let report = opened.verify().await.unwrap();
            // A search of an empty log does not read the index.
            let is_known = matches!(report.index, IndexState::Valid | IndexState::Missing);
            assert!(is_known || report.bytes == 0, "{report:?}");
        });
    }
}
