//! Checks of redaction, and of the context store's files, that must hold for any input. The fuzz targets call them.

mod documents;
pub mod repeated;
pub mod time;

use std::sync::{Arc, LazyLock};

use redaction::{Redaction, RedactionOptions, Redactor, Report};

pub use documents::check_document;

/// One redaction with labels, and one with masks of the secret's length.
static REDACTIONS: LazyLock<[Redaction; 2]> = LazyLock::new(|| {
    [false, true].map(|preserves_length| {
        let options = RedactionOptions { preserves_length, ..RedactionOptions::default() };
        let redactor = Redactor::new(options).expect("the rules as they are compile");
        Redaction::new(redactor, Arc::default())
    })
});

/// Any text can be redacted; redacting it again finds nothing more; masks keep the length.
///
/// # Panics
/// When a check fails.
pub fn check_text(text: &str) {
    for (redaction, is_masking) in REDACTIONS.iter().zip([false, true]) {
        let once = redacted_text(redaction, text).unwrap_or_else(|| text.to_owned());
        assert_eq!(
            redacted_text(redaction, &once),
            None,
            "not idempotent: {text:?} gives {once:?}"
        );
        if is_masking {
            let length = |text: &str| text.encode_utf16().count();
            assert_eq!(length(&once), length(text), "of another length: {text:?} gives {once:?}");
        }
    }
}

/// Any bytes are redacted or refused. JSON stays JSON, and all bytes outside of its strings stay unchanged.
///
/// # Panics
/// When a check fails.
pub fn check_json(json: &[u8]) {
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok();
    for redaction in REDACTIONS.iter() {
        let found = redaction.json(json, &mut Report::default());
        assert!(found.is_ok() || !is_json, "refused: {:?}", String::from_utf8_lossy(json));
        let Ok(Some(once)) = found else { continue };
        let shown = || {
            format!(
                "{:?} gives {:?}",
                String::from_utf8_lossy(json),
                String::from_utf8_lossy(&once)
            )
        };
        if is_json {
            let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(&once);
            assert!(parsed.is_ok(), "no JSON any more: {}", shown());
            assert_eq!(skeleton(&once), skeleton(json), "of another shape: {}", shown());
        }
        let again =
            redaction.json(&once, &mut Report::default()).expect("what was redacted is JSON");
        assert_eq!(again, None, "not idempotent: {}", shown());
    }
}

/// The text in all places of a JSON document: as a value, as a key, under a name, in arrays, as JSON in a string.
#[must_use]
pub fn json_of(text: &str) -> String {
    let string = serde_json::Value::from(text).to_string();
    let embedded = serde_json::Value::from(format!("{{\"inner\":[{string},1.50]}}")).to_string();
    format!(
        "{{ \"a\" : {string},\"password\":{string},{string}:[ {string},-0, {embedded} ,[{string},null]]}}"
    )
}

fn redacted_text(redaction: &Redaction, text: &str) -> Option<String> {
    redaction.text(text, &mut Report::default()).expect("any text can be redacted")
}

/// The JSON text without the contents of its strings.
fn skeleton(json: &[u8]) -> Vec<u8> {
    let (mut kept, mut is_string, mut is_escaped) = (Vec::new(), false, false);
    for &byte in json {
        if !is_string || byte == b'"' && !is_escaped {
            kept.push(byte);
        }
        if is_escaped {
            is_escaped = false;
        } else if byte == b'"' {
            is_string = !is_string;
        } else {
            is_escaped = is_string && byte == b'\\';
        }
    }
    kept
}
