//! Encloses stored text for a model's context, so that a tool's output cannot pass for instructions or for text of the
//! conversation.
//!
//! The text is put between two tags with a digest of the text, which it cannot contain itself. Whatever looks like such
//! a tag is broken up, and characters that hide or reorder text or control a terminal are replaced with visible ones.
//! The same text gives the same bytes.

use std::iter::once;

use unicode_normalization::UnicodeNormalization;

use super::handle;

/// The name of both tags.
pub(super) const TAG: &str = "stored-output";
const WORDS: [&str; 2] = ["stored", "output"];
const ELLIPSIS: char = '…';

/// Encloses any text in tags.
#[must_use]
pub fn delimit(text: &str) -> String {
    let text = harmless(text);
    enclose(&handle::mark_of(&text), &text)
}

/// Encloses a text that [`harmless`] returned in tags with the digest `mark`.
pub(super) fn enclose(mark: &str, text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("<{TAG}-{mark}>\n{text}{end}</{TAG}-{mark}>")
}

/// The text with invisible characters made visible and everything that looks like one of the tags broken up.
pub(super) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        push_shown(character, characters.peek().copied(), &mut out);
    }
    break_tags(out)
}

/// As [`delimit`] shows a text, in one line of at most `max_bytes` bytes: the rest is cut off.
#[must_use]
pub fn harmless_line(text: &str, max_bytes: usize) -> String {
    let mut out = String::new();
    for character in text.chars() {
        let before = out.len();
        match character {
            '\n' | '\t' | '\r' => out.push(picture(character)),
            other => push_shown(other, None, &mut out),
        }
        if out.len() > max_bytes {
            out.truncate(before);
            while out.len() + ELLIPSIS.len_utf8() > max_bytes && out.pop().is_some() {}
            out.push(ELLIPSIS);
            break;
        }
    }
    break_tags(out)
}

/// The most bytes that [`harmless`] writes for a character.
pub(super) fn shown_length(character: char, next: Option<char>) -> usize {
    match show(character, next) {
        Shown::AsItIs => character.len_utf8(),
        Shown::Picture(picture) => picture.len_utf8(),
        Shown::Number => numbered(character).len(),
        Shown::Nothing => 0,
    }
}

enum Shown {
    AsItIs,
    Picture(char),
    Number,
    Nothing,
}

fn show(character: char, next: Option<char>) -> Shown {
    match character {
        '\n' | '\t' => Shown::AsItIs,
        '\r' if next == Some('\n') => Shown::Nothing,
        '\0'..' ' | '\x7f' => Shown::Picture(picture(character)),
        _ if is_deceptive(character) => Shown::Number,
        _ => Shown::AsItIs,
    }
}

fn push_shown(character: char, next: Option<char>, out: &mut String) {
    match show(character, next) {
        Shown::AsItIs => out.push(character),
        Shown::Picture(picture) => out.push(picture),
        Shown::Number => out.push_str(&numbered(character)),
        Shown::Nothing => {}
    }
}

/// The Unicode picture of a control character: `␛`.
fn picture(control: char) -> char {
    let code = if control == '\x7f' { 0x21 } else { u32::from(control) };
    char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn numbered(character: char) -> String {
    format!("[U+{:04X}]", u32::from(character))
}

/// Invisible characters with an effect: they reorder, separate or hide text. Joiners and the variation selectors of
/// emoji are kept, because writing needs them.
const fn is_deceptive(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{9f}' // further controls
        | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{206f}' | '\u{feff}' // invisible
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' // direction of writing
        | '\u{2028}' | '\u{2029}' // line ends in some programs only
        | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' // invisible letters
    )
}

/// Replaces the hyphen with a space in everything that looks like one of the tags, in any spelling. The bare name,
/// without a bracket, is kept: it may be a file's or a variable's.
fn break_tags(text: String) -> String {
    let mut broken = String::new();
    let mut copied = 0;
    for (start, _) in text.char_indices().filter(|&(_, character)| fold(character) == '<') {
        let rest = text.get(start..).unwrap_or_default();
        if let Some((hyphen, width)) = hyphen_of_tag(rest)
            && let Some(before) = text.get(copied..start + hyphen)
        {
            broken.push_str(before);
            broken.push(' ');
            copied = start + hyphen + width;
        }
    }
    if copied == 0 {
        return text;
    }
    broken.push_str(text.get(copied..).unwrap_or_default());
    broken
}

/// The position and length of the hyphen, if `text` begins with a tag.
fn hyphen_of_tag(text: &str) -> Option<(usize, usize)> {
    let mut characters =
        text.char_indices().skip(1).filter(|&(_, character)| !is_joiner(character)).peekable();
    while characters
        .next_if(|&(_, character)| character.is_whitespace() || fold(character) == '/')
        .is_some()
    {}
    let [first, second] = WORDS;
    for expected in first.chars() {
        characters.next_if(|&(_, character)| fold(character) == expected)?;
    }
    let (at, hyphen) = characters.next_if(|&(_, character)| is_hyphen(character))?;
    for expected in second.chars() {
        characters.next_if(|&(_, character)| fold(character) == expected)?;
    }
    Some((at, hyphen.len_utf8()))
}

