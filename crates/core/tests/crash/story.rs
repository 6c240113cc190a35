//! Records the operations on a log, and checks which lines it may have after a crash.

use std::{collections::HashSet, fmt, path::Path};

use serde_json::Value;
use simulator::SimulatedDisk;
use storage::{Disk, Durability};

use crate::cuts::Found;

/// The directory of every log.
pub const DIRECTORY: &str = "/store/logs";
/// The file name of every log.
pub const NAME: &str = "x.jsonl";

/// A line without its newline character.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Line(pub Vec<u8>);

impl fmt::Debug for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start: String = String::from_utf8_lossy(&self.0).chars().take(40).collect();
        write!(formatter, "{start} ({} bytes)", self.0.len())
    }
}

/// A disk with these lines in the log, all durable.
pub fn disk_with(text: &[u8]) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.create_directories(Path::new(DIRECTORY)).unwrap();
    disk.write_new(&Path::new(DIRECTORY).join(NAME), text, false).unwrap();
    disk.kill(usize::MAX)
}

/// A log's text; empty if the file does not exist.
pub fn text(disk: &SimulatedDisk) -> Vec<u8> {
    match disk.read(Path::new(DIRECTORY), Path::new(NAME), u64::MAX) {
        Ok(contents) => contents.bytes,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

/// The valid lines of a text.
pub fn whole_lines(text: &[u8]) -> Vec<Line> {
    let is_whole = |line: &&[u8]| matches!(serde_json::from_slice(line), Ok(Value::Object(_)));
    text.split(|&byte| byte == b'\n').filter(is_whole).map(|line| Line(line.to_vec())).collect()
}

/// A step of a story.
#[derive(Debug, Clone)]
enum Step {
    /// Lines were added.
    Append(Vec<Line>, Durability),
    /// The log was rewritten to this text.
    Rewrite(Vec<Line>),
}

/// A possible state after a crash: lines that must be present, and lines that may follow, in order.
#[derive(Debug, Clone, Default)]
struct Possible {
    sure: Vec<Line>,
    maybe: Vec<Line>,
}

/// The recorded operations on a log. Its first lines are durable.
pub struct Story {
    /// The disk that records the operations.
    pub disk: SimulatedDisk,
    first: Vec<Line>,
    written: HashSet<Line>,
    last: Vec<Line>,
    /// Every step, with the number of operations when it was acknowledged.
    steps: Vec<(usize, Step)>,
}

impl Story {
    /// Begins with the lines on the disk.
    pub fn new(disk: SimulatedDisk) -> Self {
        let first = whole_lines(&text(&disk));
        let written = first.iter().cloned().collect();
        Self { disk, last: first.clone(), first, written, steps: Vec::new() }
    }

    /// Records that this many lines were appended and acknowledged.
    pub fn appended(&mut self, count: usize, durability: Durability) {
        let lines = self.look();
        let added = lines.strip_prefix(self.last.as_slice()).unwrap().to_vec();
        assert_eq!(added.len(), count, "lines are missing");
        self.note(lines, Step::Append(added, durability));
    }

    /// Records that the log was rewritten and acknowledged.
    pub fn rewritten(&mut self) {
        let lines = self.look();
        self.note(lines.clone(), Step::Rewrite(lines));
    }

    fn note(&mut self, lines: Vec<Line>, step: Step) {
        self.written.extend(lines.iter().cloned());
        self.last = lines;
        self.steps.push((self.disk.operations(), step));
    }

    fn look(&self) -> Vec<Line> {
        let text = text(&self.disk);
        assert!(text.is_empty() || text.ends_with(b"\n"), "an acknowledged line has its end");
        whole_lines(&text)
    }

    /// The lines after the last step.
    pub fn lines(&self) -> &[Line] {
        &self.last
    }

    /// Checks the log after a crash and returns its lines.
    pub fn check(&self, found: &Found) -> Vec<Line> {
        let lines = whole_lines(&text(&found.disk));
        for line in &lines {
            assert!(self.written.contains(line), "nobody wrote {line:?}");
        }
        let possible = self.possible(found.at, found.is_killed());
        assert!(
            possible.iter().any(|possible| possible.allows(&lines)),
            "found {lines:#?} where there may be {possible:#?}"
        );
        lines
    }

    /// The possible states of the log after this many operations.
    fn possible(&self, at: usize, is_killed: bool) -> Vec<Possible> {
        let mut possible = vec![Possible { sure: self.first.clone(), maybe: Vec::new() }];
        // Before the first acknowledgement at `full`, a new directory may be lost with its
        // contents.
        let mut is_entered = !self.first.is_empty();
        let done = self.steps.iter().take_while(|(place, _)| *place <= at).count();
        for (_, step) in &self.steps[..done] {
            let mut last = possible.pop().unwrap();
            match step {
                Step::Append(lines, durability) => {
                    last.maybe.extend_from_slice(lines);
                    is_entered |= *durability == Durability::Full;
                    if is_killed || *durability == Durability::Full {
                        last.sure.append(&mut last.maybe);
                        possible.clear();
                    }
                }
                Step::Rewrite(lines) => {
                    last = Possible { sure: lines.clone(), maybe: Vec::new() };
                    possible.clear();
                    if !is_killed && !is_entered {
                        possible.push(Possible::default());
                    }
                }
            }
            possible.push(last);
        }
        match self.steps.get(done) {
            Some((_, Step::Append(lines, _))) => {
                possible.last_mut().unwrap().maybe.extend_from_slice(lines);
            }
            Some((_, Step::Rewrite(lines))) => {
                possible.push(Possible { sure: lines.clone(), maybe: Vec::new() });
            }
            None => {}
        }
        possible
    }
}

impl Possible {
    fn allows(&self, lines: &[Line]) -> bool {
        let Some(rest) = lines.strip_prefix(self.sure.as_slice()) else { return false };
        let mut maybe = self.maybe.iter();
        rest.iter().all(|line| maybe.any(|possible| possible == line))
    }
}
