//! Evaluates a query: applies its segments and selectors to a JSON text, and stops when it takes
//! too much work, finds too many values, or is cancelled.

use jsonpath_rust::parser::model::{Segment, Selector};
use rustc_hash::FxHashMap;
use tasks::Cancelled;

use super::{
    Value,
    check::is_singular,
    children::{Child, Children, Step},
    root_of,
};

/// The least cost of examining a value.
const LOOK: usize = 32;
/// The work between two checks for cancellation.
const BETWEEN_QUESTIONS: usize = 1 << 20;

/// Why an evaluation ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The consumer needs no more values.
    Enough,
    /// The limit of work was reached.
    TooMuch,
    /// The limit of values was reached.
    TooMany,
    /// The caller cancelled the operation.
    Cancelled,
}

/// The result of a step of the evaluation.
pub(super) type Outcome<T = ()> = Result<T, Stop>;

/// The consumer of the values that were found.
pub(super) type Found<'f, 'a> = dyn FnMut(&mut Evaluation<'a>, Value) -> Outcome + 'f;

/// The evaluation of a query on a text.
pub(super) struct Evaluation<'a> {
    pub text: &'a [u8],
    pub root: Value,
    /// The compiled regular expressions of filters; `None` for invalid ones.
    pub patterns: FxHashMap<String, Option<regex::Regex>>,
    cancelled: &'a Cancelled,
    work: usize,
    max_work: usize,
    next_question: usize,
}

impl<'a> Evaluation<'a> {
    /// `max_work` is the number of bytes that may be examined, including repeated ones.
    pub fn new(text: &'a [u8], max_work: usize, cancelled: &'a Cancelled) -> Self {
        Self {
            text,
            root: root_of(text),
            patterns: FxHashMap::default(),
            cancelled,
            work: 0,
            max_work,
            next_question: 0,
        }
    }

    /// Counts examined text.
    pub fn charge(&mut self, bytes: usize) -> Outcome {
        self.work += bytes + LOOK;
        if self.work < self.next_question {
            return Ok(());
        }
        self.next_question = self.work + BETWEEN_QUESTIONS;
        if self.cancelled.is_set() {
            return Err(Stop::Cancelled);
        }
        if self.work > self.max_work { Err(Stop::TooMuch) } else { Ok(()) }
    }

