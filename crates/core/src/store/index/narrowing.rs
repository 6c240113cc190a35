//! The entries that may match a query, as the index of a database names them. Of these, a ranked search reads the texts, which
//! stay in the inverted index in memory; of all others, a process has the metadata only. Terms of entries that have none are
//! added first, so that a search finds every entry that was written before it.

use std::sync::Arc;

use serde_json::json;
use storage::{FileResult, FileTerms, TermCondition, TermQuery};
use text_index::{Batch, Collection as Statistics, Index, QueryPlan, Sequences, Verdict};

use super::{EntryIndex, Filter, facets, find::Reading, location_of, row::Row};
use crate::{
    blocking::run_blocking,
    debug::Debug,
    error::Result,
    store::read_ahead::AT_ONCE,
    term_query::{condition_of, query_terms, statistics_of},
};

/// The least number of candidates that are asked for.
pub(super) const LEAST: usize = 256;
/// The most entries that may match a query of which all words are needed, for the index to be of use.
const MOST_MATCHING: usize = 100_000;
/// When the texts in memory take more bytes than this, they are forgotten before others are read.
const MAX_TEXTS: usize = 128 * 1024 * 1024;

/// The entries whose texts are in the inverted index of a process that does not have all of them.
#[derive(Default)]
pub(super) struct Read {
    sequences: Sequences,
    bytes: usize,
}

/// What the index of a database says about the entries.
#[derive(Default)]
pub(super) struct Narrowed {
    /// The entries that may match; `None` if any may.
    possible: Option<Sequences>,
    /// Those that match without reading their texts.
    certain: Sequences,
    /// Whether no other entries may match.
    pub is_all: bool,
    /// The inverted index with the texts of the possible entries, for a ranked query.
    pub text: Option<Arc<Index>>,
    /// The statistics of all entries, for a ranked query.
    pub statistics: Option<Statistics>,
}

impl Narrowed {
    /// Whether an entry may match.
    pub fn may_match(&self, sequence: u64) -> bool {
        self.possible.as_ref().is_none_or(|possible| possible.contains(sequence))
    }

    /// The decision for an entry. A partial entry has text whose terms are unknown.
    pub fn verdict(&self, row: &Row) -> Verdict {
        if !(row.is_partial || self.may_match(row.sequence)) {
            Verdict::Failed
        } else if self.certain.contains(row.sequence) {
            Verdict::Met
        } else {
            Verdict::Open
        }
    }
}

impl EntryIndex {
    /// Whether the file system has an index of the terms of entries, so that this one has only the texts of candidates.
    pub(super) fn is_narrowed(&self) -> bool {
        self.file_system.terms().is_some()
    }

    /// What the index of the database says about the entries that match a plan, of which a ranked search needs `wanted`.
    /// `None` if the inverted index has the texts of all entries.
    ///
    /// # Errors
    /// `Internal`
    pub(super) async fn narrow(
        self: &Arc<Self>,
        filter: &Filter,
        plan: &QueryPlan,
        wanted: usize,
        debug: &Debug,
    ) -> Result<Option<Narrowed>> {
        let Some(terms) = self.file_system.terms() else { return Ok(None) };
        let found = match self.add_missing_terms(terms).await {
            Ok(()) if plan.is_ranked() => self.candidates(terms, filter, plan, wanted).await,
            Ok(()) => self.matching(terms, filter, plan).await.map(Some),
            Err(error) => Err(error),
        };
        let mut narrowed = match found {
            Ok(narrowed) => narrowed,
            Err(error) => {
                debug.say(
                    "Searched without the index of the database",
                    || json!({ "reason": error.to_string() }),
                );
                None
            }
        };
        match &mut narrowed {
            Some(narrowed) if plan.is_ranked() => {
                narrowed.text = Some(self.read_texts(narrowed.possible.clone()).await?);
            }
            Some(_) => {}
            None => drop(self.read_texts(None).await?),
        }
        Ok(narrowed)
    }

