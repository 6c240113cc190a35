//! The rules of `rules.toml`, which the build script compiled to statics.

/// A rule: its name and its method of finding secrets.
#[derive(Debug)]
pub(super) struct Rule {
    /// The rule's name, which is part of replacements and reports.
    pub name: &'static str,
    /// Texts of which every match contains one, in any ASCII case. Empty for some detectors.
    pub anchors: &'static [&'static str],
    /// How it finds secrets.
    pub method: Method,
}

/// The method by which a rule finds secrets.
#[derive(Debug)]
pub(super) enum Method {
    /// A regular expression that is searched near an anchor.
    Pattern(PatternRule),
    /// A detector that is written in code.
    Detector(Detector),
}

/// A regular expression, and where and how it is searched.
#[derive(Debug)]
pub(super) struct PatternRule {
    /// An expression for `regex::bytes` without Unicode. The secret is the group `secret`, or else the complete match.
    /// Empty when the rule has only commands.
    pub pattern: &'static str,
    /// Commands that take a secret as the value of a flag.
    pub commands: &'static [Command],
    /// Maximum number of bytes of a match before the anchor. If zero, matches begin with the anchor.
    pub reach: usize,
    /// A sign between the start of a match and its anchor, or empty.
    pub before: &'static str,
    /// Maximum length of a match in bytes.
    pub length: usize,
    /// Whether the outcome depends only on the text after the run of letters, digits, `_` and `-` that contains the
    /// anchor: if one anchor of the run has no match, the others of the run have none either.
    pub run: bool,
    /// Whether a match must not directly follow or precede an ASCII letter or digit, `_` or `-`.
    pub bounded: bool,
    /// Minimum Shannon entropy of the secret in bits per character; zero for no minimum.
    pub entropy: f32,
}

/// A shell command that takes a secret as the value of a flag. Its expressions have the form of those of a
/// [`PatternRule`].
#[derive(Debug)]
pub(super) struct Command {
    /// Index among all commands, below [`COMMANDS`].
    pub number: usize,
    /// Matches the command's name, which begins with an anchor. The match of the flag may begin with the last two bytes
    /// of it.
    pub name: &'static str,
    /// Maximum number of bytes between the name and the flag.
    pub gap: usize,
    /// Signs that end the command, in addition to the line end.
    pub stops: &'static str,
    /// Matches the flag and the secret after it.
    pub flag: &'static str,
}

/// Detectors that are written in code, because a regular expression cannot express them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detector {
    /// The value after a name that looks secret.
    Assignment,
    /// A user name and a password in base64, after the name of the HTTP scheme.
    Basic,
    /// Private keys: complete, escaped, on one line, cut short, or with prefixes written by tools.
    PrivateKey,
    /// Discord tokens, which have no anchor.
    DottedToken,
    /// A random value after the name of a service.
    Vendor,
}

/// Words by which names and values are classified.
#[derive(Debug)]
pub(super) struct Names {
    /// Ends of names whose values are chosen by people.
    pub passwords: &'static [&'static str],
    /// Ends of names of other secrets.
    pub secrets: &'static [&'static str],
    /// Ends of names whose values are secret when they look random.
    pub machine: &'static [&'static str],
    /// As `machine`, except for values that look like digests.
    pub weak: &'static [&'static str],
    /// Ends of names that look secret but are not.
    pub harmless: &'static [&'static str],
    /// Last words of names that do not change the class.
    pub neutral: &'static [&'static str],
    /// Values that are not secrets, in lower case.
    pub literals: &'static [&'static str],
    /// Words of values that are placeholders.
    pub placeholders: &'static [&'static str],
    /// Prefixes of values that refer to a secret stored elsewhere.
    pub references: &'static [&'static str],
    /// Services whose keys have no distinctive form.
    pub vendors: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));
