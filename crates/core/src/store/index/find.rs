//! Searches the entry index. The metadata and the inverted index decide where they can; phrases,
//! exclusions and partly indexed entries are decided by reading the file.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tasks::Cancelled;
use text_index::{
    Operator, PrefixRule, QueryPlan, SearchSyntax, Sequences, Verdict, Verifier, fuse,
};

use super::{
    EntryIndex, Filter, Location, Summary,
    files::Files,
    filter::Admission,
    location_of,
    narrowing::{LEAST, Narrowed},
    row::Row,
    texts::Texts,
};
use crate::{
    blocking::run_blocking,
    debug::Debug,
    error::Result,
    store::{
        Entry,
        read_ahead::{AT_ONCE, ReadAhead},
    },
    vectors::{Embedded, Vectors},
};

/// How many files the first round reads, and the most that a round reads.
const FIRST_READ: usize = 32;
const MOST_READ: usize = 2048;
/// How many files one thread reads in one task.
const READ: usize = 16;
/// The factor by which more candidates are asked for.
const MORE: usize = 4;

/// What a search looks for.
struct Sought {
    filter: Filter,
    syntax: SearchSyntax,
    plan: QueryPlan,
    embedded: Option<Embedded>,
}

/// An entry that matches, or that matches if its text does.
struct Candidate {
    path: Arc<str>,
    /// The file has to be read to decide.
    is_open: bool,
    /// The inverted index does not prove that the entry has the words.
    needs_words: bool,
}

impl EntryIndex {
    /// The entries that match a filter: newest first (by timestamp, then by modification time, then
    /// by path, all descending), or by score if the filter is ranked.
    ///
    /// An entry matches a query if it has all words (in any inflected form, or as the beginning of
    /// a longer word, for words of at least three characters), one of the prefixes, all phrases,
    /// and nothing that is excluded. For a ranked query one word or prefix suffices. Entries that
    /// are too long to be indexed completely come last if only their unindexed part matches.
    ///
    /// For a ranked query, `embedded` is its embedding: entries near to it match as well.
    ///
    /// # Errors
    /// `InvalidArgument` for a query with a syntax error.
    pub async fn find(
        self: &Arc<Self>,
        filter: &Filter,
        embedded: Option<Embedded>,
        debug: &Debug,
    ) -> Result<Vec<Location>> {
        let found = self.find_paths(filter, embedded, debug).await?;
        Ok(found.iter().filter_map(|path| location_of(path)).collect())
    }

    /// As [`EntryIndex::find`], but returns the entries' metadata.
    ///
    /// # Errors
    /// Those of [`EntryIndex::find`].
    pub async fn summaries(
        self: &Arc<Self>,
        filter: &Filter,
        debug: &Debug,
    ) -> Result<Vec<Summary>> {
        let found = self.find_paths(filter, None, debug).await?;
        let table = self.table();
        let rows = found.iter().filter_map(|path| table.get(path));
        Ok(rows.map(|row| row.summary(&table.names)).collect())
    }

    async fn find_paths(
        self: &Arc<Self>,
        filter: &Filter,
        embedded: Option<Embedded>,
        debug: &Debug,
    ) -> Result<Vec<Arc<str>>> {
        let (index, filter) = (Arc::clone(self), filter.clone());
        let Some(syntax) = filter.syntax()?.filter(|_| filter.limit > 0) else {
            return run_blocking(move |_| Ok(index.admitted(&filter))).await;
        };
        let plan = plan_of(&filter, &syntax);
        let sought = Arc::new(Sought { filter, syntax, plan, embedded });
        let (filter, plan) = (&sought.filter, &sought.plan);
        let mut wanted = filter.limit.saturating_mul(2);
        loop {
            let narrowed = self.narrow(filter, plan, wanted, debug).await?;
            let is_all = narrowed.as_ref().is_none_or(|narrowed| narrowed.is_all);
            let (index, sought, files) = (Arc::clone(self), Arc::clone(&sought), self.files());
            let found = run_blocking(move |cancelled| {
                Ok(index.look_up(&sought, narrowed.as_ref(), &files, cancelled))
            });
            let found = found.await?;
            if is_all || found.len() >= filter.limit {
                return Ok(found);
            }
            wanted = wanted.max(LEAST).saturating_mul(MORE);
        }
    }

