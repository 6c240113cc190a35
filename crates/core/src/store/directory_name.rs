//! Checks directory names that callers choose (agents, sessions): they must be valid on every
//! operating system.

/// The longest directory name, in bytes.
const MAX_DIRECTORY_NAME: usize = 100;
/// Device names that Windows reserves, with any extension.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The reason why a name is not a valid directory name on every system; `None` if it is valid.
#[must_use]
pub fn directory_name_error(name: &str) -> Option<&'static str> {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_port = |port: &str| {
        let number = stem.strip_prefix(port).unwrap_or_default();
        matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}")
            || number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    if name.is_empty() {
        Some("must not be empty")
    } else if name.len() > MAX_DIRECTORY_NAME {
        Some("must have at most 100 bytes")
    } else if name.starts_with('.') {
        Some("must not begin with a dot: such directories are hidden")
    } else if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        Some("must not begin with a space or end with a space or a dot")
    } else if name.contains(['/', '\\', '<', '>', ':', '"', '|', '?', '*'])
        || name.chars().any(char::is_control)
    {
        Some("must not contain any of / \\ < > : \" | ? * or control characters")
    } else if RESERVED.contains(&stem.as_str()) || is_port("com") || is_port("lpt") {
        Some("is a device's name on Windows")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_so_that_every_system_takes_them() {
        for name in
            ["code-reviewer", "Réviseur 2", "a1b2c3d4-e5f6", "console", "com", "com10", "a.b"]
        {
            assert_eq!(directory_name_error(name), None, "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            ".hidden",
            "a/b",
            "a\\b",
            "a:b",
            "a\0b",
            "a\nb",
            "con",
            "CON",
            "nul.txt",
            "Com1",
            "lpt9.md",
            "com\u{b2}",
            "aux .x",
            "x.",
            "x ",
            " x",
            "a?",
            "a*",
        ] {
            assert!(directory_name_error(name).is_some(), "{name:?}");
        }
        assert!(directory_name_error(&"é".repeat(51)).is_some());
    }
}
