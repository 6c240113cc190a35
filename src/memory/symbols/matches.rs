//! What the query finds in a file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use tree_sitter::{Node, QueryCursor, QueryCursorOptions, StreamingIterator, Tree};

use super::SymbolKind;
use super::names::named;
use super::rules::{Role, Rules};

/// A definition as it stands in the tree.
pub struct Candidate<'tree> {
    /// All of it.
    pub node: Node<'tree>,
    /// Its name; a default export may have none.
    pub name: Option<Node<'tree>>,
    /// The type it is written for, where it stands outside of it.
    pub owner: Option<Node<'tree>>,
    /// What the query says that it is.
    pub kind: SymbolKind,
    /// Which pattern found it.
    pattern: usize,
}

/// A part of a file that says what the definitions in it belong to.
pub struct Region<'tree> {
    /// All of it.
    pub node: Node<'tree>,
    /// Whether what it defines is nobody else's concern.
    pub local: bool,
    /// The type that it belongs to.
    pub name: Option<Node<'tree>>,
}

/// What the query finds in a file.
#[derive(Default)]
pub struct Found<'tree> {
    /// By where their names begin: one definition for each.
    pub definitions: BTreeMap<usize, Candidate<'tree>>,
    /// In no order.
    pub regions: Vec<Region<'tree>>,
    /// Where each used name begins, and where it ends.
    pub references: BTreeMap<usize, usize>,
    /// Names of parameters.
    pub local_names: HashSet<&'tree str>,
    /// By the identity of a node: the node whose first words belong to it.
    pub outer: HashMap<usize, Node<'tree>>,
}

impl<'tree> Found<'tree> {
    /// Runs the query. `proceed` is asked now and then.
    pub fn of(
        rules: &Rules,
        cursor: &mut QueryCursor,
        tree: &'tree Tree,
        text: &'tree str,
        mut proceed: impl FnMut() -> bool,
    ) -> Self {
        let mut found = Self::default();
        let mut progress = |_: &_| match proceed() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let options = QueryCursorOptions::new().progress_callback(&mut progress);
        let mut matches =
            cursor.matches_with_options(&rules.query, tree.root_node(), text.as_bytes(), options);
        while let Some(matched) = matches.next() {
            let mut parts = Parts::default();
            for capture in matched.captures() {
                let role = usize::try_from(capture.index).ok().and_then(|at| rules.roles.get(at));
                parts.add(*role.unwrap_or(&Role::Other), capture.node);
            }
            found.add(parts, matched.pattern_index, text);
        }
        found
    }

    fn add(&mut self, parts: Parts<'tree>, pattern: usize, text: &'tree str) {
        if let Some((node, kind)) = parts.definition {
            self.define(node, kind, &parts, pattern);
        } else if parts.reference {
            if let Some(name) = parts.name.and_then(named) {
                self.references.insert(name.name.start_byte(), name.name.end_byte());
            }
        } else if let Some((node, local)) = parts.region {
            let name = parts.name.and_then(named).map(|found| found.name);
            self.regions.push(Region { node, local, name });
        } else if let (Some(outer), Some(declared)) = (parts.outer, parts.declared) {
            self.outer.insert(declared.id(), outer);
        }
        if let Some(name) = parts.local_name.and_then(|node| text.get(node.byte_range())) {
            self.local_names.insert(name);
        }
    }

    fn define(
        &mut self,
        node: Node<'tree>,
        kind: Option<SymbolKind>,
        parts: &Parts<'tree>,
        pattern: usize,
    ) {
        let mut candidate = Candidate {
            node,
            name: None,
            owner: parts.owner,
            kind: kind.unwrap_or(SymbolKind::Constant),
            pattern,
        };
        if let Some(name) = parts.name {
            let Some(named) = named(name) else { return };
            candidate.name = Some(named.name);
            candidate.owner = candidate.owner.or(named.owner);
            if kind.is_none() && named.function {
                candidate.kind = SymbolKind::Function;
            }
        }
        let at = candidate.name.unwrap_or(node).start_byte();
        match self.definitions.get(&at) {
            Some(known) if known.pattern <= pattern => {}
            _ => {
                self.definitions.insert(at, candidate);
            }
        }
    }
}

/// The parts of one match.
#[derive(Default)]
struct Parts<'tree> {
    definition: Option<(Node<'tree>, Option<SymbolKind>)>,
    reference: bool,
    name: Option<Node<'tree>>,
    owner: Option<Node<'tree>>,
    region: Option<(Node<'tree>, bool)>,
    outer: Option<Node<'tree>>,
    declared: Option<Node<'tree>>,
    local_name: Option<Node<'tree>>,
}

impl<'tree> Parts<'tree> {
    fn add(&mut self, role: Role, node: Node<'tree>) {
        match role {
            Role::Name => self.name = Some(node),
            Role::Definition(kind) => self.definition = Some((node, Some(kind))),
            Role::Declaration => self.definition = Some((node, None)),
            Role::Reference => self.reference = true,
            Role::Owner => self.owner = Some(node),
            Role::Container => self.region = Some((node, false)),
            Role::LocalScope => self.region = Some((node, true)),
            Role::LocalDefinition => self.local_name = Some(node),
            Role::Declared => self.declared = Some(node),
            Role::Outer => self.outer = Some(node),
            Role::Other => {}
        }
    }
}
