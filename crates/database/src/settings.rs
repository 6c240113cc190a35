//! Which database is used, and how.

use std::{fmt, future::Future, pin::Pin, str::FromStr, sync::Arc, time::Duration};

use tokio_postgres::{Config, config::Host};

use crate::transport::{Encryption, SslDemand, Transport};

/// The schema that is used if none is named.
const DEFAULT_SCHEMA: &str = "agent_context";
/// The longest name of a schema: PostgreSQL cuts longer ones.
const MAX_SCHEMA: usize = 63;
const DEFAULT_POOL: usize = 4;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time for opening a connection; a call may open several within its timeout.
const MAX_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The name by which the server lists our connections.
const APPLICATION: &str = "agent-context";

/// A password that is being determined, or why there is none.
pub type Password = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// Gives a password for each new connection, for tokens that expire.
pub trait Credentials: Send + Sync {
    /// Distinguishes the function from others in the process: stores with equal numbers share their connections.
    fn identity(&self) -> u64;
    /// The password of the next connection, or a reason that contains no secret.
    fn password(&self) -> Password;
}

/// The options of [`Settings::parse`].
#[derive(Default)]
pub struct SettingsOptions {
    /// The schema with the tables.
    pub schema: Option<String>,
    /// The most connections of this process.
    pub pool: Option<usize>,
    /// The longest time of a call, with all its repetitions.
    pub timeout: Option<Duration>,
    /// Which connections are encrypted, and which certificates are trusted.
    pub encryption: Encryption,
    /// Gives the password of each connection; without it, that of the URL is used.
    pub credentials: Option<Arc<dyn Credentials>>,
}

/// Why settings are invalid, for the caller's error about the option `storage` or `blobs`. Does not contain the URL, which may
/// contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} {expectation}")]
pub struct InvalidSettings {
    /// The option, such as `url`, `schema`, `pool` or `tls`.
    pub option: &'static str,
    /// What it must be.
    pub expectation: String,
}

/// Valid settings of a [`crate::Database`].
pub struct Settings {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) pool: usize,
    pub(crate) timeout: Duration,
    pub(crate) transport: Transport,
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
    /// The servers and the database, for messages.
    pub(crate) place: String,
    /// By which stores of one process share their connections: contains the password.
    pub(crate) identity: String,
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Settings").field("place", &self.place).finish_non_exhaustive()
    }
}

pub(crate) fn invalid(option: &'static str, expectation: impl Into<String>) -> InvalidSettings {
    InvalidSettings { option, expectation: expectation.into() }
}

impl Settings {
    /// Reads a URL such as `postgres://user:password@host:5432/database?sslmode=verify-full`.
    ///
    /// # Errors
    /// If the URL or an option is invalid.
    pub fn parse(url: &str, options: SettingsOptions) -> Result<Self, InvalidSettings> {
        let SettingsOptions { schema, pool, timeout, encryption, credentials } = options;
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !is_postgres {
            return Err(invalid("url", "must begin with postgres:// or postgresql://"));
        }
        let (url, demand) = without_sslmode(url)?;
        let mut config = Config::from_str(&url).map_err(|error| {
            // The error's own text names the parameter, its source may quote a value.
            invalid("url", format!("must be a valid PostgreSQL URL ({error})"))
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(invalid("url", "must name a host"));
        }
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }
        let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(timeout.min(MAX_CONNECT_TIMEOUT));
        }
        let schema = schema.unwrap_or_else(|| DEFAULT_SCHEMA.to_owned());
        check_schema(&schema)?;
        let pool = pool.unwrap_or(DEFAULT_POOL);
        if pool == 0 {
            return Err(invalid("pool", "must be at least 1"));
        }
        let place = place_of(&config);
        // Different certificates or callbacks are different settings, even if the URL is the same.
        let identity = format!(
            "{url}\0{demand:?}\0{schema}\0{pool}\0{}\0{encryption:?}\0{:?}",
            timeout.as_millis(),
            credentials.as_ref().map(|credentials| credentials.identity()),
        );
        let transport = Transport::new(&mut config, encryption, demand)?;
        Ok(Self { config, schema, pool, timeout, transport, credentials, place, identity })
    }

    /// The servers and the database, without credentials: `host:5432/database`.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

/// Removes `sslmode` from a URL, and returns what it demands.
fn without_sslmode(url: &str) -> Result<(String, SslDemand), InvalidSettings> {
    let mut demand = SslDemand::default();
    let Some((before, query)) = url.split_once('?') else { return Ok((url.to_owned(), demand)) };
    let mut kept = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.strip_prefix("sslmode=") {
            None => kept.push(pair),
            Some("disable") => demand = SslDemand::Plain,
            Some("allow" | "prefer") => demand = SslDemand::None,
            Some("require" | "verify-ca" | "verify-full") => demand = SslDemand::Encrypted,
            Some(_) => return Err(invalid("url", "must have a known sslmode")),
        }
    }
    let mut url = before.to_owned();
    if !kept.is_empty() {
        url.push('?');
        url.push_str(&kept.join("&"));
    }
    Ok((url, demand))
}

fn check_schema(schema: &str) -> Result<(), InvalidSettings> {
    let mut characters = schema.chars();
    let is_name = characters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_')
        && characters.all(|character| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
        });
    if is_name && schema.len() <= MAX_SCHEMA && !schema.starts_with("pg_") {
        return Ok(());
    }
    let expectation = format!(
        "must be at most {MAX_SCHEMA} lower-case letters, digits and _, must not begin with a digit or with pg_"
    );
    Err(invalid("schema", expectation))
}

fn place_of(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(number, host)| {
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => path.display().to_string(),
            }
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("{}/{database}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Settings, InvalidSettings> {
        Settings::parse(url, SettingsOptions::default())
    }

    #[test]
    fn a_url_gives_the_place_without_credentials() {
        let settings = parse("postgres://me:letmein@db.example:6432/agents?sslmode=verify-full");
        let settings = settings.unwrap();
        assert_eq!(settings.place(), "db.example:6432/agents");
        assert!(!format!("{settings:?}").contains("letmein"));
        assert_eq!(settings.schema, "agent_context");
        assert_eq!(settings.pool, 4);
    }

    #[test]
    fn invalid_urls_are_refused_without_quoting_them() {
        for url in [
            "mysql://me:letmein@host/db",
            "postgres://me:letmein@host:notaport/db",
            "postgres://me:letmein@host/db?letmein=1",
            "postgres://me:letmein@host/db?sslmode=letmein",
            "postgres:///db",
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.option, "url", "{url}");
            assert!(!error.to_string().contains("me:letmein"), "{error}");
        }
    }

    #[test]
    fn a_schema_is_a_plain_name() {
        let with = |schema: &str| {
            let schema = Some(schema.to_owned());
            let options = SettingsOptions { schema, ..SettingsOptions::default() };
            Settings::parse("postgres://localhost/db", options).map(|settings| settings.schema)
        };
        assert_eq!(with("tenant_7").as_deref(), Ok("tenant_7"));
        let long = "a".repeat(MAX_SCHEMA + 1);
        for wrong in ["", "7a", "a-b", "a\"b", "Tenant", "pg_mine", "ä", &long] {
            assert_eq!(with(wrong).unwrap_err().option, "schema", "{wrong:?}");
        }
    }
}
