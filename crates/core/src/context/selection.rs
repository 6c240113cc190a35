//! Selects the contexts that are relevant to a question, with filters, budgets, neighbours and vectors: the
//! asynchronous form of `selectRelevantContexts`.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::json;
use text_index::{
    Boosts, Candidates as _, Query, Question, RankedList, Scored, TermMatch, Which, add_nearness,
    boost, nearness, recency_of_others,
};

use super::{
    choice::{Bounds, Choice, Groups, Parts, pack, with_neighbours},
    embedding::missing_texts,
    filter::ContextFilter,
    pointer::Pointer,
    select::ascending_position,
    session::Session,
};
use crate::vectors::{Embedded, Vectors};

/// Pointers that are examined with the state's lock held.
const BATCH: usize = 4096;
/// Maximum limit for [`top`]; for larger limits, the full ranking is faster.
const MOST_TOP: usize = 1000;
/// The approximate size of a text of results, in bytes.
const TEXT: usize = 64 * 1024;

/// The arguments of a selection.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selection {
    /// The filter.
    pub filter: ContextFilter,
    /// Whether contexts of other sessions are included, as far as the filter admits them.
    pub all_sessions: bool,
    /// Only the contexts with these paths.
    pub paths: Option<Vec<String>>,
    /// The least score of a hit.
    pub min_score: f32,
    /// The budget.
    pub bounds: Bounds,
    /// How much newer contexts are preferred.
    pub recency_weight: Option<f32>,
    /// The number of contexts before and after a strong hit that are added.
    pub neighbours: usize,
    /// Whether contexts that do not match are added after the hits, latest first. In a small store, some of the latest
    /// are placed among the hits.
    pub fill: bool,
    /// Whether to return the terms that matched.
    pub explain: bool,
    /// Whether to return all candidates, best first, with neighbours after each of their hits, and without a budget:
    /// the caller takes what fits.
    pub is_open: bool,
}

impl Selection {
    /// The number of hits that are needed, if only the best ones can be chosen.
    fn best_alone(&self) -> Option<usize> {
        let Bounds { limit, max_bytes, max_tokens } = self.bounds;
        let needs_more = self.fill
            || self.is_open
            || self.neighbours > 0
            || max_bytes.is_some()
            || max_tokens.is_some();
        limit.filter(|_| !needs_more)
    }

    fn boosts(&self) -> Boosts {
        let usual = Boosts::default();
        Boosts { recency: self.recency_weight.unwrap_or(usual.recency), ..usual }
    }

    /// The limit, if the selection asks only for the best of all contexts.
    fn top(&self) -> Option<usize> {
        let limit = self.best_alone().filter(|limit| (1..=MOST_TOP).contains(limit));
        limit.filter(|_| self.paths.is_none() && self.filter.is_empty())
    }
}

/// The result of a selection.
#[derive(Debug)]
pub struct Selected {
    /// Whether any context matched. If none did, all candidates are returned: latest first if `is_open` or `fill` is
    /// set, otherwise in their order.
    pub is_matched: bool,
    /// JSON arrays of `[row, score, isNeighbour, explanation, session, parts]`, see [`Pointer::write_row`].
    pub texts: Vec<String>,
}

/// The admitted contexts, in the order of the calls.
#[derive(Default)]
struct Candidates {
    sequences: Vec<u64>,
    groups: Groups,
    timestamps: Vec<i64>,
}

impl Candidates {
    fn position(&self, sequence: u64) -> Option<usize> {
        ascending_position(&self.sequences, sequence)
    }
}

