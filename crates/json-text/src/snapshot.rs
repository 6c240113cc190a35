//! Turns the snapshot of a JavaScript value into JSON text, with exactly the bytes that `JSON.stringify` writes.
//!
//! `lib/native/snapshot.ts` takes the snapshot on the JavaScript thread; this module runs on a worker thread. Strings
//! arrive as UTF-16, as the engine stores them: copying them costs the JavaScript thread little, lengths need no
//! conversion, and lone surrogates, which `JSON.stringify` escapes, are preserved.
//!
//! | kind | what arrives | function |
//! |---|---|---|
//! | 0 `TEXT` | finished JSON text | [`write_text`](super::escape::write_text) |
//! | 1 `STRING` | a string value | [`write_string`] |
//! | 2 `FLAT` | operations, and all strings in one piece | [`write_flat`] |
//!
//! # Operations
//!
//! 32-bit integers in native byte order; lengths count UTF-16 units.
//!
//! ```text
//! operations[0]      T: the index at which the value ends and the key lists begin
//! operations[1]      U: the number of units of the strings before the key texts
//! operations[2 .. T] the value, depth first
//! operations[T ..]   the key lists, in the order of their numbers; each is a count n and n lengths. Their texts follow
//!                    each other from unit U on, every key in its final JSON form: "name":
//! ```
//!
//! Each operation of a value is `payload << 4 | code`:
//!
//! | code | name | payload | what follows |
//! |---|---|---|---|
//! | 0 | constant | 0 null, 1 true, 2 false, 3 absent | – |
//! | 1 | integer | the number, 28 bits signed | – |
//! | 2 | double | – | a padding integer if the next index is odd, then a finite double in two integers |
//! | 3 | string | its length | – (the next units of the strings) |
//! | 4 | array | number of elements | the elements |
//! | 5 | record | number of its key list | one value per key |
//! | 6 | dictionary | number of entries | per entry the length of the raw key, and the value |
//!
//! The key of an absent value is left out in objects; elsewhere an absent value is written as `null`.

use std::ops::Range;

use super::escape::{write_string, write_units};

/// Deeper values are passed as text. The limit also keeps malformed input from exhausting the stack.
const MAX_DEPTH: usize = 100;
/// More than any well-formed snapshot produces. It bounds the output of malformed key lists.
const MAX_OUTPUT: usize = 1 << 30;
const HEADER_LENGTH: usize = 2;

const NULL: i32 = 0;
const TRUE: i32 = 1;
const FALSE: i32 = 2;
const ABSENT: i32 = 3;

const CODE_BITS: u32 = 4;
const CODE_CONSTANT: i32 = 0;
const CODE_INTEGER: i32 = 1;
const CODE_DOUBLE: i32 = 2;
const CODE_STRING: i32 = 3;
const CODE_ARRAY: i32 = 4;
const CODE_RECORD: i32 = 5;
const CODE_DICTIONARY: i32 = 6;

const ABSENT_OPERATION: i32 = ABSENT << CODE_BITS | CODE_CONSTANT;

