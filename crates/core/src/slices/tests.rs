use std::fmt::Write;

use json_text::escape_string;
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use super::*;

fn request(path: Option<&str>, part: Option<Part>, max_bytes: usize) -> Request {
    Request { json_path: path.map(|path| JsonPath::new(path).unwrap()), part, max_bytes }
}

fn read_all(stored: Stored<'_>, request: &Request) -> Slice {
    read(stored, request, &Cancelled::default()).unwrap()
}

/// The slices that `next` leads to, each checked against its bound.
fn follow(stored: Stored<'_>, mut request: Request) -> Vec<Slice> {
    let mut slices = Vec::new();
    loop {
        let slice = read_all(stored, &request);
        assert!(slice.text.len() <= request.max_bytes, "{} bytes of {request:?}", slice.text.len());
        if let Some(range) = &slice.bytes {
            assert_eq!(range.len(), slice.text.len());
        }
        let next = slice.next.clone();
        if slice.is_one_value
            && let Some([path]) = slice.paths.as_deref()
        {
            request.json_path = Some(JsonPath::new(path).unwrap());
        }
        slices.push(slice);
        request.part = match (next, request.part) {
            (None, _) => return slices,
            (Some(Going::Bytes { from, to }), _) => Some(Part::Bytes { from, to }),
            (Some(Going::Lines { from, to }), _) => Some(Part::Lines { from, to }),
            (Some(Going::Grep { from, from_byte }), Some(Part::Grep(grep))) => {
                let from_byte = from_byte.unwrap_or_default();
                assert!((from, from_byte) > (grep.from, grep.from_byte), "it goes on");
                Some(Part::Grep(Grep { from, from_byte, ..grep }))
            }
            (next, part) => panic!("{next:?} after {part:?}"),
        };
    }
}

fn joined(slices: &[Slice]) -> String {
    slices.iter().map(|slice| slice.text.as_str()).collect()
}

fn token(text: &str) -> String {
    let mut token = Vec::new();
    escape_string(text, &mut token);
    String::from_utf8(token).unwrap()
}

fn grep(pattern: &str, before: usize, after: usize) -> Option<Part> {
    let pattern = Pattern::new(pattern, Syntax::Rust, false).unwrap();
    Some(Part::Grep(Grep { pattern, before, after, from: 1, from_byte: 0 }))
}

/// Texts with all kinds of line ends, and without one at the end.
fn text() -> impl Strategy<Value = String> {
    vec(prop_oneof!["[ab]{0,6}", "é|😀|…|\r|\"|\\\\", "\n|\r\n"], 0..40)
        .prop_map(|parts| parts.concat())
}

