//! The parts of an index and their maintenance: full tails become segments, and segments of similar size are merged.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::merge::{like_sized, merge};
use crate::index::segment::Segment;
use crate::index::tail::Tail;

/// A snapshot that readers use. Only its last tail grows.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) tails: Vec<Arc<Tail>>,
    group_units: OnceLock<Arc<GroupUnits>>,
}

/// The units of each group: numbers of segments, and the unit in each segment.
#[derive(Debug, Default)]
pub(crate) struct GroupUnits {
    first: FxHashMap<u64, (u32, u32)>,
    /// The units of groups that are in several segments.
    spanning: FxHashMap<u64, Vec<(u32, u32)>>,
}

impl GroupUnits {
    fn new(segments: &[Arc<Segment>]) -> Self {
        let mut units = Self::default();
        for (number, segment) in (0..).zip(segments) {
            let groups = (0..).zip(segment.bounds().groups());
            for (unit, group) in groups {
                if let Some(other) = units.first.insert(*group, (number, unit)) {
                    let spanning = units.spanning.entry(*group).or_insert_with(|| vec![other]);
                    spanning.push((number, unit));
                }
            }
        }
        units
    }

    /// The units of a group.
    pub(crate) fn units(&self, group: u64) -> &[(u32, u32)] {
        let only = || self.first.get(&group).map(std::slice::from_ref);
        self.spanning(group).or_else(only).unwrap_or_default()
    }

    /// The units of a group that is in several segments.
    pub(crate) fn spanning(&self, group: u64) -> Option<&[(u32, u32)]> {
        self.spanning.get(&group).map(Vec::as_slice)
    }

    /// The units of each group that is in several segments.
    pub(crate) fn all_spanning(&self) -> impl Iterator<Item = &[(u32, u32)]> {
        self.spanning.values().map(Vec::as_slice)
    }
}

impl Snapshot {
    pub(crate) fn new(segments: Vec<Arc<Segment>>, tails: Vec<Arc<Tail>>) -> Self {
        Self { segments, tails, group_units: OnceLock::new() }
    }

    /// The snapshot with other tails.
    pub(crate) fn with_tails(&self, tails: Vec<Arc<Tail>>) -> Self {
        Self { segments: self.segments.clone(), tails, group_units: self.group_units.clone() }
    }

    /// The units of the groups; `None` before [`Self::prepare`].
    pub(crate) fn group_units(&self) -> Option<&GroupUnits> {
        self.group_units.get().map(|units| &**units)
    }

    /// Computes the units of the groups, and the bounds of all segments.
    pub(crate) fn prepare(&self) {
        self.group_units.get_or_init(|| Arc::new(GroupUnits::new(&self.segments)));
    }

    pub(crate) fn bytes(&self) -> usize {
        let segments = self.segments.iter().map(|segment| segment.bytes());
        segments.chain(self.tails.iter().map(|tail| tail.bytes())).sum()
    }

    /// The snapshot with `built` in place of `sources`; `None` when a source is missing.
    pub(crate) fn replaced(&self, sources: &Sources, built: Option<Segment>) -> Option<Self> {
        let (mut segments, mut tails) = (self.segments.clone(), self.tails.clone());
        match sources {
            Sources::Tail(tail) => tails.retain(|other| !Arc::ptr_eq(tail, other)),
            Sources::Segments(sources, _) => {
                segments.retain(|other| !sources.iter().any(|segment| Arc::ptr_eq(segment, other)))
            }
        }
        let gone = self.segments.len() + self.tails.len() - segments.len() - tails.len();
        segments.extend(built.map(Arc::new));
        (gone == sources.len()).then(|| Self::new(segments, tails))
    }
}

/// Parts that are replaced by one new segment.
pub(crate) enum Sources {
    Tail(Arc<Tail>),
    /// Segments to merge. The flag says whether to leave out the results of their documents.
    Segments(Vec<Arc<Segment>>, bool),
}

impl Sources {
    /// The next maintenance step, if there is one.
    pub(crate) fn next(snapshot: &Snapshot, budget: usize) -> Option<Self> {
        if let [full, _, ..] = snapshot.tails.as_slice() {
            return Some(Self::Tail(Arc::clone(full)));
        }
        let half_removed = snapshot.segments.iter().find(|segment| segment.is_sparse());
        if let Some(segment) = half_removed {
            return Some(Self::Segments(vec![Arc::clone(segment)], segment.is_thinned()));
        }
        if snapshot.bytes() > budget {
            let whole = snapshot.segments.iter().filter(|segment| !segment.is_thinned());
            if let Some(oldest) = whole.min_by_key(|segment| segment.first_sequence()) {
                return Some(Self::Segments(vec![Arc::clone(oldest)], true));
            }
        }
        let segments = like_sized(&snapshot.segments)?;
        let is_thinned = segments.iter().all(|segment| segment.is_thinned());
        Some(Self::Segments(segments, is_thinned))
    }

    fn len(&self) -> usize {
        match self {
            Self::Tail(_) => 1,
            Self::Segments(segments, _) => segments.len(),
        }
    }

    pub(crate) fn build(&self) -> Option<Segment> {
        match self {
            Self::Tail(tail) => Segment::from_documents(tail.documents()),
            Self::Segments(segments, is_thinned) => merge(segments, *is_thinned),
        }
    }

    /// Removes from `built` the documents that were removed from the sources while it was built. A document that was
    /// replaced stays if its replacement is in a source.
    pub(crate) fn catch_up(&self, built: &Segment) {
        let removed: Vec<u64> = match self {
            Self::Tail(tail) => {
                let live: FxHashSet<u64> = tail
                    .documents()
                    .filter(|document| !document.is_removed())
                    .map(|document| document.sequence)
                    .collect();
                let sequences = tail.documents().map(|document| document.sequence);
                sequences.filter(|sequence| !live.contains(sequence)).collect()
            }
            Self::Segments(segments, _) => {
                let is_gone =
                    |sequence: &u64| !segments.iter().any(|segment| segment.has(*sequence));
                segments.iter().flat_map(|segment| segment.removed()).filter(is_gone).collect()
            }
        };
        for sequence in removed {
            built.remove(sequence);
        }
    }
}
