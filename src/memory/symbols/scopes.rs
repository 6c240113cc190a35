//! What lies in what: containers, and what is local to a function.

use std::cmp::Reverse;

use super::matches::{Candidate, Found, Region};
use super::names::named;
use super::{Language, SymbolKind};

/// A definition that others may refer to, and what it belongs to.
pub struct Placed<'found, 'tree> {
    /// The definition.
    pub candidate: &'found Candidate<'tree>,
    /// Its name.
    pub name: String,
    /// Its kind: a function in a type is a method.
    pub kind: SymbolKind,
    /// The type or module it belongs to.
    pub container: Option<String>,
}

/// What a part of the file makes of the definitions in it.
#[derive(Clone)]
enum Inside {
    Local,
    Type(Option<String>),
    Module(Option<String>),
}

enum Event<'found, 'tree> {
    Enter(&'found Region<'tree>),
    Define(&'found Candidate<'tree>),
}

impl Event<'_, '_> {
    /// Outer ones first; a part before the definition that fills it.
    fn order(&self) -> (usize, Reverse<usize>, bool) {
        let (node, define) = match self {
            Self::Enter(region) => (region.node, false),
            Self::Define(candidate) => (candidate.node, true),
        };
        (node.start_byte(), Reverse(node.end_byte()), define)
    }
}

/// The definitions that others may refer to, in the order of the file.
pub fn place<'found, 'tree>(
    language: Language,
    found: &'found Found<'tree>,
    text: &str,
) -> Vec<Placed<'found, 'tree>> {
    let mut events: Vec<Event<'found, 'tree>> = found.regions.iter().map(Event::Enter).collect();
    events.extend(found.definitions.values().map(Event::Define));
    events.sort_by_key(Event::order);

    let mut placed = Vec::new();
    let mut open: Vec<(usize, Inside)> = Vec::new();
    for event in events {
        let (start, end) = match event {
            Event::Enter(Region { node, .. }) | Event::Define(Candidate { node, .. }) => {
                (node.start_byte(), node.end_byte())
            }
        };
        while open.last().is_some_and(|(open_end, _)| *open_end <= start) {
            open.pop();
        }
        let around = open.last().map(|(_, inside)| inside);
        match event {
            Event::Enter(region) => open.push((end, enter(region, around, text))),
            Event::Define(candidate) => {
                let one = place_one(language, candidate, around, text);
                if is_container(candidate.kind) {
                    let inside = match &one {
                        None => Inside::Local,
                        Some(one) if one.kind == SymbolKind::Module => {
                            Inside::Module(Some(one.name.clone()))
                        }
                        Some(one) => Inside::Type(Some(one.name.clone())),
                    };
                    open.push((end, inside));
                }
                placed.extend(one);
            }
        }
    }
    placed
}

fn enter(region: &Region<'_>, around: Option<&Inside>, text: &str) -> Inside {
    if region.local {
        return Inside::Local;
    }
    let name = region.name.and_then(|node| plain(text.get(node.byte_range())?));
    match (name, around) {
        // A type that is implemented within a function is as local as the function's other names.
        (Some(_), Some(Inside::Local)) => Inside::Local,
        (None, Some(Inside::Type(name))) => Inside::Type(name.clone()),
        (name, _) => Inside::Type(name),
    }
}

fn place_one<'found, 'tree>(
    language: Language,
    candidate: &'found Candidate<'tree>,
    around: Option<&Inside>,
    text: &str,
) -> Option<Placed<'found, 'tree>> {
    let mut kind = candidate.kind;
    let mut container = match around {
        None => None,
        Some(Inside::Local) if kind == SymbolKind::Class && classes_escape(language) => None,
        Some(Inside::Local) => return None,
        Some(Inside::Module(name)) => name.clone(),
        Some(Inside::Type(name)) => {
            if kind == SymbolKind::Function {
                kind = SymbolKind::Method;
            }
            name.clone()
        }
    };
    if let Some(owner) = candidate.owner {
        container = named(owner).and_then(|owner| plain(text.get(owner.name.byte_range())?));
        if kind == SymbolKind::Function {
            kind = SymbolKind::Method;
        }
    }
    let name = match candidate.name {
        Some(node) => plain(text.get(node.byte_range())?)?,
        None => "default".to_owned(),
    };
    Some(Placed { candidate, name, kind, container })
}

/// Whether a class that a function makes is known outside by its methods.
fn classes_escape(language: Language) -> bool {
    matches!(
        language,
        Language::TypeScript | Language::Tsx | Language::JavaScript | Language::Python
    )
}

fn is_container(kind: SymbolKind) -> bool {
    matches!(
        kind,
        SymbolKind::Class | SymbolKind::Interface | SymbolKind::Enum | SymbolKind::Module
    )
}

/// A name without white space; `None` for what is no name.
fn plain(text: &str) -> Option<String> {
    let name: String =
        text.chars().filter(|one| !one.is_whitespace() && !one.is_control()).collect();
    (!name.is_empty() && name != "_" && name.len() <= super::names::LONGEST_NAME).then_some(name)
}