    /// The best candidates of a ranked query; `None` if it has no terms.
    async fn candidates(
        &self,
        terms: &dyn FileTerms,
        filter: &Filter,
        plan: &QueryPlan,
        wanted: usize,
    ) -> FileResult<Option<Narrowed>> {
        let any = query_terms(plan.wanted());
        if any.is_empty() {
            return Ok(None);
        }
        let query = TermQuery { any, all: needed(filter, plan) };
        let found = terms.candidates(&self.root, &query, wanted.max(LEAST)).await?;
        Ok(Some(Narrowed {
            possible: Some(self.sequences_at(found.entries.iter().map(|entry| &*entry.name))),
            is_all: found.is_all,
            statistics: Some(statistics_of(&query.any, &found)),
            ..Narrowed::default()
        }))
    }

    /// The entries that match a query of which all words are needed.
    async fn matching(
        &self,
        terms: &dyn FileTerms,
        filter: &Filter,
        plan: &QueryPlan,
    ) -> FileResult<Narrowed> {
        let mut narrowed = Narrowed { is_all: true, ..Narrowed::default() };
        let needed = needed(filter, plan);
        if needed.is_empty() {
            return Ok(narrowed);
        }
        let sufficient = plan.sufficient_terms().map(condition_of);
        let needed = TermCondition::All(needed);
        let found = terms.matching(&self.root, &needed, sufficient.as_ref(), MOST_MATCHING).await?;
        if let Some(found) = found {
            let certain = found.iter().filter(|file| file.is_certain);
            narrowed.certain = self.sequences_at(certain.map(|file| &*file.path));
            narrowed.possible = Some(self.sequences_at(found.iter().map(|file| &*file.path)));
        }
        Ok(narrowed)
    }

    fn sequences_at<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Sequences {
        let table = self.table();
        paths.filter_map(|path| Some(table.get(path)?.sequence)).collect()
    }

    /// Reads the texts of entries, or of all, that are not in the inverted index, and adds them; returns the index.
    async fn read_texts(self: &Arc<Self>, wanted: Option<Sequences>) -> Result<Arc<Index>> {
        // Searches read one after the other, so that no text is read twice.
        let mut read = Arc::clone(&self.read).lock_owned().await;
        let (index, files) = (Arc::clone(self), self.files());
        run_blocking(move |cancelled| {
            let mut unread = index.unread(&read, wanted.as_ref());
            if !unread.is_empty() && wanted.is_some() && read.bytes > MAX_TEXTS {
                // A search that uses the index now keeps it.
                index.text.store(Arc::default());
                *read = Read::default();
                unread = index.unread(&read, wanted.as_ref());
            }
            let text = index.text();
            for entries in unread.chunks(AT_ONCE) {
                if cancelled.is_set() {
                    break;
                }
                let locations = entries.iter().filter_map(|(path, ..)| location_of(path));
                let ahead = files.read_ahead(locations);
                let most = index.max_entry_bytes;
                let reading = Reading { files: &files, ahead: ahead.as_ref(), most };
                let mut batch = Batch::default();
                for (path, sequence, timestamp) in entries {
                    let Some(texts) = reading.texts_at(path) else { continue };
                    batch.add(*sequence, &texts.document(&texts.joined(), *timestamp));
                    read.sequences.insert(*sequence);
                }
                read.bytes += batch.bytes();
                text.add_batch(batch);
            }
            text.maintain();
            Ok(text)
        })
        .await
    }

    /// The paths, sequences and times of wanted entries whose texts are not in the inverted index.
    fn unread(&self, read: &Read, wanted: Option<&Sequences>) -> Vec<(Arc<str>, u64, i64)> {
        let table = self.table();
        let unread = table.rows().filter(|row| {
            wanted.is_none_or(|wanted| wanted.contains(row.sequence))
                && !read.sequences.contains(row.sequence)
        });
        unread.map(|row| (Arc::clone(&row.path), row.sequence, row.timestamp)).collect()
    }
}

/// What the terms of every entry meet that matches.
fn needed(filter: &Filter, plan: &QueryPlan) -> Vec<TermCondition> {
    let mut needed = facets::of_filter(filter);
    match plan.needed_terms() {
        text_index::TermCondition::All(all) => needed.extend(all.into_iter().map(condition_of)),
        other => needed.push(condition_of(other)),
    }
    needed
}
