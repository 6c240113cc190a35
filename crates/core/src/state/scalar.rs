//! The values of JSON members in comparable form, for filters and the member index.

use std::cmp::Ordering;

use json_text::Members;
use sha2::{Digest, Sha256};

use super::name::wtf8;

/// The bytes of a string that the index has; longer strings are compared in full against the values.
const INDEXED_BYTES: usize = 128;
/// The first byte of an index key: the type.
const NULL: u8 = 0;
const BOOLEAN: u8 = 1;
const NUMBER: u8 = 2;
const STRING: u8 = 3;
const CONTAINER: u8 = 4;

/// A comparable JSON value. Values are ordered within their type: numbers like JavaScript's, strings by code points.
/// Containers are only compared for equality.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Boolean(bool),
    Number(f64),
    /// As WTF-8.
    String(Vec<u8>),
    /// Canonical JSON.
    Container(Vec<u8>),
}

impl Scalar {
    /// Converts a token of well-formed JSON.
    pub fn of_token(token: &[u8]) -> Self {
        match token.first() {
            Some(b'"') => Self::String(wtf8(&json_text::decode_utf16(token))),
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'{' | b'[') => {
                let mut canonical = Vec::new();
                // Stored values are well-formed, so this cannot fail.
                let _ = json_text::canonical(token, &mut canonical);
                Self::Container(canonical)
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = std::str::from_utf8(token).ok().and_then(|text| text.parse().ok());
                Self::Number(number.unwrap_or(f64::NAN))
            }
            _ => Self::Null,
        }
    }

    /// Compares two values of one type; `None` if they have no order.
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.partial_cmp(other),
            (Self::String(one), Self::String(other)) => Some(one.cmp(other)),
            (Self::Boolean(one), Self::Boolean(other)) => Some(one.cmp(other)),
            _ => None,
        }
    }

    /// The index key: for values of one type, bytes sort like the values, apart from truncated strings.
    pub fn indexed(&self) -> Vec<u8> {
        match self {
            Self::Null => vec![NULL],
            Self::Boolean(value) => vec![BOOLEAN, u8::from(*value)],
            Self::Number(number) => {
                // Normalises -0 to 0, which is equal.
                let bits = (number + 0.0).to_bits();
                let sortable = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                let mut form = vec![NUMBER];
                form.extend_from_slice(&sortable.to_be_bytes());
                form
            }
            Self::String(bytes) => {
                let mut form = vec![STRING];
                form.extend_from_slice(bytes.get(..INDEXED_BYTES).unwrap_or(bytes));
                form
            }
            Self::Container(canonical) => {
                let mut form = vec![CONTAINER];
                form.extend_from_slice(&Sha256::digest(canonical));
                form
            }
        }
    }
}

/// The token of the member at a path of keys; `None` if there is none.
pub(super) fn member<'a>(json: &'a [u8], path: &[String]) -> Option<&'a [u8]> {
    let mut token = json;
    for key in path {
        let mut members = Members::new(token, 0).ok()?;
        let mut found = None;
        while let Some(name) = members.next_key().ok()? {
            let range = members.skip_value().ok()?;
            // Of equal keys the last counts, as in `JSON.parse`.
            if is_key(name, key) {
                found = Some(range);
            }
        }
        token = token.get(found?)?;
    }
    Some(token)
}

/// Whether a key token is the string `key`.
fn is_key(token: &[u8], key: &str) -> bool {
    let content = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if content.contains(&b'\\') {
        json_text::decode_utf16(token).into_iter().eq(key.encode_utf16())
    } else {
        content == key.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scalar(token: &str) -> Scalar {
        Scalar::of_token(token.as_bytes())
    }

    #[test]
    fn members_are_found_by_their_path() {
        let path = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect::<Vec<_>>();
        let json = br#"{"a":{"b":[1,2],"c":null},"\u0064":7,"a.b":true,"e":1,"e":2}"#;
        let token = |keys: &[&str]| {
            member(json, &path(keys)).map(|token| String::from_utf8_lossy(token).into_owned())
        };
        assert_eq!(token(&["a", "b"]).as_deref(), Some("[1,2]"));
        assert_eq!(token(&["a", "c"]).as_deref(), Some("null"));
        assert_eq!(token(&["d"]).as_deref(), Some("7"));
        assert_eq!(token(&["a.b"]).as_deref(), Some("true"));
        assert_eq!(token(&["e"]).as_deref(), Some("2"));
        assert_eq!(token(&["a", "x"]), None);
        assert_eq!(token(&["d", "x"]), None);
        assert_eq!(member(b"[1]", &path(&["0"])), None);
    }

    #[test]
    fn equal_values_have_equal_forms() {
        for (one, other) in [
            ("1", "1.0"),
            ("0", "-0"),
            ("1e3", "1000"),
            ("\"a\"", "\"\\u0061\""),
            ("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"),
        ] {
            assert_eq!(scalar(one), scalar(other));
            assert_eq!(scalar(one).indexed(), scalar(other).indexed());
        }
        for (one, other) in [("1", "\"1\""), ("null", "false"), ("[]", "{}"), ("0", "false")] {
            assert_ne!(scalar(one), scalar(other));
            assert_eq!(scalar(one).order(&scalar(other)), None);
        }
    }

    proptest! {
        #[test]
        fn forms_sort_as_numbers_do(one in any::<f64>(), other in any::<f64>()) {
            prop_assume!(!one.is_nan() && !other.is_nan());
            let (one, other) = (Scalar::Number(one), Scalar::Number(other));
            prop_assert_eq!(Some(one.indexed().cmp(&other.indexed())), one.order(&other));
        }

        #[test]
        fn forms_sort_as_strings_do(one in "[ab\u{0}é]{0,140}", other in "[ab\u{0}é]{0,140}") {
            let (one, other) = (Scalar::String(one.into_bytes()), Scalar::String(other.into_bytes()));
            let forms = one.indexed().cmp(&other.indexed());
            prop_assert!(forms == Ordering::Equal || Some(forms) == one.order(&other));
        }
    }
}
