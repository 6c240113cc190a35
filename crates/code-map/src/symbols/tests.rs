//! Symbols of sample files in every language, and robustness against arbitrary files.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tasks::Cancelled;

use super::signature::LONGEST_SIGNATURE;
use super::{Definition, FileSymbols, Language, NotParsed, SymbolKind, SymbolParser};

/// A file with all constructs of a language, and the expected symbols.
struct Sample {
    path: &'static str,
    source: &'static str,
    expected: &'static str,
}

macro_rules! samples {
    ($($path:literal),* $(,)?) => {
        [$(Sample {
            path: $path,
            source: include_str!(concat!("fixtures/", $path, ".txt")),
            expected: include_str!(concat!("fixtures/", $path, ".expected.txt")),
        }),*]
    };
}

const SAMPLES: [Sample; 11] = samples![
    "typescript.ts",
    "component.tsx",
    "commonjs.js",
    "defaults.js",
    "python.py",
    "rust.rs",
    "go.go",
    "Widget.java",
    "header.h",
    "widget.cpp",
    "classes.h",
];

fn symbols(path: &str, source: &[u8]) -> FileSymbols {
    SymbolParser::new().symbols(Language::of(path).unwrap(), source, &Cancelled::default()).unwrap()
}

/// A line for each definition, and one for the references.
fn listing(found: &FileSymbols) -> String {
    let mut listing = String::new();
    for one in &found.definitions {
        let container = one.container.as_deref().unwrap_or("-");
        let (line, kind, name) = (one.line, one.kind, &one.name);
        writeln!(listing, "{line} {kind:?} {name} in {container}: {}", one.signature).unwrap();
    }
    for one in &found.references {
        write!(listing, "{}×{} ", one.name, one.count).unwrap();
    }
    listing.truncate(listing.trim_end().len());
    listing.push('\n');
    listing
}

#[test]
fn each_language_gives_its_definitions_and_references() {
    for sample in SAMPLES {
        let found = listing(&symbols(sample.path, sample.source.as_bytes()));
        assert_eq!(found, sample.expected, "{}", sample.path);
    }
}

