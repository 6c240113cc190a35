//! The canonical form of a JSON value: keys sorted, no white space, the last of members with the same key. Values that
//! differ only in these have equal bytes. Strings and numbers keep their spelling, so `1` and `1.0` differ. Used to
//! compare and hash arguments.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::slice;

use super::scan::{ScanError, Token, expect_end, walk_value};
use super::text::{decode_utf16, string_content};

/// Appends the value in canonical form: keys sorted at every depth by their UTF-16 code units, as JavaScript's default
/// sort does, and no white space outside strings. Of members with the same key the last one is kept, as with
/// `JSON.parse`. Keys, strings and numbers keep their spelling.
///
/// On an error, `out` is unchanged.
pub fn canonical(raw: &[u8], out: &mut Vec<u8>) -> Result<(), ScanError> {
    let mut builder = Builder::default();
    let end = walk_value(raw, 0, |token| {
        builder.add(token);
        ControlFlow::Continue(())
    })?;
    expect_end(raw, end)?;
    builder.write(out);
    Ok(())
}

/// A value and its key in the container.
struct Child<'a> {
    /// The key's token, empty in an array.
    key: &'a [u8],
    value: Value<'a>,
}

enum Value<'a> {
    Scalar(&'a [u8]),
    /// The range of the elements in the arena.
    Array(Range<usize>),
    /// The range of the members in the arena.
    Object(Range<usize>),
}

/// Builds the tree bottom-up in a flat arena, so that depth costs neither stack nor copies: every
/// child moves once to `pending` and, when its container ends, once to `arena`.
#[derive(Default)]
struct Builder<'a> {
    /// The children of ended containers, next to each other and in canonical order.
    arena: Vec<Child<'a>>,
    /// The children so far of all open containers, and finally the document's value.
    pending: Vec<Child<'a>>,
    open: Vec<Open<'a>>,
    /// The key of the next value.
    key: &'a [u8],
}

/// A container that has begun.
struct Open<'a> {
    key: &'a [u8],
    /// The index of its first child in `pending`.
    first: usize,
}

impl<'a> Builder<'a> {
    fn add(&mut self, token: Token<'a>) {
        match token {
            Token::Key(key) => self.key = key,
            Token::String(scalar) | Token::Number(scalar) | Token::Literal(scalar) => {
                let key = std::mem::take(&mut self.key);
                self.pending.push(Child { key, value: Value::Scalar(scalar) });
            }
            Token::ObjectStart | Token::ArrayStart => {
                let key = std::mem::take(&mut self.key);
                self.open.push(Open { key, first: self.pending.len() });
            }
            Token::ObjectEnd => self.end_container(sort_members, Value::Object),
            Token::ArrayEnd => self.end_container(|children| children, Value::Array),
        }
    }

    fn end_container(
        &mut self,
        arrange: impl FnOnce(Vec<Child<'a>>) -> Vec<Child<'a>>,
        value: impl FnOnce(Range<usize>) -> Value<'a>,
    ) {
        let Some(Open { key, first }) = self.open.pop() else { return };
        let start = self.arena.len();
        self.arena.extend(arrange(self.pending.split_off(first)));
        self.pending.push(Child { key, value: value(start..self.arena.len()) });
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut open =
            vec![Unwritten { children: self.pending.iter(), first: true, closing: None }];
        while let Some(container) = open.last_mut() {
            let Some(child) = container.children.next() else {
                out.extend(container.closing);
                open.pop();
                continue;
            };
            if !std::mem::take(&mut container.first) {
                out.push(b',');
            }
            if !child.key.is_empty() {
                out.extend_from_slice(child.key);
                out.push(b':');
            }
            let (range, opening, closing) = match &child.value {
                Value::Scalar(scalar) => {
                    out.extend_from_slice(scalar);
                    continue;
                }
                Value::Array(range) => (range, b'[', b']'),
                Value::Object(range) => (range, b'{', b'}'),
            };
            out.push(opening);
            let children = self.arena.get(range.clone()).unwrap_or_default().iter();
            open.push(Unwritten { children, first: true, closing: Some(closing) });
        }
    }
}

/// A container of which these children still have to be written.
struct Unwritten<'b, 'a> {
    children: slice::Iter<'b, Child<'a>>,
    first: bool,
    /// `None` around the document's value.
    closing: Option<u8>,
}

fn sort_members(members: Vec<Child<'_>>) -> Vec<Child<'_>> {
    if members.len() < 2 {
        return members;
    }
    let mut sorted: Vec<_> =
        members.into_iter().map(|member| (sort_key(member.key), member)).collect();
    // Stable, so that members with the same key stay in the order of the text.
    sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
    sorted.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            std::mem::swap(later, earlier);
        }
        same
    });
    sorted.into_iter().map(|(_, member)| member).collect()
}