/// Selects contexts for a question. `embedded` is the question's embedding.
pub(super) async fn select(
    session: &Session,
    question: &str,
    selection: &Selection,
    embedded: Option<Embedded>,
) -> Selected {
    session.index.complete().await;
    if let Some(limit) = selection.top().filter(|_| embedded.is_none())
        && let Some(chosen) = top(session, question, selection, limit)
    {
        let texts = explain_and_show(session, question, selection, &chosen);
        return Selected { is_matched: true, texts };
    }
    let needs_groups = selection.neighbours > 0 || embedded.is_some();
    let candidates = candidates(session, selection, needs_groups).await;
    let mut hits = ranking(session, question, selection, embedded, &candidates).await;
    let is_matched = hits.iter().any(|hit| hit.score > 0.0);
    tokio::task::yield_now().await;
    let chosen = if is_matched {
        hits.retain(|hit| hit.score >= selection.min_score);
        if selection.neighbours > 0 {
            hits = with_neighbours(&hits, &candidates.groups, selection.neighbours);
        }
        take(session, hits.into_iter(), selection, &candidates)
    } else if selection.min_score > 0.0 {
        Vec::new()
    } else {
        // The latest contexts are the best guess; they are returned in the order of the calls.
        let latest_first = (0..candidates.sequences.len()).rev();
        let choice = |position| Choice { position, ..Choice::default() };
        let mut chosen = take(session, latest_first.map(choice), selection, &candidates);
        if !selection.is_open && !selection.fill {
            chosen.reverse();
        }
        chosen
    };
    tokio::task::yield_now().await;
    let sequence = |choice: &Choice| candidates.sequences.get(choice.position).copied();
    let chosen: Vec<(u64, Choice)> =
        chosen.into_iter().filter_map(|choice| Some((sequence(&choice)?, choice))).collect();
    let texts = explain_and_show(session, question, selection, &chosen);
    Selected { is_matched, texts }
}

/// The best `limit` of all contexts, equal to those of the full ranking. `None` if the full ranking is required: the index is not
/// prepared, or no context matches.
fn top(
    session: &Session,
    question: &str,
    selection: &Selection,
    limit: usize,
) -> Option<Vec<(u64, Choice)>> {
    let (question, boosts) = (Question::parse(question), selection.boosts());
    let positions = session.pointers.positions();
    let top = session.index.rank_top(&question, &positions, &boosts, limit)?;
    let scale = scale(top.hits.first()?.score, top.maximum, 0.0);
    let choices = top.hits.iter().filter_map(|hit| {
        Some((positions.sequence(hit.position)?, choice(hit, boosts.group, scale)))
    });
    Some(choices.filter(|(_, choice)| choice.score >= selection.min_score).collect())
}

fn explain_and_show(
    session: &Session,
    question: &str,
    selection: &Selection,
    chosen: &[(u64, Choice)],
) -> Vec<String> {
    let explanations = selection.explain.then(|| {
        let sequences: Vec<u64> = chosen.iter().map(|(sequence, _)| *sequence).collect();
        session.index.explain(&Query::parse(question), &sequences)
    });
    show_chosen(session, chosen, explanations.as_deref())
}

/// The texts of admitted contexts that have no vector: at most `limit`, latest first.
pub(super) async fn texts_without_vector(
    session: &Session,
    selection: &Selection,
    vectors: &Vectors,
    limit: usize,
) -> Vec<String> {
    let candidates = candidates(session, selection, false).await;
    missing_texts(session, vectors, candidates.sequences.into_iter().rev(), limit).await
}

fn take(
    session: &Session,
    choices: impl Iterator<Item = Choice>,
    selection: &Selection,
    candidates: &Candidates,
) -> Vec<Choice> {
    if selection.is_open {
        return choices.collect();
    }
    pack(choices, &selection.bounds, |position| {
        let sequence = candidates.sequences.get(position)?;
        session.pointers.size_of(*sequence)
    })
}

