//! Nearness: what the similarity of vectors adds to the scores by terms.

use rustc_hash::FxHashMap;

use super::boosts::Scored;

/// The number of standard deviations above the mean from which on the nearest document gets its full weight. If no
/// document is that far above the mean, similarity counts less.
const OUTSTANDING: f32 = 6.0;
/// What the nearest document's score gains, relative to the best score by terms.
const NEAREST: f32 = 1.0;

/// What a nearness of 1 adds to a score by terms.
fn nearest(scores: impl Iterator<Item = f32>) -> f32 {
    let best = scores.fold(0.0, f32::max);
    NEAREST * if best > 0.0 { best } else { 1.0 }
}

/// Adds nearness, one number for each candidate, to the scores of documents without groups, and sorts them, best first; equal ones keep
/// their order. A near candidate counts as a match. `scored` has the positions of candidates and their scores.
pub fn fuse(scored: &mut Vec<(usize, f32)>, near: &[f32]) {
    let nearest = nearest(scored.iter().map(|(_, score)| *score));
    let mut is_scored = vec![false; near.len()];
    for (position, score) in scored.iter_mut() {
        is_scored.get_mut(*position).into_iter().for_each(|slot| *slot = true);
        *score += nearest * near.get(*position).copied().unwrap_or_default();
    }
    let others = near.iter().zip(is_scored).enumerate();
    let others = others.filter(|(_, (near, is_scored))| !is_scored && **near > 0.0);
    scored.extend(others.map(|(position, (near, _))| (position, nearest * near)));
    scored.sort_by(|left, right| right.1.total_cmp(&left.1));
}

/// The similarity of each candidate relative to the others, from 0 to 1: the distance of its cosine from the mean in
/// standard deviations, divided by the greatest, cubed so that only the nearest count.
///
/// `cosines` has `None` for candidates without a vector.
pub fn nearness(cosines: &[Option<f32>]) -> Vec<f32> {
    let count = cosines.iter().flatten().count().max(1) as f32;
    let mean = cosines.iter().flatten().sum::<f32>() / count;
    let squares = cosines.iter().flatten().map(|cosine| (cosine - mean).powi(2));
    let deviation = (squares.sum::<f32>() / count).sqrt();
    // Equal cosines, apart from rounding, do not distinguish the candidates.
    if deviation < 1e-5 {
        return vec![0.0; cosines.len()];
    }
    let above =
        |cosine: &Option<f32>| cosine.map_or(0.0, |cosine| ((cosine - mean) / deviation).max(0.0));
    let mut near: Vec<f32> = cosines.iter().map(above).collect();
    let most = near.iter().copied().fold(OUTSTANDING, f32::max);
    near.iter_mut().for_each(|near| *near = (*near / most).powi(3));
    near
}

/// Adds nearness, one number for each candidate, to the scores by terms. A near candidate counts as a match. `groups`
/// and `timestamps` are those of the candidates.
pub fn add_nearness(scored: &mut Vec<Scored>, near: &[f32], groups: &[u64], timestamps: &[i64]) {
    let nearest = nearest(scored.iter().map(|hit| hit.score));
    let mut by_group: FxHashMap<u64, f32> = FxHashMap::default();
    for (near, group) in near.iter().zip(groups).filter(|(_, group)| **group != 0) {
        let most = by_group.entry(*group).or_default();
        *most = most.max(nearest * near);
    }
    let mut coverage: FxHashMap<u64, f32> = FxHashMap::default();
    let mut is_scored = vec![false; near.len()];
    for hit in scored.iter_mut() {
        coverage.insert(hit.group, hit.group_score);
        is_scored.get_mut(hit.position).into_iter().for_each(|slot| *slot = true);
        hit.near = nearest * near.get(hit.position).copied().unwrap_or_default();
        hit.score += hit.near;
    }
    let candidates = near.iter().zip(groups).zip(timestamps).enumerate();
    let others = candidates
        .zip(is_scored)
        .filter(|((_, ((near, _), _)), is_scored)| !is_scored && **near > 0.0);
    scored.extend(others.map(|((position, ((near, &group), &timestamp)), _)| Scored {
        position,
        score: nearest * near,
        near: nearest * near,
        group,
        group_score: coverage.get(&group).copied().unwrap_or_default(),
        timestamp,
        ..Scored::default()
    }));
    for hit in scored.iter_mut() {
        hit.group_score += by_group.get(&hit.group).copied().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_documents_are_added_to_a_list_of_scores() {
        let mut scored = vec![(2, 4.0), (0, 2.0)];
        fuse(&mut scored, &[0.75, 0.25, 0.0, 0.0]);
        assert_eq!(scored, [(0, 5.0), (2, 4.0), (1, 1.0)]);
        let mut none = Vec::new();
        fuse(&mut none, &[0.0, 1.0]);
        assert_eq!(none, [(1, 1.0)], "no term matches");
    }

    #[test]
    fn nearness_is_what_stands_out() {
        let cosines = [Some(0.1), Some(0.9), None, Some(0.1), Some(0.1)];
        let near = nearness(&cosines);
        assert!(near[1] > 0.02 && near[1] < 0.03, "√3 deviations of 6, cubed: {near:?}");
        assert_eq!([near[0], near[2], near[3], near[4]], [0.0; 4]);
        let mut many = vec![Some(0.1); 100];
        many.push(Some(0.9));
        assert_eq!(nearness(&many)[100], 1.0);
        assert_eq!(nearness(&[Some(0.7); 3]), [0.0; 3], "all the same");
        assert_eq!(nearness(&[None; 2]), [0.0; 2]);
    }

    #[test]
    fn near_candidates_match_and_lift_their_groups() {
        let hit = |position, score, near, group, group_score| Scored {
            position,
            score,
            near,
            group,
            group_score,
            ..Scored::default()
        };
        let mut scored = vec![hit(0, 2.0, 0.0, 1, 3.0)];
        add_nearness(&mut scored, &[0.5, 1.0, 0.0, 0.25], &[1, 1, 1, 0], &[0; 4]);
        assert_eq!(
            scored,
            [hit(0, 3.0, 1.0, 1, 5.0), hit(1, 2.0, 2.0, 1, 5.0), hit(3, 0.5, 0.5, 0, 0.0)]
        );
        let mut none = Vec::new();
        add_nearness(&mut none, &[0.0, 1.0], &[0, 0], &[0; 2]);
        assert_eq!(none, [hit(1, 1.0, 1.0, 0, 0.0)], "no term matches");
    }
}
