use std::ops::Range;

use proptest::prelude::*;

use super::*;

fn found<'t>(source: &str, flags: &str, text: &'t str) -> Vec<&'t str> {
    let mut hits = Vec::new();
    LinearRegex::new(source, flags).unwrap().find(text, &mut hits).unwrap();
    hits.into_iter().map(|hit| &text[hit]).collect()
}

fn refused(source: &str, flags: &str) -> String {
    LinearRegex::new(source, flags).unwrap_err().to_string()
}

#[test]
fn finds_what_javascript_finds() {
    // The expression, its flags, a text, what `matchAll` gives.
    let cases: [(&str, &str, &str, &[&str]); 27] = [
        ("a.*z|a", "", "aaz\naa", &["aaz", "a", "a"]),
        ("a.*?z|a", "", "aazz a", &["aaz", "a"]),
        ("ab|abc", "", "abc", &["ab"]),
        ("(?:ab|abc)$", "", "abc", &["abc"]),
        ("(a+)+$", "", "aaab aa", &["aa"]),
        ("a{2,3}", "", "aaaaa a", &["aaa", "aa"]),
        ("a{2,3}?", "", "aaaaa", &["aa", "aa"]),
        ("a{2}", "", "aaaaa", &["aa", "aa"]),
        ("(?:a?){3}b", "", "aaaab", &["aaab"]),
        ("(?:|a)+b", "", "aab", &["aab"]),
        ("(?:a|b??)*c", "", "abbac", &["abbac"]),
        (r"\bkey-\w+\b", "", "key-1 monkey-2 key-é key-3é", &["key-1", "key-3"]),
        (r"\Bb", "", "b ab", &["b"]),
        ("^a|b$", "", "a\na b\nb", &["a", "b"]),
        ("^a|b$", "m", "a\na b\nb", &["a", "a", "b", "b"]),
        ("^a$", "m", "a\ra\u{2028}a\u{2029}a\u{85}", &["a", "a", "a"]),
        ("a.b", "", "a\nb a\u{85}b aéb a😀b", &["a\u{85}b", "aéb", "a😀b"]),
        ("a.b", "s", "a\nb", &["a\nb"]),
        ("straße", "i", "STRAßE", &["STRAßE"]),
        ("é+", "giy", "eÉéx", &["Éé"]),
        (r"[^\W\d]+", "d", "1a_b2é", &["a_b"]),
        ("[]|b", "", "ab", &["b"]),
        ("[^]b", "", "\nb", &["\nb"]),
        (r"\p{Lu}{2}", "u", "aÄÖb", &["ÄÖ"]),
        (r"\u{1F600}+", "u", "x😀😀", &["😀😀"]),
        ("(?:é[ab])?b", "", "ébb", &["ébb"]),
        ("a[^]*?c|b", "", "abbac b a", &["abbac", "b"]),
    ];
    for (source, flags, text, expected) in cases {
        assert_eq!(found(source, flags, text), expected, "/{source}/{flags} in {text:?}");
    }
}

#[test]
fn size_changes_nothing() {
    for length in [62, 63, 64, 65, 127, 128, 129, 255, 256, 257, 510] {
        let mut hits = Vec::new();
        let expression = LinearRegex::new(&format!("a{{{length}}}b"), "").unwrap();
        expression.find(&format!("{}bab", "a".repeat(length + 3)), &mut hits).unwrap();
        let expected = 3..length + 4;
        assert_eq!(hits, [expected], "{length}");
    }
}

#[test]
fn a_group_named_secret_narrows() {
    let cases: [(&str, &str, &[&str]); 8] = [
        (r"key=(?<secret>\w+);", "key=abc; key=d", &["abc"]),
        (r"key=(?<secret>\w+)|sk-\d+", "sk-12 key=abc", &["sk-12", "abc"]),
        (r"a(?<secret>b*)c", "ac abbc", &["bb"]),
        (r"(?:(?<secret>\d)\D)+!", "1a2b3c!", &["1", "2", "3"]),
        (r"a=(?<secret>1)|b=(?<secret>2)", "b=2 a=1", &["2", "1"]),
        (r"(?<name>a)(?<secret>b)", "ab", &["b"]),
        (r"(?<secrets>a)b", "ab", &["ab"]),
        (r"(?:(?<secret>ax)|a)y", "ay axy", &["ay", "ax"]),
    ];
    for (source, text, expected) in cases {
        assert_eq!(found(source, "", text), expected, "/{source}/ in {text:?}");
    }
}

#[test]
fn what_cannot_be_searched_for_is_refused_with_its_place() {
    for (source, flags, expected) in [
        ("é(?=b)", "", "look-around is not supported, at character 2"),
        ("a(?<!b)", "", "look-around is not supported, at character 2"),
        (r"(a)-\1", "", "back references are not supported, at character 5"),
        ("[.](b", "", "unclosed group, at character 4"),
        ("a)", "", "unopened group, at character 2"),
        ("a", "v", "the flag v is not supported, at character 1"),
        ("a", "x", "the flag x is not supported, at character 1"),
        ("a*", "", "it matches the empty text, at character 1"),
        ("|-|[]", "", "it matches the empty text, at character 1"),
        (r"\b|a", "", "it matches the empty text, at character 1"),
        ("(?:a{1,100}){1,100}", "", "it repeats too much, or has too many parts, at character 1"),
        (
            "(?:(?:a|b|c[d]|){999}e){9}",
            "",
            "it repeats too much, or has too many parts, at character 1",
        ),
        (
            r"(?:\p{L}|\p{N}{9}|\w?){1000}x",
            "u",
            "it repeats too much, or has too many parts, at character 1",
        ),
    ] {
        assert_eq!(refused(source, flags), expected, "/{source:.40}/{flags}");
    }
}

