//! Finds the secrets of a text: one search for the anchors of all rules, then an examination around each anchor. Called
//! by `redaction` for each text, string of JSON and view.

use std::{
    cell::{Cell, RefCell},
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{
    anchors::AnchorSet,
    assignment::{self, Value},
    basic,
    command_line::Flags,
    dotted_token,
    hit::Hit,
    pattern_match, replacement,
    rules::{Detector, Method, NAMES, RULES},
    skipped::Skipped,
    vendor,
    work::{self, Work},
};

/// Index of the rule for text that would exceed the work budget. It follows the index of the rule for values of the
/// environment.
pub(super) const UNSCANNED: usize = RULES.len() + 1;
/// Work steps for finding an anchor.
const ANCHOR_STEPS: usize = 12;
/// Minimum work steps for examining a name. The second value applies to a name with the label of a redacted secret
/// close behind it, so that a redacted text needs no more steps per byte than the original.
const NAME_STEPS: usize = 115;
const LABELLED_NAME_STEPS: usize = 90;
/// Maximum distance of such a label in bytes; markup may be between.
const NEAR: usize = 32;
/// Minimum work steps for examining credentials: most text after the scheme can be decoded.
const BASIC_STEPS: usize = 250;
/// Maximum length of the label of a redacted secret.
const MAX_LABEL: usize = 128;

/// What is examined at an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seek {
    /// A rule with an expression, by index, and the exact spelling of the anchor where case matters.
    Pattern(usize, Option<&'static str>),
    /// The scheme `Basic`.
    Basic(usize),
    /// The name of a service.
    Vendor(usize),
    /// A name that may be followed by a secret.
    Name,
    /// Nothing: an anchor as JSON spells it, which is searched for in undecoded strings only.
    Escaped,
}

/// The anchors of all rules, compiled for the search.
pub(super) struct Anchors {
    set: AnchorSet,
    /// What is examined, by the index of the anchor.
    seeks: Vec<Vec<Seek>>,
    /// Index of the rule for assignments.
    assignment: usize,
    /// Index of the rule for Discord tokens, which have no anchor.
    dotted_token: usize,
}

impl std::fmt::Debug for Anchors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Anchors").field("anchors", &self.seeks.len()).finish()
    }
}

impl Anchors {
    /// The anchors of the built-in rules, built once.
    pub fn standard() -> Arc<Self> {
        static STANDARD: OnceLock<Arc<Anchors>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(|| Arc::new(Self::new(&[]))))
    }

    /// The anchors of the built-in rules and of additional names, whose words are separated by spaces.
    pub fn new(further: &[String]) -> Self {
        let mut anchors: Vec<(String, Vec<Seek>)> = Vec::new();
        let mut numbers = rustc_hash::FxHashMap::default();
        let mut add = |anchor: &str, seek: Seek| {
            let anchor = anchor.to_ascii_lowercase();
            let number = *numbers.entry(anchor.clone()).or_insert_with(|| {
                anchors.push((anchor, Vec::new()));
                anchors.len() - 1
            });
            if let Some((_, seeks)) = anchors.get_mut(number)
                && !seeks.contains(&seek)
            {
                seeks.push(seek);
            }
        };
        let (mut assignment, mut dotted_token) = (RULES.len(), RULES.len());
        for (number, rule) in RULES.iter().enumerate() {
            let seek: fn(usize, Option<&'static str>) -> Seek = match rule.method {
                Method::Pattern(_) => Seek::Pattern,
                Method::Detector(Detector::PrivateKey) => continue,
                Method::Detector(Detector::Basic) => |number, _| Seek::Basic(number),
                Method::Detector(Detector::Vendor) => |number, _| Seek::Vendor(number),
                Method::Detector(Detector::DottedToken) => {
                    dotted_token = number;
                    continue;
                }
                Method::Detector(Detector::Assignment) => {
                    assignment = number;
                    |_, _| Seek::Name
                }
            };
            let ignores_case =
                matches!(&rule.method, Method::Pattern(rule) if rule.pattern.contains("(?i"));
            let is_vendor = matches!(rule.method, Method::Detector(Detector::Vendor));
            let vendors = if is_vendor { NAMES.vendors } else { &[] };
            for &anchor in rule.anchors.iter().chain(vendors) {
                add(anchor, seek(number, (!ignores_case).then_some(anchor)));
            }
        }
        let phrases = NAMES.passwords.iter().chain(NAMES.secrets).chain(NAMES.machine);
        let phrases = phrases.chain(NAMES.weak).copied();
        let phrases: Vec<&str> = phrases.chain(further.iter().map(String::as_str)).collect();
        let words: Vec<&str> = phrases.iter().copied().filter(|name| !name.contains(' ')).collect();
        for phrase in phrases {
            // A name is examined as a whole, so a phrase that contains another anchor needs no anchor of its own.
            let is_met = phrase.contains(' ') && words.iter().any(|word| phrase.contains(word));
            if is_met {
                continue;
            }
            for separator in ["", "_", "-", " ", "."] {
                add(&phrase.replace(' ', separator), Seek::Name);
            }
        }
        for rule in RULES {
            for anchor in rule.anchors {
                let escaped = anchor.escape_default().to_string();
                if escaped != *anchor {
                    add(&escaped, Seek::Escaped);
                }
            }
        }
        let (texts, seeks): (Vec<_>, Vec<_>) = anchors.into_iter().unzip();
        Self { set: AnchorSet::new(texts), seeks, assignment, dotted_token }
    }

    /// Whether a name contains the anchor of a secret's name. Most do not and need not be classified.
    pub fn hold_name(&self, name: &str) -> bool {
        let mut holds = false;
        self.set.visit(name.as_bytes(), 0..name.len(), |_, anchor| {
            holds = self.seeks.get(anchor).is_some_and(|seeks| seeks.contains(&Seek::Name));
            !holds
        });
        holds
    }

    /// Visits the positions that the search for anchors would examine in a text, or in the text of an undecoded JSON string, in no particular
    /// order, with the anchor there. The anchors are in the order in which a search visits them.
    pub fn signs(&self, text: &[u8], visit: &mut impl FnMut(usize, Option<Found>)) {
        dotted_token::pairs(text, 0..text.len()).for_each(|at| visit(at, None));
        self.set.visit(text, 0..text.len(), |found, anchor| {
            visit(found.start, Some((found, anchor)));
            true
        });
    }

    /// Starts a search for the secrets of a text. `further` are the caller's own names; the rules in `disabled` are skipped.
    pub fn search<'a>(
        &'a self,
        text: &'a str,
        (further, disabled): (&'a [String], &'a [bool]),
    ) -> Search<'a> {
        let values = assignment::Values::default();
        Search { anchors: self, text, further, disabled, values, has_labels: None, part: 0 }
    }
}

