//! Replaces C++ macros between the keyword and the name of a class (`class API Widget {`) by spaces, because the
//! grammar does not allow them there.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// As in `class LIBRARY_API Name : public Base {`.
static BEFORE_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)\b(?:class|struct|union|enum\s+class) \s+
          (?<macro>[A-Z][A-Z0-9_]* (?:\([^()\n]{0,100}\))?) \s+
          [A-Za-z_][A-Za-z0-9_:]* \s* (?:final\s*)? [:{]",
    )
    .ok()
});

/// Replaces macros between the keyword and the name of a class by spaces. All other text keeps its position.
pub fn without_macros(text: Cow<'_, str>) -> Cow<'_, str> {
    // A clone has its own caches. They grow large with some texts, and are released with the clone.
    let Some(pattern) = (*BEFORE_NAME).clone() else { return text };
    let mut blanked: Option<String> = None;
    for found in pattern.captures_iter(&text) {
        let Some(name) = found.name("macro") else { continue };
        let blanked = blanked.get_or_insert_with(|| text.clone().into_owned());
        blanked.replace_range(name.range(), &" ".repeat(name.len()));
    }
    blanked.map_or(text, Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_before_the_name_of_a_class_becomes_spaces() {
        for (text, expected) in [
            ("class API Widget {", "class     Widget {"),
            ("struct API(a, b)\nWidget : Base {", "struct          \nWidget : Base {"),
            ("enum class API A::Widget final {", "enum class     A::Widget final {"),
            ("class A { class API_B C {", "class A { class       C {"),
        ] {
            assert_eq!(without_macros(text.into()), expected);
        }
        for text in [
            "class WIDGET {",
            "class API Widget;",
            "class A B c = 1;",
            "subclass API Widget {",
            "é class",
        ] {
            assert!(
                matches!(without_macros(text.into()), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }
}
