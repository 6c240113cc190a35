//! The outline of a JSON text: keys, element counts and types of its upper levels. `placeholder` and `json_preview`
//! show it.

use std::{fmt::Write, ops::ControlFlow};

use json_text::Token;

use super::delimited::harmless_line;

/// Deeper values are counted, not described. An array's elements are one level, their members another.
const MAX_DEPTH: usize = 3;
/// The most keys that are named of the outermost object, and of the others.
const MAX_OUTER_KEYS: usize = 16;
const MAX_INNER_KEYS: usize = 8;
/// The longest key, in bytes; longer ones are cut.
const MAX_KEY: usize = 40;
/// The longest string whose size is not given, in bytes.
const SHORT_STRING: usize = 100;
/// The longest value that is shown, in bytes.
pub(super) const MAX_VALUE: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Object, Self::Array, Self::String, Self::Number, Self::Boolean, Self::Null];

    const fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}

/// A value that is described.
struct Node {
    kind: Kind,
    /// The number of members or elements; of a string its bytes.
    size: usize,
    /// The number of elements of each kind, in the order of [`Kind::ALL`].
    elements: [usize; Kind::ALL.len()],
    /// The described members: keys and nodes.
    members: Vec<(String, usize)>,
    /// The first object or array in an array.
    sample: Option<usize>,
    /// The text of a short scalar, if values are shown.
    value: Option<String>,
}

/// Builds the nodes during the scan. Values below [`MAX_DEPTH`] need no memory.
#[derive(Default)]
struct Builder<'a> {
    nodes: Vec<Node>,
    /// The described open containers, outermost first.
    open: Vec<usize>,
    /// The number of open containers that are not described.
    skipped: usize,
    key: &'a [u8],
    /// Whether the values of scalars are kept.
    keeps_values: bool,
}

impl<'a> Builder<'a> {
    fn add(&mut self, token: Token<'a>) {
        match token {
            Token::Key(key) if self.skipped == 0 => self.key = key,
            Token::Key(_) => {}
            Token::ObjectStart => self.begin(Kind::Object),
            Token::ArrayStart => self.begin(Kind::Array),
            Token::ObjectEnd | Token::ArrayEnd if self.skipped > 0 => self.skipped -= 1,
            Token::ObjectEnd | Token::ArrayEnd => drop(self.open.pop()),
            _ if self.skipped > 0 => {}
            Token::String(string) => {
                if let Some(node) = self.child(Kind::String).and_then(|at| self.nodes.get_mut(at)) {
                    let text = json_text::decode_string(string).unwrap_or_default();
                    node.size = text.len();
                    if self.keeps_values && text.len() <= MAX_VALUE {
                        node.value = Some(shown_string(&text));
                    }
                }
            }
            Token::Number(number) => self.scalar(Kind::Number, number),
            Token::Literal(b"null") => drop(self.child(Kind::Null)),
            Token::Literal(boolean) => self.scalar(Kind::Boolean, boolean),
        }
    }

    fn scalar(&mut self, kind: Kind, token: &[u8]) {
        let keeps_value = self.keeps_values && token.len() <= MAX_VALUE;
        if let Some(node) = self.child(kind).and_then(|at| self.nodes.get_mut(at))
            && keeps_value
        {
            node.value = str::from_utf8(token).ok().map(str::to_owned);
        }
    }

    fn begin(&mut self, kind: Kind) {
        if self.skipped == 0
            && let Some(node) = self.child(kind)
        {
            self.open.push(node);
        } else {
            self.skipped += 1;
        }
    }

    /// Counts a value in its container; returns its node, if it is described.
    fn child(&mut self, kind: Kind) -> Option<usize> {
        let depth = self.open.len();
        let next = self.nodes.len();
        if let Some(parent) = self.open.last().and_then(|&at| self.nodes.get_mut(at)) {
            parent.size += 1;
            if parent.kind == Kind::Array {
                if let Some(count) = parent.elements.get_mut(kind as usize) {
                    *count += 1;
                }
                let is_container = matches!(kind, Kind::Object | Kind::Array);
                if !is_container || parent.sample.is_some() || depth > MAX_DEPTH {
                    return None;
                }
                parent.sample = Some(next);
            } else {
                let most = if depth == 1 { MAX_OUTER_KEYS } else { MAX_INNER_KEYS };
                if parent.members.len() == most || depth > MAX_DEPTH {
                    return None;
                }
                parent.members.push((key_text(self.key), next));
            }
        }
        self.nodes.push(Node {
            kind,
            size: 0,
            elements: [0; Kind::ALL.len()],
            members: Vec::new(),
            sample: None,
            value: None,
        });
        Some(next)
    }
}

