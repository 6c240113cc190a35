//! Character classes and Unicode folding for the tokeniser.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The class of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Not part of any word.
    Separator,
    /// A letter that is not upper case, or a combining mark on one.
    Lower,
    /// An upper-case letter.
    Upper,
    /// A numeric character.
    Digit,
    /// `_` or `-`: joins the parts of one identifier.
    Joiner,
    /// Begins a suffix such as `'s`.
    Apostrophe,
    /// A letter of a script that is written without spaces between words, or whose inflected words can only be split
    /// with a dictionary (Korean).
    Unsegmented,
}

/// The class of a character of folded text.
pub(crate) fn class(character: char) -> Class {
    match character {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '_' | '-' => Class::Joiner,
        '\'' => Class::Apostrophe,
        _ if character.is_ascii() => Class::Separator,
        _ if is_unsegmented(character) => Class::Unsegmented,
        _ if character.is_numeric() => Class::Digit,
        _ if character.is_uppercase() => Class::Upper,
        _ if character.is_alphabetic() || is_combining_mark(character) => Class::Lower,
        _ => Class::Separator,
    }
}

/// For each byte of a text, the bit of its kind.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const KINDS: [u8; 256] = {
    let mut kinds = [NON_ASCII; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' | b'\'' => JOINER,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    kinds
};

/// An ASCII character that separates terms.
pub(crate) const SEPARATOR: u8 = 1;
/// A lower-case ASCII letter.
pub(crate) const LOWER: u8 = 32;
/// An upper-case ASCII letter.
pub(crate) const UPPER: u8 = 2;
/// An ASCII digit.
pub(crate) const DIGIT: u8 = 4;
/// `_`, `-` or an apostrophe.
pub(crate) const JOINER: u8 = 8;
/// A byte of another character.
pub(crate) const NON_ASCII: u8 = 16;

/// The kind of a byte; see [`KINDS`].
#[inline]
pub(crate) fn kind(byte: u8) -> u8 {
    KINDS.get(usize::from(byte)).copied().unwrap_or(NON_ASCII)
}

/// Thai, Lao, Myanmar, Khmer, Hangul, kana, bopomofo and Han. Combining marks of these scripts are included,
/// punctuation is not.
fn is_unsegmented(character: char) -> bool {
    matches!(character,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1100}'..='\u{11FF}' | '\u{1780}'..='\u{17FF}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{3100}'..='\u{318F}' | '\u{31A0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
        && (character.is_alphanumeric() || is_combining_mark(character))
}

/// Appends `text` with compatibility forms unified (full width, ligatures) and without the accents of alphabetic
/// scripts. The marks of other scripts stay, because there they are vowels or change the consonant.
pub(crate) fn fold_into(text: &str, folded: &mut String) {
    if text.chars().all(is_unaffected) {
        folded.push_str(text);
        return;
    }
    for character in text.nfkd().filter(|character| !is_dropped(*character)).nfc() {
        match character {
            '’' | '‘' | 'ʼ' => folded.push('\''),
            'ß' | 'ẞ' => folded.push_str("ss"),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            'ø' | 'Ø' => folded.push('o'),
            'đ' | 'Đ' | 'ð' | 'Ð' => folded.push('d'),
            'ł' | 'Ł' => folded.push('l'),
            'þ' | 'Þ' => folded.push_str("th"),
            'ı' => folded.push('i'),
            'ς' => folded.push('σ'),
            '‐' | '‑' => folded.push('-'),
            _ => folded.push(character),
        }
    }
}

/// Whether normalisation leaves the character unchanged: a fast path for most Chinese, Japanese and Korean text.
fn is_unaffected(character: char) -> bool {
    character.is_ascii()
        || matches!(character, '\u{3001}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'
            | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Whether a character is dropped: an accent, or an invisible character within a word.
fn is_dropped(character: char) -> bool {
    matches!(character, '\u{0300}'..='\u{036F}' | '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut folded = String::new();
        fold_into(text, &mut folded);
        folded
    }

    #[test]
    fn accents_and_width_are_folded() {
        assert_eq!(folded("café"), "cafe");
        assert_eq!(folded("cafe\u{301}"), "cafe");
        assert_eq!(folded("ＡＢＣ１２"), "ABC12");
        assert_eq!(folded("Straße"), "Strasse");
        assert_eq!(folded("user’s"), "user's");
        assert_eq!(folded("soft\u{AD}hyphen"), "softhyphen");
    }

    #[test]
    fn marks_that_change_the_letter_stay() {
        assert_eq!(folded("が"), "が");
        assert_eq!(folded("か\u{3099}"), "が");
        assert_eq!(folded("हिन्दी"), "हिन्दी");
        assert_eq!(folded("한국어"), "한국어");
    }

    #[test]
    fn punctuation_of_unsegmented_scripts_separates() {
        assert_eq!(class('。'), Class::Separator);
        assert_eq!(class('、'), Class::Separator);
        assert_eq!(class('東'), Class::Unsegmented);
        assert_eq!(class('ー'), Class::Unsegmented);
        assert_eq!(class('ก'), Class::Unsegmented);
    }
}
