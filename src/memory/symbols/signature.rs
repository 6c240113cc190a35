//! A declaration on one line, without its body.

use tree_sitter::{Node, TreeCursor};

use super::SymbolKind;
use super::matches::Found;

/// A signature has at most this many bytes.
pub const LONGEST_SIGNATURE: usize = 200;

/// How many nodes before a declaration are looked at for words that belong to it.
const WORDS_BEFORE: usize = 64;

/// How deep declarations are wrapped, as in `export declare const`, at most.
const DEEPEST_WRAPPING: usize = 8;

/// The signature of a definition.
pub struct Signature {
    /// On one line.
    pub text: String,
    /// Where the first byte of it is in the file.
    pub start: usize,
}

impl Signature {
    /// Writes the signature of a definition whose name ends at `name_end`.
    pub fn of<'tree>(
        node: Node<'tree>,
        kind: SymbolKind,
        name_end: usize,
        found: &Found<'tree>,
        source: &str,
    ) -> Self {
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
            line.write_words_before(outer, inner);
        }
        let multi_line_value = kind == SymbolKind::Constant;
        if node.kind() == "macro_definition" {
            line.write(node.start_byte(), name_end);
        } else {
            line.write_declaration(node, multi_line_value);
        }
        Self { start: line.start.unwrap_or(node.start_byte()), text: line.finish() }
    }
}

/// A line that is being written.
struct Line<'source> {
    source: &'source str,
    text: String,
    start: Option<usize>,
    space: bool,
}

impl<'source> Line<'source> {
    fn new(source: &'source str) -> Self {
        Self { source, text: String::new(), start: None, space: false }
    }

    fn is_full(&self) -> bool {
        self.text.len() > LONGEST_SIGNATURE
    }

    /// Writes a piece of the file with its white space squeezed.
    fn write(&mut self, from: usize, to: usize) {
        let Some(piece) = self.source.get(from..to) else { return };
        for (offset, one) in piece.char_indices() {
            if self.is_full() {
                return;
            }
            if one.is_whitespace() || one.is_control() {
                self.space = true;
                continue;
            }
            if self.space && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.space = false;
            self.start.get_or_insert(from.saturating_add(offset));
            self.text.push(one);
        }
    }

    /// Writes the words of a declaration that come before its first declarator.
    fn write_words_before(&mut self, outer: Node<'_>, inner: Node<'_>) {
        let mut cursor = outer.walk();
        if !cursor.goto_first_child() {
            return;
        }
        for _ in 0..WORDS_BEFORE {
            let node = cursor.node();
            if node.start_byte() >= inner.start_byte()
                || node.kind_id() == inner.kind_id()
                || cursor.field_name() == Some("declarator")
                || self.is_full()
            {
                return;
            }
            if !is_left_out(&cursor) && node.kind() != "(" {
                self.write_declaration(node, false);
                self.space = true;
            }
            if !cursor.goto_next_sibling() {
                return;
            }
        }
    }

    /// Writes a node without bodies, comments and decorators.
    fn write_declaration(&mut self, node: Node<'_>, without_long_value: bool) {
        let mut cursor = node.walk();
        let mut written = node.start_byte();
        loop {
            let current = cursor.node();
            self.write(written, current.start_byte());
            written = written.max(current.start_byte());
            if self.is_full() {
                return;
            }
            let leave_out = is_left_out(&cursor) || (without_long_value && is_long_value(&cursor));
            if leave_out {
                written = written.max(current.end_byte());
                self.space = true;
            } else if cursor.goto_first_child() {
                continue;
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
            let shorter = shorter.trim_end_matches([' ', '{', ':', ';', ',', '=']);
            if shorter.len() == text.len() {
                break;
            }
            text = shorter;
        }
        text.to_owned()
    }
}

/// Whether a node is no part of a signature.
fn is_left_out(cursor: &TreeCursor<'_>) -> bool {
    let node = cursor.node();
    if node.is_extra() {
        return true;
    }
    match node.kind() {
        "decorator"
        | "attribute_item"
        | "inner_attribute_item"
        | "annotation"
        | "marker_annotation"
        | "attribute_declaration"
        | "attribute_specifier"
        | "ms_declspec_modifier"
        | "field_initializer_list"
        | "field_declaration_list" => true,
        // The fields of `struct Pair(u8, u8);`
        "ordered_field_declaration_list" => false,
        "preproc_arg" => {
            cursor.field_name() == Some("value")
                && node.prev_named_sibling().is_some_and(|one| one.kind() == "preproc_params")
        }
        _ => cursor.field_name() == Some("body"),
    }
}

/// Whether a node is the value of a constant, on several lines.
fn is_long_value(cursor: &TreeCursor<'_>) -> bool {
    let node = cursor.node();
    matches!(cursor.field_name(), Some("value" | "right"))
        && node.start_position().row != node.end_position().row
}