/// The contexts that the selection's conditions admit.
async fn candidates(session: &Session, selection: &Selection, needs_groups: bool) -> Candidates {
    let (mut sequences, mut groups, mut timestamps) = (Vec::new(), Vec::new(), Vec::new());
    // Other tasks need the lock too, and a cancelled selection stops at a yield.
    if selection.paths.is_none() && selection.filter.is_empty() && !needs_groups {
        let mut next = Some(0);
        while let Some(start) = next {
            next = session.pointers.sequences_from(start, BATCH, &mut sequences);
            tokio::task::yield_now().await;
        }
        return Candidates { sequences, ..Candidates::default() };
    }
    let mut take = |sequence: u64, pointer: &Pointer| {
        if selection.filter.matches(pointer) {
            sequences.push(sequence);
            if needs_groups {
                groups.push(pointer.group());
                timestamps.push(pointer.timestamp);
            }
        }
    };
    if let Some(offered) = offered(session, selection) {
        for batch in offered.chunks(BATCH) {
            session.pointers.visit(batch, &mut take);
            tokio::task::yield_now().await;
        }
    } else {
        let mut next = Some(0);
        while let Some(start) = next {
            next = session.pointers.visit_from(start, BATCH, &mut take);
            tokio::task::yield_now().await;
        }
    }
    Candidates { sequences, groups: Groups::new(groups), timestamps }
}

/// The contexts that can meet the filter, ascending; `None` for all.
fn offered(session: &Session, selection: &Selection) -> Option<Vec<u64>> {
    let mut offered: Vec<u64> = if let Some(paths) = &selection.paths {
        paths.iter().filter_map(|path| session.sequence_of(path)).collect()
    } else {
        match &selection.filter {
            ContextFilter { queries: Some(queries), .. } => session.pointers.of_queries(queries),
            ContextFilter { tasks: Some(tasks), .. } => session.pointers.of_tasks(tasks),
            _ => return None,
        }
    };
    offered.sort_unstable();
    offered.dedup();
    Some(offered)
}

async fn ranking(
    session: &Session,
    question: &str,
    selection: &Selection,
    embedded: Option<Embedded>,
    candidates: &Candidates,
) -> Vec<Choice> {
    let question = Question::parse(question);
    let count = candidates.sequences.len();
    let ranked = if question.is_empty() {
        RankedList { maximum: 0.0, hits: Vec::new() }
    } else {
        let is_candidate = |sequence| candidates.position(sequence).is_some();
        session.index.rank_for(&question, &is_candidate, &[])
    };
    let maximum = ranked.maximum;
    let scored = ranked.hits.iter().filter_map(|hit| match hit.which {
        Which::Known(sequence) => Some(hit.at(candidates.position(sequence)?)),
        Which::Foreign(_) => None,
    });
    let mut scored: Vec<Scored> = scored.collect();
    tokio::task::yield_now().await;
    let mut nearest = 0.0;
    if let Some(embedded) = embedded
        && let Some(cosines) = cosines(session, &embedded, candidates)
    {
        nearest = cosines.iter().flatten().copied().fold(0.0, f32::max);
        let (groups, timestamps) = (&candidates.groups, &candidates.timestamps);
        add_nearness(&mut scored, &nearness(&cosines), groups.of(), timestamps);
    }
    let boosts = selection.boosts();
    let best = boost(&mut scored, count, &boosts, selection.best_alone());
    tokio::task::yield_now().await;
    let scale = scale(scored.first().map_or(0.0, |best| best.score), maximum, nearest);
    let matching: Vec<Choice> = scored.iter().map(|hit| choice(hit, boosts.group, scale)).collect();
    if !selection.fill || matching.is_empty() {
        return matching;
    }
    let worth = |position| recency_of_others(position, count, &boosts, best) * scale;
    with_others(matching, count, worth)
}

fn choice(hit: &Scored, group: f32, scale: f32) -> Choice {
    let score = (hit.score * scale).clamp(f32::MIN_POSITIVE, 1.0);
    let parts = parts(hit, group, scale);
    Choice { position: hit.position, score, is_neighbour: false, parts }
}

