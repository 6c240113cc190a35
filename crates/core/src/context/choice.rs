//! The last steps of a selection. Inserts the neighbours of strong hits, and takes contexts until the budget is used
//! up. A hit is strong if it has at least half of the best score; its neighbours are the contexts just before and after
//! it that were saved for the same query or task.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// A hit with at least this share of the best score is strong.
const STRONG: f32 = 0.5;
/// Bytes per token, a low estimate: usual text has more.
const BYTES_PER_TOKEN: u64 = 3;

/// The components of a score, which add up to it apart from rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Parts {
    /// From the terms of the question.
    pub text: f32,
    /// From the similarity of vectors.
    pub embedding: f32,
    /// From the contexts beside it.
    pub neighbours: f32,
    /// From the scores of other contexts of its query or task.
    pub group: f32,
    /// From its age.
    pub recency: f32,
}

/// A candidate to be taken if it fits the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Choice {
    /// Its position among the candidates.
    pub position: usize,
    /// From 0 to 1.
    pub score: f32,
    /// Whether it was added as a neighbour of the last choice that is none.
    pub is_neighbour: bool,
    /// The components of the score.
    pub parts: Parts,
}

/// The groups of the candidates (contexts of the same query or task), and their members.
#[derive(Debug, Default)]
pub(super) struct Groups {
    of: Vec<u64>,
    members: FxHashMap<u64, Vec<usize>>,
}

impl Groups {
    /// From the group of each candidate, in their order.
    pub fn new(of: Vec<u64>) -> Self {
        let mut members: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (position, &group) in of.iter().enumerate() {
            members.entry(group).or_default().push(position);
        }
        Self { of, members }
    }

    /// The group of each candidate, in their order.
    pub fn of(&self) -> &[u64] {
        &self.of
    }

    /// The `count` members before and after a candidate in its group, in order.
    fn around(&self, position: usize, count: usize) -> impl Iterator<Item = usize> {
        let group = self.of.get(position).and_then(|group| self.members.get(group));
        let members = group.map(Vec::as_slice).unwrap_or_default();
        let place = members.partition_point(|&member| member < position);
        let end = place.saturating_add(count).saturating_add(1).min(members.len());
        let around = members.get(place.saturating_sub(count)..end).unwrap_or_default();
        around.iter().copied().filter(move |&member| member != position)
    }
}

/// Inserts after each strong hit the contexts just before and after it in its group. They keep their own score. Strong
/// hits keep their position; a neighbour of several hits is inserted after each.
pub(super) fn with_neighbours(hits: &[Choice], groups: &Groups, count: usize) -> Vec<Choice> {
    let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
    let is_strong = |score: f32| score > 0.0 && score >= best * STRONG;
    let scores: FxHashMap<usize, &Choice> = hits.iter().map(|hit| (hit.position, hit)).collect();
    let is_strong_hit =
        |position: &usize| scores.get(position).is_some_and(|hit| is_strong(hit.score));
    let mut choices = Vec::with_capacity(hits.len());
    for hit in hits {
        choices.push(*hit);
        if !is_strong(hit.score) {
            continue;
        }
        let beside = groups.around(hit.position, count);
        choices.extend(beside.filter(|position| !is_strong_hit(position)).map(|position| {
            let own = scores.get(&position).copied().copied();
            Choice { position, is_neighbour: true, ..own.unwrap_or_default() }
        }));
    }
    choices
}

/// The budget of a selection; absent bounds do not limit.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bounds {
    /// The number of contexts.
    pub limit: Option<usize>,
    /// Their total size in bytes.
    pub max_bytes: Option<u64>,
    /// Their total tokens, counted as a third of each size, rounded up.
    pub max_tokens: Option<u64>,
}

impl Bounds {
    fn needs_size(&self) -> bool {
        self.max_bytes.is_some() || self.max_tokens.is_some()
    }
}

