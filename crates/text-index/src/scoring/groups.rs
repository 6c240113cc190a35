//! Scores groups of documents, such as all documents of one user query, by how many of the query's terms their
//! documents contain together.

use rustc_hash::FxHashMap;

/// Maximum number of query terms that count for groups, the most important ones. A caller may pass a complete
/// conversation as a query, and each group keeps a score per term.
pub(crate) const MAXIMUM_TERMS: usize = 64;

/// For each group, the best score of every query term among its documents. The sum measures how much of the query the
/// group covers, in one document or in several.
#[derive(Debug)]
pub(crate) struct GroupScores {
    /// The terms that count, by their index in the query.
    terms: Vec<usize>,
    numbers: FxHashMap<u64, u32>,
    /// The last requested group: documents of one group are mostly consecutive.
    latest: Option<(u64, u32)>,
    /// Scores by group and term.
    best: Vec<f32>,
}

impl GroupScores {
    /// `terms` are indices of query terms, the most important first.
    pub(crate) fn new(terms: impl Iterator<Item = usize>) -> Self {
        let terms: Vec<usize> = terms.take(MAXIMUM_TERMS).collect();
        Self { terms, numbers: FxHashMap::default(), latest: None, best: Vec::new() }
    }

    /// The number of a group here; `None` for no group.
    pub(crate) fn number(&mut self, group: u64) -> Option<u32> {
        if group == 0 {
            return None;
        }
        if let Some((latest, number)) = self.latest
            && latest == group
        {
            return Some(number);
        }
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(group).or_insert(next);
        if number == next {
            self.best.resize(self.best.len() + self.terms.len(), 0.0);
        }
        self.latest = Some((group, number));
        Some(number)
    }

    /// Records the score of a term in a document of the group.
    pub(crate) fn add(&mut self, number: u32, term: usize, score: f32) {
        let Some(slot) = self.terms.iter().position(|other| *other == term) else { return };
        if let Some(best) = self.best.get_mut(number as usize * self.terms.len() + slot) {
            *best = best.max(score);
        }
    }

    /// The score of a group; 0 for no group.
    pub(crate) fn score(&self, group: u64) -> f32 {
        let Some(number) = self.numbers.get(&group) else { return 0.0 };
        let start = *number as usize * self.terms.len();
        self.best.get(start..start + self.terms.len()).unwrap_or_default().iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_each_term_is_summed_by_group() {
        let mut groups = GroupScores::new(0..2);
        assert_eq!(groups.number(0), None);
        let (first, second) = (groups.number(7).unwrap(), groups.number(8).unwrap());
        assert_eq!(groups.number(7), Some(first));
        for (group, term, score) in
            [(first, 0, 1.0), (first, 0, 3.0), (first, 1, 2.0), (second, 1, 4.0)]
        {
            groups.add(group, term, score);
        }
        assert_eq!([7, 8, 9, 0].map(|group| groups.score(group)), [5.0, 4.0, 0.0, 0.0]);
    }
}
