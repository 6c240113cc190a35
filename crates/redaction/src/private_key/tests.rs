//! Keys in every framing that tools produce. The keys are random characters.

use super::*;

const LINE: &str = "MIIEpAIBAAKCAQEA3yLb5u4S0gvcUONLHTaWaUP1gUYcKsqRKEhSdoXMSXovHdbM";
/// The length of the last line.
const LAST: usize = 20;

fn header(kind: &str) -> String {
    format!("-----BEGIN {kind}PRIVATE KEY-----")
}

fn footer(kind: &str) -> String {
    format!("-----END {kind}PRIVATE KEY-----")
}

/// The only range that is found in a text, if there is exactly one.
fn found(text: &str) -> Option<&str> {
    let mut found: Vec<Range<usize>> = Vec::new();
    find(text, |range| found.push(range));
    let start = found.iter().map(|range| range.start).min()?;
    text.get(start..found.iter().map(|range| range.end).max()?)
}

/// The text without the ranges that are found.
fn rest(text: &str) -> String {
    let mut found: Vec<Range<usize>> = Vec::new();
    find(text, |range| found.push(range));
    let is_found = |at: usize| found.iter().any(|range| range.contains(&at));
    text.char_indices().filter(|(at, _)| !is_found(*at)).map(|(_, character)| character).collect()
}

/// As many random characters of base64.
fn base64(count: usize, seed: usize) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed as u64 + 1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(alphabet[(state % 64) as usize])
    };
    (0..count).map(|_| next()).collect()
}

/// The lines between a header and its footer.
fn body(lines: usize, length: usize) -> Vec<String> {
    let full = (0..lines).map(|line| base64(length, line));
    full.chain([format!("{}==", base64(LAST - 2, lines))]).collect()
}

fn key(lines: usize, length: usize) -> Vec<String> {
    let body = body(lines, length);
    [header("RSA ")].into_iter().chain(body).chain([footer("RSA ")]).collect()
}

