//! The statement that finds the best candidates for the terms of a query, and its answer.
//!
//! Each term reads its rows by the full-text index, without reading a vector. A row's score is the sum of its terms' weights by
//! their rarity, of long documents a little less: the server knows which terms a document has, but not how often. The
//! caller ranks the candidates by their texts, with the statistics that the statement returns. Of the ten documents that
//! it would rank best among all, the best 200 candidates have 99.5 % or more in the labelled sets that the formula was
//! chosen by.

use std::collections::HashMap;

use tokio_postgres::{Row, types::FromSqlOwned};

use crate::{StatementError, parameters::Parameters, terms::Tag};

/// The most terms that a statement asks for: those with the greatest weights.
const MAX_TERMS: usize = 128;

/// A term that a query asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedTerm {
    /// The term, or the beginning of terms.
    pub text: String,
    /// Whether all terms that begin with the text are asked for.
    pub is_prefix: bool,
    /// Its weight.
    pub weight: f32,
    /// Whether documents that contain only such terms are no candidates.
    pub is_extra: bool,
}

/// The statement. Parameters: those of [`asked`], then those of the caller.
///
/// `$table` has the rows of terms, which are called `t`, `$id` is what identifies a document there, `$conditions` says
/// which rows are searched (`OFFSET 0` keeps the planner from using another index for them), and `$is_present` whether the
/// document of a candidate `b.id` still exists. Of equal candidates, those with the greatest `$recency` are the best.
/// Conditions in `$filter` apply before the best are determined and do not change the statistics; a document is called `f` there.
#[macro_export]
macro_rules! candidates {
    ($table:expr, $id:expr, $conditions:expr, $is_present:expr) => {
        $crate::candidates!($table, $id, $id, $conditions, $is_present, "true")
    };
    ($table:expr, $id:expr, $recency:expr, $conditions:expr, $is_present:expr, $filter:expr) => {
        concat!(
            "WITH asked AS MATERIALIZED (
              SELECT a.n, a.query::tsquery AS query, a.weight, a.is_extra
              FROM unnest($1::text[], $2::float8[], $3::boolean[]) WITH ORDINALITY AS a (query, weight, is_extra, n)
            ), found AS MATERIALIZED (
              SELECT a.n, t.", $id, " AS id, t.", $recency, " AS recency, t.length FROM asked AS a CROSS JOIN LATERAL (
                SELECT * FROM {schema}.", $table, " AS r WHERE r.terms @@ a.query OFFSET 0
              ) AS t WHERE ", $conditions, "
            ), containing AS MATERIALIZED (
              SELECT f.n, count(*) AS documents FROM found AS f GROUP BY f.n
            ), weighted AS MATERIALIZED (
              SELECT a.n, a.is_extra, a.weight * ln(1 + (greatest($4, c.documents) - c.documents + 0.5::float8) / (c.documents + 0.5::float8)) AS weight
              FROM asked AS a JOIN containing AS c ON c.n = a.n
            ), best AS MATERIALIZED (
              SELECT f.id, sum(w.weight) / (8 + f.length / $5) AS score FROM found AS f JOIN weighted AS w ON w.n = f.n WHERE ", $filter, "
              GROUP BY f.id, f.recency, f.length HAVING bool_or(NOT w.is_extra) ORDER BY score DESC, f.recency DESC LIMIT $6 OFFSET $7
            )
            SELECT c.n, c.documents, NULL AS id, NULL AS score, NULL AS is_present FROM containing AS c
            UNION ALL SELECT NULL, NULL, b.id, b.score, ", $is_present, " FROM best AS b
            ORDER BY score DESC NULLS FIRST, id DESC"
        )
    };
}

/// The statement that reads the terms with certain beginnings that documents have, as lexemes: those of the latest documents, for
/// words of a query that no document contains. Parameters: those of [`beginning`], then those of the caller.
///
/// `$table` and `$conditions` are those of [`crate::candidates!`]; the greatest values of `$order` are those of the latest
/// documents.
#[macro_export]
macro_rules! vocabulary {
    ($table:expr, $order:expr, $conditions:expr) => {
        concat!(
            "WITH latest AS MATERIALIZED (
              SELECT t.terms FROM unnest($1::text[]) AS a (query) CROSS JOIN LATERAL (
                SELECT * FROM {schema}.", $table, " AS r WHERE r.terms @@ a.query::tsquery OFFSET 0
              ) AS t WHERE ", $conditions, " ORDER BY t.", $order, " DESC LIMIT $3
            )
            SELECT DISTINCT u.lexeme FROM latest AS l, unnest(l.terms) AS u, unnest($2::text[]) AS b (beginning)
            WHERE left(u.lexeme, length(b.beginning)) = b.beginning"
        )
    };
}

