//! Determines which file system a path is on, and whether its locks bind every process that can reach it.
//!
//! A lock that a kernel grants excludes the processes that use the same kernel and the same mount. On a local file
//! system, these are all processes. On one that other hosts or mounts serve as well (FUSE, 9p, SMB), each of them may
//! grant the same lock.

use std::{borrow::Cow, path::Path, sync::LazyLock};

use super::FileResult;

/// A type of file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystemKind {
    /// Its name, or its number if the type is unknown.
    pub name: Cow<'static, str>,
    /// Whether its locks bind every process that can reach its files.
    pub locks_bind: bool,
}

impl Default for FileSystemKind {
    /// A file system whose locks bind, used by [`Disk`](super::Disk)s that do not report a type.
    fn default() -> Self {
        Self { name: Cow::Borrowed("local"), locks_bind: true }
    }
}

/// The file system of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    /// The type.
    pub kind: FileSystemKind,
    /// Machine, boot and device in one word. Two processes with the same word use the same kernel and the same mount.
    /// `None` where the system does not report it.
    pub identity: Option<String>,
}

impl FileSystemKind {
    /// An unknown type, whose locks are not trusted.
    #[must_use]
    pub fn unknown() -> Self {
        Self { name: Cow::Borrowed("unknown"), locks_bind: false }
    }
}

impl Volume {
    /// A file system about which the system reports nothing.
    #[must_use]
    pub fn unknown() -> Self {
        Self { kind: FileSystemKind::unknown(), identity: None }
    }
}

/// The types known on Linux: magic number, name, whether locks bind. A local file system keeps its locks in the
/// kernel's inodes, independent of the mount point; NFS keeps them on the server. A stacked, shared or user-space file
/// system may keep locks of its own.
#[cfg(any(target_os = "linux", target_os = "android"))]
const KINDS: &[(u32, &str, bool)] = &[
    (0xef53, "ext", true),
    (0x5846_5342, "xfs", true),
    (0x9123_683e, "btrfs", true),
    (0x2fc1_2fc1, "zfs", true),
    (0xf2f5_2010, "f2fs", true),
    (0xca45_1a4e, "bcachefs", true),
    (0x3153_464a, "jfs", true),
    (0x3434, "nilfs", true),
    (0x0102_1994, "tmpfs", true),
    (0x8584_58f6, "ramfs", true),
    (0x794c_7630, "overlay", true),
    (0x4253_584e, "apfs", true),
    (0x482b, "hfsplus", true),
    (0x4d44, "fat", true),
    (0x2011_bab0, "exfat", true),
    (0x7366_746e, "ntfs3", true),
    (0x6969, "nfs", true),
    (0x6573_5546, "fuse", false),
    (0x0102_1997, "9p", false),
    (0x517b, "smb", false),
    (0xff53_4d42, "cifs", false),
    (0xfe53_4d42, "smb2", false),
    (0x786f_4256, "vboxsf", false),
    (0xbacb_acbc, "vmhgfs", false),
    (0x7c7c_6673, "prl_fs", false),
    (0x00c3_6400, "ceph", false),
    (0x0bd0_0bd0, "lustre", false),
    (0x4750_4653, "gpfs", false),
    (0x5346_414f, "afs", false),
    (0x6b41_4653, "afs", false),
    (0x7375_7245, "coda", false),
    (0xf15f, "ecryptfs", false),
];

/// The type with a magic number.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_magic(magic: u32) -> FileSystemKind {
    match KINDS.iter().find(|(known, ..)| *known == magic) {
        Some(&(_, name, locks_bind)) => FileSystemKind { name: Cow::Borrowed(name), locks_bind },
        None => FileSystemKind { name: Cow::Owned(format!("type {magic:#x}")), locks_bind: false },
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn kind_of(status: &rustix::fs::StatFs) -> FileSystemKind {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::unnecessary_cast,
        reason = "the number has 32 bits, in a type that differs between platforms"
    )]
    by_magic(status.f_type as u32)
}

/// The types on which locks bind, by their names on Apple's systems.
#[cfg(target_vendor = "apple")]
const BINDING: &[&str] = &["apfs", "hfs", "ufs", "zfs", "exfat", "msdos", "tmpfs", "nfs"];

#[cfg(target_vendor = "apple")]
fn kind_of(status: &rustix::fs::StatFs) -> FileSystemKind {
    let bytes = status.f_fstypename.iter().map(|&character| {
        let [byte] = character.to_ne_bytes();
        byte
    });
    let name: String = bytes.take_while(|&byte| byte != 0).map(char::from).collect();
    let locks_bind = BINDING.contains(&name.as_str());
    FileSystemKind { name: Cow::Owned(name), locks_bind }
}

