//! Statements, transactions and migrations on a real server, with its failures.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "functions of this file are parts of one test"
)]

use std::{
    io::{Read, Write},
    sync::Arc,
    time::Duration,
};

use database::{
    Credentials, Database, Encryption, FailureKind, Intent, Isolation, Parameters, Password,
    Settings, SettingsOptions,
};
use postgres_test_server::{Pooler, Proxy, Server, Stop};

fn database(url: &str, options: SettingsOptions) -> Arc<Database> {
    Database::open(Settings::parse(url, options).unwrap())
}

fn in_schema(schema: &str) -> SettingsOptions {
    SettingsOptions { schema: Some(schema.to_owned()), ..SettingsOptions::default() }
}

/// Counts the rows of a table that every schema has.
async fn versions(database: &Database) -> Result<i64, database::Failure> {
    let sql = "SELECT count(*) FROM {schema}.migration";
    let rows = database.statement(Intent::Read, sql, &Parameters::new()).await?;
    Ok(rows[0].get(0))
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    twenty_processes_migrate_at_once(&server).await;
    a_newer_schema_is_refused(&server).await;
    a_role_needs_no_more_than_its_schema(&server).await;
    refused_passwords_are_told_at_once(&server).await;
    a_missing_password_is_told_at_once().await;
    passwords_of_a_function_are_asked_for_each_connection(&server).await;
    an_exhausted_pool_times_out(&server).await;
    conflicting_transactions_are_repeated(&server).await;
    lost_connections_and_answers_are_repeated(&server).await;
    a_pooler_in_transaction_mode_can_be_used(&server).await;
    a_restarted_server_is_waited_for(&server).await;
    an_unreachable_server_is_told_with_its_place().await;
    certificates_are_verified(&server).await;
}

async fn twenty_processes_migrate_at_once(server: &Server) {
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            // Different timeouts are different settings, which share nothing, as in processes of their own.
            let timeout = Some(Duration::from_millis(30_000 + number));
            let options = SettingsOptions { timeout, pool: Some(1), ..in_schema("twenty") };
            let database = database(&server.url(), options);
            tokio::spawn(async move { versions(&database).await })
        })
        .collect();
    let newest = database(&server.url(), in_schema("twenty"));
    let sql = "SELECT max(version) FROM {schema}.migration";
    let rows = newest.statement(Intent::Read, sql, &Parameters::new()).await.unwrap();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(rows[0].get::<_, i64>(0)));
    }
}

async fn a_newer_schema_is_refused(server: &Server) {
    let old = database(&server.url(), in_schema("newer"));
    versions(&old).await.unwrap();
    let sql = "INSERT INTO {schema}.migration (version) VALUES (99)";
    old.statement(Intent::Write, sql, &Parameters::new()).await.unwrap();
    drop(old);
    let failure = versions(&database(&server.url(), in_schema("newer"))).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unsupported);
    assert!(failure.message.contains("has version 99"), "{failure}");
}

async fn run(server: &Server, statements: &[&str]) {
    let owner = database(&server.url(), in_schema("owner"));
    for sql in statements {
        owner.statement(Intent::Write, sql, &Parameters::new()).await.unwrap();
    }
}

async fn a_role_needs_no_more_than_its_schema(server: &Server) {
    run(
        server,
        &[
            "CREATE ROLE tenant LOGIN",
            "CREATE SCHEMA tenant_schema AUTHORIZATION tenant",
            "REVOKE CREATE ON DATABASE postgres FROM PUBLIC",
        ],
    )
    .await;
    let url = server.url().replace("agent@", "tenant@");
    let own = database(&url, in_schema("tenant_schema"));
    versions(&own).await.unwrap();
    let failure = versions(&database(&url, in_schema("twenty"))).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Access, "{failure}");
    let failure = versions(&database(&url, in_schema("fresh"))).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Access, "{failure}");
    assert!(failure.message.contains("owns the schema"), "{failure}");
}

