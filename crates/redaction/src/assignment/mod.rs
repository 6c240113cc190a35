//! Detector for values after names that denote secrets: assignments in any language or format, members, attributes,
//! flags. The scanner calls it at every anchor of a name. It works on any text, complete or cut.

mod below;
mod candidate;
mod command;
pub(super) mod lines;
mod separator;
mod settled;
mod table;
mod value_check;

use std::ops::Range;

use super::{
    names::{self, NameClass},
    value, work,
};
use candidate::{Candidate, PlainRun};
use separator::{Separator, separator};
use value_check::accepts;

pub(super) use table::Tables;

/// Minimum length of a value.
const SHORTEST: usize = 3;
/// Minimum length of a value that only white space separates from its name.
const SHORTEST_APART: usize = 20;

/// A name in a text, such as `db_password`.
struct Name<'a> {
    text: &'a str,
    range: Range<usize>,
    class: NameClass,
    /// The quote before the name, with its backslashes.
    quote: &'a str,
}

/// Finds the values of the names of one text. Names are given in order, so that what was read for one name is reused
/// for the next.
#[derive(Debug, Default)]
pub(super) struct Values {
    plain: PlainRun,
    classes: Classes,
}

/// Cache of the classes of a text's recent names: many lines have the same names.
#[derive(Debug, Default)]
struct Classes {
    /// Indexed by a hash of the name; empty before the first name.
    known: Vec<(Range<usize>, NameClass)>,
}

/// A text shorter than this has too few names for a cache.
const SHORT_TEXT: usize = 256;
/// Number of cached classes.
const KNOWN_NAMES: usize = 32;

impl Classes {
    /// The class of a name in the text.
    fn of(&mut self, text: &str, name: &Name<'_>, further: &[String]) -> NameClass {
        if text.len() < SHORT_TEXT {
            return names::classify_uncounted(name.text, further);
        }
        let bytes = name.text.as_bytes();
        let sign = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or_default());
        let number = bytes.len() + sign(bytes.first()) * 3 + sign(bytes.last()) * 5;
        if self.known.is_empty() {
            self.known.resize(KNOWN_NAMES, (0..0, NameClass::Plain));
        }
        let known = self.known.get_mut(number % KNOWN_NAMES);
        match known {
            Some((range, class)) if text.get(range.clone()) == Some(name.text) => *class,
            known => {
                let class = names::classify_uncounted(name.text, further);
                known.into_iter().for_each(|known| *known = (name.range.clone(), class));
                class
            }
        }
    }
}

/// What a name has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A secret in this range.
    Secret(Range<usize>),
    /// No secret, and none if prefixes of lines are left out.
    None,
    /// No secret in the text as it is. With prefixes of lines left out, it may have one.
    NotHere,
}

impl Values {
    /// Finds the value of the name that contains the byte at `position`. Returns the range of the name and what it has.
    pub fn find(
        &mut self,
        text: &str,
        position: usize,
        further: &[String],
    ) -> (Range<usize>, Value) {
        let range = name_at(text, position);
        let value = if settled::has_no_value(text.as_bytes(), &range) {
            Value::None
        } else {
            self.value_of(text, range.clone(), further).unwrap_or(Value::NotHere)
        };
        (range, value)
    }

    /// `None` if nothing that may be a value follows the name.
    fn value_of(&mut self, text: &str, range: Range<usize>, further: &[String]) -> Option<Value> {
        let whole = text.get(range.clone())?;
        let quote = quote_before(text, range.start);
        let mut name = Name { text: whole, range, class: NameClass::Plain, quote };
        name.class = self.classes.of(text, &name, further);
        if name.class == NameClass::Plain {
            return Some(if settled::may_be_cut(&name) { Value::NotHere } else { Value::None });
        }
        let (separator, start) = separator(text, &name)?;
        let candidate = Candidate::read(text, start, separator, &mut self.plain)?;
        let is_short = text.get(candidate.range.clone())?.chars().take(SHORTEST).count() < SHORTEST
            || separator == Separator::Space
                && candidate.range.len() < SHORTEST_APART
                && !text.get(..candidate.range.start)?.ends_with(" is ");
        let is_secret = !is_short && {
            names::count();
            work::add(STEPS_OF_BYTE * candidate.range.len().min(value::JUDGED));
            accepts(text, &name, separator, &candidate)
        };
        Some(if is_secret {
            Value::Secret(candidate.range.start..candidate.end)
        } else {
            settled::rejected(text, &name, separator, start..candidate.end, is_short)
        })
    }
}

/// Work steps per byte for judging a value.
const STEPS_OF_BYTE: usize = 3;

/// The name around a position: letters, digits and the signs that join them.
fn name_at(text: &str, position: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
    let (mut start, mut end) = (position, position);
    let first = position.saturating_sub(2 * names::MAX_NAME);
    while start > first {
        let (before, letter) = (at(start.wrapping_sub(2)), at(start - 1));
        let is_of_name = is_of_name(letter) || is_joint(letter) && start > 1 && is_of_name(before);
        // The letter of an escape sequence such as `\n` is not part of a name.
        let is_escape = before == b'\\' && start > 1 && matches!(letter, b'n' | b'r' | b't');
        if !is_of_name || is_escape {
            break;
        }
        start -= 1;
    }
    let limit = bytes.len().min(position + 2 * names::MAX_NAME);
    while end < limit
        && (is_of_name(at(end))
            || is_joint(at(end)) && is_of_name(at(end + 1))
            || at(end) == b' ' && is_space_in_name(bytes, end))
    {
        end += 1;
    }
    text.ceil_char_boundary(start)..text.floor_char_boundary(end)
}

/// Whether a byte is a letter, a digit or an underscore.
#[inline]
fn is_of_name(byte: u8) -> bool {
    #[expect(clippy::indexing_slicing, reason = "checked when the table is built")]
    static IS_OF_NAME: [bool; 256] = {
        let (mut is_of_name, mut byte) = ([false; 256], 0);
        while byte < is_of_name.len() {
            let letter = byte as u8;
            is_of_name[byte] =
                letter.is_ascii_alphanumeric() || letter == b'_' || !letter.is_ascii();
            byte += 1;
        }
        is_of_name
    };
    IS_OF_NAME.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Whether a sign may join the parts of a name.
const fn is_joint(byte: u8) -> bool {
    matches!(byte, b'-' | b'.')
}

/// Whether the space belongs to a name that is also written with a space, such as `api key` and `access key`.
fn is_space_in_name(bytes: &[u8], space: usize) -> bool {
    let rest = bytes.get(space + 1..).unwrap_or_default();
    rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"key"))
        && !rest.get(3).is_some_and(u8::is_ascii_alphanumeric)
}

/// The quotes directly before `start`, with their backslashes.
fn quote_before(text: &str, start: usize) -> &str {
    let before = text.get(..start).unwrap_or_default();
    let bytes = before.as_bytes();
    let is_quote = matches!(bytes.last(), Some(b'"' | b'\'' | b'`'));
    if !is_quote {
        return "";
    }
    let backslashes =
        bytes.iter().rev().skip(1).take(64).take_while(|&&byte| byte == b'\\').count();
    before.get(before.len() - 1 - backslashes..).unwrap_or_default()
}
