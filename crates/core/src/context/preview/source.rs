//! The preview of source files: their definitions, as the code map finds them.

use std::{sync::LazyLock, time::Duration};

use code_map::{Definition, Language, SymbolParser};
use json_text::Members;
use regex::Regex;
use tasks::Cancelled;

use super::{Preview, counted, lines, outlined, write_sections};

/// The longest text that is parsed, in bytes.
const MAX_PARSED: usize = 256 * 1024;
/// The time limit for parsing; beyond it, the text is shown as any other.
const MAX_TIME: Duration = Duration::from_millis(50);
/// The longest argument that counts as a path, in bytes.
const MAX_PATH: usize = 1024;
/// The least share of lines with numbers in a text with line numbers.
const MOST_NUMBERED: (usize, usize) = (95, 100);

/// `   12→text`, `12: text`, `12 | text`: the line numbers that tools for reading files add.
static NUMBER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^[ \t]*([0-9]{1,7})(?:\t|→|[ \t]?[|│:][ \t]?)").ok());

/// The preview of a source file that `arguments` name; `None` if they name none, or it has no definitions.
pub(super) fn preview(text: &str, arguments: &[u8], max_bytes: usize) -> Option<Preview> {
    if text.len() > MAX_PARSED {
        return None;
    }
    let language = language_of(arguments)?;
    let (numbered, first_line) = without_numbers(text).unzip();
    let source = numbered.as_deref().unwrap_or(text);
    let symbols = SymbolParser::new().symbols_within(
        language,
        source.as_bytes(),
        MAX_TIME,
        &Cancelled::default(),
    )?;
    let definitions = symbols.definitions;
    if definitions.is_empty() {
        return None;
    }
    let before = first_line.unwrap_or(1).saturating_sub(1);
    let first = format!(
        "source of {} that defines {}:",
        counted(lines::ranges(text).count(), "line"),
        counted(definitions.len(), "name")
    );
    let sections = sections_of(&definitions, before);
    Some(outlined(write_sections(&first, &sections, "names", max_bytes), text, max_bytes))
}

/// Groups definitions with the ones nested in them.
fn sections_of(definitions: &[Definition], before: usize) -> Vec<(String, Vec<String>)> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    let mut owner: Option<&str> = None;
    for definition in definitions {
        let line = before + definition.line as usize;
        let said = format!("line {line}: {}", definition.signature);
        match (&definition.container, sections.last_mut()) {
            (Some(container), Some((_, members))) if owner == Some(container.as_str()) => {
                members.push(format!("  {said}"));
            }
            (container, _) => {
                owner = container.as_deref().or(Some(&definition.name));
                sections.push((said, Vec::new()));
            }
        }
    }
    sections
}

/// The language of the file that a call's arguments name.
fn language_of(arguments: &[u8]) -> Option<Language> {
    let mut members = Members::new(arguments, 0).ok()?;
    let mut language = None;
    while let Ok(Some(_)) = members.next_key() {
        let value = members.skip_value().ok()?;
        let Some(text) = arguments.get(value).filter(|text| text.len() <= MAX_PATH) else {
            continue;
        };
        let Some(text) = json_text::decode_string(text) else { continue };
        // A path, or a command that prints a file: the output of other commands is not the file's text.
        let path = ["cat -n ", "cat ", "nl "]
            .iter()
            .find_map(|command| text.strip_prefix(command))
            .unwrap_or(&text);
        if path.contains(char::is_whitespace) || path.contains(['*', '|', ';', '(']) {
            continue;
        }
        language = language.or_else(|| Language::of(path));
    }
    language
}

/// The text without line numbers, and the first number; `None` if there are none.
fn without_numbers(text: &str) -> Option<(String, usize)> {
    let number = NUMBER.as_ref()?;
    let all = lines::contents(text).filter(|line| !line.trim().is_empty()).count();
    let mut found = number.captures_iter(text);
    let first = found.next()?.get(1)?.as_str().parse().ok()?;
    let (most, whole) = MOST_NUMBERED;
    ((found.count() + 1) * whole >= all * most)
        .then(|| (number.replace_all(text, "").into_owned(), first))
}
