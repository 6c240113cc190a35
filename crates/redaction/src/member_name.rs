//! The name of a member of a JSON object, and what it says about the member's value.

use std::borrow::Cow;

use super::names::NameClass;

/// Names of members whose value names the value of another member.
const NAMING: [&str; 6] = ["name", "key", "header", "variable", "field", "property"];
const VALUE: &str = "value";
/// The member of a JSON patch operation that points to the changed value.
const PATH: &str = "path";
/// Names of members that hold a command, and of those that hold its arguments.
const COMMANDS: [&str; 5] = ["command", "cmd", "program", "executable", "file"];
const ARGUMENTS: [&str; 4] = ["args", "argv", "arguments", "parameters"];

/// The name of a member.
#[derive(Debug, Clone)]
pub(super) struct MemberName<'a> {
    pub text: Cow<'a, str>,
    pub class: NameClass,
    pub role: Role,
}

/// The role of a member's value in its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It says nothing about other members.
    None,
    /// The value that another member names.
    Value,
    /// A pointer to a value.
    Path,
    Command,
    /// The arguments of a command.
    Arguments,
    /// The name of another member's value.
    Naming,
}

impl<'a> MemberName<'a> {
    /// Before the first member.
    pub const NONE: Self =
        Self { text: Cow::Borrowed(""), class: NameClass::Plain, role: Role::None };

    pub fn new(text: Cow<'a, str>, class: NameClass) -> Self {
        let role = Role::of(&text);
        Self { text, class, role }
    }
}

impl Role {
    fn of(name: &str) -> Self {
        let is = |known: &&str| name.eq_ignore_ascii_case(known);
        if is(&VALUE) {
            Self::Value
        } else if is(&PATH) {
            Self::Path
        } else if COMMANDS.iter().any(is) {
            Self::Command
        } else if ARGUMENTS.iter().any(is) {
            Self::Arguments
        } else if NAMING.iter().any(is) {
            Self::Naming
        } else {
            Self::None
        }
    }
}
