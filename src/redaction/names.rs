//! What the name of a variable, a member or a header says about its value.

use super::rules::NAMES;

/// Names longer than this are not looked at whole: their end tells.
pub(super) const MAX_NAME: usize = 96;

/// What is to be expected under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameClass {
    /// Nothing in particular.
    Plain,
    /// A secret, if the value looks random.
    Weak,
    /// A secret, unless the value is a mere word of code (`token`, `cookie`).
    Secret,
    /// A secret that people choose (`password`): any value may be one.
    Password,
}

/// Says what is under a name, however its words are joined (`dbPassword`, `DB_PASSWORD`,
/// `db.password`, `dbpassword`). `further` are the caller's own names, in lower case without
/// separators.
pub(super) fn classify(name: &str, further: &[String]) -> NameClass {
    let mut words = Words::of(name);
    words.strip_neutral();
    if words.is_empty() {
        return NameClass::Plain;
    }
    if further.iter().any(|further| words.ends_with(further)) {
        return NameClass::Password;
    }
    let is_one_of = |phrases: &[&str]| phrases.iter().any(|phrase| words.ends_with(phrase));
    if is_one_of(NAMES.harmless) {
        NameClass::Plain
    } else if is_one_of(NAMES.passwords) {
        NameClass::Password
    } else if is_one_of(NAMES.secrets) {
        NameClass::Secret
    } else if is_one_of(NAMES.weak) {
        NameClass::Weak
    } else {
        NameClass::Plain
    }
}

/// A phrase as names are compared: lower case, without separators.
pub(super) fn joined(name: &str) -> String {
    Words::of(name).text
}

/// Whether one of the text's words is the name of a secret: `access_token`, but not `hunter2`.
pub(super) fn is_made_of_names(text: &str) -> bool {
    let mut words = Words::of(text);
    words.strip_neutral();
    let is_one_of = |phrases: &[&str]| phrases.iter().any(|phrase| words.ends_with(phrase));
    !words.is_empty() && (is_one_of(NAMES.passwords) || is_one_of(NAMES.secrets))
}

/// The words of a name in lower case, one after the other.
struct Words {
    text: String,
    /// Where in `text` the words begin.
    starts: Vec<usize>,
}

impl Words {
    fn of(name: &str) -> Self {
        let mut words = Self { text: String::with_capacity(name.len()), starts: Vec::new() };
        let mut previous = None;
        let mut characters = name.chars().peekable();
        while let Some(character) = characters.next() {
            if !character.is_alphanumeric() {
                previous = None;
                continue;
            }
            let begins = match previous {
                None => true,
                Some(before) => is_border(before, character, characters.peek().copied()),
            };
            if begins {
                words.starts.push(words.text.len());
            }
            words.text.extend(character.to_lowercase());
            previous = Some(character);
        }
        words
    }

    fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    fn last(&self) -> &str {
        self.starts.last().and_then(|&start| self.text.get(start..)).unwrap_or_default()
    }

    /// Takes numbers and words off the end that say nothing: `password_1`, `tokenValue`.
    fn strip_neutral(&mut self) {
        while self.starts.len() > 1 {
            let last = self.last();
            let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number && !NAMES.neutral.contains(&last) {
                break;
            }
            let start = self.starts.pop().unwrap_or_default();
            self.text.truncate(start);
        }
        let digits = self.text.bytes().rev().take_while(u8::is_ascii_digit).count();
        let start = self.starts.last().copied().unwrap_or_default();
        if self.text.len() - digits > start {
            self.text.truncate(self.text.len() - digits);
        }
    }

    /// Whether the name ends with the phrase, whose words are separated by spaces or joined. Short
    /// phrases only as words of their own: `pin` is not in `spin`.
    fn ends_with(&self, phrase: &str) -> bool {
        let mut text = self.text.as_str();
        let mut first = self.text.len();
        let plural = text.strip_suffix('s').filter(|_| !phrase.ends_with('s'));
        for text_or_singular in [Some(text), plural].into_iter().flatten() {
            text = text_or_singular;
            let mut rest = Some(text);
            for word in phrase.split(' ').rev() {
                rest = rest.and_then(|rest| rest.strip_suffix(word));
            }
            if let Some(rest) = rest {
                first = first.min(rest.len());
                if phrase.len() > SHORT || self.starts.contains(&rest.len()) {
                    return true;
                }
            }
        }
        false
    }
}

/// Phrases up to this length count as words of their own alone.
const SHORT: usize = 4;

/// Whether a new word begins between two letters: `aB`, `ABc` before `B`.
fn is_border(before: char, character: char, after: Option<char>) -> bool {
    if !character.is_uppercase() {
        return false;
    }
    before.is_lowercase()
        || before.is_ascii_digit()
        || (before.is_uppercase() && after.is_some_and(char::is_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_however_they_are_joined() {
        use NameClass::{Password, Plain, Secret, Weak};
        let cases = [
            ("password", Password),
            ("dbPassword", Password),
            ("DB_PASSWORD", Password),
            ("spring.datasource.password", Password),
            ("PGPASSWORD", Password),
            ("password2", Password),
            ("old_password_1", Password),
            ("usernamePassword", Password),
            ("token", Secret),
            ("twitter_TOKEN", Secret),
            ("HASHICORPTOKEN_TOKEN", Secret),
            ("grafana-api-keyToken", Secret),
            ("X-Api-Key", Secret),
            ("apikey", Secret),
            ("aws_secret_access_key", Secret),
            ("SecretAccessKey", Secret),
            ("tokens", Secret),
            ("clientSecret", Secret),
            ("tokenValue", Secret),
            ("impala_key", Weak),
            ("tokenType", Plain),
            ("token_count", Plain),
            ("max_tokens", Plain),
            ("nextPageToken", Plain),
            ("tokenizer", Plain),
            ("secretName", Plain),
            ("public_key", Plain),
            ("monkey", Plain),
            ("author", Plain),
            ("spin", Plain),
            ("length", Plain),
            ("", Plain),
            ("__", Plain),
        ];
        for (name, class) in cases {
            assert_eq!(classify(name, &[]), class, "{name}");
        }
    }

    #[test]
    fn further_names_of_the_caller_count() {
        let further = [joined("Lizenz-Nummer")];
        assert_eq!(classify("firmaLizenzNummer", &further), NameClass::Password);
        assert_eq!(classify("lizenz", &further), NameClass::Plain);
    }
}
