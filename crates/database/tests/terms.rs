//! Rows of terms on a real server: what the server makes of the texts of vectors and queries, and how it finds candidates.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "functions of this file are parts of one test"
)]

use std::sync::Arc;

use database::{
    Database, Intent, Parameters, Row, Settings, SettingsOptions, candidates,
    terms::{AskedTerm, Candidates, Tag, asked, beginning},
    vocabulary,
};
use postgres_test_server::Server;
use uuid::Uuid;

const DOCUMENTS: usize = 20_000;
/// A document that no longer exists.
const GONE: i64 = 4;
const FIND: &str = candidates!(
    "document_terms",
    "sequence",
    "t.store = $8 AND t.namespace >= $9 AND t.namespace < $10",
    "b.id <> $11"
);
const VOCABULARY: &str = vocabulary!("document_terms", "sequence", "t.store = $4");
const WRITE: &str = "INSERT INTO {schema}.document_terms (store, namespace, key, sequence, length, lengths, terms) SELECT $1, ''::bytea, convert_to(g.n::text, 'UTF8'), g.n, $4, '{}', g.vector::tsvector FROM unnest($2::bigint[], $3::text[]) AS g (n, vector)";

async fn rows(database: &Arc<Database>, sql: &str, parameters: &Parameters) -> Vec<Row> {
    database.statement(Intent::Write, sql, parameters).await.unwrap()
}

/// Writes documents, numbered from 1 on, of the same length.
async fn write(database: &Arc<Database>, store: Uuid, tag: &Tag, documents: &[Vec<String>]) {
    for (first, part) in (0..).step_by(1000).zip(documents.chunks(1000)) {
        let numbers = (first + 1..).take(part.len()).map(Some).collect();
        let vectors =
            part.iter().map(|terms| Some(tag.vector(terms.iter().map(String::as_str)))).collect();
        let parameters = Parameters::new().id(store).numbers(numbers).texts(vectors).number(10);
        rows(database, WRITE, &parameters).await;
    }
}

fn term(text: &str, weight: f32) -> AskedTerm {
    AskedTerm { text: text.to_owned(), is_prefix: false, weight, is_extra: false }
}

fn find(store: Uuid, tag: &Tag, terms: &[AskedTerm], most: usize) -> Parameters {
    let parameters = asked(tag, terms, DOCUMENTS as u64, 10.0, (0, most)).id(store);
    parameters.bytes(Vec::new()).bytes(vec![0xff]).number(GONE)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    let settings = Settings::parse(&server.url(), SettingsOptions::default()).unwrap();
    let database = Database::open(settings);
    the_server_reads_any_term_as_it_was_written(&database).await;
    candidates_share_terms_of_their_own_collection(&database).await;
    candidates_are_found_by_the_index_without_reading_vectors(&database).await;
}

async fn the_server_reads_any_term_as_it_was_written(database: &Arc<Database>) {
    let tag = Tag::of(b"hostile");
    let hostile = [
        "plain",
        "it's",
        "''",
        "back\\slash",
        "\\'",
        "a:1",
        "a:*",
        "x & !y",
        "(|",
        "東京",
        "\u{1}",
        "'); DROP TABLE document_terms; --",
        "$1",
        " ",
        "\u{fffd}",
        "é",
        "\t\n",
        "<->",
    ];
    let text = tag.vector(hostile.into_iter());
    let sql = "SELECT array_agg(lexeme) FROM unnest($1::text::tsvector)";
    let found = rows(database, sql, &Parameters::new().text(text.clone())).await;
    let lexemes: Vec<String> = found[0].get(0);
    let mut found: Vec<&str> = lexemes.iter().map(|lexeme| tag.term_of(lexeme).unwrap()).collect();
    let mut expected = hostile.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for term in hostile {
        let sql = "SELECT $1::text::tsvector @@ $2::text::tsquery, $1::text::tsvector @@ $3::text::tsquery";
        let parameters = Parameters::new()
            .text(text.clone())
            .text(tag.query(term, false))
            .text(tag.query(&format!("{term}x"), false));
        let found = rows(database, sql, &parameters).await;
        assert_eq!((found[0].get(0), found[0].get(1)), (true, false), "{term}");
    }
    let long = "x".repeat(5000);
    let longest = tag.vector((0..1000).map(|_| &*long));
    rows(database, "SELECT $1::text::tsvector", &Parameters::new().text(longest)).await;
}

