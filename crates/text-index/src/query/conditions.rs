//! What a text must have and what it must not have: as far as an index can tell, and exactly.
//!
//! Here a text must have every word of a query, in any of its forms or as the beginning of a longer
//! one; `text_search` asks for any word and ranks.

use std::ops::ControlFlow;

use crate::analysis::stop_words::StopWords;
use crate::analysis::tokens::{Token, is_ascii_separator, tokenize, tokenize_all};
use crate::analysis::words::begins_stop_word;
use crate::index::inverted_index::Index;
use crate::index::sequences::Sequences;
use crate::query::completions::shorter_terms;
use crate::query::free_text::Query;
use crate::query::having::Having;
use crate::query::matcher::{Matcher, has_unsegmented, plain};
use crate::query::phrase::Phrase;
use crate::query::search_syntax::{Excluded, SearchSyntax};
use crate::query::text_search::{certain_terms, exclusions, has_date};

/// A shorter word is not taken for the beginning of another, in characters.
const LEAST_BEGINNING: usize = 3;

/// What texts are asked for.
pub struct Conditions {
    terms: Vec<Box<str>>,
    beginnings: Vec<String>,
    /// Where nothing else is asked for.
    stop_words: StopWords,
    /// Of each, one must be there.
    needed: Vec<Vec<Parts>>,
    phrases: Vec<(String, Phrase)>,
    excluded: Vec<Excluded>,
    exact: Option<Exact>,
}

/// What stands for a word together.
type Parts = Vec<Part>;

/// By the numbers of what it is among [`Conditions::terms`] and [`Conditions::beginnings`]; one of
/// them suffices.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    term: Option<usize>,
    beginning: Option<usize>,
}

/// What looks through texts. It is large and seldom needed.
struct Exact {
    sought: Matcher,
    excluded: Matcher,
    excluded_phrases: Vec<Phrase>,
}

/// What an index says of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It meets the conditions.
    Met,
    /// It does not.
    Failed,
    /// Its texts have to be looked through.
    Open,
}

/// What an index says of its documents. `None` stands for all.
#[derive(Debug, Default)]
pub struct Judgement {
    certain: Option<Sequences>,
    possible: Option<Sequences>,
    failed: Sequences,
    doubtful: Option<Sequences>,
    has_exclusions: bool,
}

impl Judgement {
    /// What it says of a document; a partial one has text that is not in the index.
    #[must_use]
    pub fn of(&self, sequence: u64, is_partial: bool) -> Verdict {
        let has = |set: &Option<Sequences>| set.as_ref().is_none_or(|set| set.contains(sequence));
        if self.failed.contains(sequence) || !(is_partial || has(&self.possible)) {
            Verdict::Failed
        } else if has(&self.certain)
            && !(if is_partial { self.has_exclusions } else { has(&self.doubtful) })
        {
            Verdict::Met
        } else {
            Verdict::Open
        }
    }

    /// What must be there as well: some documents have it, of others the index does not know.
    fn require(&mut self, certain: Sequences, possible: Option<&Sequences>) {
        let narrow = |set: &mut Option<Sequences>, by: &Sequences| match set {
            Some(set) => set.intersect(by),
            None => *set = Some(by.clone()),
        };
        narrow(&mut self.certain, &certain);
        if let Some(possible) = possible {
            narrow(&mut self.possible, possible);
        }
    }
}

impl Conditions {
    /// All words, one of the prefixes, all phrases, nothing that is excluded.
    #[must_use]
    pub fn all_of(syntax: &SearchSyntax) -> Self {
        let mut conditions = Self::without_words(syntax);
        for words in &syntax.words {
            for run in
                words.split(|character: char| u8::try_from(character).is_ok_and(is_ascii_separator))
            {
                conditions.need_word(run);
            }
        }
        let mut prefixes = Vec::new();
        for prefix in &syntax.prefixes {
            let beginning = plain(prefix, &mut String::new());
            prefixes.push(if has_unsegmented(prefix) {
                conditions.parts_of(&tokens(prefix))
            } else {
                vec![Part { term: None, beginning: conditions.beginning(beginning) }]
            });
        }
        conditions.need(prefixes);
        if conditions.needed.is_empty() && conditions.phrases.is_empty() {
            conditions.need_stop_words(&syntax.words);
        }
        conditions
    }

