//! Whatever a source file contains, the parser keeps to its memory budget and to its time, and what it used is
//! released.
//!
//! The files are parsed by child processes of a few hundred tries each, whose memory the system reports. `just
//! fuzz-memory` tries more files than a plain run of the tests.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod support;

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use agent_context::{
    aside::Cancelled,
    memory::{Language, NotParsed, SymbolParser},
};
use support::child::{self, Running};

/// A file name for every grammar.
const FILES: [&str; 9] =
    ["a.ts", "a.tsx", "a.js", "a.py", "a.rs", "a.go", "A.java", "a.c", "a.cpp"];

/// Texts that made the parser use gigabytes when they were repeated.
const KNOWN: [&str; 3] = ["=>typea", "=> returntype ", "=> - ` catch "];
const KNOWN_SIZES: [usize; 2] = [28_000, 50_000];

/// Of a file of up to 128 KiB, in KiB.
const BUDGET: usize = 64 * 1024;
/// What else a try may need at the same time: queries and what they find.
const BESIDE: usize = 16 * 1024;
/// What may be left after a try, on average, in KiB.
const LEFT: usize = 64;
/// What the system's allocator may keep for itself, in KiB.
const KEPT: usize = 4 * 1024;
/// A process that gets so large has failed. It ends before it harms the machine. In KiB.
const DANGER: usize = 1 << 20;
/// CPU time of a try, in ns.
const MOST_TIME: u64 = 2_000_000_000;

const TRIES_PER_PROCESS: usize = 200;
const TRIES: &str = "AGENT_CONTEXT_FUZZ_TRIES";
const SEED: &str = "AGENT_CONTEXT_FUZZ_SEED";

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    let Some((role, directory)) = child::role() else { return };
    thread::spawn(|| {
        while status("VmRSS:") < DANGER {
            thread::sleep(Duration::from_millis(1));
        }
        child::say("failed: the process uses 1 GiB");
        std::process::exit(1);
    });
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["known", file, unit, size, tries] => {
            let text = repeated(KNOWN[number(unit)], number(size));
            try_texts(file, &directory, (0..number(tries)).map(|_| text.clone()));
        }
        ["random", file, seed, tries, size] => {
            let (tokens, mut random) = (tokens(), Random(number(seed) as u64));
            let texts = (0..number(tries)).map(|_| random.text(&tokens, number(size)));
            try_texts(file, &directory, texts);
        }
        _ => panic!("no role is called {role:?}"),
    }
}

/// Parses texts, and says what each of them needed.
fn try_texts(file: &str, directory: &std::path::Path, texts: impl Iterator<Item = String>) {
    let (language, cancelled) = (Language::of(file).unwrap(), Cancelled::default());
    let mut parser = SymbolParser::new();
    // Loads the grammar and its queries.
    parser.symbols(language, b"a", &cancelled).unwrap();
    let (peak, mut before) = (status("VmHWM:"), 0);
    let mut count = 0;
    for text in texts {
        let begun = cpu_time();
        let found = parser.symbols(language, text.as_bytes(), &cancelled);
        let took = cpu_time() - begun;
        let grown = status("VmHWM:").saturating_sub(peak);
        let outcome = match found {
            Ok(_) => "parsed",
            Err(NotParsed::OverBudget) => "over",
            Err(NotParsed::OutOfMemory) => "out of memory",
        };
        if grown > BUDGET + BESIDE || took > MOST_TIME || outcome == "out of memory" {
            let kept = directory.join(file);
            fs::write(&kept, &text).unwrap();
            child::say(&format!("failed: {outcome}, {grown} KiB, {took} ns, {}", kept.display()));
            std::process::exit(1);
        }
        child::say(&format!("{outcome} {took} {grown}"));
        count += 1;
        // The first tries fill caches of the allocator.
        if count <= 20 {
            before = status("VmRSS:");
        }
    }
    let left = status("VmRSS:").saturating_sub(before);
    if left > count * LEFT + KEPT {
        child::say(&format!("failed: {left} KiB are left after {count} tries"));
        std::process::exit(1);
    }
    child::say("end");
}

/// What the tries of one process came to.
#[derive(Default)]
struct Tally {
    tries: usize,
    over: usize,
    longest: u64,
    largest: usize,
}

