//! Custom rules, the environment's values and allowed texts, through the public API.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use redaction::{
    Allowed, CustomFind, CustomRule, EnvironmentValues, ErrorKind, Redaction, RedactionOptions,
    Redactor, Report, Result,
};

fn rule(name: &str, source: &str, flags: &str) -> CustomRule {
    let find = CustomFind::Expression { source: source.to_owned(), flags: flags.to_owned() };
    CustomRule { name: name.to_owned(), find }
}

fn redaction(options: RedactionOptions, variables: &[(&str, &str)]) -> Result<Redaction> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let environment = EnvironmentValues::new(variables.iter().map(owned));
    Ok(Redaction::new(Redactor::new(options)?, environment.into()))
}

#[test]
fn own_rules_and_the_environment_are_redacted_and_what_is_allowed_is_not() {
    let literals = CustomFind::Literals(vec!["Blue Heron".to_owned(), "Grey Heron".to_owned()]);
    let options = RedactionOptions {
        rules: vec![
            rule("badge", r"\bbadge (?<secret>[A-Z]{2}\d{3})\b", ""),
            CustomRule { name: "projects".to_owned(), find: literals },
        ],
        allowed: vec![Allowed::Expression { source: "^ZZ".to_owned(), flags: String::new() }],
        ..RedactionOptions::default()
    };
    let redaction = redaction(options, &[("APP_PASSPHRASE", "plum gravel otter")]).unwrap();
    let mut report = Report::default();
    let text = "badge AB123, badge ZZ999, Blue Heron (plum gravel otter), Grey Heron";
    let redacted = redaction.text(text, &mut report).unwrap().unwrap();
    for secret in ["AB123", "Blue Heron", "plum gravel otter", "Grey Heron"] {
        assert!(!redacted.contains(secret), "{redacted}");
    }
    assert!(
        redacted.starts_with("badge [REDACTED:badge], badge ZZ999, [REDACTED:projects] ("),
        "{redacted}"
    );
    let count = |rule: &str| {
        report.findings().iter().find(|found| &*found.rule == rule).map(|found| found.count)
    };
    assert_eq!((count("badge"), count("projects"), report.total()), (Some(1), Some(2), 4));
    assert_eq!(redaction.text(&redacted, &mut report).unwrap(), None, "it is redacted once");
}

#[test]
fn what_cannot_be_searched_for_is_refused_when_the_rules_are_made() {
    let refused = |options| redaction(options, &[]).map(drop).unwrap_err();
    let rules = vec![rule("fine", "a+", ""), rule("ahead", "ab(?=c)", "")];
    let error = refused(RedactionOptions { rules, ..RedactionOptions::default() });
    assert_eq!(error.kind, ErrorKind::InvalidOption);
    for part in ["patterns[1]", "ahead", "look-around", "character 3"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let allowed = vec![Allowed::Expression { source: r"(a)\1".to_owned(), flags: String::new() }];
    let error = refused(RedactionOptions { allowed, ..RedactionOptions::default() });
    assert_eq!(error.kind, ErrorKind::InvalidOption);
    for part in ["allow[0]", "back references", "character 4"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn a_text_that_takes_too_long_is_not_given_out() {
    let rules = vec![rule("hostile", "(?:[ab]?){500}b", "")];
    let options = RedactionOptions { rules, ..RedactionOptions::default() };
    let redaction = redaction(options, &[]).unwrap();
    let error = redaction.text(&"ab".repeat(50_000), &mut Report::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Failed);
    assert!(error.message.contains("the pattern hostile"), "{}", error.message);
}
