//! Damaged repositories, invalid workspaces, and files without read permission.

use std::fs;

use proptest::prelude::*;

use super::{super::*, COMMIT, Folder, URL, expected, origin};

#[test]
fn a_git_file_that_leads_nowhere_is_no_git() {
    let folder = Folder::new();
    folder.repository(".git", &origin(URL));
    for link in ["gitdir: ../nowhere", "gitdir: ", "no link", "", "gitdir: .", "\0\u{ff}"] {
        folder.write("name/.git", link);
        folder.directory("name/src");
        for path in ["name", "name/src"] {
            let identity = folder.of(path);
            assert_eq!(identity.workspace, folder.at("name"), "{link:?}");
            assert_eq!(identity.repo_hash, expected(&folder.at("name"), &[]), "{link:?}");
        }
    }
    // A work tree whose repository does not exist.
    folder.repository("main/.git", &origin(URL));
    folder.work_tree("feature", "main/.git");
    fs::remove_dir_all(folder.at("main")).unwrap();
    assert_eq!(folder.of("feature").remote, None);
    assert_eq!(folder.of("feature").workspace, folder.at("feature"));
}

#[test]
fn a_git_directory_that_holds_no_repository_is_no_git() {
    let folder = Folder::new();
    folder.directory("name/.git");
    folder.directory("name/src");
    assert_eq!(folder.of("name").repo_hash, expected(&folder.at("name"), &[]));
    assert_eq!(folder.of("name/src").workspace, folder.at("name/src"));
    folder.write("name/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(folder.of("name").branch, None, "no objects");
    #[cfg(unix)]
    {
        fs::remove_dir_all(folder.at("name/.git")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.at("name/.git")).unwrap();
        assert_eq!(folder.of("name").repo_hash, expected(&folder.at("name"), &[]));
    }
    // As git does: a sandbox may have left it.
    folder.repository(".git", &origin(URL));
    assert_eq!(folder.of("name").workspace, folder.root);
}

#[test]
fn a_broken_head_is_an_error_where_the_branch_counts() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    let shared = folder.shared("name");
    for head in
        ["", "\0\0\0\0", "ref: ", "ref: ../../x", "ref: refs/heads/a..b", "main", &COMMIT[1..]]
    {
        folder.write("name/.git/HEAD", head);
        let error = folder.error("name");
        assert_eq!(error.code, Code::Corrupt, "{head:?}");
        assert!(error.message.contains(".git/HEAD names neither a branch nor a commit"), "{error}");
        let identity = folder.shared("name");
        assert_eq!(
            (identity.repo_hash, identity.branch),
            (shared.repo_hash.clone(), None),
            "{head:?}"
        );
    }
    folder.write("name/.git/HEAD", "ref: refs/heads/.invalid\n");
    let error = folder.error("name");
    assert_eq!(error.code, Code::Unsupported);
    assert!(error.message.contains("reftable") && error.message.contains("branchScope"), "{error}");
    assert_eq!(folder.shared("name").repo_hash, shared.repo_hash);
    folder.write("name/.git/config", "");
    assert_eq!(folder.of("name").repo_hash, expected(&folder.at("name"), &[]), "no remote");
}

#[test]
fn a_broken_configuration_is_an_error_that_quotes_nothing() {
    let folder = Folder::new();
    for config in [
        "[core]\n[remote \"origin\"\n\turl = https://user:TOKEN@host/x\n",
        "[remote \"origin\"]\n\t@TOKEN\n",
    ] {
        folder.repository("name/.git", config);
        for scope in [BranchScope::PerBranch, BranchScope::SharedRepo] {
            let error = Identity::of(&folder.at("name"), scope).unwrap_err();
            assert_eq!(error.code, Code::Corrupt);
            assert!(error.message.contains("config is no git configuration (line 2)"), "{error}");
            assert!(!error.message.contains("TOKEN"), "{error}");
        }
    }
    fs::remove_file(folder.at("name/.git/config")).unwrap();
    folder.directory("name/.git/config");
    assert_eq!(folder.error("name").code, Code::Io, "a directory");
    fs::remove_dir(folder.at("name/.git/config")).unwrap();
    fs::File::create(folder.at("name/.git/config")).unwrap().set_len((16 << 20) + 1).unwrap();
    assert_eq!(folder.error("name").code, Code::TooLarge);
}

