//! The commands, such as `zip` and `sshpass`, whose one-letter flags take a password. The meaning of `-P` depends on
//! the command.

/// The password flags of a command, given by its name or path.
pub(super) fn password_flags(command: &str) -> &'static [&'static str] {
    let path = memchr::memrchr2(b'/', b'\\', command.as_bytes()).map_or(0, |sign| sign + 1);
    let mut name = command.get(path..).unwrap_or_default();
    while let Some(shorter) = name.strip_suffix(".exe") {
        name = shorter;
    }
    match name {
        "sshpass" => &["-p"],
        "ssh-keygen" => &["-N", "-P"],
        "zip" | "unzip" | "zipcloak" | "zipinfo" => &["-P"],
        _ => &[],
    }
}

/// Whether an argument is one of these flags, possibly combined with others: `-rP`.
pub(super) fn is_password_flag(flags: &[&str], argument: &str) -> bool {
    flags.iter().any(|flag| {
        let letters = argument
            .strip_prefix('-')
            .and_then(|rest| rest.strip_suffix(flag.trim_start_matches('-')));
        letters.is_some_and(|letters| letters.bytes().all(|byte| byte.is_ascii_alphabetic()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_the_command() {
        for (command, argument, expected) in [
            ("zip", "-P", true),
            ("/usr/bin/zip", "-rP", true),
            (r"C:\bin\zip.exe", "-P", true),
            ("ssh-keygen", "-N", true),
            ("sshpass", "-p", true),
            ("sshpass", "-P", false),
            ("ssh", "-N", false),
            ("grep", "-P", false),
            ("zip", "--P", false),
            ("zip", "P", false),
        ] {
            assert_eq!(is_password_flag(password_flags(command), argument), expected, "{command}");
        }
    }
}
