//! [`Filter`]: the conditions of `search` and `list`. [`Admission`]: a filter whose names are
//! replaced with the numbers that one [`Table`] gives them.

use serde::Deserialize;
use text_index::SearchSyntax;

use super::super::EntryType;
use super::{
    row::{Row, session_directory},
    table::Table,
};
use crate::error::Result;

/// Conditions that an entry has to meet. `None` and empty lists of tags are no conditions.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Filter {
    /// Written by one of these agents.
    pub agents: Option<Vec<String>>,
    /// Of one of these sessions, by the front matter or by the directory.
    pub sessions: Option<Vec<String>>,
    /// Of one of these types.
    pub types: Option<Vec<EntryType>>,
    /// With all of these tags, compared exactly.
    pub tags_all: Vec<String>,
    /// With at least one of these tags; no condition if empty.
    pub tags_any: Vec<String>,
    /// Written at this time or later, ms since 1970.
    pub since: Option<i64>,
    /// Written at this time or earlier, ms since 1970.
    pub until: Option<i64>,
    /// A query that the entry's text has to match: see [`SearchSyntax`].
    pub query: Option<String>,
    /// One word of the query suffices (OR query), and results are ordered by score.
    pub ranked: bool,
    /// Only superseded entries, or only others.
    pub superseded: Option<bool>,
    /// The greatest number of results.
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            agents: None,
            sessions: None,
            types: None,
            tags_all: Vec::new(),
            tags_any: Vec::new(),
            since: None,
            until: None,
            query: None,
            ranked: false,
            superseded: None,
            limit: usize::MAX,
        }
    }
}

impl Filter {
    /// The parsed query; `None` if there is none or it is empty.
    ///
    /// # Errors `InvalidArgument` for a query with a syntax error.
    pub fn syntax(&self) -> Result<Option<SearchSyntax>> {
        let Some(query) = &self.query else { return Ok(None) };
        let syntax = SearchSyntax::parse_without_tools(query)?;
        Ok((syntax != SearchSyntax::default()).then_some(syntax))
    }
}

/// A filter whose names were replaced with the numbers of one table, for fast comparison.
pub(super) struct Admission<'f> {
    filter: &'f Filter,
    agents: Option<Vec<u32>>,
    sessions: Option<Vec<u32>>,
    /// `None`: one of the tags is in no entry, so none matches.
    tags_all: Option<Vec<u32>>,
    tags_any: Vec<u32>,
    since: Option<i64>,
    until: Option<i64>,
}

impl<'f> Admission<'f> {
    pub fn new(filter: &'f Filter, syntax: Option<&SearchSyntax>, table: &Table) -> Self {
        let numbers = |names: &[String]| -> Vec<u32> {
            names.iter().filter_map(|name| table.names.find(name)).collect()
        };
        let until = syntax.and_then(|syntax| syntax.until);
        Self {
            filter,
            agents: filter.agents.as_deref().map(numbers),
            sessions: filter.sessions.as_deref().map(numbers),
            tags_all: filter.tags_all.iter().map(|tag| table.names.find(tag)).collect(),
            tags_any: numbers(&filter.tags_any),
            since: filter.since.max(syntax.and_then(|syntax| syntax.since)),
            until: filter.until.into_iter().chain(until).min(),
        }
    }

    pub fn admits(&self, row: &Row) -> bool {
        let Self { filter, agents, tags_all, tags_any, since, until, .. } = self;
        agents.as_ref().is_none_or(|agents| agents.contains(&row.agent))
            && filter.types.as_ref().is_none_or(|types| types.contains(&row.entry_type))
            && since.is_none_or(|since| since <= row.timestamp)
            && until.is_none_or(|until| row.timestamp <= until)
            && filter.superseded.is_none_or(|wanted| wanted == row.superseded_by.is_some())
            && tags_all.as_ref().is_some_and(|tags| tags.iter().all(|tag| row.tags.contains(tag)))
            && (filter.tags_any.is_empty() || tags_any.iter().any(|tag| row.tags.contains(tag)))
            && self.is_of_session(row)
    }

    fn is_of_session(&self, row: &Row) -> bool {
        let (Some(names), Some(numbers)) = (&self.filter.sessions, &self.sessions) else {
            return true;
        };
        row.session.is_some_and(|session| numbers.contains(&session))
            || session_directory(&row.path)
                .is_some_and(|directory| names.iter().any(|name| name == directory))
    }
}