#[test]
fn what_is_no_workspace_is_refused() {
    let folder = Folder::new();
    let error = folder.error("nowhere");
    assert_eq!(error.code, Code::NotFound);
    assert!(error.message.contains("workspace"), "{error}");
    assert!(error.message.contains(folder.at("nowhere").to_str().unwrap()), "{error}");
    folder.write("file", "");
    for path in ["file", "file/", "file/below"] {
        let error = folder.error(path);
        assert_eq!(error.code, Code::InvalidArgument, "{path}");
        assert!(error.message.contains("workspace must be a directory"), "{error}");
        assert!(error.message.contains(folder.at("file").to_str().unwrap()), "{error}");
    }
    assert_eq!(folder.error("a\0b").code, Code::InvalidArgument);
    assert_eq!(
        Identity::of(Path::new(""), BranchScope::PerBranch).unwrap_err().code,
        Code::NotFound
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("loop", folder.at("loop")).unwrap();
        let error = folder.error("loop");
        assert_eq!(error.code, Code::Io);
        assert!(error.cause.is_some());
        std::os::unix::fs::symlink("nowhere", folder.at("dangling")).unwrap();
        assert_eq!(folder.error("dangling").code, Code::NotFound);
    }
}

/// Does not run as root, which can read all files.
#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    folder.work_tree("feature", "name/.git");
    folder.directory("name/src");
    let cases = [
        ("name/.git", "name"),
        ("name/.git", "name/src"),
        ("name/.git", "feature"),
        ("name/.git/config", "name"),
        ("name/.git/HEAD", "name"),
        ("feature/.git", "feature"),
        ("name", "name/src"),
    ];
    for (path, workspace) in cases {
        let forbid =
            |mode| fs::set_permissions(folder.at(path), fs::Permissions::from_mode(mode)).unwrap();
        forbid(0);
        let error = Identity::of(&folder.at(workspace), BranchScope::PerBranch);
        forbid(0o700);
        let error = error.expect_err(path);
        assert_eq!(error.code, Code::Io, "{path}");
        assert_eq!(
            error.cause.map(|cause| cause.kind),
            Some(ErrorKind::PermissionDenied),
            "{path}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_files_are_read(
        head in files(), config in files(), link in files(), common in prop::option::of(files()),
    ) {
        let folder = Folder::new();
        folder.repository("name/.git", "");
        folder.write("name/.git/HEAD", head);
        folder.write("name/.git/config", config);
        folder.write("linked/.git", link);
        if let Some(common) = common {
            folder.write("name/.git/commondir", common);
        }
        for path in ["name", "linked"] {
            for scope in [BranchScope::PerBranch, BranchScope::SharedRepo] {
                match Identity::of(&folder.at(path), scope) {
                    Ok(identity) => prop_assert!(is_repo_hash(&identity.repo_hash)),
                    Err(error) => prop_assert!(
                        matches!(error.code, Code::Corrupt | Code::Io | Code::Unsupported),
                        "{}", error
                    ),
                }
            }
        }
    }
}

fn files() -> impl Strategy<Value = Vec<u8>> {
    let pieces = vec![
        "ref: ",
        "refs/heads/",
        "main",
        "gitdir: ",
        "../",
        "name/.git",
        "[remote \"",
        "a",
        "\"]",
        "[core]",
        "url",
        "worktree",
        " = ",
        "\n",
        "\\",
        "\"",
        "https://user:x@host/y",
        COMMIT,
        "\0",
        "/",
        "é",
        ";",
        "#",
    ];
    prop_oneof![
        prop::collection::vec(prop::sample::select(pieces), 0..12)
            .prop_map(|pieces| pieces.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..40),
    ]
}
