//! The public behaviour of the index, compared with a scan of all documents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::prelude::*;

use crate::analysis::tokens::tokenize;
use crate::index::fields::{FIELD_COUNT, FIELDS};
use crate::index::postings::Frequencies;
use crate::*;

fn described<'a>(description: &'a str, timestamp: i64) -> Document<'a> {
    Document { description, timestamp, ..Document::default() }
}

fn index(descriptions: &[&str]) -> Index {
    let index = Index::new();
    for (sequence, description) in (0..).zip(descriptions) {
        index.add(sequence, &described(description, 0));
    }
    index
}

fn found(index: &Index, query: &str) -> Vec<u64> {
    index.search(&Query::parse(query), None).hits.iter().map(|hit| hit.sequence).collect()
}

#[test]
fn any_field_is_found_and_only_what_shares_a_term() {
    let index = Index::new();
    index.add(1, &Document { name: "read_file", ..Document::default() });
    index.add(2, &Document { description: "the file of settings", ..Document::default() });
    index.add(3, &Document { arguments: "path /src/auth/LoginForm.tsx", ..Document::default() });
    assert_eq!(found(&index, "which files?").into_iter().collect::<BTreeSet<_>>(), [1, 2].into());
    assert_eq!(found(&index, "login"), [3]);
    assert_eq!(found(&index, "loginform"), [3]);
    assert_eq!(found(&index, "src/auth"), [3]);
    assert_eq!(found(&index, "of the"), [0_u64; 0]);
    assert_eq!(found(&index, "nothing"), [0_u64; 0]);
}

#[test]
fn languages_are_found() {
    let index = index(&[
        "東京都の人口を調べる",
        "Café in Zürich",
        "children went home",
        "сборка прошла успешно",
        "flight HAT084",
    ]);
    assert_eq!(found(&index, "人口"), [0]);
    assert_eq!(found(&index, "京"), [0]);
    assert_eq!(found(&index, "cafe zurich"), [1]);
    assert_eq!(found(&index, "a child goes"), [2]);
    assert_eq!(found(&index, "СБОРКА"), [3]);
    assert_eq!(found(&index, "hat 084"), [4]);
}

#[test]
fn rarer_and_more_matches_are_better() {
    let index = index(&[
        "error in build",
        "error in login",
        "error in build of login",
        "error in tests",
        "deploy",
    ]);
    assert_eq!(found(&index, "login build")[0], 2);
    assert_eq!(found(&index, "error tests")[0], 3);
}

#[test]
fn equal_documents_are_ordered_by_time_then_sequence() {
    let index = Index::new();
    for (sequence, timestamp) in [(1, 5), (2, 9), (3, 5), (4, 9)] {
        index.add(sequence, &described("same words", timestamp));
    }
    assert_eq!(found(&index, "words"), [4, 2, 3, 1]);
    let first = index.search(&Query::parse("words"), Some(1)).hits;
    assert_eq!(first.iter().map(|hit| (hit.sequence, hit.timestamp)).collect::<Vec<_>>(), [(4, 9)]);
    assert!(index.search(&Query::parse("words"), Some(0)).hits.is_empty());
}

#[test]
fn removal_replacement_and_clearing() {
    let index = index(&["login form", "login page", "logout"]);
    index.remove(0);
    index.remove(0);
    index.remove(99);
    assert_eq!((found(&index, "login"), index.len()), (vec![1], 2));
    index.add(1, &described("settings page", 0));
    assert_eq!(
        (found(&index, "login"), found(&index, "settings"), index.len()),
        (vec![], vec![1], 2)
    );
    index.clear();
    assert_eq!((found(&index, "page"), index.len()), (vec![], 0));
    index.add(1, &described("login again", 0));
    assert_eq!((found(&index, "login"), index.len()), (vec![1], 1));
}

#[test]
fn foreign_documents_are_ranked_among_known_ones() {
    let index = index(&["error in build", "error in login", "deploy"]);
    let foreign =
        [described("login login", 0), described("unrelated", 0), described("error in login", 0)];
    let ranked = index.rank(&Query::parse("login error"), &|sequence| sequence != 0, &foreign).hits;
    let order: Vec<Which> = ranked.iter().map(|ranked| ranked.which).collect();
    assert_eq!(order, [Which::Known(1), Which::Foreign(2), Which::Foreign(0)]);
    assert_eq!(ranked[0].score, ranked[1].score);
    assert!(index.rank(&Query::parse("the"), &|_| true, &foreign).hits.is_empty());
}

