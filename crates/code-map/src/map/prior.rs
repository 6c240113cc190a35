//! Path priors: the weight of a file by its path only. Tests, examples, third-party and generated files have low
//! weights, entry points high ones.

/// Directories of tests, examples and benchmarks.
const ASIDE: &[&str] = &[
    "__fixtures__",
    "__mocks__",
    "__snapshots__",
    "__test__",
    "__tests__",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "demo",
    "demos",
    "doc",
    "docs",
    "e2e",
    "example",
    "examples",
    "fixture",
    "fixtures",
    "fuzz",
    "integration-tests",
    "mock",
    "mocks",
    "playground",
    "sample",
    "samples",
    "spec",
    "specs",
    "stories",
    "test",
    "testdata",
    "testing",
    "tests",
    "testutil",
];
/// Directories of third-party or generated files.
const FOREIGN: &[&str] = &[
    "__generated__",
    "build",
    "dist",
    "extern",
    "external",
    "gen",
    "generated",
    "out",
    "target",
    "third-party",
    "third_party",
    "thirdparty",
    "vendor",
    "vendored",
];
/// Parts of names, between dots, of generated files.
const GENERATED: &[&str] = &["bundle", "chunk", "generated", "gen", "min", "pb"];
/// Names of entry points.
const ENTRIES: &[&str] = &[
    "__init__", "__main__", "app", "cli", "index", "init", "lib", "main", "mod", "package",
    "server",
];

/// Weight of tests, examples and benchmarks.
const OF_ASIDE: f64 = 0.25;
/// Weight of third-party and generated files.
const OF_FOREIGN: f64 = 0.1;
/// Weight of an entry point.
const OF_ENTRY: f64 = 1.5;

/// The weight of a file by its path; 1 for most files.
pub(super) fn prior(path: &str) -> f64 {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // As Java names tests; `contest` is not one.
    let is_named_test = stem.ends_with("Test") || stem.ends_with("Tests");
    let stem = stem.to_ascii_lowercase();
    let is_in = |known: &[&str]| {
        directories
            .split('/')
            .any(|part| known.iter().any(|known| part.eq_ignore_ascii_case(known)))
    };
    if is_in(FOREIGN) || is_generated(&stem) {
        OF_FOREIGN
    } else if is_in(ASIDE) || is_named_test || is_test(&stem) {
        OF_ASIDE
    } else if ENTRIES.contains(&stem.as_str()) {
        OF_ENTRY
    } else {
        1.0
    }
}

fn is_generated(stem: &str) -> bool {
    stem.split('.').skip(1).any(|part| GENERATED.contains(&part))
        || stem.ends_with("_pb2")
        || stem.ends_with("_generated")
        || stem.ends_with("-min")
}

fn is_test(stem: &str) -> bool {
    matches!(stem, "test" | "tests" | "conftest")
        || stem.split('.').skip(1).any(|part| matches!(part, "test" | "spec" | "bench" | "stories"))
        || stem.starts_with("test_")
        || ["_test", "_tests", "-test", "_spec", "_bench"].iter().any(|end| stem.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_what_others_wrote_count_for_less() {
        for path in
            ["src/store.rs", "lib/contest.ts", "latest/protest.py", "min.js", "a/testament.go"]
        {
            assert_eq!(prior(path), 1.0, "{path}");
        }
        for path in [
            "tests/kill.rs",
            "a/__test__/b/c.ts",
            "lib/manager.test.ts",
            "pkg/store_test.go",
            "test_store.py",
            "Examples/main.rs",
            "src/store/tests.rs",
            "conftest.py",
            "src/main/StoreTest.java",
        ] {
            assert_eq!(prior(path), OF_ASIDE, "{path}");
        }
        for path in
            ["vendor/a/b.go", "app.min.js", "api/user.pb.go", "user_pb2.py", "tests/vendor/x.c"]
        {
            assert_eq!(prior(path), OF_FOREIGN, "{path}");
        }
        for path in ["src/lib.rs", "index.ts", "a/b/mod.rs", "pkg/__init__.py"] {
            assert_eq!(prior(path), OF_ENTRY, "{path}");
        }
    }
}
