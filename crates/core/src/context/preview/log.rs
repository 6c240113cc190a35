//! The preview of logs and of the output of builds, tests and crashes: lines that name failures with the lines around
//! them, totals, and in repetitive texts the lines that do not repeat.

use std::{cmp::Reverse, ops::Range};

use rustc_hash::FxHashMap;

use super::{
    Preview, excerpt,
    failures::{self, NAMING, REPORTING, Weight},
    lines::{self, content},
    pieces::Pieces,
    repetition::{Form, Forms},
};

/// Up to this size, every line is examined; of longer texts only lines with a word that failures have.
const MAX_EXAMINED: usize = 4 << 20;
const MAX_EXAMINED_LINES: usize = 1 << 16;
/// The least lines of a text that can count as repetitive.
const LEAST_LINES: usize = 24;
/// The most weight that a line loses because earlier lines have the same form.
const MOST_LOST: Weight = 4;
/// The first and the last candidates that are kept of each rank.
const FIRST_KEPT: usize = 96;
const LAST_KEPT: usize = 32;
/// The bytes that are shown of a long line: of one that names a failure, and of the line after it.
const MAX_LINE: usize = 320;
const MAX_NEXT_LINE: usize = 200;
/// The most blank lines between a failure and the lines that belong to it.
const MAX_BLANK: usize = 2;
/// The lines around a failure that are shown if there is space.
const AROUND: usize = 6;

/// A line that may be shown.
#[derive(Debug, Clone)]
struct Candidate {
    line: Range<usize>,
    weight: Weight,
    /// Its weight, reduced if earlier lines have the same form.
    rank: Weight,
}

/// The preview of a text that reports a failure, or most of whose lines repeat each other; `None` for other texts.
pub(super) fn preview(text: &str, max_bytes: usize) -> Option<Preview> {
    let examined = Examined::of(text);
    let mut candidates = examined.candidates;
    let reports = candidates.iter().any(|one| one.weight >= REPORTING);
    if !reports && !examined.is_repetitive {
        return None;
    }
    if !examined.is_repetitive {
        candidates.retain(|one| one.weight >= REPORTING);
    }
    if candidates.is_empty() {
        return None;
    }
    let mut pieces = Pieces::new(text, max_bytes);
    let head = excerpt::head(text, max_bytes / 10);
    let last = excerpt::tail(text, max_bytes / 7);
    if is_line_end(text, head) {
        pieces.add(0..head);
    }
    if is_line_end(text, last) {
        pieces.add(last..text.len());
    }
    let shown = in_order(candidates);
    let mut failures = Vec::new();
    for candidate in &shown {
        let line = shortened(text, &candidate.line, MAX_LINE);
        let is_added = match line_after(text, &candidate.line) {
            Some(next) if candidate.weight >= REPORTING => {
                let next = shortened(text, &next, MAX_NEXT_LINE);
                let is_near = line.end == candidate.line.end;
                (is_near && pieces.add(line.start..next.end)) || pieces.add(line.clone())
            }
            _ => pieces.add(line.clone()),
        };
        if is_added && candidate.weight >= REPORTING {
            failures.push(candidate.line.clone());
        }
    }
    for distance in 1..=AROUND {
        for failure in &failures {
            widen(text, failure, distance, &examined.forms, &mut pieces);
        }
    }
    fill(text, &mut pieces);
    // Only a beginning and an end, which the generic preview shows as well.
    if !reports && pieces.count() <= 2 {
        return None;
    }
    Some(Preview { outline: String::new(), pieces: pieces.into_ranges() })
}

/// The result of examining a text.
struct Examined {
    candidates: Vec<Candidate>,
    forms: Forms,
    /// Whether most lines repeat each other.
    is_repetitive: bool,
}

impl Examined {
    fn of(text: &str) -> Self {
        let is_short = text.len() <= MAX_EXAMINED
            && memchr::memchr_iter(b'\n', text.as_bytes()).nth(MAX_EXAMINED_LINES).is_none();
        if is_short { Self::line_by_line(text) } else { Self::by_words(text) }
    }

    fn line_by_line(text: &str) -> Self {
        let mut forms = Forms::default();
        let all: Vec<(Range<usize>, Option<Form>)> = lines::ranges(text)
            .map(|line| {
                let form = Form::of(&failures::plain(content(text, &line)));
                (line, form)
            })
            .collect();
        for form in all.iter().filter_map(|(_, form)| *form) {
            forms.add(form);
        }
        let filled = all.iter().filter(|(_, form)| form.is_some()).count();
        let repeated =
            all.iter().filter(|(_, form)| form.is_some_and(|form| forms.is_repeated(form))).count();
        let is_repetitive = filled >= LEAST_LINES && 2 * repeated > filled;
        let mut kept = Kept::default();
        let mut before = None;
        for (line, form) in all {
            let Some(form) = form else { continue };
            let weight = failures::weight(content(text, &line));
            let is_repeated = forms.is_repeated(form);
            // In a repetitive text, notable lines are those of rare forms, and those that follow a line of another
            // form.
            let is_notable = is_repetitive && (!is_repeated || before != Some(form.whole));
            before = Some(form.whole);
            let least = Weight::from(is_repetitive && !is_repeated);
            let weight =
                if is_repetitive && is_repeated { weight.saturating_sub(1) } else { weight };
            if weight > 0 || is_notable {
                kept.add(line, weight.max(least), form.whole);
            }
        }
        Self { candidates: kept.into_candidates(), forms, is_repetitive }
    }

