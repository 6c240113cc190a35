//! Generates texts that are slow to redact: a few tokens, repeated, joined and nested.

/// Anchors of rules and separators, one per line, in libFuzzer's format.
const DICTIONARY: &str = include_str!("../redaction.dict");
/// Maximum number of tokens in a unit.
const TOKENS: u64 = 8;
/// Maximum number of parts of a text. Each repeats a unit.
const PARTS: u64 = 3;
/// Minimum and maximum length of a text in bytes.
const LENGTH: (u64, u64) = (4 << 10, 64 << 10);

/// Random numbers with the same sequence for the same seed: splitmix64.
pub struct Random(pub u64);

impl Random {
    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// The words of the dictionary, signs and letters, and the anchors of the rules.
pub fn tokens(anchors: impl IntoIterator<Item = String>) -> Vec<String> {
    let quoted = DICTIONARY.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    let words = quoted.map(|word| {
        let word = word.replace("\\x0a", "\n").replace("\\x0d", "\r").replace("\\x09", "\t");
        word.replace("\\\"", "\"").replace("\\\\", "\\")
    });
    let more = [
        "sig",
        "sig=",
        "a",
        "0",
        "aZ3",
        "é",
        "x1y2z3w4",
        "9f1c2b3a4d5e6f70",
        "curl ",
        "zip -P",
        "\u{1b}[31m",
        "\u{1b}]8;;",
        "\\u001b[0m",
        "\u{200b}",
        "MIIEpAIBAAKCAQEA3yLb5u4S0gvcUONLHTaWaUP1gUYcKsqRKEhSdoXMSXovHdbM",
    ];
    words.chain(more.map(str::to_owned)).chain(anchors).collect()
}

/// A text of 4 to 64 KB: units of 1 to 8 tokens, repeated, nested or concatenated.
pub fn text(random: &mut Random, tokens: &[String]) -> String {
    let length = LENGTH.0 + random.below(LENGTH.1 - LENGTH.0);
    let parts = 1 + random.below(PARTS);
    let mut text = String::new();
    for part in 1..=parts {
        let end = (length * part / parts) as usize;
        let mut unit = unit(random, tokens);
        // Nested: a unit repeated several times, between others.
        if random.below(3) == 0 {
            let inner = self::unit(random, tokens);
            let times = 1 + random.below(200) as usize;
            unit.push_str(&inner.repeat(times));
        }
        while text.len() < end {
            text.push_str(&unit);
        }
        text.truncate(text.floor_char_boundary(end));
    }
    text
}

fn unit(random: &mut Random, tokens: &[String]) -> String {
    let count = 1 + random.below(TOKENS);
    (0..count).map(|_| tokens[random.below(tokens.len() as u64) as usize].as_str()).collect()
}
