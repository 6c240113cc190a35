//! What can be true of a place between two characters, as JavaScript sees it.

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
/// How many sets of them there are.
pub(super) const SETS: usize = 64;

/// All that is true between these characters, at a text's ends `None`.
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
