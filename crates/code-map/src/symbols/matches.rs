//! Runs a language's tree-sitter query on a file, and collects the definitions, references and regions that it matches.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::{Node, QueryCursor, QueryCursorOptions, QueryCursorState, StreamingIterator};

use super::SymbolKind;
use super::bounds::Bounds;
use super::names::named;
use super::rules::{Role, Rules, Use};

/// The kind of definition that the query reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// This kind.
    Is(SymbolKind),
    /// A function that is declared without its body.
    Prototype,
    /// A constant, if the file exports it in another place.
    IfExported,
}

impl Claim {
    /// The kind of the definition.
    pub fn kind(self) -> SymbolKind {
        match self {
            Self::Is(kind) => kind,
            Self::Prototype => SymbolKind::Function,
            Self::IfExported => SymbolKind::Constant,
        }
    }
}

/// A definition in the tree.
pub struct Candidate<'tree> {
    /// All of it.
    pub node: Node<'tree>,
    /// Its name; a default export may have none.
    pub name: Option<Node<'tree>>,
    /// The type to which it belongs, if it is written outside the type.
    pub owner: Option<Node<'tree>>,
    /// The kind that the query reports.
    pub claim: Claim,
    /// Index of the pattern that matched.
    pattern: usize,
}

/// How a region of the file affects the symbols in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionKind {
    /// Names of parameters are valid within it.
    Scope,
    /// Its definitions are local as well and not visible from outside.
    Local,
    /// Its definitions belong to a type.
    Container,
}

/// A region of the file.
pub struct Region<'tree> {
    /// The node of the region.
    pub node: Node<'tree>,
    /// How it affects the symbols in it.
    pub kind: RegionKind,
    /// The type to which its definitions belong.
    pub name: Option<Node<'tree>>,
}

/// All matches of the query in a file.
#[derive(Default)]
pub struct Found<'tree> {
    /// By the start of their names: one definition for each.
    pub definitions: BTreeMap<usize, Candidate<'tree>>,
    /// In no particular order.
    pub regions: Vec<Region<'tree>>,
    /// Start, end and kind of use of each used name.
    pub uses: FxHashMap<usize, (usize, Use)>,
    /// Start and end of the name of each parameter or variable.
    pub locals: FxHashMap<usize, usize>,
    /// Starts of names that are not values.
    pub ignored: FxHashSet<usize>,
    /// Names that the file exports.
    pub exported: FxHashSet<&'tree str>,
    /// By node id: the node with the first words of the declaration.
    pub outer: FxHashMap<usize, Node<'tree>>,
}

impl<'tree> Found<'tree> {
    /// Runs the query, within bounds.
    pub fn of(
        rules: &Rules,
        cursor: &mut QueryCursor,
        root: Node<'tree>,
        text: &'tree str,
        bounds: &mut Bounds<'_>,
    ) -> Self {
        let mut found = Self::default();
        let mut progress = |_: &QueryCursorState| bounds.ask(text.len());
        let options = QueryCursorOptions::new().progress_callback(&mut progress);
        let mut matches = cursor.matches_with_options(&rules.query, root, text.as_bytes(), options);
        while let Some(matched) = matches.next() {
            let mut parts = Parts::default();
            for capture in matched.captures() {
                let role = usize::try_from(capture.index).ok().and_then(|at| rules.roles.get(at));
                match role {
                    Some(Role::Ignore) => {
                        found.ignored.insert(capture.node.start_byte());
                    }
                    Some(Role::LocalDefinition) => found.bind(capture.node),
                    Some(Role::Exported) => {
                        found.exported.extend(text.get(capture.node.byte_range()));
                    }
                    Some(role) => parts.add(*role, capture.node),
                    None => {}
                }
            }
            found.add(&parts, matched.pattern_index);
        }
        found
    }

    fn bind(&mut self, node: Node<'tree>) {
        if let Some(named) = named(node) {
            self.locals.insert(named.name.start_byte(), named.name.end_byte());
        }
    }

    fn add(&mut self, parts: &Parts<'tree>, pattern: usize) {
        if let Some((node, role)) = parts.definition {
            self.define(node, role, parts, pattern);
        } else if let Some(used) = parts.used {
            if let Some(name) = parts.name.and_then(named) {
                let (start, end) = (name.name.start_byte(), name.name.end_byte());
                let known = self.uses.entry(start).or_insert((end, used));
                known.1 = known.1.max(used);
            }
        } else if let Some((node, kind)) = parts.region {
            let name = parts.name.and_then(named).map(|found| found.name);
            self.regions.push(Region { node, kind, name });
        } else if let (Some(outer), Some(declared)) = (parts.outer, parts.declared) {
            self.outer.insert(declared.id(), outer);
        }
    }

    fn define(&mut self, node: Node<'tree>, role: Role, parts: &Parts<'tree>, pattern: usize) {
        let named = match parts.name {
            None => None,
            Some(node) => {
                let Some(named) = named(node) else { return };
                Some(named)
            }
        };
        let is_function = named.as_ref().is_some_and(|named| named.function);
        let claim = match role {
            Role::Definition(kind) => Claim::Is(kind),
            Role::IfExported => Claim::IfExported,
            Role::Implementation if is_function => Claim::Is(SymbolKind::Function),
            Role::Declaration | Role::Prototype if is_function => Claim::Prototype,
            Role::Declaration => Claim::Is(SymbolKind::Constant),
            _ => return,
        };
        let at = named.as_ref().map_or(node, |named| named.name).start_byte();
        // A definition exported by its own declaration is preferred to one exported elsewhere.
        let rank = |claim, pattern| (claim == Claim::IfExported, pattern);
        let known = self.definitions.get(&at).map(|known| rank(known.claim, known.pattern));
        if known.is_some_and(|known| known <= rank(claim, pattern)) {
            return;
        }
        let owner = parts.owner.or(named.as_ref().and_then(|named| named.owner));
        let name = named.map(|named| named.name);
        self.definitions.insert(at, Candidate { node, name, owner, claim, pattern });
    }
}

/// The parts of one match.
#[derive(Default)]
struct Parts<'tree> {
    definition: Option<(Node<'tree>, Role)>,
    used: Option<Use>,
    name: Option<Node<'tree>>,
    owner: Option<Node<'tree>>,
    region: Option<(Node<'tree>, RegionKind)>,
    outer: Option<Node<'tree>>,
    declared: Option<Node<'tree>>,
}

impl<'tree> Parts<'tree> {
    fn add(&mut self, role: Role, node: Node<'tree>) {
        match role {
            Role::Name => self.name = Some(node),
            Role::Definition(_)
            | Role::Implementation
            | Role::Declaration
            | Role::Prototype
            | Role::IfExported => {
                self.definition = Some((node, role));
            }
            Role::Reference(used) => self.used = Some(used),
            Role::Owner => self.owner = Some(node),
            Role::Container => self.region = Some((node, RegionKind::Container)),
            Role::LocalScope => self.region = Some((node, RegionKind::Local)),
            Role::Scope => self.region = Some((node, RegionKind::Scope)),
            Role::Declared => self.declared = Some(node),
            Role::Outer => self.outer = Some(node),
            Role::Exported | Role::LocalDefinition | Role::Ignore | Role::Other => {}
        }
    }
}
