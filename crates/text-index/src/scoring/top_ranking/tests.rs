//! Compares the best documents with those of the full ranking, on random stores.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::index::fields::Document;
use crate::index::inverted_index::Index;
use crate::index::segment::Segment;
use crate::index::tail::TailDocument;
use crate::scoring::boosts::boost;

/// The words of texts and questions: few, so that many documents share them.
const WORDS: [&str; 24] = [
    "login",
    "form",
    "user",
    "token",
    "server",
    "timeout",
    "retry",
    "cache",
    "index",
    "query",
    "report",
    "invoice",
    "delete",
    "remove",
    "directory",
    "yesterday",
    "march",
    "2024",
    "alpha7x",
    "beta9y",
    "gamma3z",
    "order1001",
    "order1002",
    "zebra",
];

/// A generated store: the locations of its documents, and the removed ones.
#[derive(Clone, Debug)]
struct Store {
    documents: Vec<Made>,
    /// Documents in each segment.
    segments: Vec<usize>,
    removed: Vec<prop::sample::Index>,
    hidden: Vec<prop::sample::Index>,
    announced: usize,
    is_merged: bool,
}

#[derive(Clone, Debug)]
struct Made {
    words: Vec<u8>,
    argument: u8,
    group: u64,
    timestamp: i64,
    fails: bool,
}

impl Made {
    /// Words with low numbers are frequent.
    fn word(number: u8) -> &'static str {
        let share = f32::from(number) / 256.0;
        WORDS[(share * share * WORDS.len() as f32) as usize]
    }

    fn texts(&self) -> (String, String) {
        let words: Vec<&str> = self.words.iter().map(|word| Self::word(*word)).collect();
        let start = if self.fails { "error " } else { "" };
        let argument = format!("{}{}", Document::BEFORE_STRING, Self::word(self.argument));
        (argument, format!("{start}{}", words.join(" ")))
    }

    fn with<T>(&self, read: impl FnOnce(&Document<'_>) -> T) -> T {
        let (arguments, result) = self.texts();
        read(&Document {
            name: "read_file",
            arguments: &arguments,
            result: &result,
            group: self.group,
            timestamp: self.timestamp,
            ..Document::default()
        })
    }
}

/// Candidates as a list.
struct Listed(Vec<u64>);

impl Candidates for Listed {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn position(&self, sequence: u64) -> Option<usize> {
        self.0.binary_search(&sequence).ok()
    }

    fn sequence(&self, position: usize) -> Option<u64> {
        self.0.get(position).copied()
    }
}

impl Store {
    fn build(&self) -> (Index, Listed) {
        let index = Index::new();
        let mut documents = (0_u64..).zip(&self.documents);
        for length in &self.segments {
            let of_segment: Vec<TailDocument> = documents
                .by_ref()
                .take(*length)
                .map(|(sequence, made)| made.with(|document| TailDocument::new(sequence, document)))
                .collect();
            let segment = Segment::from_documents(of_segment.iter());
            let highest = of_segment.last().map(|document| document.sequence);
            index.publish(highest, segment.into_iter().map(Arc::new).collect());
        }
        if self.is_merged {
            index.maintain();
        }
        for (sequence, made) in documents {
            made.with(|document| {
                if sequence as usize + self.announced >= self.documents.len() {
                    index.announce(sequence, document, None);
                } else {
                    index.add(sequence, document);
                }
            });
        }
        let mut candidates: Vec<u64> = (0..self.documents.len() as u64).collect();
        for removed in &self.removed {
            let sequence = candidates.remove(removed.index(candidates.len()));
            index.remove(sequence);
        }
        for hidden in &self.hidden {
            candidates.remove(hidden.index(candidates.len()));
        }
        index.prepare_top();
        (index, Listed(candidates))
    }
}

fn documents() -> impl Strategy<Value = Vec<Made>> {
    let made = (
        prop::collection::vec(any::<u8>(), 0..6),
        any::<u8>(),
        (0_u64..1000, any::<bool>()),
        prop::sample::select(vec![0_i64, 0, 1000, 400_000, 800_000]),
        prop::bool::weighted(0.1),
    );
    let made = made.prop_map(|(words, argument, (group, starts), timestamp, fails)| {
        let group = if starts { group + 1 } else { 0 };
        Made { words, argument, group, timestamp, fails }
    });
    prop::collection::vec(made, 450..1600)
}

