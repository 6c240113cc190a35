//! The containers of a JSON text that are open around a string, and what they imply for it: the name of its member, the element before it,
//! the command whose argument it is.

use std::ops::Range;

use super::{
    Redaction,
    commands::{is_password_flag, password_flags},
    json_value_check::{is_key_line, pointed_at},
    json_walker::MAX_NAME,
    member_name::{MemberName, Role},
    names::{self, NameClass},
    plain_strings::Plain,
    searches::Searches,
};

/// A container that is open around the current value.
enum Frame<'a> {
    Object {
        /// Whether an enclosing member has a secret name, so that all strings in the container are suspected.
        inherits: bool,
        /// The name of the current member.
        name: MemberName<'a>,
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
            name: MemberName::NONE,
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
            Some(Frame::Object { name, inherits, .. }) => (name.class, *inherits),
            Some(Frame::Array { class, inherits, before, .. }) => {
                *before = Before::Nothing;
                (*class, *inherits)
            }
        }
    }

    /// The password flags of the command whose arguments the next array contains, where a member named the command.
    fn flags_of_arguments(&self) -> Option<&'static [&'static str]> {
        match self.open.last() {
            Some(Frame::Object { name, flags, .. }) if name.role == Role::Arguments => {
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

    /// Sets the name of the next value.
    pub fn set_name(&mut self, next: MemberName<'a>) {
        if let Some(Frame::Object { name, .. }) = self.open.last_mut() {
            *name = next;
        }
    }

    /// Whether the value repeats the member's name: `"cookie": "cookie"`.
    pub fn is_named_alike(&self, text: &str) -> bool {
        matches!(self.open.last(), Some(Frame::Object { name, .. }) if names::joined(&name.text) == names::joined(text))
    }

    /// Records a string in which no search finds anything, and returns whether that is all: the string is no secret of its place, and
    /// implies nothing for its neighbours. Otherwise, nothing is recorded.
    pub fn pass_plain(&mut self, string: &Plain, range: &Range<usize>) -> bool {
        match self.open.last_mut() {
            None => true,
            Some(Frame::Object { inherits, name, value, flags, .. }) => {
                if *inherits || name.class != NameClass::Plain {
                    return false;
                }
                match name.role {
                    Role::Value => *value = Some(range.clone()),
                    Role::Command => *flags = password_flags(&string.text()),
                    Role::Path | Role::Naming | Role::Arguments | Role::None => {}
                }
                true
            }
            Some(Frame::Array { inherits, class, before, in_private_key, flags }) => {
                !*inherits
                    && *class == NameClass::Plain
                    && *before == Before::Nothing
                    && !*in_private_key
                    && flags.is_some_and(<[_]>::is_empty)
            }
        }
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
            Some(Frame::Object { inherits, name, named, value, flags }) => {
                match name.role {
                    Role::Value => *value = Some(range.clone()),
                    Role::Path => *named = (*named).max(class_of(pointed_at(text))),
                    Role::Command => *flags = password_flags(text),
                    Role::Naming if text.len() <= MAX_NAME => {
                        *named = (*named).max(class_of(text));
                    }
                    Role::Naming | Role::Arguments | Role::None => {}
                }
                Place {
                    class: name.class,
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