type Framing = (&'static str, fn(&[String]) -> String);

fn numbered(lines: &[String], write: fn(usize, &str) -> String) -> String {
    // Numbering starts at 8, so that numbers have one and two digits.
    lines.iter().enumerate().map(|(index, line)| write(index + 8, line)).collect()
}

/// How tools write lines.
const FRAMINGS: [Framing; 27] = [
    ("plain", |lines| lines.join("\n")),
    ("CRLF", |lines| lines.join("\r\n")),
    ("indented", |lines| numbered(lines, |_, line| format!("    {line}\n"))),
    ("cat -n", |lines| numbered(lines, |number, line| format!("{number:6}\t{line}\n"))),
    ("arrows", |lines| numbered(lines, |number, line| format!("{number:5}→{line}\n"))),
    ("bars", |lines| numbered(lines, |number, line| format!("{number} | {line}\n"))),
    ("colons", |lines| numbered(lines, |number, line| format!("{number}: {line}\n"))),
    ("grep -n", |lines| numbered(lines, |number, line| format!("{number}:{line}\n"))),
    ("grep -n -A", |lines| {
        numbered(lines, |number, line| {
            format!("{number}{}{line}\n", if number == 8 { ':' } else { '-' })
        })
    }),
    ("grep -r", |lines| numbered(lines, |_, line| format!("etc/ssl/key-1.pem:{line}\n"))),
    ("grep -rn", |lines| {
        numbered(lines, |number, line| format!("./etc/ssl/a.pem:{number}:{line}\n"))
    }),
    ("diff", |lines| numbered(lines, |_, line| format!("+{line}\n"))),
    ("removed in a diff", |lines| numbered(lines, |_, line| format!("-{line}\n"))),
    ("citation", |lines| numbered(lines, |_, line| format!("> > {line}\n"))),
    ("comments", |lines| numbered(lines, |_, line| format!("// {line}\n"))),
    ("time stamps", |lines| {
        numbered(lines, |number, line| format!("2026-11-22T09:{number:02}:59.{number}3Z {line}\n"))
    }),
    ("log", |lines| {
        numbered(lines, |number, line| {
            format!("Nov 22 09:{number:02}:01 web-1 app[123]: INFO {line}\n")
        })
    }),
    ("docker-compose", |lines| numbered(lines, |_, line| format!("app_1      | {line}\n"))),
    ("HTML", |lines| format!("<p>{}</p>\n", lines.join("<br>"))),
    ("table rows", |lines| {
        numbered(lines, |number, line| format!("<tr><td>{number}</td><td>{line}</td></tr>\n"))
    }),
    ("escaped", |lines| format!("{{\"key\": \"{}\\n\", \"a\": 1", lines.join("\\n"))),
    ("twice escaped", |lines| format!("{{\\\"key\\\": \\\"{}\\\\n\\\"", lines.join("\\\\n"))),
    ("escaped with numbers", |lines| {
        format!(
            "{{\"content\": \"{}\", \"a\": 1",
            numbered(lines, |number, line| format!("{number}\\t{line}\\n"))
        )
    }),
    ("objects", |lines| {
        format!(
            "[{}",
            numbered(lines, |number, line| format!("{{\"line\":{number},\"text\":\"{line}\"}},"))
        )
    }),
    ("lines of JSON", |lines| {
        numbered(lines, |number, line| {
            format!("{{\"log\":\"{line}\\n\",\"stream\":\"stdout\",\"time\":\"{number}.5\"}}\n")
        })
    }),
    ("rg --json", |lines| {
        numbered(lines, |number, line| {
            format!(
                "{{\"type\":\"match\",\"data\":{{\"lines\":{{\"text\":\"{line}\\n\"}},\"line_number\":{number},\"submatches\":[{{\"match\":{{\"text\":\"{line}\"}},\"start\":0,\"end\":{number}}}]}}}}\n"
            )
        })
    }),
    ("list of strings", |lines| numbered(lines, |_, line| format!("  '{line}',\n"))),
];

fn assert_gone(text: &str, lines: &[String], what: &str) {
    let rest = rest(text);
    for line in lines {
        assert!(!rest.contains(line.as_str()), "{what}: {line} is left of\n{text}\n{rest}");
    }
    assert!(rest.starts_with("before ") && rest.ends_with(" behind\n"), "{what}: {rest:?}");
}

#[test]
fn whole_keys_are_found_in_every_framing() {
    for (name, frame) in FRAMINGS {
        for (lines, length) in [(1, 64), (3, 64), (6, 70), (24, 64)] {
            let key = key(lines, length);
            let text = format!("before \n{} behind\n", frame(&key));
            assert_gone(&text, &key[1..key.len() - 1], &format!("{name}, {lines} lines"));
        }
    }
}

#[test]
fn keys_cut_short_are_found_in_every_framing() {
    for (name, frame) in FRAMINGS {
        for lines in [2, 3, 9] {
            let key = key(lines, 64);
            let cut = &key[..=lines];
            let text = format!("before \n{} behind\n", frame(cut));
            assert_gone(&text, &cut[1..], &format!("{name}, {lines} lines"));
        }
    }
}

#[test]
fn lines_without_a_header_are_found_in_every_framing() {
    for (name, frame) in FRAMINGS {
        for length in [64, 70, 76] {
            let lines = body(5, length);
            let text = format!("before \n{} behind\n", frame(&lines[..5]));
            assert_gone(&text, &lines[..5], &format!("{name}, {length} characters"));
            let text = format!("before \n{} behind\n", frame(&key(5, length)[1..]));
            assert_gone(&text, &lines, &format!("{name}, {length} characters, with the end"));
        }
    }
}

#[test]
fn the_last_lines_of_a_key_are_found() {
    for (name, frame) in FRAMINGS {
        let key = key(5, 64);
        let text = format!("before \n{} behind\n", frame(&key[5..]));
        assert_gone(&text, &key[5..7], name);
    }
}

#[test]
fn wrapped_texts_hide_no_key() {
    let key = key(24, 64);
    let json = format!("{{\"key\":\"{}\\n\",\"kind\":\"service\"}}", key.join("\\n"));
    for width in [72, 76, 79, 80, 81, 100, 120] {
        let bytes = json.as_bytes();
        let wrapped: Vec<&str> =
            bytes.chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let rest = rest(&wrapped.join("\n"));
        assert!(rest.len() < 120, "{width}: {rest}");
    }
}

#[test]
fn whole_keys_are_found_however_they_are_separated() {
    for separator in ["\n", "\r\n", "\\n", "\\\\n", " ", "\n    ", "\",\n\"", "\\n\" +\n  \""] {
        let key = [header("RSA "), LINE.into(), LINE.into(), "dGVzdA==".into(), footer("RSA ")]
            .join(separator);
        let text = format!("key = \"{key}\"\nwhoami\n");
        assert_eq!(found(&text), Some(key.as_str()), "{separator:?}");
    }
}

#[test]
fn headers_and_checksums_belong_to_the_key() {
    let key = format!(
        "{}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{LINE}\n=8xQN\n{}",
        header("PGP ").replace("KEY", "KEY BLOCK"),
        footer("PGP ").replace("KEY", "KEY BLOCK"),
    );
    assert_eq!(found(&key), Some(key.as_str()));
    let cut = numbered(
        &[
            header(""),
            "Proc-Type: 4,ENCRYPTED".into(),
            "DEK-Info: x".into(),
            String::new(),
            LINE.into(),
            LINE.into(),
        ],
        |number, line| format!("{number:6}\t{line}\n"),
    );
    assert!(!rest(&cut).contains(LINE), "{cut}");
}

#[test]
fn cut_keys_end_with_their_last_line() {
    let key = format!("{}\n{LINE}\n{LINE}\nabcDEF0123456789abcd", header("EC "));
    assert_eq!(found(&key), Some(key.as_str()));
    let text = format!("{key}\nwhoami\n");
    assert_eq!(found(&text), Some(key.as_str()));
    let footer = format!("{}\n{LINE}\n{}", header("EC "), "-----END EC PRIV");
    assert_eq!(found(&footer), Some(footer.as_str()));
    let log = format!(
        "app | {}\napp | {LINE}\napp | {LINE}\napp | StartingApplicationServer now\n",
        header("")
    );
    assert_eq!(
        found(&log),
        log.get(6..log.len() - "\napp | StartingApplicationServer now\n".len())
    );
}

#[test]
fn keys_of_putty_are_found() {
    let public = format!(
        "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: a\nPublic-Lines: 4\nAAAAB3NzaC1yc2E{}\n{}\n{}\n",
        base64(49, 1),
        base64(64, 2),
        base64(64, 3)
    );
    let private = format!("Private-Lines: 2\n{}\n{}", base64(64, 5), base64(44, 6));
    let mac = format!("\nPrivate-MAC: {}\n", "0123456789abcdef".repeat(4));
    let text = format!("{public}{private}{mac}");
    assert_eq!(rest(&text), format!("{public}{mac}"));
}

#[test]
fn what_speaks_of_keys_is_none() {
    let texts = [
        format!("if (text.includes('{}')) return", header("")),
        format!("{}\n...\n{}", header(""), footer("")),
        "the PRIVATE KEY is".to_owned(),
        format!("-----BEGIN lower PRIVATE KEY-----\n{LINE}"),
        format!("const BEGIN = '{}'\nconst END = '{}'\n", header(""), footer("")),
        format!(
            "{}\nsee docs/how/to/write/a/key/in/this/format/with/openssl for more\n{}",
            header(""),
            footer("")
        ),
        format!("strip {} first\nsha512-{}==\n", header("RSA "), base64(86, 1)),
        format!("'{}' then `curl -H token:{}`", header("RSA "), base64(48, 1)),
    ];
    for text in texts {
        assert_eq!(found(&text), None, "{text}");
    }
}

fn block(kind: &str, lines: &[String]) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}

