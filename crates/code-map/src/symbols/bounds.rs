//! Limits for the work of parsing a file.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tasks::Cancelled;

use super::Language;

/// tree-sitter calls back about every hundredth step. A text with more callbacks than programs need exploits a weak
/// spot of the grammar. In 25 000 files, none needed 45 callbacks more than one per this number of bytes.
const fn bytes_a_question(language: Language) -> usize {
    match language {
        Language::Python | Language::Rust => 25,
        _ => 45,
    }
}

/// Additional callbacks that are allowed, because the start of a file may be its hardest part.
const MORE_QUESTIONS: usize = 64;

/// Steps differ in cost: in malformed text, each may cost as much as all before it. Time is therefore limited as well,
/// to at least ten times of what a file of this size needs.
const TIME: Duration = Duration::from_secs(1);
const TIME_A_BYTE: Duration = Duration::from_micros(10);

/// tree-sitter follows all interpretations of unfinished text. At the end of the text, each of them needs memory in
/// proportion to its length: 50 KB of `a<a<a<` in Java would need gigabytes. Such a text is not parsed at all; other
/// texts stop at the memory budget. Deep trees also need much of the C stack. Programs nest at most 300 brackets;
/// comparisons and shifts open angle brackets that are never closed, in tables of numbers more than a thousand in a
/// row.
const DEEPEST_BRACKETS: usize = 500;
const MOST_ANGLES: usize = 2000;

/// Whether brackets nest so deeply that parsing is dangerous. Strings and comments are counted as code.
pub fn is_too_deep(text: &str) -> bool {
    let mut brackets: usize = 0;
    let mut angles: usize = 0;
    let mut before = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            b'<' => angles += 1,
            // Arrows do not close a bracket.
            b'>' if !matches!(before, b'=' | b'-') => angles = angles.saturating_sub(1),
            _ => {}
        }
        if matches!(byte, b'{' | b'}' | b';') {
            angles = 0;
        }
        if brackets > DEEPEST_BRACKETS || angles > MOST_ANGLES {
            return true;
        }
        before = byte;
    }
    false
}

/// The remaining work budget of a file.
pub struct Bounds<'a> {
    cancelled: &'a Cancelled,
    time: Duration,
    until: Instant,
    bytes_a_question: usize,
    questions: usize,
}

impl<'a> Bounds<'a> {
    /// The budget for a file of this size.
    pub fn new(language: Language, bytes: usize, cancelled: &'a Cancelled) -> Self {
        let time = TIME + TIME_A_BYTE.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
        Self {
            cancelled,
            time,
            until: Instant::now() + time,
            bytes_a_question: bytes_a_question(language),
            questions: 0,
        }
    }

    /// Lowers the time limit.
    pub fn limit(&mut self, time: Duration) {
        self.time = self.time.min(time);
        self.until = self.until.min(Instant::now() + time);
    }

    /// Whether the time limit is exceeded.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Whether the result is still wanted.
    pub fn cancelled(&self) -> &'a Cancelled {
        self.cancelled
    }

    /// Restarts the count for a new attempt.
    pub fn restart(&mut self) {
        self.questions = 0;
        self.until = Instant::now() + self.time;
    }

    /// Starts the next stage of the work.
    pub fn next_stage(&mut self) {
        self.questions = 0;
    }

    /// Whether to continue. The current stage may need as much work as this many bytes.
    pub fn ask(&mut self, bytes: usize) -> ControlFlow<()> {
        self.questions = self.questions.saturating_add(1);
        let allowed = MORE_QUESTIONS.saturating_add(bytes / self.bytes_a_question);
        if self.questions > allowed || self.cancelled.is_set() || Instant::now() >= self.until {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nests_like_no_program_is_too_deep() {
        let nested = |open: &str, close: &str, count| {
            format!("{}{}", open.repeat(count), close.repeat(count))
        };
        assert!(!is_too_deep(&nested("(", ")", 500)));
        assert!(is_too_deep(&nested("(", ")", 501)));
        assert!(is_too_deep(&nested("[{", "}]", 251)));
        assert!(!is_too_deep(&"f(a[0]); ".repeat(10_000)));
        assert!(!is_too_deep(&")".repeat(10_000)));
        assert!(!is_too_deep(&"a<b>=>".repeat(10_000)));
        assert!(!is_too_deep(&"a<b;".repeat(10_000)));
        assert!(is_too_deep(&"a<".repeat(2001)));
        assert!(is_too_deep(&"a<b=>".repeat(2001)));
    }

    #[test]
    fn work_ends_when_it_is_too_much_or_unwanted() {
        let asked = |bytes: usize, cancelled: &Cancelled| {
            let mut bounds = Bounds::new(Language::Rust, 0, cancelled);
            (0..100_000).take_while(|_| bounds.ask(bytes).is_continue()).count()
        };
        assert_eq!(asked(0, &Cancelled::default()), MORE_QUESTIONS);
        assert_eq!(asked(2500, &Cancelled::default()), MORE_QUESTIONS + 100);
        assert_eq!(asked(2500, &Cancelled::set()), 0);
        let cancelled = Cancelled::default();
        let mut bounds = Bounds::new(Language::Go, 0, &cancelled);
        while bounds.ask(0).is_continue() {}
        bounds.next_stage();
        assert!(bounds.ask(0).is_continue());
        bounds.until = Instant::now();
        assert!(bounds.ask(0).is_break());
    }
}