/// A key as shown: plain if it is a name, otherwise as JSON.
fn key_text(key: &[u8]) -> String {
    let text = json_text::decode_string(key).unwrap_or_default();
    let shown = harmless_line(&text, MAX_KEY);
    let is_name = shown.chars().all(|one| one.is_alphanumeric() || "_-.$@…".contains(one));
    if is_name && !shown.is_empty() { shown } else { quoted(&shown) }
}

/// A string as JSON, in a line.
fn shown_string(text: &str) -> String {
    quoted(&harmless_line(text, 2 * MAX_VALUE))
}

fn quoted(text: &str) -> String {
    let mut token = Vec::new();
    json_text::escape_string(text, &mut token);
    String::from_utf8(token).unwrap_or_default()
}

/// The outline of a JSON text in at most `max_bytes` bytes, in whole lines with line ends. `None` if the text is
/// neither an object nor an array.
pub(super) fn outline(text: &[u8], max_bytes: usize) -> Option<String> {
    outline_of(text, max_bytes, Builder::default())
}

/// As [`outline`], with the values of short scalars: `exitCode: number (1)`.
pub(super) fn outline_with_values(text: &[u8], max_bytes: usize) -> Option<String> {
    outline_of(text, max_bytes, Builder { keeps_values: true, ..Builder::default() })
}

fn outline_of<'a>(text: &'a [u8], max_bytes: usize, mut builder: Builder<'a>) -> Option<String> {
    let start = json_text::skip_whitespace(text, 0);
    text.get(start).filter(|first| matches!(first, b'{' | b'['))?;
    let end = json_text::walk_value(text, start, |token| {
        builder.add(token);
        ControlFlow::Continue(())
    });
    if json_text::skip_whitespace(text, end.ok()?) < text.len() {
        return None;
    }
    Some(write(&builder.nodes, max_bytes))
}

/// An item to be written: a node with its key, or a note on omitted members.
enum Line<'a> {
    Node { key: Option<&'a str>, node: usize },
    Left(usize),
}

fn write(nodes: &[Node], max_bytes: usize) -> String {
    const CUT: &str = "…\n";
    let mut out = String::new();
    let mut waiting = vec![(0, Line::Node { key: None, node: 0 })];
    while let Some((level, line)) = waiting.pop() {
        let mut text = "  ".repeat(level);
        let mut parent = None;
        match line {
            Line::Left(count) => {
                let _ = write!(text, "… and {count} more");
            }
            Line::Node { key, node } => {
                let Some(node) = nodes.get(node) else { continue };
                if let Some(key) = key {
                    let _ = write!(text, "{key}: ");
                }
                parent = describe(nodes, node, &mut text);
            }
        }
        text.push('\n');
        // Keeps space for the note on omitted lines while further lines may follow.
        if out.len() + text.len() + CUT.len() > max_bytes {
            if out.len() + CUT.len() <= max_bytes {
                out.push_str(CUT);
            }
            break;
        }
        out.push_str(&text);
        let Some(parent) = parent else { continue };
        let left = parent.size - parent.members.len();
        if left > 0 && !parent.members.is_empty() {
            waiting.push((level + 1, Line::Left(left)));
        }
        let members = parent.members.iter().rev();
        waiting.extend(
            members.map(|(key, node)| (level + 1, Line::Node { key: Some(key), node: *node })),
        );
    }
    out
}

/// Describes a value in one line; returns the object whose members are described next, if any.
fn describe<'a>(nodes: &'a [Node], node: &'a Node, out: &mut String) -> Option<&'a Node> {
    let mut node = node;
    loop {
        match node.kind {
            Kind::Object => {
                let _ = write!(out, "object with {}", counted(node.size, "key"));
                return Some(node);
            }
            Kind::Array => {}
            Kind::String if node.size > SHORT_STRING => {
                let _ = write!(out, "string of {} bytes", node.size);
                return None;
            }
            scalar => {
                out.push_str(scalar.name());
                if let Some(value) = &node.value {
                    let _ = write!(out, " ({value})");
                }
                return None;
            }
        }
        out.push_str("array of ");
        write_elements(node, out);
        node = node.sample.and_then(|sample| nodes.get(sample))?;
        if node.kind == Kind::Object {
            let _ = write!(out, "; the first object has {}", counted(node.size, "key"));
            return Some(node);
        }
        out.push_str("; the first array is an ");
    }
}

