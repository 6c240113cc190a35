//! Builds the answers of operations that are JSON texts.

use agent_context_core::Error;
use redaction::Redacted;
use serde::Serialize;
use storage::Payload;

use super::{redaction::findings, runtime::Answer};

pub type Outcome<T> = std::result::Result<T, Error>;

fn json_text(value: &impl Serialize) -> Outcome<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| Error::internal(format!("the answer is no JSON: {error}")))
}

pub fn answer(value: &impl Serialize) -> Outcome<Answer> {
    Ok(Answer::Texts(vec![Payload::new(json_text(value)?)]))
}

/// The stored value, followed by the report on redacted secrets if there is one.
pub fn redacted(answer: Redacted<Vec<u8>>) -> Answer {
    Answer::Texts(redacted_texts(answer))
}

/// As [`redacted`], for a value that is encoded as JSON.
pub fn redacted_json(answer: Redacted<impl Serialize>) -> Outcome<Answer> {
    let Redacted { stored, report } = answer;
    Ok(redacted(Redacted { stored: json_text(&stored)?, report }))
}

/// The texts of an answer of [`redacted`].
pub fn redacted_texts(Redacted { stored, report }: Redacted<Vec<u8>>) -> Vec<Payload> {
    let mut texts = vec![Payload::new(stored)];
    if !report.is_empty() {
        texts.push(Payload::new(findings(&report).into_bytes()));
    }
    texts
}
