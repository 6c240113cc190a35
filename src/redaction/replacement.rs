//! What stands in place of a secret.

/// How every label begins. What begins so is not redacted again.
pub(super) const START: &str = "[REDACTED:";

/// Appends what stands in place of `secret`.
pub(super) fn write(secret: &str, rule: &str, preserves_length: bool, out: &mut String) {
    if !preserves_length {
        out.push_str(START);
        out.push_str(rule);
        out.push(']');
        return;
    }
    for character in secret.chars() {
        match character {
            '\n' | '\r' => out.push(character),
            _ => out.extend(std::iter::repeat_n('*', character.len_utf16())),
        }
    }
}