/// The operations do not describe a value: a bug on the JavaScript side, or an external caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed value snapshot: {0}")]
pub struct MalformedSnapshot(&'static str);

type Result<T> = std::result::Result<T, MalformedSnapshot>;

/// Appends the value that `operations` and its strings, `units`, describe. On an error, the caller must discard what
/// was appended.
///
/// # Errors
///
/// When they do not describe a value.
pub fn write_flat(operations: &[i32], units: &[u16], out: &mut Vec<u8>) -> Result<()> {
    let [value_end, value_units] = match operations {
        [value_end, value_units, ..] => [to_length(*value_end)?, to_length(*value_units)?],
        _ => return Err(MalformedSnapshot("no header")),
    };
    let (value, key_lists) =
        operations.split_at_checked(value_end).ok_or(MalformedSnapshot("value beyond the end"))?;
    let (value_units, key_units) =
        units.split_at_checked(value_units).ok_or(MalformedSnapshot("strings beyond the end"))?;
    // Digits, punctuation and keys are estimated by the number of operations.
    out.reserve(value_units.len() + operations.len() * 4);
    let mut writer = Writer {
        operations: value,
        position: HEADER_LENGTH,
        units: value_units,
        key_lists: KeyLists::read(key_lists, key_units)?,
        end: out.len().saturating_add(MAX_OUTPUT),
        out,
        doubles: ryu_js::Buffer::new(),
        integers: itoa::Buffer::new(),
    };
    writer.write_value(0)?;
    if writer.position != value.len() || !writer.units.is_empty() {
        return Err(MalformedSnapshot("more than one value"));
    }
    Ok(())
}

/// The keys of all lists in UTF-8.
struct KeyLists {
    text: Vec<u8>,
    /// The range of each key in `text`.
    keys: Vec<Range<usize>>,
    /// The range of each list in `keys`.
    lists: Vec<Range<usize>>,
}

impl KeyLists {
    fn read(mut operations: &[i32], mut units: &[u16]) -> Result<Self> {
        let mut key_lists = Self {
            text: Vec::with_capacity(units.len()),
            keys: Vec::with_capacity(operations.len()),
            lists: Vec::new(),
        };
        while let Some((&count, rest)) = operations.split_first() {
            let (lengths, rest) = rest
                .split_at_checked(to_length(count)?)
                .ok_or(MalformedSnapshot("key list beyond the end"))?;
            let first = key_lists.keys.len();
            for &length in lengths {
                let (key, rest) = split_units(units, length)?;
                let start = key_lists.text.len();
                write_units::<false>(key, &mut key_lists.text);
                key_lists.keys.push(start..key_lists.text.len());
                units = rest;
            }
            key_lists.lists.push(first..key_lists.keys.len());
            operations = rest;
        }
        if units.is_empty() { Ok(key_lists) } else { Err(MalformedSnapshot("keys left over")) }
    }
}

struct Writer<'a> {
    operations: &'a [i32],
    position: usize,
    /// The strings not yet written.
    units: &'a [u16],
    key_lists: KeyLists,
    /// The maximum length of `out`.
    end: usize,
    out: &'a mut Vec<u8>,
    doubles: ryu_js::Buffer,
    integers: itoa::Buffer,
}

