//! Rejects queries that the parser of `jsonpath-rust` accepts and RFC 9535 does not: functions on
//! wrong types (section 2.4.3) and that crate's own functions. Also rejects queries whose
//! evaluation would recurse too deep.

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, Segment, Selector, Test, TestFunction,
};

/// The most segments that can select several values, which is the depth of the recursion in
/// evaluation.
const MAX_BRANCHING: usize = 100;

type Checked = Result<(), String>;

/// Checks a query.
pub(super) fn check(segments: &[Segment]) -> Checked {
    let mut branching = 0;
    check_segments(segments, &mut branching)
}

fn check_segments(segments: &[Segment], branching: &mut usize) -> Checked {
    for segment in segments {
        if !is_singular(segment) {
            *branching += 1;
            if *branching > MAX_BRANCHING {
                return Err(format!("more than {MAX_BRANCHING} of its segments branch"));
            }
        }
        for selector in selectors(segment) {
            if let Selector::Filter(filter) = selector {
                check_filter(filter, branching)?;
            }
        }
    }
    Ok(())
}

/// The selectors of a segment.
fn selectors(segment: &Segment) -> &[Selector] {
    match segment {
        Segment::Descendant(inner) => selectors(inner),
        Segment::Selector(selector) => std::slice::from_ref(selector),
        Segment::Selectors(selectors) => selectors,
    }
}

/// Whether a segment selects at most one value.
pub(super) const fn is_singular(segment: &Segment) -> bool {
    matches!(segment, Segment::Selector(Selector::Name(_) | Selector::Index(_)))
}

fn check_filter(filter: &Filter, branching: &mut usize) -> Checked {
    match filter {
        Filter::Or(filters) | Filter::And(filters) => {
            filters.iter().try_for_each(|filter| check_filter(filter, branching))
        }
        Filter::Atom(FilterAtom::Filter { expr, .. }) => check_filter(expr, branching),
        Filter::Atom(FilterAtom::Test { expr, .. }) => match expr.as_ref() {
            Test::RelQuery(segments) => check_segments(segments, branching),
            Test::AbsQuery(query) => check_segments(&query.segments, branching),
            Test::Function(function) => match function.as_ref() {
                TestFunction::Match(..) | TestFunction::Search(..) => {
                    check_function(function, branching)
                }
                TestFunction::Custom(name, _) => Err(unknown(name)),
                TestFunction::Length(_) => Err(uncompared("length")),
                TestFunction::Count(_) => Err(uncompared("count")),
                TestFunction::Value(_) => Err(uncompared("value")),
            },
        },
        Filter::Atom(FilterAtom::Comparison(comparison)) => check_comparison(comparison, branching),
    }
}

fn check_comparison(comparison: &Comparison, branching: &mut usize) -> Checked {
    let (left, right) = comparison.vals();
    [left, right].into_iter().try_for_each(|side| match side {
        Comparable::Function(function) => check_function(function, branching),
        Comparable::Literal(_) | Comparable::SingularQuery(_) => Ok(()),
    })
}

fn check_function(function: &TestFunction, branching: &mut usize) -> Checked {
    match function {
        TestFunction::Length(argument) => check_value(argument, "length", branching),
        TestFunction::Match(text, pattern) => {
            check_value(text, "match", branching)?;
            check_value(pattern, "match", branching)
        }
        TestFunction::Search(text, pattern) => {
            check_value(text, "search", branching)?;
            check_value(pattern, "search", branching)
        }
        TestFunction::Count(argument) => check_nodes(argument, "count", branching),
        TestFunction::Value(argument) => check_nodes(argument, "value", branching),
        TestFunction::Custom(name, _) => Err(unknown(name)),
    }
}

/// Checks an argument that has to be a single value.
fn check_value(argument: &FnArg, function: &str, branching: &mut usize) -> Checked {
    let segments = match argument {
        FnArg::Literal(_) => return Ok(()),
        FnArg::Test(test) => match test.as_ref() {
            Test::RelQuery(segments) => segments,
            Test::AbsQuery(query) => &query.segments,
            Test::Function(inner) if inner.is_comparable() => {
                return check_function(inner, branching);
            }
            Test::Function(_) => return Err(format!("{function} takes no condition")),
        },
        FnArg::Filter(_) => return Err(format!("{function} takes no condition")),
    };
    if segments.iter().all(is_singular) {
        Ok(())
    } else {
        Err(format!("{function} takes a query for one value"))
    }
}

/// Checks an argument that has to be a query.
fn check_nodes(argument: &FnArg, function: &str, branching: &mut usize) -> Checked {
    if let FnArg::Test(test) = argument {
        match test.as_ref() {
            Test::RelQuery(segments) => return check_segments(segments, branching),
            Test::AbsQuery(query) => return check_segments(&query.segments, branching),
            Test::Function(_) => {}
        }
    }
    Err(format!("{function} takes a query"))
}

fn uncompared(name: &str) -> String {
    format!("{name} gives a value, which has to be compared")
}

fn unknown(name: &str) -> String {
    format!("{name} is no function of RFC 9535")
}
