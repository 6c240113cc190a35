//! The statements about the terms of files.

use super::sql::now;

/// The sum of the lengths of a field, and the number of files in which it is not empty.
macro_rules! field {
    ($number:literal) => {
        concat!(
            ", sum(lengths[",
            $number,
            "])::bigint, count(*) FILTER (WHERE lengths[",
            $number,
            "] > 0)"
        )
    };
}

/// The path of a file relative to a directory.
macro_rules! relative {
    ($directory:literal) => {
        concat!("substr(file.directory || '/' || file.name, char_length(", $directory, ") + 2)")
    };
}

/// The latest contexts of a directory whose terms are unknown, and the time: the directory, and the most files.
pub const MISSING_TERMS_OF_CONTEXTS: &str = concat!(
    "SELECT name, id, length, modified, version, ",
    now!(),
    " FROM {schema}.file
    WHERE directory = $1 AND coverage IS NULL AND name LIKE '%.json' ORDER BY created DESC LIMIT $2"
);

/// The same for the entries below a directory.
pub const MISSING_TERMS_OF_ENTRIES: &str = concat!(
    "SELECT ",
    relative!("$1"),
    ", id, length, modified, version, ",
    now!(),
    " FROM {schema}.file AS file
    WHERE directory >= $1 || '/' AND directory < $1 || '0' AND coverage IS NULL AND name LIKE '%.md'
    ORDER BY created DESC LIMIT $2"
);

/// Adds the terms of files of a directory that have none: the directory, and for each file its id, the coverage, the length of
/// the text, those of its fields, and the terms. The files are locked in order, so that processes that add terms of the same
/// files wait for each other.
pub const ADD_TERMS: &str = "WITH given AS (
        SELECT g.* FROM unnest($2, $3, $4, $5, $6) AS g (id, coverage, length, lengths, vector)
    ), locked AS (
        SELECT id FROM {schema}.file WHERE id = ANY($2) AND left(directory || '/', char_length($1) + 1) = $1 || '/' AND coverage IS NULL
        ORDER BY id FOR NO KEY UPDATE
    ), known AS (
        UPDATE {schema}.file AS known SET coverage = given.coverage FROM given, locked
        WHERE known.id = given.id AND known.id = locked.id RETURNING known.id, known.created
    ), added AS (
        INSERT INTO {schema}.file_terms (file, directory, created, length, lengths, terms)
        SELECT given.id, $1, known.created, given.length, given.lengths::integer[], given.vector::tsvector
        FROM given JOIN known ON known.id = given.id WHERE given.coverage > 0
    )
    SELECT count(*) FROM known";

/// The number of files of a directory with terms, the sum of their lengths, and the statistics of the fields.
pub const TERM_STATISTICS: &str = concat!(
    "SELECT count(*), sum(length)::bigint",
    field!(1),
    field!(2),
    field!(3),
    field!(4),
    field!(5),
    " FROM {schema}.file_terms WHERE directory = $1"
);

/// The best candidates, with their files: the parameters of [`crate::terms::asked`], the directory, and the query of the
/// conditions, or null.
pub const CANDIDATES: &str = concat!(
    "SELECT found.n, found.documents, found.id, found.score, found.is_present, ",
    relative!("$8"),
    ", file.id, file.length, file.modified, file.version
    FROM (",
    crate::candidates!(
        "file_terms",
        "file",
        "created",
        "t.directory = $8",
        "true",
        "$9::text IS NULL OR f.id IN (
            SELECT r.file FROM {schema}.file_terms AS r WHERE r.directory = $8 AND r.terms @@ $9::text::tsquery)"
    ),
    ") AS found LEFT JOIN {schema}.file AS file ON file.id = found.id
    ORDER BY found.score DESC NULLS FIRST, file.created DESC"
);

/// The files of a directory that meet a condition, and whether they meet a stricter one: the directory, the two queries, and the
/// most files.
pub const MATCHING: &str = concat!(
    "SELECT ",
    relative!("$1"),
    ", $3::text IS NOT NULL AND found.file IN (
        SELECT r.file FROM {schema}.file_terms AS r WHERE r.directory = $1 AND r.terms @@ $3::text::tsquery)
    FROM (
        SELECT r.file FROM {schema}.file_terms AS r WHERE r.directory = $1 AND r.terms @@ $2::text::tsquery LIMIT $4
    ) AS found JOIN {schema}.file AS file ON file.id = found.file"
);

/// The latest files of a directory of which only a part has terms: the directory, and the most files.
pub const PARTLY_COVERED: &str = "SELECT name, id, length, modified, version
    FROM {schema}.file WHERE directory = $1 AND coverage = 1 ORDER BY created DESC LIMIT $2";

/// The distinct lexemes of the latest files of a directory: the directory, the most files, the least and the greatest length.
pub const VOCABULARY: &str = "SELECT DISTINCT word.lexeme
    FROM (
        SELECT terms FROM {schema}.file_terms WHERE directory = $1 ORDER BY created DESC LIMIT $2
    ) AS latest, unnest(latest.terms) AS word
    WHERE char_length(word.lexeme) BETWEEN $3 AND $4";
