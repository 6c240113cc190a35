//! Finds values in commands that set a variable and take the value as a separate argument: `ENV NAME value`.

use super::{Name, lines::Lines, separator::Separator};

/// Maximum length of the text before such a command on its line, such as line and step numbers.
const MAX_BEFORE: usize = 60;
/// Maximum length of a value.
const MAX_LINE: usize = 4096;

/// The separator between the name and its value, if a command sets the variable: the value is one word or the rest of
/// the line.
pub(super) fn set(text: &str, name: &Name<'_>, start: usize) -> Option<Separator> {
    let before = text.get(..name.range.start)?;
    let command = before.trim_end_matches([' ', '\t']);
    if command.len() == before.len() {
        return None;
    }
    let is_dockerfile = command.ends_with("ENV");
    let length = if is_dockerfile { "ENV".len() } else { shell_command(command)? };
    let at = command.len() - length;
    let lines = Lines::around(text, start);
    let line = lines.start(at, MAX_BEFORE)?;
    // Accepts prefixes such as `Step 4/9 : ENV …`, `12: ENV …` and `+ENV …`, but not a sentence.
    let prefix = text.get(line..at)?.replace("Step ", "");
    if prefix.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let (line, _) = lines.rest(start, MAX_LINE)?;
    let value = text.get(line)?.trim_end();
    let is_word =
        value.trim_start_matches('\\').starts_with(['"', '\'']) || !value.contains([' ', '\t']);
    match (is_word, is_dockerfile) {
        (true, _) => Some(Separator::Tight),
        (false, true) => Some(Separator::Line),
        (false, false) => None,
    }
}

/// Whether a command that sets the variable precedes the name.
pub(super) fn may_set(text: &str, name: &Name<'_>) -> bool {
    let before = text.get(..name.range.start).unwrap_or_default().trim_end_matches([' ', '\t']);
    before.ends_with("ENV") || shell_command(before).is_some()
}

/// The length of a shell command that sets a variable, at the end of a text.
fn shell_command(text: &str) -> Option<usize> {
    let fish = ["set -x", "set -gx", "set -Ux", "set -xg", "set -xU", "set -lx"];
    let commands = ["setenv", "setx"].into_iter().chain(fish);
    commands.filter(|command| text.ends_with(command)).map(str::len).next()
}
