//! Factors by which facts about a document raise or lower its score for a question (see [`crate::index::facts`]): the
//! call failed, the question names an argument, the question asks for a time.

use crate::analysis::words::hash;
use crate::index::document_terms::{DocumentTerms, for_each_fact};
use crate::index::facts;
use crate::index::fields::Document;
use crate::index::postings::Posting;
use crate::index::segment::Segment;
use crate::query::question::Question;

/// The result reports that the call failed or found nothing.
const EMPTY: f32 = 0.7;
/// The question names an argument.
const NAMED: f32 = 1.15;
/// The question asks for a time, the result names one.
const TIME: f32 = 1.2;

/// Facts, and the factor for documents that have any of them.
pub(crate) struct Factor {
    factor: f32,
    facts: Vec<(u32, Box<str>)>,
}

impl Factor {
    fn new<'a>(factor: f32, facts: impl Iterator<Item = &'a str>) -> Self {
        Self { factor, facts: facts.map(|fact| (hash(fact), fact.into())).collect() }
    }

    /// The factors for a question.
    pub(crate) fn of(question: &Question) -> Vec<Self> {
        let mut factors = vec![
            Self::new(EMPTY, std::iter::once(facts::EMPTY)),
            Self::new(NAMED, question.arguments().iter().map(String::as_str)),
        ];
        if question.asks_when() {
            factors.push(Self::new(TIME, std::iter::once(facts::TIME)));
        }
        factors
    }

    /// The factor that scores are multiplied by.
    pub(crate) fn factor(&self) -> f32 {
        self.factor
    }

    /// The postings of each fact that occurs in the segment.
    pub(crate) fn postings<'a>(&self, segment: &'a Segment) -> impl Iterator<Item = &'a [Posting]> {
        let postings = self.facts.iter().map(|(hash, fact)| segment.postings(*hash, fact));
        postings.filter(|postings| !postings.is_empty())
    }

    /// Calls `visit` with each document of the segment that has one of the facts, and the factor.
    pub(crate) fn for_each(&self, segment: &Segment, mut visit: impl FnMut(u32, f32)) {
        if let [(hash, fact)] = &*self.facts {
            let postings = segment.postings(*hash, fact);
            return postings.iter().for_each(|posting| visit(posting.document(), self.factor));
        }
        let postings = self.facts.iter().flat_map(|(hash, fact)| segment.postings(*hash, fact));
        let mut documents: Vec<u32> = postings.map(|posting| posting.document()).collect();
        documents.sort_unstable();
        documents.dedup();
        documents.into_iter().for_each(|document| visit(document, self.factor));
    }
}

/// The product of the factors for a document, by its terms.
pub(crate) fn of_terms(factors: &[Factor], terms: &DocumentTerms) -> f32 {
    product(factors, |hash, fact| !terms.find(hash, fact).is_empty())
}

/// The product of the factors for a document that is not indexed.
pub(crate) fn of_document(factors: &[Factor], document: &Document<'_>) -> f32 {
    if factors.is_empty() {
        return 1.0;
    }
    let mut names_time = false;
    crate::terms(document.result, |term| names_time |= facts::is_time(term));
    let mut found: Vec<String> = Vec::new();
    for_each_fact(document, names_time, |fact| found.push(fact.to_owned()));
    product(factors, |_, fact| found.iter().any(|other| other == fact))
}

fn product(factors: &[Factor], has: impl Fn(u32, &str) -> bool) -> f32 {
    let holds = |factor: &&Factor| factor.facts.iter().any(|(hash, fact)| has(*hash, fact));
    factors.iter().filter(holds).map(|factor| factor.factor).product()
}
