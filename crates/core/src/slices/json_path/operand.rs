//! Compares values (RFC 9535, section 2.3.5.2.2).

use std::{borrow::Cow, cmp::Ordering, ops::ControlFlow};

use json_text::Token;
use jsonpath_rust::parser::model::Literal;

use super::children::decode;

/// One side of a comparison.
#[derive(Debug)]
pub(super) enum Operand<'a> {
    /// No value.
    Nothing,
    Null,
    Boolean(bool),
    Number(Number),
    Text(Cow<'a, str>),
    /// The text of an array or an object.
    Container(&'a [u8]),
}

/// A number; integers are exact.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn parse(token: &[u8]) -> Self {
        let text = str::from_utf8(token).unwrap_or_default();
        text.parse().map_or_else(|_| Self::Real(text.parse().unwrap_or_default()), Self::Whole)
    }

    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(&right)),
            (left, right) => left.real().partial_cmp(&right.real()),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a number that is not whole is as exact")]
    const fn real(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

impl<'a> Operand<'a> {
    /// From a value.
    pub fn of_value(text: &'a [u8]) -> Self {
        match text.first() {
            None => Self::Nothing,
            Some(b'"') => Self::Text(decode(text)),
            Some(b'{' | b'[') => Self::Container(text),
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'n') => Self::Null,
            Some(_) => Self::Number(Number::parse(text)),
        }
    }

    /// From a literal.
    pub fn of_literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Int(number) => Self::Number(Number::Whole(*number)),
            Literal::Float(number) => Self::Number(Number::Real(*number)),
            Literal::String(text) => Self::Text(Cow::Borrowed(text)),
            Literal::Bool(boolean) => Self::Boolean(*boolean),
            Literal::Null => Self::Null,
        }
    }

    /// Whether both are equal values, or both are nothing.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) | (Self::Null, Self::Null) => true,
            (Self::Boolean(left), Self::Boolean(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => {
                left.compare(*right) == Some(Ordering::Equal)
            }
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Container(left), Self::Container(right)) => equal(left, right),
            _ => false,
        }
    }

    /// Whether both are numbers or both are strings, and this one is less.
    pub fn is_less(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => {
                left.compare(*right) == Some(Ordering::Less)
            }
            (Self::Text(left), Self::Text(right)) => left < right,
            _ => false,
        }
    }
}

/// Whether two containers are equal, ignoring the order of members. Compares the tokens of their
/// canonical texts, so it neither recurses nor builds trees.
fn equal(left: &[u8], right: &[u8]) -> bool {
    let canonical = |text| {
        let mut out = Vec::new();
        json_text::canonical(text, &mut out).map(|()| out)
    };
    let (Ok(left), Ok(right)) = (canonical(left), canonical(right)) else { return false };
    let mut tokens = Vec::new();
    let collected = json_text::walk_value(&left, 0, |token| {
        tokens.push(token);
        ControlFlow::Continue(())
    });
    let mut tokens = tokens.into_iter();
    let mut is_equal = collected.is_ok();
    let walked = json_text::walk_value(&right, 0, |token| {
        is_equal &= tokens.next().is_some_and(|other| same(other, token));
        if is_equal { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    is_equal && walked.is_ok() && tokens.next().is_none()
}

fn same(left: Token<'_>, right: Token<'_>) -> bool {
    match (left, right) {
        (Token::Key(left), Token::Key(right)) | (Token::String(left), Token::String(right)) => {
            left == right || json_text::decode_utf16(left) == json_text::decode_utf16(right)
        }
        (Token::Number(left), Token::Number(right)) => {
            Number::parse(left).compare(Number::parse(right)) == Some(Ordering::Equal)
        }
        (left, right) => left == right,
    }
}
