//! What a caller may say about redaction.

use sha2::{Digest, Sha256};

/// A caller's own rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomRule {
    /// Its name, for replacements and reports.
    pub name: String,
    /// What it finds.
    pub find: CustomFind,
}

/// What a caller's rule finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomFind {
    /// What a JavaScript regular expression matches; with a group named `secret`, what that matches.
    Expression {
        /// Its source.
        source: String,
        /// Its flags.
        flags: String,
    },
    /// These texts, wherever they occur.
    Literals(Vec<String>),
}

/// What is never redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// Exactly this text.
    Literal(String),
    /// A secret that this JavaScript regular expression matches somewhere.
    Expression {
        /// Its source.
        source: String,
        /// Its flags.
        flags: String,
    },
}

/// What a caller says about redaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactionOptions {
    /// Names of rules that are not used.
    pub disabled: Vec<String>,
    /// The caller's own rules.
    pub rules: Vec<CustomRule>,
    /// What is never redacted.
    pub allowed: Vec<Allowed>,
    /// Further names whose values are secret.
    pub keys: Vec<String>,
    /// A replacement of as many UTF-16 units as the secret has, in place of `[REDACTED:<rule>]`.
    pub preserves_length: bool,
}

impl RedactionOptions {
    /// Tells them from others.
    pub(super) fn fingerprint(&self) -> u64 {
        let digest = Sha256::digest(format!("{self:?}"));
        digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
