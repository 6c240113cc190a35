//! Redacts a text that arrives in pieces, in bounded memory. The core uses it for streamed results.
//!
//! The text is cut where the surrounding text shows that no secret spans the cut: redacting both sides together gives
//! the same result as redacting each separately. If there is no such place, all text up to the next one is replaced.

use super::{Redaction, Report, UNSCANNED, error::Result, session::RedactionSession};

/// A line put before a part of a text, so that a part that happens to be a complete JSON value is treated as text.
const GUARD: &str = "x\n";
/// Maximum number of positions that are tried for a cut.
const MOST_CUTS: usize = 32;

/// Sizes in bytes.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Pending text beyond this size is cut.
    most: usize,
    /// Approximate size of a part; parts have at least half of it.
    part: usize,
    /// Bytes examined on both sides of a cut: more than the longest secret, a private key of 64 KiB.
    surroundings: usize,
}

const SIZES: Sizes = Sizes { most: 768 * 1024, part: 512 * 1024, surroundings: 72 * 1024 };
/// The sizes for a document, which is redacted as one text up to `most`.
const DOCUMENT_SIZES: Sizes =
    Sizes { most: 4 * 1024 * 1024, part: 2 * 1024 * 1024, surroundings: 72 * 1024 };

/// Redacts a text that arrives in pieces. A secret of up to 64 KiB is found even if it spans several pieces. A text
/// that is JSON is examined as plain text.
#[derive(Debug)]
pub struct TextStream {
    session: RedactionSession,
    /// A session for trial redactions, whose hits are not counted.
    probe: RedactionSession,
    redacts: bool,
    sizes: Sizes,
    pending: String,
    /// Whether text is being replaced up to the next place for a cut.
    is_withholding: bool,
    /// Whether `pending` is the document from its beginning; it is redacted as one text if nothing follows.
    is_whole: bool,
}

impl TextStream {
    /// Without a redaction, the text stays unchanged.
    #[must_use]
    pub fn new(redaction: Option<Redaction>) -> Self {
        Self::with_sizes(redaction, SIZES)
    }

    /// As [`TextStream::new`], for a document: up to 4 MiB it is redacted as [`Redaction::text`] redacts it, JSON included.
    #[must_use]
    pub fn of_document(redaction: Option<Redaction>) -> Self {
        Self { is_whole: true, ..Self::with_sizes(redaction, DOCUMENT_SIZES) }
    }

    fn with_sizes(redaction: Option<Redaction>, sizes: Sizes) -> Self {
        Self {
            redacts: redaction.is_some(),
            probe: RedactionSession::new(redaction.clone()),
            session: RedactionSession::new(redaction),
            sizes,
            pending: String::new(),
            is_withholding: false,
            is_whole: false,
        }
    }

    /// Adds a piece. Appends the redacted text that is complete to `out`.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed): the text must not be written then.
    pub fn push(&mut self, piece: &str, out: &mut String) -> Result<()> {
        if !self.redacts {
            out.push_str(piece);
            return Ok(());
        }
        let mut rest = piece;
        while !rest.is_empty() {
            // A long piece is processed in parts, so that it is not copied as a whole.
            let room = (self.sizes.most + 1).saturating_sub(self.pending.len()).max(4);
            let (taken, left) = rest.split_at(rest.floor_char_boundary(room));
            self.pending.push_str(taken);
            rest = left;
            while self.pending.len() > self.sizes.most {
                self.take_part(out)?;
            }
        }
        Ok(())
    }

    /// Appends the rest of the redacted text. Another text may follow; it is treated separately.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed), as [`TextStream::push`].
    pub fn finish(&mut self, out: &mut String) -> Result<()> {
        let mut part = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.is_whole) {
            self.session.text(&mut part)?;
            out.push_str(&part);
        } else if !std::mem::take(&mut self.is_withholding) {
            out.push_str(&guarded(&mut self.session, &[&part])?);
        }
        Ok(())
    }

    /// The hits so far.
    #[must_use]
    pub fn report(self) -> Report {
        self.session.report()
    }

    fn take_part(&mut self, out: &mut String) -> Result<()> {
        self.is_whole = false;
        let Some(end) = self.cut()? else {
            if !std::mem::replace(&mut self.is_withholding, true) {
                out.push_str("[REDACTED:");
                out.push_str(UNSCANNED);
                out.push(']');
                self.session.note(UNSCANNED);
            }
            let kept = self.sizes.part - self.sizes.surroundings;
            self.pending.drain(..self.pending.floor_char_boundary(kept));
            return Ok(());
        };
        if !std::mem::take(&mut self.is_withholding) {
            let part = self.pending.get(..end).unwrap_or_default();
            out.push_str(&guarded(&mut self.session, &[part])?);
        }
        self.pending.drain(..end);
        Ok(())
    }

    /// The position at which to cut the pending text, at a line end if possible. `None` where a cut might split a
    /// secret.
    fn cut(&mut self) -> Result<Option<usize>> {
        let Sizes { part, surroundings, .. } = self.sizes;
        let (text, probe) = (self.pending.as_str(), &mut self.probe);
        let mut latest = part;
        for attempt in 0..MOST_CUTS {
            let before = text.get(..text.floor_char_boundary(latest)).unwrap_or_default();
            let line_end = before.rfind('\n').map_or(0, |at| at + 1);
            let end = if line_end > part / 2 { line_end } else { before.len() };
            let start = text.ceil_char_boundary(end.saturating_sub(surroundings));
            let left = text.get(start..end).unwrap_or_default();
            let right =
                text.get(end..text.floor_char_boundary(end + surroundings)).unwrap_or_default();
            let together = guarded(probe, &[left, right])?;
            if together == guarded(probe, &[left])? + &guarded(probe, &[right])? {
                return Ok(Some(end));
            }
            // Larger steps skip secrets that span many lines.
            latest = end.saturating_sub(2 + attempt * surroundings / 72);
            if latest <= part / 2 {
                break;
            }
        }
        Ok(None)
    }
}