    /// What a filter's query searches for (`None` without a query, and if it has only exclusions), and the texts of
    /// entries that the filter admits and that have no vector: at most `limit`, latest first.
    ///
    /// # Errors
    /// `InvalidArgument` for a query with a syntax error.
    pub async fn texts_without_vector(
        self: &Arc<Self>,
        filter: &Filter,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<(Option<String>, Vec<String>)> {
        let Some(syntax) = filter.syntax()? else { return Ok((None, Vec::new())) };
        let Some(text) = syntax.text() else { return Ok((None, Vec::new())) };
        vectors.refresh().await;
        let (index, filter, files) = (Arc::clone(self), filter.clone(), self.files());
        let vectors = vectors.clone();
        let missing = run_blocking(move |cancelled| {
            let paths = index.without_vector(&filter, &syntax, &vectors, limit);
            let mut texts = Vec::new();
            for paths in paths.chunks(AT_ONCE) {
                let ahead = files.read_ahead(paths.iter().filter_map(|path| location_of(path)));
                let reading =
                    Reading { files: &files, ahead: ahead.as_ref(), most: index.max_entry_bytes };
                let next = paths.iter().take_while(|_| !cancelled.is_set());
                texts.extend(next.filter_map(|path| Some(reading.texts_at(path)?.embedded())));
            }
            Ok(texts)
        });
        Ok((Some(text), missing.await?))
    }

    /// The admitted entries whose texts have no vector: one for each text, at most `limit`, latest first.
    fn without_vector(
        &self,
        filter: &Filter,
        syntax: &SearchSyntax,
        vectors: &Vectors,
        limit: usize,
    ) -> Vec<Arc<str>> {
        let table = self.table();
        let admission = Admission::new(filter, Some(syntax), &table);
        let mut seen = FxHashSet::default();
        let admitted = table.rows().filter(|row| admission.admits(row)).take(vectors.room());
        let missing =
            admitted.filter(|row| !vectors.has(row.embedded) && seen.insert(row.embedded));
        missing.take(limit).map(|row| Arc::clone(&row.path)).collect()
    }

    /// The entries that a filter without a query admits.
    fn admitted(&self, filter: &Filter) -> Vec<Arc<str>> {
        let table = self.table();
        let admission = Admission::new(filter, None, &table);
        let found = table.rows().filter(|row| admission.admits(row)).take(filter.limit);
        found.map(|row| Arc::clone(&row.path)).collect()
    }

    /// The entries that match a query.
    fn look_up(
        &self,
        sought: &Sought,
        narrowed: Option<&Narrowed>,
        files: &Files,
        cancelled: &Cancelled,
    ) -> Vec<Arc<str>> {
        let candidates = if sought.plan.is_ranked() {
            self.ranked(sought, narrowed)
        } else {
            self.newest(sought, narrowed)
        };
        self.settle(candidates, sought.filter.limit, &sought.plan, files, cancelled)
    }

    /// Candidates that must have all words, newest first.
    fn newest(&self, sought: &Sought, narrowed: Option<&Narrowed>) -> Vec<Candidate> {
        let Sought { filter, syntax, plan, .. } = sought;
        let table = self.table();
        let admission = Admission::new(filter, Some(syntax), &table);
        let judgement = narrowed.is_none().then(|| plan.judge(&self.text()));
        let verdict_of = |row: &Row| match (narrowed, &judgement) {
            (Some(narrowed), _) => narrowed.verdict(row),
            (None, Some(judgement)) => judgement.of(row.sequence, row.is_partial),
            (None, None) => Verdict::Open,
        };
        let (mut candidates, mut met) = (Vec::new(), 0);
        for row in table.rows() {
            let verdict = verdict_of(row);
            if verdict == Verdict::Failed || !admission.admits(row) {
                continue;
            }
            let is_open = verdict == Verdict::Open;
            let path = Arc::clone(&row.path);
            candidates.push(Candidate { path, is_open, needs_words: is_open });
            met += usize::from(!is_open);
            if met >= filter.limit {
                break;
            }
        }
        candidates
    }

    /// Candidates with at least one of the words, and those near to the query by their vectors, by
    /// score; then those that the index cannot decide.
    fn ranked(&self, sought: &Sought, narrowed: Option<&Narrowed>) -> Vec<Candidate> {
        let Sought { filter, syntax, plan, embedded } = sought;
        let table = self.table();
        let text = narrowed.and_then(|narrowed| narrowed.text.clone());
        let text = text.unwrap_or_else(|| self.text());
        let admission = Admission::new(filter, Some(syntax), &table);
        let ranking = plan.ranking(&[&text]);
        let statistics = narrowed.and_then(|narrowed| narrowed.statistics.clone());
        let ranking = match statistics {
            Some(statistics) => ranking.within(statistics),
            None => ranking,
        };
        let judgement = plan.judge(&text);
        let is_covered = |sequence| narrowed.is_none_or(|narrowed| narrowed.may_match(sequence));
        let admitted: Sequences =
            table.rows().filter(|row| admission.admits(row)).map(|row| row.sequence).collect();
        let near = embedded.as_ref().and_then(|embedded| {
            let is_admitted = |row: &Row| admitted.contains(row.sequence);
            embedded.nearness(table.rows().map(|row| is_admitted(row).then_some(row.embedded)))
        });
        // If files have to be read to decide, or vectors change the order, any number of candidates
        // may be needed.
        let is_settled = !plan.has_filters() && judgement.has_word_in_all() && near.is_none();
        let limit = if is_settled { filter.limit } else { usize::MAX };
        let accepts = |sequence: u64| admitted.contains(sequence) && is_covered(sequence);
        let best = ranking.rank_with_equals(&[&text], limit, &accepts);
        let scores: FxHashMap<u64, f32> = best.into_iter().collect();
        let mut near = near.unwrap_or_default();
        near.resize(table.len(), 0.0);
        let (mut scored, mut candidates, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (row, near) in table.rows().zip(&near) {
            let score = scores.get(&row.sequence);
            let is_near = *near > 0.0;
            if score.is_none() && !is_near && !row.is_partial {
                continue;
            }
            // The index may not have the text of an entry that is no candidate.
            let is_partial = row.is_partial || !is_covered(row.sequence);
            let verdict = judgement.of(row.sequence, is_partial);
            if verdict == Verdict::Failed || !admitted.contains(row.sequence) {
                continue;
            }
            let needs_words = !is_near && (score.is_none() || !judgement.has_word(row.sequence));
            let is_open = verdict == Verdict::Open || needs_words;
            let candidate = Candidate { path: Arc::clone(&row.path), is_open, needs_words };
            if score.is_none() && !is_near {
                others.push(candidate);
                continue;
            }
            scored.extend(score.map(|score| (candidates.len(), *score)));
            candidates.push((*near, Some(candidate)));
        }
        // Entries with equal scores stay newest first.
        let near: Vec<f32> = candidates.iter().map(|(near, _)| *near).collect();
        fuse(&mut scored, &near);
        let mut take = |place: usize| candidates.get_mut(place)?.1.take();
        let mut best: Vec<Candidate> =
            scored.into_iter().filter_map(|(place, _)| take(place)).collect();
        best.extend(others);
        best
    }

    /// The first candidates that match, in their order. Reads no more files than needed for the
    /// limit.
    fn settle(
        &self,
        candidates: Vec<Candidate>,
        limit: usize,
        plan: &QueryPlan,
        files: &Files,
        cancelled: &Cancelled,
    ) -> Vec<Arc<str>> {
        let mut found = Vec::new();
        let mut rest = &*candidates;
        let mut count = FIRST_READ;
        while !rest.is_empty() && found.len() < limit && !cancelled.is_set() {
            // Takes candidates up to this number of undecided ones.
            let mut open = 0;
            let end = rest.iter().position(|candidate| {
                open += usize::from(candidate.is_open);
                open > count
            });
            let (now, _) = rest.split_at(end.unwrap_or(rest.len()));
            // A smaller round, of candidates that are read at once, where the file system can.
            let few = now.get(..AT_ONCE).unwrap_or(now);
            let undecided = few.iter().filter(|candidate| candidate.is_open);
            let ahead = files.read_ahead(undecided.filter_map(|one| location_of(&one.path)));
            let now = if ahead.is_some() { few } else { now };
            let reading = Reading { files, ahead: ahead.as_ref(), most: self.max_entry_bytes };
            let chunks: Vec<&[Candidate]> =
                if open == 0 { vec![now] } else { now.chunks(READ).collect() };
            let hits = tasks::map_on_few_threads(&chunks, cancelled, |chunk| {
                let mut look = LookThrough { reading, plan, verifier: None };
                let hits =
                    chunk.iter().filter(|candidate| !candidate.is_open || look.is_hit(candidate));
                hits.map(|hit| Arc::clone(&hit.path)).collect::<Vec<_>>()
            });
            found.extend(hits.into_iter().flatten());
            rest = rest.get(now.len()..).unwrap_or_default();
            count = (count * 4).min(MOST_READ);
        }
        found.truncate(limit);
        found
    }
}

/// Reads and matches files on one thread.
struct LookThrough<'s> {
    reading: Reading<'s>,
    plan: &'s QueryPlan,
    /// Large, so built only when the first file is read.
    verifier: Option<Verifier>,
}

impl LookThrough<'_> {
    fn is_hit(&mut self, candidate: &Candidate) -> bool {
        let Some(texts) = self.reading.texts_at(&candidate.path) else { return false };
        let verifier = self.verifier.get_or_insert_with(|| self.plan.verifier());
        verifier.is_met_by(&texts.each(), candidate.needs_words)
    }
}

/// How entries are read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'s> {
    pub files: &'s Files,
    pub ahead: Option<&'s ReadAhead>,
    /// The longest entry, in bytes.
    pub most: u64,
}

impl Reading<'_> {
    /// The texts of an entry; `None` if the file was removed, is no valid entry, or has more than `most` bytes.
    pub fn texts_at(&self, path: &str) -> Option<Texts> {
        let location = location_of(path)?;
        let contents = self.files.read_after(self.ahead, &location, self.most).ok()?;
        if contents.length > self.most {
            return None;
        }
        let entry = Entry::read(&location, &contents.bytes).ok()?;
        Some(Texts::of(&location, entry))
    }
}

/// The plan of a search. An OR query without words or prefixes is searched as an AND query.
fn plan_of(filter: &Filter, syntax: &SearchSyntax) -> QueryPlan {
    let any = Operator::Any(PrefixRule::Completions);
    let ranked = filter.ranked.then(|| QueryPlan::new(syntax, any)).filter(QueryPlan::is_ranked);
    ranked.unwrap_or_else(|| QueryPlan::new(syntax, Operator::All))
}
