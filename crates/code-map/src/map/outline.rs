//! The outline of a file in a map: its shown definitions, each below its container.

use rustc_hash::FxHashMap;

use crate::symbols::{Definition, SymbolKind};

/// Maximum nesting depth; deeper definitions are shown at this depth.
const MAX_DEPTH: usize = 8;

/// The container below which a definition is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Above<'a> {
    Nothing,
    Definition(usize),
    /// A type that is defined in another file.
    Name(&'a str),
}

/// A file in a map.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    path: &'a str,
    definitions: &'a [Definition],
    above: Vec<Above<'a>>,
    is_shown: Vec<bool>,
    /// Names of types defined elsewhere, each with the first definition that belongs to it.
    headings: FxHashMap<&'a str, usize>,
}

/// Lines that would be added to show a definition.
pub(super) struct Addition {
    /// Their length in UTF-16 units, including line ends.
    pub units: usize,
    /// The definition and its containers, the outermost first.
    definitions: Vec<usize>,
}

impl<'a> Outline<'a> {
    pub fn new(path: &'a str, definitions: &'a [Definition]) -> Self {
        let above = places(definitions);
        let is_shown = vec![false; definitions.len()];
        Self { path, definitions, above, is_shown, headings: FxHashMap::default() }
    }

    /// The length of the line with the path.
    pub fn path_units(path: &str) -> usize {
        units(path) + 1
    }

    /// The lines to add to show a definition; `None` if it is shown already.
    pub fn addition(&self, definition: usize) -> Option<Addition> {
        let mut missing = Vec::new();
        let mut units_of_lines = 0;
        let mut next = Some(definition);
        while let Some(number) = next {
            if self.is_shown.get(number).copied().unwrap_or(true) {
                break;
            }
            missing.push(number);
            let depth = self.depth(number);
            units_of_lines +=
                self.definitions.get(number).map_or(0, |one| indent(depth) + units(line(one)) + 1);
            next = match self.above.get(number) {
                Some(Above::Definition(above)) => Some(*above),
                Some(Above::Name(name)) if !self.headings.contains_key(name) => {
                    units_of_lines += indent(1) + units(name) + 1;
                    None
                }
                _ => None,
            };
        }
        missing.reverse();
        (!missing.is_empty()).then_some(Addition { units: units_of_lines, definitions: missing })
    }

    pub fn add(&mut self, addition: &Addition) {
        for number in &addition.definitions {
            if let Some(is_shown) = self.is_shown.get_mut(*number) {
                *is_shown = true;
            }
            if let Some(Above::Name(name)) = self.above.get(*number) {
                let first = self.headings.entry(name).or_insert(*number);
                *first = (*first).min(*number);
            }
        }
    }

    /// The shown definitions, in the order of the file.
    pub fn shown(&self) -> impl Iterator<Item = &'a Definition> {
        let shown = self.definitions.iter().zip(&self.is_shown);
        shown.filter_map(|(definition, is_shown)| is_shown.then_some(definition))
    }

    /// Appends the lines, including line ends.
    pub fn write(&self, text: &mut String) {
        text.push_str(self.path);
        text.push('\n');
        let mut below: FxHashMap<Above<'a>, Vec<usize>> = FxHashMap::default();
        for (number, (above, is_shown)) in self.above.iter().zip(&self.is_shown).enumerate() {
            if *is_shown {
                below.entry(*above).or_default().push(number);
            }
        }
        let mut first: Vec<(usize, Option<&'a str>)> = below
            .get(&Above::Nothing)
            .into_iter()
            .flatten()
            .map(|number| (*number, None))
            .collect();
        first.extend(self.headings.iter().map(|(name, number)| (*number, Some(*name))));
        first.sort_unstable();
        for (number, heading) in first {
            match heading {
                Some(name) => {
                    push_line(text, 1, name);
                    for number in below.get(&Above::Name(name)).into_iter().flatten() {
                        self.write_definition(*number, 2, &below, text);
                    }
                }
                None => self.write_definition(number, 1, &below, text),
            }
        }
    }

    fn write_definition(
        &self,
        number: usize,
        depth: usize,
        below: &FxHashMap<Above<'a>, Vec<usize>>,
        text: &mut String,
    ) {
        let Some(definition) = self.definitions.get(number) else { return };
        push_line(text, depth, line(definition));
        for number in below.get(&Above::Definition(number)).into_iter().flatten() {
            self.write_definition(*number, depth + 1, below, text);
        }
    }

    /// The nesting depth, from 1.
    fn depth(&self, definition: usize) -> usize {
        let (mut depth, mut next) = (1, definition);
        loop {
            match self.above.get(next) {
                Some(Above::Definition(above)) => next = *above,
                Some(Above::Name(_)) => return depth + 1,
                _ => return depth,
            }
            depth += 1;
        }
    }
}

/// The container of each definition. A definition is never its own container.
fn places(definitions: &[Definition]) -> Vec<Above<'_>> {
    let mut containers: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (number, definition) in definitions.iter().enumerate() {
        if may_contain(definition.kind) {
            containers.entry(&definition.name).or_default().push(number);
        }
    }
    let mut places: Vec<Above<'_>> = Vec::with_capacity(definitions.len());
    let mut depths: Vec<usize> = Vec::with_capacity(definitions.len());
    for (number, definition) in definitions.iter().enumerate() {
        let (mut place, mut depth) = (Above::Nothing, 0);
        if let Some(name) = definition.container.as_deref().filter(|name| !name.is_empty()) {
            let known = containers.get(name).map_or(&[][..], Vec::as_slice);
            let before = known.partition_point(|container| *container < number);
            let nearest = before.checked_sub(1).and_then(|before| known.get(before)).copied();
            // An implementation may precede its type. The type must not be placed within another container then, so
            // that no definition contains itself.
            let is_outer = |after: &&usize| {
                definitions.get(**after).is_some_and(|outer| outer.container.is_none())
            };
            let found = nearest
                .or_else(|| known.get(before..).unwrap_or_default().iter().find(is_outer).copied());
            (place, depth) = match found {
                Some(above) => {
                    (Above::Definition(above), depths.get(above).map_or(1, |depth| depth + 1))
                }
                None => (Above::Name(name), 1),
            };
            if depth > MAX_DEPTH {
                (place, depth) = (Above::Nothing, 0);
            }
        }
        places.push(place);
        depths.push(depth);
    }
    places
}

fn may_contain(kind: SymbolKind) -> bool {
    !matches!(kind, SymbolKind::Function | SymbolKind::Method | SymbolKind::Macro)
}

fn line(definition: &Definition) -> &str {
    if definition.signature.is_empty() { &definition.name } else { &definition.signature }
}

fn push_line(text: &mut String, depth: usize, line: &str) {
    text.extend(std::iter::repeat_n(' ', indent(depth)));
    text.push_str(line);
    text.push('\n');
}

fn indent(depth: usize) -> usize {
    depth * 2
}

/// The length in UTF-16 units.
pub(super) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}
