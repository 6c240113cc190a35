//! Crashes of logs.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use simulator::{SimulatedDisk, Survival};
use storage::{
    AppendError, Durability, FileSystem, LinesForwards, Log, LogError, LogPath, LogRegistry,
    LogSnapshot, Pending, ReadAt, Rewrite, layout,
};

use crate::{
    cuts::{self, Found, SUBSETS, cut_everywhere, runtime},
    evidence::Group,
    story::{DIRECTORY, Line, NAME, Story, disk_with, text, whole_lines},
};
use Durability::{Full, Process};

pub type TestLog = Log<&'static str>;
type Appended = Result<(), AppendError<&'static str>>;

/// Random losses of each of the 16 stories of this group.
pub const EACH: usize = SUBSETS.div_ceil(16);

const PATIENCE: Duration = Duration::from_secs(20);

/// Lengths of lines, from less than a block to several blocks.
pub const LENGTHS: [usize; 5] = [20, 5000, 100, 9000, 4000];

/// A unique line of about this many bytes.
pub fn line(id: &str, length: usize) -> Line {
    let line =
        json!({"tool_name": "t", "id": id, "padding": id.repeat(length / id.len()), "end": id});
    Line(line.to_string().into_bytes())
}

pub fn log_path() -> LogPath {
    LogPath { directory: DIRECTORY.into(), prefix: format!("{DIRECTORY}/"), name: NAME.to_owned() }
}

/// The log, as another process would have it.
pub fn log_on(disk: &SimulatedDisk) -> Arc<TestLog> {
    let file_system: Arc<dyn FileSystem> = Arc::new(disk.clone());
    LogRegistry::new().log(&file_system, &log_path())
}

/// Queues a line.
pub fn queue(
    log: &Arc<TestLog>,
    line: Line,
    durability: Durability,
) -> Pending<&'static str, Appended> {
    log.append(Box::new(move || Ok(line.0)), durability, PATIENCE)
}

pub async fn append(log: &Arc<TestLog>, line: Line, durability: Durability) -> Appended {
    queue(log, line, durability).outcome().await.unwrap()
}

/// Rewrites the log: replaces its first `dropped` lines with `head`.
pub async fn rewrite(log: &Arc<TestLog>, dropped: usize, head: Line) -> Result<u64, LogError> {
    let reader = log.reader().await?.ok_or(LogError::Replaced)?;
    let mut lines = LinesForwards::new(&reader, 0, usize::MAX);
    let mut start = 0;
    for _ in 0..dropped {
        let Some(line) = lines.next_line()? else { break };
        start = line.end();
    }
    let snapshot = LogSnapshot::of(&reader, reader.identity(), reader.length()?)?;
    let kept = std::iter::once(start..snapshot.length).collect();
    let head = [head.0.as_slice(), b"\n"].concat();
    log.rewrite(Rewrite { snapshot, head, kept }, PATIENCE).outcome().await.unwrap()
}

/// The complete lines that the log's readers find.
async fn read(log: &TestLog) -> Vec<Line> {
    let Some(reader) = log.reader().await.unwrap() else { return Vec::new() };
    let mut lines = LinesForwards::new(&reader, 0, usize::MAX);
    let mut text = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        text.extend(line.bytes.unwrap());
        text.push(b'\n');
    }
    whole_lines(&text)
}

/// The number of temporary files for rewriting the log.
pub fn replacements(disk: &SimulatedDisk) -> usize {
    let names = cuts::names(disk, DIRECTORY);
    names.iter().filter(|name| layout::is_replacement(name, NAME)).count()
}

/// Checks that the log stays usable after a crash: with an append, a power failure and a rewrite.
async fn goes_on(story: &Story, found: &Found) {
    let before = story.check(found);
    assert_eq!(read(&log_on(&found.disk)).await, before);
    let after = line("after", 50);
    append(&log_on(&found.disk), after.clone(), Full).await.unwrap();
    let expected = [before.as_slice(), std::slice::from_ref(&after)].concat();
    let disk = found.disk.crash(usize::MAX, Survival::Nothing);
    assert_eq!(whole_lines(&text(&disk)), expected, "an append to what a crash left");
    assert_eq!(replacements(&disk), 0, "the next write removes what is left");
    let log = log_on(&disk);
    rewrite(&log, usize::MAX, line("head", 10)).await.unwrap();
    append(&log, after.clone(), Full).await.unwrap();
    let disk = disk.crash(usize::MAX, Survival::Nothing);
    assert_eq!(whole_lines(&text(&disk)), [line("head", 10), after], "a rewrite of what is left");
}

