//! Ranking by the words of a query, any of which may be there.

use super::having::Having;
use super::index::Index;
use super::matcher::{Matcher, plain};
use super::query::Query;
use super::search::{Ranked, Which};
use super::search_syntax::SearchSyntax;

/// Terms that one prefix stands for at most.
const MAXIMUM_TERMS: usize = 128;

/// The words, the prefixes and the words of the phrases of a query.
pub struct AnyWord {
    query: Query,
    beginnings: Vec<String>,
    matcher: Option<Matcher>,
}

impl AnyWord {
    /// Prepares a query for an index. Prefixes stand for what the index has now.
    #[must_use]
    pub fn new(syntax: &SearchSyntax, index: &Index) -> Self {
        let beginnings: Vec<String> =
            syntax.prefixes.iter().map(|prefix| plain(prefix, &mut String::new())).collect();
        let expand = |having: &Having<'_>| -> Vec<Box<str>> {
            let terms = |beginning: &String| having.terms_beginning(beginning, MAXIMUM_TERMS);
            beginnings.iter().flat_map(terms).collect()
        };
        let query = Query::builder()
            .text(&syntax.words.join("\n"), 1.0)
            .text(&syntax.phrases.join("\n"), 1.0)
            .keep_stop_words()
            .build()
            .with_own_terms(index.having(expand).into_iter());
        Self { query, beginnings, matcher: None }
    }

    /// Whether there is nothing to rank by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.query.is_empty() && self.beginnings.is_empty()
    }

    /// The documents that have any of them, with their scores, in no particular order.
    #[must_use]
    pub fn rank(&self, index: &Index, accepts: &dyn Fn(u64) -> bool) -> Vec<(u64, f32)> {
        let ranked = Index::rank_together(&[index], &self.query, None, accepts, &[]);
        let known = ranked.hits.into_iter().filter_map(|Ranked { which, score, .. }| match which {
            Which::Known(sequence) => Some((sequence, score)),
            Which::Foreign(_) => None,
        });
        known.collect()
    }

    /// Whether the texts have any of them, stop words aside.
    pub fn is_in(&mut self, texts: &[&str]) -> bool {
        let matcher = self.matcher.get_or_insert_with(|| {
            let terms = self.query.terms().iter().map(|term| &*term.text);
            Matcher::new(terms, &self.beginnings, &[])
        });
        texts.iter().any(|text| matcher.is_in(text))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::*;

    #[test]
    fn any_word_suffices() {
        let index = Index::new();
        let texts = ["login form login", "formal", "a page of forms", "the other"];
        for (sequence, result) in (0..).zip(texts) {
            index.add(sequence, &Document { result, ..Document::default() });
        }
        let found = |query: &str| {
            let mut any = AnyWord::new(&SearchSyntax::parse(query).unwrap(), &index);
            let mut ranked = any.rank(&index, &|sequence| sequence != 2);
            ranked.sort_by(|left, right| right.1.total_cmp(&left.1));
            let in_texts: Vec<bool> = texts.iter().map(|text| any.is_in(&[text])).collect();
            (ranked.into_iter().map(|(sequence, _)| sequence).collect::<Vec<u64>>(), in_texts)
        };
        assert_eq!(found("login form"), (vec![0], vec![true, false, true, false]));
        assert_eq!(found("forma*"), (vec![1], vec![false, true, false, false]));
        assert_eq!(found("form*").1, [true, true, true, false]);
        assert_eq!(found("\"the other\"").0, [3]);
        assert_eq!(found("the").0, [3]);
        assert!(AnyWord::new(&SearchSyntax::parse("-a").unwrap(), &index).is_empty());
    }
}
