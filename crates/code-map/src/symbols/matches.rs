//! What the query finds in a file.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::{Node, QueryCursor, QueryCursorOptions, QueryCursorState, StreamingIterator};

use super::SymbolKind;
use super::bounds::Bounds;
use super::names::named;
use super::rules::{Role, Rules, Use};

/// What the query says that a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// This.
    Is(SymbolKind),
    /// A function that is declared without its body.
    Prototype,
    /// A constant, if the file exports it elsewhere.
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

/// A definition as it stands in the tree.
pub struct Candidate<'tree> {
    /// All of it.
    pub node: Node<'tree>,
    /// Its name; a default export may have none.
    pub name: Option<Node<'tree>>,
    /// The type it is written for, where it stands outside of it.
    pub owner: Option<Node<'tree>>,
    /// What the query says that it is.
    pub claim: Claim,
    /// Which pattern found it.
    pattern: usize,
}

/// What a part of the file makes of what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionKind {
    /// The names of parameters end with it.
    Scope,
    /// So do its definitions: they are nobody else's concern.
    Local,
    /// Its definitions belong to a type.
    Container,
}

/// A part of the file.
pub struct Region<'tree> {
    /// All of it.
    pub node: Node<'tree>,
    /// What it makes of what is in it.
    pub kind: RegionKind,
    /// The type that its definitions belong to.
    pub name: Option<Node<'tree>>,
}

/// What the query finds in a file.
#[derive(Default)]
pub struct Found<'tree> {
    /// By where their names begin: one definition for each.
    pub definitions: BTreeMap<usize, Candidate<'tree>>,
    /// In no order.
    pub regions: Vec<Region<'tree>>,
    /// Where each used name begins and ends, and how it is used.
    pub uses: FxHashMap<usize, (usize, Use)>,
    /// Where each name of a parameter or variable begins and ends.
    pub locals: FxHashMap<usize, usize>,
    /// Where names begin that are no values.
    pub ignored: FxHashSet<usize>,
    /// Names that the file exports somewhere.
    pub exported: FxHashSet<&'tree str>,
    /// By the identity of a node: the node whose first words belong to it.
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
        // Of what is exported in its own line more is known than of what is exported elsewhere.
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
