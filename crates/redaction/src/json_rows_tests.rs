//! Records of one JSON array, of which the later ones are examined with what is known of the earlier ones.

use std::sync::Arc;

use proptest::prelude::*;

use super::{
    CustomFind, CustomRule, EnvironmentValues, Redaction, RedactionOptions, RedactionSession,
    Redactor,
};

fn redacted(redaction: &Redaction, json: &str) -> String {
    let mut json = json.to_owned();
    RedactionSession::new(Some(redaction.clone())).token(&mut json).unwrap();
    json
}

/// Undecoded keys: roles, names of secrets, and others.
const KEYS: [&str; 16] = [
    "name",
    "value",
    "path",
    "command",
    "cmd",
    "args",
    "key",
    "header",
    "password",
    "apiToken",
    "a",
    "text",
    r"a\nb",
    "pass\\u0077ord",
    "file",
    "credentials",
];

/// Undecoded strings: commands, flags, names of secrets, values that look like secrets, and others.
const STRINGS: [&str; 22] = [
    "",
    "zip",
    "unzip",
    "ssh-keygen",
    "-P",
    "-N",
    "-rP",
    "--password",
    "password",
    "api_token",
    "DB_PASSWORD",
    "/db/password",
    "hunter2",
    "Zx81kQpW3nVt7LsYb2MdRf9C",
    "token Zx81kQpW3nVt",
    r"two\nlines",
    r#"say \"password=hunter22\""#,
    "x.zip",
    "Authorization",
    "Bearer Zx81kQpW3nVt7LsYb2MdRf9C",
    r"caf\u00e9",
    "naïve text",
];

fn string() -> impl Strategy<Value = String> {
    prop::sample::select(&STRINGS[..]).prop_map(|string| format!("\"{string}\""))
}

fn row() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        4 => string(),
        1 => Just("17".to_owned()),
        1 => Just("null".to_owned()),
        2 => prop::collection::vec(string(), 0..5).prop_map(|strings| format!("[{}]", strings.join(","))),
        1 => (prop::sample::select(&KEYS[..]), string())
            .prop_map(|(key, string)| format!("{{\"{key}\":{string}}}")),
    ];
    let member = (prop::sample::select(&KEYS[..]), value)
        .prop_map(|(key, value)| format!("\"{key}\":{value}"));
    let members = prop::collection::vec(member, 0..6);
    let of = |texts: &'static [&'static str]| prop::sample::select(texts);
    let command =
        (of(&["zip", "unzip", "ssh-keygen"]), of(&["-P", "-N"]), of(&["hunter2", "x.zip"]));
    let command = command.prop_map(|(command, flag, password)| {
        format!("{{\"command\":\"{command}\",\"args\":[\"{flag}\",\"{password}\"]}}")
    });
    prop_oneof![
        4 => members.prop_map(|members| format!("{{{}}}", members.join(","))),
        1 => command,
    ]
}

/// With another rule, the undecoded text is not searched, and all strings are examined one by one.
fn by_string() -> RedactionOptions {
    let find = CustomFind::Literals(vec!["a text that no string has".to_owned()]);
    let rule = CustomRule { name: "unused".to_owned(), find };
    RedactionOptions { rules: vec![rule], ..RedactionOptions::default() }
}

proptest! {
    #[test]
    fn records_are_redacted_as_each_string_of_each_record_alone(
        rows in prop::collection::vec(row(), 1..12),
        times in 1..4_usize,
    ) {
        let redaction = |options| {
            let redactor = Redactor::new(options).unwrap();
            Redaction::new(redactor, Arc::new(EnvironmentValues::default()))
        };
        // Text without findings allows for the work of the others.
        let plain = "many words of a text ".repeat(100);
        let rows = vec![rows; times].concat();
        let rows: Vec<String> = rows.iter().map(|row| format!("[{row},\"{plain}\"]")).collect();
        let by_string = redaction(by_string());
        let expected: Vec<String> = rows.iter().map(|row| redacted(&by_string, row)).collect();
        prop_assert_eq!(
            redacted(&redaction(RedactionOptions::default()), &format!("[{}]", rows.join(","))),
            format!("[{}]", expected.join(","))
        );
    }
}