#[test]
fn a_filter_may_search() {
    let index = index(&["login form", "login page"]);
    let query = Query::parse("login");
    assert_eq!(
        index.rank(&query, &|sequence| found(&index, "form").contains(&sequence), &[]).hits.len(),
        1
    );
}

#[test]
fn dates_are_found_as_people_write_them() {
    let index = Index::new();
    index.add(1, &Document { arguments: "time 2023-05-07T16:04:00", ..Document::default() });
    index.add(2, &Document { result: "{\"date\": \"2023-06-17\"}", ..Document::default() });
    assert_eq!(found(&index, "what happened on May 7?"), [1]);
    assert_eq!(found(&index, "17 June"), [2]);
    assert_eq!(found(&index, "2023-06-17")[0], 2);
}

#[test]
fn similar_terms_stand_in_for_absent_ones() {
    for filler in [0, 300] {
        let index = index(&["deploy kubernetes cluster", "login form", "handler"]);
        for number in 0..filler {
            index.add(10 + number, &described("filler", 0));
        }
        assert_eq!(found(&index, "kubernets"), [0], "with {filler} more");
        assert_eq!(found(&index, "remove the handlers"), [2]);
        assert_eq!(found(&index, "kubfoo"), [0_u64; 0]);
    }
    let foreign = [described("kubernetes", 0)];
    let ranked = Index::new().rank(&Query::parse("kubernetis"), &|_| true, &foreign).hits;
    assert_eq!(ranked.len(), 1);
}

#[test]
fn synonyms_count_less_and_find_nothing_by_themselves() {
    let index =
        index(&["change a user", "remove a user", "delete a user", "remove a page", "other"]);
    assert_eq!(found(&index, "delete user"), [2, 1, 0], "none is found by a synonym alone");
}

#[test]
fn stop_words_are_found_when_there_is_nothing_else() {
    let texts = ["to be or not to be", "the login form", "not the form", "plain"];
    let query = Query::builder().text("or not", 1.0).keep_stop_words().build();
    for filler in [0, 300] {
        let index = index(&texts);
        for number in 0..filler {
            index.add(10 + number, &described("filler", 0));
        }
        let list = index.search(&query, None);
        assert_eq!(list.hits.iter().map(|hit| hit.sequence).collect::<Vec<_>>(), [0, 2]);
        assert!(list.hits[0].score <= list.maximum && list.hits[1].score < list.hits[0].score);
        index.remove(0);
        assert_eq!(index.search(&query, Some(5)).hits.len(), 1);
        let ranked = index.rank(&query, &|sequence| sequence != 2, &[described("or", 0)]).hits;
        assert_eq!(ranked.len(), 1);
        assert_eq!(ranked[0].which, Which::Foreign(0));
    }
}

#[test]
fn a_group_is_scored_by_the_best_of_each_term() {
    for filler in [0, 300] {
        let index = Index::new();
        let grouped = |description, group| Document { group, ..described(description, 0) };
        index.add(0, &grouped("login login", 7));
        index.add(1, &grouped("login of the form", 7));
        index.add(2, &grouped("login", 8));
        index.add(3, &grouped("login", 0));
        for number in 0..filler {
            index.add(10 + number, &described("filler", 0));
        }
        let query = Query::builder().text("login form", 1.0).build();
        let foreign = [grouped("form form", 8)];
        let ranked = index.rank(&query, &|sequence| sequence != 0, &foreign).hits;
        let of = |which| ranked.iter().find(|ranked| ranked.which == which).unwrap();
        let score = |which| of(which).score;
        assert_eq!(of(Which::Known(1)).group_score, score(Which::Known(1)));
        let both = score(Which::Known(2)) + score(Which::Foreign(0));
        assert!((of(Which::Known(2)).group_score - both).abs() < 1e-5);
        assert_eq!(of(Which::Foreign(0)).group_score, of(Which::Known(2)).group_score);
        assert_eq!(of(Which::Known(3)).group_score, 0.0);
    }
}