/// Arranges the groups: all different, consecutive, alternating, one for all, none.
fn arrange(documents: &mut [Made], arrangement: u8) {
    let mut current = 0;
    for (number, document) in documents.iter_mut().enumerate() {
        let other = document.group;
        if other % 20 == 1 {
            current = other;
        }
        document.group = match arrangement {
            0 => other,
            1 => current,
            2 => [7, 8, 0, 9][number % 4],
            3 => 5,
            4 => 0,
            _ => [current, other][number % 2],
        };
    }
}

fn stores() -> impl Strategy<Value = Store> {
    let places = || prop::collection::vec(any::<prop::sample::Index>(), 0..40);
    let parts =
        (documents(), 0_u8..6, 0.0_f32..1.0, places(), places(), 0_usize..20, any::<bool>());
    parts.prop_flat_map(
        |(mut documents, arrangement, sealed, removed, hidden, announced, is_merged)| {
            arrange(&mut documents, arrangement);
            let sealed = ((documents.len() - announced) as f32 * (1.0 - sealed * sealed)) as usize;
            prop::collection::vec(1_usize..900, 6).prop_map(move |mut segments| {
                let mut rest = sealed;
                segments.iter_mut().for_each(|length| {
                    *length = (*length).min(rest);
                    rest -= *length;
                });
                let (documents, removed, hidden) =
                    (documents.clone(), removed.clone(), hidden.clone());
                Store { documents, segments, removed, hidden, announced, is_merged }
            })
        },
    )
}

fn full_pass(
    index: &Index,
    question: &Question,
    candidates: &Listed,
    boosts: &Boosts,
    limit: usize,
) -> TopList {
    let known = |sequence| candidates.position(sequence).is_some();
    let ranked = index.rank_for(question, &known, &[]);
    let scored = ranked.hits.iter().filter_map(|hit| match hit.which {
        Which::Known(sequence) => Some(hit.at(candidates.position(sequence)?)),
        Which::Foreign(_) => None,
    });
    let mut hits: Vec<Scored> = scored.collect();
    let best = boost(&mut hits, candidates.len(), boosts, Some(limit));
    TopList { maximum: ranked.maximum, best, hits }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_best_documents_are_those_of_the_full_pass(
        store in stores(),
        questions in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..6), any::<bool>()), 4),
        limit in prop::sample::select(vec![1_usize, 2, 10, 60, 300]),
        recency in prop::sample::select(vec![0.0_f32, 0.15, 3.0]),
    ) {
        let (index, candidates) = store.build();
        let boosts = Boosts { recency, ..Boosts::default() };
        for (words, asks_when) in questions {
            let words: Vec<&str> = words.iter().map(|word| Made::word(*word)).collect();
            let start = if asks_when { "when did " } else { "" };
            let question = Question::parse(&format!("{start}{}", words.join(" ")));
            let expected = full_pass(&index, &question, &candidates, &boosts, limit);
            let top = index.rank_top(&question, &candidates, &boosts, limit).unwrap();
            prop_assert_eq!((top.maximum, top.best), (expected.maximum, expected.best));
            prop_assert_eq!(top.hits.len(), expected.hits.len());
            for (hit, expected) in top.hits.iter().zip(&expected.hits) {
                prop_assert_eq!(hit, expected);
            }
        }
    }
}

#[test]
fn statistics_that_change_after_a_segment_was_sealed_keep_its_bounds_valid() {
    let short = Made { words: vec![0, 100], argument: 0, group: 0, timestamp: 0, fails: false };
    let long = Made { words: vec![200; 400], ..short.clone() };
    let mut documents = vec![short; 600];
    for (number, document) in documents.iter_mut().enumerate() {
        document.words.resize(1 + number % 9, 3);
    }
    let sealed = documents.len();
    documents.extend(std::iter::repeat_n(long, 600));
    let store = Store {
        documents,
        segments: vec![sealed, 600],
        removed: Vec::new(),
        hidden: Vec::new(),
        announced: 0,
        is_merged: false,
    };
    let (index, candidates) = store.build();
    for text in ["login", "login form", "form token server"] {
        let (question, boosts) = (Question::parse(text), Boosts::default());
        let expected = full_pass(&index, &question, &candidates, &boosts, 10);
        assert_eq!(index.rank_top(&question, &candidates, &boosts, 10), Some(expected), "{text}");
    }
}
