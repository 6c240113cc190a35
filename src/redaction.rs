//! Redaction for JavaScript: compiled rules, the present values of the environment, and synchronous redaction
//! of short texts.

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

/// The options for the rules, JSON.
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

/// Provides the redaction at the time of a call.
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

    /// The rules with the latest values of the environment.
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
    /// `options` is JSON; without options, the default rules are used, which are compiled once per process.
    /// Throws an error whose message is JSON.
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

    /// Whether a key with this name has a secret as its value.
    #[napi]
    pub fn is_secret_name(&self, #[napi(ts_arg_type = "string")] name: Utf8) -> bool {
        self.source.0.redactor.is_secret_name(&name.into_string())
    }

    /// Sets the environment's secrets: names, each followed by its value, separated by NUL characters.
    #[napi]
    pub fn set_environment(&self, #[napi(ts_arg_type = "string")] variables: Utf8) {
        let variables = variables.into_string();
        let mut parts = variables.split('\0').map(str::to_owned);
        let pairs = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)));
        let values = Arc::new(EnvironmentValues::new(pairs));
        *self.source.0.environment.lock().unwrap_or_else(PoisonError::into_inner) = values;
    }

    /// The redacted text and the report as JSON; `null` if nothing was found.
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

/// The default rules.
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

/// The report as JSON.
pub fn findings(report: &Report) -> String {
    serde_json::to_string(report).unwrap_or_default()
}

/// Redacts an argument of a lookup, because entries are stored redacted. If that fails, the token is returned
/// unchanged; a value that cannot be redacted was not stored.
pub fn as_stored(source: Option<&RedactionSource>, mut token: String) -> String {
    let mut pass = RedactionSession::new(source.map(RedactionSource::current));
    let given = token.clone();
    match pass.token(&mut token) {
        Ok(()) => token,
        Err(_) => given,
    }
}