/// An anchor in a text: its range and its number.
pub(super) type Found = (Range<usize>, usize);

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The secrets, in no particular order.
    pub hits: Vec<Hit>,
    /// The positions of names without a value.
    pub unpaired: Vec<usize>,
    /// The anchors that were examined and may have a secret in a view of the text.
    pub anchors: Vec<Found>,
}

/// The search for the secrets of one text, part by part.
pub(super) struct Search<'a> {
    anchors: &'a Anchors,
    text: &'a str,
    further: &'a [String],
    disabled: &'a [bool],
    values: assignment::Values,
    /// Whether the text contains the label of a redacted secret. `None` before the first name.
    has_labels: Option<bool>,
    /// The number of the part that is searched, by which [`ENDS`] knows it.
    part: u64,
}

thread_local! {
    /// The number of parts that this thread has searched.
    static PARTS: Cell<u64> = const { Cell::new(0) };
    /// For each rule with an expression, the part in which it was used last, and the end of the text that it has examined there. The
    /// table is longer than most strings of JSON, so that all searches of a thread share one.
    static ENDS: RefCell<Vec<(u64, usize)>> = const { RefCell::new(Vec::new()) };
}

/// The state of the search in one part of the text. Text that a rule has examined is not examined again for the rule's next anchor in it.
#[derive(Default)]
struct PartState {
    start: usize,
    name_end: usize,
    /// The end of the last name, if it has no value in any view of the text.
    settled_end: usize,
    tables: assignment::Tables,
    flags: Flags,
    skipped: Skipped,
}

