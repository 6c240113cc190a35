//! Zero-width assertions (`^`, `$`, `\b`, `\B`) as bits, with the semantics of JavaScript.

/// `^`
pub(super) const TEXT_START: u8 = 1;
/// `^` with the flag `m`
pub(super) const LINE_START: u8 = 2;
/// `$`
pub(super) const TEXT_END: u8 = 4;
/// `$` with the flag `m`
pub(super) const LINE_END: u8 = 8;
/// `\b`
pub(super) const BOUNDARY: u8 = 16;
/// `\B`
pub(super) const NO_BOUNDARY: u8 = 32;
/// Number of possible sets of assertions.
pub(super) const SETS: usize = 64;

/// All assertions that hold between two characters; `None` is the start or end of the text.
pub(super) fn at(before: Option<char>, after: Option<char>) -> u8 {
    let mut set = if is_word(before) == is_word(after) { NO_BOUNDARY } else { BOUNDARY };
    if before.is_none() {
        set |= TEXT_START;
    }
    if after.is_none() {
        set |= TEXT_END;
    }
    if before.is_none_or(is_line_end) {
        set |= LINE_START;
    }
    if after.is_none_or(is_line_end) {
        set |= LINE_END;
    }
    set
}

fn is_word(character: Option<char>) -> bool {
    character.is_some_and(|character| character.is_ascii_alphanumeric() || character == '_')
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}
