//! Parses the lines that `grep`, `rg` and similar tools print. The parser is written by hand: the equivalent regular
//! expressions repeat a Unicode class 250 times, and compiling them takes longer than most previews.

/// Maximum number of characters of a file name after its first character.
const MAX_NAME: usize = 250;
/// Maximum number of digits of a line number; the next constant is that of a column number.
const MAX_DIGITS: usize = 9;
const MAX_COLUMN_DIGITS: usize = 6;

/// A hit: the file name, the line number, and the text of the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit<'t> {
    pub name: &'t str,
    pub number: &'t str,
    pub said: &'t str,
}

/// `src/a.ts:12:text`, `src/a.ts:12:5:text`, `src/a.ts-12-text`
pub(super) fn numbered(line: &str) -> Option<Hit<'_>> {
    let (drive, rest) = line.split_at(drive_length(line));
    let mut characters = rest.char_indices();
    let (_, first) = characters.next()?;
    if first == ':' || first.is_whitespace() {
        return None;
    }
    for (at, character) in characters.take(MAX_NAME + 1) {
        let (number, said) = match character {
            '\t' => return None,
            ':' => {
                let (number, said) = number_before(rest.get(at + 1..)?, b":")?;
                (number, without_column(said))
            }
            '-' => match number_before(rest.get(at + 1..)?, b"-") {
                Some(found) => found,
                None => continue,
            },
            _ => continue,
        };
        return Some(Hit { name: line.get(..drive.len() + at)?, number, said });
    }
    None
}

/// `12:text` below a line with the file's name: the line number, and the text.
pub(super) fn headed(line: &str) -> Option<(&str, &str)> {
    let (number, said) = number_before(line, b":-")?;
    Some((number, without_column(said)))
}

/// The length of a drive at the start of a line, `C:\` or `C:/`; 0 if there is none.
fn drive_length(line: &str) -> usize {
    match line.as_bytes() {
        [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic() => 3,
        _ => 0,
    }
}

/// The number at the start of a text, and the text after the separator that follows the number.
fn number_before<'t>(text: &'t str, signs: &[u8]) -> Option<(&'t str, &'t str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).take(MAX_DIGITS + 1).count();
    let has_sign = text.as_bytes().get(digits).is_some_and(|sign| signs.contains(sign));
    let is_number = (1..=MAX_DIGITS).contains(&digits) && has_sign;
    is_number.then_some(())?;
    Some((text.get(..digits)?, text.get(digits + 1..)?))
}

fn without_column(text: &str) -> &str {
    match number_before(text, b":") {
        Some((column, said)) if column.len() <= MAX_COLUMN_DIGITS => said,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    const NUMBERED: &str = r"^((?:[A-Za-z]:[\\/])?[^\s:][^:\t]{0,250}?)(?::([0-9]{1,9}):(?:[0-9]{1,6}:)?|-([0-9]{1,9})-)(.*)$";
    const HEADED: &str = r"^([0-9]{1,9})[:\-](?:[0-9]{1,6}:)?(.*)$";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn lines_are_taken_apart_as_expressions_do(line in r"([C]:[/\\])?[ab12:/ .\t\-é]{0,24}") {
            static EXPRESSIONS: std::sync::LazyLock<[Regex; 2]> = std::sync::LazyLock::new(|| {
                [NUMBERED, HEADED].map(|one| Regex::new(one).unwrap())
            });
            let [numbered_of, headed_of] = &*EXPRESSIONS;
            let expected = numbered_of.captures(&line).map(|found| {
                let part = |number| found.get(number).map_or("", |part| part.as_str());
                let number = found.get(2).or_else(|| found.get(3)).map_or("", |part| part.as_str());
                Hit { name: part(1), number, said: part(4) }
            });
            prop_assert_eq!(numbered(&line), expected);
            let expected = headed_of.captures(&line).map(|found| {
                (found.get(1).unwrap().as_str(), found.get(2).unwrap().as_str())
            });
            prop_assert_eq!(headed(&line), expected);
        }
    }

    #[test]
    fn names_and_numbers_have_bounds() {
        let line =
            |name: usize, digits: usize| format!("{}:{}:x", "n".repeat(name), "1".repeat(digits));
        assert!(numbered(&line(251, 9)).is_some());
        assert_eq!(numbered(&line(252, 9)), None);
        assert_eq!(numbered(&line(9, 10)), None);
        assert_eq!(headed("1234567890:x"), None);
    }
}
