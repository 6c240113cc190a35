//! PgBouncer in transaction mode in front of a server: each transaction may run on another of its connections.

use std::{
    fs, io,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{PATIENCE, Server, is_root, succeed};

/// A running pooler. It is stopped when this is dropped.
pub struct Pooler {
    process: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Pooler {
    /// Starts a pooler with two connections to `server`. `None`, with a message, where PgBouncer is not installed.
    ///
    /// # Errors
    /// If it does not start.
    pub fn to(server: &Server) -> io::Result<Option<Self>> {
        let is_installed =
            Command::new("pgbouncer").arg("--version").stdout(Stdio::null()).status().is_ok();
        if !is_installed {
            eprintln!("SKIPPED: PgBouncer is not installed (apt-get install pgbouncer)");
            return Ok(None);
        }
        let directory = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (users, settings) = (directory.path().join("users"), directory.path().join("settings"));
        fs::write(&users, "\"agent\" \"\"\n")?;
        let text = format!(
            "[databases]\npostgres = host=127.0.0.1 port={} dbname=postgres user=agent\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 2\n",
            server.port(),
            users.display(),
        );
        fs::write(&settings, text)?;
        let mut command = Command::new("pgbouncer");
        if is_root() {
            succeed(Command::new("chown").args(["-R", "postgres"]).arg(directory.path()))?;
            command.arg("--user=postgres");
        }
        command.arg("--quiet").arg(&settings);
        let process = command.stdin(Stdio::null()).spawn()?;
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(Self { process, port, _directory: directory }))
    }

    /// Its port on loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
