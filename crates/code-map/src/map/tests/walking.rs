//! Which files a workspace has.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use super::{
    super::{Limits, RefreshOptions, SkipReason},
    support::{NEEDS_TOO_MUCH_MEMORY, Workspace},
};
use crate::{Error, Notice, OnNotice};

#[tokio::test]
async fn source_files_are_found_and_nothing_else() {
    let workspace = Workspace::new();
    for path in
        ["b.ts", "a/c.rs", "a/b/d.py", "readme.md", ".hidden.ts", ".github/x.js", "Makefile"]
    {
        workspace.write(path, "");
    }
    assert_eq!(workspace.paths().await, ["a/b/d.py", "a/c.rs", "b.ts"]);
}

#[tokio::test]
async fn ignore_files_count_with_and_without_a_repository() {
    for is_repository in [false, true] {
        let workspace = Workspace::new();
        for path in [
            "kept.ts",
            "build/out.ts",
            "a/build/out.ts",
            "a/skipped.ts",
            "a/kept.ts",
            "b/own.ts",
            "b/kept.ts",
            "c/also.ts",
            "d/excluded.ts",
        ] {
            workspace.write(path, "");
        }
        workspace.write(".gitignore", "build/\nskipped.ts\n");
        workspace.write("b/.gitignore", "own.ts\n");
        workspace.write(".ignore", "also.ts\n");
        let mut expected = vec!["a/kept.ts", "b/kept.ts", "d/excluded.ts", "kept.ts"];
        if is_repository {
            workspace.write(".git/info/exclude", "excluded.ts\n");
            expected.retain(|path| !path.contains("excluded"));
        }
        assert_eq!(workspace.paths().await, expected, "repository: {is_repository}");
    }
}

#[tokio::test]
async fn ignore_files_above_the_workspace_count_within_its_repository() {
    let workspace = Workspace::new();
    workspace.write("kept.ts", "");
    workspace.write("skipped.ts", "");
    let above = workspace.root().parent().unwrap().to_owned();
    fs::write(above.join(".gitignore"), "skipped.ts\n").unwrap();
    assert_eq!(workspace.paths().await, ["kept.ts", "skipped.ts"]);
    fs::create_dir(above.join(".git")).unwrap();
    assert_eq!(workspace.paths().await, ["kept.ts"]);
}

#[tokio::test]
async fn what_others_wrote_is_left_out() {
    let workspace = Workspace::new();
    for path in ["kept.js", "node_modules/a/index.js", "a/node_modules/b.js", "vendor/c.js"] {
        workspace.write(path, "");
    }
    assert_eq!(workspace.paths().await, ["kept.js", "vendor/c.js"]);
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let workspace = Workspace::new();
    workspace.write("a/real.ts", "");
    fs::write(workspace.root().parent().unwrap().join("outside.ts"), "").unwrap();
    symlink(workspace.path("a"), workspace.path("b")).unwrap();
    symlink(workspace.path("a/real.ts"), workspace.path("linked.ts")).unwrap();
    symlink("../../outside.ts", workspace.path("a/outside.ts")).unwrap();
    symlink("..", workspace.path("a/round")).unwrap();
    assert_eq!(workspace.paths().await, ["a/real.ts"]);
}

#[cfg(unix)]
#[tokio::test]
async fn names_that_cannot_be_shown_are_left_out() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let workspace = Workspace::new();
    workspace.write("fine é日.ts", "");
    workspace.write("two\nlines.ts", "");
    // Some file systems refuse such a name.
    let _ = fs::write(workspace.root().join(OsStr::from_bytes(b"\xff.ts")), "");
    let snapshot = workspace.refresh().await;
    assert!(snapshot.paths().eq(["fine é日.ts"]));
    assert_eq!(snapshot.skipped().files[0].path, "two\nlines.ts");
    assert_eq!(snapshot.skipped().files[0].reason, SkipReason::Unnameable);
}

#[tokio::test]
async fn the_shallowest_files_stay_within_the_bound() {
    let workspace = Workspace::with(Limits { files: 3, ..Limits::default() });
    for path in ["z.ts", "b/b.ts", "b/a.ts", "a/a/a.ts", "c/a.ts"] {
        workspace.write(path, "class A");
    }
    let snapshot = workspace.refresh().await;
    assert!(snapshot.paths().eq(["b/a.ts", "b/b.ts", "z.ts"]));
    assert_eq!((snapshot.skipped().beyond_bound, snapshot.skipped().total), (2, 0));
    assert!(snapshot.render(&snapshot.rank(&[]), 1000).is_truncated);
    fs::remove_file(workspace.path("z.ts")).unwrap();
    fs::remove_file(workspace.path("c/a.ts")).unwrap();
    let snapshot = workspace.refresh().await;
    assert!(snapshot.paths().eq(["a/a/a.ts", "b/a.ts", "b/b.ts"]));
    assert!(!snapshot.render(&snapshot.rank(&[]), 1000).is_truncated);
}

