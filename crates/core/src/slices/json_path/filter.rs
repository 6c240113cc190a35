//! Evaluates filters and functions (RFC 9535, sections 2.3.5 and 2.4).

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, Segment, SingularQuery,
    SingularQuerySegment, Test, TestFunction,
};
use regex::{Regex, RegexBuilder};

use super::{
    Value,
    evaluate::{Evaluation, Outcome, Stop},
    operand::{Number, Operand},
};

/// The largest compiled regular expression, in bytes.
const MAX_PATTERN: usize = 1 << 18;
/// The most regular expressions that are cached.
const MAX_PATTERNS: usize = 64;
/// The least cost of compiling one.
const COMPILING: usize = 1 << 16;

impl<'a> Evaluation<'a> {
    /// Whether a value meets a filter.
    pub fn passes<'q>(&mut self, value: Value, filter: &'q Filter) -> Outcome<bool>
    where
        'a: 'q,
    {
        match filter {
            Filter::Or(filters) => {
                for filter in filters {
                    if self.passes(value, filter)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Filter::And(filters) => {
                for filter in filters {
                    if !self.passes(value, filter)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Atom(FilterAtom::Filter { expr, not }) => Ok(self.passes(value, expr)? != *not),
            Filter::Atom(FilterAtom::Test { expr, not }) => Ok(self.holds(value, expr)? != *not),
            Filter::Atom(FilterAtom::Comparison(comparison)) => self.compare(value, comparison),
        }
    }

    fn holds(&mut self, value: Value, test: &Test) -> Outcome<bool> {
        match test {
            Test::RelQuery(segments) => self.exists(value, segments),
            Test::AbsQuery(query) => self.exists(self.root, &query.segments),
            Test::Function(function) => match function.as_ref() {
                TestFunction::Match(text, pattern) => self.matches(value, text, pattern, true),
                TestFunction::Search(text, pattern) => self.matches(value, text, pattern, false),
                _ => Ok(false),
            },
        }
    }

    fn exists(&mut self, from: Value, segments: &[Segment]) -> Outcome<bool> {
        match self.select(from, segments, &mut |_, _| Err(Stop::Enough)) {
            Ok(()) => Ok(false),
            Err(Stop::Enough) => Ok(true),
            Err(stop) => Err(stop),
        }
    }

    fn compare(&mut self, value: Value, comparison: &Comparison) -> Outcome<bool> {
        let (left, right) = comparison.vals();
        let (left, right) = (self.operand(value, left)?, self.operand(value, right)?);
        Ok(match comparison {
            Comparison::Eq(..) => left.equals(&right),
            Comparison::Ne(..) => !left.equals(&right),
            Comparison::Lt(..) => left.is_less(&right),
            Comparison::Gt(..) => right.is_less(&left),
            Comparison::Lte(..) => left.is_less(&right) || left.equals(&right),
            Comparison::Gte(..) => right.is_less(&left) || left.equals(&right),
        })
    }

    fn operand<'q>(&mut self, value: Value, side: &'q Comparable) -> Outcome<Operand<'q>>
    where
        'a: 'q,
    {
        match side {
            Comparable::Literal(literal) => Ok(Operand::of_literal(literal)),
            Comparable::Function(function) => self.value_of_function(value, function),
            Comparable::SingularQuery(query) => {
                let (mut at, segments) = match query {
                    SingularQuery::Current(segments) => (value, segments),
                    SingularQuery::Root(segments) => (self.root, segments),
                };
                for segment in segments {
                    let child = match segment {
                        SingularQuerySegment::Name(name) => self.member(at, name)?,
                        SingularQuerySegment::Index(index) => self.element(at, *index)?,
                    };
                    let Some(child) = child else { return Ok(Operand::Nothing) };
                    at = child;
                }
                self.operand_of(at)
            }
        }
    }

    /// Converts a value for comparison.
    fn operand_of(&mut self, value: Value) -> Outcome<Operand<'a>> {
        self.charge(value.end - value.start)?;
        Ok(Operand::of_value(self.text_of(value)))
    }

    fn value_of_function<'q>(
        &mut self,
        value: Value,
        function: &'q TestFunction,
    ) -> Outcome<Operand<'q>>
    where
        'a: 'q,
    {
        let whole =
            |count: usize| Operand::Number(Number::Whole(i64::try_from(count).unwrap_or(i64::MAX)));
        match function {
            TestFunction::Length(argument) => Ok(match self.argument(value, argument)? {
                Operand::Text(text) => whole(text.chars().count()),
                Operand::Container(text) => {
                    let container = super::root_of(text);
                    whole(super::children::Children::new(text, container).count())
                }
                _ => Operand::Nothing,
            }),
            TestFunction::Count(argument) => {
                let mut count = 0;
                self.nodes(value, argument, &mut |_| {
                    count += 1;
                    Ok(())
                })?;
                Ok(whole(count))
            }
            TestFunction::Value(argument) => {
                let mut nodes = Vec::new();
                let outcome = self.nodes(value, argument, &mut |node| {
                    nodes.push(node);
                    if nodes.len() > 1 { Err(Stop::Enough) } else { Ok(()) }
                });
                match (outcome, nodes.as_slice()) {
                    (Ok(()), [node]) => self.operand_of(*node),
                    (Ok(()) | Err(Stop::Enough), _) => Ok(Operand::Nothing),
                    (Err(stop), _) => Err(stop),
                }
            }
            // These functions return conditions, which cannot be compared.
            TestFunction::Match(..) | TestFunction::Search(..) | TestFunction::Custom(..) => {
                Ok(Operand::Nothing)
            }
        }
    }

    /// Calls `found` with the values that an argument selects.
    fn nodes(
        &mut self,
        value: Value,
        argument: &FnArg,
        found: &mut dyn FnMut(Value) -> Outcome,
    ) -> Outcome {
        let FnArg::Test(test) = argument else { return Ok(()) };
        match test.as_ref() {
            Test::RelQuery(segments) => self.select(value, segments, &mut |_, node| found(node)),
            Test::AbsQuery(query) => {
                self.select(self.root, &query.segments, &mut |_, node| found(node))
            }
            Test::Function(_) => Ok(()),
        }
    }

    /// Evaluates an argument that is a single value.
    fn argument<'q>(&mut self, value: Value, argument: &'q FnArg) -> Outcome<Operand<'q>>
    where
        'a: 'q,
    {
        match argument {
            FnArg::Literal(literal) => return Ok(Operand::of_literal(literal)),
            FnArg::Test(test) => {
                if let Test::Function(function) = test.as_ref() {
                    return self.value_of_function(value, function);
                }
            }
            FnArg::Filter(_) => return Ok(Operand::Nothing),
        }
        let mut node = None;
        self.nodes(value, argument, &mut |found| {
            node = Some(found);
            Ok(())
        })?;
        node.map_or(Ok(Operand::Nothing), |node| self.operand_of(node))
    }

    fn matches(
        &mut self,
        value: Value,
        text: &FnArg,
        pattern: &FnArg,
        is_whole: bool,
    ) -> Outcome<bool> {
        let (text, pattern) = (self.argument(value, text)?, self.argument(value, pattern)?);
        let (Operand::Text(text), Operand::Text(pattern)) = (text, pattern) else {
            return Ok(false);
        };
        let expression = expression(&pattern, is_whole);
        if !self.patterns.contains_key(&expression) {
            self.charge(COMPILING + expression.len())?;
            // Patterns may come from the data, so there may be any number.
            if self.patterns.len() >= MAX_PATTERNS {
                self.patterns.clear();
            }
            let compiled = RegexBuilder::new(&expression).size_limit(MAX_PATTERN).build().ok();
            self.patterns.insert(expression.clone(), compiled);
        }
        // In the worst case, time is proportional to the product of both lengths.
        self.charge(text.len().saturating_mul(1 + expression.len() / 64))?;
        let found = self.patterns.get(&expression).and_then(Option::as_ref);
        Ok(found.is_some_and(|regex: &Regex| regex.is_match(&text)))
    }
}

/// Converts an I-Regexp (RFC 9485) to the syntax of the `regex` crate. The dot of an I-Regexp does not
/// match a carriage return.
fn expression(pattern: &str, is_whole: bool) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut characters = pattern.chars();
    let mut is_in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                out.push(character);
                out.extend(characters.next());
                continue;
            }
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '.' if !is_in_class => {
                out.push_str(r"[^\n\r]");
                continue;
            }
            _ => {}
        }
        out.push(character);
    }
    if is_whole { format!(r"\A(?:{out})\z") } else { out }
}
