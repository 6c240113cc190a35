//! The query focus: matching files and definitions come first, and results are deterministic.

use proptest::prelude::*;

use super::support::{Workspace, snapshot};
use crate::Snapshot;

/// The paths of files, best first.
fn files(snapshot: &Snapshot, focus: &[&str]) -> Vec<String> {
    let focus: Vec<String> = focus.iter().map(|entry| (*entry).to_owned()).collect();
    let ranking = snapshot.rank(&focus);
    let paths: Vec<&str> = snapshot.paths().collect();
    ranking.files.iter().map(|file| paths[*file as usize].to_owned()).collect()
}

/// The names of definitions, best first.
fn names(snapshot: &Snapshot, focus: &[&str]) -> Vec<String> {
    let focus: Vec<String> = focus.iter().map(|entry| (*entry).to_owned()).collect();
    let ranking = snapshot.rank(&focus);
    let paths: Vec<&str> = snapshot.paths().collect();
    let symbols = ranking.definitions.iter().map(|place| {
        snapshot.symbols(paths[place.file as usize]).unwrap()[place.definition as usize]
            .name
            .clone()
    });
    symbols.collect()
}

/// Three components with few references between them, and a module that all of them use.
async fn project() -> std::sync::Arc<Snapshot> {
    snapshot(&[
        ("src/shared/logger.ts", "class WorkspaceLogger\nfunction formatMessage"),
        ("src/auth/login.ts", "class LoginForm\nmethod checkPassword in LoginForm\nuse WorkspaceLogger\nuse TokenStore"),
        ("src/auth/tokens.ts", "class TokenStore\nfunction issueToken\nuse WorkspaceLogger"),
        ("src/billing/invoice.ts", "class InvoicePrinter\nuse WorkspaceLogger\nuse TaxTable"),
        ("src/billing/tax.ts", "class TaxTable\nfunction lookUpRate\nuse WorkspaceLogger"),
        ("src/search/query.ts", "class QueryParser\nuse WorkspaceLogger"),
        ("__tests__/invoice.ts", "class InvoiceTests\nuse InvoicePrinter\nuse TaxTable\nuse lookUpRate"),
    ])
    .await
}

#[tokio::test]
async fn what_many_use_comes_first() {
    let project = project().await;
    assert_eq!(files(&project, &[])[0], "src/shared/logger.ts");
    assert_eq!(files(&project, &[]).last().unwrap(), "__tests__/invoice.ts");
    let names = names(&project, &[]);
    assert_eq!(names[0], "WorkspaceLogger");
    let place = |name: &str| names.iter().position(|known| known == name).unwrap();
    assert!(place("TokenStore") < place("issueToken"), "{names:?}");
    assert!(place("TaxTable") < place("QueryParser"), "{names:?}");
}

#[tokio::test]
async fn a_use_leads_to_the_file_that_defines_the_name() {
    let found = snapshot(&[
        ("a.ts", "class Unused\nclass SharedName\nuse SharedName\nuse Unused"),
        ("b.ts", "class OnlyHere"),
        ("c.ts", "class Caller\nuse OnlyHere"),
        ("d.py", "class Foreign"),
        ("e.ts", "class Other\nuse Foreign"),
    ])
    .await;
    assert_eq!(files(&found, &[])[0], "b.ts", "uses of one's own names lead nowhere");
    let rest = ["a.ts", "c.ts", "d.py", "e.ts"];
    assert_eq!(files(&found, &[])[1..], rest, "nor do those of another language");
}

#[tokio::test]
async fn a_name_that_few_files_define_counts_more() {
    let mut sources: Vec<(String, String)> = (0..10)
        .map(|number| (format!("many{number}.ts"), "function CommonThing".to_owned()))
        .collect();
    sources.push(("rare.ts".to_owned(), "function SingleThing".to_owned()));
    for number in 0..5 {
        let text = "use CommonThing\nuse SingleThing".to_owned();
        sources.push((format!("user{number}.ts"), text));
    }
    let sources: Vec<(&str, &str)> =
        sources.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let found = snapshot(&sources).await;
    assert_eq!(files(&found, &[])[0], "rare.ts");
}

#[tokio::test]
async fn a_name_that_many_define_takes_little_from_others() {
    let many: Vec<String> = (0..50).map(|number| format!("many{number}.ts")).collect();
    let mut sources: Vec<(&str, &str)> =
        many.iter().map(|path| (path.as_str(), "function CommonThing")).collect();
    sources.push(("mid.ts", "function MiddleThing"));
    sources.push(("other.ts", "function AnotherThing"));
    sources.push(("rare.ts", "function SingularThing"));
    sources.push(("user1.ts", "use CommonThing\nuse SingularThing"));
    sources.push(("user2.ts", "use MiddleThing\nuse AnotherThing"));
    let found = snapshot(&sources).await;
    assert_eq!(files(&found, &[])[0], "rare.ts");
}

