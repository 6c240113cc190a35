//! Redaction takes steps in proportion to a text's length, whatever the text is.

use std::{sync::Arc, thread};

use super::{
    Redaction, RedactionOptions, Redactor, Report, UNSCANNED, json_walker::Edit, rules::RULES,
    work::Work,
};

#[path = "../../../fuzz/src/repeated.rs"]
mod repeated;

/// Maximum steps for examining one more name or expression when the limit is already reached: a window of 64 KiB, and
/// the smaller windows from which it grew.
const LAST_LOOK: usize = 600_000;
/// Number of generated texts. A build without optimisation needs a minute for as many as CI tries.
const TEXTS: u64 = 500;
const TEXTS_IN_CI: u64 = 10_000;

fn redaction() -> Redaction {
    Redaction::new(Redactor::new(RedactionOptions::default()).unwrap(), Arc::default())
}

fn redacted(text: &str) -> String {
    let redacted = redaction().text(text, &mut Report::default()).unwrap();
    redacted.unwrap_or_else(|| text.to_owned())
}

/// The steps of a first redaction.
fn steps(redaction: &Redaction, text: &str) -> usize {
    let mut work = Work::of(text.len());
    let _: Vec<Edit> = redaction.edits(text, 0, &mut work).unwrap();
    work.steps()
}

#[test]
fn steps_are_in_proportion_to_a_text() {
    let redaction = redaction();
    for (unit, then) in [
        ("sig=", ""),
        ("token=", "&"),
        ("token=", ";"),
        ("token=", ","),
        ("token=", "#"),
        ("token=", ")"),
        ("token=", "& "),
        ("token='\"", "a"),
        ("curl ", ""),
        ("zip -", ""),
        ("eyJ-", ""),
        ("eyJhIjoi", ""),
        ("token=\\\\", "\\"),
        ("<password>", "a"),
        ("|password", ""),
        ("password,", "\n"),
        ("password: |\n", " "),
    ] {
        let [small, large] = [20_000, 200_000].map(|length| {
            let text = unit.repeat(length / 2 / unit.len()) + &then.repeat(length / 2);
            let steps = steps(&redaction, &text);
            assert!(
                steps <= Work::most(text.len()) + LAST_LOOK,
                "{unit:?} {then:?}: {steps} steps"
            );
            steps
        });
        assert!(large <= 12 * small.max(LAST_LOOK), "{unit:?} {then:?}: {small} and {large} steps");
    }
}

#[test]
fn generated_texts_take_no_more_steps_than_they_may() {
    let anchors = RULES.iter().flat_map(|rule| rule.anchors).map(|&anchor| anchor.to_owned());
    let (redaction, tokens) = (redaction(), repeated::tokens(anchors));
    let texts = if std::env::var_os("CI").is_some() { TEXTS_IN_CI } else { TEXTS };
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let look = |thread| {
        for number in (thread..texts).step_by(threads as usize) {
            let text = repeated::text(&mut repeated::Random(11 << 32 | number), &tokens);
            let steps = steps(&redaction, &text);
            let start = &text[..text.floor_char_boundary(80)];
            assert!(steps <= Work::most(text.len()) + LAST_LOOK, "{steps} steps: {start:?}");
        }
    };
    thread::scope(|scope| {
        let look = &look;
        let looks: Vec<_> = (0..threads).map(|thread| scope.spawn(move || look(thread))).collect();
        looks.into_iter().for_each(|look| look.join().unwrap());
    });
}

#[test]
fn a_line_that_takes_too_much_work_is_replaced_and_the_rest_is_looked_at() {
    let text = format!("before\n{}\nafter DB_PASSWORD=kanto77!ab", "sig=".repeat(30_000));
    let once = redacted(&text);
    assert!(once.starts_with("before\n") && once.len() < text.len() / 2, "{}", once.len());
    assert!(once.contains(&format!("[REDACTED:{UNSCANNED}]\nafter")), "{once:.200}");
    assert!(!once.contains("kanto77!ab"));
    assert_eq!(redacted(&once), once);
}

#[test]
fn nothing_of_a_value_behind_the_bound_is_left() {
    let hostile = "token=".repeat(2_700) + &"sig=".repeat(60_000);
    for secret in [
        " password = kanto77!ab",
        " --password kanto77!ab x",
        "\necho kanto77!ab | docker login --password-stdin",
        "\npassword = kanto77!ab",
        "\n<key>password</key>\n<string>kanto77!ab</string>",
        "\nexport DB_PASSWORD=\"kanto77!ab\"",
    ] {
        let many = secret.repeat(200);
        for text in
            [format!("{hostile}{secret}"), format!("{hostile}{many}"), hostile.repeat(2) + &many]
        {
            let once = redacted(&text);
            assert!(once.contains(UNSCANNED), "{secret:?} is behind the bound");
            assert!(!once.contains("kanto77"), "{secret:?}");
            // What was redacted may take more steps for each byte than the text did.
            assert!(secret.contains('|') || redacted(&once) == once, "{secret:?}");
        }
    }
}

/// The limit is reached at each position around a name whose value is on a later line.
#[test]
fn values_below_a_name_at_the_bound_are_not_left() {
    let table = format!("user,password,note\n{}", "dev,kanto77!ab,x\n".repeat(40));
    for secret in [
        "<key>password</key>\n<string>kanto77!ab</string>",
        "password:\n  kanto77!ab",
        "Content-Disposition: form-data; name=\"password\"\n\nkanto77!ab",
        &table,
    ] {
        for length in (0..1_500).step_by(25) {
            let hostile = "sig=".repeat(3) + "\n";
            let text = format!("{}{secret}\n\nend", hostile.repeat(2_000 + length));
            let once = redacted(&text);
            assert!(!once.contains("kanto77"), "{secret:?} behind {length} lines");
        }
    }
    let pair = "<key>password</key>\n<string>kanto77!ab</string>";
    let once = redacted(&format!("{} {pair}\nend", "sig=".repeat(30_000)));
    assert!(!once.contains("kanto77") && once.ends_with("\nend"), "{once:.200}");
}

#[test]
fn texts_full_of_secrets_are_looked_at_as_a_whole() {
    let line =
        "DB_PASSWORD=kanto77!ab\napi_key: 'Qm4TzL0vXw8RkB2nYd6HsJ3c' # and a few words more\n";
    let once = redacted(&line.repeat(2_000));
    assert!(!once.contains(UNSCANNED) && !once.contains("kanto77") && !once.contains("Qm4TzL0v"));
}

#[test]
fn the_replacement_of_runs_cannot_be_switched_off() {
    let options =
        RedactionOptions { disabled: vec![UNSCANNED.to_owned()], ..RedactionOptions::default() };
    assert!(Redactor::new(options).is_err());
}
