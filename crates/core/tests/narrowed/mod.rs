//! Searches that the index of a database narrows: what they say, and what is in the tables.

use std::sync::{Arc, Mutex};

use agent_context_core::Debug;
use database::{Database, Intent, Parameters};

/// What a search says where it cannot use the index.
pub const WITHOUT_INDEX: &str = "Searched without the index of the database";

/// The messages of a debug callback.
pub type Messages = Arc<Mutex<Vec<String>>>;

/// A debug callback that keeps its messages.
pub fn listening() -> (Debug, Messages) {
    let messages = Messages::default();
    let sent = Arc::clone(&messages);
    let debug = Debug::new(move |message, _| sent.lock().unwrap().push(message.to_owned()));
    (debug, messages)
}

/// The number of rows, of a table or of a part of it.
pub async fn count(database: &Database, rows: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {{schema}}.{rows}");
    database.statement(Intent::Read, &sql, &Parameters::new()).await.unwrap()[0].get(0)
}

/// Creates a role that may read the tables and nothing else.
pub async fn create_reader(database: &Database, role: &str) {
    for sql in [
        format!("DROP ROLE IF EXISTS {role}"),
        format!("CREATE ROLE {role} LOGIN"),
        format!("GRANT USAGE ON SCHEMA {{schema}} TO {role}"),
        format!("GRANT SELECT ON ALL TABLES IN SCHEMA {{schema}} TO {role}"),
    ] {
        database.statement(Intent::Write, &sql, &Parameters::new()).await.unwrap();
    }
}
