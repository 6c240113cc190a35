//! The texts of vectors and queries of the database's full-text search.

/// The number of characters of a tag.
const TAG: usize = 5;
const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
/// The longest term, in bytes; longer ones are cut, in documents as in queries. The server allows 2,046 bytes with the tag.
const MAX_TERM: usize = 1024;
/// The most bytes of a vector's lexemes; further terms are left out. The server allows 1 MiB.
const MAX_VECTOR: usize = 960 * 1024;

/// Distinguishes the lexemes of a collection from those of others in the same index. Different collections may have the same tag:
/// statements compare the collection itself, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag(String);

impl Tag {
    /// The number of characters of a tag.
    pub const LENGTH: usize = TAG;

    /// The tag of the collection with this name.
    #[must_use]
    pub fn of(collection: &[u8]) -> Self {
        // FNV-1a: the tag is part of what is stored, so it must never change.
        let hash = collection.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let digit = |place: usize| {
            let number = (hash >> (64 - 5 * (place + 1))) as usize % DIGITS.len();
            DIGITS.get(number).copied().map(char::from)
        };
        Self((0..TAG).filter_map(digit).collect())
    }

    /// The text of a vector of these terms, for a cast to `tsvector`.
    pub fn vector<'t>(&self, terms: impl Iterator<Item = &'t str>) -> String {
        let (mut vector, mut size) = (String::new(), 0);
        for term in terms {
            let term = cut(term);
            size += TAG + term.len();
            if size > MAX_VECTOR {
                break;
            }
            self.push(term, &mut vector);
            vector.push(' ');
        }
        vector
    }

    /// The text of a query of one term, or of all terms that begin with it, for a cast to `tsquery`.
    #[must_use]
    pub fn query(&self, term: &str, is_prefix: bool) -> String {
        let mut query = String::with_capacity(term.len() + TAG + 4);
        self.push(cut(term), &mut query);
        if is_prefix {
            query.push_str(":*");
        }
        query
    }

    /// The lexeme of a term.
    #[must_use]
    pub fn lexeme(&self, term: &str) -> String {
        let mut lexeme = self.0.clone();
        lexeme.extend(stored(cut(term)));
        lexeme
    }

    /// The term of a lexeme; `None` if it has another tag.
    #[must_use]
    pub fn term_of<'l>(&self, lexeme: &'l str) -> Option<&'l str> {
        lexeme.strip_prefix(&*self.0)
    }

    /// Appends a lexeme in quotes.
    fn push(&self, term: &str, text: &mut String) {
        text.push('\'');
        text.push_str(&self.0);
        for character in stored(term) {
            match character {
                '\'' => text.push_str("''"),
                '\\' => text.push_str("\\\\"),
                other => text.push(other),
            }
        }
        text.push('\'');
    }
}

/// The characters of a term. The server's texts cannot hold U+0000.
fn stored(term: &str) -> impl Iterator<Item = char> {
    term.chars()
        .map(|character| if character == '\0' { char::REPLACEMENT_CHARACTER } else { character })
}

fn cut(term: &str) -> &str {
    term.split_at(term.floor_char_boundary(MAX_TERM)).0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads quoted lexemes as the server does.
    fn lexemes(text: &str) -> Vec<String> {
        let (mut lexemes, mut characters) = (Vec::new(), text.chars().peekable());
        while characters.find(|character| *character != ' ').is_some_and(|first| first == '\'') {
            let mut lexeme = String::new();
            while let Some(character) = characters.next() {
                match character {
                    '\'' if characters.next_if_eq(&'\'').is_none() => break,
                    '\\' => lexeme.extend(characters.next()),
                    other => lexeme.push(other),
                }
            }
            lexemes.push(lexeme);
        }
        assert_eq!(characters.next(), None, "{text}");
        lexemes
    }

    proptest! {
        #[test]
        fn any_terms_survive(terms in prop::collection::vec("['\\\\:*&|!() a-bé東]{0,8}|.{0,8}", 0..8)) {
            let tag = Tag::of(b"notes");
            let stored = lexemes(&tag.vector(terms.iter().map(String::as_str)));
            let stored: Vec<&str> = stored.iter().map(|lexeme| tag.term_of(lexeme).unwrap()).collect();
            let expected: Vec<String> = terms.iter().map(|term| term.replace('\0', "\u{fffd}")).collect();
            prop_assert_eq!(stored, expected);
        }
    }

    #[test]
    fn tags_are_short_and_never_change() {
        assert_eq!(Tag::of(b"notes"), Tag::of(b"notes"));
        assert_eq!(Tag::of(b"notes").0.len(), TAG);
        assert_ne!(Tag::of(b"notes"), Tag::of(b"other"));
        assert_eq!(Tag::of(b"").0, "pfp9p");
        assert_eq!(Tag::of(b"a").query("it's", true), format!("'{}it''s':*", Tag::of(b"a").0));
        assert_eq!(Tag::of(b"a").term_of("xxxxxterm"), None);
    }

    #[test]
    fn long_terms_and_vectors_are_cut() {
        let (tag, long) = (Tag::of(b"a"), "é".repeat(MAX_TERM));
        assert_eq!(tag.query(&long, false), format!("'{}{}'", tag.0, "é".repeat(MAX_TERM / 2)));
        let many = vec![long.as_str(); 2000];
        let stored = lexemes(&tag.vector(many.into_iter()));
        assert!(stored.iter().map(String::len).sum::<usize>() <= MAX_VECTOR && stored.len() > 900);
    }
}
