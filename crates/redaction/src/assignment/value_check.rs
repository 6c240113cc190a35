//! Decides whether a value is accepted as the secret that its name denotes.

use super::{
    Name,
    candidate::Candidate,
    separator::{Separator, before_quote},
};
use crate::{
    names::{self, NameClass},
    value::{self, Look},
};

/// Whether the value is accepted as the secret that its name denotes.
pub(super) fn accepts(
    text: &str,
    name: &Name<'_>,
    separator: Separator,
    candidate: &Candidate,
) -> bool {
    let Some(value) = text.get(candidate.range.clone()) else { return false };
    let value = value.get(..value.floor_char_boundary(value::JUDGED)).unwrap_or(value);
    if name.class == NameClass::Plain {
        return false;
    }
    let is_weak = name.class <= NameClass::Machine;
    if is_weak && value.len() < value::RANDOM_LENGTH {
        // Only random values are accepted below.
        return false;
    }
    let look = value::look(value);
    if look == Look::Nothing {
        return false;
    }
    let is_random = look == Look::Random;
    if is_weak {
        let is_loud = name.text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        return is_random
            && (separator != Separator::Space || is_loud && value.len() >= 20)
            && separator != Separator::Element
            && (name.class == NameClass::Machine || !value::is_digest(value))
            && (candidate.is_quoted || !value::is_code(value));
    }
    let is_password = name.class == NameClass::Password;
    match separator {
        Separator::Space => {
            // Prose mentions tokens: only a random value is accepted as a token, or a value that the text states to be
            // a password.
            let is_told = is_password
                && look == Look::Chosen
                && value.bytes().any(|byte| byte.is_ascii_digit())
                && text.get(..candidate.range.start).is_some_and(|before| before.ends_with(" is "));
            is_told || is_random && is_plain(value) && value.len() >= 20 && !value::is_code(value)
        }
        Separator::Flag => {
            !value.starts_with('-')
                && (is_random || look == Look::Chosen || is_password)
                && !value::is_code(value)
        }
        Separator::Argument => {
            let is_first = before_quote(text, name) == Some(b'(');
            (is_random || is_first && look == Look::Chosen && value.len() >= 8) && is_plain(value)
        }
        Separator::Sibling if !candidate.is_quoted && value::is_code(value) => false,
        // `<token>&page=2`: a placeholder with the text after it.
        Separator::Element if value.starts_with(['&', '@', '/', ':', '?']) => false,
        Separator::Element | Separator::Sibling => {
            is_random
                || !value.contains(char::is_whitespace)
                    && (is_password || look == Look::Chosen && value.len() >= 6)
        }
        // Such elements contain labels as well.
        Separator::Attribute => {
            let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
            is_random
                || look == Look::Chosen
                    && value.len() >= 6
                    && has_digit
                    && !value.contains(char::is_whitespace)
        }
        Separator::Line => {
            is_random
                || !value::is_prose(value)
                    && (is_password || look == Look::Chosen && value.len() >= 6)
        }
        Separator::Cell if value.contains(char::is_whitespace) || value::is_time(value) => false,
        Separator::Assignment | Separator::Tight | Separator::Block if candidate.is_quoted => {
            accepts_quoted(name, value, look, candidate)
        }
        Separator::Assignment | Separator::Tight | Separator::Block | Separator::Cell => {
            accepts_plain(text, name, separator, value, look, candidate)
        }
    }
}

fn accepts_quoted(name: &Name<'_>, value: &str, look: Look, candidate: &Candidate) -> bool {
    if look == Look::Random {
        return true;
    }
    if value.len() < 4 || value::is_prose(value) || value.contains(['\t']) {
        return false;
    }
    if look == Look::Chosen {
        // Code in quotes, a format string, or a path.
        return !value.contains(' ')
            && (name.class == NameClass::Password || is_likely_token(value))
            && !value.starts_with(['/', '.', '#', '?', '^', '('])
            && !value.contains("${")
            && !value.contains("{{")
            && !value.contains("%s");
    }
    // A value that is a name itself (`token: 'access_token'`) is not a secret.
    let same = names::joined(value) == names::joined(name.text);
    let is_name = value.contains(['_', '-', '.', ' '])
        || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let says_names = names::is_made_of_names(value) && (is_name || value.len() < 6);
    name.class == NameClass::Password
        && !(same || says_names || value.contains(' ') || candidate.after == b']')
}

