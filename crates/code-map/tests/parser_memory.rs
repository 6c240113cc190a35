//! The parser keeps within its memory and time budgets for any source file, and releases its memory.
//!
//! The files are parsed by child processes of a few hundred tries each. The system reports their peak size, and glibc
//! reports the allocated memory: of Rust, of tree-sitter, and of the scanners of its grammars. `just fuzz-memory` tries
//! more and longer files than a plain run of the tests.
//! more and longer files than a plain run of the tests.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

#[path = "../../core/tests/support/child.rs"]
#[allow(dead_code, reason = "shared by several tests")]
mod child;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use child::Running;
use code_map::{FileSymbols, Language, NotParsed, SymbolParser};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tasks::Cancelled;

/// A file name for every grammar.
const FILES: [&str; 9] =
    ["a.ts", "a.tsx", "a.js", "a.py", "a.rs", "a.go", "A.java", "a.c", "a.cpp"];

/// Texts that made the parser use gigabytes when they were repeated.
const KNOWN: [&str; 3] = ["=>typea", "=> returntype ", "=> - ` catch "];
const KNOWN_SIZES: [usize; 2] = [28_000, 50_000];

/// The budget of a file of up to 128 KiB, in KiB.
const BUDGET: usize = 64 * 1024;
/// Other memory that a try may need at the same time, for queries and their results.
const BESIDE: usize = 16 * 1024;
/// Maximum growth of allocated memory after any number of tries, in bytes.
const LEFT: usize = 64 << 10;
/// Memory that the system's allocator may keep, in KiB.
const KEPT: usize = 16 * 1024;
/// The total budget of all threads, in KiB.
const TOTAL: usize = 1 << 20;
/// glibc counts thread caches and the heaps of threads as allocated memory, unless they are disabled.
const ONE_HEAP: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1");
/// CPU time of a try, in ns.
const MOST_TIME: u64 = 2_000_000_000;

const TRIES_PER_PROCESS: usize = 200;
const TRIES: &str = "AGENT_CONTEXT_FUZZ_TRIES";
const SEED: &str = "AGENT_CONTEXT_FUZZ_SEED";

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    let Some((role, directory)) = child::role() else { return };
    // Limits the damage of a failing test to the machine: no more memory can be allocated beyond this.
    let most = Some(2 * TOTAL as u64 * 1024);
    setrlimit(Resource::Data, Rlimit { current: most, maximum: most }).unwrap();
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
        ["stopped", file, tries] => stop_parses(file, number(tries)),
        ["together", threads, size] => parse_together(number(threads), number(size)),
        _ => panic!("no role is called {role:?}"),
    }
}

/// Parses texts, and reports what each of them needed.
fn try_texts(file: &str, directory: &Path, texts: impl Iterator<Item = String>) {
    let (language, cancelled) = (Language::of(file).unwrap(), Cancelled::default());
    // Loads the grammar and its queries.
    SymbolParser::new().symbols(language, b"a", &cancelled).unwrap();
    let (peak, before, mut resident) = (status("VmHWM:"), allocated(), 0);
    for (count, text) in texts.enumerate() {
        let begun = cpu_time();
        let found = SymbolParser::new().symbols(language, text.as_bytes(), &cancelled);
        let took = cpu_time() - begun;
        let outcome = outcome(found.as_ref());
        drop(found);
        let left = allocated().saturating_sub(before + text.capacity());
        let grown = status("VmHWM:").saturating_sub(peak);
        let line = format!("{outcome} {took} {grown} {left}");
        if grown > BUDGET + BESIDE || took > MOST_TIME || left > LEFT || outcome == NO_MEMORY {
            let kept = directory.join(file);
            fs::write(&kept, &text).unwrap();
            child::say(&format!("failed: {line}, {}", kept.display()));
            std::process::exit(1);
        }
        child::say(&line);
        // The first tries fill the allocator's caches.
        if count <= 20 {
            resident = status("VmRSS:");
        }
    }
    let kept = status("VmRSS:").saturating_sub(resident);
    if kept > KEPT {
        child::say(&format!("failed: {kept} KiB are kept"));
        std::process::exit(1);
    }
    child::say("end");
}

/// Parses a file repeatedly while the system has too little memory for it, and reports how much is left.
fn stop_parses(file: &str, tries: usize) {
    let (language, cancelled) = (Language::of(file).unwrap(), Cancelled::default());
    let parse = |source: &str| {
        let found = SymbolParser::new().symbols(language, source.as_bytes(), &cancelled);
        outcome(found.as_ref())
    };
    // Loads the grammar and its queries.
    assert_eq!(parse("a"), "parsed");
    let source = match language {
        Language::Python => "f(1)\n",
        Language::Rust => "fn f() {}\n",
        _ => "int f;\n",
    };
    let source = source.repeat(40_000);
    let Rlimit { maximum, .. } = getrlimit(Resource::Data);
    let little = (status("VmData:") as u64 + 1024) * 1024;
    setrlimit(Resource::Data, Rlimit { current: Some(little), maximum }).unwrap();
    assert_eq!(parse(&source), NO_MEMORY);
    let before = allocated();
    for _ in 0..tries {
        assert_eq!(parse(&source), NO_MEMORY);
    }
    let left = allocated().saturating_sub(before);
    setrlimit(Resource::Data, Rlimit { current: maximum, maximum }).unwrap();
    assert_eq!(parse("a"), "parsed");
    child::say(&format!("left {left}"));
}

