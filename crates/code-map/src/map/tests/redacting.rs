//! Everything that is stored was redacted.

use std::{fs, sync::Arc};

use redaction::{CustomFind, CustomRule, EnvironmentValues, Redaction, RedactionOptions, Redactor};

use super::{
    super::{RefreshOptions, SkipReason},
    support::Workspace,
};

/// In two parts: hosting services refuse pushes that contain a complete one.
fn secret() -> String {
    ["gh", "p_", "Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq"].concat()
}

fn options(rules: Vec<CustomRule>) -> RefreshOptions {
    let redactor =
        Redactor::new(RedactionOptions { rules, ..RedactionOptions::default() }).unwrap();
    let redaction = Redaction::new(redactor, Arc::new(EnvironmentValues::default()));
    RefreshOptions { redaction: Some(redaction), ..RefreshOptions::default() }
}

fn literal(text: &str) -> CustomRule {
    CustomRule { name: "own".to_owned(), find: CustomFind::Literals(vec![text.to_owned()]) }
}

fn holds(workspace: &Workspace, text: &str) -> bool {
    let bytes = fs::read(workspace.cache()).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn secrets_are_neither_kept_nor_shown() {
    let workspace = Workspace::new();
    let secret = secret();
    workspace.write("a.ts", &format!("const TOKEN = '{secret}'\nfunction {secret} in {secret}"));
    let snapshot = workspace.map.refresh(options(Vec::new())).await.unwrap();
    let symbols = snapshot.symbols("a.ts").unwrap();
    assert!(symbols[0].signature.contains("[REDACTED:"), "{symbols:?}");
    assert!(symbols[1].name.contains("[REDACTED:"), "{symbols:?}");
    assert!(symbols[1].container.as_ref().unwrap().contains("[REDACTED:"), "{symbols:?}");
    assert!(!snapshot.render(&snapshot.rank(&[]), 1000).text.contains(&secret));
    assert!(!holds(&workspace, &secret));
    workspace.map.refresh(RefreshOptions::default()).await.unwrap();
    assert!(holds(&workspace, &secret), "without redaction everything is what it is");
}

#[tokio::test]
async fn other_rules_rebuild_the_cache() {
    for restarts in [false, true] {
        let mut workspace = Workspace::new();
        workspace.write("a.ts", "class InternalName");
        let name = |snapshot: Arc<super::super::Snapshot>| {
            snapshot.symbols("a.ts").unwrap()[0].signature.clone()
        };
        let cases =
            [(RefreshOptions::default(), 1), (options(Vec::new()), 1), (options(Vec::new()), 0)];
        for (options, parses) in cases {
            if restarts {
                workspace.again();
            }
            let found = name(workspace.map.refresh(options).await.unwrap());
            assert_eq!((found.as_str(), workspace.parses()), ("export class InternalName", parses));
        }
        if restarts {
            workspace.again();
        }
        let found =
            name(workspace.map.refresh(options(vec![literal("InternalName")])).await.unwrap());
        assert_eq!((found.as_str(), workspace.parses()), ("export class [REDACTED:own]", 1));
        assert!(!holds(&workspace, "InternalName"));
    }
}

#[tokio::test]
async fn what_cannot_be_redacted_is_not_kept() {
    let workspace = Workspace::new();
    let find =
        CustomFind::Expression { source: "(?:[ab]?){500}b".to_owned(), flags: String::new() };
    workspace.write("good.ts", "class Good");
    workspace.write("hard.ts", &format!("class {}", "ab".repeat(50_000)));
    let rules = vec![CustomRule { name: "own".to_owned(), find }];
    let snapshot = workspace.map.refresh(options(rules)).await.unwrap();
    assert!(snapshot.paths().eq(["good.ts"]));
    assert_eq!(snapshot.skipped().files[0].reason, SkipReason::NotRedacted);
}