fn cut_log(name: &'static str, story: &Story) {
    cut_everywhere(Group::Kernel, name, &story.disk, DIRECTORY, EACH, async |found| {
        goes_on(story, found).await;
    });
}

fn appended(name: &'static str, disk: SimulatedDisk, durability: Durability) {
    let mut story = Story::new(disk);
    runtime().block_on(async {
        let log = log_on(&story.disk);
        for (number, length) in LENGTHS.into_iter().enumerate() {
            append(&log, line(&number.to_string(), length), durability).await.unwrap();
            story.appended(1, durability);
        }
    });
    cut_log(name, &story);
}

#[test]
fn appended_at_process() {
    appended("a log, process", SimulatedDisk::new(), Process);
}

#[test]
fn appended_at_full() {
    appended("a log, full", SimulatedDisk::new(), Full);
}

/// A log whose last line is incomplete after a crash.
pub fn torn() -> SimulatedDisk {
    let torn = line("torn", 30);
    disk_with(&[&line("old", 4090).0, b"\n".as_slice(), &torn.0[..torn.0.len() - 9]].concat())
}

#[test]
fn appended_to_a_torn_line() {
    appended("a log with a torn tail, process", torn(), Process);
    appended("a log with a torn tail, full", torn(), Full);
}

#[test]
fn appended_in_one_turn() {
    let mut story = Story::new(SimulatedDisk::new());
    runtime().block_on(async {
        let log = log_on(&story.disk);
        for (turn, durability) in [Process, Full, Process, Full].into_iter().enumerate() {
            let pending: Vec<_> = LENGTHS
                .into_iter()
                .enumerate()
                .map(|(number, length)| {
                    let durability = if number % 2 == 0 { durability } else { Process };
                    queue(&log, line(&format!("{turn}-{number}"), length), durability)
                })
                .collect();
            for pending in pending {
                pending.outcome().await.unwrap().unwrap();
            }
            story.appended(LENGTHS.len(), durability);
        }
    });
    cut_log("a log, many records in one turn", &story);
}

#[test]
fn appended_by_two_processes() {
    let mut story = Story::new(SimulatedDisk::new());
    runtime().block_on(async {
        let logs = [(); 2].map(|()| log_on(&story.disk));
        for (number, length) in LENGTHS.into_iter().chain(LENGTHS).enumerate() {
            let durability = if number % 3 == 0 { Process } else { Full };
            let line = line(&number.to_string(), length);
            append(&logs[number % 2], line, durability).await.unwrap();
            story.appended(1, durability);
        }
        for number in 0..3 {
            // Concurrently: each writes while the other waits for synchronisation.
            let lines = ["a", "b"].map(|writer| line(&format!("{writer}{number}"), 3000));
            let [one, two] = lines;
            let (one, two) = tokio::join!(append(&logs[0], one, Full), append(&logs[1], two, Full));
            one.unwrap();
            two.unwrap();
            story.appended(2, Full);
        }
    });
    cut_log("a log, two processes", &story);
}

fn rewritten(name: &'static str, disk: SimulatedDisk, durability: Durability) {
    let mut story = Story::new(disk);
    runtime().block_on(async {
        let [log, other] = [(); 2].map(|()| log_on(&story.disk));
        for (number, length) in LENGTHS.into_iter().enumerate() {
            append(&log, line(&number.to_string(), length), durability).await.unwrap();
            story.appended(1, durability);
        }
        append(&other, line("other", 10), Process).await.unwrap();
        story.appended(1, Process);
        rewrite(&log, 2, line("head", 5000)).await.unwrap();
        story.rewritten();
        // The other process still has the old file open.
        append(&other, line("later", 10), durability).await.unwrap();
        story.appended(1, durability);
        append(&log, line("last", 4000), durability).await.unwrap();
        story.appended(1, durability);
        rewrite(&other, 4, line("short", 10)).await.unwrap();
        story.rewritten();
        append(&log, line("end", 10), durability).await.unwrap();
        story.appended(1, durability);
    });
    cut_log(name, &story);
}

#[test]
fn rewritten_at_process() {
    rewritten("a log rewritten, process", SimulatedDisk::new(), Process);
}

#[test]
fn rewritten_at_full() {
    rewritten("a log rewritten, full", SimulatedDisk::new(), Full);
    rewritten("a torn log rewritten, full", torn(), Full);
}
