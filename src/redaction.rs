//! Redaction as the JavaScript side has it: rules that were compiled once, the environment's values as
//! they were told last, and short texts on the JavaScript thread itself.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use napi::{Env, Error, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use redaction::{
    Allowed, CustomFind, CustomRule, EnvironmentValues, Redaction, RedactionOptions,
    RedactionSession, Redactor, Report,
};
use serde::Deserialize;
use storage::Payload;

use super::{
    text::{JsText, Utf8},
    value,
};

/// The options' part that is for the rules; crosses as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeRedactionOptions {
    patterns: Vec<NativePattern>,
    allow: Vec<NativeAllowed>,
    disable: Vec<String>,
    keys: Vec<String>,
    preserves_length: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NativePattern {
    Expression { name: String, source: String, flags: String },
    Literals { name: String, literals: Vec<String> },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NativeAllowed {
    Literal(String),
    Expression { source: String, flags: String },
}

impl From<NativeRedactionOptions> for RedactionOptions {
    fn from(options: NativeRedactionOptions) -> Self {
        let rule = |pattern| match pattern {
            NativePattern::Expression { name, source, flags } => {
                CustomRule { name, find: CustomFind::Expression { source, flags } }
            }
            NativePattern::Literals { name, literals } => {
                CustomRule { name, find: CustomFind::Literals(literals) }
            }
        };
        let allowed = |allowed| match allowed {
            NativeAllowed::Literal(text) => Allowed::Literal(text),
            NativeAllowed::Expression { source, flags } => Allowed::Expression { source, flags },
        };
        Self {
            disabled: options.disable,
            rules: options.patterns.into_iter().map(rule).collect(),
            allowed: options.allow.into_iter().map(allowed).collect(),
            keys: options.keys,
            preserves_length: options.preserves_length,
        }
    }
}

/// Gives what is to be redacted at the time of a call.
#[derive(Clone)]
pub struct RedactionSource(Arc<Inner>);

struct Inner {
    redactor: Arc<Redactor>,
    environment: Mutex<Arc<EnvironmentValues>>,
}

impl RedactionSource {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self(Arc::new(Inner { redactor, environment: Mutex::default() }))
    }

    /// The rules, and the environment's values as they were told last.
    pub fn current(&self) -> Redaction {
        let environment = self.0.environment.lock().unwrap_or_else(PoisonError::into_inner);
        Redaction::new(Arc::clone(&self.0.redactor), Arc::clone(&environment))
    }
}

/// Compiled rules.
#[napi]
pub struct NativeRedactor {
    source: RedactionSource,
}

#[napi]
impl NativeRedactor {
    /// `options` is JSON; without it the rules are the process's own, which are compiled once. What is
    /// wrong is thrown, as an error whose message is JSON.
    #[napi(constructor)]
    pub fn new(#[napi(ts_arg_type = "string | undefined")] options: Option<Utf8>) -> Result<Self> {
        let redactor = match options {
            None => standard(),
            Some(options) => {
                let options: NativeRedactionOptions = serde_json::from_slice(&options.0)
                    .map_err(|error| Error::from_reason(error.to_string()))?;
                Redactor::new(options.into())
            }
        };
        Ok(Self { source: RedactionSource::new(redactor.map_err(thrown)?) })
    }

    /// Whether what has this name is taken for a secret.
    #[napi]
    pub fn is_secret_name(&self, #[napi(ts_arg_type = "string")] name: Utf8) -> bool {
        self.source.0.redactor.is_secret_name(&name.into_string())
    }

    /// The environment's secrets from now on: names, each followed by its value, separated by NUL
    /// characters.
    #[napi]
    pub fn set_environment(&self, #[napi(ts_arg_type = "string")] variables: Utf8) {
        let variables = variables.into_string();
        let mut parts = variables.split('\0').map(str::to_owned);
        let pairs = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)));
        let values = Arc::new(EnvironmentValues::new(pairs));
        *self.source.0.environment.lock().unwrap_or_else(PoisonError::into_inner) = values;
    }

    /// The text without its secrets, and what was found, as JSON; `null` when nothing was.
    #[napi(ts_return_type = "[text: string, findings: string] | null")]
    pub fn text(&self, #[napi(ts_arg_type = "string")] text: Utf8) -> Result<Option<Vec<JsText>>> {
        let mut pass = self.pass();
        let mut text = text.into_string();
        pass.text(&mut text).map_err(thrown)?;
        Ok(texts(text.into_bytes(), &pass.report()))
    }

    /// As `text`, for a value's JSON.
    #[napi(ts_return_type = "[json: string, findings: string] | null")]
    pub fn json(
        &self,
        env: &Env,
        #[napi(ts_arg_type = "string")] json: Unknown<'_>,
    ) -> Result<Option<Vec<JsText>>> {
        let mut pass = self.pass();
        let mut text = Vec::new();
        let encoded = value::read_text(env, &json)?;
        encoded.write(&mut text).map_err(|_| Error::from_reason("no JSON text"))?;
        pass.json(&mut text, 0).map_err(thrown)?;
        Ok(texts(text, &pass.report()))
    }
}

impl NativeRedactor {
    pub fn source(&self) -> RedactionSource {
        self.source.clone()
    }

    fn pass(&self) -> RedactionSession {
        RedactionSession::new(Some(self.source.current()))
    }
}

/// The rules without any options.
fn standard() -> redaction::Result<Arc<Redactor>> {
    static STANDARD: OnceLock<Arc<Redactor>> = OnceLock::new();
    if let Some(redactor) = STANDARD.get() {
        return Ok(Arc::clone(redactor));
    }
    let redactor = Redactor::new(RedactionOptions::default())?;
    Ok(Arc::clone(STANDARD.get_or_init(|| redactor)))
}

fn thrown(error: redaction::Error) -> Error {
    Error::from_reason(super::error::to_json(&error.into()).to_string())
}

fn texts(text: Vec<u8>, report: &Report) -> Option<Vec<JsText>> {
    let found = (!report.is_empty()).then(|| findings(report).into_bytes())?;
    Some([text, found].map(|text| JsText(Payload::new(text))).into())
}

/// What was found, as JSON.
pub fn findings(report: &Report) -> String {
    serde_json::to_string(report).unwrap_or_default()
}

/// What is asked for as it would be stored. What cannot be redacted was not stored either.
pub fn as_stored(source: Option<&RedactionSource>, mut token: String) -> String {
    let mut pass = RedactionSession::new(source.map(RedactionSource::current));
    let given = token.clone();
    match pass.token(&mut token) {
        Ok(()) => token,
        Err(_) => given,
    }
}