/// The components of a score, each multiplied by `scale`. `group` is the weight of the group's score.
fn parts(hit: &Scored, group: f32, scale: f32) -> Parts {
    let group = group * hit.group_score;
    let text = hit.score - hit.near - hit.beside - hit.recent - group;
    Parts {
        text: text.max(0.0) * scale,
        embedding: hit.near * scale,
        neighbours: hit.beside * scale,
        group: group * scale,
        recency: hit.recent * scale,
    }
}

/// The factor that turns scores into values from 0 to 1, relative to the greatest possible score by terms. If the best
/// hit is nearer by its vector than by its terms, its similarity is used.
pub(super) fn scale(best: f32, maximum: f32, nearest: f32) -> f32 {
    let by_terms = if maximum > 0.0 { (best / maximum).clamp(0.0, 1.0) } else { 0.0 };
    if best > 0.0 { by_terms.max(nearest.clamp(0.0, 1.0)) / best } else { 0.0 }
}

/// Merges the candidates that do not match into those that do, latest first, each before the hits with a lower score
/// than it gets for its age.
fn with_others(
    matching: Vec<Choice>,
    candidates: usize,
    worth: impl Fn(usize) -> f32,
) -> Vec<Choice> {
    let mut is_matching = vec![false; candidates];
    for hit in &matching {
        is_matching.get_mut(hit.position).into_iter().for_each(|slot| *slot = true);
    }
    let others = is_matching.iter().enumerate().rev().filter(|(_, is_matching)| !**is_matching);
    let mut others = others.map(|(position, _)| position).peekable();
    let other = |position| Choice { position, ..Choice::default() };
    let mut all = Vec::with_capacity(candidates);
    for hit in matching {
        while let Some(position) = others.next_if(|&position| worth(position) > hit.score) {
            all.push(other(position));
        }
        all.push(hit);
    }
    all.extend(others.map(other));
    all
}

/// The similarity of each candidate to the question; `None` if no candidate has a vector.
fn cosines(
    session: &Session,
    embedded: &Embedded,
    candidates: &Candidates,
) -> Option<Vec<Option<f32>>> {
    embedded.cosines(session.index.embedded_texts(&candidates.sequences))
}

/// The selected contexts as JSON, without those that were removed meanwhile.
fn show_chosen(
    session: &Session,
    chosen: &[(u64, Choice)],
    explanations: Option<&[Vec<TermMatch>]>,
) -> Vec<String> {
    let mut texts = Vec::new();
    let mut text = String::from("[");
    for (place, (sequence, choice)) in chosen.iter().enumerate() {
        let Some(pointer) = session.pointers.get(*sequence) else { continue };
        if text.len() > TEXT {
            text.push(']');
            texts.push(std::mem::replace(&mut text, String::from("[")));
        }
        if text.len() > 1 {
            text.push(',');
        }
        text.push('[');
        pointer.write_row(&mut text);
        // Writing to a String cannot fail.
        let _ = write!(text, ",{},{},", choice.score, choice.is_neighbour);
        let terms = explanations.and_then(|explanations| explanations.get(place));
        text.push_str(&json!(terms.map(|terms| shares(terms))).to_string());
        let _ = write!(text, ",{}", pointer.session.as_deref().unwrap_or("null"));
        let parts = explanations.map(|_| choice.parts);
        let _ = write!(text, ",{}]", json!(parts));
    }
    text.push(']');
    texts.push(text);
    texts
}

/// The contribution of a term, in the form for JavaScript.
#[derive(Serialize)]
pub(super) struct MatchedTerm<'a> {
    term: &'a str,
    fields: Vec<&'static str>,
    share: f32,
}

pub(super) fn shares(terms: &[TermMatch]) -> Vec<MatchedTerm<'_>> {
    let sum: f32 = terms.iter().map(|term| term.score).sum();
    let matched = terms.iter().map(|matched| {
        let fields = matched.fields.iter().zip(["name", "description", "arguments", "result"]);
        MatchedTerm {
            term: &matched.term,
            fields: fields.filter(|(has, _)| **has).map(|(_, field)| field).collect(),
            share: matched.score / sum,
        }
    });
    matched.collect()
}
