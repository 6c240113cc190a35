mod broken;
mod remote;
mod work_trees;

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::*;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const URL: &str = "https://example.com/owner/name.git";

/// A directory with repositories, created without git.
struct Folder {
    root: PathBuf,
    _directory: TempDir,
}

impl Folder {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { root: fs::canonicalize(directory.path()).unwrap(), _directory: directory }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn directory(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.at(path)).unwrap();
        self.at(path)
    }

    fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), contents).unwrap();
    }

    /// Creates the directory of a repository on the branch `main`.
    fn repository(&self, git: &str, config: &str) {
        self.directory(&format!("{git}/objects"));
        self.directory(&format!("{git}/refs/heads"));
        self.write(&format!("{git}/HEAD"), "ref: refs/heads/main\n");
        self.write(&format!("{git}/refs/heads/main"), format!("{COMMIT}\n"));
        self.write(&format!("{git}/config"), config);
    }

    /// Creates a work tree as `git worktree add` does, on the branch with its name.
    fn work_tree(&self, path: &str, git: &str) {
        let link = self.at(path).join(".git");
        let name = path.rsplit('/').next().unwrap();
        let own = format!("{git}/worktrees/{name}");
        self.write(&format!("{own}/HEAD"), format!("ref: refs/heads/{name}\n"));
        self.write(&format!("{own}/commondir"), "../..\n");
        self.write(&format!("{own}/gitdir"), format!("{}\n", link.display()));
        self.write(&format!("{path}/.git"), format!("gitdir: {}\n", self.at(&own).display()));
    }

    fn of(&self, path: &str) -> Identity {
        Identity::of(&self.at(path), BranchScope::PerBranch).unwrap()
    }

    fn shared(&self, path: &str) -> Identity {
        Identity::of(&self.at(path), BranchScope::SharedRepo).unwrap()
    }

    fn error(&self, path: &str) -> Error {
        Identity::of(&self.at(path), BranchScope::PerBranch).unwrap_err()
    }
}

fn origin(url: &str) -> String {
    format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n")
}

fn expected(path: &Path, parts: &[&str]) -> String {
    let mut bytes = b"agent-context repository 1".to_vec();
    let path = path.as_os_str().as_encoded_bytes();
    for part in [path].into_iter().chain(parts.iter().map(|part| part.as_bytes())) {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn path_remote_and_branch_are_hashed() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    let identity = folder.of("name");
    assert_eq!(
        identity,
        Identity {
            repo_hash: expected(&folder.at("name"), &["example.com/owner/name", "refs/heads/main"]),
            workspace: folder.at("name"),
            path: folder.at("name"),
            remote: Some("example.com/owner/name".into()),
            branch: Some("main".into()),
        }
    );
    assert!(is_repo_hash(&identity.repo_hash));
    let shared = folder.shared("name");
    assert_eq!(shared.repo_hash, expected(&folder.at("name"), &["example.com/owner/name"]));
    assert_eq!(shared.branch, None);
    assert_eq!(identity.on_branch(None), shared);
    assert_eq!(shared.on_branch(identity.branch.clone()), identity);
    for name in ["topic/one", "refs/bisect/bad", &"a1".repeat(20)] {
        let whole = if name == "topic/one" { "refs/heads/topic/one" } else { name };
        let other = expected(&folder.at("name"), &["example.com/owner/name", whole]);
        assert_eq!(identity.on_branch(Some(name.to_owned())).repo_hash, other);
    }
}

/// Memories are stored under the hash, so it must not change between versions.
#[cfg(unix)]
#[test]
fn the_hash_is_the_same_for_ever() {
    let parts: [&[u8]; 3] = [b"/home/user/name", b"example.com/owner/name", b"refs/heads/main"];
    assert_eq!(hash(&parts), "902c920ee2a49d1a8c6eb507597eaa38dc0372a44f6bedd5bb0b1a2ec06dc368");
    assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    assert_ne!(hash(&[b"a", b""]), hash(&[b"a"]));
}

#[test]
fn without_a_remote_the_path_alone_is_hashed() {
    let folder = Folder::new();
    folder.repository("name/.git", "[core]\n\tbare = false\n");
    let identity = folder.of("name");
    assert_eq!(identity.repo_hash, expected(&folder.at("name"), &[]));
    assert_eq!(identity.on_branch(Some("other".to_owned())).repo_hash, identity.repo_hash);
    assert_eq!((identity.remote, identity.branch.as_deref()), (None, Some("main")));
    folder.write("name/.git/HEAD", "ref: refs/heads/other\n");
    assert_eq!(folder.of("name").repo_hash, identity.repo_hash);
    assert_eq!(folder.of("name").branch.as_deref(), Some("other"));
    assert_eq!(folder.shared("name").repo_hash, identity.repo_hash);

    fs::remove_file(folder.at("name/.git/config")).unwrap();
    assert_eq!(folder.of("name").repo_hash, identity.repo_hash, "no configuration");
    fs::remove_dir_all(folder.at("name/.git")).unwrap();
    assert_eq!(folder.of("name").repo_hash, identity.repo_hash, "no git");
    assert_eq!(folder.of("name").branch, None);
}

#[test]
fn the_branch_counts_per_branch_alone() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    let (main, shared) = (folder.of("name"), folder.shared("name"));
    folder.write("name/.git/HEAD", "ref: refs/heads/feature/one\n");
    let feature = folder.of("name");
    assert_eq!(feature.branch.as_deref(), Some("feature/one"));
    assert_ne!(feature.repo_hash, main.repo_hash);
    assert_eq!(folder.shared("name").repo_hash, shared.repo_hash);
    assert_ne!(shared.repo_hash, main.repo_hash);

    folder.write("name/.git/HEAD", format!("{COMMIT}\n"));
    let detached = folder.of("name");
    assert_eq!(detached.branch.as_deref(), Some(COMMIT));
    let path = folder.at("name");
    assert_eq!(detached.repo_hash, expected(&path, &["example.com/owner/name", COMMIT]));
    folder.write("name/.git/HEAD", format!("ref: refs/heads/{COMMIT}\n"));
    let called_like_it = folder.of("name");
    assert_eq!(called_like_it.branch, detached.branch);
    assert_ne!(called_like_it.repo_hash, detached.repo_hash);
    let long = COMMIT.repeat(2)[..64].to_owned();
    folder.write("name/.git/HEAD", long.to_uppercase());
    assert_eq!(folder.of("name").branch, Some(long), "SHA-256");
}

