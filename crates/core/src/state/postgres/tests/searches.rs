//! Searches of more items than a few, which the full-text index narrows to candidates.

use database::{Intent, Parameters};

use super::*;
use crate::state::Search;

const ITEMS: usize = 600;

fn search(prefix: &[&str], query: &str) -> Search {
    Search {
        prefix: name::namespace(prefix),
        query: query.to_owned(),
        filter: Filter::default(),
        limit: 10,
        embedded: None,
        root: 0,
    }
}

async fn found(state: &State, query: &str) -> Vec<String> {
    keys(state, search(&["a"], query)).await
}

async fn keys(state: &State, search: Search) -> Vec<String> {
    let text = state.search(search).await.unwrap();
    let items: Vec<Value> =
        serde_json::from_slice(&[b"[", text.json.as_slice(), b"]"].concat()).unwrap();
    items.iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect()
}

/// A key without digits, which would be found as a word of its own.
fn key(number: usize) -> String {
    let letter = |digit: char| char::from(b'a' + digit.to_digit(10).unwrap() as u8);
    format!("k{}", number.to_string().chars().map(letter).collect::<String>())
}

/// Items that share a word; each has a word of its own, and one in ten is about tea.
async fn fill(state: &State) {
    for batch in (0..ITEMS).collect::<Vec<_>>().chunks(200) {
        let item = |number: &usize| {
            let topic = if number.is_multiple_of(10) { "tea" } else { "bread" };
            Operation::Put(put(
                &key(*number),
                &format!("{{\"text\":\"shared {topic} own{number}\"}}"),
            ))
        };
        change(state, batch.iter().map(item).collect()).await.unwrap();
    }
}

/// What a statement returns in its only column.
async fn count(state: &State, sql: &str) -> i64 {
    let rows = state.store.read(sql, &state.store.parameters()).await.unwrap();
    rows[0].get(0)
}

const ROWS: &str = "SELECT count(*) FROM {schema}.document_terms WHERE store = $1";

pub(super) async fn searches_find_by_the_index_what_is_committed(server: &Server) {
    let (one, other) = (open(server, "/narrowed", 20), open(server, "/narrowed", 21));
    fill(&one).await;
    assert_eq!(count(&one, ROWS).await, 0, "writers write no terms");
    assert_eq!(found(&other, "own77").await, [key(77)]);
    assert_eq!(count(&one, ROWS).await, ITEMS as i64);
    let tea = found(&other, "shared tea").await;
    assert_eq!(tea.len(), 10);
    assert!(tea.iter().all(|key| key.ends_with('a')), "{tea:?}");
    // Synonyms and similar terms.
    write(&one, Operation::Put(put("car", "{\"text\":\"remove the vehicle kubernetes\"}")))
        .await
        .unwrap();
    assert_eq!(found(&other, "vehicle").await, ["car"], "read before its terms are in a row");
    assert_eq!(found(&other, "kubernetex").await, ["car"]);
    assert!(found(&other, "erase").await.is_empty(), "a synonym finds nothing by itself");
    assert!(found(&other, "absent").await.is_empty());
    // The search below a shorter prefix adds rows that the longer prefix does not know of.
    assert_eq!(keys(&other, search(&[], "vehicle")).await, ["car"]);
    assert_eq!(found(&other, "vehicle").await, ["car"], "once");
    assert!(found(&other, "the").await.is_empty(), "stop words alone find nothing");
}

pub(super) async fn replaced_removed_and_expired_items_are_no_hits(server: &Server) {
    let (one, other) = (open(server, "/gone", 22), open(server, "/gone", 23));
    fill(&one).await;
    assert_eq!(found(&other, "own1").await, [key(1)]);
    write(&one, Operation::Put(put(&key(1), "{\"text\":\"new words\"}"))).await.unwrap();
    let delete = |number| Operation::Delete { place: place(&key(number)), expected: None };
    change(&one, vec![delete(2)]).await.unwrap();
    change(&one, vec![delete(3), delete(4)]).await.unwrap();
    change(&one, vec![Operation::Put(Put { ttl: Some(1), ..put(&key(5), "{\"text\":\"own5\"}") })])
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    for gone in ["own1", "own2", "own3", "own4", "own5"] {
        assert_eq!(found(&other, gone).await, [""; 0], "{gone}");
    }
    assert_eq!(found(&other, "new").await, [key(1)]);
    let removed = ITEMS as i64 - 3;
    assert_eq!(count(&one, ROWS).await, removed, "rows are removed with their items");
    // Enough changes that the next search adds their terms.
    for number in 100..200 {
        let renewed = put(&key(number), "{\"text\":\"shared renewed\"}");
        write(&one, Operation::Put(renewed)).await.unwrap();
    }
    assert_eq!(found(&other, "renewed").await[0], key(199));
    assert!(found(&other, "own150").await.is_empty());
    const OLD: &str = "SELECT count(*) FROM {schema}.document_terms AS t WHERE t.store = $1 AND NOT EXISTS (SELECT 1 FROM {schema}.document AS d WHERE d.store = $1 AND d.sequence = t.sequence)";
    assert_eq!(
        count(&one, OLD).await,
        1,
        "only the expired item's, which was not searched for since"
    );
    one.sweep().await.unwrap();
    assert_eq!(count(&one, OLD).await, 0);
}

pub(super) async fn a_selective_filter_loses_nothing(server: &Server) {
    let state = open(server, "/filtered", 24);
    fill(&state).await;
    let first = |text: &str| {
        let condition =
            format!("[{{\"path\":[\"text\"],\"operator\":\"$eq\",\"value\":\"{text}\"}}]");
        let filter = Filter::new(serde_json::from_str(&condition).unwrap());
        Search { filter, ..search(&["a"], "shared") }
    };
    // Written first, so that equal items are before it.
    assert_eq!(keys(&state, first("shared tea own0")).await, [key(0)]);
    assert!(keys(&state, first("own0")).await.is_empty());
}

pub(super) async fn a_role_that_may_not_write_searches_without_the_index(server: &Server) {
    let owner = open(server, "/read", 25);
    fill(&owner).await;
    for sql in [
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA {schema} TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader",
    ] {
        let database = &owner.store.database;
        database.statement(Intent::Write, sql, &Parameters::new()).await.unwrap();
    }
    let url = server.url().replace("agent@", "reader@");
    let messages = Arc::new(std::sync::Mutex::new(Vec::new()));
    let said = Arc::clone(&messages);
    let reader = State::new(
        SharedStateOptions {
            database: Database::open(Settings::parse(&url, SettingsOptions::default()).unwrap()),
            name: "/read".to_owned(),
            max_value_bytes: 1000,
            max_changes: 1000,
        },
        Debug::new(move |message, _| said.lock().unwrap().push(message.to_owned())),
    );
    assert_eq!(found(&reader, "own7").await, [key(7)]);
    assert_eq!(*messages.lock().unwrap(), ["full-text index not used"]);
    // Rows of another process are enough.
    assert_eq!(found(&owner, "own7").await, [key(7)]);
    assert_eq!(found(&reader, "own8").await, [key(8)]);
    assert_eq!(messages.lock().unwrap().len(), 1);
}