impl Writer<'_> {
    fn take(&mut self) -> Result<i32> {
        let operation = self.operations.get(self.position);
        self.position += 1;
        operation.copied().ok_or(MalformedSnapshot("operations end early"))
    }

    fn write_value(&mut self, depth: usize) -> Result<()> {
        let operation = self.take()?;
        let payload = operation >> CODE_BITS;
        match operation & ((1 << CODE_BITS) - 1) {
            CODE_CONSTANT => self.write_constant(payload),
            CODE_INTEGER => {
                self.out.extend_from_slice(self.integers.format(payload).as_bytes());
                Ok(())
            }
            CODE_DOUBLE => self.write_double(),
            CODE_STRING => self.write_string(payload),
            CODE_ARRAY => self.write_array(payload, depth),
            CODE_RECORD => self.write_record(payload, depth),
            CODE_DICTIONARY => self.write_dictionary(payload, depth),
            _ => Err(MalformedSnapshot("unknown operation")),
        }
    }

    fn write_constant(&mut self, constant: i32) -> Result<()> {
        self.out.extend_from_slice(match constant {
            NULL | ABSENT => b"null",
            TRUE => b"true",
            FALSE => b"false",
            _ => return Err(MalformedSnapshot("unknown constant")),
        });
        Ok(())
    }

    fn write_double(&mut self) -> Result<()> {
        self.position += self.position & 1;
        let [first, second] = [self.take()?.to_ne_bytes(), self.take()?.to_ne_bytes()];
        let [a, b, c, d] = first;
        let [e, f, g, h] = second;
        let double = f64::from_ne_bytes([a, b, c, d, e, f, g, h]);
        if !double.is_finite() {
            return Err(MalformedSnapshot("number that is not finite"));
        }
        self.out.extend_from_slice(self.doubles.format_finite(double).as_bytes());
        Ok(())
    }

    fn write_string(&mut self, length: i32) -> Result<()> {
        let (string, rest) = split_units(self.units, length)?;
        self.units = rest;
        write_string(string, self.out);
        self.check_output()
    }

    fn write_array(&mut self, length: i32, depth: usize) -> Result<()> {
        let length = to_length(length)?;
        check_depth(depth)?;
        self.out.push(b'[');
        for index in 0..length {
            if index > 0 {
                self.out.push(b',');
            }
            self.write_value(depth + 1)?;
        }
        self.out.push(b']');
        self.check_output()
    }

    fn write_record(&mut self, list: i32, depth: usize) -> Result<()> {
        let keys = self.key_lists.lists.get(to_length(list)?);
        let keys = keys.ok_or(MalformedSnapshot("unknown key list"))?.clone();
        check_depth(depth)?;
        self.out.push(b'{');
        let mut is_empty = true;
        for key in keys {
            if self.skip_absent() {
                continue;
            }
            if !is_empty {
                self.out.push(b',');
            }
            is_empty = false;
            let range = self.key_lists.keys.get(key).cloned().unwrap_or_default();
            self.out.extend_from_slice(self.key_lists.text.get(range).unwrap_or_default());
            self.check_output()?;
            self.write_value(depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn write_dictionary(&mut self, entries: i32, depth: usize) -> Result<()> {
        let entries = to_length(entries)?;
        check_depth(depth)?;
        self.out.push(b'{');
        let mut is_empty = true;
        for _ in 0..entries {
            let key_length = self.take()?;
            let (key, rest) = split_units(self.units, key_length)?;
            self.units = rest;
            if self.skip_absent() {
                continue;
            }
            if !is_empty {
                self.out.push(b',');
            }
            is_empty = false;
            write_string(key, self.out);
            self.out.push(b':');
            self.check_output()?;
            self.write_value(depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Whether the value of a key is absent, so that the key is left out.
    fn skip_absent(&mut self) -> bool {
        let is_absent = self.operations.get(self.position) == Some(&ABSENT_OPERATION);
        self.position += usize::from(is_absent);
        is_absent
    }

    fn check_output(&self) -> Result<()> {
        if self.out.len() <= self.end { Ok(()) } else { Err(MalformedSnapshot("text too long")) }
    }
}

fn check_depth(depth: usize) -> Result<()> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(MalformedSnapshot("too deep")) }
}

fn to_length(value: i32) -> Result<usize> {
    usize::try_from(value).map_err(|_| MalformedSnapshot("negative length"))
}

fn split_units(units: &[u16], length: i32) -> Result<(&[u16], &[u16])> {
    units.split_at_checked(to_length(length)?).ok_or(MalformedSnapshot("string beyond the end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flat(operations: &[i32], strings: &str) -> Result<String> {
        let mut out = Vec::new();
        write_flat(operations, &strings.encode_utf16().collect::<Vec<_>>(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    const fn operation(code: i32, payload: i32) -> i32 {
        payload << CODE_BITS | code
    }

    fn double(value: f64) -> String {
        let bytes = value.to_ne_bytes();
        let [first, second] =
            [&bytes[..4], &bytes[4..]].map(|half| i32::from_ne_bytes(half.try_into().unwrap()));
        let alone = flat(&[6, 0, CODE_DOUBLE, 0, first, second], "").unwrap();
        // Within the array, the double needs no padding.
        let inside =
            flat(&[6, 0, operation(CODE_ARRAY, 1), CODE_DOUBLE, first, second], "").unwrap();
        assert_eq!(inside, format!("[{alone}]"));
        alone
    }

    #[test]
    fn writes_a_value_of_every_kind() {
        let operations = [
            14,
            6,
            operation(CODE_ARRAY, 4),
            operation(CODE_RECORD, 0),
            operation(CODE_STRING, 2),
            ABSENT_OPERATION,
            operation(CODE_INTEGER, -7),
            operation(CODE_RECORD, 1),
            operation(CODE_DICTIONARY, 2),
            3,
            ABSENT_OPERATION,
            1,
            operation(CODE_CONSTANT, TRUE),
            ABSENT_OPERATION,
            3,
            4,
            5,
            4,
            0,
        ];
        let text = flat(&operations, "x\"keyk\"é\":\"\\n\":\"b\":");
        assert_eq!(text.unwrap(), r#"[{"é":"x\"","b":-7},{},{"k":true},null]"#);
    }

    #[test]
    fn writes_doubles_as_javascript_does() {
        let cases = [
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1e21, "1e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (0.000_001, "0.000001"),
            (1e-7, "1e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (134_217_728.0, "134217728"),
        ];
        for (value, expected) in cases {
            assert_eq!(double(value), expected);
        }
    }

    #[test]
    fn refuses_what_is_malformed() {
        let deep = vec![operation(CODE_ARRAY, 1); 1_000_000];
        let cases: &[(&[i32], &str)] = &[
            (&[], ""),
            (&[2], ""),
            (&[2, 0], ""),
            (&[0, 0], ""),
            (&[-1, 0], ""),
            (&[3, -1, 0], ""),
            (&[9, 0, 0], ""),
            (&[3, 1, 0], ""),
            (&[4, 0, 0, 0], ""),
            (&[3, 1, 0], "a"),
            (&[3, 0, 0], "a"),
            (&[3, 1, operation(CODE_STRING, 2)], "a"),
            (&[3, 0, operation(CODE_STRING, -1)], ""),
            (&[3, 0, operation(CODE_ARRAY, i32::MAX >> CODE_BITS)], ""),
            (&[3, 0, operation(CODE_ARRAY, -1)], ""),
            (&[3, 0, operation(CODE_RECORD, 0)], ""),
            (&[3, 0, operation(CODE_RECORD, 0), i32::MAX], ""),
            (&[3, 0, operation(CODE_RECORD, 0), 1, 9], "\"a\":"),
            (&[3, 0, operation(CODE_DICTIONARY, 1)], ""),
            (&[4, 0, operation(CODE_DICTIONARY, 1), 0], ""),
            (&[3, 0, operation(CODE_CONSTANT, 4)], ""),
            (&[3, 0, 15], ""),
            (&[3, 0, CODE_DOUBLE], ""),
            (&[6, 0, CODE_DOUBLE, 0, -1, -1], ""),
            (&[&[1_000_002, 0], &deep[..]].concat(), ""),
        ];
        for (operations, strings) in cases {
            let head = &operations[..operations.len().min(8)];
            assert!(flat(operations, strings).is_err(), "{head:?} {strings:?}");
        }
    }

    #[test]
    fn stops_when_keys_blow_up() {
        let records = 20_000;
        let mut operations = vec![0, 0, operation(CODE_ARRAY, records)];
        operations.extend(
            (0..records).flat_map(|_| [operation(CODE_RECORD, 0), operation(CODE_INTEGER, 1)]),
        );
        operations[0] = i32::try_from(operations.len()).unwrap();
        operations.extend([1, 1 << 20]);
        assert_eq!(
            flat(&operations, &"k".repeat(1 << 20)),
            Err(MalformedSnapshot("text too long"))
        );
    }

    proptest! {
        #[test]
        fn random_operations_never_panic(
            operations in prop::collection::vec(
                prop_oneof![
                    4 => (0..8i32, -1..6i32).prop_map(|(code, payload)| operation(code, payload)),
                    2 => -1..40i32,
                    1 => any::<i32>(),
                ],
                0..60,
            ),
            value_end in 2..40i32,
            units in prop::collection::vec(any::<u16>(), 0..30),
        ) {
            let header = [value_end, 5];
            let _ = write_flat(&[&header, &operations[..]].concat(), &units, &mut Vec::new());
            let _ = write_flat(&operations, &units, &mut Vec::new());
        }
    }
}