fn run(role: &str) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(role, folder.path());
    let mut tally = Tally::default();
    loop {
        let line = running.next().unwrap_or_else(|| panic!("{role:?} ended early"));
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["end"] => break,
            [outcome @ ("parsed" | "over"), took, grown] => {
                tally.tries += 1;
                tally.over += usize::from(outcome == "over");
                tally.longest = tally.longest.max(took.parse().unwrap());
                tally.largest = tally.largest.max(number(grown));
            }
            _ => {
                let kept = folder.keep();
                panic!("{role:?}: {line}; the text is in {}", kept.display());
            }
        }
    }
    assert!(running.finish().1, "{role:?}");
    tally
}

#[test]
fn known_hostile_texts_stay_within_the_budget() {
    for unit in 0..KNOWN.len() {
        for size in KNOWN_SIZES {
            for file in ["A.java", "a.c"] {
                assert_eq!(run(&format!("known {file} {unit} {size} 2")).tries, 2);
            }
        }
    }
}

#[test]
fn nothing_is_left_of_parses_that_were_stopped() {
    for file in ["A.java", "a.c"] {
        // On a busy machine some reach their time limit first.
        assert!(run(&format!("known {file} 0 5000 80")).over > 40, "{file}");
    }
}

#[test]
fn random_repeated_texts_stay_within_the_budget() {
    let variable = |name, default| std::env::var(name).map_or(default, |text| number(&text));
    // By default, few and short: the build is not optimised.
    let (tries, seed) = (variable(TRIES, 500), variable(SEED, 1));
    let size = if std::env::var_os(TRIES).is_some() { 50_000 } else { 8_000 };
    let mut roles = Vec::new();
    for (grammar, file) in FILES.iter().enumerate() {
        for (part, first) in (0..tries).step_by(TRIES_PER_PROCESS).enumerate() {
            let count = TRIES_PER_PROCESS.min(tries - first);
            let seed = (seed * FILES.len() + grammar) * 1_000_000 + part;
            roles.push((*file, format!("random {file} {seed} {count} {size}")));
        }
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((file, role)) = roles.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Tally { tries, over, longest, largest } = run(role);
                    let longest = longest / 1_000_000;
                    println!(
                        "{file}: {tries} tries, {over} stopped, at most {longest} ms, {largest} KiB"
                    );
                }
            });
        }
    });
}

fn repeated(unit: &str, size: usize) -> String {
    unit.chars().cycle().take(size).collect()
}

/// Keywords and signs of all grammars, and what is in files beside them.
fn tokens() -> Vec<String> {
    let grammars: [tree_sitter::Language; 8] = [
        tree_sitter_typescript::LANGUAGE_TSX.into(),
        tree_sitter_javascript::LANGUAGE.into(),
        tree_sitter_python::LANGUAGE.into(),
        tree_sitter_rust::LANGUAGE.into(),
        tree_sitter_go::LANGUAGE.into(),
        tree_sitter_java::LANGUAGE.into(),
        tree_sitter_c::LANGUAGE.into(),
        tree_sitter_cpp::LANGUAGE.into(),
    ];
    let mut tokens: BTreeSet<String> = BTreeSet::new();
    for grammar in &grammars {
        let ids = 0..u16::try_from(grammar.node_kind_count()).unwrap();
        let unnamed = ids.filter(|id| !grammar.node_kind_is_named(*id));
        tokens.extend(unnamed.filter_map(|id| grammar.node_kind_for_id(id)).map(str::to_owned));
    }
    let others = [
        "a", "typea", "Type", "1", "0x", "\n", "\n  ", "\t", "\\", "é", "\"a\"", "'a'", "//", "/*",
        "*/",
    ];
    tokens.extend(others.map(str::to_owned));
    tokens.into_iter().collect()
}

/// The same numbers for the same seed: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize % limit
    }

    /// One to eight tokens, repeated.
    fn text(&mut self, tokens: &[String], size: usize) -> String {
        let separator = ["", " "][self.below(2)];
        let mut unit = String::new();
        for _ in 0..=self.below(8) {
            unit.push_str(&tokens[self.below(tokens.len())]);
            unit.push_str(separator);
        }
        repeated(&unit, size / 2 + self.below(size / 2))
    }
}

/// A value of `/proc/self/status`, in KiB.
fn status(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    number(value.trim().trim_end_matches(" kB"))
}

/// CPU time of this thread, in ns.
fn cpu_time() -> u64 {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

fn number(text: &str) -> usize {
    text.parse().unwrap()
}
