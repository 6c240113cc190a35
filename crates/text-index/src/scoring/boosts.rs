//! Boosts: additions to the scores of matching documents for their recency, for the scores of neighbours (documents
//! saved just before or after), and for the score of their group.

use std::cmp::Ordering;

/// After this many later candidates, the boost of recency has fallen to about a third.
const RECENT_CANDIDATES: f32 = 10.0;

/// Among few candidates, recency weighs more: twice as much at ninety, six times as much at ten.
const FEW_CANDIDATES: f32 = 10.0;
const MOST_AMONG_FEW: f32 = 10.0;

/// Weight of candidates two positions away, relative to those directly beside.
const TWO_AWAY: f32 = 0.25;
/// Weight of an adjacent candidate where neither has a group, relative to one within the group.
const UNGROUPED: f32 = 0.5;
/// Maximum time in milliseconds between calls without a group that count as related.
const TOGETHER: u64 = 5 * 60 * 1000;

/// The weights of the boosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boosts {
    /// Share of the best score that is added to the latest candidate, if there are many.
    pub recency: f32,
    /// Share of the scores of the previous and the next candidate that is added, if they are in the same group. Those
    /// two positions away, and those without a group that were saved within minutes, count less.
    pub neighbours: f32,
    /// Share of the group's score that is added.
    pub group: f32,
}

impl Default for Boosts {
    fn default() -> Self {
        Self { recency: 0.15, neighbours: 0.2, group: 0.8 }
    }
}

/// A candidate that matches the query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scored {
    /// Its position among all candidates, including those that do not match.
    pub position: usize,
    /// The score of its text; after [`boost`], its total score.
    pub score: f32,
    /// Its group; 0 for none.
    pub group: u64,
    /// The score of its group, as in [`crate::Ranked`].
    pub group_score: f32,
    /// Of equally scored candidates, the later one is first.
    pub timestamp: i64,
    /// The part of the score that is for vector similarity.
    pub near: f32,
    /// The part of the score that [`boost`] added for neighbours.
    pub beside: f32,
    /// The part of the score that [`boost`] added for recency.
    pub recent: f32,
}

/// Adds the boosts to the scores of the matching candidates and sorts them, best first. `candidates` is the number of
/// all candidates, which are ordered by time. With a `limit`, only the best are kept. Returns the best score without
/// recency.
pub fn boost(
    scored: &mut Vec<Scored>,
    candidates: usize,
    boosts: &Boosts,
    limit: Option<usize>,
) -> f32 {
    if boosts.neighbours > 0.0 {
        add_neighbours(scored, boosts.neighbours);
    }
    for document in scored.iter_mut() {
        document.score += boosts.group * document.group_score;
    }
    let best = scored.iter().map(|document| document.score).fold(0.0, f32::max);
    let latest = boosts.recency * (1.0 + among_few(candidates)) * best;
    for document in scored.iter_mut() {
        document.recent = latest * freshness(document.position, candidates);
        document.score += document.recent;
    }
    if let Some(limit) = limit.filter(|limit| *limit < scored.len()) {
        scored.select_nth_unstable_by(limit, better_first);
        scored.truncate(limit);
    }
    scored.sort_unstable_by(better_first);
    best
}

/// The score that a candidate without a match gets for its recency: in a small store, the latest calls may be relevant
/// regardless of their words. `best` is the value that [`boost`] returned.
pub fn recency_of_others(position: usize, candidates: usize, boosts: &Boosts, best: f32) -> f32 {
    boosts.recency * among_few(candidates) * best * freshness(position, candidates)
}

/// The greatest boost by recency. `best` is at least the best score without recency.
pub(crate) fn freshest(candidates: usize, boosts: &Boosts, best: f32) -> f32 {
    boosts.recency * (1.0 + among_few(candidates)) * best
}

/// The number of latest candidates whose boost by recency is not negligible, if the greatest one is `freshest`; `None` for all.
pub(crate) fn recency_ends(freshest: f32, negligible: f32) -> Option<usize> {
    if freshest <= 0.0 {
        return Some(0);
    }
    let ages = (RECENT_CANDIDATES * (freshest / negligible).ln()).ceil();
    ages.is_finite().then(|| ages.max(0.0) as usize + 1)
}

/// An upper bound of the score without recency of a document with a group.
pub(crate) fn with_boosts(text: f32, coverage: f32, boosts: &Boosts) -> f32 {
    text * (1.0 + boosts.neighbours * most_neighbours(true)) + boosts.group * coverage
}

