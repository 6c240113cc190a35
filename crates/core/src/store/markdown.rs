//! Finds sections in Markdown, as far as the position of the changelog needs it: headings, and the
//! fences of code blocks, within which there are no headings.

/// A section: its heading, and the lines up to the next heading of the same or a higher level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Section {
    /// The first byte of its heading.
    pub(super) start: usize,
    /// The byte after the heading's line.
    pub(super) lines: usize,
    /// The byte after its last line.
    pub(super) end: usize,
}

/// The last section of the second level with this title. Lines within fenced code are no headings;
/// a fence that is never closed opens no code block.
pub(super) fn last_section(text: &str, title: &str) -> Option<Section> {
    let fences = fences(text);
    let mut fences = fences.iter().peekable();
    let mut open: Option<&Fence> = None;
    let (mut section, mut is_open) = (None::<Section>, false);
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let (line, end) = (whole.trim_end_matches(['\n', '\r']), start + whole.len());
        let fence = fences.next_if(|fence| fence.start == start);
        if let Some(opening) = open {
            if fence.is_some_and(|fence| fence.closes(opening)) {
                open = None;
            }
        } else if let Some(fence) = fence {
            open = fence.is_closed.then_some(fence);
        } else if let Some(heading) = heading(line) {
            if let Some(section) = section.as_mut().filter(|_| is_open && heading.level <= 2) {
                section.end = start;
                is_open = false;
            }
            if heading.level == 2 && heading.title.eq_ignore_ascii_case(title) {
                section = Some(Section { start, lines: end, end: text.len() });
                is_open = true;
            }
        }
        start = end;
    }
    section
}

/// Whether a line could be a heading or a fence.
pub(super) fn has_structure(line: &str) -> bool {
    let line = line.trim_end_matches(['\n', '\r']);
    Fence::parse(line, 0).is_some() || heading(line).is_some_and(|heading| heading.level <= 2)
}

struct Heading<'a> {
    level: usize,
    title: &'a str,
}

/// `## Title ##`
fn heading(line: &str) -> Option<Heading<'_>> {
    let line = unindented(line)?;
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let title = rest.trim_matches([' ', '\t']);
    let without = title.trim_end_matches('#');
    let is_closed = without.is_empty() || without.ends_with([' ', '\t']);
    Some(Heading {
        level,
        title: if is_closed { without.trim_end_matches([' ', '\t']) } else { title },
    })
}

/// A line without its indentation; `None` if that is deeper than a heading's may be.
fn unindented(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

/// A line of three or more backticks or tildes.
#[derive(Debug)]
struct Fence {
    start: usize,
    marker: char,
    length: usize,
    can_close: bool,
    /// Whether a later line closes it.
    is_closed: bool,
}

impl Fence {
    fn parse(line: &str, start: usize) -> Option<Self> {
        let line = unindented(line)?;
        let fence = line.get(list_marker_length(line)..)?;
        let marker = fence.chars().next().filter(|marker| matches!(marker, '`' | '~'))?;
        let rest = fence.trim_start_matches(marker);
        let length = fence.len() - rest.len();
        if length < 3 || marker == '`' && rest.contains('`') {
            return None;
        }
        let can_close = fence.len() == line.len() && rest.trim_matches([' ', '\t']).is_empty();
        Some(Self { start, marker, length, can_close, is_closed: false })
    }

    fn closes(&self, opening: &Self) -> bool {
        self.can_close && self.marker == opening.marker && self.length >= opening.length
    }
}

/// Every line that may be a fence, with whether a later line would close it.
fn fences(text: &str) -> Vec<Fence> {
    let mut start = 0;
    let mut fences = Vec::new();
    for line in text.split_inclusive('\n') {
        fences.extend(Fence::parse(line.trim_end_matches(['\n', '\r']), start));
        start += line.len();
    }
    let (mut backticks, mut tildes) = (0, 0);
    for fence in fences.iter_mut().rev() {
        let longest = if fence.marker == '`' { &mut backticks } else { &mut tildes };
        fence.is_closed = *longest >= fence.length;
        if fence.can_close {
            *longest = fence.length.max(*longest);
        }
    }
    fences
}

/// The length of a list marker at the start of a line, with the blanks after it: a fence may follow
/// a marker on its line.
fn list_marker_length(line: &str) -> usize {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let behind = line.get(digits..).unwrap_or_default();
    let markers: &[char] = if digits == 0 { &['-', '*', '+'] } else { &['.', ')'] };
    let Some(rest) = behind.strip_prefix(markers).filter(|_| digits <= 9) else { return 0 };
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if (1..=4).contains(&blanks) { digits + 1 + blanks } else { 0 }
}
