//! What the place of a document among the others adds to its score.

use std::cmp::Ordering;

/// After so many later candidates the boost of recency has fallen to a third.
const RECENT_CANDIDATES: f32 = 15.0;

/// Among few candidates the latest matters more: recency weighs twice as much at
/// about fifty, four times as much at ten.
const FEW_CANDIDATES: f32 = 10.0;
const MOST_AMONG_FEW: f32 = 6.0;

/// How much the place of a document among the candidates counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boosts {
    /// The share of the best score that the latest candidate gets on top, where there are many.
    pub recency: f32,
    /// The share of the scores of the candidates just before and just after, if they are of the same group.
    pub neighbours: f32,
    /// The share of what the group as a whole matches.
    pub group: f32,
}

impl Default for Boosts {
    fn default() -> Self {
        Self { recency: 0.15, neighbours: 0.2, group: 0.8 }
    }
}

/// A candidate that matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Its place among all candidates, those that do not match included.
    pub position: usize,
    /// How well its text matches, and after [`boost`] how good it is.
    pub score: f32,
    /// Its group, 0 for none.
    pub group: u64,
    /// What its group as a whole matches, as [`crate::Ranked`] has it.
    pub group_score: f32,
    /// Of equally good candidates the later is first.
    pub timestamp: i64,
}

/// Adds the boosts to the scores of the matching ones of `candidates`
/// candidates, which stand in the order in which they were made, and sorts
/// them: best first.
pub fn boost(scored: &mut [Scored], candidates: usize, boosts: &Boosts) {
    if boosts.neighbours > 0.0 {
        add_neighbours(scored, boosts.neighbours);
    }
    for document in scored.iter_mut() {
        document.score += boosts.group * document.group_score;
    }
    let best = scored.iter().map(|document| document.score).fold(0.0, f32::max);
    let among_few = 1.0 + MOST_AMONG_FEW * FEW_CANDIDATES / (FEW_CANDIDATES + candidates as f32);
    let latest = boosts.recency * among_few * best;
    for document in scored.iter_mut() {
        let age = candidates.saturating_sub(document.position + 1) as f32;
        document.score += latest * (-age / RECENT_CANDIDATES).exp();
    }
    scored.sort_unstable_by(better_first);
}

fn add_neighbours(scored: &mut [Scored], share: f32) {
    scored.sort_unstable_by_key(|document| document.position);
    let mut previous: Option<Scored> = None;
    let mut rest = scored;
    while let Some((document, after)) = rest.split_first_mut() {
        let alone = *document;
        let neighbours = [previous, after.first().copied()].into_iter().flatten();
        let same_group = neighbours.filter(|other| {
            alone.group != 0
                && other.group == alone.group
                && other.position.abs_diff(alone.position) == 1
        });
        document.score += share * same_group.map(|other| other.score).sum::<f32>();
        previous = Some(alone);
        rest = after;
    }
}

fn better_first(left: &Scored, right: &Scored) -> Ordering {
    let by_score = right.score.total_cmp(&left.score);
    by_score.then_with(|| (right.timestamp, right.position).cmp(&(left.timestamp, left.position)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: Boosts = Boosts { recency: 0.0, neighbours: 0.0, group: 0.0 };

    fn scored(position: usize, score: f32, group: u64) -> Scored {
        Scored { position, score, group, group_score: 0.0, timestamp: 0 }
    }

    fn boosted(
        mut documents: Vec<Scored>,
        candidates: usize,
        boosts: &Boosts,
    ) -> Vec<(usize, f32)> {
        boost(&mut documents, candidates, boosts);
        documents.iter().map(|document| (document.position, document.score)).collect()
    }

    #[test]
    fn neighbours_of_the_same_group_add_a_share() {
        let documents = vec![
            scored(0, 4.0, 1),
            scored(1, 1.0, 1),
            scored(2, 2.0, 1),
            scored(3, 3.0, 2),
            scored(5, 1.5, 2),
            scored(6, 9.0, 0),
            scored(7, 8.0, 0),
        ];
        let boosts = Boosts { neighbours: 0.5, ..NONE };
        let expected = [(6, 9.0), (7, 8.0), (0, 4.5), (1, 4.0), (3, 3.0), (2, 2.5), (5, 1.5)];
        assert_eq!(boosted(documents, 8, &boosts), expected);
    }

    #[test]
    fn a_group_that_matches_lifts_its_members() {
        let mut documents = vec![scored(0, 2.0, 1), scored(1, 3.0, 2)];
        documents[0].group_score = 4.0;
        let boosts = Boosts { group: 0.5, ..NONE };
        assert_eq!(boosted(documents, 2, &boosts), [(0, 4.0), (1, 3.0)]);
    }

    #[test]
    fn recency_falls_with_age_and_counts_more_among_few() {
        let boosts = Boosts { recency: 0.1, ..NONE };
        let share = |position, candidates| {
            boosted(vec![scored(position, 1.0, 0)], candidates, &boosts)[0].1 - 1.0
        };
        assert!((share(999_999, 1_000_000) - 0.1).abs() < 1e-3);
        assert!((share(49, 50) - 0.2).abs() < 1e-3);
        assert!((share(9, 10) - 0.4).abs() < 1e-3);
        assert!(share(5, 10) < share(9, 10) && share(0, 10) < share(5, 10));
        assert!(share(0, 1_000) < 1e-6);
    }

    #[test]
    fn equally_good_ones_are_ordered_by_time_then_place() {
        let mut documents = vec![scored(0, 1.0, 0), scored(1, 1.0, 0), scored(2, 1.0, 0)];
        documents[0].timestamp = 5;
        let order: Vec<usize> =
            boosted(documents, 3, &NONE).iter().map(|(position, _)| *position).collect();
        assert_eq!(order, [0, 2, 1]);
    }

    proptest! {
        #[test]
        fn no_document_is_lost_and_none_gets_worse(
            scores in prop::collection::btree_map(0_usize..60, (0.0_f32..9.0, 0_u64..3), 0..40),
        ) {
            let before: Vec<Scored> = scores.iter().map(|(position, (score, group))| scored(*position, *score, *group)).collect();
            let mut after = before.clone();
            boost(&mut after, 60, &Boosts::default());
            prop_assert!(after.is_sorted_by(|left, right| left.score >= right.score));
            after.sort_by_key(|document| document.position);
            for (before, after) in before.iter().zip(&after) {
                prop_assert_eq!(before.position, after.position);
                prop_assert!(after.score >= before.score);
            }
            prop_assert_eq!(before.len(), after.len());
        }
    }
}