#[tokio::test]
async fn the_bound_is_kept_among_many_files() {
    let workspace = Workspace::with(Limits { files: 100, ..Limits::default() });
    for number in 0..3000 {
        workspace.write_now(&format!("{}/{:02}/{number:04}.ts", number % 7, number % 13), "");
    }
    workspace.write("top.ts", "");
    let snapshot = workspace.refresh().await;
    let mut expected: Vec<String> = (0..3000)
        .map(|number| format!("{}/{:02}/{number:04}.ts", number % 7, number % 13))
        .collect();
    expected.sort();
    expected.truncate(99);
    expected.push("top.ts".to_owned());
    assert!(snapshot.paths().eq(expected.iter().map(String::as_str)));
    assert_eq!(snapshot.skipped().beyond_bound, 2901);
}

#[tokio::test]
async fn too_large_files_are_listed_without_symbols() {
    let workspace = Workspace::with(Limits { file_bytes: 20, ..Limits::default() });
    workspace.write("small.ts", "class ExactlyTwenty_");
    workspace.write("large.ts", "class WithTwentyOne__");
    let snapshot = workspace.refresh().await;
    assert!(snapshot.paths().eq(["large.ts", "small.ts"]));
    assert_eq!(snapshot.symbols("small.ts").unwrap().len(), 1);
    assert!(snapshot.symbols("large.ts").unwrap().is_empty());
    assert_eq!(snapshot.skipped().total, 1);
    assert_eq!(snapshot.skipped().files[0].reason, SkipReason::TooLarge);
    assert_eq!(workspace.disk.reads(), ["small.ts"]);
}

/// Collects what was skipped, as JSON.
fn skipped_into(reported: &Arc<Mutex<Vec<String>>>) -> Arc<OnNotice> {
    let reported = Arc::clone(reported);
    Arc::new(move |notice| {
        if let Notice::Skipped(skipped) = notice {
            reported.lock().unwrap().push(serde_json::to_string(skipped).unwrap());
        }
    })
}

#[tokio::test]
async fn a_file_over_the_memory_budget_is_listed_and_reported_and_not_parsed_again() {
    let mut workspace = Workspace::new();
    workspace.write("costly.ts", NEEDS_TOO_MUCH_MEMORY);
    workspace.write("fine.ts", "class A");
    for parses in [2, 0, 0] {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let options = RefreshOptions {
            on_notice: Some(skipped_into(&reported)),
            ..RefreshOptions::default()
        };
        let snapshot = workspace.map.refresh(options).await.unwrap();
        assert!(snapshot.paths().eq(["costly.ts", "fine.ts"]));
        assert!(snapshot.symbols("costly.ts").unwrap().is_empty());
        assert_eq!(snapshot.symbols("fine.ts").unwrap().len(), 1);
        assert_eq!(workspace.parses(), parses);
        let expected = r#"{"files":[{"path":"costly.ts","reason":"tooMuchMemory"}],"total":1,"beyondBound":0}"#;
        assert_eq!(*reported.lock().unwrap(), [expected]);
        // Another process knows only the cache.
        workspace.again();
    }
    workspace.write("costly.ts", "class B");
    let snapshot = workspace.refresh().await;
    assert_eq!((snapshot.definition_count(), snapshot.skipped().total), (2, 0));
}

#[tokio::test]
async fn an_unreadable_file_is_skipped_and_reported() {
    let mut workspace = Workspace::new();
    for (path, text) in [("a.ts", "class A"), ("b/b.ts", "class B"), ("c.ts", "class C")] {
        workspace.write(path, text);
    }
    let closed = ["b/b.ts".to_owned(), "looked at/c.ts".to_owned()];
    workspace.disk.closed.lock().unwrap().extend(closed);
    let told = Arc::new(Mutex::new(Vec::new()));
    for round in ["class A", "class Changed"] {
        workspace.write_old("a.ts", round, 50);
        let options =
            RefreshOptions { on_notice: Some(skipped_into(&told)), ..RefreshOptions::default() };
        let snapshot = workspace.map.refresh(options).await.unwrap();
        assert!(snapshot.paths().eq(["a.ts"]));
        let skipped = snapshot.skipped().files.iter();
        let skipped: Vec<_> = skipped.map(|file| (file.path.as_str(), file.reason)).collect();
        let unreadable = SkipReason::Unreadable;
        assert_eq!(skipped, [("b/b.ts", unreadable), ("c.ts", unreadable)]);
    }
    let expected = r#"{"files":[{"path":"b/b.ts","reason":"unreadable"},{"path":"c.ts","reason":"unreadable"}],"total":2,"beyondBound":0}"#;
    assert_eq!(*told.lock().unwrap(), [expected], "once");
    workspace.disk.closed.lock().unwrap().clear();
    workspace.again();
    let snapshot = workspace.refresh().await;
    assert_eq!((snapshot.file_count(), snapshot.skipped().total), (3, 0));
}

#[tokio::test]
async fn a_workspace_that_is_not_there_is_not_found() {
    let workspace = Workspace::new();
    fs::remove_dir(workspace.root()).unwrap();
    let error = workspace.map.refresh(RefreshOptions::default()).await.unwrap_err();
    assert!(matches!(error, Error::WorkspaceNotFound(_)), "{error}");
    assert!(!workspace.indexes().exists());
}
