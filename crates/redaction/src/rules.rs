//! The rules of `rules.toml`, as the build compiled them. Nothing is parsed when the program runs.

/// A rule: what it is called, and how it finds secrets.
#[derive(Debug)]
pub(super) struct Rule {
    /// Its name, which stands in the replacement and in reports.
    pub name: &'static str,
    /// Texts of which every match contains one, in any case of ASCII letters. A detector may have
    /// none.
    pub anchors: &'static [&'static str],
    /// How it finds secrets.
    pub method: Method,
}

/// How a rule finds secrets.
#[derive(Debug)]
pub(super) enum Method {
    /// With a regular expression, near an anchor.
    Pattern(PatternRule),
    /// With code.
    Detector(Detector),
}

/// Regular expressions, and where and how they are tried.
#[derive(Debug)]
pub(super) struct PatternRule {
    /// For `regex::bytes` without Unicode. The secret is the group `secret`, or else all of the
    /// match. Empty when the rule has commands alone.
    pub pattern: &'static str,
    /// Commands with a flag that a secret stands behind.
    pub commands: &'static [Command],
    /// Bytes of a match that stand before the anchor at most. With none, the match begins with it.
    pub reach: usize,
    /// A sign that stands between the start of a match and its anchor, or nothing.
    pub before: &'static str,
    /// Bytes that a match has at most.
    pub length: usize,
    /// Whether it is decided behind the run of letters, digits, `_` and `-` that the anchor stands in: where it fails at
    /// one anchor, it fails at the others of the run.
    pub run: bool,
    /// Whether neither a letter or digit of ASCII nor `_` nor `-` stands right before and right
    /// after the match.
    pub bounded: bool,
    /// Bits per character that the secret has at least, after Shannon; zero when it may have any.
    pub entropy: f32,
}

/// A command of a shell that takes a secret behind a flag. Its expressions are as those of a
/// [`PatternRule`].
#[derive(Debug)]
pub(super) struct Command {
    /// Its number among all commands, below [`COMMANDS`].
    pub number: usize,
    /// Matches its name, which begins with an anchor. The flag may begin with the last two bytes of it.
    pub name: &'static str,
    /// Bytes between the name and the flag at most.
    pub gap: usize,
    /// Signs that end the command, beside the end of its line.
    pub stops: &'static str,
    /// Matches the flag and the secret behind it.
    pub flag: &'static str,
}

/// What code finds, because a pattern cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detector {
    /// The value after a name that looks secret.
    Assignment,
    /// A user's name and password in base64, behind the name of the scheme.
    Basic,
    /// Private keys: whole, escaped, on one line, cut short, framed by what tools write.
    PrivateKey,
    /// Tokens of Discord, which have no anchor.
    DottedToken,
    /// A random value after the name of a service.
    Vendor,
}

/// What names and values say.
#[derive(Debug)]
pub(super) struct Names {
    /// Ends of the names of what people choose.
    pub passwords: &'static [&'static str],
    /// Ends of the names of other secrets.
    pub secrets: &'static [&'static str],
    /// Ends of names whose values are secret when they look random.
    pub machine: &'static [&'static str],
    /// As these, but for digests.
    pub weak: &'static [&'static str],
    /// Ends of names that look secret and are not.
    pub harmless: &'static [&'static str],
    /// Last words of names that say nothing.
    pub neutral: &'static [&'static str],
    /// Values that are none, in lower case.
    pub literals: &'static [&'static str],
    /// Words of values that only stand for a secret.
    pub placeholders: &'static [&'static str],
    /// How values begin that stand elsewhere.
    pub references: &'static [&'static str],
    /// Services whose keys have no form of their own.
    pub vendors: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));