fn guarded(session: &mut RedactionSession, parts: &[&str]) -> Result<String> {
    let mut text =
        String::with_capacity(GUARD.len() + parts.iter().map(|part| part.len()).sum::<usize>());
    text.push_str(GUARD);
    parts.iter().for_each(|part| text.push_str(part));
    session.text(&mut text)?;
    text.drain(..GUARD.len().min(text.len()));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{CustomFind, CustomRule, EnvironmentValues, RedactionOptions, Redactor};

    const SMALL: Sizes = Sizes { most: 3000, part: 2000, surroundings: 400 };

    fn redaction(options: RedactionOptions) -> Redaction {
        Redaction::new(Redactor::new(options).unwrap(), Arc::new(EnvironmentValues::default()))
    }

    /// In two parts: hosting services refuse pushes that contain a complete one.
    fn secret() -> String {
        ["gh", "p_", "Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq"].concat()
    }

    fn streamed(redaction: Option<Redaction>, pieces: &[&str]) -> (String, Report) {
        let mut stream = TextStream::with_sizes(redaction, SMALL);
        let mut out = String::new();
        for piece in pieces {
            stream.push(piece, &mut out).unwrap();
            assert!(stream.pending.len() <= SMALL.most);
        }
        stream.finish(&mut out).unwrap();
        (out, stream.report())
    }

    fn whole(redaction: &Redaction, text: &str) -> String {
        redaction.text(text, &mut Report::default()).unwrap().unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_secret_at_any_place_of_any_piece_is_taken_out() {
        let redaction = redaction(RedactionOptions::default());
        let secret = secret();
        for before in 1900..2100 {
            let text = format!("{} {secret} {}", "é".repeat(before / 2), "word ".repeat(800));
            for size in [7, 1000, 5000] {
                let pieces: Vec<String> = text
                    .chars()
                    .collect::<Vec<_>>()
                    .chunks(size)
                    .map(|piece| piece.iter().collect())
                    .collect();
                let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
                let (out, report) = streamed(Some(redaction.clone()), &pieces);
                assert_eq!(out, whole(&redaction, &text));
                assert_eq!(report.total(), 1);
            }
        }
    }

    #[test]
    fn a_text_without_a_place_for_a_cut_is_withheld_until_there_is_one() {
        let find = CustomFind::Expression { source: "z+".to_owned(), flags: String::new() };
        let rules = vec![CustomRule { name: "zs".to_owned(), find }];
        let redaction = redaction(RedactionOptions { rules, ..RedactionOptions::default() });
        let line = "a line of words\n".repeat(300);
        let text = format!("{line}{}{line}", "z".repeat(9000));
        let (out, report) = streamed(Some(redaction), &[&text]);
        assert!(!out.contains('z'), "{out}");
        assert!(out.contains("[REDACTED:unscanned]"), "{out}");
        assert!(report.findings().iter().any(|finding| &*finding.rule == UNSCANNED));
        assert!(out.starts_with("a line of words\n") && out.ends_with("a line of words\n"));
    }

    #[test]
    fn a_short_document_is_redacted_as_one_text() {
        let redaction = redaction(RedactionOptions::default());
        let json = format!("{{\"password\":\"{}\",\"a\":[1.0]}}", secret());
        let mut stream = TextStream::of_document(Some(redaction.clone()));
        let mut out = String::new();
        for piece in json.as_bytes().chunks(10) {
            stream.push(std::str::from_utf8(piece).unwrap(), &mut out).unwrap();
        }
        assert_eq!(out, "");
        stream.finish(&mut out).unwrap();
        assert_eq!(out, whole(&redaction, &json));
    }

    #[test]
    fn a_long_document_is_redacted_in_parts() {
        let redaction = redaction(RedactionOptions::default());
        let mut stream = TextStream::of_document(Some(redaction.clone()));
        stream.sizes = SMALL;
        let text = format!("a line of words\nexport A={}\n", secret()).repeat(300);
        let mut out = String::new();
        stream.push(&text, &mut out).unwrap();
        assert!(out.len() > SMALL.part / 2);
        stream.finish(&mut out).unwrap();
        assert_eq!(out, whole(&redaction, &text));
        assert_eq!(stream.report().total(), 300);
    }

    #[test]
    fn without_a_redaction_every_piece_passes_at_once() {
        let mut stream = TextStream::new(None);
        let mut out = String::new();
        stream.push(&secret(), &mut out).unwrap();
        assert_eq!(out, secret());
        stream.finish(&mut out).unwrap();
        assert_eq!(out, secret());
    }

    proptest! {
        #[test]
        fn any_split_of_a_text_gives_what_the_whole_text_gives(
            lines in prop::collection::vec(
                // Few names: a text that consists of names exceeds the work budget.
                prop_oneof![20 => "[a-zé😀 .,:=/]{0,60}", 1 => "password=[0-9a-z]{0,3}|token"],
                0..300,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            secrets in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let redaction = redaction(RedactionOptions::default());
            let mut lines = lines;
            for place in secrets {
                let at = place.index(lines.len() + 1);
                lines.insert(at, format!("export A={}", secret()));
            }
            let text = lines.join("\n");
            let mut places: Vec<usize> =
                cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
            places.extend([0, text.len()]);
            places.sort_unstable();
            let pieces: Vec<&str> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            let (out, _) = streamed(Some(redaction.clone()), &pieces);
            prop_assert_eq!(out, whole(&redaction, &format!("x\n{text}"))[2..].to_owned());
        }
    }
}