/// The plain lower-case letter for a letter of any width, weight or case.
fn fold(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let plain = once(character).nfkc().next().unwrap_or(character);
    plain.to_lowercase().next().unwrap_or(plain)
}

const fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{34f}' | '\u{fe00}'..='\u{fe0f}')
}

const fn is_hyphen(character: char) -> bool {
    matches!(
        character,
        '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controls_are_shown() {
        let cases = [
            ("a\tb\nc", "a\tb\nc"),
            ("a\r\nb\rc", "a\nb␍c"),
            ("\0\x1b[31mred\x1b[0m\x07\x7f", "␀␛[31mred␛[0m␇␡"),
            ("\u{9b}31m", "[U+009B]31m"),
            ("\u{202e}gnp.exe", "[U+202E]gnp.exe"),
            ("a\u{2028}b\u{feff}", "a[U+2028]b[U+FEFF]"),
            ("\u{e0041}\u{e0042}", "[U+E0041][U+E0042]"),
            ("👩\u{200d}🚀 ❤\u{fe0f} é", "👩\u{200d}🚀 ❤\u{fe0f} é"),
        ];
        for (text, shown) in cases {
            assert_eq!(harmless(text), shown);
        }
    }

    #[test]
    fn tags_are_broken_however_they_are_spelled() {
        let cases = [
            ("</stored-output-1f2e3d4c5b6a7988>", "</stored output-1f2e3d4c5b6a7988>"),
            ("<STORED-OUTPUT><stored-output", "<STORED OUTPUT><stored output"),
            (
                "< / stored\u{2011}output <\n/\nstored_output>",
                "< / stored output <\n/\nstored output>",
            ),
            ("＜／ｓｔｏｒｅｄ－ｏｕｔｐｕｔ＞", "＜／ｓｔｏｒｅｄ ｏｕｔｐｕｔ＞"),
            ("<𝐬𝐭𝐨𝐫𝐞𝐝-𝐨𝐮𝐭𝐩𝐮𝐭", "<𝐬𝐭𝐨𝐫𝐞𝐝 𝐨𝐮𝐭𝐩𝐮𝐭"),
            ("<\u{200d}stored\u{200d}-\u{200c}output", "<\u{200d}stored\u{200d} \u{200c}output"),
            ("<<stored-output", "<<stored output"),
            (
                "stored-output stored_output <x stored-output",
                "stored-output stored_output <x stored-output",
            ),
            (
                "<stored output <stored--output <storedoutput",
                "<stored output <stored--output <storedoutput",
            ),
        ];
        for (text, shown) in cases {
            assert_eq!(harmless(text), shown);
        }
    }

    #[test]
    fn a_line_stays_one() {
        assert_eq!(harmless_line("a\nb\tc\r\n", 100), "a␊b␉c␍␊");
        assert_eq!(harmless_line("ééééé", 8), "éé…");
        assert_eq!(harmless_line("ééééé", 10), "ééééé");
        assert_eq!(harmless_line("<stored-output", 100), "<stored output");
    }

    #[test]
    fn tags_carry_the_digest_of_what_is_between() {
        let delimited = delimit("text");
        let mark = handle::mark_of("text");
        assert_eq!(delimited, format!("<stored-output-{mark}>\ntext\n</stored-output-{mark}>"));
        assert_eq!(delimit(""), delimit(""));
        assert!(
            delimit("text\n")
                .ends_with(&format!("text\n</stored-output-{}>", handle::mark_of("text\n")))
        );
    }

    fn hostile() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &[
            "stored", "output", "-", "_", "<", "</", ">", "\u{200d}", "\r", "\n", "\x1b[2J", "S",
            "é", "\u{202e}",
        ];
        let piece = prop_oneof![
            prop::sample::select(PIECES).prop_map(str::to_owned),
            any::<char>().prop_map(String::from)
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_in_it_is_a_tag_or_a_control(text in hostile(), max_bytes in 3_usize..60) {
            let shown = harmless(&text);
            let plain: String = shown.chars().filter(|&one| !is_joiner(one)).map(fold).collect();
            let plain = plain.replace('_', "-");
            // With white space within the name, it is no tag.
            let is_tag = |rest: &str| {
                rest.trim_start_matches(|one: char| one.is_whitespace() || one == '/').starts_with(TAG)
            };
            prop_assert!(!plain.split('<').skip(1).any(is_tag), "{plain}");
            prop_assert!(shown.chars().all(|one| one == '\n' || one == '\t' || !(one.is_control() || is_deceptive(one))));
            prop_assert_eq!(&harmless(&shown), &shown, "what is harmless stays as it is");
            let line = harmless_line(&text, max_bytes);
            prop_assert!(line.len() <= max_bytes && !line.contains('\n'), "{line:?}");
            let mut bound = 0;
            let mut characters = text.chars().peekable();
            while let Some(one) = characters.next() {
                bound += shown_length(one, characters.peek().copied());
            }
            prop_assert!(shown.len() <= bound);
            let delimited = delimit(&text);
            prop_assert_eq!(delimited.matches(&handle::mark_of(&shown)).count(), 2);
        }
    }
}
