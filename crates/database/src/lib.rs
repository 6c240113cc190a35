//! PostgreSQL as storage that many machines share. Used by the crate `core`, for stores that are opened with a database
//! in place of a directory.
//!
//! The crate knows connections, statements and the schema. It does not know what its callers keep in the rows. Nothing in it
//! runs, and no connection is opened, until the first statement.
//!
//! Terms:
//! - [`Settings`]: which database, which schema, how many connections, how long a call may take.
//! - [`Database`]: the connections of this process to one database, shared by all stores with the same settings.
//! - *statement*: one SQL statement in one round trip, without a transaction around it. Statements are unnamed, so that
//!   poolers in transaction mode can be used.
//! - *repeatable*: every write has a key of its own, so that doing it twice is doing it once. Statements and
//!   transactions are therefore repeated until the deadline after a lost connection, a restart of the server or a
//!   serialisation failure.
//! - [`Failure`]: why a call was given up. It never contains credentials.
//!
//! | module | contents |
//! |---|---|
//! | `settings` | the parsed URL and the options |
//! | `transport` | TLS, and which connections may do without it |
//! | `connections` | the bounded pool |
//! | `database` | statements and transactions, repeated until a deadline |
//! | `failure` | which errors are repeated, and what the others mean |
//! | `schema` | the tables, created and migrated on first use |
//! | `files` | files in the database, for what works on files |
//! | `blobs` | objects in a bucket, for the contents of large files |
//! | `terms` | rows of terms with a full-text index, and the candidates that it finds |
//! | `pause` | the pauses between repetitions |
//! | `parameters` | typed parameters of a statement |

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

// A dependency of `object_store`, whose version `Cargo.toml` bounds.
use crc_fast as _;

mod blobs;
mod connections;
mod database;
mod failure;
mod files;
mod parameters;
mod pause;
mod schema;
mod settings;
mod statistics;
pub mod terms;
mod transport;

pub use blobs::{BlobOptions, BlobSettings, Blobs};
pub use database::{Database, Intent, Isolation, Transaction};
pub use failure::{Failure, FailureKind};
pub use files::file_system;
pub use parameters::Parameters;
pub use settings::{Credentials, InvalidSettings, Password, Settings, SettingsOptions};
pub use statistics::Statistics;
pub use tokio_postgres::{Row, error::Error as StatementError};
pub use transport::Encryption;