/// Takes choices in order while they fit. No context is taken twice, and no neighbour without its hit. `size_of`
/// returns a candidate's size in bytes, or `None` if it was removed.
pub(super) fn pack(
    choices: impl IntoIterator<Item = Choice>,
    bounds: &Bounds,
    size_of: impl Fn(usize) -> Option<u64>,
) -> Vec<Choice> {
    let mut taken = Vec::new();
    let mut positions = FxHashSet::default();
    let mut is_hit_taken = false;
    let (mut bytes, mut tokens) = (bounds.max_bytes, bounds.max_tokens);
    for choice in choices {
        let is_full = bounds.limit.is_some_and(|limit| taken.len() >= limit);
        if is_full || bytes == Some(0) || tokens == Some(0) {
            break;
        }
        let is_alone = choice.is_neighbour && !is_hit_taken;
        if is_alone || positions.contains(&choice.position) {
            continue;
        }
        let mut fits = true;
        if bounds.needs_size() {
            let rest = size_of(choice.position).and_then(|size| {
                let less = |rest: Option<u64>, cost| rest.map(|rest: u64| rest.checked_sub(cost));
                let (bytes, tokens) =
                    (less(bytes, size), less(tokens, size.div_ceil(BYTES_PER_TOKEN)));
                (bytes != Some(None) && tokens != Some(None))
                    .then_some((bytes.flatten(), tokens.flatten()))
            });
            fits = rest.is_some();
            (bytes, tokens) = rest.unwrap_or((bytes, tokens));
        }
        if fits {
            positions.insert(choice.position);
            taken.push(choice);
        }
        if !choice.is_neighbour {
            is_hit_taken = fits;
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hits(scores: &[(usize, f32)]) -> Vec<Choice> {
        let hit = |&(position, score)| Choice { position, score, ..Choice::default() };
        scores.iter().map(hit).collect()
    }

    fn shown(choices: &[Choice]) -> Vec<(usize, bool)> {
        choices.iter().map(|choice| (choice.position, choice.is_neighbour)).collect()
    }

    #[test]
    fn neighbours_follow_strong_hits_of_their_group_alone() {
        let groups = Groups::new(vec![1, 1, 2, 1, 1, 2, 1, 1]);
        let hits = hits(&[(3, 1.0), (7, 0.5), (4, 0.4)]);
        let choices = with_neighbours(&hits, &groups, 1);
        assert_eq!(
            shown(&choices),
            [(3, false), (1, true), (4, true), (7, false), (6, true), (4, false)]
        );
        assert_eq!(choices[2].score, 0.4);
        assert_eq!(choices[1].score, 0.0);
        let choices = with_neighbours(&hits, &groups, usize::MAX);
        let packed = pack(choices, &Bounds::default(), |_| Some(1));
        assert_eq!(
            shown(&packed),
            [(3, false), (0, true), (1, true), (4, true), (6, true), (7, false)]
        );
    }

    #[test]
    fn strong_hits_keep_their_own_place() {
        let groups = Groups::new(vec![0; 3]);
        let choices = with_neighbours(&hits(&[(1, 1.0), (0, 0.6)]), &groups, 1);
        assert_eq!(shown(&choices), [(1, false), (2, true), (0, false)]);
    }

    #[test]
    fn what_does_not_fit_is_passed_over_with_its_neighbours() {
        let groups = Groups::new(vec![0, 0, 1, 1]);
        let choices = with_neighbours(&hits(&[(0, 1.0), (2, 0.9)]), &groups, 1);
        let sizes = [100, 1, 5, 6];
        let bounds = Bounds { max_bytes: Some(11), ..Bounds::default() };
        let packed = pack(choices.iter().copied(), &bounds, |position| Some(sizes[position]));
        assert_eq!(shown(&packed), [(2, false), (3, true)]);
        let bounds = Bounds { max_tokens: Some(3), ..Bounds::default() };
        let packed = pack(choices.iter().copied(), &bounds, |position| Some(sizes[position]));
        assert_eq!(shown(&packed), [(2, false)], "5 bytes are 2 tokens, 6 are 2 more");
        let bounds = Bounds { limit: Some(1), ..Bounds::default() };
        assert_eq!(shown(&pack(choices, &bounds, |_| None)), [(0, false)]);
    }

    #[test]
    fn what_is_gone_is_passed_over() {
        let bounds = Bounds { max_bytes: Some(10), ..Bounds::default() };
        let packed =
            pack(hits(&[(0, 1.0), (1, 0.5)]), &bounds, |position| (position == 1).then_some(10));
        assert_eq!(shown(&packed), [(1, false)]);
    }

    proptest! {
        #[test]
        fn budgets_are_kept_and_nothing_that_fits_is_left(
            sizes in prop::collection::vec((1_u64..50, any::<bool>(), 0_usize..12), 0..40),
            limit in prop::option::of(0_usize..20),
            max_bytes in prop::option::of(0_u64..200),
            max_tokens in prop::option::of(0_u64..60),
        ) {
            let choices: Vec<Choice> = sizes
                .iter()
                .map(|&(_, is_neighbour, position)| Choice { position, score: 1.0, is_neighbour, parts: Parts::default() })
                .collect();
            let size = |position: usize| sizes.get(position).map(|&(size, ..)| size);
            let bounds = Bounds { limit, max_bytes, max_tokens };
            let packed = pack(choices.iter().copied(), &bounds, size);
            let bytes: u64 = packed.iter().filter_map(|choice| size(choice.position)).sum();
            let tokens: u64 =
                packed.iter().filter_map(|choice| size(choice.position)).map(|size| size.div_ceil(3)).sum();
            prop_assert!(limit.is_none_or(|limit| packed.len() <= limit));
            prop_assert!(max_bytes.is_none_or(|maximum| bytes <= maximum));
            prop_assert!(max_tokens.is_none_or(|maximum| tokens <= maximum));
            let taken: FxHashSet<usize> = packed.iter().map(|choice| choice.position).collect();
            prop_assert_eq!(taken.len(), packed.len(), "nothing is taken twice");
            if limit.is_none_or(|limit| packed.len() < limit) {
                for choice in choices.iter().filter(|choice| !choice.is_neighbour && !taken.contains(&choice.position)) {
                    let size = size(choice.position);
                    let fits = size.is_some_and(|size| {
                        max_bytes.is_none_or(|maximum| bytes + size <= maximum)
                            && max_tokens.is_none_or(|maximum| tokens + size.div_ceil(3) <= maximum)
                    });
                    prop_assert!(!fits, "{choice:?} fits");
                }
            }
        }
    }
}
