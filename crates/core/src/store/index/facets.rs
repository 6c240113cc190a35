//! The [facets](crate::facet) of an entry: agent, type, tags and sessions.

use storage::TermCondition;

use super::{Filter, row::session_directory};
use crate::{
    facet::{facet, one_of},
    store::Summary,
};

const AGENT: char = 'a';
const TYPE: char = 'y';
const TAG: char = 't';
const SESSION: char = 's';

/// The terms of an entry.
pub(super) fn of_entry(summary: &Summary) -> Vec<String> {
    let sessions = [summary.session_id.as_deref(), session_directory(&summary.path)];
    let tags = summary.tags.iter().map(|tag| facet(TAG, tag));
    let mut terms: Vec<String> =
        [facet(AGENT, &summary.agent), facet(TYPE, summary.entry_type.as_str())]
            .into_iter()
            .chain(tags)
            .chain(sessions.into_iter().flatten().map(|session| facet(SESSION, session)))
            .collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// What the terms of every entry meet that the filter admits.
pub(super) fn of_filter(filter: &Filter) -> Vec<TermCondition> {
    let one_of_names = |kind, names: &[String]| one_of(names.iter().map(|name| facet(kind, name)));
    let mut all: Vec<TermCondition> =
        filter.tags_all.iter().map(|tag| TermCondition::Term(facet(TAG, tag))).collect();
    all.extend(filter.agents.as_deref().map(|agents| one_of_names(AGENT, agents)));
    all.extend(filter.sessions.as_deref().map(|sessions| one_of_names(SESSION, sessions)));
    all.extend(
        filter
            .types
            .as_deref()
            .map(|types| one_of(types.iter().map(|entry_type| facet(TYPE, entry_type.as_str())))),
    );
    let tags = Some(&*filter.tags_any).filter(|tags| !tags.is_empty());
    all.extend(tags.map(|tags| one_of_names(TAG, tags)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EntryType;

    fn meets(terms: &[String], condition: &TermCondition) -> bool {
        match condition {
            TermCondition::Term(text) => terms.contains(text),
            TermCondition::Beginning(text) => terms.iter().any(|term| term.starts_with(text)),
            TermCondition::All(all) => all.iter().all(|one| meets(terms, one)),
            TermCondition::Any(any) => any.iter().any(|one| meets(terms, one)),
        }
    }

    #[test]
    fn an_entry_has_the_terms_of_the_filters_that_admit_it() {
        let summary = Summary {
            path: "scout/run-1/2026-e.md".to_owned(),
            agent: "scout".to_owned(),
            session_id: Some("run-2".to_owned()),
            timestamp: String::new(),
            entry_type: EntryType::Finding,
            tags: vec!["auth".to_owned(), "login".to_owned()],
            links: Vec::new(),
            superseded_by: None,
        };
        let terms = of_entry(&summary);
        let admits = |filter: Filter| of_filter(&filter).iter().all(|one| meets(&terms, one));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let some = |list: &[&str]| Some(names(list));
        let none = Filter::default;
        assert!(admits(none()));
        assert!(admits(Filter { agents: some(&["other", "scout"]), ..none() }));
        assert!(!admits(Filter { agents: some(&["auth"]), ..none() }));
        assert!(!admits(Filter { agents: some(&[]), ..none() }));
        for session in ["run-1", "run-2"] {
            assert!(admits(Filter { sessions: some(&[session]), ..none() }), "{session}");
        }
        assert!(!admits(Filter { sessions: some(&["2026-e.md"]), ..none() }));
        assert!(admits(Filter { types: Some(vec![EntryType::Finding]), ..none() }));
        assert!(!admits(Filter { types: Some(vec![EntryType::Decision]), ..none() }));
        assert!(admits(Filter { tags_all: names(&["login", "auth"]), ..none() }));
        assert!(!admits(Filter { tags_all: names(&["login", "other"]), ..none() }));
        assert!(admits(Filter { tags_any: names(&["other", "auth"]), ..none() }));
        assert!(!admits(Filter { tags_any: names(&["other"]), ..none() }));
    }
}