    /// As [`Conditions::all_of`], but of the words and prefixes none need be there: for what is
    /// ranked by them.
    #[must_use]
    pub fn without_words(syntax: &SearchSyntax) -> Self {
        let phrases = syntax.phrases.iter();
        Self {
            terms: Vec::new(),
            beginnings: Vec::new(),
            stop_words: StopWords::default(),
            needed: Vec::new(),
            phrases: phrases.filter_map(|text| Some((text.clone(), Phrase::new(text)?))).collect(),
            excluded: syntax.excluded.clone(),
            exact: None,
        }
    }

    /// A run of characters that no term goes across.
    fn need_word(&mut self, run: &str) {
        let tokens = tokens(run);
        let Some((whole, pieces)) = tokens.split_last() else { return };
        let plain = plain(run, &mut String::new());
        // Of these the last token is not the whole.
        let is_sequence = has_unsegmented(run) || has_date(run) || run.contains(['\'', '’']);
        if is_sequence && !pieces.is_empty() {
            let parts = self.parts_of(&tokens);
            return self.need(vec![parts]);
        }
        let is_long = !is_sequence && plain.chars().count() >= LEAST_BEGINNING;
        let beginning = if is_long { self.beginning(plain) } else { None };
        let whole = vec![Part { beginning, term: self.term(whole) }];
        // Digits alone would be found in too many places.
        let has_digit = run.contains(|character: char| character.is_ascii_digit());
        let pieces = self.parts_of(if has_digit { &[] } else { pieces });
        self.need([whole, pieces].into_iter().filter(|parts| !parts.is_empty()).collect());
    }

    fn need_stop_words(&mut self, words: &[String]) {
        let query = Query::builder().text(&words.join("\n"), 1.0).keep_stop_words().build();
        self.stop_words = *query.stop_words();
    }

    fn need(&mut self, one_of: Vec<Parts>) {
        if !one_of.is_empty() {
            self.needed.push(one_of);
        }
    }

    fn parts_of(&mut self, terms: &[Box<str>]) -> Parts {
        let terms = terms.iter().map(|term| self.term(term));
        terms.map(|term| Part { term, beginning: None }).collect()
    }

    fn term(&mut self, term: &str) -> Option<usize> {
        number_in(&mut self.terms, term.into())
    }

    fn beginning(&mut self, beginning: String) -> Option<usize> {
        number_in(&mut self.beginnings, beginning)
    }

    /// Whether every text meets them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needed.is_empty()
            && self.stop_words.is_empty()
            && self.phrases.is_empty()
            && self.excluded.is_empty()
    }

    /// What the index says of its documents.
    #[must_use]
    pub fn judge(&self, index: &Index) -> Judgement {
        index.having(|having| {
            let mut judgement = Judgement {
                doubtful: Some(Sequences::default()),
                has_exclusions: !self.excluded.is_empty(),
                ..Judgement::default()
            };
            for one_of in &self.needed {
                let (mut certain, mut possible) = (Sequences::default(), Sequences::default());
                for parts in one_of {
                    let (of_parts, perhaps) = self.having_parts(having, parts);
                    certain.unite(&of_parts);
                    possible.unite(&perhaps);
                }
                judgement.require(certain, Some(&possible));
            }
            if !self.stop_words.is_empty() {
                let certain = having.stop_words(&self.stop_words);
                judgement.require(certain.clone(), Some(&certain));
            }
            for (text, _) in &self.phrases {
                judgement.require(Sequences::default(), having_phrase(having, text).as_ref());
            }
            for excluded in &self.excluded {
                exclude(having, excluded, &mut judgement);
            }
            judgement
        })
    }

    /// The documents that have all parts, and those that may have them.
    fn having_parts(&self, having: &Having<'_>, parts: &[Part]) -> (Sequences, Sequences) {
        let (mut all, mut perhaps_all) = (None::<Sequences>, None::<Sequences>);
        let narrow = |all: &mut Option<Sequences>, by: &Sequences| match all {
            Some(all) => all.intersect(by),
            None => *all = Some(by.clone()),
        };
        for part in parts {
            let mut certain = Sequences::default();
            if let Some(term) = part.term.and_then(|number| self.terms.get(number)) {
                certain.unite(&having.term(term));
            }
            let mut perhaps = Sequences::default();
            if let Some(beginning) = part.beginning.and_then(|number| self.beginnings.get(number)) {
                certain.unite(&having.beginning(beginning));
                for term in shorter_terms(beginning) {
                    perhaps.unite(&having.term(&term));
                }
            }
            perhaps.unite(&certain);
            narrow(&mut all, &certain);
            narrow(&mut perhaps_all, &perhaps);
        }
        (all.unwrap_or_default(), perhaps_all.unwrap_or_default())
    }

    /// Whether these texts of one document meet the conditions.
    pub fn are_met_by(&mut self, texts: &[&str]) -> bool {
        let Self { terms, beginnings, stop_words, needed, phrases, excluded, exact } = self;
        let exact = exact.get_or_insert_with(|| {
            let sought = Matcher::new(terms.iter().map(|term| &**term), beginnings, &[]);
            let (excluded, excluded_phrases) = exclusions(excluded);
            Exact { sought, excluded, excluded_phrases }
        });
        let Exact { sought, excluded, excluded_phrases } = exact;
        let is_anywhere = |phrase: &Phrase| texts.iter().any(|text| phrase.is_in(text));
        if !phrases.iter().all(|(_, phrase)| is_anywhere(phrase))
            || excluded_phrases.iter().any(is_anywhere)
            || texts.iter().any(|text| excluded.is_in(text))
        {
            return false;
        }
        let mut seen = vec![false; terms.len() + beginnings.len()];
        for text in texts {
            let _ = sought.find(text, |_, number| {
                seen.get_mut(number).into_iter().for_each(|seen| *seen = true);
                ControlFlow::Continue(())
            });
        }
        let was_seen = |number: usize| seen.get(number) == Some(&true);
        let is_there = |part: &Part| {
            part.term.is_some_and(was_seen)
                || part.beginning.is_some_and(|number| was_seen(terms.len() + number))
        };
        needed.iter().all(|one_of| one_of.iter().any(|parts| parts.iter().all(is_there)))
            && (stop_words.is_empty() || stop_words_of(texts).common(stop_words) == *stop_words)
    }
}

