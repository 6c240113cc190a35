//! Finds index terms for a prefix that is longer than the stems of its words: the prefix `connecti` must find the term
//! `connect`.

use std::sync::LazyLock;

use crate::analysis::tokens::tokenize;

/// Endings that stemming removes, in full.
const ENDINGS: &str = "\
ational ations izations izational iveness fulness ousness alities ivities bilities ments ness ings ingly edly eedly \
ers able ably ible ibly ances ences ants ents ously ively fully ically ally ized izing izers ators isms ists ions ies \
lessness logies ates ated ating";

/// The possible rests of an ending.
static COMPLETIONS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let endings = ENDINGS.split_ascii_whitespace();
    let tails = |ending: &'static str| {
        let tail = move |(start, _)| {
            let tail: &str = ending.get(start..).unwrap_or_default();
            [Some(tail), tail.strip_suffix('s')]
        };
        ending.char_indices().flat_map(tail).flatten().filter(|tail| !tail.is_empty())
    };
    let mut completions: Vec<&str> = endings.flat_map(tails).collect();
    completions.sort_unstable();
    completions.dedup();
    completions
});

/// Terms of words that begin with `beginning` where the terms themselves are shorter. Empty if `beginning` is not made
/// of lower-case ASCII letters. Other words may have the same terms.
pub(crate) fn shorter_terms(beginning: &str) -> Vec<Box<str>> {
    let mut terms: Vec<Box<str>> = Vec::new();
    if !beginning.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return terms;
    }
    let mut word = String::new();
    for completion in COMPLETIONS.iter() {
        word.clear();
        word.push_str(beginning);
        word.push_str(completion);
        tokenize(&word, usize::MAX, |term| {
            if !term.starts_with(beginning) {
                terms.push(term.into());
            }
        });
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(word: &str) -> Vec<Box<str>> {
        let mut terms = Vec::new();
        tokenize(word, usize::MAX, |term| terms.push(term.into()));
        terms
    }

    #[test]
    fn every_beginning_of_a_word_leads_to_its_term() {
        for word in [
            "authentication",
            "organizations",
            "vulnerabilities",
            "generalization",
            "effectiveness",
            "connections",
            "relational",
            "happiness",
            "hopefully",
            "configurable",
            "deployments",
            "migrating",
            "technologies",
        ] {
            let term = &terms(word)[0];
            for length in 3..word.len() {
                let beginning = &word[..length];
                assert!(
                    term.starts_with(beginning)
                        || terms(beginning).contains(term)
                        || shorter_terms(beginning).contains(term),
                    "{beginning} of {word} ({term})"
                );
            }
        }
    }

    #[test]
    fn whole_words_lead_to_few_others() {
        for word in ["ruler", "auth", "token", "database", "login"] {
            assert!(shorter_terms(word).len() <= 2, "{word}: {:?}", shorter_terms(word));
        }
        assert!(shorter_terms("Größe").is_empty() && shorter_terms("x86").is_empty());
    }
}