impl Search<'_> {
    /// Finds the secrets whose anchors are in the given part of the text.
    pub fn find(&mut self, part: Range<usize>, work: &mut Work, findings: &mut Findings) {
        let mut state = self.begin(&part, findings);
        let (set, text) = (&self.anchors.set, self.text.as_bytes());
        set.visit_from(text, part.clone(), |found, anchor| {
            Some(self.examine(&mut state, found, anchor, work, findings))
        });
        work.finish(&part);
    }

    /// As [`Search::find`], where the anchors in the part are known. They are in the order in which a search visits them.
    pub fn find_at(
        &mut self,
        part: Range<usize>,
        anchors: impl Iterator<Item = Found>,
        work: &mut Work,
        findings: &mut Findings,
    ) {
        let mut state = self.begin(&part, findings);
        for (found, anchor) in anchors {
            self.examine(&mut state, found, anchor, work, findings);
        }
        work.finish(&part);
    }

    fn begin(&mut self, part: &Range<usize>, findings: &mut Findings) -> PartState {
        self.part = PARTS.get() + 1;
        PARTS.set(self.part);
        let rule = self.anchors.dotted_token;
        if rule < RULES.len() && !self.is_disabled(rule) {
            let hits = &mut findings.hits;
            dotted_token::find(self.text, part.clone(), |range| hits.push(Hit { range, rule }));
        }
        PartState { start: part.start, ..PartState::default() }
    }

    fn is_disabled(&self, rule: usize) -> bool {
        self.disabled.get(rule).copied().unwrap_or_default()
    }

    /// Examines the text around an anchor. Returns a position; anchors that begin before it may be skipped.
    fn examine(
        &mut self,
        state: &mut PartState,
        found: Range<usize>,
        anchor: usize,
        work: &Work,
        findings: &mut Findings,
    ) -> usize {
        let seeks = self.anchors.seeks.get(anchor).map_or(&[][..], Vec::as_slice);
        if seeks == [Seek::Escaped] {
            return 0;
        }
        if state.skipped.contains(found.start) {
            return state.skipped.examined_from();
        }
        work::add(ANCHOR_STEPS);
        let excess = work.excess(found.start - state.start);
        if excess > 0 {
            let range = state.skipped.extend(self.text, &found, excess);
            findings.hits.push(Hit { range, rule: UNSCANNED });
            return state.skipped.examined_from();
        }
        for &seek in seeks {
            match seek {
                Seek::Name if found.end > state.name_end => {
                    self.examine_name(state, &found, findings)
                }
                Seek::Basic(rule) if !self.is_disabled(rule) => {
                    let credentials = basic::find(self.text, found.end);
                    work::add(BASIC_STEPS);
                    findings.hits.extend(credentials.map(|range| Hit { range, rule }));
                }
                Seek::Vendor(rule) if !self.is_disabled(rule) => {
                    let key = vendor::find(self.text, found.start, found.end);
                    work::add(NAME_STEPS);
                    let key = key.filter(|_| !is_label(self.text, found.start));
                    findings.hits.extend(key.map(|range| Hit { range, rule }));
                }
                Seek::Pattern(rule, spelt) if !self.is_disabled(rule) => {
                    if spelt.is_none_or(|spelt| self.text.get(found.clone()) == Some(spelt)) {
                        let secret = self.matched(state, &found, rule);
                        findings.hits.extend(secret.map(|range| Hit { range, rule }));
                    }
                }
                Seek::Name
                | Seek::Basic(_)
                | Seek::Vendor(_)
                | Seek::Pattern(..)
                | Seek::Escaped => {}
            }
        }
        let is_settled = seeks == [Seek::Name] && found.end <= state.settled_end;
        if !is_settled {
            findings.anchors.push((found, anchor));
        }
        0
    }

    fn examine_name(
        &mut self,
        state: &mut PartState,
        found: &Range<usize>,
        findings: &mut Findings,
    ) {
        let rule = self.anchors.assignment;
        if self.is_disabled(rule) {
            return;
        }
        let (name, value) = self.values.find(self.text, found.end - 1, self.further);
        let has_labels = self.has_labels();
        let near = name.end..self.text.len().min(name.end + NEAR);
        let is_labelled =
            has_labels && self.text.as_bytes().get(near).is_some_and(replacement::holds_label);
        work::add(if is_labelled { LABELLED_NAME_STEPS } else { NAME_STEPS });
        // Names within a value are skipped.
        let end = if let Value::Secret(value) = &value { value.end } else { 0 };
        state.name_end = name.end.max(end);
        state.settled_end = 0;
        if has_labels && is_label(self.text, found.start) {
            return;
        }
        let hits = &mut findings.hits;
        let hit = |range| hits.push(Hit { range, rule });
        let is_cell = state.tables.find(self.text, &name, self.further, hit);
        match value {
            Value::Secret(range) => hits.push(Hit { range, rule }),
            Value::None if !is_cell => state.settled_end = name.end,
            Value::None | Value::NotHere => findings.unpaired.push(name.start),
        }
    }

    /// The secret of a rule with an expression or a command that contains an anchor.
    fn matched(
        &mut self,
        state: &mut PartState,
        found: &Range<usize>,
        rule: usize,
    ) -> Option<Range<usize>> {
        let mut end = ENDS.with_borrow(|ends| match ends.get(rule) {
            Some(&(part, end)) if part == self.part => end,
            _ => 0,
        });
        if found.end <= end {
            return None;
        }
        let hit = pattern_match::matched(self.text, found.clone(), rule, &mut end);
        let hit =
            hit.or_else(|| pattern_match::of_command(self.text, found, rule, &mut state.flags));
        if let Some((whole, _)) = &hit {
            end = whole.end;
        }
        if end > 0 {
            ENDS.with_borrow_mut(|ends| {
                if ends.is_empty() {
                    ends.resize(RULES.len(), (0, 0));
                }
                ends.get_mut(rule).into_iter().for_each(|known| *known = (self.part, end));
            });
        }
        hit.map(|(_, secret)| secret)
    }

    fn has_labels(&mut self) -> bool {
        let text = self.text.as_bytes();
        *self.has_labels.get_or_insert_with(|| replacement::holds_label(text))
    }
}

/// Whether a name is part of the label of a redacted secret, which contains the name of the rule.
fn is_label(text: &str, position: usize) -> bool {
    let from = position.saturating_sub(MAX_LABEL);
    let before = text.as_bytes().get(from..position).unwrap_or_default();
    replacement::last_label(before)
        .is_some_and(|start| !before.get(start..).unwrap_or_default().contains(&b']'))
}
