//! The containers of a JSON text that are open around a string, and what they imply for it: the name of its member, the element before it,
//! the command whose argument it is.

use std::{borrow::Cow, ops::Range};

use super::{
    Redaction,
    commands::{is_password_flag, password_flags},
    json_value_check::{is_key_line, pointed_at},
    json_walker::MAX_NAME,
    names::{self, NameClass},
    searches::Searches,
};

/// Names of members whose value names the value of another member.
const NAMING: [&str; 6] = ["name", "key", "header", "variable", "field", "property"];
const VALUE: &str = "value";
/// The member of a JSON patch operation that points to the changed value.
const PATH: &str = "path";
/// Names of members that hold a command, and of those that hold its arguments.
const COMMANDS: [&str; 5] = ["command", "cmd", "program", "executable", "file"];
const ARGUMENTS: [&str; 4] = ["args", "argv", "arguments", "parameters"];
/// A container that is open around the current value.
enum Frame<'a> {
    Object {
        /// Whether an enclosing member has a secret name, so that all strings in the container are suspected.
        inherits: bool,
        key: Cow<'a, str>,
        class: NameClass,
        /// The class of the name that the object's naming member gives.
        named: NameClass,
        value: Option<Range<usize>>,
        /// The password flags of the command that a member names.
        flags: &'static [&'static str],
    },
    Array {
        inherits: bool,
        class: NameClass,
        /// What the previous element implies for the next one.
        before: Before,
        in_private_key: bool,
        /// The password flags of the command whose arguments these are. `None` before the first element, which may name
        /// the command.
        flags: Option<&'static [&'static str]>,
    },
}

/// What the previous element of an array implies for the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    Flag,
    /// A flag of a known command that takes a password.
    CommandFlag,
    Name,
}

/// The position of a string within its container.
pub(super) struct Place {
    pub class: NameClass,
    pub inherits: bool,
    pub in_array: bool,
    pub before: Before,
    pub in_private_key: bool,
}

/// The open containers, the innermost last.
#[derive(Default)]
pub(super) struct Frames<'a> {
    open: Vec<Frame<'a>>,
}

impl<'a> Frames<'a> {
    pub fn open_object(&mut self) {
        let (class, inherits) = self.container();
        self.open.push(Frame::Object {
            inherits: inherits || class >= NameClass::Secret,
            key: Cow::Borrowed(""),
            class: NameClass::Plain,
            named: NameClass::Plain,
            value: None,
            flags: &[],
        });
    }

    pub fn open_array(&mut self) {
        let flags = self.flags_of_arguments();
        let (class, inherits) = self.container();
        let before = Before::Nothing;
        self.open.push(Frame::Array { flags, inherits, class, before, in_private_key: false });
    }

    pub fn close_array(&mut self) {
        self.open.pop();
        self.pass();
    }

    /// Closes an object. Returns the value of its member `value` and the class of the name that its naming member gives it.
    pub fn close_object(&mut self) -> Option<(Range<usize>, NameClass)> {
        let frame = self.open.pop();
        self.pass();
        match frame {
            Some(Frame::Object { named, value: Some(range), .. }) => Some((range, named)),
            _ => None,
        }
    }

    /// The name class of the next container, and whether an enclosing member has a secret name.
    fn container(&mut self) -> (NameClass, bool) {
        match self.open.last_mut() {
            None => (NameClass::Plain, false),
            Some(Frame::Object { class, inherits, .. }) => (*class, *inherits),
            Some(Frame::Array { class, inherits, before, .. }) => {
                *before = Before::Nothing;
                (*class, *inherits)
            }
        }
    }

    /// The password flags of the command whose arguments the next array contains, where a member named the command.
    fn flags_of_arguments(&self) -> Option<&'static [&'static str]> {
        match self.open.last() {
            Some(Frame::Object { key, flags, .. })
                if ARGUMENTS.iter().any(|name| key.eq_ignore_ascii_case(name)) =>
            {
                Some(*flags).filter(|flags| !flags.is_empty())
            }
            _ => None,
        }
    }

    /// Called for an element that is not a string: a flag before it does not refer to the next string.
    pub fn pass(&mut self) {
        if let Some(Frame::Array { before, .. }) = self.open.last_mut() {
            *before = Before::Nothing;
        }
    }

    /// Sets the name of the next value, and its class.
    pub fn set_key(&mut self, text: Cow<'a, str>, found: NameClass) {
        if let Some(Frame::Object { key, class, .. }) = self.open.last_mut() {
            *class = found;
            *key = text;
        }
    }

    /// Whether the value repeats the member's name: `"cookie": "cookie"`.
    pub fn is_named_alike(&self, text: &str) -> bool {
        matches!(self.open.last(), Some(Frame::Object { key, .. }) if names::joined(key) == names::joined(text))
    }

    /// Determines the position of the string, and records what it implies for its neighbours.
    pub fn place(
        &mut self,
        redaction: &Redaction,
        text: &str,
        searches: Searches,
        range: &Range<usize>,
    ) -> Place {
        let class_of = |name: &str| {
            let may_be_secret = searches.has(Searches::ANCHORS);
            if may_be_secret { redaction.key_class(name) } else { NameClass::Plain }
        };
        match self.open.last_mut() {
            None => Place {
                class: NameClass::Plain,
                inherits: false,
                in_array: false,
                before: Before::Nothing,
                in_private_key: false,
            },
            Some(Frame::Object { inherits, key, class, named, value, flags }) => {
                if key.eq_ignore_ascii_case(VALUE) {
                    *value = Some(range.clone());
                } else if key.eq_ignore_ascii_case(PATH) {
                    *named = (*named).max(class_of(pointed_at(text)));
                } else if COMMANDS.iter().any(|name| key.eq_ignore_ascii_case(name)) {
                    *flags = password_flags(text);
                } else if text.len() <= MAX_NAME
                    && NAMING.iter().any(|naming| key.eq_ignore_ascii_case(naming))
                {
                    *named = (*named).max(class_of(text));
                }
                Place {
                    class: *class,
                    inherits: *inherits,
                    in_array: false,
                    before: Before::Nothing,
                    in_private_key: false,
                }
            }
            Some(Frame::Array { inherits, class, before, in_private_key, flags }) => {
                let was_key = *in_private_key;
                if searches.has(Searches::PRIVATE_KEYS) && text.contains("PRIVATE KEY") {
                    *in_private_key = text.contains("-----BEGIN ") && !text.contains("-----END ");
                } else if *in_private_key && !is_key_line(text) {
                    *in_private_key = false;
                }
                let place = Place {
                    class: *class,
                    inherits: *inherits,
                    in_array: true,
                    before: *before,
                    in_private_key: was_key,
                };
                let is_name = text.len() <= MAX_NAME
                    && !text.contains([' ', '='])
                    && class_of(text.trim_start_matches('-')) >= NameClass::Secret;
                let flags = *flags.get_or_insert_with(|| password_flags(text));
                *before = match (is_name, text.starts_with('-')) {
                    (false, true) if is_password_flag(flags, text) => Before::CommandFlag,
                    (false, _) => Before::Nothing,
                    (true, true) => Before::Flag,
                    (true, false) => Before::Name,
                };
                place
            }
        }
    }
}
