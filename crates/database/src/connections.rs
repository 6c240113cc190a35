//! The connections of a process to one database: at most a given number, opened when needed and kept open.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_postgres::{Client, Config, NoTls, Socket, tls::MakeTlsConnect};

use crate::{settings::Settings, statistics::Counters};

static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();

/// The thread that moves the bytes of all connections. It starts with the first connection.
pub(crate) fn runtime() -> Result<&'static Runtime, NoConnection> {
    let runtime = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("agent-context-database")
            .enable_all()
            .build()
    });
    runtime.as_ref().map_err(|error| NoConnection::System(error.to_string()))
}

/// Why no connection could be opened.
pub(crate) enum NoConnection {
    /// The callback gave no password.
    Credentials(String),
    /// The server refused it, or cannot be reached.
    Server(tokio_postgres::Error),
    /// The system gave no thread.
    System(String),
}

/// What a connection is used for. Callers of files wait in blocking operations: they must not wait for connections of
/// tasks that need the callers' threads to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Calls,
    Files,
}

/// The pool: for each purpose, at most the same number of connections.
pub(crate) struct Connections {
    calls: Arc<Semaphore>,
    files: Arc<Semaphore>,
    idle: Mutex<Vec<Arc<Client>>>,
}

impl Connections {
    pub fn new(most: usize) -> Self {
        let places = || Arc::new(Semaphore::new(most));
        Self { calls: places(), files: places(), idle: Mutex::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Client>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free place in the pool; waits for one.
    pub async fn place(&self, purpose: Purpose) -> Option<OwnedSemaphorePermit> {
        let places = match purpose {
            Purpose::Calls => &self.calls,
            Purpose::Files => &self.files,
        };
        Arc::clone(places).acquire_owned().await.ok()
    }

    /// An open connection, in `place`; without one, beyond the pool.
    pub async fn connection(
        self: &Arc<Self>,
        place: Option<OwnedSemaphorePermit>,
        settings: &Settings,
        counters: &Counters,
    ) -> Result<Connection, NoConnection> {
        let known = {
            let mut idle = self.idle();
            // The server closes connections, for example when it restarts.
            idle.retain(|client| !client.is_closed());
            idle.pop()
        };
        let client = match known {
            Some(client) => client,
            None => {
                Counters::add(&counters.connections);
                Arc::new(open(settings).await?)
            }
        };
        Ok(Connection { client, connections: Arc::clone(self), _place: place, is_used: false })
    }

    /// Closes the connections that are not in use.
    pub fn close(&self) {
        let closed = std::mem::take(&mut *self.idle());
        drop(closed);
    }
}

async fn open(settings: &Settings) -> Result<Client, NoConnection> {
    let mut config = settings.config.clone();
    if let Some(credentials) = &settings.credentials {
        let password = credentials.password().await.map_err(NoConnection::Credentials)?;
        config.password(password);
    }
    let transport = settings.transport.clone();
    let opening = runtime()?.spawn(async move {
        let connector =
            transport.connector().map_err(|error| NoConnection::System(error.to_string()))?;
        match connector {
            None => connect(config, NoTls).await,
            Some(connector) => connect(config, connector).await,
        }
    });
    match opening.await {
        Ok(opened) => opened,
        Err(error) => Err(NoConnection::System(error.to_string())),
    }
}

async fn connect<T>(config: Config, tls: T) -> Result<Client, NoConnection>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await.map_err(NoConnection::Server)?;
    // An error of the connection is reported to its statements.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// A connection in use. It goes back to the pool if it is idle at the end; one that was left in the middle of a statement
/// or of a transaction is closed, which rolls the transaction back.
pub(crate) struct Connection {
    client: Arc<Client>,
    connections: Arc<Connections>,
    _place: Option<OwnedSemaphorePermit>,
    is_used: bool,
}

impl Connection {
    /// The client, from now on in use.
    pub fn begin(&mut self) -> Arc<Client> {
        self.is_used = true;
        Arc::clone(&self.client)
    }

    /// Marks the connection as idle.
    pub fn end(&mut self) {
        self.is_used = false;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_used && !self.client.is_closed() {
            self.connections.idle().push(Arc::clone(&self.client));
        }
    }
}
