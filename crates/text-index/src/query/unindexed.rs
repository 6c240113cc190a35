//! Counts the terms of a query in a document that is not indexed.

use crate::analysis::tokens::Token;
use crate::analysis::words::hash;
use crate::index::document_terms::for_each_token;
use crate::index::fields::{Document, FIELD_COUNT, Lengths};
use crate::index::postings::Frequencies;
use crate::query::free_text::Query;

/// Computes how often a document that is not indexed contains the terms of a query, into `frequencies`, which is
/// overwritten. Calls `see` with all terms of the document.
pub(crate) fn match_query(
    document: &Document<'_>,
    query: &Query,
    frequencies: &mut Vec<Frequencies>,
    mut see: impl FnMut(&str),
) -> Lengths {
    let mut counts = vec![[0_u32; FIELD_COUNT]; query.terms().len()];
    let lengths = for_each_token(document, |field, token| {
        let Token::Term(token, _) = token else { return };
        see(token);
        let counts =
            query.position(hash(token), token).and_then(|position| counts.get_mut(position));
        if let Some(count) = counts.and_then(|counts| counts.get_mut(field)) {
            *count += 1;
        }
    });
    frequencies.clear();
    frequencies.extend(counts.iter().map(Frequencies::from_counts));
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::document_terms::DocumentTerms;

    const DOCUMENT: Document<'_> = Document {
        name: "read_file",
        description: "read_file: /src/auth/LoginForm.tsx",
        arguments: "path /src/auth/LoginForm.tsx login login login login login",
        result: "export function LoginForm",
        group: 0,
        timestamp: 0,
    };

    #[test]
    fn matching_without_an_index_gives_the_same() {
        let query = Query::builder().text("login file path absent tsx", 1.0).build();
        let terms = DocumentTerms::new(&DOCUMENT);
        let mut frequencies = Vec::new();
        assert_eq!(match_query(&DOCUMENT, &query, &mut frequencies, |_| {}), terms.lengths);
        let expected: Vec<Frequencies> =
            query.terms().iter().map(|term| terms.find(term.hash, &term.text)).collect();
        assert_eq!(frequencies, expected);
    }
}
