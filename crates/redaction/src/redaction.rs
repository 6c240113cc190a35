//! Removes the secrets of texts and JSON. Where a replacement may uncover another secret, the text around it (JSON: the
//! complete text) is searched again, up to a maximum number of passes.

use std::{ops::Range, sync::Arc};

use super::{
    environment::EnvironmentValues,
    error::{Error, ErrorKind, Result},
    hit::{Hit, merged},
    json_walker::{self, Edit, NotRedacted},
    names::NameClass,
    parts::{Parts, anchors_in},
    private_key,
    redactor::Redactor,
    replacement,
    report::Report,
    rules::RULES,
    scanner::{self, Findings, Found},
    searches::Searches,
    view::{self, View},
    work::Work,
};

/// Maximum number of searches. Removing a secret can uncover another one, but this ends soon.
const MAX_PASSES: usize = 8;

/// Distance in bytes from a removed secret within which anchors are searched again.
const NEAR: usize = 512;

/// A redactor with the values of environment variables at the time of a call.
#[derive(Debug, Clone)]
pub struct Redaction {
    redactor: Arc<Redactor>,
    pub(super) environment: Arc<EnvironmentValues>,
}

impl Redaction {
    /// Redacts with the rules of `redactor` and the values of `environment`.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>, environment: Arc<EnvironmentValues>) -> Self {
        Self { redactor, environment }
    }

    /// A hash of the options: equal hashes mean equal rules. The environment is not included.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.redactor.fingerprint
    }

    /// The text without its secrets, or `None` when it has none. Hits are added to `report`.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] when the search for secrets failed. The text must not be written then.
    pub fn text(&self, text: &str, report: &mut Report) -> Result<Option<String>> {
        self.text_by(text, report, |_, _| {})
    }

    /// As [`Redaction::text`], but every line keeps its line number.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`], as [`Redaction::text`]
    pub fn lines(&self, text: &str, report: &mut Report) -> Result<Option<String>> {
        self.text_by(text, report, |secret, replacement| {
            let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
            let missing = lines(secret).saturating_sub(lines(replacement));
            replacement.extend(std::iter::repeat_n('\n', missing));
        })
    }

    fn text_by(
        &self,
        text: &str,
        report: &mut Report,
        complete: impl Fn(&str, &mut String),
    ) -> Result<Option<String>> {
        let (mut redacted, mut work) = (None, Work::of(text.len()));
        // All of it first, and then what is near secrets that did not stand apart.
        let mut parts = Vec::from([Range { start: 0, end: text.len() }]);
        for _ in 0..MAX_PASSES {
            let text = redacted.as_deref().unwrap_or(text);
            let mut edits = self
                .edits_near(text, &Parts::new(&parts), Searches::ALL, 0, &mut work)
                .map_err(failed)?;
            if edits.is_empty() {
                break;
            }
            for Edit { range, replacement, .. } in &mut edits {
                let secret = text.get(range.clone()).unwrap_or_default();
                complete(secret, replacement);
            }
            parts = self.unsettled(text, &edits);
            redacted = Some(self.apply(text, &edits, report));
            if parts.is_empty() {
                break;
            }
        }
        Ok(redacted)
    }

    /// The parts of the edited text that have to be searched again after these edits.
    fn unsettled(&self, text: &str, edits: &[Edit]) -> Vec<Range<usize>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let (mut removed, mut added) = (0, 0);
        for edit in edits {
            let start = edit.range.start + added - removed;
            removed += edit.range.len();
            added += edit.replacement.len();
            if self.is_apart(text, edit) {
                continue;
            }
            let part = start.saturating_sub(NEAR)..start + edit.replacement.len() + NEAR;
            match parts.last_mut() {
                Some(last) if last.end >= part.start => last.end = part.end,
                _ => parts.push(part),
            }
        }
        parts
    }

    /// The JSON text of a value without its secrets, or `None` when it has none. All other bytes stay unchanged.
    /// Strings are examined in decoded form; under keys that look secret they are replaced as a whole.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`], as [`Redaction::text`], and for what is not JSON.
    pub fn json(&self, json: &[u8], report: &mut Report) -> Result<Option<Vec<u8>>> {
        let (mut redacted, mut work) = (None::<Vec<u8>>, Work::of(json.len()));
        for _ in 0..MAX_PASSES {
            let json = redacted.as_deref().unwrap_or(json);
            let edits = json_walker::edits(self, json, 0, &mut work).map_err(failed)?;
            if edits.is_empty() {
                break;
            }
            let text = std::str::from_utf8(json)
                .map_err(|_| failed(NotRedacted::Json(json_text::ScanError::Incomplete)))?;
            let is_settled = edits.iter().all(|edit| is_whole(json, &edit.range));
            redacted = Some(self.apply(text, &edits, report).into_bytes());
            if is_settled {
                break;
            }
        }
        Ok(redacted)
    }

    /// Whether [`Redaction::json`] would leave the JSON string of this text as it is, decided without the JSON. `false` says that
    /// the JSON has to be redacted, which may find nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`], as [`Redaction::text`]
    pub fn leaves_string(&self, text: &str) -> Result<bool> {
        if private_key::may_hold_part(text) {
            return Ok(false);
        }
        // The JSON is at least as long, and is given at least as much work.
        let edits = self.edits(text, 1, &mut Work::of(text.len())).map_err(failed)?;
        Ok(edits.is_empty())
    }

    /// Whether a secret is enclosed in quotes, on a line of its own or directly after its name, so that removing it
    /// cannot uncover another secret. A replacement of the same length is not recognised as a label and may look like
    /// something else.
    fn is_apart(&self, text: &str, edit: &Edit) -> bool {
        let is_border = |byte: Option<&u8>| {
            byte.is_none_or(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\n' | b'\r'))
        };
        let bytes = text.as_bytes();
        let back =
            |by: usize| edit.range.start.checked_sub(by).and_then(|before| bytes.get(before));
        let before = back(1);
        // `name=secret`, `name = secret`, `name: secret`
        let sign = if before == Some(&b' ') { back(2) } else { before };
        let is_named = match sign {
            Some(b'=') => Some(edit.rule) == self.assignment(),
            Some(b':') => before == Some(&b' ') && Some(edit.rule) == self.assignment(),
            _ => false,
        };
        !self.redactor.preserves_length
            && (is_named || is_border(before))
            && is_border(bytes.get(edit.range.end))
    }

    fn apply(&self, text: &str, edits: &[Edit], report: &mut Report) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for edit in edits {
            out.push_str(text.get(at..edit.range.start).unwrap_or_default());
            out.push_str(&edit.replacement);
            at = edit.range.end;
            if let Some(name) = self.redactor.names.get(edit.rule) {
                report.add(name);
            }
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// The edits that remove the secrets of a text, in order. JSON is walked, also within strings of JSON; `embedded`
    /// is the nesting depth.
    pub(super) fn edits(
        &self,
        text: &str,
        embedded: usize,
        work: &mut Work,
    ) -> std::result::Result<Vec<Edit>, NotRedacted> {
        self.edits_by((Searches::ALL, None), text, embedded, work)
    }

    /// As [`Redaction::edits`], for a text that is not JSON unless all searches are given, and in which no other search takes a step.
    /// `known` are the anchors in the text, where they are known.
    pub(super) fn edits_by(
        &self,
        (searches, known): (Searches, Option<&[Found]>),
        text: &str,
        embedded: usize,
        work: &mut Work,
    ) -> std::result::Result<Vec<Edit>, NotRedacted> {
        let whole = 0..text.len();
        let parts = Parts { ranges: std::slice::from_ref(&whole), known };
        self.edits_near(text, &parts, searches, embedded, work)
    }

    /// As [`Redaction::edits`], for the anchors in these parts of a text. JSON is always walked as a whole.
    fn edits_near(
        &self,
        text: &str,
        parts: &Parts<'_>,
        searches: Searches,
        embedded: usize,
        work: &mut Work,
    ) -> std::result::Result<Vec<Edit>, NotRedacted> {
        // Walking is skipped for a text that does not end like JSON.
        let may_be_json =
            searches == Searches::ALL && embedded <= json_walker::MAX_EMBEDDED && may_be_json(text);
        if may_be_json && json_walker::is_json(text.as_bytes()) {
            match json_walker::edits(self, text.as_bytes(), embedded, work) {
                Err(NotRedacted::Json(_)) => {}
                outcome => return outcome,
            }
        }
        let mut hits = self.hits(text, parts, searches, work)?;
        if searches.has(Searches::HIDDEN)
            && let Some(view) = View::of(text)
        {
            // For a secret with colour codes, the codes around it stay.
            for Hit { range, .. } in &mut hits {
                *range = view.trimmed(range);
            }
            hits.extend(self.hits_in_view(&view, parts.ranges, embedded, work)?);
        }
        Ok(merged(hits)
            .into_iter()
            .map(|Hit { range, rule }| {
                let secret = text.get(range.clone()).unwrap_or_default();
                Edit { replacement: self.replacement(secret, rule), range, rule }
            })
            .collect())
    }

    /// The secrets of the visible part of a text that has invisible characters, for the anchors in these parts.
    fn hits_in_view(
        &self,
        view: &View,
        parts: &[Range<usize>],
        embedded: usize,
        work: &mut Work,
    ) -> std::result::Result<Vec<Hit>, NotRedacted> {
        let text = view.text();
        let is_json = embedded <= json_walker::MAX_EMBEDDED
            && may_be_json(text)
            && json_walker::is_json(text.as_bytes());
        let mut edits = || json_walker::edits(self, text.as_bytes(), embedded, work);
        let mut hits = match is_json.then(&mut edits) {
            Some(Ok(edits)) => {
                edits.into_iter().map(|Edit { range, rule, .. }| Hit { range, rule }).collect()
            }
            Some(Err(NotRedacted::Failed(error))) => return Err(NotRedacted::Failed(error)),
            Some(Err(NotRedacted::Json(_))) | None => {
                let parts: Vec<_> = parts.iter().map(|part| view.visible(part)).collect();
                self.hits(text, &Parts::new(&parts), Searches::ALL, work)?
            }
        };
        for Hit { range, .. } in &mut hits {
            *range = view.original(range);
        }
        Ok(hits)
    }

    /// The secrets of a text that is not JSON, for the anchors in these parts, in no particular order.
    fn hits(
        &self,
        text: &str,
        parts: &Parts<'_>,
        searches: Searches,
        work: &mut Work,
    ) -> std::result::Result<Vec<Hit>, NotRedacted> {
        let redactor = &self.redactor;
        let rules = (redactor.further.as_slice(), redactor.disabled.as_slice());
        let mut findings = Findings::default();
        let mut search = redactor.anchors.search(text, rules);
        for part in parts.ranges {
            let part = part.start..part.end.min(text.len());
            match parts.known {
                Some(anchors) => {
                    search.find_at(part, anchors.iter().cloned(), work, &mut findings);
                }
                None => search.find(part, work, &mut findings),
            }
        }
        if let Some((view, windows)) = view::without_prefixes(text, &findings.unpaired) {
            let is_whole = parts.ranges == [Range { start: 0, end: text.len() }];
            let found = self.find_in_windows(&view, &windows, &findings, is_whole, work);
            findings.hits.extend(found);
        }
        let mut hits = findings.hits;
        if let Some(rule) = redactor.private_key
            && searches.has(Searches::PRIVATE_KEYS)
        {
            private_key::find(text, |range| hits.push(Hit { range, rule }));
        }
        let (environment, custom) = (RULES.len(), RULES.len() + 2);
        if searches.has(Searches::ENVIRONMENT) && redactor.disabled.get(environment) == Some(&false)
        {
            let mut ranges = Vec::new();
            self.environment.find(text, &mut ranges).map_err(NotRedacted::Failed)?;
            hits.extend(ranges.into_iter().map(|range| Hit { range, rule: environment }));
        }
        let mut own = Vec::new();
        redactor.custom.find(text, &mut own).map_err(NotRedacted::Failed)?;
        replacement::without_labels(text, 0, &mut own, |(range, _)| range);
        hits.extend(own.into_iter().map(|(range, rule)| Hit { range, rule: custom + rule }));
        hits.retain(|hit| {
            let secret = text.get(hit.range.clone()).unwrap_or_default();
            hit.rule == scanner::UNSCANNED || !self.is_allowed(secret)
        });
        Ok(hits)
    }

    /// The secrets in windows of a view without prefixes of lines. `findings` are those of the text; with `is_whole`, they are those of
    /// all of it, so that the anchors are known and the view is not searched for them again.
    fn find_in_windows(
        &self,
        view: &View,
        windows: &[Range<usize>],
        findings: &Findings,
        is_whole: bool,
        work: &mut Work,
    ) -> Vec<Hit> {
        let redactor = &self.redactor;
        let rules = (redactor.further.as_slice(), redactor.disabled.as_slice());
        let is_scanned = findings.hits.iter().all(|hit| hit.rule != scanner::UNSCANNED);
        // No anchor contains a line end and text behind it.
        let known = (is_whole && is_scanned && view.cuts_start_lines()).then(|| {
            let mut next = 0;
            let kept = |(range, number): &Found| Some((view.kept(range, &mut next)?, *number));
            findings.anchors.iter().filter_map(kept).collect::<Vec<_>>()
        });
        let mut known = known.as_deref();
        let mut search = redactor.anchors.search(view.text(), rules);
        let mut found = Findings::default();
        // Behind what was not looked at there is nothing to find before its end.
        let mut unscanned = 0;
        for window in windows {
            let part = view.visible(window);
            let part = part.start.max(unscanned)..part.end;
            if part.is_empty() {
                continue;
            }
            if let Some(anchors) = &mut known {
                let in_part = anchors_in(anchors, &part);
                search.find_at(part, in_part, work, &mut found);
            } else {
                search.find(part, work, &mut found);
            }
            let last = found.hits.last().filter(|hit| hit.rule == scanner::UNSCANNED);
            unscanned = last.map_or(unscanned, |hit| hit.range.end);
        }
        let original = |Hit { range, rule }: Hit| Hit { range: view.original(&range), rule };
        found.hits.into_iter().map(original).collect()
    }

    /// Whether the only rules are those of the rules' file and the values of the environment.
    pub(super) fn has_own_rules_alone(&self) -> bool {
        self.redactor.custom.is_empty()
    }

    /// Visits the positions in a text that the searches would examine, in no particular order.
    /// Anchors are visited in the order in which a search visits them.
    pub(super) fn signs(&self, text: &str, visit: &mut impl FnMut(usize, Searches, Option<Found>)) {
        let bytes = text.as_bytes();
        let anchors = &self.redactor.anchors;
        anchors.signs(bytes, &mut |at, anchor| visit(at, Searches::ANCHORS, anchor));
        self.environment.signs(text, &mut |at| visit(at, Searches::ENVIRONMENT, None));
        private_key::signs(bytes, &mut |at| visit(at, Searches::PRIVATE_KEYS, None));
        view::hidden(text).for_each(|range| visit(range.start, Searches::HIDDEN, None));
    }

    pub(super) fn key_class(&self, name: &str) -> NameClass {
        self.redactor.class(name)
    }

    pub(super) fn assignment(&self) -> Option<usize> {
        self.redactor.assignment
    }

    pub(super) fn private_key(&self) -> Option<usize> {
        self.redactor.private_key
    }

    pub(super) fn is_allowed(&self, secret: &str) -> bool {
        self.redactor.allowed.contains(secret)
    }

    pub(super) fn replacement(&self, secret: &str, rule: usize) -> String {
        let name = self.redactor.names.get(rule).map_or("", |name| name);
        let mut replacement = String::new();
        replacement::write(secret, name, self.redactor.preserves_length, &mut replacement);
        replacement
    }
}

/// Whether an edit replaces a complete JSON string.
fn is_whole(json: &[u8], range: &Range<usize>) -> bool {
    let before = range.start.checked_sub(1).and_then(|before| json.get(before));
    (before, json.get(range.end)) == (Some(&b'"'), Some(&b'"'))
}

/// Whether a text may be JSON, so that walking it is worth trying.
pub(super) fn may_be_json(text: &str) -> bool {
    let text = text.trim();
    matches!(
        (text.bytes().next(), text.bytes().next_back()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) | (Some(b'"'), Some(b'"'))
    )
}

fn failed(failure: NotRedacted) -> Error {
    match failure {
        NotRedacted::Json(error) => Error::new(
            ErrorKind::Failed,
            format!("nothing was written: the value to redact is not valid JSON ({error})"),
        ),
        NotRedacted::Failed(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{RedactionOptions, rules};

    #[test]
    fn no_anchor_has_text_behind_a_line_end() {
        for anchor in rules::RULES.iter().flat_map(|rule| rule.anchors) {
            let ends = anchor.find(['\n', '\r']).is_none_or(|end| end + 1 == anchor.len());
            assert!(ends, "{anchor:?}");
        }
    }

    proptest! {
        /// Where the anchors of the text are used again, a search of the view finds the same.
        #[test]
        fn a_view_is_examined_at_the_anchors_of_the_text(
            lines in prop::collection::vec((
                prop::sample::select(&["", "  ", "12: ", "3\t", "+", "2025-11-22 ", "a/b.yml:"][..]),
                prop::collection::vec(prop_oneof![
                    Just("password: ".to_owned()), Just("api_key=".to_owned()), Just("token".to_owned()), Just(" ".to_owned()),
                    Just("machine".to_owned()), Just("pat".to_owned()), Just("https://".to_owned()), "[0-9A-Za-z]{3,24}",
                    Just(",".to_owned()),
                ], 0..5),
            ), 1..9),
        ) {
            let text: Vec<String> = lines.iter().map(|(prefix, words)| format!("{prefix}{}", words.concat())).collect();
            let text = text.join("\n");
            let redactor = Redactor::new(RedactionOptions::default()).unwrap();
            let redaction = Redaction::new(Arc::clone(&redactor), Arc::default());
            let mut work = Work::of(text.len());
            let mut findings = Findings::default();
            let rules = (&[][..], &[][..]);
            redactor.anchors.search(&text, rules).find(0..text.len(), &mut work, &mut findings);
            if let Some((view, windows)) = view::without_prefixes(&text, &findings.unpaired) {
                let mut find = |is_whole| {
                    let mut hits = redaction.find_in_windows(&view, &windows, &findings, is_whole, &mut work);
                    hits.sort_by_key(|hit| (hit.range.start, hit.range.end, hit.rule));
                    hits
                };
                prop_assert_eq!(find(true), find(false));
            }
        }
    }
}
