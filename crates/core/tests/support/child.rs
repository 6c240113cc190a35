//! Child processes: the test's own binary, running its ignored test `child` with a role.
//!
//! Parent and child exchange lines. Lines of the child begin with `@`, because the test harness
//! writes to the same stream.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

const ROLE: &str = "AGENT_CONTEXT_CHILD_ROLE";
const DIRECTORY: &str = "AGENT_CONTEXT_CHILD_DIRECTORY";
/// A timeout that only a process that hangs exceeds.
const PATIENCE: Duration = Duration::from_secs(20);

/// The role and the directory of this process; `None` if the ignored tests are run manually.
pub fn role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, PathBuf::from(std::env::var_os(DIRECTORY)?)))
}

/// Sends a line to the parent.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Without a parent, this process ends.
    let told = out.write_all(format!("@{line}\n").as_bytes()).and_then(|()| out.flush());
    if told.is_err() {
        std::process::exit(1);
    }
}

/// The lines of the parent, read on another thread, so that this one makes no system calls on files
/// while it waits. The process ends with its parent.
pub fn listen() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
        std::process::exit(1);
    });
    receiver
}

/// The system's id of this thread.
pub fn thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// A running child, which is killed when this is dropped.
pub struct Running {
    process: Child,
    said: Receiver<String>,
    heard: Vec<String>,
}

impl Running {
    pub fn start(role: &str, directory: &Path) -> Self {
        Self::start_with(role, directory, &[])
    }

    /// As `start`, with additional environment variables.
    pub fn start_with(role: &str, directory: &Path, variables: &[(&str, &str)]) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--ignored", "--test-threads=1"])
            .env(ROLE, role)
            .env(DIRECTORY, directory)
            .env("RUST_BACKTRACE", "0")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                // The test harness leaves its first line unfinished.
                if let Some((_, line)) = line.split_once('@')
                    && sender.send(line.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        Self { process, said, heard: Vec::new() }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The next line; `None` if the child has ended.
    pub fn next(&mut self) -> Option<String> {
        match self.said.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.heard.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the child hangs after {:?}", self.heard),
        }
    }

    /// Waits for a line that begins with `word`; returns the rest of the line.
    pub fn expect(&mut self, word: &str) -> String {
        let line = self.next().unwrap_or_else(|| panic!("the child ended before {word:?}"));
        let rest =
            line.strip_prefix(word).unwrap_or_else(|| panic!("{line:?} instead of {word:?}"));
        rest.trim().to_owned()
    }

    pub fn tell(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().unwrap();
        // Fails if the child has ended, which waiting for it reports.
        let _ = writeln!(input, "{line}");
    }

    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
    }

    /// Sends a signal by its name (`STOP`, `CONT`).
    pub fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.process.id());
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
    }

    /// Waits for the end; returns all lines, and whether the child succeeded.
    pub fn finish(&mut self) -> (Vec<String>, bool) {
        let begun = Instant::now();
        while self.next().is_some() {
            assert!(begun.elapsed() < PATIENCE, "the child does not end");
        }
        let status = self.process.wait().unwrap();
        (std::mem::take(&mut self.heard), status.success())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
