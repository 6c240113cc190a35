//! Choosing among a manager's contexts, with filters, budgets and vectors.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::json;
use text_index::{Boosts, Query, RankedList, Scored, TermMatch, Which, boost};

use super::{
    choice::{Bounds, Choice, Groups, pack, with_neighbours},
    embedding::text_of,
    filter::ContextFilter,
    pointer::Pointer,
    session::Session,
};
use crate::context::vectors::{Vector, cosine, fuse, nearness};

/// Pointers looked at with the state's lock held.
const BATCH: usize = 4096;
/// Chosen contexts are handed over in texts of about this many bytes.
const TEXT: usize = 64 * 1024;

/// What is wanted.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selection {
    /// Which contexts come into question.
    pub filter: ContextFilter,
    /// Those behind these paths alone; others are ignored.
    pub paths: Option<Vec<String>>,
    /// Hits with a lower score are left out.
    pub min_score: f32,
    /// How much may be taken.
    pub bounds: Bounds,
    /// How much the latest contexts are preferred.
    pub recency_weight: Option<f32>,
    /// How many contexts from before and after a strong hit come with it.
    pub neighbours: usize,
    /// Tell which terms counted.
    pub explain: bool,
    /// Name all that may be taken, best first, a neighbour after each of its hits: the caller takes what
    /// fits. Nothing is bounded then.
    pub is_open: bool,
}

/// What was chosen.
#[derive(Debug)]
pub struct Selected {
    /// Something matched. All candidates are offered where nothing did: in their order, or, when the
    /// caller takes what fits, the latest first.
    pub is_matched: bool,
    /// JSON arrays of `[row, score, isNeighbour, explanation]`, see [`Pointer::write_row`].
    pub texts: Vec<String>,
}

/// The contexts in question, in the order of the calls.
struct Candidates {
    sequences: Vec<u64>,
    groups: Groups,
}

impl Candidates {
    fn position(&self, sequence: u64) -> Option<usize> {
        self.sequences.binary_search(&sequence).ok()
    }
}

/// Chooses contexts for a question. `vector` is that of the question.
pub(super) async fn select(
    session: &Session,
    question: &str,
    selection: &Selection,
    vector: Option<Vector>,
) -> Selected {
    session.index.complete().await;
    let needs_groups = selection.neighbours > 0 || vector.is_some();
    let candidates = candidates(session, selection, needs_groups).await;
    let mut hits = ranking(session, question, selection, vector, &candidates).await;
    let is_matched = !hits.is_empty();
    tokio::task::yield_now().await;
    let chosen = if is_matched {
        hits.truncate(hits.partition_point(|hit| hit.score >= selection.min_score));
        if selection.neighbours > 0 {
            hits = with_neighbours(&hits, &candidates.groups, selection.neighbours);
        }
        take(session, hits.into_iter(), selection, &candidates)
    } else if selection.min_score > 0.0 {
        Vec::new()
    } else {
        // The latest are the best guess, and are given in the order in which they were saved.
        let latest_first = (0..candidates.sequences.len()).rev();
        let choice = |position| Choice { position, score: 0.0, is_neighbour: false };
        let mut chosen = take(session, latest_first.map(choice), selection, &candidates);
        if !selection.is_open {
            chosen.reverse();
        }
        chosen
    };
    tokio::task::yield_now().await;
    let sequence = |choice: &Choice| candidates.sequences.get(choice.position).copied();
    let chosen: Vec<(u64, Choice)> =
        chosen.into_iter().filter_map(|choice| Some((sequence(&choice)?, choice))).collect();
    let explanations = selection.explain.then(|| {
        let sequences: Vec<u64> = chosen.iter().map(|(sequence, _)| *sequence).collect();
        session.index.explain(&Query::parse(question), &sequences)
    });
    let texts = show_chosen(session, &chosen, explanations.as_deref());
    Selected { is_matched, texts }
}

