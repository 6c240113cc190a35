//! Properties of redaction as a whole, on generated texts.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn redaction(options: RedactionOptions) -> Redaction {
    Redaction::new(Redactor::new(options).unwrap(), Arc::default())
}

fn standard() -> Redaction {
    redaction(RedactionOptions::default())
}

fn masking() -> Redaction {
    redaction(RedactionOptions { preserves_length: true, ..RedactionOptions::default() })
}

fn redacted(redaction: &Redaction, text: &str) -> String {
    redaction.text(text, &mut Report::default()).unwrap().unwrap_or_else(|| text.to_owned())
}

fn redacted_json(redaction: &Redaction, json: &str) -> String {
    let redacted = redaction.json(json.as_bytes(), &mut Report::default()).unwrap();
    redacted.map_or_else(|| json.to_owned(), |json| String::from_utf8(json).unwrap())
}

/// A generated secret, for example random letters and digits.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9a-f]{32}",
        "[0-9A-Za-z]{20,40}",
        "[0-9A-Za-z+/]{40}={0,2}",
        "[a-z]{3,8}[0-9]{1,4}[!#^~]?",
        "[a-z]{4,10}",
        // Tokens are assembled, so that the source contains none.
        "[0-9A-Za-z]{36}".prop_map(|random| format!("gh{}_{random}", 'p')),
        "[0-9A-Z]{16}".prop_map(|random| format!("AK{}A{random}", 'I')),
        ("[0-9A-Za-z]{24}", "[0-9A-Za-z]{24}", "[0-9A-Za-z_-]{30}").prop_map(
            |(head, body, signature)| format!("ey{}{head}.ey{}{body}.{signature}", 'J', 'J')
        ),
        "[0-9A-Za-z+/]{64}".prop_map(|line| {
            let kind = "PRIVATE KEY";
            format!("-----BEGIN {kind}-----\n{line}\n-----END {kind}-----")
        }),
        Just("[REDACTED:github-token]".to_owned()),
        Just("********".to_owned()),
        Just("${TOKEN}".to_owned()),
    ]
}