fn write_elements(array: &Node, out: &mut String) {
    let kinds: Vec<String> = Kind::ALL
        .iter()
        .zip(array.elements)
        .filter(|&(_, count)| count > 0)
        .map(|(kind, count)| counted(count, kind.name()))
        .collect();
    match kinds.as_slice() {
        [] => out.push_str("0 elements"),
        [only] => out.push_str(only),
        several => {
            let _ = write!(out, "{} elements ({})", array.size, several.join(", "));
        }
    }
}

fn counted(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn outlined(text: &str) -> String {
        outline(text.as_bytes(), 4096).unwrap_or_else(|| "none".to_owned())
    }

    #[test]
    fn keys_counts_and_types() {
        let long = "x".repeat(101);
        let text = format!(
            r#" {{"results":[{{"id":1,"tags":["a","b"],"deep":{{"a":{{"b":1}}}}}},{{"id":2}}],"total":2,"next":null,"is done":true,"body":"{long}","short":"x"}} "#
        );
        assert_eq!(
            outlined(&text),
            "object with 6 keys\n  \
               results: array of 2 objects; the first object has 3 keys\n    \
                 id: number\n    \
                 tags: array of 2 strings\n    \
                 deep: object with 1 key\n  \
               total: number\n  \
               next: null\n  \
               \"is done\": boolean\n  \
               body: string of 101 bytes\n  \
               short: string\n"
        );
        assert_eq!(outlined("{}"), "object with 0 keys\n");
        assert_eq!(outlined("[]"), "array of 0 elements\n");
        assert_eq!(
            outlined("[1,2,\"a\",null]"),
            "array of 4 elements (1 string, 2 numbers, 1 null)\n"
        );
        assert_eq!(
            outlined("[[1,2],[3]]"),
            "array of 2 arrays; the first array is an array of 2 numbers\n"
        );
        for text in ["1", "\"{}\"", "", "{", "{} x", "[1,]", "null"] {
            assert_eq!(outlined(text), "none", "{text}");
        }
    }

    #[test]
    fn many_keys_and_long_keys_are_left_out_and_counted() {
        let members: Vec<String> = (0..100).map(|key| format!("\"k{key}\":{{}}")).collect();
        let text = outlined(&format!("{{{}}}", members.join(",")));
        assert!(text.starts_with("object with 100 keys\n  k0: object with 0 keys\n"), "{text}");
        assert!(text.ends_with("  k15: object with 0 keys\n  … and 84 more\n"), "{text}");
        let text = outlined(&format!("{{\"{}\":1,\"a\\nb\":1}}", "é".repeat(100)));
        assert_eq!(
            text,
            format!("object with 2 keys\n  {}…: number\n  a␊b: number\n", "é".repeat(18))
                .replace("a␊b", "\"a␊b\"")
        );
    }

    #[test]
    fn short_values_are_shown_where_they_are_wanted() {
        let text = format!(
            "{{\"code\":1,\"ok\":false,\"none\":null,\"said\":\"a\\n\\\"b\\\"\",\"empty\":\"\",\"long\":\"{}\",\"rows\":[{{\"id\":1e3}},2]}}",
            "x".repeat(MAX_VALUE + 1)
        );
        let shown = outline_with_values(text.as_bytes(), 1024).unwrap();
        let expected = "object with 7 keys\n  code: number (1)\n  ok: boolean (false)\n  none: null\n  said: string (\"a␊\\\"b\\\"\")\n  \
                        empty: string (\"\")\n  long: string\n  \
                        rows: array of 2 elements (1 object, 1 number); the first object has 1 key\n    id: number (1e3)\n";
        assert_eq!(shown, expected);
        let plain = outlined(&text);
        assert!(plain.contains("  code: number\n  ok: boolean\n"), "{plain}");
    }

    #[test]
    fn depth_costs_nothing() {
        let depth = 2_000_000;
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let arrays = outlined(&text);
        assert!(arrays.len() < 300, "{arrays}");
        let text = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert_eq!(outlined(&text).lines().count(), 4);
    }

    fn nested() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,120}".prop_map(Value::from),
        ];
        scalar.prop_recursive(5, 60, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                prop::collection::vec((".{0,60}", inner), 0..12)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_bounded_and_whole_lines(value in nested(), max_bytes in 0_usize..200) {
            let text = value.to_string();
            if let Some(outline) = outline(text.as_bytes(), max_bytes) {
                prop_assert!(outline.len() <= max_bytes, "{outline}");
                prop_assert!(outline.is_empty() || outline.ends_with('\n'));
            }
        }

        #[test]
        fn any_bytes_are_outlined_without_panic(bytes in any::<Vec<u8>>()) {
            let _ = outline(&bytes, 100);
        }
    }
}
