//! Tests of values in configuration files, tables, forms and command lines, in plain text and in JSON strings.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Redaction, RedactionOptions, Redactor, Report};

/// Replaced by a secret in each form.
const SECRET: &str = "‹›";
/// Secrets that people choose and secrets that machines generate.
const SECRETS: [&str; 4] = [
    "kanto77!ab",
    "velvet-Moon-518-oak",
    "9f1c2b3a4d5e6f70819a2b3c4d5e6f70",
    "Qm4TzL0vXw8RkB2nYd6HsJ3c",
];

/// Forms with a secret. The text around the secret must stay.
const FORMS: &[&str] = &[
    // Dockerfiles, output of their builds, and shells that set variables in the same way.
    "FROM node:22\nENV DB_PASSWORD ‹›\nENV PORT 8080",
    "Step 4/9 : ENV API_TOKEN ‹›\n ---> Using cache",
    "+ENV API_TOKEN \"‹›\"\n",
    "12: ENV DB_PASSWORD ‹›",
    "setenv DB_PASSWORD ‹›\nls",
    "set -gx API_TOKEN ‹›",
    // YAML.
    "db:\n  password: |\n    ‹›\n  port: 5432",
    "password: >-\n  ‹›\nuser: bob",
    "- password: |2- # from the vault\n    ‹›\n- user: bob",
    "auth:\n  client_secret:\n    ‹›\n  user: bob",
    "auth:\n  password:\n    \"‹›\"\n  user: bob",
    "const apiKey =\n  '‹›'\n",
    // Terraform.
    "variable \"db_password\" {\n  type        = string\n  description = \"of the database\"\n  default     = \"‹›\"\n}",
    "variable \"db_password\" { default = \"‹›\" }",
    "variable \"db_password\" {\n  validation {\n    error_message = \"short\"\n  }\n  default = \"‹›\"\n}",
    "output \"db_password\" {\n  value = \"‹›\"\n}",
    // Patches of JSON.
    "-p='[{\"op\": \"replace\", \"path\": \"/data/password\", \"value\": \"‹›\"}]'",
    "PATCH [{\"path\":\"/spec/db/apiKey\",\"op\":\"add\",\"value\":\"‹›\"}] done",
    // Forms.
    "--x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n‹›\r\n--x--",
    "--x\nContent-Disposition: form-data; name=\"api_key\"\nContent-Type: text/plain\n\n‹›\n--x--",
    // Wireless networks.
    "WIFI:T:WPA;S:Corp Net;P:‹›;;",
    "WIFI:P:‹›;S:Corp;T:WPA2;H:true;;",
    // XML.
    "<password><![CDATA[‹›]]></password>",
    "<token>\n  <![CDATA[‹›]]>\n</token>",
    "<key>password</key><string><![CDATA[‹›]]></string>",
    "<entry key=\"password\"><![CDATA[‹›]]></entry>",
    // Tables.
    "id,user,password,created\n1,bob,‹›,2024-01-02\n2,ann,‹›,2024-01-03\n",
    "\"id\",\"user\",\"API key\",\"note\"\n\"1\",\"bob\",\"‹›\",\"a, b\"\n",
    "name,url,username,password,note\ncorp,https://corp.net/in,bob@corp.net,‹›,\n",
    "id;user;client_secret\n1;bob;‹›\n",
    "password\tuser\n‹›\tbob\n",
    "id|user|password\n1|bob|‹›\n(1 row)\n",
    "| host | user | password |\n|------|:----:|---|\n| db1 | bob | ‹› |\n| db2 | ann | `‹›` |\n\nThe end",
    "host | API token\n--- | ---\ndb1 | ‹›\n",
    " id | user |  password  \n----+------+------------\n  1 | bob  | ‹›\n  2 | ann  | ‹›\n(2 rows)",
    "+----+----------+\n| id | password |\n+----+----------+\n|  1 | ‹› |\n+----+----------+\n1 row in set",
    "┌─────────┬──────────┐\n│ (index) │ password │\n├─────────┼──────────┤\n│ 0       │ '‹›' │\n└─────────┴──────────┘",
    // Command lines.
    "ssh-keygen -t ed25519 -N '‹›' -C dev -f key",
    "ssh-keygen -p -P \"‹›\" -N \"‹›\" -f key",
    "ssh-keygen -y -f key -P ‹› > key.pub",
    "zip -r -P ‹› out.zip folder",
    "/usr/bin/zip out.zip -rP '‹›' folder",
    "unzip -o -P‹› out.zip",
    "sshpass -p '‹›' ssh root@host",
    "sshpass -v -p‹› scp a b:",
    "run(['sshpass', '-p', '‹›', 'ssh', 'host'])",
];

