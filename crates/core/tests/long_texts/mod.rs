//! Long texts, and parts of them as a manager reads them.

use std::sync::Arc;

use agent_context_core::{
    context::Manager,
    slices::{self, Part, Request, Stored},
};

/// A text with lines of different lengths and characters of all sizes.
pub fn long_text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let mut number = 0_usize;
    while text.len() < bytes {
        let end = if number.is_multiple_of(5) { "\r\n" } else { "\n" };
        let words = "\"word\" \u{e9}\u{20ac}\u{1f600}\t".repeat(number * 7 % 11);
        text.push_str(&format!("line {number} {words}{end}"));
        number += 1;
    }
    text.push_str("the end");
    text
}

/// A request that can be made again.
pub type Making = Box<dyn Fn() -> Request>;

fn making(part: impl Fn() -> Option<Part> + 'static, max_bytes: usize) -> Making {
    Box::new(move || Request { json_path: None, part: part(), max_bytes })
}

/// Requests for parts at a byte and at a line of a text.
pub fn parts(byte: usize, line: usize) -> Vec<Making> {
    let mut parts = vec![making(|| None, 32_768)];
    for (length, max_bytes) in [(10, 32_768), (40_000, 32_768), (usize::MAX, 32_768), (500, 7)] {
        let to = byte.checked_add(length);
        parts.push(making(move || Some(Part::Bytes { from: byte, to }), max_bytes));
        let to = line.checked_add(length);
        parts.push(making(move || Some(Part::Lines { from: line, to }), max_bytes));
    }
    parts
}

/// A part as text, for comparisons.
pub async fn read_part(manager: &Arc<Manager>, path: &str, request: Request) -> String {
    format!("{:?}", manager.read(path, request, None).await.unwrap().0)
}

/// The part of a text that is not read from a record.
pub fn sliced(text: &str, request: Request) -> String {
    let slice = slices::read(Stored::Text(text), &request, &tasks::Cancelled::default());
    format!("{:?}", slice.unwrap())
}