#[test]
fn blocks_of_other_things_are_no_keys() {
    let lines = body(12, 64);
    for kind in [
        "CERTIFICATE",
        "PUBLIC KEY",
        "PGP SIGNATURE",
        "PGP PUBLIC KEY BLOCK",
        "X509 CRL",
        "SSH SIGNATURE",
    ] {
        let text = block(kind, &lines);
        assert_eq!(found(&text), None, "{text}");
        assert_eq!(found(&text.repeat(3)), None, "{text}");
        for (name, frame) in FRAMINGS {
            let rows: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(found(&frame(&rows)), None, "{kind}, {name}");
            assert_eq!(found(&frame(&rows[..9])), None, "{kind}, {name}, its head");
            assert_eq!(found(&frame(&rows[5..])), None, "{kind}, {name}, its tail");
        }
    }
    let signature =
        block("PGP SIGNATURE", &lines).replacen("-----\n", "-----\nVersion: GnuPG v2\n\n", 1);
    assert_eq!(found(&signature), None);
}

#[test]
fn a_block_of_something_else_does_not_cover_a_key() {
    let (certificate, private) =
        (block("CERTIFICATE", &body(5, 64)), block("PRIVATE KEY", &body(7, 64)));
    let text = format!("{certificate}{private}{certificate}");
    assert_eq!(rest(&text), format!("{certificate}\n{certificate}"));
    let lines = body(9, 64).join("\n");
    assert_eq!(
        rest(&format!("{certificate}\n$ sed -n 3,9p key.pem\n{lines}\n")),
        format!("{certificate}\n$ sed -n 3,9p key.pem\n\n")
    );
}