/// Name, description, arguments and result.
type Texts = [String; 4];

/// Documents with few distinct words, some of them in most documents, so that scores tie and postings are long.
fn random_documents(seed: u64, count: usize) -> Vec<Texts> {
    const WORDS: &[&str] = &[
        "file",
        "read",
        "login",
        "error",
        "build",
        "parse",
        "river",
        "token",
        "cloud",
        "stack",
        "graph",
        "query",
        "zebra",
        "LoginForm",
        "src/main",
        "x2",
        "東京",
    ];
    let mut state = seed | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let mut text = |longest: usize| {
        let words = (0..next(longest + 1)).map(|_| WORDS[next(WORDS.len()).min(next(WORDS.len()))]);
        words.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(|_| [text(2), text(8), text(12), text(24)]).collect()
}

fn document(texts: &Texts, timestamp: i64) -> Document<'_> {
    Document {
        name: &texts[0],
        description: &texts[1],
        arguments: &texts[2],
        result: &texts[3],
        timestamp,
        ..Document::default()
    }
}

/// BM25F as published, in double precision, computed by a scan of all documents.
fn scan(documents: &[Texts], query: &Query) -> BTreeMap<u64, f64> {
    let mut lengths = vec![[0_u32; FIELD_COUNT]; documents.len()];
    let mut counts: Vec<HashMap<String, [u32; FIELD_COUNT]>> =
        vec![HashMap::new(); documents.len()];
    for ((texts, lengths), counts) in documents.iter().zip(&mut lengths).zip(&mut counts) {
        for (field, length) in lengths.iter_mut().enumerate() {
            tokenize((FIELDS[field].text)(&document(texts, 0)), usize::MAX, |token| {
                counts.entry(token.to_owned()).or_default()[field] += 1;
                *length += 1;
            });
        }
    }
    let mean = |field: usize| {
        let filled = lengths.iter().filter(|lengths| lengths[field] > 0).count().max(1);
        f64::from(lengths.iter().map(|lengths| lengths[field]).sum::<u32>()) / filled as f64
    };
    let mut scores = BTreeMap::new();
    for term in query.terms() {
        let containing =
            counts.iter().filter(|counts| counts.contains_key(&*term.text)).count() as f64;
        let rarity = (1.0 + (documents.len() as f64 - containing + 0.5) / (containing + 0.5)).ln();
        for (sequence, counts) in (0_u64..).zip(&counts) {
            let Some(counts) = counts.get(&*term.text) else { continue };
            let frequencies = Frequencies::from_counts(counts).values();
            let occurrences: f64 = (0..FIELD_COUNT)
                .filter(|field| counts[*field] > 0)
                .map(|field| {
                    let b = f64::from(FIELDS[field].length_normalisation);
                    let length = f64::from(lengths[sequence as usize][field]) / mean(field);
                    f64::from(FIELDS[field].weight) * f64::from(frequencies[field])
                        / (1.0 - b + b * length)
                })
                .sum();
            let score =
                f64::from(term.weight) * rarity * (2.6 * occurrences / (1.6 + occurrences) + 0.3);
            *scores.entry(sequence).or_default() += score;
        }
    }
    scores
}

