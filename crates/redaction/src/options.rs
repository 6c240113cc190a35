//! Options of redaction that a caller can set.

use sha2::{Digest, Sha256};

/// A caller's own rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomRule {
    /// Its name, which appears in replacements and reports.
    pub name: String,
    /// How it finds secrets.
    pub find: CustomFind,
}

/// How a caller's rule finds secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomFind {
    /// By a JavaScript regular expression. If the expression has a group named `secret`, the group is the secret.
    Expression {
        /// Its source.
        source: String,
        /// Its flags.
        flags: String,
    },
    /// By literal texts.
    Literals(Vec<String>),
}

/// An entry of the allow list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// Allows exactly this text.
    Literal(String),
    /// Allows secrets that this JavaScript regular expression matches somewhere.
    Expression {
        /// Its source.
        source: String,
        /// Its flags.
        flags: String,
    },
}

/// The options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactionOptions {
    /// Names of rules that are disabled.
    pub disabled: Vec<String>,
    /// The caller's own rules.
    pub rules: Vec<CustomRule>,
    /// Secrets that are never redacted.
    pub allowed: Vec<Allowed>,
    /// Additional names whose values are secret.
    pub keys: Vec<String>,
    /// Whether replacements have as many UTF-16 units as the secret, instead of `[REDACTED:<rule>]`.
    pub preserves_length: bool,
}

impl RedactionOptions {
    /// A hash that differs for different options.
    pub(super) fn fingerprint(&self) -> u64 {
        let digest = Sha256::digest(format!("{self:?}"));
        digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
