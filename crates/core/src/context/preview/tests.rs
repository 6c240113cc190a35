use proptest::prelude::*;

use super::*;
use crate::context::{
    delimited::harmless,
    placeholder::{Replaced, placeholder},
};

const MARK: &str = "1f2e3d4c5b6a7988";

fn shown_of(text: &str, arguments: &str, max_bytes: usize) -> String {
    let mut result = Vec::new();
    json_text::escape_string(text, &mut result);
    let handle = format!("ctx_{MARK}");
    let arguments = arguments.as_bytes();
    let replaced = Replaced {
        bytes: None,
        kind: super::super::placeholder::Kind::Output,
        prefix: "",
        path: None,
        media_type: None,
        tool_name: "run",
        arguments,
        handle: &handle,
        result: &result,
        gap: None,
    };
    let all = placeholder(&replaced, max_bytes);
    let start = all.find(&format!("<stored-output-{MARK}>\n")).expect("an opening tag");
    let end = all.find(&format!("</stored-output-{MARK}>")).expect("a closing tag");
    all[start..end].to_owned()
}

fn shown(text: &str) -> String {
    shown_of(text, "{}", 1024)
}

fn noise(count: usize) -> String {
    (0..count)
        .map(|id| {
            format!(
                "2025-01-01T00:00:{:02}Z INFO worker-{} handled request {id} in {} ms\n",
                id % 60,
                id % 4,
                id % 97
            )
        })
        .collect()
}

/// A text with the failure among other lines.
fn within_noise(failure: &str) -> String {
    format!("{}{failure}{}", noise(400), noise(400))
}

/// The bytes in the notes on omitted text, and the bytes of the parts.
fn accounted(shown: &str, preview: &Preview, text: &str) -> (usize, usize) {
    let left_out = shown
        .lines()
        .filter_map(|line| {
            line.strip_prefix("[… ")?
                .strip_suffix(&format!(" bytes of stored-output-{MARK} left out …]"))?
                .parse::<usize>()
                .ok()
        })
        .sum();
    let pieces = preview.pieces.iter().map(|piece| text[piece.clone()].len()).sum();
    (left_out, pieces)
}

#[test]
fn the_line_that_names_a_failure_is_shown_with_the_line_after_it() {
    for (failure, wanted) in [
        (
            "error[E0308]: mismatched types\n --> src/main.rs:2:5\n",
            "E0308]: mismatched types\n --> src/main.rs:2:5",
        ),
        (
            "main.c:3:5: error: expected ';' before '}' token\n    3 | return 1\n",
            "expected ';' before '}' token\n    3 | return 1",
        ),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nZeroDivisionError: division by zero\n",
            "ZeroDivisionError: division by zero",
        ),
        (
            "thread 'main' panicked at src/main.rs:4:9:\nattempt to add a\n",
            "panicked at src/main.rs:4:9:\nattempt to add a",
        ),
        (
            "Exception in thread \"main\" java.lang.IllegalStateException: closed\n\tat Main.main(Main.java:3)\n",
            "IllegalStateException: closed\n\tat Main.main(Main.java:3)",
        ),
        ("./main.go:4:2: declared and not used: x\n", "declared and not used: x"),
        ("make: *** [Makefile:2: all] Error 1\n", "make: *** [Makefile:2: all] Error 1"),
        ("build.sh: line 3: frobnicate: command not found\n", "frobnicate: command not found"),
        (
            "  ● sum › adds\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n",
            "● sum › adds\n\n    expect(received)",
        ),
        (
            "\u{1b}[31mFAILED\u{1b}[0m tests/test_a.py::test_b - assert 1 == 2\n",
            "tests/test_a.py::test_b - assert 1 == 2",
        ),
        ("something went sideways in the frobnicator\n", "sideways in the frobnicator"),
    ] {
        let shown = shown(&within_noise(failure));
        assert!(shown.contains(wanted), "{wanted}\n{shown}");
    }
}

#[test]
fn failures_are_found_in_noise_of_any_words_and_in_long_texts() {
    let words = ["alpha", "beta", "gamma", "delta"];
    let lines = |from: usize| -> String {
        (from..from + 400)
            .map(|id| format!("{}{id} {} {}\n", words[id % 4], words[id % 3], id * 7919))
            .collect()
    };
    let text = format!(
        "{}TypeError: x is not a function\n    at main (a.js:1:2)\n{}",
        lines(0),
        lines(400)
    );
    assert!(shown(&text).contains("TypeError: x is not a function\n    at main (a.js:1:2)"));
    let long =
        format!("{}fatal: not a git repository\n{}", lines(0).repeat(400), lines(0).repeat(400));
    assert!(long.len() > 5 << 20);
    assert!(shown(&long).contains("fatal: not a git repository"));
}