/// Each thread parses a hostile text of this size for each of these files, and a valid file after each of them.
fn parse_together(threads: usize, size: usize) {
    let cancelled = Cancelled::default();
    let parse = |file: &str, text: &str| {
        SymbolParser::new().symbols(Language::of(file).unwrap(), text.as_bytes(), &cancelled)
    };
    let good = [("a.c", "int found(void) { return 1; }"), ("A.java", "class Found {}")];
    for (file, text) in good {
        parse(file, text).unwrap();
    }
    let before = allocated();
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for round in 0..good.len() {
                    let (file, text) = good[(thread + round) % good.len()];
                    let hostile = repeated(KNOWN[0], size);
                    child::say(outcome(parse(file, &hostile).as_ref()));
                    let found = parse(file, text).unwrap();
                    assert_eq!(found.definitions.len(), 1, "{file}");
                    child::say("found");
                }
            });
        }
    });
    let left = allocated().saturating_sub(before);
    child::say(&format!("peak {} {left}", status("VmHWM:")));
}

const NO_MEMORY: &str = "out-of-memory";

fn outcome(found: Result<&FileSymbols, &NotParsed>) -> &'static str {
    match found {
        Ok(_) => "parsed",
        Err(NotParsed::OverBudget) => "over",
        Err(NotParsed::OutOfMemory) => NO_MEMORY,
    }
}

/// The results of one process's tries.
#[derive(Default)]
struct Tally {
    tries: usize,
    over: usize,
    longest: u64,
    largest: usize,
    left: usize,
}

fn run(role: &str) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start_with(role, folder.path(), &[ONE_HEAP]);
    let mut tally = Tally::default();
    loop {
        let line = running.next().unwrap_or_else(|| panic!("{role:?} ended early"));
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["end"] => break,
            [outcome @ ("parsed" | "over"), took, grown, left] => {
                tally.tries += 1;
                tally.over += usize::from(outcome == "over");
                tally.longest = tally.longest.max(took.parse().unwrap());
                tally.largest = tally.largest.max(number(grown));
                tally.left = tally.left.max(number(left));
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
fn all_threads_together_stay_within_the_total() {
    let threads = 32;
    let folder = tempfile::tempdir().unwrap();
    let role = format!("together {threads} 4000");
    let (said, ended) = Running::start_with(&role, folder.path(), &[ONE_HEAP]).finish();
    assert!(ended, "{said:?}");
    let said_by = |word| said.iter().filter(|line| *line == word).count();
    assert_eq!(said_by("found"), 2 * threads, "{said:?}");
    assert_eq!(said_by("over") + said_by("parsed"), 2 * threads, "{said:?}");
    let words: Vec<&str> = said.last().unwrap().split(' ').collect();
    let ["peak", peak, left] = words[..] else { panic!("{said:?}") };
    // Each of them would use its own budget: twice the total.
    assert!((TOTAL / 2..TOTAL + BUDGET).contains(&number(peak)), "{peak} KiB");
    assert!(number(left) <= LEFT, "{left} bytes are left");
    println!("{threads} threads: at most {peak} KiB, {left} bytes left");
}

#[test]
fn nothing_at_all_is_left_of_parses_that_were_stopped_by_a_lack_of_memory() {
    // Their scanners allocate separately.
    for file in ["a.py", "a.rs", "a.cpp"] {
        let folder = tempfile::tempdir().unwrap();
        let mut running =
            Running::start_with(&format!("stopped {file} 100"), folder.path(), &[ONE_HEAP]);
        assert_eq!(running.expect("left"), "0", "{file}");
        assert!(running.finish().1, "{file}");
    }
}

#[test]
fn nothing_is_left_of_parses_that_were_stopped() {
    for file in ["A.java", "a.c"] {
        // On a busy machine, some reach the time limit first.
        assert!(run(&format!("known {file} 0 5000 80")).over > 40, "{file}");
    }
}

#[test]
fn random_repeated_texts_stay_within_the_budget() {
    let variable = |name, default| std::env::var(name).map_or(default, |text| number(&text));
    // Few and short by default, because the build is not optimised.
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
                    let Tally { tries, over, longest, largest, left } = run(role);
                    let longest = longest / 1_000_000;
                    println!(
                        "{file}: {tries} tries, {over} stopped, at most {longest} ms, {largest} KiB, \
                         {left} bytes left"
                    );
                }
            });
        }
    });
}

fn repeated(unit: &str, size: usize) -> String {
    unit.chars().cycle().take(size).collect()
}

/// Keywords and signs of all grammars, and other tokens of source files.
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

/// Random numbers with the same sequence for the same seed: splitmix64.
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

/// The allocated bytes, including the allocator's overhead.
#[allow(unsafe_code, reason = "glibc is asked")]
fn allocated() -> usize {
    // SAFETY: it only reads what the allocator counts.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

/// CPU time of this thread, in ns.
fn cpu_time() -> u64 {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

fn number(text: &str) -> usize {
    text.parse().unwrap()
}
