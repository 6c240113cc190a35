//! Recognises values of environment variables that are not searched for, although the name looks secret: paths,
//! numbers, words, placeholders, and values so common that they occur in unrelated text.

/// Words that are not secrets, with or without a number after them.
const WORDS: [&str; 42] = [
    "administrator",
    "anonymous",
    "authentication",
    "authorization",
    "bearer",
    "changeit",
    "changeme",
    "changethis",
    "credential",
    "credentials",
    "database",
    "default",
    "development",
    "disabled",
    "enabled",
    "example",
    "helloworld",
    "letmein",
    "localhost",
    "mongodb",
    "mypassword",
    "mysecret",
    "notasecret",
    "optional",
    "pa$$word",
    "passw0rd",
    "password",
    "placeholder",
    "postgres",
    "postgresql",
    "production",
    "qwertyui",
    "qwertyuiop",
    "redacted",
    "replaceme",
    "required",
    "rootpassword",
    "secret",
    "secretkey",
    "staging",
    "undefined",
    "username",
];
/// Prefixes of paths.
const ROOTS: [&str; 26] = [
    "./",
    "../",
    "~/",
    "\\\\",
    "/Applications/",
    "/Library/",
    "/Users/",
    "/Volumes/",
    "/app/",
    "/bin/",
    "/data/",
    "/dev/",
    "/etc/",
    "/home/",
    "/media/",
    "/mnt/",
    "/opt/",
    "/private/",
    "/proc/",
    "/root/",
    "/run/",
    "/srv/",
    "/tmp/",
    "/usr/",
    "/var/",
    "/workspace/",
];
/// Minimum number of different characters of a secret.
const MIN_VARIETY: usize = 5;
/// Maximum length of a word.
const MAX_WORD: usize = 16;

/// Whether a value is not a secret, or so common that a search would find it in unrelated text.
pub(super) fn is_common(value: &str) -> bool {
    has_little_variety(value)
        || is_number(value)
        || is_word(value)
        || is_placeholder(value)
        || is_path(value)
        || is_plain_url(value)
        || is_host(value)
        || is_address(value)
}

fn has_little_variety(value: &str) -> bool {
    let mut characters: Vec<char> = value.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    characters.len() < MIN_VARIETY
}

/// Whether it is a number, a date, a version, or an address with a port.
fn is_number(value: &str) -> bool {
    value.chars().all(|character| character.is_ascii_digit() || ".,:;+-_/ ".contains(character))
}

/// Whether it is one word: a known one, possibly with a number, or a pronounceable one.
fn is_word(value: &str) -> bool {
    let lower = value.to_lowercase();
    let stem = lower.trim_end_matches(|end: char| end.is_ascii_digit() || "!.?".contains(end));
    let is_spoken = value.len() <= MAX_WORD
        && value.chars().all(|letter| letter.is_ascii_lowercase())
        && can_be_spoken(value);
    WORDS.contains(&stem) || is_spoken
}

/// Whether vowels and consonants alternate as in words.
fn can_be_spoken(word: &str) -> bool {
    let is_vowel = |letter: char| "aeiouy".contains(letter);
    let vowels = word.chars().filter(|letter| is_vowel(*letter)).count();
    let longest = word.split(is_vowel).map(str::len).max().unwrap_or_default();
    vowels * 4 >= word.len() && vowels * 3 <= word.len() * 2 && longest <= 4
}

/// Whether it is a placeholder that a user is expected to replace.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    ["your-", "your_", "<your", "${", "{{", "$("].iter().any(|start| lower.starts_with(start))
        || (value.starts_with('<') && value.ends_with('>'))
        || (value.starts_with('%') && value.ends_with('%'))
}

/// Whether it is a path or a list of paths. A text with only a leading slash may also be base64.
fn is_path(value: &str) -> bool {
    let has_drive = matches!(value.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    has_drive
        || ROOTS.iter().any(|root| value.starts_with(root))
        || (value.starts_with('/') && !value.split('/').any(is_token))
}

/// Whether it is a URL without a secret part.
fn is_plain_url(value: &str) -> bool {
    value.split_once("://").is_some_and(|(scheme, rest)| {
        scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+.-".contains(letter))
            && !rest.contains(['@', '?', '#', '='])
            && !rest.split('/').skip(1).any(is_token)
    })
}

/// Whether it is a host name, possibly with a port.
fn is_host(value: &str) -> bool {
    let (host, port) = value.split_once(':').unwrap_or((value, "0"));
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty()
            && !is_token(label)
            && label.chars().all(|letter| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
            })
    };
    let is_domain =
        |label: &&str| label.len() >= 2 && label.chars().all(|letter| letter.is_ascii_lowercase());
    labels.len() >= 2
        && labels.iter().all(is_label)
        && labels.last().is_some_and(is_domain)
        && port.chars().all(|digit| digit.is_ascii_digit())
}

/// Whether it is an e-mail address.
fn is_address(value: &str) -> bool {
    value.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && !is_token(name)
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._+-".contains(letter))
            && is_host(host)
    })
}

/// Whether a part of a name looks random.
fn is_token(part: &str) -> bool {
    let has = |kind: fn(&char) -> bool| part.chars().any(|character| kind(&character));
    part.len() >= 16 && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
        || part.len() >= 24 && !part.contains(['-', '_', '.', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_values_are_known() {
        for value in [
            "password",
            "Password123!",
            "changeme123",
            "PRODUCTION",
            "development",
            "undefined",
            "aaaaaaaaaaaa",
            "abcabcabcabc",
            "12345678",
            "2024-05-01 12:30:00",
            "127.0.0.1:8080",
            "keyboard",
            "organization",
            "your-api-key-here",
            "<your token>",
            "<insert-token-1>",
            "${API_TOKEN_2}",
            "%API_TOKEN_2%",
            "/home/x/.ssh/id_rsa",
            "/tmp/ssh-XXXXXXq1w2e3/agent.1234",
            "/run/user/1000/gdm/Xauthority",
            "/secrets/github/token",
            "~/.aws/credentials",
            "../keys/service-account.json",
            r"C:\Users\x\key.pem",
            "https://auth.example.com/oauth/token",
            "redis://cache.internal:6379/0",
            "db.internal.example.com",
            "db-1.example.com:5432",
            "jane.doe+ci@example.com",
        ] {
            assert!(is_common(value), "{value} is common");
        }
    }

    #[test]
    fn secrets_are_not_common() {
        for value in [
            "kX9#v2qp",
            "qwhzmxkvbtrl",
            "correct-horse-battery-staple",
            "correcthorsebatterystaple",
            "d41d8cd98f00b204e9800998ecf8427e",
            "Tr0ub4dor&3",
            "Summer2024!x",
            "1234-5678-x",
            "/wJalrXUtnF3MIK7MDENG/bPxRfiCYzq1",
            "postgres://admin:hunter22@db.internal/app",
            "https://example.com/?sig=abc",
            "https://hooks.example.com/services/T00000000/B00000000/c2VjcmV0MTIzNDU2Nzg",
            "header1payload2signature3.abcdefgh12345678.x",
            "p@ssw0rd",
            "x9f2k4m8q1w7z3v5@example.com",
            "Qx7.vw.Lz9",
        ] {
            assert!(!is_common(value), "{value} is not common");
        }
    }
}
