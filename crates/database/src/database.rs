//! Statements and transactions, repeated until they succeed or their deadline passes.

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_postgres::{Client, Row, error::SqlState};

use crate::{
    connections::{Connection, Connections, NoConnection, Purpose},
    failure::{Failure, FailureKind, Remedy, describe, remedy},
    parameters::Parameters,
    pause::Pauses,
    schema::{
        CLAIM_VERSION, CREATE_LIST, CREATE_SCHEMA, FIND_SCHEMA, MIGRATIONS, READ_VERSION, newest,
        with_schema,
    },
    settings::Settings,
    statistics::{Counters, Statistics},
};

/// What a call does to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// It reads.
    Read,
    /// It writes, under keys of its own, so that repeating it changes nothing.
    Write,
}

/// What a transaction sees of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see one moment. Writes nothing.
    Snapshot,
}

impl Isolation {
    fn begin(self) -> &'static str {
        match self {
            Self::ReadCommitted => "BEGIN",
            Self::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }
}

/// A transaction that has begun.
pub struct Transaction {
    client: Arc<Client>,
    database: Arc<Database>,
}

impl Transaction {
    /// Runs a statement. `{schema}` in it is replaced by the schema's name.
    ///
    /// # Errors
    /// The server's, which the steps return, so that the transaction is repeated or given up.
    pub async fn statement(
        &self,
        sql: &str,
        parameters: &Parameters,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        self.database.send(&self.client, sql, parameters).await
    }
}

/// The databases that stores of this process use, by the identity of their settings.
static OPEN: Mutex<Option<HashMap<String, Weak<Database>>>> = Mutex::new(None);

/// A database, with the connections that all stores of this process share that have the same settings.
pub struct Database {
    settings: Settings,
    connections: Arc<Connections>,
    counters: Counters,
    /// Whether the tables are known to have this package's version.
    is_migrated: AtomicBool,
    migrating: tokio::sync::Mutex<()>,
}