#[test]
fn failures_of_one_form_do_not_hide_another() {
    let retries: String =
        (0..300).map(|id| format!("ERROR retry {id}: connection refused\n")).collect();
    let text = format!("{retries}ERROR giving up: the disk is full\n{retries}");
    let shown = shown(&text);
    assert!(shown.contains("giving up: the disk is full"), "{shown}");
    assert!(shown.contains("retry 0:") && shown.contains("retry 299:"), "{shown}");
}

#[test]
fn what_only_sounds_like_a_failure_is_no_reason_to_leave_the_beginning_out() {
    let text: String =
        (0..400).map(|id| format!("check {id}: 0 errors, 0 failed, exit code 0\n")).collect();
    let preview = of_text(&text, b"{}", 1024);
    assert_eq!(preview, beginning_and_end(&text, 1024));
}

#[test]
fn a_repeated_line_is_shown_first_and_last() {
    let text = format!("{}server restarts\n{}", noise(500), noise(500));
    let shown = shown(&text);
    assert!(
        shown.contains("request 0 in")
            && shown.contains("server restarts")
            && shown.contains("request 499 in"),
        "{shown}"
    );
}

#[test]
fn a_diff_shows_its_files_and_hunks() {
    let change = |name: &str| {
        let body: String =
            (0..60).map(|id| format!("-old {id}\n+new {id}: error: none\n")).collect();
        format!(
            "diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n@@ -1,60 +1,60 @@ fn {name}()\n{body}"
        )
    };
    let text: String = ["src/a.rs", "src/b.rs", "docs/c.md"].map(change).concat();
    let shown = shown(&text);
    assert!(
        shown.contains("diff of 3 files: 180 lines added, 180 lines removed\nsrc/a.rs +60 -60\n"),
        "{shown}"
    );
    for name in ["src/a.rs", "src/b.rs", "docs/c.md"] {
        assert!(shown.contains(&format!("@@ -1,60 +1,60 @@ fn {name}()")), "{shown}");
    }
    let plain =
        "--- a.txt\t2025-01-01\n+++ b.txt\t2025-01-02\n@@ -1,2 +1 @@\n-a\n-b\n+c\n".repeat(40);
    assert!(self::shown(&plain).contains("diff of 40 files"), "{}", self::shown(&plain));
}

#[test]
fn search_hits_are_grouped_by_file() {
    let hits = |name: &str, count: usize| -> String {
        (1..=count).map(|line| format!("{name}:{line}:  throw new Error('{line}')\n")).collect()
    };
    let text = format!("{}{}", hits("src/a.ts", 30), hits("lib/b.ts", 20));
    let shown = shown(&text);
    assert!(
        shown.contains("50 search hits in 2 files\nsrc/a.ts: 30 hits\n  1: throw new Error('1')\n"),
        "{shown}"
    );
    assert!(shown.contains("lib/b.ts: 20 hits\n  1: throw"), "{shown}");
    let headed = format!(
        "src/a.ts\n{}\nlib/b.ts\n{}",
        "12:some text of a hit\n".repeat(40),
        "7:other\n".repeat(40)
    );
    assert!(
        self::shown(&headed)
            .contains("80 search hits in 2 files\nsrc/a.ts: 40 hits\n  12: some text")
    );
    let compiler: String = (1..40)
        .map(|line| format!("src/a.c:{line}:2: error: unknown type name 'x{line}'\n"))
        .collect();
    assert!(!self::shown(&compiler).contains("search hit"));
}

#[test]
fn a_table_shows_its_header_its_rows_and_samples() {
    let rows: String = (0..400).map(|id| format!("{id},\"name, {id}\",{}\n", id * 7)).collect();
    let shown = shown(&format!("id,name,error\n{rows}"));
    assert!(
        shown.contains(
            "table of 3 columns and 400 rows: id, name, error\n\nid,name,error\n0,\"name, 0\",0\n"
        ),
        "{shown}"
    );
    for row in ["100,\"name, 100\"", "200,\"name, 200\"", "300,\"name, 300\"", "399,\"name, 399\""]
    {
        assert!(shown.contains(row), "{row}\n{shown}");
    }
    let bars: String = (0..200).map(|id| format!("| {id} | name {id} |\n")).collect();
    let bars = self::shown(&format!("| id | name |\n|----|------|\n{bars}"));
    assert!(bars.contains("table of 2 columns and 200 rows: id, name\n"), "{bars}");
}