/// Texts of contexts in question that have no vector and would keep one: at most `limit`, the latest
/// first, with the numbers of their calls.
pub(super) async fn texts_without_vector(
    session: &Session,
    selection: &Selection,
    limit: usize,
) -> (Vec<u64>, Vec<String>) {
    let candidates = candidates(session, selection, false).await;
    let latest_first = candidates.sequences.iter().rev().copied();
    let wanted = session.index.without_vector(latest_first, limit);
    let (mut sequences, mut texts) = (Vec::new(), Vec::new());
    for sequence in wanted {
        if let Some(text) = text_of(&session.pointers, &session.directory, sequence).await {
            sequences.push(sequence);
            texts.push(text);
        }
        tokio::task::yield_now().await;
    }
    (sequences, texts)
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

/// What the selection leaves in question.
async fn candidates(session: &Session, selection: &Selection, needs_groups: bool) -> Candidates {
    let (mut sequences, mut groups) = (Vec::new(), Vec::new());
    let mut take = |sequence: u64, pointer: &Pointer| {
        if selection.filter.matches(pointer) {
            sequences.push(sequence);
            if needs_groups {
                groups.push(pointer.group());
            }
        }
    };
    // Other tasks need the lock, too, and a cancelled selection stops at a pause.
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
    Candidates { sequences, groups: Groups::new(groups) }
}

/// Contexts among which the filter need only look, ascending; `None` means all.
fn offered(session: &Session, selection: &Selection) -> Option<Vec<u64>> {
    let mut offered: Vec<u64> = if let Some(paths) = &selection.paths {
        paths.iter().filter_map(|path| session.recognise(path)).collect()
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
    vector: Option<Vector>,
    candidates: &Candidates,
) -> Vec<Choice> {
    let query = Query::parse(question);
    let count = candidates.sequences.len();
    let ranked = if query.is_empty() {
        RankedList { maximum: 0.0, hits: Vec::new() }
    } else {
        session.index.rank(&query, &|sequence| candidates.position(sequence).is_some(), &[])
    };
    let maximum = ranked.maximum;
    let scored = ranked.hits.iter().filter_map(|hit| match hit.which {
        Which::Known(sequence) => Some(hit.at(candidates.position(sequence)?)),
        Which::Foreign(_) => None,
    });
    let mut scored: Vec<Scored> = scored.collect();
    let mut boosts = Boosts::default();
    boosts.recency = selection.recency_weight.unwrap_or(boosts.recency);
    boost(&mut scored, count, &boosts);
    tokio::task::yield_now().await;
    let share = |score: f32| if maximum > 0.0 { (score / maximum).clamp(0.0, 1.0) } else { 0.0 };
    if let Some(vector) = vector
        && let Some(hits) = fused(session, &scored, &share, &vector, candidates).await
    {
        return hits;
    }
    let hit = |hit: &Scored| Choice {
        position: hit.position,
        score: share(hit.score),
        is_neighbour: false,
    };
    scored.iter().map(hit).collect()
}

/// Vectors of another length than a question's come from another model: they go.
fn check_dimensions(session: &Session, wanted: usize) {
    if let Some(found) = session.index.drop_other_dimensions(wanted) {
        session.debug.say(
            "The vectors of contexts are not as long as the query's: they will be made anew",
            || json!({ "length": found, "queryLength": wanted }),
        );
    }
}

/// The ranking fused with the question's vector; `None` where no candidate has one of its length.
async fn fused(
    session: &Session,
    scored: &[Scored],
    share: &(impl Fn(f32) -> f32 + Sync),
    vector: &Vector,
    candidates: &Candidates,
) -> Option<Vec<Choice>> {
    check_dimensions(session, vector.len());
    let mut cosines = Vec::with_capacity(candidates.sequences.len());
    for batch in candidates.sequences.chunks(BATCH) {
        let vectors = session.index.vectors_of(batch, vector.len());
        cosines.extend(vectors.iter().map(|other| Some(cosine(vector, other.as_ref()?))));
        tokio::task::yield_now().await;
    }
    let nearest = cosines.iter().flatten().copied().reduce(f32::max)?;
    let best = scored.first().map_or(0.0, |best| best.score);
    let mut lexical = vec![0.0; cosines.len()];
    for hit in scored {
        if let Some(slot) = lexical.get_mut(hit.position) {
            *slot = hit.score / best;
        }
    }
    let fused = fuse(&lexical, &nearness(&cosines, &lexical, candidates.groups.members()));
    // As good as the better of the two thinks the best is.
    let scale = share(best).max(nearest).clamp(0.0, 1.0);
    let hits = fused.into_iter().enumerate().filter(|&(_, score)| score > 0.0);
    let mut hits: Vec<Choice> = hits
        .map(|(position, score)| Choice { position, score: score * scale, is_neighbour: false })
        .collect();
    hits.sort_by(|one, other| {
        other.score.total_cmp(&one.score).then(other.position.cmp(&one.position))
    });
    Some(hits)
}

/// What was chosen as JSON; what went meanwhile is left out.
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
        text.push(']');
    }
    text.push(']');
    texts.push(text);
    texts
}

/// What a term contributed, as JavaScript is told.
#[derive(Serialize)]
struct MatchedTerm<'a> {
    term: &'a str,
    fields: Vec<&'static str>,
    share: f32,
}

fn shares(terms: &[TermMatch]) -> Vec<MatchedTerm<'_>> {
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