impl Database {
    /// The database with these settings. Opens no connection.
    #[must_use]
    pub fn open(settings: Settings) -> Arc<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        open.retain(|_, database| database.strong_count() > 0);
        if let Some(database) = open.get(&settings.identity).and_then(Weak::upgrade) {
            return database;
        }
        let identity = settings.identity.clone();
        let database = Arc::new(Self {
            connections: Arc::new(Connections::new(settings.pool)),
            settings,
            counters: Counters::default(),
            is_migrated: AtomicBool::new(false),
            migrating: tokio::sync::Mutex::default(),
        });
        open.insert(identity, Arc::downgrade(&database));
        database
    }

    /// The servers and the name of the database, without credentials.
    #[must_use]
    pub fn place(&self) -> &str {
        self.settings.place()
    }

    /// How long a call may take, with all its repetitions.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// By which objects share what they have in memory: those with equal settings. Contains the password.
    pub(crate) fn identity(&self) -> &str {
        &self.settings.identity
    }

    /// The schema with the tables.
    pub(crate) fn schema(&self) -> &str {
        &self.settings.schema
    }

    /// What was asked of the database since it was opened.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters.read()
    }

    /// Closes the connections that are not in use. The next call opens new ones.
    pub fn close_idle(&self) {
        self.connections.close();
    }

    /// Runs one statement, in one round trip once a connection is open. `{schema}` in it is replaced by the schema's name.
    ///
    /// # Errors
    /// If it does not succeed before the timeout, or cannot succeed.
    pub async fn statement(
        &self,
        intent: Intent,
        sql: &str,
        parameters: &Parameters,
    ) -> Result<Vec<Row>, Failure> {
        self.statement_for(Purpose::Calls, intent, sql, parameters).await
    }

    /// As [`Database::statement`], on a connection for this purpose.
    pub(crate) async fn statement_for(
        &self,
        purpose: Purpose,
        intent: Intent,
        sql: &str,
        parameters: &Parameters,
    ) -> Result<Vec<Row>, Failure> {
        self.repeat((purpose, intent), |mut connection| async move {
            let client = connection.begin();
            let rows = self.send(&client, sql, parameters).await;
            // After an error of nothing but the statement, the connection can be used again.
            if rows.as_ref().map_or_else(|error| error.as_db_error().is_some(), |_| true) {
                connection.end();
            }
            rows
        })
        .await
    }

    /// Runs a statement once, on a connection beyond the pool if all of the pool are in use. `None` if it failed. For
    /// heartbeats, which cannot wait for others.
    pub(crate) async fn statement_beside(
        &self,
        sql: &str,
        parameters: &Parameters,
    ) -> Option<Vec<Row>> {
        let opened = self.connections.connection(None, &self.settings, &self.counters).await;
        let mut connection = opened.ok()?;
        let client = connection.begin();
        let rows = self.send(&client, sql, parameters).await.ok()?;
        connection.end();
        Some(rows)
    }

    /// Runs the steps in a transaction and commits it. The steps run again after a conflict or a lost connection, so
    /// they must not change anything else.
    ///
    /// # Errors
    /// If it does not succeed before the timeout, or cannot succeed.
    pub async fn transaction<T, Steps>(
        self: &Arc<Self>,
        intent: Intent,
        isolation: Isolation,
        steps: impl Fn(Transaction) -> Steps + Sync,
    ) -> Result<T, Failure>
    where
        T: Send,
        Steps: Future<Output = Result<T, tokio_postgres::Error>> + Send,
    {
        let steps = &steps;
        self.repeat((Purpose::Calls, intent), |mut connection| async move {
            let client = connection.begin();
            self.counters.sent(isolation.begin().len());
            client.batch_execute(isolation.begin()).await?;
            let transaction =
                Transaction { client: Arc::clone(&client), database: Arc::clone(self) };
            let outcome = steps(transaction).await;
            let ending = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
            self.counters.sent(ending.len());
            let ended = client.batch_execute(ending).await;
            if ended.is_ok() {
                connection.end();
            }
            // The first error of a failed transaction is its cause.
            let outcome = outcome?;
            ended?;
            Ok(outcome)
        })
        .await
    }

    async fn send(
        &self,
        client: &Client,
        sql: &str,
        parameters: &Parameters,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let sql = with_schema(sql, &self.settings.schema);
        self.counters.sent(sql.len() + parameters.size());
        let rows = client.query_typed(&sql, &parameters.typed()).await?;
        self.counters.received(&rows);
        Ok(rows)
    }

    /// Repeats an attempt until it succeeds, cannot succeed, or the timeout passes.
    async fn repeat<T, Attempt>(
        &self,
        (purpose, intent): (Purpose, Intent),
        attempt: impl Fn(Connection) -> Attempt,
    ) -> Result<T, Failure>
    where
        Attempt: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let deadline = Instant::now() + self.settings.timeout;
        let mut progress =
            Progress { purpose, intent, is_sent: false, is_unclear: false, cause: None };
        let mut pauses = Pauses::default();
        loop {
            let tried = self.attempt(&attempt, &mut progress);
            let outcome = tokio::time::timeout_at(deadline.into(), tried).await;
            let pause = pauses.next();
            match outcome {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(Trouble::Failed(failure))) => return Err(failure),
                Ok(Err(Trouble::Again)) if Instant::now() + pause < deadline => {}
                _ => return Err(self.timed_out(&progress)),
            }
            Counters::add(&self.counters.retries);
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt<T, Attempt>(
        &self,
        attempt: &impl Fn(Connection) -> Attempt,
        progress: &mut Progress,
    ) -> Result<T, Trouble>
    where
        Attempt: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let mut connection = self.connect(progress).await?;
        self.migrate_once(&mut connection, progress).await?;
        progress.is_sent = true;
        let outcome = attempt(connection).await;
        progress.is_sent = false;
        outcome.map_err(|error| self.trouble(&error, progress))
    }

    async fn connect(&self, progress: &mut Progress) -> Result<Connection, Trouble> {
        let Some(place) = self.connections.place(progress.purpose).await else {
            return Err(Trouble::Again);
        };
        let opened = self.connections.connection(Some(place), &self.settings, &self.counters).await;
        opened.map_err(|error| match error {
            NoConnection::Server(error) => match remedy(&error) {
                Remedy::GiveUp(kind) => Trouble::Failed(self.failure(kind, &error, progress)),
                _ => {
                    progress.cause = Some(describe(&error));
                    Trouble::Again
                }
            },
            NoConnection::Credentials(reason) => {
                let message = format!(
                    "no password for the database {}: the function credentials failed; see the cause",
                    self.place()
                );
                Trouble::Failed(Failure::new(FailureKind::Access, message).with_cause(reason))
            }
            NoConnection::System(reason) => {
                let message = format!("could not open a connection to {}: {reason}", self.place());
                Trouble::Failed(Failure::new(FailureKind::Unavailable, message))
            }
        })
    }

    /// What an error of a statement means for the attempt.
    fn trouble(&self, error: &tokio_postgres::Error, progress: &mut Progress) -> Trouble {
        let remedy = remedy(error);
        progress.cause = Some(describe(error));
        match remedy {
            Remedy::Repeat => {}
            Remedy::RepeatAfterConflict => Counters::add(&self.counters.conflicts),
            Remedy::RepeatUnclear => progress.is_unclear = true,
            Remedy::Migrate => self.is_migrated.store(false, Ordering::Release),
            Remedy::GiveUp(kind) => return Trouble::Failed(self.failure(kind, error, progress)),
        }
        Trouble::Again
    }

    fn failure(
        &self,
        kind: FailureKind,
        error: &tokio_postgres::Error,
        progress: &Progress,
    ) -> Failure {
        let (place, cause) = (self.place(), describe(error));
        let message = match kind {
            FailureKind::Access => format!(
                "the database {place} refused access: {cause}; check the user, the password, the certificate, and that the role owns the schema {}",
                self.settings.schema
            ),
            FailureKind::Timeout => format!(
                "the database {place} cancelled a statement: {cause}; raise its statement_timeout"
            ),
            FailureKind::Unavailable => format!(
                "the database {place} cannot store anything now: {cause}; free space or raise its limits"
            ),
            FailureKind::Unsupported => {
                format!("the database {place} lacks a feature that is needed: {cause}")
            }
            FailureKind::Rejected => {
                format!("the database {place} refused a statement: {cause}; please report it")
            }
        };
        let may_exist = progress.may_exist();
        Failure { may_exist, ..Failure::new(kind, message).with_cause(cause) }
    }

    fn timed_out(&self, progress: &Progress) -> Failure {
        let milliseconds = self.settings.timeout.as_millis();
        let place = self.place();
        let may_exist = progress.may_exist();
        let mut failure = match &progress.cause {
            // An error was repeated until the timeout, and is the cause.
            Some(cause) if !progress.is_sent => Failure::new(
                FailureKind::Unavailable,
                format!(
                    "the database {place} could not be used within {milliseconds} ms: {cause}; check that it runs and can be reached"
                ),
            )
            .with_cause(cause.clone()),
            _ => Failure::new(
                FailureKind::Timeout,
                format!(
                    "the database {place} did not answer within {milliseconds} ms; check its load, or raise storage.timeout or storage.pool"
                ),
            ),
        };
        failure.may_exist = may_exist;
        failure
    }

    /// Creates or migrates the tables, if this process does not know that they are there.
    async fn migrate_once(
        &self,
        connection: &mut Connection,
        progress: &mut Progress,
    ) -> Result<(), Trouble> {
        if self.is_migrated.load(Ordering::Acquire) {
            return Ok(());
        }
        let _migrating = self.migrating.lock().await;
        if self.is_migrated.load(Ordering::Acquire) {
            return Ok(());
        }
        let client = connection.begin();
        let outcome = self.migrate(&client).await;
        match outcome {
            Ok(version) if version > newest() => {
                connection.end();
                let message = format!(
                    "the schema {} of the database {} has version {version}, and this version of agent-context knows versions up to {}; update agent-context, or set storage.schema",
                    self.settings.schema,
                    self.place(),
                    newest()
                );
                Err(Trouble::Failed(Failure::new(FailureKind::Unsupported, message)))
            }
            Ok(_) => {
                connection.end();
                self.is_migrated.store(true, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                let is_other_process = error.code().is_some_and(|state| {
                    // Another process creates the same thing at the same time.
                    [
                        SqlState::UNIQUE_VIOLATION,
                        SqlState::DUPLICATE_TABLE,
                        SqlState::DUPLICATE_OBJECT,
                        SqlState::DUPLICATE_SCHEMA,
                    ]
                    .contains(state)
                });
                if is_other_process {
                    return Err(Trouble::Again);
                }
                Err(self.trouble(&error, progress))
            }
        }
    }

    /// Brings the tables to the newest version, and returns the version that they have.
    async fn migrate(&self, client: &Client) -> Result<i64, tokio_postgres::Error> {
        let known = match self.version(client).await {
            Err(error) if remedy(&error) == Remedy::Migrate => {
                let named = Parameters::new().text(self.settings.schema.clone());
                let found = self.send(client, FIND_SCHEMA, &named).await?;
                if found.first().is_none_or(|row| row.get::<_, i64>(0) == 0) {
                    self.send(client, CREATE_SCHEMA, &Parameters::new()).await?;
                }
                self.send(client, CREATE_LIST, &Parameters::new()).await?;
                self.version(client).await?
            }
            other => other?,
        };
        let mut version = known;
        while let Some(migration) =
            usize::try_from(version).ok().and_then(|version| MIGRATIONS.get(version))
        {
            version += 1;
            client.batch_execute("BEGIN").await?;
            let applied = self.apply(client, version, migration).await;
            client.batch_execute(if applied.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
            applied?;
        }
        Ok(version)
    }

    async fn apply(
        &self,
        client: &Client,
        version: i64,
        migration: &str,
    ) -> Result<(), tokio_postgres::Error> {
        self.send(client, CLAIM_VERSION, &Parameters::new().number(version)).await?;
        client.batch_execute(&with_schema(migration, &self.settings.schema)).await
    }

    async fn version(&self, client: &Client) -> Result<i64, tokio_postgres::Error> {
        let rows = self.send(client, READ_VERSION, &Parameters::new()).await?;
        rows.first().map_or(Ok(0), |row| row.try_get(0))
    }
}

/// How far the attempts of a call have got.
struct Progress {
    purpose: Purpose,
    intent: Intent,
    /// Whether an attempt is under way at the server.
    is_sent: bool,
    /// Whether an attempt ended without an answer.
    is_unclear: bool,
    /// The last error.
    cause: Option<String>,
}

impl Progress {
    fn may_exist(&self) -> bool {
        self.intent == Intent::Write && (self.is_sent || self.is_unclear)
    }
}

enum Trouble {
    Again,
    Failed(Failure),
}