#[test]
fn where_references_are_kept_does_not_matter() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    let identity = folder.of("name");
    fs::remove_file(folder.at("name/.git/refs/heads/main")).unwrap();
    assert_eq!(folder.of("name"), identity, "no commit yet");
    folder.write("name/.git/packed-refs", format!("{COMMIT} refs/heads/main\n"));
    assert_eq!(folder.of("name"), identity, "packed");
    folder.write("name/.git/HEAD", "ref:   refs/heads/main");
    assert_eq!(folder.of("name"), identity, "another spelling");
    #[cfg(unix)]
    {
        folder.write("name/.git/refs/heads/main", format!("{COMMIT}\n"));
        fs::remove_file(folder.at("name/.git/HEAD")).unwrap();
        std::os::unix::fs::symlink("refs/heads/main", folder.at("name/.git/HEAD")).unwrap();
        assert_eq!(folder.of("name"), identity, "a symbolic link");
    }
}

#[test]
fn origin_is_taken_else_the_first_remote_by_name() {
    let folder = Folder::new();
    let remote = |config: &str| {
        folder.repository("name/.git", config);
        folder.of("name").remote
    };
    let section = |name: &str, line: &str| format!("[remote \"{name}\"]\n\t{line}\n");
    let named = |name: &str| section(name, &format!("url = https://host/{name}"));
    let host = |name: &str| Some(format!("host/{name}"));
    assert_eq!(remote(&(named("z") + &named("a") + &named("origin"))), host("origin"));
    assert_eq!(remote(&(named("z") + &named("b") + &named("c"))), host("b"));
    assert_eq!(remote(&(section("a", "fetch = +refs/*") + &named("b"))), host("b"), "no URL");
    assert_eq!(remote(&(section("origin", "url =") + &named("b"))), host("b"), "an empty URL");
    let broken = section("origin", "url = https://host:port/x");
    assert_eq!(remote(&(broken.clone() + &named("b"))), host("b"), "a broken URL");
    assert_eq!(remote(&broken), None);
    let twice = section("origin", "url = https://host/one\n\turl = https://host/two");
    assert_eq!(remote(&twice), host("one"), "git fetches from the first");
    assert_eq!(
        remote(&(named("origin") + &section("origin", "url = https://host/two"))),
        host("origin")
    );
    assert_eq!(remote(&section("origin", "url = \"https://host/a;b\" ; a comment")), host("a;b"));
    assert_eq!(remote(&section("origin", "pushurl = https://host/x")), None);
    let rewritten = "[url \"https://elsewhere/\"]\n\tinsteadOf = https://host/\n";
    assert_eq!(remote(&(named("origin") + rewritten)), host("origin"));
    assert_eq!(
        remote(&section("origin", "url = ../other")),
        Some(folder.at("other").display().to_string())
    );
}

#[test]
fn configurations_elsewhere_have_no_say() {
    let folder = Folder::new();
    folder.repository(
        "name/.git",
        "[include]\n\tpath = included\n[remote \"z\"]\n\turl = https://host/z\n",
    );
    folder.write("name/.git/included", origin(URL));
    assert_eq!(folder.of("name").remote.as_deref(), Some("host/z"));
}