/// JSON values, each with the text that is the secret.
fn json_forms(secret: &str) -> [Value; 8] {
    [
        json!([{ "op": "replace", "path": "/data/password", "value": secret }]),
        json!([{ "value": secret, "op": "add", "path": "/spec/dbPassword" }]),
        json!(["sshpass", "-p", secret, "ssh", "-p", "2222", "host"]),
        json!(["/usr/bin/zip", "-rP", secret, "out.zip"]),
        json!(["ssh-keygen", "-t", "rsa", "-N", secret]),
        json!({ "command": "unzip", "args": ["-P", secret, "out.zip"] }),
        json!({ "file": "ssh-keygen", "argv": ["-y", "-P", secret] }),
        json!({ "xml": format!("<password><![CDATA[{secret}]]></password>") }),
    ]
}

/// Text that has the form or the name of a secret and contains none.
const HARMLESS: &[&str] = &[
    "ENV API_TOKEN must be set before the build",
    "set the ENV API_TOKEN variable7",
    "ENV API_TOKEN $TOKEN\nENV DB_PASSWORD ${DB_PASSWORD}\n",
    "password: |\n  The password of the database, with\n  12 characters or more.\ntype: string",
    "password:\n  type: string\n  minLength: 8",
    "token:\n  $ref: '#/components/Token'",
    "password:\n  - required\n  - min:8",
    "if not password:\n    continue",
    "secret: |\n  ${{ secrets.KEY }}",
    "const token =\n  await getToken(user1)",
    "type T = {\n  password:\n    | string\n    | undefined\n}",
    "Enter password:\nLogin successful at 10:32",
    "variable \"db_password\" {\n  type = string\n}\nvariable \"db_host\" {\n  default = \"db-7f3a2.corp.net\"\n}",
    "variable \"db_password\" {\n  description = \"of user admin1\"\n  default = null\n}",
    r#"[{"op":"remove","path":"/password"},{"op":"add","path":"/replicas","value":"3f2a1b4c5d6e7f80"}]"#,
    r#"[{"op":"add","path":"/password/minLength","value":"a12bc3"}]"#,
    "form-data; name=\"file\"; filename=\"password.txt\"\r\n\r\nhello1 there\r\n",
    "form-data; name=\"password\"\r\n\r\n\r\n--x--",
    "WIFI:T:nopass;S:Guest;;",
    "<password><![CDATA[${db.password}]]></password>",
    "<description name=\"token\"><![CDATA[The token is used once]]></description>",
    "<label for=\"password\">Kennwort2</label>",
    "name,password,note\nbob,********,none\nann,<hidden>,x\n",
    "token,count,lemma\nrunning,12,run\njumps,3,jump\n",
    "id,user,password\n1,bob,2024-01-02\n",
    "| Option | Password | Meaning |\n|---|---|---|\n| required | optional | see above |\n",
    "| Method | Token |\n|---|---|\n| GET | yes |\n| POST | Bearer |\n",
    " id | secret_name | created\n----+-------------+---------\n 1 | db-creds-1 | 2024-01-01\n",
    "| Field | Type | Null |\n|---|---|---|\n| password | varchar(255) | NO |\n",
    "def login(user, password,\n          host1, port22):\n    pass",
    "+----+----------+\n| id | password |\n+----+----------+\n|  1 | NULL |\n|  2 | **** |\n+----+----------+",
    "grep -P 'x1y2z3w4' file",
    "mysql -P 3306 -h db.corp.net",
    "ssh -N -L 8080:localhost:80 dev@corp.net",
    "zip -r out.zip folder -x '*.git*'",
    "ssh-keygen -t ed25519 -N '' -f key7",
];

fn redaction() -> Redaction {
    Redaction::new(Redactor::new(RedactionOptions::default()).unwrap(), Arc::default())
}