#[tokio::test]
async fn a_use_of_a_specific_name_counts_more() {
    for (better, worse) in
        [("saveContext", "save"), ("collect_all", "_collect_all"), ("Frob", "iter")]
    {
        let (first, second) = (format!("function {worse}"), format!("function {better}"));
        let uses = format!("use {better}\nuse {worse}");
        let found = snapshot(&[("a.ts", &first), ("b.ts", &second), ("c.ts", &uses)]).await;
        assert_eq!(files(&found, &[])[0], "b.ts", "{better} {worse}");
    }
}

#[tokio::test]
async fn paths_are_understood_however_they_are_written() {
    let workspace = Workspace::new();
    workspace.write("src/a.ts", "class Popular");
    workspace.write("src/b.ts", "class Middle\nuse Popular");
    workspace.write("lib/deep/c.ts", "class Lonely");
    workspace.write("my files/d e.ts", "class Spaced");
    let snapshot = workspace.refresh().await;
    assert_ne!(files(&snapshot, &[])[0], "lib/deep/c.ts");
    let absolute = workspace.path("lib/deep/c.ts");
    for entry in [
        "lib/deep/c.ts",
        "./lib/deep/c.ts",
        "lib/deep/",
        "lib",
        "./lib/",
        "deep/c.ts",
        "c.ts",
        "lib//deep",
        absolute.to_str().unwrap(),
        " lib/deep ",
        "what does lib/deep/c.ts do?",
        "see `c.ts`.",
        "Lonely",
        "new Lonely()",
        "x::Lonely",
        "lonely",
    ] {
        assert_eq!(files(&snapshot, &[entry])[0], "lib/deep/c.ts", "{entry}");
    }
    workspace.write("lib/deeper/other.ts", "class Other");
    let snapshot = workspace.refresh().await;
    let exact = snapshot.rank(&["lib/deep/c.ts".to_owned()]);
    for entry in [
        "lib/deep/",
        "./lib/deep/c.ts",
        "lib//deep/./c.ts/",
        absolute.to_str().unwrap(),
        "deep/c.ts",
    ] {
        assert_eq!(snapshot.rank(&[entry.to_owned()]), exact, "{entry}");
    }
    // If the piece were treated as words, other files with these words would come first.
    workspace.write("src/deep.ts", "class Deep");
    let snapshot = workspace.refresh().await;
    let found = files(&snapshot, &[absolute.to_str().unwrap()]);
    assert_eq!(found[..2], ["lib/deep/c.ts", "src/a.ts"], "{found:?}");
    assert_eq!(files(&snapshot, &["my files/d e.ts"])[0], "my files/d e.ts");
    for entry in ["", " ", ".", "/", "..", "nothing-like-it", "the of and"] {
        assert_eq!(files(&snapshot, &[entry]), files(&snapshot, &[]), "{entry:?}");
    }
}

#[tokio::test]
async fn a_directory_brings_what_its_files_use() {
    let project = project().await;
    let found = files(&project, &["src/billing"]);
    assert_eq!(found[..2], ["src/billing/tax.ts", "src/billing/invoice.ts"], "{found:?}");
    let found = files(&project, &["src/auth"]);
    let place = |path: &str| found.iter().position(|known| known == path).unwrap();
    assert!(place("src/shared/logger.ts") < place("src/search/query.ts"), "{found:?}");
}

#[tokio::test]
async fn often_used_names_and_single_ones_come_first() {
    let often = "use OftenUsed\n".repeat(9);
    let (first, second) = ("function SeldomUsed", "function OftenUsed");
    let user = format!("{often}use SeldomUsed");
    let found = snapshot(&[("a.ts", first), ("b.ts", second), ("c.ts", &user)]).await;
    assert_eq!(names(&found, &[])[..2], ["OftenUsed", "SeldomUsed"]);
    let overloaded = "function OverLoaded\n".repeat(4) + "function OnceDefined";
    let sources = [("a.ts", overloaded.as_str()), ("b.ts", "use OverLoaded\nuse OnceDefined")];
    let found = snapshot(&sources).await;
    assert_eq!(names(&found, &[])[0], "OnceDefined", "they share what comes to the name");
}