/// Bytes that compare like the UTF-16 code units of a key: UTF-8 does as long as there are no
/// surrogates, and so does its generalization that encodes every surrogate on its own (CESU-8).
fn sort_key(key: &[u8]) -> Cow<'_, [u8]> {
    let content = string_content(key);
    if content.iter().all(|&byte| byte != b'\\' && byte < 0xf0) {
        return Cow::Borrowed(content);
    }
    let mut encoded = Vec::with_capacity(content.len() + content.len() / 2);
    for unit in decode_utf16(key) {
        let [high, low] = unit.to_be_bytes();
        match unit {
            ..0x80 => encoded.push(low),
            0x80..0x800 => encoded.extend([0xc0 | high << 2 | low >> 6, 0x80 | low & 0x3f]),
            0x800.. => encoded.extend([
                0xe0 | high >> 4,
                0x80 | (high & 0x0f) << 2 | low >> 6,
                0x80 | low & 0x3f,
            ]),
        }
    }
    Cow::Owned(encoded)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::{Map, Value as Tree};

    use super::*;

    /// A string token with every kind of content, lone surrogates included.
    pub(crate) const STRING: &str =
        r#""([ !#-\[\]-~é…\u{e000}😀]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}|\\ud83d\\ude00){0,9}""#;
    const SPACE: &str = "[ \t\r\n]{0,2}";

    /// The text of a value, with random whitespace between its tokens.
    pub(crate) fn json_text() -> impl Strategy<Value = String> {
        let number = r"-?(0|[1-9][0-9]{0,9})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?";
        let scalar = prop_oneof!["true|false|null", number, STRING];
        scalar.prop_recursive(5, 40, 6, |inner| {
            let value =
                (SPACE, inner, SPACE).prop_map(|(before, value, after)| before + &value + &after);
            let array =
                vec(value.clone(), 0..6).prop_map(|elements| format!("[{}]", elements.join(",")));
            prop_oneof![array, object_of(value)]
        })
    }

    /// The text of an object.
    pub(crate) fn object_text() -> impl Strategy<Value = String> {
        object_of(json_text())
    }

    fn object_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let member = (SPACE, STRING, SPACE, value)
            .prop_map(|(before, key, after, value)| format!("{before}{key}{after}:{value}"));
        (vec(member, 0..6), SPACE)
            .prop_map(|(members, space)| format!("{{{space}{}}}", members.join(",")))
    }

    fn canonical_text(json: &str) -> String {
        let mut out = Vec::new();
        canonical(json.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Trees of few distinct parts, so that equal ones are common.
    fn tree() -> impl Strategy<Value = Tree> {
        let scalar = prop_oneof![
            (0..2).prop_map(Tree::from),
            "[a\"]?".prop_map(Tree::from),
            Just(Tree::Null)
        ];
        scalar.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..3).prop_map(Tree::from),
                vec(("[aé😀\u{e000}\"]?", inner), 0..4)
                    .prop_map(|members| Tree::from(Map::from_iter(members))),
            ]
        })
    }

    /// The same value with the members of every object reversed.
    fn reversed(tree: &Tree) -> Tree {
        match tree {
            Tree::Array(elements) => elements.iter().map(reversed).collect(),
            Tree::Object(members) => {
                members.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect()
            }
            scalar => scalar.clone(),
        }
    }

    #[test]
    fn one_spelling_per_value() {
        let cases = [
            (" 1.50e+1 ", "1.50e+1"),
            (r#" [ ] "#, "[]"),
            (r#"[{ }, [ null ,true ], " a " ]"#, r#"[{},[null,true]," a "]"#),
            (r#"{"b":1,"a":{"d":[2, 3],"c":4}}"#, r#"{"a":{"c":4,"d":[2,3]},"b":1}"#),
            (
                r#"{"":0,"ab":1,"a":2,"B":3,"10":4,"9":5}"#,
                r#"{"":0,"10":4,"9":5,"B":3,"a":2,"ab":1}"#,
            ),
            // Escaped keys are sorted by their decoded text, a newline before a space.
            (r#"{" ":1,"\n":2}"#, r#"{"\n":2," ":1}"#),
            // UTF-16 order is not code point order: 😀 begins with d83d.
            ("{\"\u{e000}\":1,\"😀\":2,\"é\":3}", "{\"é\":3,\"😀\":2,\"\u{e000}\":1}"),
            (r#"{"\ude00":1,"\ud83d":2}"#, r#"{"\ud83d":2,"\ude00":1}"#),
            (r#"{"a":1,"b":2,"\u0061":3,"a":4}"#, r#"{"a":4,"b":2}"#),
            (r#"{"a":{"x":1},"a":[]}"#, r#"{"a":[]}"#),
        ];
        for (json, expected) in cases {
            assert_eq!(canonical_text(json), expected, "{json}");
        }
    }

    #[test]
    fn errors_leave_the_output_unchanged() {
        let mut out = b"before".to_vec();
        assert_eq!(canonical(b"[1,2", &mut out), Err(ScanError::Incomplete));
        assert_eq!(canonical(b"[1] 2", &mut out), Err(ScanError::Invalid { offset: 4 }));
        assert_eq!(out, b"before");
    }

    #[test]
    fn depth_is_no_limit() {
        let depth = 1_000_000;
        let nested =
            |opening: &str, closing: &str| opening.repeat(depth) + "1" + &closing.repeat(depth);
        let sorted = nested("{\"a\":[", "],\"b\":0}");
        assert_eq!(canonical_text(&nested("{\"b\":0,\"a\":[", "]}")), sorted);
        assert_eq!(canonical_text(&nested("[", "]")), nested("[", "]"));
    }

    #[test]
    fn sort_keys_compare_like_utf16() {
        let keys = [
            "a",
            "ab",
            "\u{7f}",
            "\u{80}",
            "\u{7ff}",
            "\u{800}",
            "\u{e000}",
            "\u{ffff}",
            "😀",
            "\u{10ffff}",
            r"\ud800",
            r"\udfff",
            r"\u0000",
        ];
        for left in keys.map(|key| format!("\"{key}\"")) {
            for right in keys.map(|key| format!("\"{key}\"")) {
                let units = decode_utf16(left.as_bytes()).cmp(&decode_utf16(right.as_bytes()));
                assert_eq!(
                    sort_key(left.as_bytes()).cmp(&sort_key(right.as_bytes())),
                    units,
                    "{left} {right}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn idempotent(json in json_text()) {
            let once = canonical_text(&json);
            prop_assert_eq!(&canonical_text(&once), &once);
        }

        #[test]
        fn equal_exactly_for_equal_values(left in tree(), right in tree()) {
            let text = canonical_text(&left.to_string());
            prop_assert_eq!(text == canonical_text(&right.to_string()), left == right);
            prop_assert_eq!(&canonical_text(&serde_json::to_string_pretty(&reversed(&left)).unwrap()), &text);
            prop_assert_eq!(serde_json::from_str::<Tree>(&text).unwrap(), left);
        }

        #[test]
        fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..64)) {
            let _ = canonical(&bytes, &mut Vec::new());
        }
    }
}