/// Documents that a phrase may be in; `None`: any.
fn having_phrase(having: &Having<'_>, phrase: &str) -> Option<Sequences> {
    let mut all: Option<Sequences> = None;
    for term in certain_terms(phrase) {
        let found = having.term(&term);
        match &mut all {
            Some(all) => all.intersect(&found),
            None => all = Some(found),
        }
    }
    all
}

/// Notes the documents that have what is excluded, or may have it.
fn exclude(having: &Having<'_>, excluded: &Excluded, judgement: &mut Judgement) {
    let mut doubt = |perhaps: Option<Sequences>| match (&mut judgement.doubtful, perhaps) {
        (Some(doubtful), Some(perhaps)) => doubtful.unite(&perhaps),
        (doubtful, _) => *doubtful = None,
    };
    match excluded {
        Excluded::Phrase(phrase) => doubt(having_phrase(having, phrase)),
        Excluded::Word(word) | Excluded::Prefix(word)
            if has_unsegmented(word) || has_date(word) =>
        {
            doubt(having_phrase(having, word));
        }
        Excluded::Word(word) => match tokens(word).last() {
            Some(term) => judgement.failed.unite(&having.term(term)),
            None => doubt(None),
        },
        Excluded::Prefix(prefix) => {
            let beginning = plain(prefix, &mut String::new());
            judgement.failed.unite(&having.beginning(&beginning));
            // Stop words have no terms.
            if begins_stop_word(&beginning) {
                return doubt(None);
            }
            shorter_terms(&beginning).iter().for_each(|term| doubt(Some(having.term(term))));
        }
    }
}

fn stop_words_of(texts: &[&str]) -> StopWords {
    let mut stop_words = StopWords::default();
    for text in texts {
        tokenize_all(text, usize::MAX, |token| {
            if let Token::StopWord(number) = token {
                stop_words.insert(number);
            }
        });
    }
    stop_words
}

fn number_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> Option<usize> {
    let number = list.iter().position(|other| *other == item);
    number.or_else(|| {
        list.push(item);
        Some(list.len() - 1)
    })
}