async fn refused_passwords_are_told_at_once(server: &Server) {
    let url = server.url().replace("agent@", "nobody:letmein@");
    let failure = versions(&database(&url, in_schema("twenty"))).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Access);
    assert!(!failure.message.contains("letmein") && !failure.may_exist, "{failure}");
}

async fn a_missing_password_is_told_at_once() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://agent@{}/postgres", server.local_addr().unwrap());
    let asking = std::thread::spawn(move || {
        let (mut client, _) = server.accept().unwrap();
        let _ = client.read(&mut [0; 1000]).unwrap();
        // Asks for the password as it is.
        client.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
        // Until the client ends.
        let _ = client.read(&mut [0; 1000]);
    });
    let failure = versions(&database(&url, in_schema("asked"))).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Access, "{failure}");
    assert!(failure.message.contains("password missing"), "{failure}");
    asking.join().unwrap();
}

struct Tokens(std::sync::atomic::AtomicUsize);

impl Credentials for Tokens {
    fn identity(&self) -> u64 {
        1
    }
    fn password(&self) -> Password {
        let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let outcome = if number < 2 { Ok("token".to_owned()) } else { Err("no token".to_owned()) };
        Box::pin(std::future::ready(outcome))
    }
}

async fn passwords_of_a_function_are_asked_for_each_connection(server: &Server) {
    let credentials: Option<Arc<dyn Credentials>> = Some(Arc::new(Tokens(Default::default())));
    let options = SettingsOptions { credentials, ..in_schema("twenty") };
    let database = database(&server.url(), options);
    for _ in 0..2 {
        versions(&database).await.unwrap();
        versions(&database).await.unwrap();
        database.close_idle();
    }
    let failure = versions(&database).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Access);
    assert_eq!(failure.cause.as_deref(), Some("no token"));
}

async fn an_exhausted_pool_times_out(server: &Server) {
    let timeout = Some(Duration::from_millis(1000));
    let options = SettingsOptions { timeout, pool: Some(1), ..in_schema("twenty") };
    let database = database(&server.url(), options);
    versions(&database).await.unwrap();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let database = Arc::clone(&database);
            tokio::spawn(async move {
                let sql = "SELECT 1 FROM pg_sleep(0.4)";
                database.statement(Intent::Write, sql, &Parameters::new()).await
            })
        })
        .collect();
    let (mut sent, mut waited) = (0, 0);
    for call in calls {
        let Err(failure) = call.await.unwrap() else { continue };
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
        *if failure.may_exist { &mut sent } else { &mut waited } += 1;
    }
    assert!(sent > 0 && waited > 0, "{sent} were sent, {waited} never got a connection");
}

async fn conflicting_transactions_are_repeated(server: &Server) {
    let database = database(&server.url(), in_schema("twenty"));
    run(server, &["CREATE TABLE twenty.counter AS SELECT 0::bigint AS a, 0::bigint AS b"]).await;
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let database = Arc::clone(&database);
            tokio::spawn(async move {
                database
                    .transaction(
                        Intent::Write,
                        Isolation::ReadCommitted,
                        |transaction| async move {
                            let level = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
                            transaction.statement(level, &Parameters::new()).await?;
                            let read = "SELECT a FROM {schema}.counter";
                            let rows = transaction.statement(read, &Parameters::new()).await?;
                            let next = Parameters::new().number(rows[0].get::<_, i64>(0) + 1);
                            transaction.statement("UPDATE {schema}.counter SET a = $1", &next).await
                        },
                    )
                    .await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let read = "SELECT a FROM {schema}.counter";
    let rows = database.statement(Intent::Read, read, &Parameters::new()).await.unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 4);
    assert!(database.statistics().conflicts > 0);
}

async fn lost_connections_and_answers_are_repeated(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let timeout = Some(Duration::from_secs(20));
    let options = SettingsOptions { timeout, ..in_schema("twenty") };
    let database = database(&server.url_at(proxy.port()), options);
    versions(&database).await.unwrap();
    proxy.set_swallows(true);
    let cutting = proxy.clone();
    let cutter = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cutting.set_swallows(false);
        cutting.cut();
    });
    let sql = "INSERT INTO {schema}.migration (version) VALUES (-1) ON CONFLICT DO NOTHING";
    database.statement(Intent::Write, sql, &Parameters::new()).await.unwrap();
    cutter.await.unwrap();
    assert!(database.statistics().retries > 0);
    let sql = "SELECT count(*) FROM {schema}.migration WHERE version = -1";
    let rows = database.statement(Intent::Read, sql, &Parameters::new()).await.unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 1);
}