    fn by_words(text: &str) -> Self {
        let mut kept = Kept::default();
        let mut from = 0;
        while let Some(at) = failures::next_hint(text, from) {
            let line = lines::around(text, at);
            from = line.end;
            let said = content(text, &line);
            let weight = failures::weight(said);
            if let Some(form) = Form::of(said).filter(|_| weight >= REPORTING) {
                kept.add(line, weight, form.whole);
            }
            if from >= text.len() {
                break;
            }
        }
        Self { candidates: kept.into_candidates(), forms: Forms::default(), is_repetitive: false }
    }
}

/// The candidate lines, bounded for each rank.
#[derive(Default)]
struct Kept {
    first: FxHashMap<Weight, Vec<Candidate>>,
    last: FxHashMap<Weight, std::collections::VecDeque<Candidate>>,
    /// The number of lines of each form, up to [`MOST_LOST`].
    forms: FxHashMap<u64, Weight>,
}

impl Kept {
    fn add(&mut self, line: Range<usize>, weight: Weight, form: u64) {
        let repeats = self.forms.entry(form).or_default();
        let rank = weight.saturating_sub(*repeats);
        *repeats = (*repeats + 1).min(MOST_LOST);
        let candidate = Candidate { line, weight, rank };
        let first = self.first.entry(rank).or_default();
        if first.len() < FIRST_KEPT {
            first.push(candidate);
            return;
        }
        let last = self.last.entry(rank).or_default();
        last.push_back(candidate);
        if last.len() > LAST_KEPT {
            last.pop_front();
        }
    }

    fn into_candidates(self) -> Vec<Candidate> {
        let Self { first, last, .. } = self;
        first.into_values().flatten().chain(last.into_values().flatten()).collect()
    }
}

/// Sorts the most informative first: by weight, then new forms first, then by position. The last line of the greatest
/// weight comes second, because programs often end with the error that stopped them.
fn in_order(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_key(|one| (Reverse(one.rank), one.line.start));
    let heaviest = candidates.iter().map(|one| one.weight).max().unwrap_or_default();
    let last = candidates
        .iter()
        .enumerate()
        .filter(|(_, one)| one.weight >= heaviest.min(NAMING))
        .max_by_key(|(_, one)| one.line.start)
        .map(|(at, _)| at);
    if let Some(at) = last.filter(|&at| at > 1) {
        let last = candidates.remove(at);
        candidates.insert(1, last);
    }
    candidates
}

/// A line, or the beginning of a long one.
fn shortened(text: &str, line: &Range<usize>, max_bytes: usize) -> Range<usize> {
    if line.len() <= max_bytes {
        return line.clone();
    }
    line.start..text.floor_char_boundary(line.start + max_bytes)
}

/// The next line that is not blank.
fn line_after(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    let mut end = line.end;
    for _ in 0..=MAX_BLANK {
        if end >= text.len() {
            return None;
        }
        let next = lines::around(text, end);
        if !content(text, &next).trim().is_empty() {
            return Some(next);
        }
        end = next.end;
    }
    None
}

/// Shows the line at a distance after a failure, then the one at that distance before it, unless their form repeats.
fn widen(
    text: &str,
    failure: &Range<usize>,
    distance: usize,
    forms: &Forms,
    pieces: &mut Pieces<'_>,
) {
    let mut after = failure.clone();
    let mut before = failure.clone();
    for _ in 0..distance {
        after = match after.end < text.len() {
            true => lines::around(text, after.end),
            false => after,
        };
        before = match before.start > 0 {
            true => lines::around(text, before.start - 1),
            false => before,
        };
    }
    let is_part = |line: &Range<usize>| {
        let form = Form::of(&failures::plain(content(text, line)));
        line.len() <= MAX_LINE && form.is_none_or(|form| !forms.is_repeated(form))
    };
    if is_part(&after) && pieces.holds(&lines::around(text, after.start.saturating_sub(1))) {
        pieces.add(after);
    }
    if is_part(&before) && pieces.holds(&lines::around(text, before.end.min(text.len() - 1))) {
        pieces.add(before);
    }
}

/// Uses the remaining space for the end of the text, then for its beginning.
fn fill(text: &str, pieces: &mut Pieces<'_>) {
    let shown = pieces.shown_at_end();
    let tail = excerpt::tail(text, shown + pieces.room() / 2);
    if is_line_end(text, tail) {
        pieces.add(tail..text.len());
    }
    let shown = pieces.shown_at_beginning();
    let head = excerpt::head(text, shown + pieces.room());
    if is_line_end(text, head) {
        pieces.add(0..head);
    }
}

/// Whether the position is between two lines.
fn is_line_end(text: &str, at: usize) -> bool {
    text.get(..at).is_some_and(|before| before.is_empty() || before.ends_with('\n'))
}
