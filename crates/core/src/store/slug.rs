//! Slugs: the readable part of an entry's file name, made from its title.

/// The longest slug in a file name, in bytes.
const MAX_SLUG: usize = 80;

/// A kebab-case name of ASCII letters and digits; `None` if the text has neither.
#[must_use]
pub fn slug(text: &str) -> Option<String> {
    let kebab = heck::AsKebabCase(text).to_string();
    let mut slug = ::slug::slugify(kebab);
    if slug.len() > MAX_SLUG {
        slug.truncate(MAX_SLUG);
        // A word that would be cut is left out, unless it is the only one.
        if let Some((words, _)) = slug.rsplit_once('-') {
            slug.truncate(words.len());
        }
    }
    (!slug.is_empty()).then_some(slug)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slugs_are_kebab_case() {
        for (text, expected) in [
            ("auth-vulnerability", "auth-vulnerability"),
            ("Auth Vulnerability!", "auth-vulnerability"),
            ("authVulnerability", "auth-vulnerability"),
            ("SQLInjection in user_name", "sql-injection-in-user-name"),
            ("  --Größe & Maße--  ", "grosse-masse"),
            ("日本語", "ri-ben-yu"),
            ("../../etc/passwd", "etc-passwd"),
            ("con", "con"),
        ] {
            assert_eq!(slug(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "---", "../..", "?!"] {
            assert_eq!(slug(text), None, "{text}");
        }
        let long = slug(&"seven12 ".repeat(100)).unwrap();
        assert!(long.len() <= MAX_SLUG && long.ends_with("-seven12"), "{long}");
        assert_eq!(slug(&"x".repeat(1000)).unwrap().len(), MAX_SLUG);
    }

    proptest! {
        #[test]
        fn any_text_makes_a_safe_slug(text in any::<String>()) {
            if let Some(made) = slug(&text) {
                prop_assert!(made.len() <= MAX_SLUG && !made.is_empty());
                prop_assert!(made.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
                prop_assert!(!made.starts_with('-') && !made.ends_with('-') && !made.contains("--"));
            }
        }
    }
}
