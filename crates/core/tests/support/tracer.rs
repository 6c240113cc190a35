//! Counts and changes system calls of a child with `strace`.
//!
//! The tracer is attached, thread by thread, to a child that is ready and waits. So the calls at
//! its start are not counted, and the Nth call of a thread is the same in every run. A first run
//! without changes finds the calls; those that access the test's directory, by path or by
//! descriptor, are the points for injecting errors.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// The calls that access files; strace ignores those that this machine does not have (`?`).
const CALLS: &[&str] = &[
    "open",
    "openat",
    "creat",
    "read",
    "pread64",
    "readv",
    "write",
    "pwrite64",
    "writev",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "truncate",
    "ftruncate",
    "fallocate",
    "flock",
    "fcntl",
    "mkdir",
    "mkdirat",
    "rmdir",
    "chmod",
    "fchmod",
    "fchmodat",
    "stat",
    "lstat",
    "fstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents64",
    "lseek",
    "copy_file_range",
    "close",
];

/// The threads of a child that make such calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// The thread of the test and the runtime.
    Main,
    /// The runtime's thread for blocking work.
    Aside,
}

/// A system call: the `number`th of its kind in its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub thread: Thread,
    pub call: String,
    pub number: usize,
    /// The call as strace prints it.
    pub shown: String,
}

/// An attached tracer, which is ended when this is dropped; the traced process continues.
pub struct Tracer(Child);

impl Tracer {
    fn attach(threads: &[u32], parameters: &[String]) -> Self {
        let mut process = Command::new("strace")
            .args(parameters)
            .args(threads.iter().map(|thread| format!("--attach={thread}")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(process.stderr.take().unwrap());
        for _ in threads {
            let mut line = String::new();
            errors.read_line(&mut line).unwrap();
            assert!(line.ends_with(" attached\n"), "strace says {line:?}");
        }
        // Read to the end, because a full pipe would block strace.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self(process)
    }

    /// Writes the calls of a thread to a file.
    pub fn observe(thread: u32, file: &Path) -> Self {
        let calls: Vec<String> = CALLS.iter().map(|call| format!("?{call}")).collect();
        let file = file.to_str().unwrap().to_owned();
        let trace = format!("trace={}", calls.join(","));
        Self::attach(&[thread], &["-y", "-e", &trace, "-o", &file].map(str::to_owned))
    }

    /// Changes system calls of the threads by expressions of strace (`fsync:error=EIO:when=1`).
    pub fn tamper(threads: &[u32], expressions: &[String]) -> Self {
        let mut parameters = vec!["-o".to_owned(), "/dev/null".to_owned()];
        let calls: Vec<&str> =
            expressions.iter().filter_map(|expression| expression.split(':').next()).collect();
        parameters.extend(["-e".to_owned(), format!("trace={}", calls.join(","))]);
        for expression in expressions {
            parameters.extend(["-e".to_owned(), format!("inject={expression}")]);
        }
        Self::attach(threads, &parameters)
    }

    /// Waits for the end of the traced process.
    pub fn finish(mut self) {
        self.0.wait().unwrap();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The calls of an observed thread that access `directory`.
pub fn points(file: &Path, thread: Thread, directory: &Path) -> Vec<Point> {
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
    let directory = directory.to_str().unwrap();
    let mut counts = std::collections::HashMap::<String, usize>::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((call, _)) = line.split_once('(') else { continue };
        if !CALLS.contains(&call) {
            continue;
        }
        let number = counts.entry(call.to_owned()).or_default();
        *number += 1;
        if line.contains(directory) {
            let shown = line.chars().take(160).collect();
            found.push(Point { thread, call: call.to_owned(), number: *number, shown });
        }
    }
    found
}
