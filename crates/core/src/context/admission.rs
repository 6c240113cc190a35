//! Decides which contexts a search may return: combines the filter in the search's options with the conditions in the
//! query text, such as `tool:name`. `search` applies it to each pointer.

use storage::TermCondition;
use text_index::SearchSyntax;

use super::{facets, filter::ContextFilter, pointer::Pointer};
use crate::facet::one_of;

/// The conditions of the options and of the query together.
pub(super) struct Admission {
    filter: ContextFilter,
    excluded_tools: Vec<String>,
}

impl Admission {
    /// Combines the filter of the options with the conditions in the query.
    pub fn new(filter: &ContextFilter, syntax: &SearchSyntax) -> Self {
        let mut filter = filter.clone();
        filter.tools = match (filter.tools, &syntax.tools) {
            (Some(tools), Some(others)) => {
                Some(tools.into_iter().filter(|tool| others.contains(tool)).collect())
            }
            (tools, others) => tools.or_else(|| others.clone()),
        };
        filter.since = filter.since.max(syntax.since);
        filter.until = match (filter.until, syntax.until) {
            (Some(until), Some(other)) => Some(until.min(other)),
            (until, other) => until.or(other),
        };
        Self { filter, excluded_tools: syntax.excluded_tools.clone() }
    }

    /// Whether every context is admitted.
    pub fn is_open(&self) -> bool {
        let ContextFilter { queries, tasks, tools, calls, sessions, since, until } = &self.filter;
        let lists = [queries, tasks, tools, calls, sessions];
        let has_lists = lists.iter().any(|list| list.is_some());
        !(has_lists || since.is_some() || until.is_some()) && self.excluded_tools.is_empty()
    }

    /// What the facets of every admitted context meet.
    pub fn facets(&self) -> Vec<TermCondition> {
        facets::of_filter(&self.filter).into_iter().map(|list| one_of(list.into_iter())).collect()
    }

    /// Whether a context is admitted.
    pub fn admits(&self, pointer: &Pointer) -> bool {
        self.filter.matches(pointer)
            && (self.excluded_tools.is_empty()
                || json_text::decode_string(pointer.tool_name().as_bytes())
                    .is_none_or(|name| !self.excluded_tools.iter().any(|tool| *tool == name)))
    }
}
