//! A redactor: the compiled rules with a caller's options.

use std::sync::Arc;

use super::{
    ENVIRONMENT, UNSCANNED,
    allowed::AllowList,
    anchors,
    custom::CustomRules,
    error::{Error, ErrorKind, Result},
    names::{self, NameClass},
    options::RedactionOptions,
    replacement,
    rules::{Detector, Method, RULES},
    scanner::Anchors,
};

/// The compiled rules. A redactor can be used for many texts and on any thread.
#[derive(Debug)]
pub struct Redactor {
    pub(super) anchors: Arc<Anchors>,
    /// The names of all rules, by index.
    pub(super) names: Vec<Arc<str>>,
    /// For each rule, whether it is disabled.
    pub(super) disabled: Vec<bool>,
    /// The caller's additional names of secrets, in lower case without separators.
    pub(super) further: Vec<String>,
    pub(super) custom: CustomRules,
    pub(super) allowed: AllowList,
    pub(super) preserves_length: bool,
    pub(super) assignment: Option<usize>,
    pub(super) private_key: Option<usize>,
    /// A hash of the options.
    pub(super) fingerprint: u64,
}

impl Redactor {
    /// # Errors
    /// [`ErrorKind::InvalidOption`] with the position for a pattern that does not compile, needs backtracking or is too
    /// large, and for an unknown name of a rule.
    pub fn new(options: RedactionOptions) -> Result<Arc<Self>> {
        let custom = CustomRules::new(&options.rules)?;
        let own = (0..options.rules.len()).map(|rule| Arc::clone(custom.name(rule)));
        let names: Vec<Arc<str>> = RULES
            .iter()
            .map(|rule| Arc::from(rule.name))
            .chain([Arc::from(ENVIRONMENT), Arc::from(UNSCANNED)])
            .chain(own)
            .collect();
        let mut disabled = vec![false; names.len()];
        for name in &options.disabled {
            let rule = names.iter().position(|known| **known == **name && **name != *UNSCANNED);
            match rule.and_then(|rule| disabled.get_mut(rule)) {
                Some(is_disabled) => *is_disabled = true,
                None => return Err(unknown_rule(name)),
            }
        }
        if let Some(key) = options.keys.iter().find(|key| names::joined(key).len() < anchors::HEAD)
        {
            return Err(short_key(key));
        }
        let phrases: Vec<String> = options.keys.iter().map(|key| names::phrase(key)).collect();
        let further: Vec<String> = options.keys.iter().map(|key| names::joined(key)).collect();
        let anchors =
            if further.is_empty() { Anchors::standard() } else { Arc::new(Anchors::new(&phrases)) };
        let detector = |wanted: Detector| {
            let rule = RULES.iter().position(
                |rule| matches!(rule.method, Method::Detector(detector) if detector == wanted),
            );
            rule.filter(|&rule| disabled.get(rule) == Some(&false))
        };
        Ok(Arc::new(Self {
            assignment: detector(Detector::Assignment),
            private_key: detector(Detector::PrivateKey),
            custom,
            allowed: AllowList::new(&options.allowed)?,
            anchors,
            names,
            disabled,
            further,
            preserves_length: options.preserves_length,
            fingerprint: options.fingerprint(),
        }))
    }

    /// Whether the value under this name may be redacted.
    #[must_use]
    pub fn is_secret_name(&self, name: &str) -> bool {
        self.class(name) >= NameClass::Machine
    }

    pub(super) fn class(&self, name: &str) -> NameClass {
        // A label contains the name of a rule, not a value.
        if !name.contains(replacement::START) && self.anchors.hold_name(name) {
            names::classify(name, &self.further)
        } else {
            NameClass::Plain
        }
    }
}

fn short_key(key: &str) -> Error {
    let least = anchors::HEAD;
    Error::new(
        ErrorKind::InvalidOption,
        format!(
            "the name of a secret must have at least {least} letters and digits, unlike {key:?}"
        ),
    )
}

fn unknown_rule(name: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("there is no redaction rule {name:?}"))
}