fn redacted(redaction: &Redaction, text: &str) -> String {
    redaction.text(text, &mut Report::default()).unwrap().unwrap_or_else(|| text.to_owned())
}

/// The text with every label replaced by the sign of a secret.
fn unnamed(text: &str) -> String {
    let mut parts = text.split("[REDACTED:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(SECRET);
        out.push_str(part.split_once(']').map_or("", |(_, rest)| rest));
    }
    out
}

#[test]
fn values_are_found_in_every_form() {
    let redaction = redaction();
    let mut problems = Vec::new();
    for form in FORMS {
        for secret in SECRETS {
            let once = redacted(&redaction, &form.replace(SECRET, secret));
            if unnamed(&once) != *form {
                problems.push(once);
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn values_are_found_in_strings_of_json() {
    let redaction = redaction();
    let mut problems = Vec::new();
    for form in FORMS {
        for secret in SECRETS {
            let json = json!({ "out": form.replace(SECRET, secret), "n": 1 }).to_string();
            let once: Value = serde_json::from_str(&redacted(&redaction, &json)).unwrap();
            if unnamed(once["out"].as_str().unwrap()) != *form {
                problems.push(once);
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn forms_of_several_lines_are_found_in_lines_of_json() {
    let redaction = redaction();
    let secret = SECRETS[1];
    for form in [
        "db:\n  password: |\n    ‹›\n  port: 5432",
        "password: >-\n  ‹›\nuser: bob",
        "FROM node\nENV DB_PASSWORD ‹›\nENV PORT 8080",
        "variable \"db_password\" {\n  type = string\n  default = \"‹›\"\n}",
        "--x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n‹›\r\n--x--",
        "id,user,password\n1,bob,‹›\n2,ann,‹›",
        "| user | password |\n|---|---|\n| bob | ‹› |",
        " user |  password  \n------+------------\n bob  | ‹›",
    ] {
        let lines = |form: &str| {
            let line = json!({ "at": 1, "out": form }).to_string();
            format!("{line}\n{line}\n")
        };
        let once = redacted(&redaction, &lines(&form.replace(SECRET, secret)));
        assert_eq!(unnamed(&once), lines(form));
    }
}

#[test]
fn json_strings_are_judged_by_their_members_and_commands() {
    let redaction = redaction();
    for secret in SECRETS {
        for (value, expected) in json_forms(secret).into_iter().zip(json_forms(SECRET)) {
            assert_eq!(unnamed(&redacted(&redaction, &value.to_string())), expected.to_string());
        }
    }
    for value in [
        json!(["grep", "-P", "velvet-Moon-518-oak", "file"]),
        json!(["mysql", "-P", "velvet-Moon-518-oak"]),
        json!(["ssh", "-N", "velvet-Moon-518-oak"]),
        json!({ "command": "grep", "args": ["-P", "velvet-Moon-518-oak"] }),
        json!(["zip", "-P", "$ZIP_PASSWORD"]),
    ] {
        assert_eq!(redacted(&redaction, &value.to_string()), value.to_string());
    }
}

#[test]
fn harmless_values_in_the_same_forms_stay() {
    let redaction = redaction();
    for text in HARMLESS {
        assert_eq!(redacted(&redaction, text), *text);
        let json = json!({ "out": text }).to_string();
        assert_eq!(redacted(&redaction, &json), json);
    }
}

#[test]
fn a_block_of_several_lines_goes_as_a_whole() {
    let text = "token: |\n  Qm4TzL0vXw8RkB2nYd6HsJ3c\n  Zx81kQpW3nVt7LsYb2Md\nuser: bob";
    assert_eq!(unnamed(&redacted(&redaction(), text)), "token: |\n  ‹›\nuser: bob");
}

#[test]
fn columns_named_by_the_caller_are_secret() {
    let options =
        RedactionOptions { keys: vec!["wombat".to_owned()], ..RedactionOptions::default() };
    let redaction = Redaction::new(Redactor::new(options).unwrap(), Arc::default());
    let text = "id,wombat\n1,kanto77!ab\n";
    assert_eq!(unnamed(&redacted(&redaction, text)), "id,wombat\n1,‹›\n");
}
