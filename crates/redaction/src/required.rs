//! Punctuation characters that every match of an expression contains. If such a character is missing in a text, no search is needed.

use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind},
};

/// Punctuation characters that occur in few texts, the rarest first.
const RARE: &[u8] = b"@!^~`|$%#&*";

/// The rarest character that every match of an expression contains. `None` if there is none, or the expression is invalid.
pub(super) fn rare_sign(expression: &str) -> Option<u8> {
    let syntax = ParserBuilder::new().unicode(false).utf8(false).build().parse(expression).ok()?;
    let required = signs(&syntax);
    RARE.iter().enumerate().find(|(number, _)| required >> number & 1 == 1).map(|(_, sign)| *sign)
}

/// The rare characters that every match contains, one bit each.
fn signs(syntax: &Hir) -> u16 {
    let bit_of =
        |sign: u8| RARE.iter().position(|rare| *rare == sign).map_or(0, |number| 1 << number);
    match syntax.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.iter().fold(0, |signs, byte| signs | bit_of(*byte)),
        HirKind::Class(Class::Bytes(class)) => match class.ranges() {
            [range] if range.start() == range.end() => bit_of(range.start()),
            _ => 0,
        },
        HirKind::Class(Class::Unicode(_)) => 0,
        HirKind::Repetition(repetition) if repetition.min == 0 => 0,
        HirKind::Repetition(repetition) => signs(&repetition.sub),
        HirKind::Capture(capture) => signs(&capture.sub),
        HirKind::Concat(parts) => parts.iter().fold(0, |all, part| all | signs(part)),
        HirKind::Alternation(parts) => parts.iter().fold(u16::MAX, |all, part| all & signs(part)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::{Method, PatternRule, RULES};

    #[test]
    fn the_rarest_sign_of_every_match_is_told() {
        for (expression, sign) in [
            ("a@b", Some(b'@')),
            ("a[@]{1,2}!", Some(b'@')),
            ("(?:a!|b!@)", Some(b'!')),
            ("(?:a@|b)", None),
            ("a@?b", None),
            ("[@!]", None),
            ("(?P<secret>a(?:#x)+)", Some(b'#')),
            ("(?i)@", Some(b'@')),
            ("^a$", None),
            ("(", None),
        ] {
            assert_eq!(rare_sign(expression), sign, "{expression}");
        }
    }

    proptest! {
        #[test]
        fn every_match_of_a_rule_holds_its_sign(
            number in 0..RULES.len(),
            words in prop::collection::vec("[ -~]{1,3}|[0-9A-Za-z]{8,40}", 0..6),
            seed in any::<prop::sample::Index>(),
        ) {
            let rule = &RULES[number];
            let Method::Pattern(PatternRule { pattern, .. }) = rule.method else { return Ok(()) };
            let Some(sign) = rare_sign(pattern) else { return Ok(()) };
            let anchor = rule.anchors[seed.index(rule.anchors.len())];
            let text = format!("{anchor}{}", words.concat());
            let expression = regex::bytes::Regex::new(&format!("(?-u:{pattern})")).unwrap();
            for found in expression.find_iter(text.as_bytes()) {
                prop_assert!(found.as_bytes().contains(&sign), "{text}");
            }
        }
    }
}
