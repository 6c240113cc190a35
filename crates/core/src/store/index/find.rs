//! Which entries are found: by what is known of them where that suffices, else by their texts.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tasks::Cancelled;
use text_index::{AnyWord, Conditions, SearchSyntax, Sequences, Verdict};

use super::{EntryIndex, Filter, Location, Summary, files::Files, filter::Admission, texts::Texts};
use crate::{blocking::run_blocking, error::Result, store::Entry};

/// Texts that are read at first, and at most at once.
const FIRST_READ: usize = 32;
const MOST_READ: usize = 2048;
/// Texts that one thread reads in one go.
const READ: usize = 16;

/// An entry that is found, or that is when its text says so.
struct Candidate {
    path: Arc<str>,
    /// Its text has to be looked through.
    is_open: bool,
    /// Nothing says yet that it has one of the words.
    needs_word: bool,
}

impl Candidate {
    fn certain(path: &Arc<str>) -> Self {
        Self { path: Arc::clone(path), is_open: false, needs_word: false }
    }
}

impl EntryIndex {
    /// The entries that pass the filter, newest first, or best first: by timestamp, then by the file's
    /// modification time, then by path, descending all.
    ///
    /// A query means that an entry has all of the words, in any of their forms or as the beginning of a
    /// longer one (three characters suffice), one of the prefixes, all phrases, and nothing that is
    /// excluded. Where it is ranked, one of the words or prefixes suffices; entries with so much text
    /// that not all of it is indexed come last if only the rest has one.
    ///
    /// # Errors
    /// `InvalidArgument` for a query that is none.
    pub async fn find(self: &Arc<Self>, filter: &Filter) -> Result<Vec<Location>> {
        let found = self.find_paths(filter).await?;
        let location = |path: &Arc<str>| Location::of(&path.split('/').collect::<Vec<_>>());
        Ok(found.iter().filter_map(location).collect())
    }

    /// As [`EntryIndex::find`], with what is known of the entries.
    ///
    /// # Errors
    /// Those of [`EntryIndex::find`].
    pub async fn summaries(self: &Arc<Self>, filter: &Filter) -> Result<Vec<Summary>> {
        let found = self.find_paths(filter).await?;
        let table = self.table();
        let rows = found.iter().filter_map(|path| table.get(path));
        Ok(rows.map(|row| row.summary(&table.names)).collect())
    }

    async fn find_paths(self: &Arc<Self>, filter: &Filter) -> Result<Vec<Arc<str>>> {
        let (index, filter, files) = (Arc::clone(self), filter.clone(), self.files());
        run_blocking(move |cancelled| index.look_up(&filter, &files, cancelled)).await
    }

    fn look_up(
        &self,
        filter: &Filter,
        files: &Files,
        cancelled: &Cancelled,
    ) -> Result<Vec<Arc<str>>> {
        let syntax = filter.syntax()?;
        let Some(syntax) = syntax.filter(|_| filter.limit > 0) else {
            let table = self.table();
            let admission = Admission::new(filter, None, &table);
            let found = table.rows().filter(|row| admission.admits(row)).take(filter.limit);
            return Ok(found.map(|row| Arc::clone(&row.path)).collect());
        };
        let any = filter.ranked.then(|| AnyWord::new(&syntax, &self.text()));
        let any = any.filter(|any| !any.is_empty());
        let candidates = match &any {
            Some(any) => self.ranked(filter, &syntax, any),
            None => self.newest(filter, &syntax),
        };
        Ok(self.settle(candidates, filter.limit, &syntax, any.as_ref(), files, cancelled))
    }

    /// Candidates that must have all words, newest first.
    fn newest(&self, filter: &Filter, syntax: &SearchSyntax) -> Vec<Candidate> {
        let table = self.table();
        let admission = Admission::new(filter, Some(syntax), &table);
        let judgement = Conditions::all_of(syntax).judge(&self.text());
        let (mut candidates, mut met) = (Vec::new(), 0);
        for row in table.rows() {
            let verdict = judgement.of(row.sequence, row.is_partial);
            if verdict == Verdict::Failed || !admission.admits(row) {
                continue;
            }
            let is_open = verdict == Verdict::Open;
            candidates.push(Candidate { is_open, ..Candidate::certain(&row.path) });
            met += usize::from(!is_open);
            if met >= filter.limit {
                break;
            }
        }
        candidates
    }