#[test]
fn a_parameter_is_no_reference_where_it_is_one() {
    let references = |path, source: &str| {
        let found = symbols(path, source.as_bytes()).references;
        found
            .into_iter()
            .map(|one| format!("{}×{}", one.name, one.count))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (path, source, expected) in [
        ("a.js", "function f(handler) { go(handler); handler() }\ngo(handler)", "go×2 handler×1"),
        ("a.js", "list.map(item => go(item)); go(item)", "go×2 item×1 map×1"),
        ("a.js", "function f() { function inner() {}; go(inner) }\ngo(inner)", "go×2 inner×1"),
        ("a.ts", "type A<Tee> = Tee\nclass B<Tee> { a: Tee }\nfunction f(a: Tee) {}", "Tee×1"),
        ("a.py", "def f(handler):\n    go(handler)\ngo(handler)", "go×2 handler×1"),
        ("a.py", "from a import run\ndef f(run):\n    x.run(run)", "run×2"),
        ("a.rs", "fn f(handler: u8) { go(handler) }\nfn g() { go(handler) }", "go×2 handler×1"),
        ("a.rs", "impl<Tee> A for B<Tee> {}\nimpl A for Tee {}", "Tee×1"),
        (
            "a.go",
            "package a\nfunc f(handler int) { run(handler) }\nfunc g() { run(handler) }",
            "handler×1 run×2",
        ),
        (
            "a.java",
            "class A { void f(int Name) { go(Name); } int g() { return Name; } }",
            "Name×1 go×1",
        ),
        (
            "a.c",
            "void f(int *handler) { go(handler); }\nvoid g(void) { go(handler); }",
            "go×2 handler×1",
        ),
        ("a.cpp", "void f(int Name) { go(Name, Other::Name); }", "Name×1 Other×1 go×1"),
        ("a.cpp", "template <class Tee> Tee f() {}\nTee g() {}", "Tee×1"),
    ] {
        assert_eq!(references(path, source), expected, "{source}");
    }
}

#[test]
fn line_ends_and_byte_order_marks_change_nothing() {
    for sample in SAMPLES {
        let windows = format!("\u{feff}{}", sample.source.replace('\n', "\r\n"));
        let found = listing(&symbols(sample.path, windows.as_bytes()));
        assert_eq!(found, sample.expected, "{}", sample.path);
    }
}

#[test]
fn invalid_text_spoils_only_itself() {
    let source = b"// \xFF\xFE\xC3\nfunction first() {}\n'\xF0\x9F'\nfunction se\xFFcond() {}\nfunction third() {}\n";
    let names: Vec<_> = names(&symbols("a.js", source));
    assert!(
        names.contains(&"first".to_owned()) && names.contains(&"third".to_owned()),
        "{names:?}"
    );
}

fn names(found: &FileSymbols) -> Vec<String> {
    found.definitions.iter().map(|one| one.name.clone()).collect()
}

#[test]
fn what_is_no_text_gives_nothing() {
    let text = "function first() {}\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [b"\xFF\xFE".as_slice(), &little].concat();
    let binary = [text.as_bytes(), b"\0"].concat();
    let marks = [b"\xFF\xFE", b"\xFE\xFF"].map(|mark| [mark, text.as_bytes()].concat());
    for source in [&little, &big, &marked, &binary, &marks[0], &marks[1], &Vec::new()] {
        assert_eq!(symbols("a.js", source), FileSymbols::default());
    }
    assert_eq!(names(&symbols("a.js", text.as_bytes())), ["first"]);
    let late = [text.as_bytes(), " ".repeat(9000).as_bytes(), b"\0\nfunction second() {}"].concat();
    assert_eq!(names(&symbols("a.js", &late)), ["first", "second"]);
}

#[test]
fn a_file_may_have_a_mebibyte() {
    let mut source = "function first() {}\n//".to_owned();
    source.push_str(&"x".repeat(super::parser::LARGEST_FILE - source.len()));
    assert_eq!(names(&symbols("a.js", source.as_bytes())), ["first"]);
    source.push('x');
    assert_eq!(symbols("a.js", source.as_bytes()), FileSymbols::default());
    let line = "a.b(c);".repeat(10 << 20 >> 3);
    assert_eq!(symbols("a.js", line.as_bytes()), FileSymbols::default());
}

#[test]
fn a_file_gives_ten_thousand_definitions() {
    let source: String =
        (0..10_050).map(|number| format!("#define NAME_{number} {number}\n")).collect();
    let found = symbols("a.c", source.as_bytes());
    assert_eq!(found.definitions.len(), 10_000);
    assert_eq!(found.definitions.last().unwrap().name, "NAME_9999");
}

#[test]
fn names_have_bounds() {
    let (long, longer) = ("n".repeat(200), "n".repeat(201));
    let source = format!(
        "def {long}(): pass\ndef {longer}(): pass\nx()\nyy()\n{}()\n{}()\n",
        "m".repeat(200),
        "m".repeat(201),
    );
    let found = symbols("a.py", source.as_bytes());
    assert_eq!(names(&found), [long]);
    let references: Vec<_> = found.references.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(references, ["m".repeat(200).as_str(), "yy"]);
}

#[test]
fn a_signature_is_cut_at_a_character() {
    for extra in 0..4 {
        let source = format!("function long({}{}) {{}}\n", "x".repeat(extra), "é, ".repeat(100));
        let signature = symbols("a.js", source.as_bytes()).definitions.remove(0).signature;
        assert!(signature.len() <= LONGEST_SIGNATURE && signature.len() > LONGEST_SIGNATURE - 5);
        assert!(signature.starts_with("function long(") && signature.ends_with('…'), "{signature}");
    }
    let exact = format!("function long({}) {{}}", "x".repeat(LONGEST_SIGNATURE - 15));
    let signature = symbols("a.js", exact.as_bytes()).definitions.remove(0).signature;
    assert_eq!(signature, exact.trim_end_matches(" {}"));
}

#[test]
fn a_cancelled_caller_gets_nothing() {
    let source = "function first() {}\n".repeat(2000);
    let mut parser = SymbolParser::new();
    let found = parser.symbols(Language::JavaScript, source.as_bytes(), &Cancelled::set()).unwrap();
    assert_eq!(found, FileSymbols::default());
    // Interrupted work leaves no state behind.
    let found = parser
        .symbols(Language::JavaScript, b"function second() {}", &Cancelled::default())
        .unwrap();
    assert_eq!(names(&found), ["second"]);
}

#[test]
fn one_parser_reads_files_of_all_languages() {
    let mut parser = SymbolParser::default();
    for _ in 0..2 {
        for sample in SAMPLES {
            let language = Language::of(sample.path).unwrap();
            let source = sample.source.as_bytes();
            let found = parser.symbols(language, source, &Cancelled::default()).unwrap();
            assert_eq!(listing(&found), sample.expected, "{}", sample.path);
        }
    }
}

/// For a truncated file, all definitions that end before the last one that began are found.
#[test]
fn a_file_that_ends_early_gives_what_came_before() {
    let mut parser = SymbolParser::new();
    for sample in SAMPLES {
        let language = Language::of(sample.path).unwrap();
        let whole =
            parser.symbols(language, sample.source.as_bytes(), &Cancelled::default()).unwrap();
        let is_ecmascript =
            matches!(language, Language::TypeScript | Language::Tsx | Language::JavaScript);
        let ends: Vec<usize> = sample.source.match_indices('\n').map(|(end, _)| end).collect();
        for cut in (0..sample.source.len()).step_by(23) {
            let found = parser
                .symbols(language, &sample.source.as_bytes()[..cut], &Cancelled::default())
                .unwrap();
            check(&found, &sample.source.as_bytes()[..cut]);
            let line = ends.partition_point(|end| *end < cut) + 1;
            let outer =
                |one: &&Definition| one.container.is_none() || one.kind == SymbolKind::Module;
            let last =
                whole.definitions.iter().filter(outer).rfind(|one| to_usize(one.line) <= line);
            let before = last.map_or(0, |last| to_usize(last.line));
            for one in whole.definitions.iter().filter(|one| to_usize(one.line) < before) {
                // In JavaScript, `const name = …` is a definition only with the `export` at the end.
                if one.kind == SymbolKind::Constant
                    && one.signature.starts_with("const ")
                    && is_ecmascript
                {
                    continue;
                }
                let same = |other: &Definition| other.name == one.name && other.line == one.line;
                assert!(
                    found.definitions.iter().any(same),
                    "{} cut at {cut}: {one:?}",
                    sample.path
                );
            }
        }
    }
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap()
}

/// Checks the invariants of every file's symbols.
fn check(found: &FileSymbols, source: &[u8]) {
    let lines = source.iter().filter(|byte| **byte == b'\n').count() + 1;
    for one in &found.definitions {
        let line = to_usize(one.line);
        assert!((1..=lines).contains(&line), "{one:?}");
        assert!(!one.name.is_empty() && one.name.len() <= 200, "{one:?}");
        assert!(one.container.as_ref().is_none_or(|name| !name.is_empty()), "{one:?}");
        assert!(!one.signature.is_empty() && one.signature.len() <= LONGEST_SIGNATURE, "{one:?}");
        assert!(!one.signature.chars().any(char::is_control), "{one:?}");
        assert_eq!(one.signature.trim(), one.signature, "{one:?}");
    }
    for pair in found.references.windows(2) {
        assert!(pair[0].name < pair[1].name, "{pair:?}");
    }
    for one in &found.references {
        assert!(one.count > 0 && one.name.len() <= 200 && one.name.chars().count() > 1, "{one:?}");
    }
}

/// Texts on which grammars or parsers of other tools have failed.
const HOSTILE: [&str; 36] = [
    "(",
    "{",
    "[",
    "<",
    "<a",
    "a<",
    ")(",
    "}{",
    "f(",
    "a.",
    "a,",
    "!",
    "\"",
    "'",
    "`",
    "`${",
    "/*",
    "//",
    "#",
    "#if\n",
    "\\",
    "\0",
    "if(",
    "x=>",
    "class A{",
    "class A:\n ",
    "def f():\n\t",
    "@a",
    "\n ",
    "r#\"",
    "case a:",
    "a?b:",
    "T<T<",
    "\u{feff}",
    "é",
    "fn f(){",
];

#[test]
fn hostile_text_costs_little() {
    let mut parser = SymbolParser::new();
    for language in Language::ALL {
        for text in HOSTILE {
            let source = text.repeat(1024 / text.len());
            let begun = Instant::now();
            let found = parser.symbols(language, source.as_bytes(), &Cancelled::default()).unwrap();
            check(&found, source.as_bytes());
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(20), "{language:?} {text:?} took {took:?}");
        }
    }
}

