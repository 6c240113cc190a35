//! The native class behind the option `storage` (`lib/storage/storage.ts`): a database, which several stores may share.

use std::{sync::Arc, time::Duration};

use database::{Credentials, Database, Encryption, Password, Settings, SettingsOptions};
use napi::Result;
use napi_derive::napi;
use serde::Deserialize;
use serde_json::json;

use super::{
    numbers::{size, whole},
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

#[napi]
pub struct NativeDatabase {
    database: Arc<Database>,
}

#[napi]
impl NativeDatabase {
    /// Opens no connection. Throws what is wrong with which option, without `storage.` in front.
    #[napi(constructor)]
    pub fn new(outbox: &Outbox, options: NativeDatabaseOptions) -> Result<Self> {
        let NativeDatabaseOptions { url, schema, pool, timeout, certificates, is_plain, passwords } =
            options;
        let credentials = passwords.map(|number| -> Arc<dyn Credentials> {
            Arc::new(PasswordCallback { queue: outbox.queue(), scope: whole(number) })
        });
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
        Ok(Self { database: Database::open(settings) })
    }

    /// The servers and the database, without credentials.
    #[napi(getter)]
    pub fn place(&self) -> String {
        self.database.place().to_owned()
    }
}

impl NativeDatabase {
    pub fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
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