#[test]
fn a_source_file_shows_what_it_defines() {
    let functions: String = (0..12).map(|id| format!("export function f{id}(a: number): number {{\n  // {}\n  throw new Error('x')\n}}\n", "word ".repeat(20))).collect();
    let text = format!("class Store {{\n  get(key: string) {{}}\n}}\n{functions}");
    let shown = shown_of(&text, r#"{"path":"src/store.ts"}"#, 1024);
    assert!(
        shown.contains("source of 51 lines that defines 14 names:\nline 1: class Store\n"),
        "{shown}"
    );
    assert!(
        shown.contains("line 4: export function f0(a: number): number\n")
            && shown.contains("line 48: export function f11"),
        "{shown}"
    );
    let numbered: String =
        text.lines().zip(101..).map(|(line, number)| format!("{number:6}\t{line}\n")).collect();
    let shown = shown_of(&numbered, r#"{"command":"cat -n src/store.ts"}"#, 1024);
    assert!(shown.contains("line 104: export function f0"), "{shown}");
    let other = shown_of(&text, r#"{"path":"notes.txt"}"#, 1024);
    assert!(!other.contains("defines"), "{other}");
}

/// Texts of all kinds, complete and damaged.
fn any_text() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "error: it broke\n",
        "  at f (a.js:1:2)\n",
        "INFO request 17 done\n",
        "INFO request 18 done\n",
        "\n",
        "\r\n",
        "\x1b[31m",
        "src/a.ts:12:text\n",
        "src/b.ts-13-text\n",
        "a,b,c\n",
        "1,2,\"3\n",
        "a\tb\n",
        "| a | b |\n",
        "diff --git a/x b/x\n",
        "--- a/x\n",
        "+++ b/x\n",
        "@@ -1,3 +1,9 @@ fn\n",
        "+added\n",
        "-removed\n",
        " same\n",
        "fn f() {}\n",
        "class A {\n",
        "}\n",
        "FAILED x",
        "\u{202e}",
        "\0",
        "<stored-output",
        "12:text\n",
        "a.ts\n",
        "é😀",
        "--\n",
    ];
    let piece = prop_oneof![
        4 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => "[a-z ,:é😀]{1,200}",
    ];
    (prop::collection::vec(piece, 0..60), 1_usize..12)
        .prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

proptest! {
    #[test]
    fn a_preview_is_bounded_exact_and_always_the_same(text in any_text(), max_bytes in 0_usize..2000) {
        let arguments = "{}";
        let preview = of_text(&text, arguments.as_bytes(), max_bytes);
        prop_assert_eq!(&of_text(&text, arguments.as_bytes(), max_bytes), &preview);
        let mut end = 0;
        for (number, piece) in preview.pieces.iter().enumerate() {
            prop_assert!(piece.start < piece.end && piece.end <= text.len());
            prop_assert!(number == 0 || end < piece.start, "apart and in order");
            prop_assert!(text.is_char_boundary(piece.start) && text.is_char_boundary(piece.end));
            end = piece.end;
        }
        prop_assert_eq!(&harmless(&preview.outline), &preview.outline);
        let note = left_out(text.len(), MARK).len();
        if !preview.pieces.is_empty() {
            let shown = shown_of(&text, arguments, max_bytes);
            let content = shown.len() - format!("<stored-output-{MARK}>\n").len();
            // The line end after the content, and the one before a single note, are not counted.
            prop_assert!(content <= max_bytes + note + 3, "{content} of {max_bytes}: {shown}");
            let (left_out, pieces) = accounted(&shown, &preview, &text);
            prop_assert_eq!(left_out + pieces, text.len());
        }
    }

    #[test]
    fn a_broken_source_has_a_bounded_preview(text in any_text(), max_bytes in 0_usize..2000) {
        let Preview { outline, pieces } = of_text(&text, br#"{"path":"a.ts"}"#, max_bytes);
        let shown: usize = pieces.iter().map(|piece| harmless(&text[piece.clone()]).len()).sum();
        prop_assert!(outline.len() + shown <= max_bytes);
    }

    #[test]
    fn a_failure_is_shown_wherever_it_is(before in 30_usize..300, after in 30_usize..300) {
        let text = format!("{}error: cannot open the ledger\n  --> ledger.rs:7\n{}", noise(before), noise(after));
        prop_assert!(shown(&text).contains("error: cannot open the ledger\n  --> ledger.rs:7"));
    }
}
