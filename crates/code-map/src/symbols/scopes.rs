//! Resolves the nesting of a file: the containers of definitions, and names that are local to a function.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::matches::{Candidate, Claim, Found, Region, RegionKind};
use super::names::{LONGEST_NAME, named};
use super::rules::Use;
use super::{Language, SymbolKind};

/// A definition that other files may refer to, and its container.
pub struct Placed<'found, 'tree> {
    /// The definition.
    pub candidate: &'found Candidate<'tree>,
    /// Its name.
    pub name: String,
    /// Its kind; a function within a type is a method.
    pub kind: SymbolKind,
    /// The type or module to which it belongs.
    pub container: Option<String>,
}

/// The symbols of a file after resolving its nesting.
pub struct Resolved<'found, 'tree> {
    /// The definitions that other files may refer to, in the order of the file.
    pub definitions: Vec<Placed<'found, 'tree>>,
    /// The number of uses of each name that is not the name of a parameter or variable of the file.
    pub uses: FxHashMap<&'tree str, u32>,
}

/// How a region affects the definitions in it.
#[derive(Clone)]
enum Inside {
    Nothing,
    Local,
    Type(Option<String>),
    Module(Option<String>),
}

/// A region that the sweep is in.
struct Open<'tree> {
    end: usize,
    inside: Inside,
    /// The names of parameters and variables that are valid within it.
    names: Vec<&'tree str>,
}

enum Event<'found, 'tree> {
    Define(&'found Candidate<'tree>),
    Enter(&'found Region<'tree>),
    Bind,
    Use(Use),
}

struct Step<'found, 'tree> {
    start: usize,
    end: usize,
    event: Event<'found, 'tree>,
}

impl Step<'_, '_> {
    /// Sorts outer regions first, and a definition before the region that it is itself.
    fn order(&self) -> (usize, Reverse<usize>, u8) {
        let rank = match self.event {
            Event::Define(_) => 0,
            Event::Enter(_) => 1,
            Event::Bind => 2,
            Event::Use(_) => 3,
        };
        (self.start, Reverse(self.end), rank)
    }
}

/// Resolves the nesting in one sweep over the file.
pub fn resolve<'found, 'tree>(
    language: Language,
    found: &'found Found<'tree>,
    text: &'tree str,
) -> Resolved<'found, 'tree> {
    let mut sweep = Sweep {
        language,
        found,
        text,
        open: vec![Open { end: usize::MAX, inside: Inside::Nothing, names: Vec::new() }],
        bound: FxHashMap::default(),
        resolved: Resolved { definitions: Vec::new(), uses: FxHashMap::default() },
    };
    for step in steps(found) {
        sweep.take(&step);
    }
    sweep.resolved
}

fn steps<'found, 'tree>(found: &'found Found<'tree>) -> Vec<Step<'found, 'tree>> {
    let mut steps = Vec::new();
    for candidate in found.definitions.values() {
        let (start, end) = (candidate.node.start_byte(), candidate.node.end_byte());
        steps.push(Step { start, end, event: Event::Define(candidate) });
    }
    for region in &found.regions {
        let (start, end) = (region.node.start_byte(), region.node.end_byte());
        steps.push(Step { start, end, event: Event::Enter(region) });
    }
    for (start, end) in &found.locals {
        // An imported name is not only a variable.
        let imported = matches!(found.uses.get(start), Some((_, Use::Elsewhere)));
        // Whether a definition is local is decided when the sweep reaches it.
        if !imported && !found.definitions.contains_key(start) {
            steps.push(Step { start: *start, end: *end, event: Event::Bind });
        }
    }
    for (start, (end, used)) in &found.uses {
        let is_definition = found
            .definitions
            .get(start)
            .is_some_and(|candidate| candidate.claim != Claim::IfExported);
        let declares = *used < Use::Elsewhere
            && (found.locals.contains_key(start) || found.ignored.contains(start));
        if !is_definition && !declares {
            steps.push(Step { start: *start, end: *end, event: Event::Use(*used) });
        }
    }
    steps.sort_unstable_by_key(Step::order);
    steps
}

struct Sweep<'found, 'tree> {
    language: Language,
    found: &'found Found<'tree>,
    text: &'tree str,
    /// Open regions, the first of which is the file itself.
    open: Vec<Open<'tree>>,
    /// For each name, the number of open regions in which it is a parameter or variable.
    bound: FxHashMap<&'tree str, u32>,
    resolved: Resolved<'found, 'tree>,
}