fn tokens(text: &str) -> Vec<Box<str>> {
    let mut tokens = Vec::new();
    tokenize(text, usize::MAX, |term| tokens.push(term.into()));
    tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Document;

    fn conditions(query: &str) -> Conditions {
        Conditions::all_of(&SearchSyntax::parse(query).unwrap())
    }

    fn index(texts: &[&str]) -> Index {
        let index = Index::new();
        for (sequence, result) in (0..).zip(texts) {
            index.add(sequence, &Document { result, ..Document::default() });
        }
        index
    }

    /// The texts that meet the conditions, by the index where it can tell. Both ways agree.
    fn found(query: &str, texts: &[&str]) -> Vec<usize> {
        let mut conditions = conditions(query);
        let judgement = conditions.judge(&index(texts));
        let found = texts.iter().enumerate().filter(|(number, text)| {
            let is_met = conditions.are_met_by(&[text]);
            match judgement.of(*number as u64, false) {
                Verdict::Open => {}
                Verdict::Met => assert!(is_met, "{query}: {text}"),
                Verdict::Failed => assert!(!is_met, "{query}: {text}"),
            }
            is_met
        });
        found.map(|(number, _)| number).collect()
    }

    #[test]
    fn every_word_must_be_there_in_some_form() {
        let texts = [
            "the authentication of users",
            "user authors",
            "LoginForm with login_form",
            "login form",
            "loginform",
            "organization of organs",
            "organ 2",
        ];
        for (query, expected) in [
            ("auth user", &[0, 1][..]),
            ("authenticat", &[0]),
            ("authentications", &[0]),
            ("user auth*", &[0, 1]),
            ("auth* organ*", &[0, 1, 5, 6]),
            ("LoginForm", &[2, 3, 4]),
            ("login_form", &[2, 3, 4]),
            ("login form", &[2, 3]),
            ("organiz", &[5]),
            ("organ", &[5, 6]),
            ("the", &[0]),
            ("the user", &[0, 1]),
            ("of the", &[0]),
            ("absent", &[]),
            ("-user", &[2, 3, 4, 5, 6]),
            ("-organiz* organ", &[6]),
            ("-the -form", &[1, 4, 5, 6]),
            ("\"login form\"", &[3]),
            ("\"form\" -with", &[3]),
            ("organs -\"of organs\"", &[6]),
            ("us", &[]),
            ("organ2", &[]),
        ] {
            assert_eq!(found(query, &texts), expected, "{query}");
        }
    }

    #[test]
    fn case_accents_and_scripts_do_not_matter() {
        let texts = ["Café ÉTÉ", "cafe", "東京都の天気", "京都", "2024-05-07 report", "O'Brien’s"];
        for (query, expected) in [
            ("CAFE", &[0, 1][..]),
            ("café été", &[0]),
            ("東京", &[2]),
            ("京都", &[2, 3]),
            ("2024-05-07", &[4]),
            ("2024", &[4]),
            ("o'brien", &[5]),
        ] {
            assert_eq!(found(query, &texts), expected, "{query}");
        }
    }

    #[test]
    fn an_index_that_knows_suffices() {
        let judge = |query: &str| {
            let judgement = conditions(query).judge(&index(&["login form", "form", "organ"]));
            [0, 1, 2].map(|sequence| judgement.of(sequence, false))
        };
        let (met, failed, open) = (Verdict::Met, Verdict::Failed, Verdict::Open);
        assert_eq!(judge("login form"), [met, failed, failed]);
        assert_eq!(judge("form -login"), [failed, met, failed]);
        assert_eq!(judge("organiz"), [failed, failed, open]);
        assert_eq!(judge("\"login form\""), [open, failed, failed]);
        assert_eq!(judge("-\"login form\""), [open, met, met]);
        assert_eq!(judge(""), [met, met, met]);
        let judgement = conditions("form").judge(&index(&["login", "form"]));
        assert_eq!([0, 1].map(|sequence| judgement.of(sequence, true)), [open, met]);
        let judgement = conditions("form -login").judge(&index(&["login", "form"]));
        assert_eq!([0, 1].map(|sequence| judgement.of(sequence, true)), [failed, open]);
    }

    proptest! {
        #[test]
        fn the_index_and_the_texts_agree(
            texts in prop::collection::vec("((login|form|LoginForm|auth|authentic|authenticated|organization|organ|the|went|go|東京|user_name|é)[ .,_-]){0,6}", 1..8),
            query in "((-|)(login|form|LoginForm|auth|authenticat|organiz|organ\\*|organiza\\*|the|going|東|user_name|\"organ the\")[ ]){0,4}",
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            found(&query, &texts);
        }
    }
}