    /// The text of a value.
    pub fn text_of(&self, value: Value) -> &'a [u8] {
        self.text.get(value.range()).unwrap_or_default()
    }

    pub fn children(&self, value: Value) -> Children<'a> {
        Children::new(self.text, value)
    }

    pub fn next_child(&mut self, children: &mut Children<'a>) -> Outcome<Option<Child<'a>>> {
        let before = children.at;
        let child = children.next();
        self.charge(children.at - before)?;
        Ok(child)
    }

    /// Calls `found` with all values that the segments select from a value, in order.
    pub fn select(
        &mut self,
        from: Value,
        segments: &[Segment],
        found: &mut Found<'_, 'a>,
    ) -> Outcome {
        let mut value = from;
        let mut rest = segments;
        // Recursion is needed only for segments that select several values.
        while let Some((segment, later)) = rest.split_first() {
            if !is_singular(segment) {
                return self
                    .branch(value, segment, &mut |this, child| this.select(child, later, found));
            }
            let Segment::Selector(selector) = segment else { break };
            let Some(child) = self.child(value, selector)? else { return Ok(()) };
            (value, rest) = (child, later);
        }
        found(self, value)
    }

    fn branch(&mut self, value: Value, segment: &Segment, found: &mut Found<'_, 'a>) -> Outcome {
        match segment {
            Segment::Selector(selector) => self.apply(value, selector, found),
            Segment::Selectors(selectors) => {
                selectors.iter().try_for_each(|selector| self.apply(value, selector, found))
            }
            Segment::Descendant(inner) => self.descend(value, inner, found),
        }
    }

    /// Applies a segment to a value and to all its descendants, parents before children.
    fn descend(&mut self, value: Value, segment: &Segment, found: &mut Found<'_, 'a>) -> Outcome {
        self.branch(value, segment, found)?;
        let mut open = vec![self.children(value)];
        while let Some(innermost) = open.last_mut() {
            match self.next_child(innermost)? {
                None => {
                    open.pop();
                }
                Some(Child { value, .. }) => {
                    if matches!(self.text.get(value.start), Some(b'{' | b'[')) {
                        self.branch(value, segment, found)?;
                        open.push(self.children(value));
                    }
                }
            }
        }
        Ok(())
    }

    /// The child that a name or an index selects.
    pub fn child(&mut self, value: Value, selector: &Selector) -> Outcome<Option<Value>> {
        match selector {
            Selector::Name(name) => self.member(value, name),
            Selector::Index(index) => self.element(value, *index),
            Selector::Wildcard | Selector::Slice(..) | Selector::Filter(_) => Ok(None),
        }
    }

    /// A member; of several with the same name the last, as in `JSON.parse`.
    pub fn member(&mut self, value: Value, name: &str) -> Outcome<Option<Value>> {
        let mut member = None;
        let mut children = self.children(value);
        while let Some(child) = self.next_child(&mut children)? {
            if child.step.is_named(name) {
                member = Some(child.value);
            }
        }
        Ok(member)
    }

    /// An element; negative indices count from the end.
    pub fn element(&mut self, value: Value, index: i64) -> Outcome<Option<Value>> {
        if self.text.get(value.start) != Some(&b'[') {
            return Ok(None);
        }
        let index = match usize::try_from(index) {
            Ok(index) => index,
            Err(_) => {
                let length = self.elements(value)?.len();
                let Some(index) = usize::try_from(index.unsigned_abs())
                    .ok()
                    .and_then(|back| length.checked_sub(back))
                else {
                    return Ok(None);
                };
                index
            }
        };
        let mut children = self.children(value);
        while let Some(child) = self.next_child(&mut children)? {
            if child.step == Step::Index(index) {
                return Ok(Some(child.value));
            }
        }
        Ok(None)
    }

    /// The elements of an array; none for other values.
    fn elements(&mut self, value: Value) -> Outcome<Vec<Value>> {
        let mut elements = Vec::new();
        if self.text.get(value.start) == Some(&b'[') {
            let mut children = self.children(value);
            while let Some(child) = self.next_child(&mut children)? {
                elements.push(child.value);
            }
        }
        Ok(elements)
    }

    fn apply(&mut self, value: Value, selector: &Selector, found: &mut Found<'_, 'a>) -> Outcome {
        match selector {
            Selector::Name(_) | Selector::Index(_) => match self.child(value, selector)? {
                Some(child) => found(self, child),
                None => Ok(()),
            },
            Selector::Wildcard => {
                let mut children = self.children(value);
                while let Some(child) = self.next_child(&mut children)? {
                    found(self, child.value)?;
                }
                Ok(())
            }
            Selector::Slice(start, end, step) => {
                let elements = self.elements(value)?;
                slice(elements.len(), *start, *end, step.unwrap_or(1)).try_for_each(|index| {
                    self.charge(0)?;
                    elements.get(index).map_or(Ok(()), |&element| found(self, element))
                })
            }
            Selector::Filter(filter) => {
                let mut children = self.children(value);
                while let Some(child) = self.next_child(&mut children)? {
                    if self.passes(child.value, filter)? {
                        found(self, child.value)?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// The indices of a slice (RFC 9535, section 2.3.4.2.2).
fn slice(
    length: usize,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> impl Iterator<Item = usize> {
    let length = i128::try_from(length).unwrap_or_default();
    let step = i128::from(step);
    let from_end = |index: i64| if index < 0 { length + i128::from(index) } else { index.into() };
    let (mut at, end) = if step >= 0 {
        let bounded = |index: i128| index.clamp(0, length);
        (bounded(start.map_or(0, from_end)), bounded(end.map_or(length, from_end)))
    } else {
        let bounded = |index: i128| index.clamp(-1, length - 1);
        (bounded(start.map_or(length - 1, from_end)), bounded(end.map_or(-1, from_end)))
    };
    std::iter::from_fn(move || {
        let is_within = if step > 0 { at < end } else { step < 0 && at > end };
        let index = is_within.then_some(at)?;
        at += step;
        usize::try_from(index).ok()
    })
}