impl<'found, 'tree> Sweep<'found, 'tree> {
    fn take(&mut self, step: &Step<'found, 'tree>) {
        while let Some(closed) = self.open.pop_if(|open| open.end <= step.start) {
            for name in closed.names {
                if let Some(count) = self.bound.get_mut(name) {
                    *count = count.saturating_sub(1);
                }
            }
        }
        match step.event {
            Event::Define(candidate) => self.define(candidate),
            Event::Enter(region) => {
                let inside = self.enter(region);
                self.open.push(Open { end: step.end, inside, names: Vec::new() });
            }
            Event::Bind => self.bind(step.start, step.end),
            Event::Use(used) => {
                let Some(name) = self.text.get(step.start..step.end) else { return };
                if used == Use::Elsewhere || self.bound.get(name).is_none_or(|count| *count == 0) {
                    let count = self.resolved.uses.entry(name).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
    }

    fn bind(&mut self, start: usize, end: usize) {
        if let (Some(name), Some(open)) = (self.text.get(start..end), self.open.last_mut()) {
            open.names.push(name);
            let count = self.bound.entry(name).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn around(&self) -> &Inside {
        self.open.last().map_or(&Inside::Nothing, |open| &open.inside)
    }

    fn enter(&self, region: &Region<'tree>) -> Inside {
        let name = region.name.and_then(|node| plain(self.text.get(node.byte_range())?));
        match (region.kind, self.around()) {
            (RegionKind::Local, _) => Inside::Local,
            (RegionKind::Scope, around) => around.clone(),
            // A type that is implemented within a function is local like the function's other names.
            (RegionKind::Container, Inside::Local) if region.name.is_some() => Inside::Local,
            // The class of `const Name = class {}`.
            (RegionKind::Container, Inside::Type(known)) if region.name.is_none() => {
                Inside::Type(known.clone())
            }
            (RegionKind::Container, _) => Inside::Type(name),
        }
    }

    fn define(&mut self, candidate: &'found Candidate<'tree>) {
        let placed = self.place(candidate);
        if placed.is_none()
            && let Some(name) = candidate.name
        {
            self.bind(name.start_byte(), name.end_byte());
        }
        if let Some(opens) = opens(candidate.claim.kind()) {
            let inside = match &placed {
                None => Inside::Local,
                Some(placed) if placed.kind == SymbolKind::Type => self.around().clone(),
                Some(placed) => opens(Some(placed.name.clone())),
            };
            self.open.push(Open { end: candidate.node.end_byte(), inside, names: Vec::new() });
        }
        self.resolved.definitions.extend(placed);
    }

    fn place(&self, candidate: &'found Candidate<'tree>) -> Option<Placed<'found, 'tree>> {
        let name = match candidate.name {
            Some(node) => plain(self.text.get(node.byte_range())?)?,
            None => "default".to_owned(),
        };
        if candidate.claim == Claim::IfExported && !self.found.exported.contains(name.as_str()) {
            return None;
        }
        let mut kind = candidate.claim.kind();
        let mut container = match self.around() {
            Inside::Nothing => None,
            Inside::Local if kind == SymbolKind::Class && classes_escape(self.language) => None,
            Inside::Local => return None,
            Inside::Module(container) => container.clone(),
            Inside::Type(_) if is_detail(self.language, kind) => return None,
            Inside::Type(container) => {
                if kind == SymbolKind::Function {
                    kind = SymbolKind::Method;
                }
                container.clone()
            }
        };
        if let Some(owner) = candidate.owner {
            let owner = named(owner)?.name;
            container = Some(plain(self.text.get(owner.byte_range())?)?);
            if kind == SymbolKind::Function {
                kind = SymbolKind::Method;
            }
        }
        if self.language == Language::C {
            container = None;
        }
        Some(Placed { candidate, name, kind, container })
    }
}

/// Whether a class created by a function is known outside by its methods.
fn classes_escape(language: Language) -> bool {
    matches!(
        language,
        Language::TypeScript | Language::Tsx | Language::JavaScript | Language::Python
    )
}

/// Whether a definition within a type is not a symbol of its own: attributes in Python, and in Rust the items of a
/// trait implementation such as `type Item = u8`.
fn is_detail(language: Language, kind: SymbolKind) -> bool {
    matches!(
        (language, kind),
        (Language::Python, SymbolKind::Constant) | (Language::Rust, SymbolKind::Type)
    )
}

/// The region that a definition opens for the definitions in it.
fn opens(kind: SymbolKind) -> Option<fn(Option<String>) -> Inside> {
    match kind {
        SymbolKind::Module => Some(Inside::Module),
        SymbolKind::Class | SymbolKind::Interface | SymbolKind::Enum | SymbolKind::Type => {
            Some(Inside::Type)
        }
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Constant | SymbolKind::Macro => {
            None
        }
    }
}

/// A name without white space; `None` if the text is not a name.
fn plain(text: &str) -> Option<String> {
    if text.len() > LONGEST_NAME {
        return None;
    }
    let name: String = text.chars().filter(|one| !one.is_whitespace()).collect();
    let is_name =
        name.chars().all(|one| one.is_alphanumeric() || matches!(one, '_' | '$' | '#' | ':' | '.'));
    (is_name && !name.is_empty() && name != "_").then_some(name)
}
