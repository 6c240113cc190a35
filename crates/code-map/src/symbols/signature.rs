//! A declaration on one line, without its body.

use tree_sitter::{Node, TreeCursor};

use super::SymbolKind;
use super::matches::{Candidate, Found};

/// Maximum length of a signature in bytes.
pub const LONGEST_SIGNATURE: usize = 200;

/// Maximum number of nodes before a declaration that are examined for words belonging to it.
const WORDS_BEFORE: usize = 64;

/// Maximum depth to which declarations are wrapped, as in `export declare const`.
const DEEPEST_WRAPPING: usize = 8;

/// The signature of a definition.
pub struct Signature {
    /// On one line.
    pub text: String,
    /// The offset of its first byte in the file.
    pub start: usize,
}

impl Signature {
    /// Writes the signature of a definition.
    pub fn of<'tree>(candidate: &Candidate<'tree>, found: &Found<'tree>, source: &str) -> Self {
        let node = candidate.node;
        let mut line = Line::new(source);
        let mut around = Vec::new();
        let mut inner = node;
        while let Some(outer) = found.outer.get(&inner.id())
            && around.len() < DEEPEST_WRAPPING
        {
            around.push((*outer, inner));
            inner = *outer;
        }
        for (outer, inner) in around.into_iter().rev() {
            line.write_words_before(outer, inner, found);
        }
        // In a group, each declaration has a line of its own.
        line.start = None;
        match candidate.name {
            Some(name) if node.kind() == "macro_definition" => {
                line.write(node.start_byte(), name.end_byte());
            }
            _ => line.write_declaration(node, candidate.claim.kind()),
        }
        Self { start: line.start.unwrap_or(node.start_byte()), text: line.finish() }
    }
}

/// The gap between two words of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    /// The end of a line, or omitted text.
    Break,
}

/// A line that is being written.
struct Line<'source> {
    source: &'source str,
    text: String,
    start: Option<usize>,
    gap: Gap,
}

impl<'source> Line<'source> {
    fn new(source: &'source str) -> Self {
        Self { source, text: String::new(), start: None, gap: Gap::None }
    }

    fn is_full(&self) -> bool {
        self.text.len() > LONGEST_SIGNATURE
    }

    /// Writes a part of the file with its white space collapsed.
    fn write(&mut self, from: usize, to: usize) {
        let Some(piece) = self.source.get(from..to) else { return };
        for (offset, one) in piece.char_indices() {
            if self.is_full() {
                return;
            }
            if one.is_whitespace() || one.is_control() {
                self.gap = self.gap.max(if one == '\n' { Gap::Break } else { Gap::Space });
                continue;
            }
            if self.gap != Gap::None {
                self.push_space_before(one);
            }
            self.gap = Gap::None;
            self.start.get_or_insert(from.saturating_add(offset));
            self.text.push(one);
        }
    }

    /// Joins a list on several lines into one line.
    fn push_space_before(&mut self, next: char) {
        if self.gap == Gap::Break {
            let closes = matches!(next, ')' | ']' | '>');
            if closes && self.text.ends_with(',') {
                self.text.pop();
                return;
            }
            if matches!(next, ')' | ']' | ',' | ';') || self.text.ends_with(['(', '[', '<']) {
                return;
            }
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
    }

    /// Writes the words of a declaration that precede all declared names.
    fn write_words_before(&mut self, outer: Node<'_>, inner: Node<'_>, found: &Found<'_>) {
        let mut cursor = outer.walk();
        if !cursor.goto_first_child() {
            return;
        }
        for _ in 0..WORDS_BEFORE {
            let node = cursor.node();
            if node.end_byte() > inner.start_byte()
                || found.outer.contains_key(&node.id())
                || self.is_full()
            {
                return;
            }
            if !is_left_out(&node) && node.kind() != "(" {
                self.write_declaration(node, SymbolKind::Type);
                self.gap = self.gap.max(Gap::Space);
            }
            if !cursor.goto_next_sibling() {
                return;
            }
        }
    }

    /// Writes a node without bodies, comments and decorators.
    fn write_declaration(&mut self, node: Node<'_>, kind: SymbolKind) {
        let mut cursor = node.walk();
        let mut written = node.start_byte();
        // The depth of the parameters that the walk is in: their default values may contain bodies.
        let mut parameters = None;
        loop {
            let current = cursor.node();
            self.write(written, current.start_byte());
            written = written.max(current.start_byte());
            if self.is_full() {
                return;
            }
            if parameters.is_some_and(|depth| cursor.depth() <= depth) {
                parameters = None;
            }
            let leave_out = is_left_out(&current)
                || (parameters.is_none() && is_body(&cursor, kind))
                || is_long_value(&cursor, &node, kind);
            if leave_out {
                written = written.max(current.end_byte());
                self.gap = Gap::Break;
            } else {
                if parameters.is_none() && cursor.field_name() == Some("parameters") {
                    parameters = Some(cursor.depth());
                }
                if cursor.goto_first_child() {
                    continue;
                }
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    self.write(written, node.end_byte());
                    return;
                }
            }
        }
    }

    fn finish(mut self) -> String {
        if self.is_full() {
            let end = self.text.floor_char_boundary(LONGEST_SIGNATURE - '…'.len_utf8());
            self.text.truncate(end);
            self.text.truncate(self.text.trim_end().len());
            self.text.push('…');
            return self.text;
        }
        let mut text = self.text.as_str();
        loop {
            let shorter = text.strip_suffix("=>").unwrap_or(text);
            let shorter = shorter.trim_end_matches([' ', '{', ':', ';', ',', '=', '\\']);
            if shorter.len() == text.len() {
                break;
            }
            text = shorter;
        }
        text.to_owned()
    }
}

/// Whether a node is never part of a signature.
fn is_left_out(node: &Node<'_>) -> bool {
    (node.is_extra() && !node.is_error())
        || matches!(
            node.kind(),
            "decorator"
                | "attribute_item"
                | "inner_attribute_item"
                | "annotation"
                | "marker_annotation"
                | "attribute_declaration"
                | "attribute_specifier"
                | "ms_declspec_modifier"
                | "field_initializer_list"
        )
}

/// Whether a node is the body of the definition.
fn is_body(cursor: &TreeCursor<'_>, kind: SymbolKind) -> bool {
    let node = cursor.node();
    match node.kind() {
        "field_declaration_list" => true,
        // The types of parameters in K&R C.
        "declaration" => cursor.depth() == 1 && kind == SymbolKind::Function,
        // The fields of `struct Pair(u8, u8);`
        "ordered_field_declaration_list" => false,
        // The methods of `type Reader interface { … }` have no enclosing node.
        "{" | "}" | ";" | "method_elem" | "type_elem" => {
            kind == SymbolKind::Interface && cursor.depth() == 2
        }
        _ => cursor.field_name() == Some("body") && kind != SymbolKind::Constant,
    }
}

/// Whether a node is the value of a constant on several lines, or the replacement of a macro with parameters.
fn is_long_value(cursor: &TreeCursor<'_>, of: &Node<'_>, kind: SymbolKind) -> bool {
    let node = cursor.node();
    matches!(kind, SymbolKind::Constant | SymbolKind::Macro)
        && matches!(cursor.field_name(), Some("value" | "right"))
        && (node.start_position().row != node.end_position().row
            || of.kind() == "preproc_function_def")
}