    /// Candidates that have any word, best first, then those that may have one.
    fn ranked(&self, filter: &Filter, syntax: &SearchSyntax, any: &AnyWord) -> Vec<Candidate> {
        let table = self.table();
        let text = self.text();
        let admission = Admission::new(filter, Some(syntax), &table);
        let conditions = Conditions::without_words(syntax);
        let judgement = conditions.judge(&text);
        let admitted: Sequences =
            table.rows().filter(|row| admission.admits(row)).map(|row| row.sequence).collect();
        // Where texts decide, any number may be needed.
        let is_settled = conditions.is_empty() && any.is_certain_of_all();
        let limit = if is_settled { filter.limit } else { usize::MAX };
        let accepts = |sequence: u64| admitted.contains(sequence);
        let scores: FxHashMap<u64, f32> = any.rank(&text, limit, &accepts).into_iter().collect();
        let (mut scored, mut others) = (Vec::new(), Vec::new());
        for row in table.rows() {
            let score = scores.get(&row.sequence);
            if score.is_none() && !row.is_partial {
                continue;
            }
            let verdict = judgement.of(row.sequence, row.is_partial);
            if verdict == Verdict::Failed || !admitted.contains(row.sequence) {
                continue;
            }
            let is_open = verdict == Verdict::Open;
            let needs_word = score.is_none() || !any.is_certain(row.sequence);
            let candidate = Candidate {
                is_open: is_open || needs_word,
                needs_word,
                ..Candidate::certain(&row.path)
            };
            match score {
                Some(score) => scored.push((*score, candidate)),
                None => others.push(candidate),
            }
        }
        // Equally good ones stay newest first.
        scored.sort_by(|left, right| right.0.total_cmp(&left.0));
        scored.into_iter().map(|(_, candidate)| candidate).chain(others).collect()
    }

    /// The first candidates that are found, in their order. Reads as few texts as that takes.
    fn settle(
        &self,
        candidates: Vec<Candidate>,
        limit: usize,
        syntax: &SearchSyntax,
        any: Option<&AnyWord>,
        files: &Files,
        cancelled: &Cancelled,
    ) -> Vec<Arc<str>> {
        let mut found = Vec::new();
        let mut rest = &*candidates;
        let mut count = FIRST_READ;
        while !rest.is_empty() && found.len() < limit && !cancelled.is_set() {
            // As far as so many open ones go.
            let mut open = 0;
            let end = rest.iter().position(|candidate| {
                open += usize::from(candidate.is_open);
                open > count
            });
            let (now, later) = rest.split_at(end.unwrap_or(rest.len()));
            let chunks: Vec<&[Candidate]> =
                if open == 0 { vec![now] } else { now.chunks(READ).collect() };
            let hits = tasks::map_on_few_threads(&chunks, cancelled, |chunk| {
                let mut look =
                    LookThrough { files, syntax, any, tools: None, most: self.max_entry_bytes };
                let hits =
                    chunk.iter().filter(|candidate| !candidate.is_open || look.is_hit(candidate));
                hits.map(|hit| Arc::clone(&hit.path)).collect::<Vec<_>>()
            });
            found.extend(hits.into_iter().flatten());
            rest = later;
            count = (count * 4).min(MOST_READ);
        }
        found.truncate(limit);
        found
    }
}

/// Looks through texts, on one thread.
struct LookThrough<'s> {
    files: &'s Files,
    syntax: &'s SearchSyntax,
    /// Where entries are ranked.
    any: Option<&'s AnyWord>,
    /// Large, so made when it is needed.
    tools: Option<(Conditions, Option<AnyWord>)>,
    most: u64,
}

impl LookThrough<'_> {
    fn is_hit(&mut self, candidate: &Candidate) -> bool {
        let Some(texts) = self.texts(&candidate.path) else { return false };
        let (conditions, any) = self.tools.get_or_insert_with(|| match self.any {
            Some(any) => (Conditions::without_words(self.syntax), Some(any.another())),
            None => (Conditions::all_of(self.syntax), None),
        });
        let texts = texts.each();
        let mut has_word = || any.as_mut().is_none_or(|any| any.is_in(&texts));
        conditions.are_met_by(&texts) && (!candidate.needs_word || has_word())
    }

    /// `None` when it is gone or is no entry now.
    fn texts(&self, path: &str) -> Option<Texts> {
        let location = Location::of(&path.split('/').collect::<Vec<_>>())?;
        let contents = self.files.read(&location, self.most).ok()?;
        if contents.length > self.most {
            return None;
        }
        let entry = Entry::read(&location, &contents.bytes).ok()?;
        Some(Texts::of(&location, entry))
    }
}
