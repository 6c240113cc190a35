//! The native class behind the option `storage` (`lib/storage/storage.ts`): a database, which several stores may share.

use std::{sync::Arc, time::Duration};

use database::{
    BlobOptions, BlobSettings, Blobs, Credentials, Database, Encryption, Password, Settings,
    SettingsOptions,
};
use napi::Result;
use napi_derive::napi;
use serde::Deserialize;
use serde_json::json;
use storage::FileSystem;

use super::{
    numbers::{number, size, whole},
    outbox::{Outbox, Queue},
};

/// The option `storage`, validated in JavaScript as far as its types go.
#[napi(object, object_to_js = false)]
pub struct NativeDatabaseOptions {
    pub url: String,
    pub schema: Option<String>,
    pub pool: Option<f64>,
    /// In ms.
    pub timeout: Option<f64>,
    /// Trusted certificates in place of the system's, in the PEM format.
    pub certificates: Option<String>,
    pub is_plain: bool,
    /// The number of the object whose method `password` gives passwords.
    pub passwords: Option<f64>,
}

/// What this process has asked of a database since the first object with these options was created. Objects with equal options
/// share connections and counters; heartbeats count.
#[napi(object, object_from_js = false)]
pub struct StorageStats {
    /// Statements that were sent, with repeated ones.
    pub requests: f64,
    /// Calls that were repeated, after lost connections and conflicts.
    pub retries: f64,
    /// Transactions that the server aborted because of others: a part of `retries`.
    pub conflicts: f64,
    /// Connections that were opened.
    pub connections: f64,
    /// Bytes of statements and their parameters.
    pub bytes_sent: f64,
    /// Bytes of rows.
    pub bytes_received: f64,
}

/// The counters of a database.
pub fn stats_of(database: &Database) -> StorageStats {
    let counted = database.statistics();
    StorageStats {
        requests: number(counted.requests),
        retries: number(counted.retries),
        conflicts: number(counted.conflicts),
        connections: number(counted.connections),
        bytes_sent: number(counted.bytes_sent),
        bytes_received: number(counted.bytes_received),
    }
}

/// The option `blobs`, validated in JavaScript as far as its types go.
#[napi(object, object_to_js = false)]
pub struct NativeBlobsOptions {
    pub url: String,
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub account: Option<String>,
    pub allow_http: bool,
    /// The number of the object whose method `password` gives credentials as JSON.
    pub passwords: Option<f64>,
}

#[napi]
pub struct NativeDatabase {
    database: Arc<Database>,
    blobs: Option<Arc<Blobs>>,
}

fn callback(outbox: &Outbox, number: f64) -> Arc<dyn Credentials> {
    Arc::new(PasswordCallback { queue: outbox.queue(), scope: whole(number) })
}

#[napi]
impl NativeDatabase {
    /// Opens no connection. Throws what is wrong with which option, without `storage.` in front.
    #[napi(constructor)]
    pub fn new(outbox: &Outbox, options: NativeDatabaseOptions) -> Result<Self> {
        let NativeDatabaseOptions { url, schema, pool, timeout, certificates, is_plain, passwords } =
            options;
        let credentials = passwords.map(|number| callback(outbox, number));
        let encryption = match (is_plain, certificates) {
            (true, _) => Encryption::Off,
            (false, Some(certificates)) => Encryption::VerifiedBy(certificates),
            (false, None) => Encryption::Verified,
        };
        let options = SettingsOptions {
            schema,
            pool: pool.map(size),
            timeout: timeout.map(|timeout| Duration::from_millis(whole(timeout))),
            encryption,
            credentials,
        };
        let settings = Settings::parse(&url, options)
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(Self { database: Database::open(settings), blobs: None })
    }

    /// Keeps long contents of files in a bucket. Opens no connection. Throws what is wrong with which option, without `blobs.`
    /// in front.
    #[napi]
    pub fn use_blobs(&mut self, outbox: &Outbox, options: NativeBlobsOptions) -> Result<()> {
        let NativeBlobsOptions { url, endpoint, region, account, allow_http, passwords } = options;
        let credentials = passwords.map(|number| callback(outbox, number));
        let options = BlobOptions { endpoint, region, account, allow_http, credentials };
        let settings = BlobSettings::parse(&url, options)
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        self.blobs = Some(Blobs::open(settings, self.database.timeout()));
        Ok(())
    }

    /// The servers and the database, without credentials.
    #[napi(getter)]
    pub fn place(&self) -> String {
        self.database.place().to_owned()
    }

    /// What was asked of the database.
    #[napi]
    pub fn stats(&self) -> StorageStats {
        stats_of(&self.database)
    }
}

impl NativeDatabase {
    pub fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    /// The files in the database, with long contents in the bucket if there is one.
    pub fn file_system(&self) -> Arc<dyn FileSystem> {
        database::file_system(&self.database, self.blobs.as_ref())
    }
}

/// A function of the caller that gives passwords.
struct PasswordCallback {
    queue: Arc<Queue>,
    scope: u64,
}

#[derive(Deserialize)]
struct Thrown {
    message: String,
}

impl Credentials for PasswordCallback {
    fn identity(&self) -> u64 {
        self.scope
    }

    fn password(&self) -> Password {
        let (queue, scope) = (Arc::clone(&self.queue), self.scope);
        Box::pin(async move {
            let call = json!({ "scope": scope, "method": "password", "path": "", "argument": null, "timeout": null });
            match queue.call(|_| (call.to_string(), None)).await {
                Some(Ok(password)) => Ok(password),
                Some(Err(thrown)) => Err(serde_json::from_str::<Thrown>(&thrown).map_or_else(
                    |_| "it threw something unreadable".to_owned(),
                    |thrown| thrown.message,
                )),
                None => Err("its environment ended".to_owned()),
            }
        })
    }
}