const QUERIES: [&str; 5] =
    ["zebra", "file", "login form error", "query graph file read file", "東京 x2 main cloud"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn the_index_agrees_with_a_scan(seed in any::<u64>(), count in 0_usize..2600, step in 1_u64..40) {
        let documents = random_documents(seed, count);
        let index = Index::new();
        // Roughly ascending, as with several writers.
        for place in 0..count as u64 {
            let block = place / step * step;
            let sequence = block + (count as u64 - block).min(step) - 1 - (place - block);
            index.add(sequence, &document(&documents[sequence as usize], sequence as i64 / 7));
        }
        prop_assert_eq!(index.len(), count);
        for query in QUERIES.map(Query::parse) {
            let expected = scan(&documents, &query);
            let hits = index.search(&query, None).hits;
            prop_assert_eq!(hits.iter().map(|hit| hit.sequence).collect::<BTreeSet<_>>(), expected.keys().copied().collect());
            prop_assert_eq!(hits.len(), expected.len());
            for hit in &hits {
                let expected = expected[&hit.sequence];
                prop_assert!((f64::from(hit.score) - expected).abs() <= expected * 1e-4, "{hit:?}, expected {expected}");
            }
            let in_order = hits.is_sorted_by(|left, right| {
                (left.score, left.timestamp, left.sequence) > (right.score, right.timestamp, right.sequence)
            });
            prop_assert!(in_order);
            let maximum = index.search(&query, None).maximum;
            prop_assert!(hits.iter().all(|hit| hit.score <= maximum * 1.0001));
            for hit in hits.iter().take(20) {
                let explained = index.explain(&query, &[hit.sequence]).concat();
                prop_assert!(explained.iter().all(|matched| matched.fields.contains(&true)));
                prop_assert!(explained.is_sorted_by(|left, right| left.score >= right.score));
                let sum: f32 = explained.iter().map(|matched| matched.score).sum();
                prop_assert!((sum - hit.score).abs() <= hit.score * 1e-4);
            }
            prop_assert!(index.explain(&query, &[count as u64]).concat().is_empty());
            for limit in [1, 10, 100, 5000] {
                let limited = index.search(&query, Some(limit)).hits;
                prop_assert_eq!(&limited[..], &hits[..limit.min(hits.len())]);
            }
        }
    }

    #[test]
    fn it_does_not_matter_which_documents_are_foreign(seed in any::<u64>(), count in 0_usize..1500, indexed in 0_usize..1500) {
        let documents = random_documents(seed, count);
        let indexed = indexed.min(count);
        let (all, part) = (Index::new(), Index::new());
        for (sequence, texts) in (0..).zip(&documents) {
            all.add(sequence, &document(texts, sequence as i64));
            if sequence < indexed as u64 {
                part.add(sequence, &document(texts, sequence as i64));
            }
        }
        let foreign: Vec<Document<'_>> = (indexed..).zip(&documents[indexed..]).map(|(place, texts)| document(texts, place as i64)).collect();
        for query in QUERIES.map(Query::parse) {
            let expected: Vec<(u64, f32)> = all.search(&query, None).hits.iter().map(|hit| (hit.sequence, hit.score)).collect();
            let ranked = part.rank(&query, &|_| true, &foreign).hits;
            let ranked: Vec<(u64, f32)> = ranked.iter().map(|ranked| (ranked.timestamp as u64, ranked.score)).collect();
            prop_assert_eq!(ranked, expected);
        }
    }

    #[test]
    fn removed_documents_are_not_found(seed in any::<u64>(), count in 0_usize..2600, keep in 1_u64..6) {
        let documents = random_documents(seed, count);
        let index = Index::new();
        for (sequence, texts) in (0..).zip(&documents) {
            index.add(sequence, &document(texts, 0));
            if sequence >= 100 && !sequence.is_multiple_of(keep) {
                index.remove(sequence - 100);
            }
        }
        let is_removed = |sequence: u64| sequence + 100 < count as u64 && !(sequence + 100).is_multiple_of(keep);
        prop_assert_eq!(index.len() as u64, (0..count as u64).filter(|sequence| !is_removed(*sequence)).count() as u64);
        for query in QUERIES.map(Query::parse) {
            let expected: BTreeSet<u64> = scan(&documents, &query).into_keys().filter(|sequence| !is_removed(*sequence)).collect();
            let hits = index.search(&query, None).hits;
            prop_assert_eq!(hits.iter().map(|hit| hit.sequence).collect::<BTreeSet<_>>(), expected);
            prop_assert_eq!(&index.search(&query, Some(20)).hits[..], &hits[..hits.len().min(20)]);
        }
    }
}