#[test]
fn a_search_ends_where_too_many_steps_would_be_needed() {
    let expression = LinearRegex::new("(?:[ab]?){500}b", "").unwrap();
    let text = "a".repeat(1 << 16);
    assert_eq!(expression.is_match(&text), Ok(false));
    let text = "ab".repeat(1 << 15);
    assert_eq!(expression.find(&text, &mut Vec::new()), Err(TooManySteps));
}

/// An expression, and whether it matches the empty text. What is repeated does not: there,
/// `regex` and JavaScript differ.
fn source() -> impl Strategy<Value = (String, bool)> {
    let leaf = prop_oneof![
        10 => "[ab_é]|\\.|\\[ab\\]|\\[\\^a\\]|\\\\w|\\\\W|a\\{0,3\\}".prop_map(|leaf| {
            let is_empty = leaf.contains("{0");
            (leaf, is_empty)
        }),
        1 => prop_oneof![Just("^"), Just("$"), Just(r"\b"), Just(r"\B"), Just("")].prop_map(|leaf| (leaf.to_owned(), true)),
    ];
    leaf.prop_recursive(5, 30, 4, |inner| {
        let quantifier = prop_oneof![Just("*"), Just("+"), Just("?"), Just("{2}"), Just("{1,3}"), Just("{2,}"), Just("{0,2}")];
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| {
                let is_empty = parts.iter().all(|(_, is_empty)| *is_empty);
                (parts.into_iter().map(|(part, _)| part).collect(), is_empty)
            }),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| {
                let is_empty = parts.iter().any(|(_, is_empty)| *is_empty);
                let parts: Vec<_> = parts.into_iter().map(|(part, _)| part).collect();
                (format!("(?:{})", parts.join("|")), is_empty)
            }),
            3 => (inner, quantifier, any::<bool>()).prop_map(|((part, is_empty), quantifier, is_lazy)| {
                let part = if is_empty { format!("{part}b") } else { part };
                let lazy = if is_lazy { "?" } else { "" };
                (format!("(?:{part}){quantifier}{lazy}"), "*?{0".contains(&quantifier[..quantifier.len().min(2)]))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn finds_what_the_crate_finds(
        (source, is_empty) in source(),
        size in prop_oneof![Just(""), Just("|q{65}"), Just("|q{130}"), Just("|q{300}")],
        flags in "[ims]{0,2}",
        text in "[ab_ é\n]{0,60}",
    ) {
        let source = format!("{source}{}{size}", if is_empty { "b" } else { "" });
        let translated = javascript_regex::translate(&source, &flags).unwrap();
        let model = regex::RegexBuilder::new(&translated.expression)
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .build()
            .unwrap();
        let expected: Vec<_> = model.find_iter(&text).map(|found| found.range()).collect();
        let expression = match LinearRegex::new(&source, &flags) {
            Ok(expression) => expression,
            Err(error) => {
                prop_assert!(error.reason.contains("too much"), "{error}");
                return Ok(());
            }
        };
        let mut hits = Vec::new();
        expression.find(&text, &mut hits).unwrap();
        prop_assert_eq!(&hits, &expected, "/{}/{}", source, flags);
        prop_assert_eq!(expression.is_match(&text), Ok(!expected.is_empty()));
    }

    #[test]
    fn finds_the_groups_that_the_crate_finds((before, _) in source(), (secret, _) in source(), (after, _) in source(), text in "[ab_é]{0,40}") {
        let source = format!("(?:{before})(?<secret>{secret})(?:{after})b");
        let translated = javascript_regex::translate(&source, "").unwrap();
        let model = regex::Regex::new(&translated.expression).unwrap();
        let expected: Vec<Range<usize>> = model.captures_iter(&text).map(|found| found.name("secret0").unwrap().range()).filter(|range| !range.is_empty()).collect();
        let mut hits = Vec::new();
        let Ok(expression) = LinearRegex::new(&source, "") else { return Ok(()) };
        expression.find(&text, &mut hits).unwrap();
        prop_assert_eq!(&hits, &expected, "/{}/", source);
    }

    #[test]
    fn any_expression_is_compiled_or_refused(source in r"[a(){}\[\]^$.|?*+\\dwbukpx0-9:<>=!,é😀-]{0,16}", flags in "[imsuy]{0,2}", text in "[ax0é😀\n-]{0,20}") {
        if let Ok(expression) = LinearRegex::new(&source, &flags) {
            let mut hits = Vec::new();
            expression.find(&text, &mut hits).unwrap();
            let mut end = 0;
            for hit in hits {
                prop_assert!(end <= hit.start && text.get(hit.clone()).is_some_and(|hit| !hit.is_empty()), "{hit:?}");
                end = hit.end;
            }
        }
    }
}