#[test]
fn data_that_is_encoded_is_no_key() {
    let lines = body(8, 76);
    let image = format!("iVBORw0KGgo{}", base64(65, 99));
    let certificate = format!("MIIFazCCA1OgAwIBAgI{}", base64(57, 98));
    let public = format!("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A{}", base64(44, 97));
    let request = format!("MIIBVjCBwAIBATANBgkq{}", base64(56, 96));
    let message = format!("MIIKdQYJKoZIhvcNAQcC{}", base64(56, 95));
    let headed = |first: &str| format!("{first}\n{}", lines.join("\n"));
    let hexadecimal = "0123456789abcdef".repeat(4);
    let texts = [
        format!(
            "Content-Type: image/x\nContent-Transfer-Encoding: base64\nContent-Id: 1\n\n{}\n",
            lines.join("\n")
        ),
        format!("content-transfer-encoding: BASE64\r\n\r\n{}\r\n", lines.join("\r\n")),
        format!("url(\"data:font/x;base64,{}\n{}\")", base64(50, 7), lines.join("\n")),
        format!("<ds:X509Certificate>\n{}\n</ds:X509Certificate>", lines.join("\n")),
        format!("<SignatureValue>{}\n</SignatureValue>", lines.join("\n")),
        format!("<x>{}\n</x><X509Certificate>{}</X509Certificate>", lines[0], lines.join("\n")),
        headed(&image),
        headed(&certificate),
        headed(&public),
        headed(&request),
        headed(&message),
        [hexadecimal.as_str(); 5].join("\n"),
        [hexadecimal.to_uppercase().as_str(); 5].join("\n"),
        ["ACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTG"; 6].join("\n"),
        ["averylongidentifierwithoutanycapitalsordigitsofexactlysixtyfourch"; 6].join("\n"),
        (0..6).map(|line| format!("integrity=\"sha384-{}\"\n", base64(64, line))).collect(),
        (0..6).map(|line| format!("\"sha512-{}==\"\n", base64(86, line))).collect(),
        (0..6).map(|line| format!("{}.\n", base64(63 + line % 3, line))).collect(),
        (0..2).map(|line| format!("{}\n", base64(64, line))).collect(),
    ];
    for text in texts {
        assert_eq!(found(&text), None, "{text}");
    }
}

#[test]
fn texts_full_of_headers_take_no_longer_than_others() {
    // The work is bounded: without that these would not end.
    for text in [
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "Private-Lines: 1\n",
        "-",
        "--\n",
        "-\n",
        "A",
        "A1b2\\n",
    ] {
        found(&text.repeat((1 << 20) / text.len()));
    }
    let lines = format!("{}\n", base64(64, 1));
    found(&lines.repeat(1 << 14));
    found(&format!("{}\n{lines}", header("")).repeat(1 << 13));
}
