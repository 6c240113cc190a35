//! Records the result of a test in one line, and reports checks that were skipped.

use std::{fs, io::Write, path::Path, process::Command, sync::Mutex};

/// Tests of one file run concurrently.
static WRITING: Mutex<()> = Mutex::new(());

/// Prints a line and adds it to `target/evidence/<test>.txt`.
pub fn record(test: &str, line: &str) {
    println!("{test}: {line}");
    let _writing = WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("evidence");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{test}.txt"));
    let mut text = fs::read_to_string(&path).unwrap_or_default();
    let topic = line.split(':').next().unwrap_or_default();
    let kept: Vec<&str> = text.lines().filter(|old| old.split(':').next() != Some(topic)).collect();
    text = kept.into_iter().chain([line]).fold(String::new(), |text, line| text + line + "\n");
    fs::write(path, text).unwrap();
}

/// Whether `what` can be checked here. If not, the number of skipped checks is reported; under CI
/// it is a failure.
fn can(test: &str, what: &str, is_possible: bool, checks: usize) -> bool {
    if !is_possible {
        let message = format!("SKIPPED: {test} needs {what}; checks skipped: {checks}");
        assert!(std::env::var_os("CI").is_none(), "{message}");
        // Not with the macros, whose output is hidden if a test passes.
        let _ = writeln!(std::io::stderr(), "{message}");
        record(test, &message);
    }
    is_possible
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uid.and_then(|uid| uid.split_whitespace().nth(1)) == Some("0")
}

/// Whether system calls of other processes can be traced and changed.
pub fn can_trace(test: &str, checks: usize) -> bool {
    let has_strace =
        Command::new("strace").arg("-V").output().is_ok_and(|out| out.status.success());
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let may_attach = is_root() || matches!(scope.trim(), "" | "0");
    can(
        test,
        "strace (Debian package), and root where attaching is restricted",
        has_strace && may_attach,
        checks,
    )
}

/// Whether file systems can be mounted.
pub fn can_mount(test: &str, checks: usize) -> bool {
    can(test, "root, to mount a tmpfs", is_root(), checks)
}