/// Runs in a process of its own, because the environment is shared by all threads.
#[test]
fn neither_environment_nor_user_has_a_say() {
    const WORKSPACE: &str = "AGENT_CONTEXT_TEST_WORKSPACE";
    if let Some(workspace) = std::env::var_os(WORKSPACE) {
        let identity = Identity::of(Path::new(&workspace), BranchScope::PerBranch).unwrap();
        println!("{identity:?}");
        return;
    }
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    folder.directory("name/src/deep");
    folder.repository("other/.git", &origin("https://example.com/other/name"));
    folder.write(
        ".gitconfig",
        "[url \"https://elsewhere/\"]\n\tinsteadOf = https://example.com/\n[remote \"origin\"]\n\turl = https://x/y\n",
    );
    let test = "memory::identity::tests::neither_environment_nor_user_has_a_say";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(WORKSPACE, folder.at("name/src/deep"))
        .env("HOME", &folder.root)
        .env("GIT_CONFIG_GLOBAL", folder.at(".gitconfig"))
        .env("GIT_CONFIG_SYSTEM", folder.at(".gitconfig"))
        .envs([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "remote.origin.url")])
        .env("GIT_CONFIG_VALUE_0", "https://x/y")
        .env("GIT_DIR", folder.at("other/.git"))
        .env("GIT_COMMON_DIR", folder.at("other/.git"))
        .env("GIT_WORK_TREE", folder.at("other"))
        .env("GIT_CEILING_DIRECTORIES", folder.at("name/src"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(&format!("{:?}", folder.of("name"))), "{printed}");
}

#[test]
fn spellings_of_the_remote_do_not_matter() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    let identity = folder.of("name");
    for url in ["git@example.com:owner/name", "https://user:TOKEN@EXAMPLE.com:443/owner/name/"] {
        folder.write("name/.git/config", origin(url));
        assert_eq!(folder.of("name"), identity, "{url}");
    }
    folder.write("name/.git/config", origin("https://example.com/other/name"));
    assert_ne!(folder.of("name").repo_hash, identity.repo_hash);
}

#[test]
fn the_workspace_is_the_work_tree_whatever_leads_into_it() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    folder.directory("name/src/deep");
    let identity = folder.of("name");
    for path in
        ["name/", "name/.", "name/src/..", "name/src/deep", "name/.git", "name/.git/refs/heads"]
    {
        assert_eq!(folder.of(path), identity, "{path}");
        assert_eq!(folder.shared(path), folder.shared("name"), "{path}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.at("name"), folder.at("link")).unwrap();
        std::os::unix::fs::symlink(folder.at("name/src"), folder.at("source")).unwrap();
        for path in ["link", "link/src/deep", "source/deep"] {
            assert_eq!(folder.of(path), identity, "{path}");
        }
        let elsewhere = folder.directory("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, folder.at("name/out")).unwrap();
        assert_eq!(folder.of("name/out").workspace, elsewhere, "a link out of the work tree");
    }
    folder.repository("copy/.git", &origin(URL));
    assert_ne!(folder.of("copy").repo_hash, identity.repo_hash);
}

#[cfg(unix)]
#[test]
fn names_need_not_be_unicode() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let folder = Folder::new();
    let mut hashes = Vec::new();
    for name in [b"na\xffme", b"na\xfeme"] {
        let workspace = folder.root.join(OsStr::from_bytes(name));
        if fs::create_dir(&workspace).is_err() {
            return; // Some file systems refuse such names.
        }
        let identity = Identity::of(&workspace, BranchScope::PerBranch).unwrap();
        assert_eq!(identity.repo_hash, expected(&workspace, &[]));
        assert_eq!(identity.workspace, workspace);
        hashes.push(identity.repo_hash);
    }
    assert_ne!(hashes[0], hashes[1]);
    folder.repository("name/.git", &origin(URL));
    let mut identities = Vec::new();
    for branch in [b"ref: refs/heads/\xff", b"ref: refs/heads/\xfe"] {
        folder.write("name/.git/HEAD", branch);
        identities.push(folder.of("name"));
    }
    assert_eq!(identities[0].branch.as_deref(), Some("\u{fffd}"));
    assert_ne!(identities[0].repo_hash, identities[1].repo_hash);
    let remotes = [b"/remote/\xff".as_slice(), b"/remote/\xfe"].map(|url| {
        folder.write("name/.git/config", [b"[remote \"\xff\"]\n\turl = ", url].concat());
        folder.of("name")
    });
    assert_eq!(remotes[0].remote.as_deref(), Some("/remote/\u{fffd}"));
    assert_ne!(remotes[0].repo_hash, remotes[1].repo_hash);
}

/// The owner of the files is ignored. Only root can change owners.
#[cfg(unix)]
#[test]
fn repositories_of_others_are_read() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    folder.work_tree("feature", "name/.git");
    let before = (folder.of("name"), folder.of("feature"), folder.shared("feature"));
    let everything =
        ["name/.git/HEAD", "name/.git/config", "name/.git", "name", "feature/.git", "feature"];
    let given = everything
        .iter()
        .all(|path| std::os::unix::fs::chown(folder.at(path), Some(65_534), Some(65_534)).is_ok());
    if given {
        assert_eq!((folder.of("name"), folder.of("feature"), folder.shared("feature")), before);
    }
}