async fn candidates_share_terms_of_their_own_collection(database: &Arc<Database>) {
    let (store, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let (tag, other_tag) = (Tag::of(store.as_bytes()), Tag::of(other.as_bytes()));
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let documents =
        ["login form page", "login page", "page", "vehicle", "page car", "logout"].map(words);
    write(database, store, &tag, &documents).await;
    write(database, other, &other_tag, &[words("login form"), words("login")]).await;
    let found = async |terms: &[AskedTerm]| {
        let rows = rows(database, FIND, &find(store, &tag, terms, 3)).await;
        Candidates::<i64>::read(terms, &rows).unwrap()
    };
    let login = [term("login", 1.0), term("form", 1.0), term("absent", 1.0)];
    let answer = found(&login).await;
    assert_eq!(answer.best, [1, 2]);
    let containing = |text: &str| answer.containing[&(text.to_owned(), false)];
    assert_eq!((containing("login"), containing("form"), containing("absent")), (2, 1, 0));
    assert_eq!(found(&[term("page", 1.0)]).await.best, [5, 3, 2], "of equal ones the latest");
    let extra = AskedTerm { is_extra: true, ..term("vehicle", 0.2) };
    let synonyms = [term("car", 1.0), extra];
    assert_eq!(found(&synonyms).await.best, [5]);
    let prefix = AskedTerm { is_prefix: true, ..term("log", 1.0) };
    let answer = found(&[prefix]).await;
    assert_eq!(answer.best, [6, 2, 1]);
    assert_eq!(answer.containing[&("log".to_owned(), true)], 3);
    assert!(found(&[term("absent", 1.0)]).await.best.is_empty());
    let gone = found(&[term("vehicle", 1.0)]).await;
    assert_eq!((gone.best.len(), gone.found), (0, 1));
    let parameters = beginning(&tag, &["lo".to_owned(), "pa".to_owned()]).id(store);
    let read = rows(database, VOCABULARY, &parameters).await;
    let mut similar: Vec<String> =
        read.iter().map(|row| tag.term_of(row.get(0)).unwrap().to_owned()).collect();
    similar.sort_unstable();
    assert_eq!(similar, ["login", "logout", "page"]);
}

async fn candidates_are_found_by_the_index_without_reading_vectors(database: &Arc<Database>) {
    let (store, tag) = (Uuid::from_u128(3), Tag::of(b"many"));
    let documents: Vec<Vec<String>> = (0..DOCUMENTS)
        .map(|number| {
            (0..60).map(|word| format!("word{}", (number * 31 + word * word * 7) % 5000)).collect()
        })
        .collect();
    write(database, store, &tag, &documents).await;
    rows(database, "ANALYZE {schema}.document_terms", &Parameters::new()).await;
    let terms = ["word1", "word2", "word3"].map(|text| term(text, 1.0));
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT TEXT) {FIND}");
    let lines = rows(database, &explain, &find(store, &tag, &terms, 100)).await;
    let plan: Vec<String> = lines.iter().map(|line| line.get(0)).collect();
    let plan = plan.join("\n");
    assert!(plan.contains("Bitmap Index Scan on document_terms_terms"), "{plan}");
    // A recheck would read the vectors.
    assert!(!plan.contains("Rows Removed by Index Recheck"), "{plan}");
    assert!(!plan.contains("Seq Scan on document_terms"), "{plan}");
}
