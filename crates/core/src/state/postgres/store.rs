//! The place of a state store in the database.

use std::sync::Arc;

use database::{
    Database, Failure, Intent, Isolation, Parameters, Row, StatementError, Transaction,
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    error::{Error, Result},
    state::{
        SharedStateOptions,
        revision::{Position, random},
    },
};

/// The server's time, ms since 1970.
macro_rules! now {
    () => {
        "floor(extract(epoch FROM now()) * 1000)::bigint"
    };
}
pub(super) use now;

const HEAD: &str =
    "SELECT identity, sequence, forgotten FROM {schema}.document_store WHERE store = $1";
const CREATE: &str = "INSERT INTO {schema}.document_store (store, name, identity, sequence, forgotten) VALUES ($1, $2, $3, 0, 0) ON CONFLICT (store) DO NOTHING";

/// The result of a statement within a transaction.
pub(super) type StatementResult<T> = std::result::Result<T, StatementError>;

/// A state store's place in the database.
pub(super) struct Store {
    pub database: Arc<Database>,
    /// Identifies the rows of the store: from its name, so that all processes have the same.
    pub id: Uuid,
    pub name: String,
    pub max_value_bytes: usize,
    pub max_changes: i64,
}

/// The number of the latest change, and of the latest one that watchers can no longer read.
pub(super) struct Head {
    pub position: Position,
    pub forgotten: i64,
}

impl Store {
    pub fn new(options: SharedStateOptions) -> Self {
        let SharedStateOptions { database, name, max_value_bytes, max_changes } = options;
        let digest = Sha256::digest(name.as_bytes());
        let mut id = [0; 16];
        id.iter_mut().zip(digest).for_each(|(byte, digit)| *byte = digit);
        Self {
            database,
            id: Uuid::from_bytes(id),
            name,
            max_value_bytes,
            max_changes: max_changes.max(1),
        }
    }

    /// The parameters of a statement that begins with the store's id.
    pub fn parameters(&self) -> Parameters {
        Parameters::new().id(self.id)
    }

    /// Runs one reading statement.
    pub async fn read(&self, sql: &str, parameters: &Parameters) -> Result<Vec<Row>> {
        let rows = self.database.statement(Intent::Read, sql, parameters).await;
        rows.map_err(|failure| self.failed("read", failure))
    }

    /// Runs one statement that reads what a write has done. Without its answer, the write may have been carried out.
    pub async fn read_written(&self, sql: &str, parameters: &Parameters) -> Result<Vec<Row>> {
        let rows = self.database.statement(Intent::Read, sql, parameters).await;
        rows.map_err(|failure| self.failed("write to", Failure { may_exist: true, ..failure }))
    }

    /// Runs one writing statement.
    pub async fn write(&self, sql: &str, parameters: &Parameters) -> Result<Vec<Row>> {
        let rows = self.database.statement(Intent::Write, sql, parameters).await;
        rows.map_err(|failure| self.failed("write to", failure))
    }

    /// Runs reading statements that have to see one moment.
    pub async fn snapshot<T: Send, Steps>(
        &self,
        steps: impl Fn(Transaction) -> Steps + Sync,
    ) -> Result<T>
    where
        Steps: Future<Output = StatementResult<T>> + Send,
    {
        let read = self.database.transaction(Intent::Read, Isolation::Snapshot, steps).await;
        read.map_err(|failure| self.failed("read", failure))
    }

    pub fn failed(&self, what: &str, failure: Failure) -> Error {
        Error::from_database(&format!("{what} the state store"), &self.name, failure)
    }

    /// The value of a row's column.
    pub fn decoded<T>(&self, value: StatementResult<T>) -> Result<T> {
        value.map_err(|error| {
            Error::internal(format!("could not read the state store {}: {error}", self.name))
        })
    }

    /// A random number by which cursors recognise a new store.
    pub fn new_identity() -> i64 {
        i64::from(random())
    }

    /// The position of the latest change. Creates the store if it does not exist.
    pub async fn head(&self) -> Result<Head> {
        let mut rows = self.read(HEAD, &self.parameters()).await?;
        if rows.is_empty() {
            let parameters = self.parameters().text(self.name.clone()).number(Self::new_identity());
            self.write(CREATE, &parameters).await?;
            rows = self.read(HEAD, &self.parameters()).await?;
        }
        let row = rows
            .first()
            .ok_or_else(|| Error::internal(format!("the state store {} was removed", self.name)))?;
        self.decoded(head_of(row))
    }
}

/// Reads identity, latest number and latest forgotten number from the first columns of a row.
pub(super) fn head_of(row: &Row) -> StatementResult<Head> {
    let identity: i64 = row.try_get(0)?;
    let position = Position { identity: format!("{identity:08x}"), sequence: row.try_get(1)? };
    Ok(Head { position, forgotten: row.try_get(2)? })
}
