//! Children: the test's own binary again, running its ignored test `child` with a role.
//!
//! Parent and child talk in lines. What the child says begins with `@`, because the test harness
//! writes to the same place.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

const ROLE: &str = "AGENT_CONTEXT_CHILD_ROLE";
const DIRECTORY: &str = "AGENT_CONTEXT_CHILD_DIRECTORY";
/// Nothing here takes so long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// The role of this process and its directory; `None` in a run of the ignored tests by hand.
pub fn role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, PathBuf::from(std::env::var_os(DIRECTORY)?)))
}

/// Tells the parent something.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The parent may be gone: so are we then.
    let told = out.write_all(format!("@{line}\n").as_bytes()).and_then(|()| out.flush());
    if told.is_err() {
        std::process::exit(1);
    }
}

/// What the parent says, line by line, read on a thread of its own: this one makes no system call
/// that touches a file while it waits. The process ends with its parent.
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

/// This thread's id, as the system has it.
pub fn thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// A running child. It is killed when this is dropped.
pub struct Running {
    process: Child,
    said: Receiver<String>,
    heard: Vec<String>,
}

impl Running {
    pub fn start(role: &str, directory: &Path) -> Self {
        Self::start_with(role, directory, &[])
    }

    /// With more variables in the child's environment.
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
                // The harness leaves its first line unfinished.
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

    /// The next line; `None` when the child is over.
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

    /// Waits for a line that begins with `word`; returns the rest of it.
    pub fn expect(&mut self, word: &str) -> String {
        let line = self.next().unwrap_or_else(|| panic!("the child ended before {word:?}"));
        let rest =
            line.strip_prefix(word).unwrap_or_else(|| panic!("{line:?} instead of {word:?}"));
        rest.trim().to_owned()
    }

    pub fn tell(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().unwrap();
        // A child that is gone hears nothing: waiting for it tells.
        let _ = writeln!(input, "{line}");
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
    }

    /// Any signal by its name (`STOP`, `CONT`).
    pub fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.process.id());
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
    }

    /// Waits for the end: everything said so far, and whether it ended well.
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
