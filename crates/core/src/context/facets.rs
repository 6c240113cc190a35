//! The [facets](crate::facet) of a context: query, task, tool, call and session.

use super::{filter::ContextFilter, pointer::Pointer};
use crate::facet::facet;

/// What a facet is about.
#[derive(Clone, Copy)]
enum Kind {
    Query,
    Task,
    Tool,
    Call,
    Session,
}

impl Kind {
    /// The term for a value.
    fn term(self, value: &str) -> String {
        let kind = match self {
            Self::Query => 'q',
            Self::Task => 'k',
            Self::Tool => 't',
            Self::Call => 'c',
            Self::Session => 's',
        };
        facet(kind, value)
    }

    /// The term for a JSON token: other programs may escape more characters, and numbers are no strings.
    fn term_of_token(self, token: &str) -> String {
        match json_text::decode_string(token.as_bytes()) {
            Some(text) => self.term(&format!("\"{text}")),
            None => self.term(token),
        }
    }
}

/// The terms of a context.
pub(super) fn of_pointer(pointer: &Pointer) -> Vec<String> {
    let tool = json_text::decode_string(pointer.tool_name().as_bytes()).unwrap_or_default();
    let call = pointer.call.as_ref().and_then(|call| call.id.as_deref());
    let tokens = [
        (Kind::Query, pointer.query.as_deref()),
        (Kind::Task, pointer.task.as_deref()),
        (Kind::Call, call),
        (Kind::Session, pointer.session.as_deref()),
    ];
    let terms = tokens.into_iter().filter_map(|(kind, token)| Some(kind.term_of_token(token?)));
    terms.chain([Kind::Tool.term(&tool)]).collect()
}

/// The terms of a filter: a context that it admits has one of each list.
pub(super) fn of_filter(filter: &ContextFilter) -> Vec<Vec<String>> {
    let tokens = [
        (Kind::Query, &filter.queries),
        (Kind::Task, &filter.tasks),
        (Kind::Call, &filter.calls),
        (Kind::Session, &filter.sessions),
    ];
    let mut lists: Vec<Vec<String>> = tokens
        .into_iter()
        .filter_map(|(kind, tokens)| {
            let tokens = tokens.as_ref()?.iter();
            Some(tokens.map(|token| kind.term_of_token(token)).collect())
        })
        .collect();
    if let Some(tools) = &filter.tools {
        lists.push(tools.iter().map(|tool| Kind::Tool.term(tool)).collect());
    }
    lists
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{context::pointer::PointerParts, facet::is_facet};

    #[test]
    fn a_context_has_the_terms_of_the_filters_that_admit_it() {
        let parts = PointerParts {
            filename: "grep_1.json",
            tool_name: "\"gr\\u0065p\"",
            tool_description: "\"x\"",
            arguments: "{}",
            source_urls: "",
        };
        let mut pointer = Pointer::new(&parts, 1000, 1);
        pointer.task = Some(Arc::from("5"));
        pointer.session = Some(Arc::from("\"a\\u0062\""));
        let terms = of_pointer(&pointer);
        let list = |values: &[&str]| Some(values.iter().map(|value| (*value).to_owned()).collect());
        let admits = |filter: &ContextFilter| {
            let lists = of_filter(filter);
            let by_terms = lists.iter().all(|list| list.iter().any(|term| terms.contains(term)));
            assert_eq!(by_terms, filter.matches(&pointer), "{filter:?}");
            by_terms
        };
        let none = ContextFilter::default;
        assert!(admits(&none()));
        assert!(admits(&ContextFilter { tools: list(&["ls", "grep"]), ..none() }));
        assert!(!admits(&ContextFilter { tools: list(&["ls"]), ..none() }));
        assert!(!admits(&ContextFilter { tools: list(&[]), ..none() }));
        assert!(admits(&ContextFilter { sessions: list(&["\"ab\""]), ..none() }));
        assert!(admits(&ContextFilter { tasks: list(&["5"]), ..none() }));
        assert!(!admits(&ContextFilter { tasks: list(&["\"5\""]), ..none() }));
        assert!(!admits(&ContextFilter { queries: list(&["\"5\""]), ..none() }));
        let both = ContextFilter { tasks: list(&["5"]), calls: list(&["\"1\""]), ..none() };
        assert!(!admits(&both));
        assert!(terms.iter().all(|term| is_facet(term)) && !is_facet("grep"));
    }
}