fn accepts_plain(
    text: &str,
    name: &Name<'_>,
    separator: Separator,
    value: &str,
    look: Look,
    candidate: &Candidate,
) -> bool {
    if value::is_code(value) && !is_variable(name, separator) {
        return false;
    }
    if look == Look::Random {
        return true;
    }
    let is_call = value.contains('(') && value::is_code(value);
    if is_call || value.len() < 4 {
        return false;
    }
    if is_variable(name, separator) {
        return !value.starts_with('/')
            && (look == Look::Chosen || name.class == NameClass::Password || value.len() >= 8);
    }
    if name.class == NameClass::Secret && !is_likely_token(value) {
        return false;
    }
    let is_password = name.class == NameClass::Password;
    let is_said = is_password && text.get(name.range.end..name.range.end + 2) == Some(": ");
    let is_field = matches!(separator, Separator::Tight | Separator::Cell)
        || (candidate.ends_line && (is_said || starts_line(text, name.range.start)));
    let is_made_up = is_password && value.len() >= 8 && mixes_digits(value);
    look == Look::Chosen
        && (is_field || is_made_up)
        && !name.text.ends_with(value)
        && (has_digit_or_sign(value) || value::is_irregular(value))
        && (is_password || value.len() >= 8)
        && !matches!(candidate.after, b'(' | b'[')
}

/// Whether digits occur among letters in several places, which does not happen in names and words.
fn mixes_digits(value: &str) -> bool {
    let groups = value.split(|sign: char| !sign.is_ascii_digit()).filter(|group| !group.is_empty());
    groups.count() >= 2 && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether the value has only characters that tokens have.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_.-~:".contains(&byte))
        && !value.contains("//")
}

/// Whether a value that a person may have chosen looks like a token rather than like code.
fn is_likely_token(value: &str) -> bool {
    let is_code = value.contains(['[', ']', '{', '}', '(', ')', '|', '\\', '<', '>']);
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let is_path =
        value.len() < 16 && value::is_path(value.as_bytes()) && !value::is_irregular(value);
    !(is_code || is_number || is_path)
}

/// Whether the name is an environment variable in an assignment: `DB_PASSWORD=…`.
fn is_variable(name: &Name<'_>, separator: Separator) -> bool {
    separator == Separator::Tight
        && name.text.bytes().any(|byte| byte.is_ascii_uppercase())
        && name
            .text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn has_digit_or_sign(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
        || value.bytes().any(|byte| {
            matches!(
                byte,
                b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'~' | b'+' | b'='
            )
        })
}

/// Maximum length of the text before a name on its line. Longer text is not a file name or line number.
const MAX_BEFORE: usize = 512;

/// Whether only white space, a list dash, `export` or a prefix written by a tool precedes the name on its line, or in
/// the JSON string.
fn starts_line(text: &str, start: usize) -> bool {
    let from = text.ceil_char_boundary(start.saturating_sub(MAX_BEFORE));
    let before = text.get(from..start).unwrap_or_default();
    let Some(line) =
        before.rsplit(['\n', '\r']).next().filter(|line| from == 0 || line.len() < before.len())
    else {
        return false;
    };
    let line = line
        .trim_start_matches(['+', '-', '>', '<', '#', '/', '*', ' ', '\t', '"', '\'', '{', ',']);
    line.is_empty()
        || line.ends_with("\\n")
        || line == "export "
        || line == "set "
        || is_place(line)
        || ["<br>", "<br/>", "<br />", "\":\"", "\": \""].iter().any(|end| line.ends_with(end))
}

/// Whether a tool wrote the text as a prefix of a line: a line number or a file name (`12:`, `src/a.ini:12:`).
fn is_place(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let ends_number = before.ends_with(|last: char| last.is_ascii_digit());
    let place = before.trim_end_matches(['→', '|', ':', '-']).trim_end_matches(' ');
    let is_marked = place.len() < before.len() || ends_number;
    let is_number = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    let is_file = place.contains(['/', '.']) && !place.contains([' ', '\t', '"', '\'', '(', '=']);
    is_marked && is_number || before.ends_with([':', '-']) && is_file
}
