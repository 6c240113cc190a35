//! Ranking by the words of a query, any of which may be there.

use crate::index::inverted_index::Index;
use crate::index::sequences::Sequences;
use crate::query::completions::shorter_terms;
use crate::query::free_text::Query;
use crate::query::matcher::{Matcher, plain};
use crate::query::search_syntax::SearchSyntax;
use crate::scoring::ranked::{Ranked, Which};

/// Terms that one prefix stands for at most.
const MAXIMUM_TERMS: usize = 128;
/// Ranking fewer documents saves nothing.
const LEAST_RANKED: usize = 64;

/// The words, the prefixes and the words of the phrases of a query.
pub struct AnyWord {
    /// Also with terms that words with a prefix share with others.
    query: Query,
    /// The terms of the words and phrases.
    terms: Vec<Box<str>>,
    beginnings: Vec<String>,
    /// The documents that have more than a shared term; `None`: all that have any.
    certain: Option<Sequences>,
    matcher: Option<Matcher>,
}

impl AnyWord {
    /// Prepares a query for an index. Prefixes stand for what the index has now.
    #[must_use]
    pub fn new(syntax: &SearchSyntax, index: &Index) -> Self {
        let beginnings: Vec<String> =
            syntax.prefixes.iter().map(|prefix| plain(prefix, &mut String::new())).collect();
        let of_words = Query::builder()
            .text(&syntax.words.join("\n"), 1.0)
            .text(&syntax.phrases.join("\n"), 1.0)
            .keep_stop_words()
            .build();
        let terms: Vec<Box<str>> = of_words.terms().iter().map(|term| term.text.clone()).collect();
        index.having(|having| {
            let expand = |beginning: &String| having.terms_beginning(beginning, MAXIMUM_TERMS);
            let expanded = beginnings.iter().flat_map(expand);
            let mut shared = beginnings.iter().flat_map(|beginning| shorter_terms(beginning));
            let shared: Vec<Box<str>> =
                shared.by_ref().filter(|term| !having.term(term).is_empty()).collect();
            let certain = (!shared.is_empty()).then(|| {
                let mut certain = Sequences::default();
                terms.iter().for_each(|term| certain.unite(&having.term(term)));
                for beginning in &beginnings {
                    certain.unite(&having.beginning(beginning));
                }
                certain
            });
            let query = of_words.with_own_terms(expanded.chain(shared));
            Self { query, terms, beginnings: beginnings.clone(), certain, matcher: None }
        })
    }

    /// Whether a document that was ranked surely has one of the words or prefixes.
    #[must_use]
    pub fn is_certain(&self, sequence: u64) -> bool {
        self.certain.as_ref().is_none_or(|certain| certain.contains(sequence))
    }

    /// Whether that is so of all documents.
    #[must_use]
    pub fn is_certain_of_all(&self) -> bool {
        self.certain.is_none()
    }

    /// The same, for another thread.
    #[must_use]
    pub fn another(&self) -> Self {
        let Self { query, terms, beginnings, certain, .. } = self;
        let (query, terms, beginnings) = (query.clone(), terms.clone(), beginnings.clone());
        Self { query, terms, beginnings, certain: certain.clone(), matcher: None }
    }

    /// Whether there is nothing to rank by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.query.is_empty() && self.beginnings.is_empty()
    }

    /// The best documents that have any of them, with their scores, best first: so many, and all that
    /// are as good as the last of these.
    #[must_use]
    pub fn rank(
        &self,
        index: &Index,
        limit: usize,
        accepts: &dyn Fn(u64) -> bool,
    ) -> Vec<(u64, f32)> {
        let mut count = limit.saturating_mul(2).max(LEAST_RANKED);
        loop {
            let ranked =
                Index::rank_together(&[index], &self.query, Some(count), accepts, &[]).hits;
            let score = |place: usize| ranked.get(place).map(|hit| hit.score);
            let is_all = ranked.len() < count;
            // The last has equals that were cut off, unless it is worse than what is asked for.
            if is_all || score(limit.saturating_sub(1)) > score(ranked.len().saturating_sub(1)) {
                let known = ranked.into_iter().filter_map(|hit: Ranked| match hit.which {
                    Which::Known(sequence) => Some((sequence, hit.score)),
                    Which::Foreign(_) => None,
                });
                return known.collect();
            }
            count = count.saturating_mul(8);
        }
    }

    /// Whether the texts have any of them, stop words aside.
    pub fn is_in(&mut self, texts: &[&str]) -> bool {
        let matcher = self.matcher.get_or_insert_with(|| {
            let terms = self.terms.iter().map(|term| &**term);
            Matcher::new(terms, &self.beginnings, &[])
        });
        texts.iter().any(|text| matcher.is_in(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    #[test]
    fn equally_good_ones_are_not_cut_off() {
        let index = Index::new();
        for sequence in 0..1000 {
            let result = if sequence % 100 == 0 { "login login" } else { "login page" };
            index.add(sequence, &Document { result, ..Document::default() });
        }
        let any = AnyWord::new(&SearchSyntax::parse("login").unwrap(), &index);
        let count = |limit| any.rank(&index, limit, &|_| true).len();
        assert!((10..1000).contains(&count(5)), "the ten best are alike");
        assert_eq!((count(11), count(1000), count(usize::MAX)), (1000, 1000, 1000));
    }

    #[test]
    fn any_word_suffices() {
        let index = Index::new();
        let texts = ["login form login", "formal", "a page of forms", "the other"];
        for (sequence, result) in (0..).zip(texts) {
            index.add(sequence, &Document { result, ..Document::default() });
        }
        let found = |query: &str| {
            let mut any = AnyWord::new(&SearchSyntax::parse(query).unwrap(), &index);
            let mut ranked = any.rank(&index, usize::MAX, &|sequence| sequence != 2);
            ranked.sort_by(|left, right| right.1.total_cmp(&left.1));
            let in_texts: Vec<bool> = texts.iter().map(|text| any.is_in(&[text])).collect();
            (ranked.into_iter().map(|(sequence, _)| sequence).collect::<Vec<u64>>(), in_texts)
        };
        assert_eq!(found("login form"), (vec![0], vec![true, false, true, false]));
        assert_eq!(found("forma*"), (vec![1], vec![false, true, false, false]));
        assert_eq!(found("form*").1, [true, true, true, false]);
        assert_eq!(
            found("formali*"),
            (vec![1], vec![false; 4]),
            "formal is its stem, but no word of it"
        );
        let any = AnyWord::new(&SearchSyntax::parse("login formali*").unwrap(), &index);
        assert_eq!([0, 1].map(|sequence| any.is_certain(sequence)), [true, false]);
        assert_eq!(found("\"the other\"").0, [3]);
        assert_eq!(found("the").0, [3]);
        assert!(AnyWord::new(&SearchSyntax::parse("-a").unwrap(), &index).is_empty());
    }
}
