//! Recognises dates in text, so that a date in one notation is found by another.

/// Names of months, as they are indexed.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The length of `2023-05-07`.
pub(crate) const DATE_BYTES: usize = 10;

/// The most bytes of a word that [`month`] recognises.
pub(crate) const LONGEST_MONTH: usize = 4;

/// A recognised ISO date. In addition to its digits, it is indexed under this month and day.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Date<'a> {
    pub(crate) month: &'static str,
    /// Without a leading zero.
    pub(crate) day: &'a str,
}

/// The ISO date at the start of `text`.
pub(crate) fn iso_date(text: &str) -> Option<Date<'_>> {
    let bytes = text.as_bytes();
    let pattern_holds = bytes.len() >= DATE_BYTES
        && bytes.iter().take(DATE_BYTES).enumerate().all(|(place, byte)| match place {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
        && !bytes.get(DATE_BYTES).is_some_and(u8::is_ascii_digit);
    if !pattern_holds {
        return None;
    }
    let month: usize = text.get(5..7)?.parse().ok()?;
    let day = text.get(8..DATE_BYTES)?;
    let in_range = (1..=31).contains(&day.parse::<u8>().ok()?);
    let month = MONTHS.get(month.checked_sub(1)?).filter(|_| in_range)?;
    Some(Date { month, day: day.strip_prefix('0').unwrap_or(day) })
}

/// The month that an ambiguous word denotes: `May`, and abbreviations. The word denotes the month if a number is next
/// to it; `May` also within a sentence.
pub(crate) fn month(before: &str, word: &str, after: &str) -> Option<&'static str> {
    let name = abbreviated(word)?;
    let number_after = after
        .trim_start_matches([' ', '.', ','])
        .starts_with(|character: char| character.is_ascii_digit());
    let within_sentence = word == "May"
        && before
            .strip_suffix(' ')
            .is_some_and(|before| before.ends_with(|last: char| last.is_ascii_lowercase()));
    (follows_number(before) || number_after || within_sentence).then_some(name)
}

fn follows_number(before: &str) -> bool {
    let before = before.trim_end_matches(' ');
    let before = before.strip_suffix(" of").unwrap_or(before);
    let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|suffix| before.strip_suffix(suffix));
    ordinal.unwrap_or(before).ends_with(|last: char| last.is_ascii_digit())
}

fn abbreviated(word: &str) -> Option<&'static str> {
    if !(3..=4).contains(&word.len()) || !word.starts_with(|first: char| first.is_ascii_uppercase())
    {
        return None;
    }
    let three_letters = word.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().find(|month| month.starts_with(&three_letters))?;
    (word.len() == 3 || word == "Sept").then_some(month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_dates_are_recognised() {
        assert_eq!(iso_date("2023-05-07"), Some(Date { month: "may", day: "7" }));
        assert_eq!(iso_date("2023-12-31T16"), Some(Date { month: "december", day: "31" }));
        assert_eq!(iso_date("2023-10-20-backup"), Some(Date { month: "october", day: "20" }));
        for other in
            ["2023-13-07", "2023-00-07", "2023-05-32", "2023-05-00", "2023-05-071", "2023-5-7", "x"]
        {
            assert_eq!(iso_date(other), None, "{other}");
        }
    }

    #[test]
    fn months_are_distinguished_from_other_words() {
        let month = |text: &str, word: &str| {
            let (before, after) = text.split_once(word).unwrap();
            super::month(before, word, after)
        };
        for (text, word, name) in [
            ("May 7", "May", "may"),
            ("on 7 May", "May", "may"),
            ("the 7th of May", "May", "may"),
            ("what happened in May?", "May", "may"),
            ("Sept. 12, 2023", "Sept", "september"),
            ("12 Mar", "Mar", "march"),
        ] {
            assert_eq!(month(text, word), Some(name), "{text}");
        }
        for (text, word) in [
            ("May I ask", "May"),
            ("Done. May we go?", "May"),
            ("ask Jan about it", "Jan"),
            ("7 things that Jan said", "Jan"),
            ("Deck 7", "Deck"),
            ("you may 7", "may"),
        ] {
            assert_eq!(month(text, word), None, "{text}");
        }
    }
}
