//! Decides whether strings of a JSON text are accepted as the secrets that their names denote.

use super::{
    json_walker::MAX_NAME,
    names::NameClass,
    value::{self, Look},
};

/// The last segment of a JSON pointer: `/db/password` gives `password`.
pub(super) fn pointed_at(pointer: &str) -> &str {
    let name = pointer.strip_prefix('/').and_then(|pointer| pointer.rsplit('/').next());
    name.filter(|name| name.len() <= MAX_NAME).unwrap_or_default()
}

/// Whether the value of a member is accepted as the secret that its name denotes.
pub(super) fn accepts_member(class: NameClass, text: &str) -> bool {
    if class == NameClass::Plain {
        return false;
    }
    match (class, value::look(text)) {
        (_, Look::Nothing) | (NameClass::Plain, _) => false,
        (NameClass::Weak, look) => look == Look::Random && !value::is_digest(text),
        (NameClass::Machine, look) => look == Look::Random,
        (NameClass::Secret, Look::Words | Look::Chosen) => !value::is_prose(text),
        (NameClass::Secret | NameClass::Password, _) => true,
    }
}

/// Whether a string in a container under a secret name is accepted as a secret: an object `credentials` contains user
/// names as well.
pub(super) fn accepts_inherited(text: &str) -> bool {
    match value::look(text) {
        Look::Random => true,
        Look::Chosen => text.len() >= 6 && !text.contains([' ', '@', '/', ':']),
        Look::Words | Look::Nothing => false,
    }
}

/// Whether the string after a header's name is accepted as the header's value.
pub(super) fn accepts_header(text: &str) -> bool {
    let credential = text.rsplit(' ').next().unwrap_or_default();
    let has_digit = credential.bytes().any(|byte| byte.is_ascii_digit());
    credential.len() >= 8 && has_digit && value::look(credential) >= Look::Chosen
}

/// Whether a text can be a line of an armoured key.
pub(super) fn is_key_line(text: &str) -> bool {
    let line = text.trim();
    !line.is_empty()
        && line
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}