async fn a_pooler_in_transaction_mode_can_be_used(server: &Server) {
    let Some(pooler) = Pooler::to(server).unwrap() else { return };
    let database = database(&server.url_at(pooler.port()), in_schema("pooled"));
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let database = Arc::clone(&database);
            tokio::spawn(async move {
                let number = Parameters::new().number(-number);
                let sql =
                    "INSERT INTO {schema}.migration (version) VALUES ($1) ON CONFLICT DO NOTHING";
                database.statement(Intent::Write, sql, &number).await?;
                database
                    .transaction(Intent::Read, Isolation::Snapshot, |transaction| {
                        let number = Parameters::new().number(0);
                        async move {
                            let sql = "SELECT 1 FROM {schema}.migration WHERE version < $1";
                            transaction.statement(sql, &number).await
                        }
                    })
                    .await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let sql = "SELECT count(*) FROM {schema}.migration WHERE version <= 0";
    let rows = database.statement(Intent::Read, sql, &Parameters::new()).await.unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 200);
}

async fn a_restarted_server_is_waited_for(server: &Server) {
    let database = database(&server.url(), in_schema("twenty"));
    versions(&database).await.unwrap();
    server.stop(Stop::Immediate).unwrap();
    let waiting = {
        let database = Arc::clone(&database);
        tokio::spawn(async move { versions(&database).await })
    };
    server.run().unwrap();
    waiting.await.unwrap().unwrap();
}

async fn an_unreachable_server_is_told_with_its_place() {
    let timeout = Some(Duration::from_millis(300));
    let options = SettingsOptions { timeout, ..SettingsOptions::default() };
    let failure = versions(&database("postgres://a:letmein@127.0.0.1:1/db", options)).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.contains("127.0.0.1:1/db"), "{failure}");
    assert!(!format!("{failure:?}").contains("letmein"));
}

async fn certificates_are_verified(server: &Server) {
    let certificate = server.encrypt().unwrap();
    let encrypted = |certificate: &str| {
        let encryption = Encryption::VerifiedBy(certificate.to_owned());
        database(&server.url(), SettingsOptions { encryption, ..in_schema("twenty") })
    };
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let known = encrypted(&certificate);
    let rows = known.statement(Intent::Read, sql, &Parameters::new()).await.unwrap();
    assert!(rows[0].get::<_, bool>(0));
    // On this machine, only what the URL demands is encrypted. The system does not trust the certificate.
    let is_encrypted = async |query: &str| {
        let url = format!("{}{query}", server.url());
        let found = database(&url, in_schema("twenty"));
        let rows = found.statement(Intent::Read, sql, &Parameters::new()).await?;
        Ok::<bool, database::Failure>(rows[0].get(0))
    };
    for query in ["", "?sslmode=disable", "?sslmode=prefer"] {
        assert_eq!(is_encrypted(query).await, Ok(false), "{query}");
    }
    for query in ["?sslmode=require", "?sslmode=verify-ca", "?sslmode=verify-full"] {
        let failure = is_encrypted(query).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Access, "{query}: {failure}");
        assert!(failure.message.contains("certificate"), "{query}: {failure}");
    }
    // A server that has another certificate than the trusted one.
    let other = server.encrypt().unwrap();
    assert_ne!(certificate, other);
    known.close_idle();
    let failure = versions(&known).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Access, "{failure}");
    assert!(failure.message.contains("certificate"), "{failure}");
    versions(&encrypted(&other)).await.unwrap();
}