/// Texts in which names, signs, quotes, secrets and plain words follow each other at random.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => secret(),
        3 => prop::sample::select(vec![
            "password", "API_KEY", "token", "clientSecret", "Authorization", "cookie", "--password", "key", "name",
            "value", "PGPASSWORD", "secret_access_key", "stripe", "curl -u", "machine h login u password", "https://",
            "user", "@host.example/path", "?sig", "&access_token", "<password>", "</password>", "Bearer", "Basic",
        ]).prop_map(str::to_owned),
        4 => prop::sample::select(vec![
            "=", ": ", " = ", ":", " ", "\n", "\"", "'", "\": \"", "\\\"", "\\n", ",", ";", "&", "{", "}", "[", "]", ">",
            "(", ")", "\r\n", " | ", "`", "\\", "@", "\t", "=>", ":=",
        ]).prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "\x1b[31m", "\x1b[0m", "\x1b]8;;https://h.example\x1b\\", "\x1b", "\\u001b[1m", "\u{200b}", "\u{ad}",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(Value::from),
        2 => secret().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let key = prop_oneof![
            prop::sample::select(vec![
                "password",
                "token",
                "name",
                "value",
                "apiKey",
                "tokens",
                "data",
                "env",
                "credentials"
            ])
            .prop_map(str::to_owned),
            text(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key, inner.clone()), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            // JSON in a string.
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

/// The parts of a value that are not strings, in order.
fn shape(value: &Value, out: &mut String) {
    match value {
        Value::String(_) => out.push('s'),
        Value::Array(elements) => {
            out.push('[');
            elements.iter().for_each(|element| shape(element, out));
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            members.values().for_each(|member| shape(member, out));
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn lines_keep_their_numbers(before in text(), after in text()) {
        for redaction in [standard(), masking()] {
            let text = format!("{before}\nhere\n{after}");
            let lines = redaction.lines(&text, &mut Report::default()).unwrap();
            let lines = lines.unwrap_or_else(|| text.clone());
            prop_assert_eq!(lines.split('\n').count(), text.split('\n').count());
            // If the line itself was redacted as part of a secret, it is missing.
            let places = |text: &str| text.split('\n').position(|line| line == "here");
            prop_assert!(places(&lines).is_none_or(|place| Some(place) == places(&text)));
        }
    }

    #[test]
    fn a_text_without_secrets_has_none(text in text()) {
        for redaction in [standard(), masking()] {
            let once = redacted(&redaction, &text);
            prop_assert_eq!(&redacted(&redaction, &once), &once, "of {:?}", text);
        }
    }

    #[test]
    fn json_stays_json_of_the_same_shape(value in value()) {
        let redaction = standard();
        let json = value.to_string();
        let once = redacted_json(&redaction, &json);
        let parsed: Value = serde_json::from_str(&once).unwrap();
        let (mut before, mut after) = (String::new(), String::new());
        shape(&value, &mut before);
        shape(&parsed, &mut after);
        // Keys that contain secrets may become equal.
        if !once.contains("\":") || value.to_string().matches("\":").count() == once.matches("\":").count() {
            prop_assert_eq!(before.len() >= after.len(), true);
        }
        prop_assert_eq!(redacted_json(&redaction, &once), once);
    }

    #[test]
    fn masks_keep_every_length(text in text()) {
        let masked = redacted(&masking(), &text);
        prop_assert_eq!(masked.encode_utf16().count(), text.encode_utf16().count());
        prop_assert_eq!(masked.matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn any_text_is_survived(text in "\\PC*|(?s:.{0,200})") {
        redacted(&standard(), &text);
    }
}

#[test]
fn everything_that_is_no_secret_keeps_its_bytes() {
    let hash = "0123456789abcdef0123456789abcdef01234567".replace("0123", "9f1c");
    let json = format!(
        r#"{{ "n" : 1.50e+3, "password":"hunter2", "é\u00e9":"\ud800 caf\u00e9", "commit" : "{hash}" }}"#
    );
    let expected = json.replace("hunter2", "[REDACTED:assignment]");
    assert_eq!(redacted_json(&standard(), &json), expected);
}

#[test]
fn strings_are_looked_at_as_what_they_say() {
    let cases = [
        // Escapes hide nothing …
        (r#"{"log":"pass\u0077ord=hunter2x"}"#, r#"{"log":"pass\u0077ord=[REDACTED:assignment]"}"#),
        // … nor does JSON in a string, nor JSON in that.
        (
            r#"{"out":"{\"token\":\"abc123def\",\"n\":1}"}"#,
            r#"{"out":"{\"token\":\"[REDACTED:assignment]\",\"n\":1}"}"#,
        ),
        (
            r#"{"a":"{\"b\":\"{\\\"password\\\":\\\"x1y2z3\\\"}\"}"}"#,
            r#"{"a":"{\"b\":\"{\\\"password\\\":\\\"[REDACTED:assignment]\\\"}\"}"}"#,
        ),
        // … nor does a string of JSON in one.
        (
            r#"{"a":"\"<key>password</key>\\n<string>hunter2</string>\""}"#,
            r#"{"a":"\"<key>password</key>\\n<string>[REDACTED:assignment]</string>\""}"#,
        ),
        // Numbers and literals stay.
        (
            r#"{"tokens":12,"password":null,"secret":true}"#,
            r#"{"tokens":12,"password":null,"secret":true}"#,
        ),
        // A flag and its value, a header and its value, a name and its value.
        (
            r#"["mysql","--password","hunter2"]"#,
            r#"["mysql","--password","[REDACTED:assignment]"]"#,
        ),
        (
            r#"["Cookie","session=8f2b3c","Accept","*/*"]"#,
            r#"["Cookie","[REDACTED:assignment]","Accept","*/*"]"#,
        ),
        (
            r#"[{"value":"hunter2","name":"DB_PASSWORD"},{"name":"PORT","value":"8080"}]"#,
            r#"[{"value":"[REDACTED:assignment]","name":"DB_PASSWORD"},{"name":"PORT","value":"8080"}]"#,
        ),
        (
            r#"{"secrets":{"db":"hunter2","host":"db.example"}}"#,
            r#"{"secrets":{"db":"[REDACTED:assignment]","host":"db.example"}}"#,
        ),
        (
            r#"{"refresh":"daily","routingKey":"orders.created","userKey":"u-1"}"#,
            r#"{"refresh":"daily","routingKey":"orders.created","userKey":"u-1"}"#,
        ),
        (
            r#"{"serviceKey":"9f1c2b3a4d5e6f70819a2b3c4d5e6f70"}"#,
            r#"{"serviceKey":"[REDACTED:assignment]"}"#,
        ),
        (r#"{"required":["password","token"]}"#, r#"{"required":["password","token"]}"#),
        (r#"{"password":{"type":"string"}}"#, r#"{"password":{"type":"string"}}"#),
        (r#"{"password":"${DB_PASSWORD}"}"#, r#"{"password":"${DB_PASSWORD}"}"#),
    ];
    for (json, expected) in cases {
        assert_eq!(redacted_json(&standard(), json), expected);
    }
}

#[test]
fn colours_hide_nothing() {
    let cases = [
        (
            "\x1b[31mPASSWORD\x1b[0m=\x1b[32mhunter2\x1b[0m",
            "\x1b[31mPASSWORD\x1b[0m=\x1b[32m[REDACTED:assignment]\x1b[0m",
        ),
        // rg and git
        (
            "\x1b[0m\x1b[32m7\x1b[0m:DB_\x1b[1m\x1b[31mPASSWORD\x1b[0m=hunter2",
            "\x1b[0m\x1b[32m7\x1b[0m:DB_\x1b[1m\x1b[31mPASSWORD\x1b[0m=[REDACTED:assignment]",
        ),
        (
            "\x1b[32m+\x1b[m\x1b[32mpassword: hunter2\x1b[m",
            "\x1b[32m+\x1b[m\x1b[32mpassword: [REDACTED:assignment]\x1b[m",
        ),
        // node's inspection, and JSON
        (
            "{ password: \x1b[32m'hunter2'\x1b[39m }",
            "{ password: \x1b[32m'[REDACTED:assignment]'\x1b[39m }",
        ),
        (
            "{\x1b[34m\"password\"\x1b[0m: \x1b[32m\"hunter2\"\x1b[0m, \"n\": \x1b[33m1\x1b[0m}",
            "{\x1b[34m\"password\"\x1b[0m: \x1b[32m\"[REDACTED:assignment]\"\x1b[0m, \"n\": \x1b[33m1\x1b[0m}",
        ),
        // A secret in two colours goes with what is in it.
        ("PASSWORD=hun\x1b[1mter2\x1b[0m\nPORT=1", "PASSWORD=[REDACTED:assignment]\x1b[0m\nPORT=1"),
        ("pass\u{200b}word=hun\u{ad}ter2", "pass\u{200b}word=[REDACTED:assignment]"),
        // What has no secret keeps its colours.
        ("\x1b[31mPORT\x1b[0m=1 caf\u{e9}\u{200b}", "\x1b[31mPORT\x1b[0m=1 caf\u{e9}\u{200b}"),
    ];
    for (text, expected) in cases {
        let once = redacted(&standard(), text);
        assert_eq!(once, expected);
        assert_eq!(redacted(&standard(), &once), once);
    }
    let json = r#"{"log":"\u001b[31mPASSWORD\u001b[0m=\u001b[32mhunter2\u001b[0m","pass\u200bword":"hunter2"}"#;
    assert_eq!(redacted_json(&standard(), json), json.replace("hunter2", "[REDACTED:assignment]"));
}

#[test]
fn values_of_the_environment_are_found_in_colours() {
    let variables = [("DEPLOY_TOKEN".to_owned(), "velvet-Otter-91".to_owned())];
    let environment = Arc::new(EnvironmentValues::new(variables));
    let redaction =
        Redaction::new(Redactor::new(RedactionOptions::default()).unwrap(), environment);
    assert_eq!(redacted(&redaction, "velvet-\x1b[31mOtter\x1b[0m-91!"), "[REDACTED:environment]!");
}

#[test]
fn the_lines_of_a_key_in_an_array_are_found() {
    let line = "MIIEpAIBAAKCAQEA3yLb5u4S0gvcUONLHTaW";
    let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
    let json = format!(r#"["{begin}","{line}","{end}","{line}"]"#);
    let expected = format!(r#"["{begin}","[REDACTED:private-key]","{end}","{line}"]"#);
    assert_eq!(redacted_json(&standard(), &json), expected);
}

#[test]
fn the_lines_of_a_key_in_objects_are_found() {
    let line = "MIIEpAIBAAKCAQEA3yLb5u4S0gvcUONLHTaWaUP1gUYcKsqRKEhSdoXMSXovHdbM";
    let rows = ["-----BEGIN PRIVATE KEY-----", line, line, "dGVzdA==", "-----END PRIVATE KEY-----"];
    let json = |rows: [&str; 5]| {
        let rows = rows.iter().enumerate();
        let rows: Vec<String> = rows
            .map(|(number, row)| {
                format!(r#"{{"line":{number},"path":"key.pem","text":"{row}\n"}}"#)
            })
            .collect();
        format!("[{}]", rows.join(","))
    };
    let label = "[REDACTED:private-key]";
    let once = redacted_json(&standard(), &json(rows));
    assert_eq!(once, json([rows[0], label, label, label, rows[4]]));
    assert_eq!(redacted_json(&standard(), &once), once);
}

/// The text with the same label for every rule.
fn unnamed(text: &str) -> String {
    let mut parts = text.split("[REDACTED:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("‹›");
        out.push_str(part.split_once(']').map_or("", |(_, rest)| rest));
    }
    out
}

#[test]
fn values_of_names_are_found_in_every_format() {
    let cases = [
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=‹›"),
        ("export TOKEN='abc123def456'", "export TOKEN='‹›'"),
        ("password: hunter2\nuser: bob", "password: ‹›\nuser: bob"),
        ("password = \"hunter2\" # old", "password = \"‹›\" # old"),
        ("<password>hunter2</password>", "<password>‹›</password>"),
        ("<add key=\"Password\" value=\"hunter2\"/>", "<add key=\"Password\" value=\"‹›\"/>"),
        (
            "<key>password</key>\n<string>hunter2</string>",
            "<key>password</key>\n<string>‹›</string>",
        ),
        ("- name: DB_PASSWORD\n  value: hunter2", "- name: DB_PASSWORD\n  value: ‹›"),
        ("Server=db;Password=hunter2;Port=1", "Server=db;Password=‹›;Port=1"),
        ("user=bob&password=hunter2&x=1", "user=bob&password=‹›&x=1"),
        ("mysqldump --password=hunter2 app", "mysqldump --password=‹› app"),
        ("deploy --token abc123def app", "deploy --token ‹› app"),
        ("deploy --token=gda-gAwMa-vKkmn app", "deploy --token=‹› app"),
        ("The password: hunter2", "The password: ‹›"),
        ("Right. The password = hunter2se9 now", "Right. The password = ‹› now"),
        ("(password = Tr0ub4dor&3)", "(password = ‹›)"),
        ("the password is hunter2 for now", "the password is ‹› for now"),
        ("ran ['mysqldump', '--password', 'hunter2']", "ran ['mysqldump', '--password', '‹›']"),
        (r#"ran [\"--password\",\"hunter2\"]"#, r#"ran [\"--password\",\"‹›\"]"#),
        ("const apiKey: string = 'abc123def456'", "const apiKey: string = '‹›'"),
        ("set(\"API_TOKEN\", \"abc123def456\")", "set(\"API_TOKEN\", \"‹›\")"),
        (r#"{\"token\": \"abc123def\"}"#, r#"{\"token\": \"‹›\"}"#),
        (r#"x "a":"TOKEN=abc123def\nB=1""#, r#"x "a":"TOKEN=‹›\nB=1""#),
    ];
    for (text, expected) in cases {
        assert_eq!(unnamed(&redacted(&standard(), text)), expected);
    }
}

#[test]
fn what_speaks_of_secrets_is_none() {
    let texts = [
        "os.getenv(\"API_KEY\")",
        "const token = process.env.TOKEN",
        "password = getpass.getpass()",
        "if password == confirm_password and token is not None:",
        "password: string; token?: string",
        "let password = utf8ToBase64(input1);",
        "then password = newPassword1; // and on",
        "token: SyntaxKind.SuperKeyword): SuperExpression;",
        "char *password = NULL;",
        "docker run -p \"$PGPASSWORD\"",
        "password: ${{ secrets.PASSWORD }}",
        "Set API_KEY=<your key> first",
        "API_KEY=your-api-key-here",
        "the token is valid for 3600 seconds",
        "\"@inquirer/password\": \"^5.2.5\"",
        "max_tokens=4096 token_type=bearer",
        "tokens = tokenizer.encode(text)",
        "\"password\", \"scram-sha-256\"",
        "createToken(token: SyntaxKind.ThisKeyword)",
        "self.hide_cookie2 = hide_cookie2",
        "INFO [password] request_id=9f1c2b3a4d5e6f70819a2b3c4d5e6f70 done",
        "the flags --user and --password flags to",
        "Password is correct.&quot;",
        r#"["pass","keyInObj","pick"]"#,
        "GET /x?token=<token>&page=2",
        "public_key = 9f1c2b3a4d5e6f70819a2b3c4d5e6f70",
    ];
    for text in texts {
        assert_eq!(redacted(&standard(), text), text);
    }
}

#[test]
fn single_rules_can_be_switched_off() {
    let off = redaction(RedactionOptions {
        disabled: vec!["assignment".into()],
        ..RedactionOptions::default()
    });
    assert_eq!(redacted(&off, "DB_PASSWORD=hunter2"), "DB_PASSWORD=hunter2");
    assert_eq!(redacted_json(&off, r#"{"password":"hunter2"}"#), r#"{"password":"hunter2"}"#);
    let unknown = Redactor::new(RedactionOptions {
        disabled: vec!["no-rule".into()],
        ..RedactionOptions::default()
    });
    assert_eq!(unknown.unwrap_err().kind, ErrorKind::InvalidOption);
}

#[test]
fn further_names_of_the_caller_are_secret() {
    let own = redaction(RedactionOptions {
        keys: vec!["Lizenz Nummer".into()],
        ..RedactionOptions::default()
    });
    assert_eq!(redacted(&own, "LIZENZ_NUMMER=abc-9"), "LIZENZ_NUMMER=[REDACTED:assignment]");
    assert_eq!(
        redacted_json(&own, r#"{"lizenzNummer":"abc"}"#),
        r#"{"lizenzNummer":"[REDACTED:assignment]"}"#
    );
}

#[test]
fn values_of_the_environment_and_rules_of_the_caller_count() {
    let options = RedactionOptions {
        rules: vec![CustomRule {
            name: "ticket".into(),
            find: CustomFind::Literals(vec!["TICKET-77".into()]),
        }],
        allowed: vec![Allowed::Literal("hunter2".into())],
        ..RedactionOptions::default()
    };
    let variables = [("DEPLOY_TOKEN".to_owned(), "velvet-Otter-91".to_owned())];
    let environment = Arc::new(EnvironmentValues::new(variables));
    let redaction = Redaction::new(Redactor::new(options).unwrap(), environment);
    let mut report = Report::default();
    let text = redaction
        .text("velvet-Otter-91 TICKET-77 TICKET-77 PASSWORD=hunter2", &mut report)
        .unwrap();
    assert_eq!(
        text.as_deref(),
        Some("[REDACTED:environment] [REDACTED:ticket] [REDACTED:ticket] PASSWORD=hunter2")
    );
    assert_eq!(report.total(), 3);
    let disabled =
        RedactionOptions { disabled: vec!["environment".into()], ..RedactionOptions::default() };
    let redaction =
        Redaction::new(Redactor::new(disabled).unwrap(), Arc::clone(&redaction.environment));
    assert_eq!(redacted(&redaction, "velvet-Otter-91"), "velvet-Otter-91");
}

#[test]
fn a_rule_for_a_part_of_labels_changes_none() {
    let find = CustomFind::Literals(vec!["REDACTED".into(), "word]".into()]);
    let rules = vec![CustomRule { name: "password".into(), find }];
    let own = redaction(RedactionOptions { rules, ..RedactionOptions::default() });
    let once = redacted(&own, "REDACTED and a word] and PASSWORD=hunter2");
    assert_eq!(unnamed(&once), "‹› and a ‹› and PASSWORD=‹›");
    assert_eq!(redacted(&own, &once), once);
}
