//! PostgreSQL servers for tests: each on a port of its own on loopback, in a temporary directory that goes with it. A
//! [`Proxy`] delays and cuts connections; a [`Pooler`] shares few of them among many.

#![cfg(unix)]

mod pooler;
mod proxy;

pub use pooler::Pooler;
pub use proxy::Proxy;

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Where Debian puts the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. It is stopped and its directory removed when this is dropped.
pub struct Server {
    programs: PathBuf,
    directory: tempfile::TempDir,
    port: u16,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Sessions are ended, and everything is written.
    Fast,
    /// As after a loss of power: the server recovers when it starts again.
    Immediate,
}

impl Server {
    /// Starts a server. `None`, with a message, where PostgreSQL is not installed.
    ///
    /// # Panics
    /// If PostgreSQL is not installed in CI, or does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(
                env::var_os("CI").is_none(),
                "PostgreSQL is not installed: apt-get install postgresql"
            );
            eprintln!("SKIPPED: PostgreSQL is not installed (apt-get install postgresql)");
            return None;
        };
        let server = Self::create(programs).and_then(|server| server.run().map(|()| server));
        match server {
            Ok(server) => Some(server),
            Err(error) => panic!("PostgreSQL did not start: {error}"),
        }
    }

    fn create(programs: PathBuf) -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = Self { programs, directory, port };
        fs::create_dir(server.data())?;
        if is_root() {
            // The server refuses to run as root.
            for path in [server.directory.path(), &server.data()] {
                succeed(Command::new("chown").arg("postgres").arg(path))?;
            }
        }
        succeed(server.command("initdb").arg("--pgdata").arg(server.data()).args([
            "--username=agent",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
        ]))?;
        Ok(server)
    }

    /// Encrypts connections from now on. Returns the certificate, which signs itself, in the PEM format.
    ///
    /// # Errors
    /// If the certificate cannot be made, or the server does not start again.
    pub fn encrypt(&self) -> io::Result<String> {
        let (key, certificate) = (self.data().join("server.key"), self.data().join("server.crt"));
        succeed(
            Command::new("openssl")
                .args([
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                    "-nodes",
                ])
                .args([
                    "-days",
                    "2",
                    "-subj",
                    "/CN=localhost",
                    "-addext",
                    "basicConstraints=critical,CA:FALSE",
                    "-addext",
                ])
                .arg("subjectAltName=DNS:localhost,IP:127.0.0.1")
                .args([
                    OsStr::new("-keyout"),
                    key.as_os_str(),
                    OsStr::new("-out"),
                    certificate.as_os_str(),
                ]),
        )?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        if is_root() {
            succeed(Command::new("chown").arg("postgres").args([&key, &certificate]))?;
        }
        self.stop(Stop::Fast)?;
        let settings = self.data().join("postgresql.auto.conf");
        fs::OpenOptions::new().append(true).open(settings)?.write_all(b"ssl = on\n")?;
        self.run()?;
        fs::read_to_string(certificate)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A program of the server, as a user that is not root.
    fn command(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]);
            command.arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Starts the server again after [`Server::stop`].
    ///
    /// # Errors
    /// If it does not start.
    pub fn run(&self) -> io::Result<()> {
        // Without fsync, a commit survives the end of the server's processes, which is all that tests need.
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200 -c fsync=off",
            self.port
        );
        succeed(
            self.command("pg_ctl")
                .args(["start", "--silent", "--wait", "--options", &options, "--pgdata"])
                .arg(self.data())
                .arg("--log")
                .arg(self.directory.path().join("log")),
        )?;
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Stops the server.
    ///
    /// # Errors
    /// If it does not stop.
    pub fn stop(&self, how: Stop) -> io::Result<()> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        succeed(
            self.command("pg_ctl")
                .args(["stop", "--silent", "--wait", "--mode", mode, "--pgdata"])
                .arg(self.data()),
        )
    }

    /// The server's port on loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of its database, as a superuser.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The URL of its database through a proxy at `port`.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://agent@127.0.0.1:{port}/postgres")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop(Stop::Immediate);
    }
}

fn succeed(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{}: {text}", command.get_program().display())))
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The directory of the newest installed version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).ok()?.flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            has_initdb(&programs).then_some((version, programs))
        })
        .collect();
    versions.sort();
    versions.pop().map(|(_, programs)| programs)
}

fn has_initdb(programs: &Path) -> bool {
    programs.join("initdb").is_file()
}
