//! Commands that set a variable whose value is an argument of its own: `ENV NAME value`.

use super::{Name, lines::Lines, separator::Separator};

/// What stands before such a command on its line is at most so long: numbers of lines and steps.
const MAX_BEFORE: usize = 60;
/// Longer values are none.
const MAX_LINE: usize = 4096;

/// How the value behind the name is joined to it, if a command sets it: as a word, or as all of the
/// line.
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
    // `Step 4/9 : ENV …`, `12: ENV …`, `+ENV …`, but no sentence.
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

/// The bytes of a shell's command that sets a variable, at the end of a text.
fn shell_command(text: &str) -> Option<usize> {
    let fish = ["set -x", "set -gx", "set -Ux", "set -xg", "set -xU", "set -lx"];
    let commands = ["setenv", "setx"].into_iter().chain(fish);
    commands.filter(|command| text.ends_with(command)).map(str::len).next()
}
