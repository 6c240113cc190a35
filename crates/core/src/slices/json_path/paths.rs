//! Computes the normalised paths (RFC 9535, section 2.7) of positions in a text.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::{
    Value,
    children::{Children, Step, decode},
    root_of,
};

/// A step of a path.
#[derive(Debug, Clone, Copy)]
pub enum PathStep<'a> {
    /// An array's element, by index.
    Index(u64),
    /// An object's member, by its decoded key.
    Key(&'a str),
}

/// The normalised path of these steps.
pub fn normalised_path<'a>(steps: impl Iterator<Item = PathStep<'a>>) -> String {
    let mut path = String::from("$");
    for step in steps {
        match step {
            PathStep::Index(index) => {
                let _ = write!(path, "[{index}]");
            }
            PathStep::Key(key) => {
                path.push_str("['");
                key.chars().for_each(|character| push_normal(&mut path, character));
                path.push_str("']");
            }
        }
    }
    path
}

/// A step of the current path, linked to the step before it.
struct Trail<'a> {
    before: Option<usize>,
    step: Step<'a>,
}

/// The normalised paths of values in `text`, and whether all are included: paths that exceed
/// `max_bytes` in total are left out, except the first.
pub fn paths(text: &str, values: &[Value], max_bytes: usize) -> (Vec<String>, bool) {
    let text = text.as_bytes();
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut trails: Vec<Trail<'_>> = Vec::new();
    let mut found: FxHashMap<usize, Option<usize>> = FxHashMap::default();
    // Containers with wanted values in them: position, path, and the wanted values.
    let root = root_of(text);
    let mut open = vec![(root, None, sorted.as_slice())];
    while let Some((container, before, mut wanted)) = open.pop() {
        if let Some((first, rest)) = wanted.split_first()
            && *first == container
        {
            found.insert(container.start, before);
            wanted = rest;
        }
        if wanted.is_empty() {
            continue;
        }
        for child in Children::new(text, container) {
            let here = wanted.partition_point(|value| value.start < child.value.end);
            let (inside, rest) = wanted.split_at(here);
            if !inside.is_empty() {
                trails.push(Trail { before, step: child.step });
                open.push((child.value, Some(trails.len() - 1), inside));
            }
            wanted = rest;
            if wanted.is_empty() {
                break;
            }
        }
    }
    let mut paths = Vec::new();
    let mut bytes = 0;
    for value in values {
        let path = spell(&trails, found.get(&value.start).copied().flatten());
        bytes += path.len();
        if bytes > max_bytes && !paths.is_empty() {
            return (paths, false);
        }
        paths.push(path);
    }
    (paths, true)
}

fn spell(trails: &[Trail<'_>], last: Option<usize>) -> String {
    let mut steps = Vec::new();
    let mut at = last.and_then(|last| trails.get(last));
    while let Some(trail) = at {
        steps.push(trail.step);
        at = trail.before.and_then(|before| trails.get(before));
    }
    let mut path = String::from("$");
    for step in steps.into_iter().rev() {
        match step {
            Step::Index(index) => {
                let _ = write!(path, "[{index}]");
            }
            Step::Key(key) => {
                path.push_str("['");
                decode(key).chars().for_each(|character| push_normal(&mut path, character));
                path.push_str("']");
            }
        }
    }
    path
}

fn push_normal(out: &mut String, character: char) {
    match character {
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        '\'' => out.push_str("\\'"),
        '\\' => out.push_str("\\\\"),
        '\0'..' ' => {
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        }
        _ => out.push(character),
    }
}