#[tokio::test]
async fn one_file_does_not_take_all_places() {
    let full: String = (0..16).map(|number| format!("function FromFull{number}\n")).collect();
    let uses: String = (0..16).map(|number| format!("use FromFull{number}\n").repeat(4)).collect();
    let uses = uses + "use FromOther1\n";
    let other: String = (0..20).map(|number| format!("function Unused{number}\n")).collect();
    let other = other + "function FromOther1";
    let found = snapshot(&[("a.ts", &full), ("b.ts", &other), ("c.ts", &uses)]).await;
    let names = names(&found, &[]);
    assert_eq!(names[0], "FromFull0");
    assert_ne!(names[16], "FromOther1", "{names:?}");
}

#[tokio::test]
async fn words_that_few_names_have_and_names_of_few_words_count_for_more() {
    let found = snapshot(&[
        ("a.ts", "class StoreOne\nclass StoreTwo\nclass StoreThree\nclass LoginFieldBase"),
        ("b.ts", "class WidgetOne\nclass LoginBase"),
    ])
    .await;
    assert_eq!(names(&found, &["a store or a widget"])[0], "WidgetOne");
    assert_eq!(names(&found, &["login"])[0], "LoginBase");
}

#[tokio::test]
async fn what_is_asked_about_comes_before_what_it_uses() {
    let found = snapshot(&[
        ("a.ts", "class CartView\nuse WorkspaceLogger"),
        ("b.ts", "class CartModel\nuse WorkspaceLogger"),
        ("log.ts", "class WorkspaceLogger"),
    ])
    .await;
    assert_eq!(files(&found, &[])[0], "log.ts");
    assert_eq!(files(&found, &["cart"])[2], "log.ts");
}

#[tokio::test]
async fn a_test_that_is_asked_for_comes_first() {
    let project = project().await;
    assert_eq!(files(&project, &["__tests__/invoice.ts"])[0], "__tests__/invoice.ts");
}

#[tokio::test]
async fn names_and_words_bring_their_definitions() {
    let project = project().await;
    for (focus, expected) in [
        ("QueryParser", "QueryParser"),
        ("how are queries parsed", "QueryParser"),
        ("Where is the password of a login checked?", "checkPassword"),
        ("look up a rate", "lookUpRate"),
        ("issueToken()", "issueToken"),
        ("LoginForm.checkPassword", "checkPassword"),
    ] {
        let found = names(&project, &[focus]);
        assert!(found[..2].iter().any(|name| name == expected), "{focus}: {found:?}");
    }
    assert_eq!(names(&project, &["look", "rate"])[0], "lookUpRate");
    assert_eq!(
        files(&project, &["billing"])[..2],
        ["src/billing/tax.ts", "src/billing/invoice.ts"]
    );
}

#[tokio::test]
async fn a_type_that_is_asked_for_brings_its_methods() {
    let found = snapshot(&[
        ("a.ts", "class Cart\nmethod addItem in Cart\nmethod removeItem in Cart\nclass Other\nmethod paint in Other"),
        ("b.ts", "class User\nuse Other\nuse paint"),
    ])
    .await;
    let found = names(&found, &["Cart"]);
    assert_eq!(found[0], "Cart");
    let place = |name: &str| found.iter().position(|known| known == name).unwrap();
    assert!(place("addItem") < place("paint"), "{found:?}");
}

#[tokio::test]
async fn the_same_is_said_every_time() {
    let mut workspace = Workspace::new();
    for number in 0..200 {
        let text = format!(
            "class Shape{number}\nfunction area{}\nuse Shape{}\nuse Shape{}\nuse area{}",
            number % 20,
            number * 7 % 200,
            number * 13 % 200,
            number * 3 % 20
        );
        workspace.write(&format!("{}/{number}.ts", number % 9), &text);
    }
    let first = workspace.refresh().await;
    for _ in 0..3 {
        std::fs::remove_dir_all(workspace.indexes()).unwrap();
        workspace.again();
        let again = workspace.refresh().await;
        for focus in [vec![], vec!["3".to_owned()], vec!["shape area".to_owned()]] {
            let (one, other) = (first.rank(&focus), again.rank(&focus));
            assert_eq!(one, other);
            assert_eq!(first.render(&one, 2000), again.render(&other, 2000));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_focus_is_answered(
        entries in proptest::collection::vec(".{0,30}|src/auth|LoginForm|token", 0..6),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let project = runtime.block_on(project());
        let ranking = project.rank(&entries);
        let mut seen = ranking.files.clone();
        seen.sort_unstable();
        prop_assert!(seen.into_iter().eq(0..project.file_count() as u32));
        prop_assert_eq!(ranking.definitions.len(), project.definition_count());
    }
}