/// The most documents whose terms [`crate::vocabulary!`] reads.
const MAX_VOCABULARY_DOCUMENTS: i64 = 1000;

/// The parameters of a statement of [`crate::vocabulary!`].
#[must_use]
pub fn beginning(tag: &Tag, beginnings: &[String]) -> Parameters {
    let queries = beginnings.iter().map(|beginning| Some(tag.query(beginning, true))).collect();
    let lexemes = beginnings.iter().map(|beginning| Some(tag.lexeme(beginning))).collect();
    Parameters::new().texts(queries).texts(lexemes).number(MAX_VOCABULARY_DOCUMENTS)
}

/// The parameters of a statement of [`crate::candidates!`]: the terms, the number of documents in the collection and their
/// mean length, and which of the best candidates are returned: at most `most` after the first `skipped`.
#[must_use]
pub fn asked(
    tag: &Tag,
    terms: &[AskedTerm],
    documents: u64,
    mean_length: f64,
    (skipped, most): (usize, usize),
) -> Parameters {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let terms = most_weighty(terms);
    Parameters::new()
        .texts(terms.iter().map(|term| Some(tag.query(&term.text, term.is_prefix))).collect())
        .floats(terms.iter().map(|term| f64::from(term.weight)).collect())
        .booleans(terms.iter().map(|term| term.is_extra).collect())
        .number(i64::try_from(documents).unwrap_or(i64::MAX))
        .float(mean_length.max(1.0))
        .number(number(most))
        .number(number(skipped))
}

/// The terms that a statement asks for, in its order.
fn most_weighty(terms: &[AskedTerm]) -> Vec<&AskedTerm> {
    let mut terms: Vec<&AskedTerm> = terms.iter().collect();
    terms.sort_by(|left, right| {
        left.is_extra.cmp(&right.is_extra).then(right.weight.total_cmp(&left.weight))
    });
    terms.truncate(MAX_TERMS);
    terms
}

/// The answer of a statement of [`crate::candidates!`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates<I> {
    /// The best candidates that exist, best first.
    pub best: Vec<I>,
    /// The number of the best candidates with those that no longer exist.
    pub found: usize,
    /// For each term that was asked for, in how many documents it or a term with this beginning occurs.
    pub containing: HashMap<(String, bool), u64>,
}

impl<I: FromSqlOwned> Candidates<I> {
    /// Reads the answer to these terms.
    ///
    /// # Errors
    /// If the rows are those of another statement.
    pub fn read(terms: &[AskedTerm], rows: &[Row]) -> Result<Self, StatementError> {
        let terms = most_weighty(terms);
        let key = |term: &&AskedTerm| (term.text.clone(), term.is_prefix);
        let mut containing: HashMap<(String, bool), u64> =
            terms.iter().map(|term| (key(term), 0)).collect();
        let (mut best, mut found) = (Vec::with_capacity(rows.len()), 0);
        for row in rows {
            let Some(number) = row.try_get::<_, Option<i64>>(0)? else {
                found += 1;
                if row.try_get(4)? {
                    best.push(row.try_get(2)?);
                }
                continue;
            };
            let documents = u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or_default();
            let term = usize::try_from(number - 1).ok().and_then(|number| terms.get(number));
            if let Some(term) = term {
                containing.insert(key(term), documents);
            }
        }
        Ok(Self { best, found, containing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_with_the_greatest_weights_are_asked_for() {
        let term = |number: usize, is_extra: bool| AskedTerm {
            text: number.to_string(),
            is_prefix: false,
            weight: number as f32,
            is_extra,
        };
        let terms: Vec<AskedTerm> = (0..300).map(|number| term(number, number > 200)).collect();
        let asked = most_weighty(&terms);
        assert_eq!((asked.len(), &*asked[0].text, &*asked[127].text), (MAX_TERMS, "200", "73"));
        let few = [term(1, false), term(5, true)];
        assert_eq!(most_weighty(&few).iter().filter(|term| term.is_extra).count(), 1);
    }
}