/// An upper bound of the score with neighbours of a document with a group, by the best text scores of the group, the best first.
pub(crate) fn with_neighbours([best, second, third]: [f32; 3], share: f32) -> f32 {
    best + share * (second + third * (1.0 + 2.0 * TWO_AWAY))
}

/// The highest score with neighbours of the documents of one group, given by the text scores of adjacent candidates.
pub(crate) fn most_with_neighbours(texts: &[f32], share: f32) -> f32 {
    let text = |number: Option<usize>| {
        number.and_then(|number| texts.get(number)).map_or(0.0, |text| *text)
    };
    let score = |(number, own): (usize, &f32)| {
        let beside = text(number.checked_sub(1)) + text(Some(number + 1));
        let two_away = text(number.checked_sub(2)) + text(Some(number + 2));
        own + share * (beside + TWO_AWAY * two_away)
    };
    texts.iter().enumerate().map(score).fold(0.0, f32::max)
}

/// The factor by which recency weighs more among few candidates.
fn among_few(candidates: usize) -> f32 {
    MOST_AMONG_FEW * FEW_CANDIDATES / (FEW_CANDIDATES + candidates as f32)
}

/// 1 for the latest candidate, decreasing with the number of later ones.
fn freshness(position: usize, candidates: usize) -> f32 {
    let age = candidates.saturating_sub(position + 1) as f32;
    (-age / RECENT_CANDIDATES).exp()
}

/// Adds the scores of neighbours, weighted by their nearness, and sorts by position.
pub(crate) fn add_neighbours(scored: &mut [Scored], share: f32) {
    scored.sort_unstable_by_key(|document| document.position);
    let texts: Vec<Scored> = scored.to_vec();
    for (number, document) in scored.iter_mut().enumerate() {
        let around = texts.get(number.saturating_sub(2)..texts.len().min(number + 3));
        let others = around.unwrap_or_default().iter();
        let worth = others.map(|other| other.score * nearness(document, other));
        document.beside = share * worth.sum::<f32>();
        document.score += document.beside;
    }
}

/// The maximum sum of [`nearness`] over all neighbours of a document.
pub(crate) fn most_neighbours(has_group: bool) -> f32 {
    if has_group { 2.0 * (1.0 + TWO_AWAY) } else { 2.0 * UNGROUPED }
}

/// The weight of another candidate for this one, relative to an adjacent candidate of the same group.
fn nearness(document: &Scored, other: &Scored) -> f32 {
    match other.position.abs_diff(document.position) {
        _ if document.group != other.group => 0.0,
        1 if document.group != 0 => 1.0,
        2 if document.group != 0 => TWO_AWAY,
        1 if document.timestamp.abs_diff(other.timestamp) <= TOGETHER => UNGROUPED,
        _ => 0.0,
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
        Scored { position, score, group, ..Scored::default() }
    }

    fn boosted(
        mut documents: Vec<Scored>,
        candidates: usize,
        boosts: &Boosts,
    ) -> Vec<(usize, f32)> {
        boost(&mut documents, candidates, boosts, None);
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
            scored(7, 9.0, 0),
            scored(8, 8.0, 0),
            Scored { timestamp: 1 + TOGETHER as i64, ..scored(9, 4.0, 0) },
        ];
        let boosts = Boosts { neighbours: 0.5, ..NONE };
        let expected = [
            (7, 11.0),
            (8, 10.25),
            (0, 4.75),
            (9, 4.0),
            (1, 4.0),
            (3, 3.1875),
            (2, 3.0),
            (5, 1.875),
        ];
        assert_eq!(boosted(documents, 10, &boosts), expected);
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
        assert!((share(89, 90) - 0.2).abs() < 1e-3);
        assert!((share(9, 10) - 0.6).abs() < 1e-3);
        assert!((recency_of_others(9, 10, &boosts, 2.0) - 1.0).abs() < 1e-3);
        assert!(recency_of_others(0, 1000, &boosts, 2.0) < 1e-6);
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
            boost(&mut after, 60, &Boosts::default(), None);
            for limit in [0, 1, 7, 100] {
                let mut limited = before.clone();
                boost(&mut limited, 60, &Boosts::default(), Some(limit));
                prop_assert!(limited.iter().eq(after.iter().take(limit)), "the first of all");
            }
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