/// Lines with their line ends, from `str`'s own methods.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[test]
fn a_text_is_read_from_its_start_when_nothing_else_is_asked() {
    let slice = read_all(Stored::Json(r#""one\ntwo\u00e9""#), &request(None, None, 7));
    assert_eq!(
        (slice.text.as_str(), slice.bytes, slice.lines),
        ("one\ntwo", Some(0..7), Some((1, 2)))
    );
    assert_eq!((slice.total_bytes, slice.total_lines), (9, 2));
    assert_eq!(slice.next, Some(Going::Bytes { from: 7, to: None }));
    let number = read_all(Stored::Json("1.50e+1"), &request(None, None, 100));
    assert_eq!((number.text.as_str(), number.next), ("1.50e+1", None));
    let lone = read_all(Stored::Json(r#""a\ud800b""#), &request(None, None, 100));
    assert_eq!(lone.text, "a\u{fffd}b");
}

#[test]
fn what_is_beyond_the_end_is_empty() {
    for part in [
        Part::Lines { from: 3, to: None },
        Part::Lines { from: 3, to: Some(9) },
        Part::Bytes { from: 8, to: None },
        Part::Bytes { from: 80, to: Some(90) },
    ] {
        let slice = read_all(Stored::Text("one\ntwo\n"), &request(None, Some(part), 100));
        assert_eq!(
            (slice.text.as_str(), slice.bytes, slice.lines, slice.next),
            ("", Some(8..8), None, None)
        );
        assert_eq!((slice.total_bytes, slice.total_lines), (8, 2));
    }
    let empty = read_all(Stored::Text(""), &request(None, grep("x*", 1, 1), 100));
    assert_eq!((empty.text.as_str(), empty.total_lines, empty.next), ("", 0, None));
}

#[test]
fn a_line_that_does_not_fit_goes_on_by_bytes_to_the_end_of_the_range() {
    let text = "short\n0123456789\nlast\nbeyond";
    let slices =
        follow(Stored::Text(text), request(None, Some(Part::Lines { from: 1, to: Some(3) }), 6));
    let texts: Vec<_> = slices.iter().map(|slice| slice.text.as_str()).collect();
    assert_eq!(texts, ["short\n", "012345", "6789\nl", "ast\n"]);
    assert_eq!(slices[1].next, Some(Going::Bytes { from: 12, to: Some(22) }));
    assert_eq!(slices[2].lines, Some((2, 3)));
}

#[test]
fn matches_are_shown_as_ripgrep_shows_them() {
    let text = "a\nb\nmatch 1\nc\nd\ne\nf\nmatch 2\r\nmatch 3\r\ng";
    let slice = read_all(Stored::Text(text), &request(None, grep("match (\\d)$", 1, 1), 1000));
    assert_eq!(slice.text, "2-b\n3:match 1\n4-c\n--\n7-f\n8:match 2\n9:match 3\n10-g\n");
    assert_eq!(slice.lines, Some((3, 9)));
    let found = slice.matches.unwrap();
    assert_eq!(found[1], Match { line: 8, byte_offset: 20, text: "match 2".to_owned() });
    assert_eq!(&text[20..27], "match 2");
}

#[test]
fn a_long_line_is_shown_around_each_of_its_matches() {
    let padding = "é".repeat(2000);
    let text = format!("x\n{padding}needle{padding}needle and needle{padding}");
    let slices = follow(Stored::Text(&text), request(None, grep("needle", 1, 1), 700));
    let shown = joined(&slices);
    assert_eq!(shown.matches("needle").count(), 3, "the second piece shows two");
    assert!(shown.starts_with("1-x\n2:…é") && shown.ends_with("é…\n"), "{shown}");
    let offsets: Vec<_> = slices
        .iter()
        .flat_map(|slice| slice.matches.iter().flatten())
        .map(|found| found.byte_offset)
        .collect();
    assert_eq!(offsets, [4002, 8008]);
    assert_eq!(slices.len(), 2, "one piece fits in each");
    assert_eq!(
        slices[0].next,
        Some(Going::Grep { from: 2, from_byte: Some(slices[0].next_byte()) })
    );
}

impl Slice {
    fn next_byte(&self) -> usize {
        match self.next {
            Some(Going::Grep { from_byte: Some(byte), .. }) => byte,
            _ => 0,
        }
    }
}

#[test]
fn the_first_match_is_shown_however_small_the_bound() {
    let slice =
        read_all(Stored::Text("before\n😀😀😀\nafter"), &request(None, grep("😀", 1, 1), 8));
    assert_eq!(slice.text, "2:😀");
    assert_eq!(slice.matches.unwrap().len(), 1);
}

#[test]
fn values_of_a_json_path_are_one_text_or_a_line_each() {
    let document = "{\"a\": [1.50, {\n \"b\" :\"x\\ny\"}], \"c\": \"text\\u00e9\"}";
    let read_path = |path: &str| read_all(Stored::Json(document), &request(Some(path), None, 100));
    let one = read_path("$.c");
    assert_eq!(
        (one.text.as_str(), one.paths, one.is_one_value),
        ("texté", Some(vec!["$['c']".to_owned()]), true)
    );
    assert_eq!(read_path("$.a").text, "[1.50, {\n \"b\" :\"x\\ny\"}]", "exactly as it is stored");
    let several = read_path("$.a[*]");
    assert_eq!(several.text, "1.50\n{ \"b\" :\"x\\ny\"}", "a line each");
    assert_eq!(several.paths.unwrap(), ["$['a'][0]", "$['a'][1]"]);
    assert_eq!((several.total_lines, several.is_one_value), (2, false));
    let none = read_path("$.nothing");
    assert_eq!((none.text.as_str(), none.paths, none.total_bytes), ("", Some(vec![]), 0));
    let text = read_all(Stored::Text("it \"is\""), &request(Some("$"), None, 100));
    assert_eq!(text.text, "it \"is\"");
    assert_eq!(read_all(Stored::Text("text"), &request(Some("$.a"), None, 100)).text, "");
}

#[test]
fn several_values_go_on_by_lines_and_within_a_long_one_by_bytes() {
    let document = r#"["aa","bb",["a long one"],"cc"]"#;
    let slices = follow(Stored::Json(document), request(Some("$[*]"), None, 10));
    let texts: Vec<_> = slices.iter().map(|slice| slice.text.as_str()).collect();
    assert_eq!(texts, ["\"aa\"\n\"bb\"\n", "[\"a long o", "ne\"]\n\"cc\""]);
    let paths: Vec<_> = slices.iter().map(|slice| slice.paths.clone().unwrap().len()).collect();
    assert_eq!(paths, [2, 1, 2]);
}

#[test]
fn paths_are_bounded_as_the_text_is() {
    let key = "k".repeat(500);
    let document = json!({ key: (0..50).collect::<Vec<_>>() }).to_string();
    let slices = follow(Stored::Json(&document), request(Some("$[*][*]"), None, 2000));
    assert!(slices.len() > 10, "{} slices", slices.len());
    for slice in &slices {
        let bytes: usize = slice.paths.iter().flatten().map(String::len).sum();
        assert!(bytes <= 2000, "{bytes} bytes of paths");
    }
    let all: Vec<_> =
        slices.iter().flat_map(|slice| slice.text.lines()).map(str::to_owned).collect();
    assert_eq!(all, (0..50).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn hostile_patterns_are_refused_or_run_in_bounded_time() {
    for pattern in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        r"(\pL{1000}){1000}",
        &"(".repeat(10_000),
        "a{99999999}",
    ] {
        let error = Pattern::new(pattern, Syntax::Rust, false).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{pattern:.20}");
        assert!(error.message.contains("grep"), "{}", error.message);
    }
    for pattern in [
        r"\w+@\w+\.\w{2,6}",
        r"(?i)\b\w{3,8}\b",
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}",
        ".{0,200}error.{0,200}",
    ] {
        assert!(Pattern::new(pattern, Syntax::Rust, true).is_ok(), "{pattern} is usual");
    }
    let line = "a".repeat(5_000_000);
    let large = request(None, grep("(a.{0,300}){3}b", 0, 0), 100);
    let error = read(Stored::Text(&line), &large, &Cancelled::default()).unwrap_err();
    assert!(
        error.message.ends_with("it repeats too much for a line of 5000000 bytes"),
        "{}",
        error.message
    );
    let lines = format!("x\n{line}\n");
    assert!(
        read_all(Stored::Text(&lines), &request(None, grep("(x.{0,9}){3}b|x", 0, 0), 100))
            .next
            .is_none()
    );
    let text = format!("{}!", "a".repeat(100_000));
    for pattern in ["(a+)+$", "(a|a)*b", "(.*)*x", "(a?){50}a{50}b"] {
        let slice = read_all(Stored::Text(&text), &request(None, grep(pattern, 0, 0), 100));
        assert_eq!(slice.text, "", "{pattern}");
    }
}

#[test]
fn a_bad_pattern_is_told_with_its_place() {
    let message = |pattern: &str, syntax| Pattern::new(pattern, syntax, false).unwrap_err().message;
    let script = Syntax::JavaScript { flags: "" };
    for (pattern, syntax, expected) in [
        ("é(a", Syntax::Rust, "/é(a/: unclosed group, at character 2"),
        ("a(?=b)", Syntax::Rust, "look-ahead and look-behind, is not supported, at character 2"),
        (r"(a)\1", Syntax::Rust, "backreferences are not supported, at character 4"),
        ("aé(?<!b)", script, "look-around is not supported, at character 3"),
        (r"(a)\1", script, "back references are not supported, at character 4"),
        (r"(?<n>a)\k<n>", script, "back references are not supported, at character 8"),
        ("é. *a(b", script, "unclosed group, at character 6"),
        (r"\./[a-z](?:*)", script, "repetition operator missing expression, at character 12"),
        (r"\ud83d", script, "half of a surrogate pair is no character, at character 1"),
        ("a", Syntax::JavaScript { flags: "v" }, "the flag v is not supported"),
        ("a", Syntax::JavaScript { flags: "y" }, "the flag y is not supported"),
    ] {
        let message = message(pattern, syntax);
        assert!(message.ends_with(expected) || message.contains(expected), "{message}");
    }
}

#[test]
fn a_regexp_means_what_it_means_in_javascript() {
    // The expression, its flags, lines that match, lines that do not match.
    let cases: [(&str, &str, &[&str], &[&str]); 30] = [
        (r"^\d+$", "", &["12"], &["1٢", "x"]),
        (r"^\w$", "", &["a", "_"], &["é"]),
        (r"\bé", "", &[], &["é"]),
        (r"a\b", "", &["aé"], &["ab"]),
        (r"^\s$", "", &["\u{a0}", "\u{feff}", " "], &["\u{85}"]),
        (r"^\S$", "", &["\u{85}"], &["\u{a0}"]),
        ("^.$", "", &["😀", "é"], &["\u{2028}", "\r"]),
        ("^.$", "s", &["\u{2028}"], &[]),
        ("ABC", "i", &["xabcx"], &["ab"]),
        (r"^[\w-.]$", "", &["-", ".", "a"], &["/"]),
        (r"^[a-c\d]$", "", &["b", "3"], &["-", "d"]),
        (r"^[a-\d]$", "", &["a", "-", "3"], &["b"]),
        (r"^[^\W]$", "", &["a"], &["é", "-"]),
        ("^[[]$", "", &["["], &["]"]),
        ("^[a&&b~~c]$", "", &["&", "~", "a"], &["d"]),
        ("a[]", "", &[], &["a", "ab"]),
        ("^[^]$", "", &["x", "\r"], &[""]),
        (r"^[\b]$", "", &["\u{8}"], &["b"]),
        (r"^\cJ?\x41\u0042\t$", "", &["AB\t"], &["AB"]),
        (r"^\u{41}$", "u", &["A"], &[]),
        (r"^\u{3}$", "", &["uuu"], &["u"]),
        (r"^\ud83d\ude00$", "", &["😀"], &[]),
        (r"^\p{Lu}$", "u", &["É"], &["é"]),
        (r"^\p{Script=Greek}$", "u", &["α"], &["a"]),
        (r"^a{2,}\/$", "", &["aaa/"], &["a/"]),
        ("^x{$", "", &["x{"], &["x"]),
        ("^x{,5}$", "", &["x{,5}"], &["x"]),
        (r"^(?<year>\d{4})-(?:0|1)\z$", "", &["2024-0z"], &["2024-0"]),
        (r"^\<a\>#\-$", "", &["<a>#-"], &["a"]),
        (r"a|b$", "gm", &["a", "xb"], &["bx"]),
    ];
    for (source, flags, matching, others) in cases {
        let pattern = Pattern::new(source, Syntax::JavaScript { flags }, false).unwrap();
        for line in matching {
            assert!(pattern.find_at(line, 0).is_some(), "/{source}/{flags} matches {line:?}");
        }
        for line in others {
            assert!(
                pattern.find_at(line, 0).is_none(),
                "/{source}/{flags} does not match {line:?}"
            );
        }
    }
}

#[test]
fn nobody_waits_no_search_goes_on() {
    let cancelled = Cancelled::set();
    let text = "a\n".repeat(10_000);
    assert!(read(Stored::Text(&text), &request(None, grep("b", 0, 0), 100), &cancelled).is_err());
    let document = json!((0..100).collect::<Vec<_>>()).to_string();
    assert!(read(Stored::Json(&document), &request(Some("$..*"), None, 100), &cancelled).is_err());
}

/// The output of grep, computed naively.
fn naive(text: &str, needle: &str, before: usize, after: usize) -> String {
    let lines: Vec<_> = text
        .split_inclusive('\n')
        .map(|line| line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line))
        .collect();
    let is_match: Vec<_> = lines.iter().map(|line| line.contains(needle)).collect();
    let mut out = String::new();
    let mut last = None;
    for (number, line) in lines.iter().enumerate() {
        let near = number.saturating_sub(after)..=(number + before).min(lines.len() - 1);
        if is_match[near].contains(&true) {
            if last.is_some_and(|last| number > last + 1) {
                out.push_str("--\n");
            }
            last = Some(number);
            writeln!(out, "{}{}{line}", number + 1, if is_match[number] { ':' } else { '-' })
                .unwrap();
        }
    }
    out
}

proptest! {
    #[test]
    fn bytes_joined_are_the_whole(text in text(), max_bytes in MIN_BYTES..30, json in any::<bool>()) {
        let token = token(&text);
        let stored = if json { Stored::Json(&token) } else { Stored::Text(&text) };
        let slices = follow(stored, request(None, None, max_bytes));
        prop_assert_eq!(joined(&slices), text);
    }

    #[test]
    fn byte_ranges_side_by_side_have_every_character_once(text in text(), mut cuts in vec(0_usize..60, 0..6)) {
        cuts.sort_unstable();
        cuts.insert(0, 0);
        let mut all = String::new();
        for (index, &from) in cuts.iter().enumerate() {
            let part = Part::Bytes { from, to: cuts.get(index + 1).copied() };
            all += &joined(&follow(Stored::Text(&text), request(None, Some(part), 5)));
        }
        prop_assert_eq!(all, text);
    }

    #[test]
    fn lines_joined_are_the_range(text in text(), from in 1_usize..12, length in 0_usize..12, max_bytes in MIN_BYTES..40) {
        let to = (length > 0).then(|| from + length - 1);
        let slices = follow(Stored::Text(&text), request(None, Some(Part::Lines { from, to }), max_bytes));
        let lines = lines_of(&text);
        let expected: String = lines.iter().copied().skip(from - 1).take(if length > 0 { length } else { usize::MAX }).collect();
        prop_assert_eq!(joined(&slices), expected);
        let counted = slices.iter().map(|slice| slice.total_lines).collect::<Vec<_>>();
        prop_assert!(counted.iter().all(|&count| count == lines.len()));
        if let Some((first, last)) = slices[0].lines {
            let start: usize = lines.iter().take(first - 1).map(|line| line.len()).sum();
            let end: usize = lines.iter().take(last).map(|line| line.len()).sum();
            let range = slices[0].bytes.clone().unwrap();
            prop_assert_eq!(range.start, start);
            let last_start = end - lines[last - 1].len();
            prop_assert!(last_start < range.end && range.end <= end, "{range:?} ends in line {last}");
        }
    }

    #[test]
    fn one_value_joined_is_the_value(text in text(), max_bytes in MIN_BYTES..30, whole in any::<bool>()) {
        let document = json!({ "k'\n": [0, text, { "t": text }] }).to_string();
        let (path, expected) = if whole {
            ("$..[2]", json!({ "t": text }).to_string())
        } else {
            ("$..[1]", text)
        };
        let slices = follow(Stored::Json(&document), request(Some(path), None, max_bytes));
        prop_assert_eq!(joined(&slices), expected);
    }

    #[test]
    fn several_values_joined_are_their_lines(values in vec(text(), 2..8), max_bytes in MIN_BYTES..60, by_bytes in any::<bool>()) {
        let document = json!(values).to_string();
        let part = by_bytes.then_some(Part::Bytes { from: 0, to: None });
        let slices = follow(Stored::Json(&document), request(Some("$[*]"), part, max_bytes));
        let expected: Vec<_> = values.iter().map(|value| json!(value).to_string()).collect();
        prop_assert_eq!(joined(&slices), expected.join("\n"));
    }

    #[test]
    fn grep_agrees_with_going_line_by_line(text in text(), before in 0_usize..4, after in 0_usize..4) {
        let slice = read_all(Stored::Text(&text), &request(None, grep("b", before, after), 10_000));
        prop_assert_eq!(&slice.text, &naive(&text, "b", before, after));
        prop_assert_eq!(slice.next, None);
        for found in slice.matches.unwrap() {
            prop_assert_eq!(text.get(found.byte_offset..found.byte_offset + 1), Some("b"));
        }
    }

    #[test]
    fn grep_in_pieces_finds_every_line_once(text in text(), before in 0_usize..3, after in 0_usize..3, max_bytes in MIN_BYTES..60) {
        let slices = follow(Stored::Text(&text), request(None, grep("b", before, after), max_bytes));
        let mut found: Vec<_> = slices.iter().flat_map(|slice| slice.matches.iter().flatten()).map(|found| found.line).collect();
        // A line that is longer than a slice is found once for each.
        found.dedup();
        let expected: Vec<_> = lines_of(&text).iter().zip(1..).filter(|(line, _)| line.contains('b')).map(|(_, number)| number).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_pattern_is_compiled_or_refused(pattern in r"[a(){}\[\]^$.|?*+\\dwbukpx0-9:<>=!,é😀-]{0,16}", flags in "[imsu]{0,2}") {
        let _ = Pattern::new(&pattern, Syntax::Rust, true).map(|pattern| pattern.find_at("aé😀", 0));
        let _ = Pattern::new(&pattern, Syntax::JavaScript { flags: &flags }, false).map(|pattern| pattern.find_at("aé😀", 0));
    }
}
