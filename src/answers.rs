//! Answers that cross as JSON.

use agent_context_core::Error;
use redaction::Report;
use serde::Serialize;
use storage::Payload;

use super::{redaction::findings, runtime::Answer};

pub type Outcome<T> = std::result::Result<T, Error>;

pub fn json(value: &impl Serialize) -> Outcome<Payload> {
    serde_json::to_vec(value)
        .map(Payload::new)
        .map_err(|error| Error::internal(format!("the answer is no JSON: {error}")))
}

pub fn answer(value: &impl Serialize) -> Outcome<Answer> {
    Ok(Answer::Texts(vec![json(value)?]))
}

/// What is stored, and what was found in it where that is anything.
pub fn redacted(stored: Payload, report: &Report) -> Outcome<Answer> {
    let mut texts = vec![stored];
    if !report.is_empty() {
        texts.push(Payload::new(findings(report).into_bytes()));
    }
    Ok(Answer::Texts(texts))
}