#[test]
fn readers_see_every_completed_addition() {
    const DOCUMENTS: u64 = 4000;
    let index = Index::new();
    let completed = [AtomicU64::new(0), AtomicU64::new(0)];
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0_u64..)
            .zip(&completed)
            .map(|(writer, completed)| {
                let index = &index;
                scope.spawn(move || {
                    for number in 0..DOCUMENTS {
                        let sequence = number * 2 + writer;
                        index.add(sequence, &described("shared word", sequence as i64));
                        if number % 10 == 3 {
                            index.remove(sequence);
                        }
                        completed.store(number + 1, Ordering::Release);
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                let query = Query::parse("shared");
                while !finished.load(Ordering::Acquire) {
                    let before =
                        completed.each_ref().map(|completed| completed.load(Ordering::Acquire));
                    let hits = index.search(&query, None).hits;
                    let sequences: BTreeSet<u64> = hits.iter().map(|hit| hit.sequence).collect();
                    assert_eq!(sequences.len(), hits.len(), "none twice");
                    for (writer, before) in (0..).zip(before) {
                        for number in 0..before {
                            assert_eq!(
                                sequences.contains(&(number * 2 + writer)),
                                number % 10 != 3,
                                "{number} of writer {writer}"
                            );
                        }
                    }
                }
            });
        }
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        finished.store(true, Ordering::Release);
        assert!(written.iter().all(Result::is_ok));
    });
    assert_eq!(index.len() as u64, DOCUMENTS * 2 / 10 * 9);
}

#[test]
fn a_question_is_ranked_alike_before_and_after_maintenance() {
    let separators = [Document::BEFORE_STRING, Document::BEFORE_OTHER];
    let [string, other] = separators;
    let results = [
        "the payment gateway is slow since yesterday",
        "gateway for each payment",
        "error: payment gateway",
        "customer CUS4711X of the gateway",
        "balance of CUS4711X is the payment",
    ];
    let index = Index::new();
    let names: Vec<String> = (0..2000)
        .map(|number| format!("{other}speaker{string}{}", ["Caroline", "Melanie"][number % 2]))
        .collect();
    for (sequence, arguments) in (0..).zip(&names) {
        let result = results[sequence as usize % results.len()];
        let group = sequence / 3;
        index.add(sequence, &Document { arguments, result, group, ..Document::default() });
    }
    let ranked = |question: &str| {
        let mut hits = index.rank_for(&Question::parse(question), &|_| true, &[]).hits;
        hits.sort_by_key(|hit| hit.which);
        hits.into_iter().map(|hit| (hit.which, hit.score, hit.group_score)).collect::<Vec<_>>()
    };
    let questions = ["payment gateway of Caroline", "when was the payment slow?", "customer"];
    let before = questions.map(ranked);
    index.maintain();
    assert!(!index.has_work());
    for (before, question) in before.iter().zip(questions) {
        let after = ranked(question);
        assert_eq!(before.len(), after.len(), "{question}");
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.0, after.0);
            assert!((before.1 - after.1).abs() < 1e-3, "{question}: {before:?} {after:?}");
        }
    }
}

#[test]
fn facts_are_not_found_as_words() {
    let index = Index::new();
    let arguments = format!("{}Caroline", Document::BEFORE_STRING);
    index.add(1, &Document { arguments: &arguments, result: "error", ..Document::default() });
    for word in ["empty", "argument", "\u{1}empty", "argumentcarolin"] {
        assert_eq!(found(&index, word), Vec::<u64>::new(), "{word}");
    }
    assert_eq!(found(&index, "caroline"), [1]);
}

#[test]
fn foreign_documents_get_what_known_ones_get() {
    let arguments = format!("{}Caroline", Document::BEFORE_STRING);
    let document = |result| Document { arguments: &arguments, result, ..Document::default() };
    let results =
        ["error in the payment gateway", "the payment gateway of yesterday", "gateway, payment"];
    let index = Index::new();
    for (sequence, result) in (0..).zip(results) {
        index.add(sequence, &document(result));
    }
    let foreign = results.map(document);
    let question = Question::parse("when did the payment gateway of Caroline fail?");
    let scores = |foreign: &[Document<'_>], index: &Index| {
        let mut hits = index.rank_for(&question, &|_| true, foreign).hits;
        hits.sort_by_key(|hit| hit.which);
        hits.iter().map(|hit| hit.score).collect::<Vec<_>>()
    };
    assert_eq!(scores(&[], &index), scores(&foreign, &Index::new()));
}