#[test]
fn nothing_is_too_deep() {
    let mut parser = SymbolParser::new();
    for language in Language::ALL {
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}")] {
            let source = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
            let begun = Instant::now();
            let found = parser.symbols(language, source.as_bytes(), &Cancelled::default()).unwrap();
            check(&found, source.as_bytes());
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(60), "{language:?} {open:?} took {took:?}");
        }
    }
}

#[test]
fn a_text_that_needs_too_much_memory_is_refused_and_the_next_is_parsed() {
    let mut parser = SymbolParser::new();
    let mut read = |path, source: &str| {
        parser.symbols(Language::of(path).unwrap(), source.as_bytes(), &Cancelled::default())
    };
    for path in ["A.java", "a.c"] {
        assert_eq!(read(path, &"=>typea".repeat(1000)), Err(NotParsed::OverBudget), "{path}");
        assert!(read(path, "int first(int a) { return a; }").is_ok(), "{path}");
        assert_eq!(names(&read("a.js", "function first() {}").unwrap()), ["first"]);
    }
}

/// Random numbers with the same sequence in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

/// Changes a file in a few places: bytes, copies of its parts, parts of other files, hostile text.
fn mutate(source: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(6) {
        let at = numbers.below(source.len() + 1);
        let until = (at + numbers.below(40)).min(source.len());
        match numbers.below(5) {
            0 => drop(source.drain(at..until)),
            1 => {
                let piece = source[at..until].to_vec();
                let to = numbers.below(source.len() + 1);
                drop(source.splice(to..to, piece));
            }
            2 => {
                let other = SAMPLES[numbers.below(SAMPLES.len())].source.as_bytes();
                let from = numbers.below(other.len());
                let piece = other[from..(from + numbers.below(60)).min(other.len())].to_vec();
                drop(source.splice(at..until, piece));
            }
            3 => {
                let piece = HOSTILE[numbers.below(HOSTILE.len())].bytes();
                drop(source.splice(at..at, piece));
            }
            _ => {
                if let Some(byte) = source.get_mut(at) {
                    *byte = u8::try_from(numbers.below(256)).unwrap();
                }
            }
        }
    }
}

/// 1000 files, which take seconds without optimisation; 20 000 were tried in a release build.
#[test]
fn changed_files_are_read_as_well() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut parser = SymbolParser::new();
    for _ in 0..1000 {
        let sample = &SAMPLES[numbers.below(SAMPLES.len())];
        let mut source = sample.source.as_bytes().to_vec();
        mutate(&mut source, &mut numbers);
        let language = Language::of(sample.path).unwrap();
        let found = parser.symbols(language, &source, &Cancelled::default()).unwrap();
        check(&found, &source);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(
        source in prop::collection::vec(any::<u8>(), 0..300),
        language in prop::sample::select(Language::ALL.to_vec()),
    ) {
        check(&SymbolParser::new().symbols(language, &source, &Cancelled::default()).unwrap(), &source);
    }

    #[test]
    fn any_text_is_read(
        source in "(class|def|fn|\\{|\\}|\\(|\\)|[a-zA-Z]{1,3}| |\n|\t|=|;|:|,|<|>|\"|é|\u{2028}){0,80}",
        language in prop::sample::select(Language::ALL.to_vec()),
    ) {
        check(&SymbolParser::new().symbols(language, source.as_bytes(), &Cancelled::default()).unwrap(), source.as_bytes());
    }
}