/// The type of an open file's file system. If the system does not report it, it is not trusted.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn kind_of_file(file: &std::fs::File) -> FileSystemKind {
    rustix::fs::fstatfs(file).map_or_else(|_| FileSystemKind::unknown(), |status| kind_of(&status))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn kind_of_path(path: &Path) -> FileSystemKind {
    rustix::fs::statfs(path).map_or_else(|_| FileSystemKind::unknown(), |status| kind_of(&status))
}

/// On Windows, the server of a share keeps the locks, which binds all its clients. Other systems do not report the
/// type; their locks are trusted.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn kind_of_file(_: &std::fs::File) -> FileSystemKind {
    FileSystemKind::default()
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn kind_of_path(_: &Path) -> FileSystemKind {
    FileSystemKind::default()
}

/// The file system of a directory on the local disk.
pub(super) fn of_directory(directory: &Path) -> FileResult<Volume> {
    let identity = match host() {
        Some(host) => Some(format!("{host}-{:x}", device(directory)?)),
        None => None,
    };
    Ok(Volume { kind: kind_of_path(directory), identity })
}

/// The device of a directory (`st_dev`). Every FUSE mount has a different one; bind mounts of one file system, as in
/// containers, have the same.
#[cfg(unix)]
fn device(directory: &Path) -> FileResult<u64> {
    use super::local::At;
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata(directory).at("stat", directory)?.dev())
}

#[cfg(not(unix))]
fn device(_: &Path) -> FileResult<u64> {
    Ok(0)
}

/// The machine and its boot. The boot id is random and changes with every boot. The machine id distinguishes machines
/// that were resumed from copies of one running system. Containers and minimal systems may have no machine id; they all
/// count as the same machine. Without a boot id, the host is unknown.
fn host() -> Option<&'static str> {
    static HOST: LazyLock<Option<String>> = LazyLock::new(|| {
        let boot = word_in("/proc/sys/kernel/random/boot_id")?;
        let machine = word_in("/etc/machine-id").unwrap_or_else(|| "none".to_owned());
        Some(format!("{machine}-{boot}"))
    });
    HOST.as_deref()
}

/// The word that a system file contains.
fn word_in(path: &str) -> Option<String> {
    const MAX_WORD: usize = 64;
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let word = text.trim();
    let is_word = !word.is_empty()
        && word.len() <= MAX_WORD
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_word.then(|| word.to_owned())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn locks_bind_only_on_known_local_types_and_nfs() {
        for (magic, name) in [
            (0xef53, "ext"),
            (0x5846_5342, "xfs"),
            (0x9123_683e, "btrfs"),
            (0x2fc1_2fc1, "zfs"),
            (0xf2f5_2010, "f2fs"),
            (0x0102_1994, "tmpfs"),
            (0x794c_7630, "overlay"),
            (0x4253_584e, "apfs"),
            (0x6969, "nfs"),
        ] {
            let kind = by_magic(magic);
            assert!(kind.locks_bind && kind.name == name, "{kind:?}");
        }
        for magic in [0x6573_5546, 0x0102_1997, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x1234_5678] {
            assert!(!by_magic(magic).locks_bind, "{magic:#x}");
        }
        assert_eq!(by_magic(0x1234_5678).name, "type 0x12345678");
        let mut magics: Vec<u32> = KINDS.iter().map(|(magic, ..)| *magic).collect();
        magics.sort_unstable();
        magics.dedup();
        assert_eq!(magics.len(), KINDS.len(), "no number stands twice");
    }

    #[test]
    fn directories_of_one_mount_have_one_identity() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let volume = of_directory(folder.path()).unwrap();
        assert_eq!(volume, of_directory(&inner).unwrap());
        assert!(volume.identity.is_none_or(|word| !word.contains(char::is_whitespace)));
        assert_ne!(
            of_directory(Path::new("/proc")).unwrap().identity,
            of_directory(folder.path()).unwrap().identity.or(Some(String::new()))
        );
        assert!(of_directory(Path::new("/proc/none")).unwrap_err().is_not_found());
    }

    #[test]
    fn files_of_the_system_without_one_word_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id");
        let word = || word_in(path.to_str().unwrap());
        assert_eq!(word(), None);
        for (text, expected) in [("", None), ("two words", None), ("a1-b2\n", Some("a1-b2"))] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(word().as_deref(), expected);
        }
    }
}
