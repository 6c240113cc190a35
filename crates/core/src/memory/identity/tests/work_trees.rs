//! Work trees, and repositories outside their work trees.

use std::fs;

use super::{Folder, URL, expected, origin};

#[test]
fn work_trees_of_one_repository_share_one_identity_when_asked() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    folder.work_tree("feature", "name/.git");
    folder.work_tree("other", "name/.git");
    folder.directory("feature/src");
    let (main, feature, other) = (folder.of("name"), folder.of("feature"), folder.of("other"));
    assert_eq!(feature.remote.as_deref(), Some("example.com/owner/name"));
    assert_eq!(feature.branch.as_deref(), Some("feature"));
    assert_eq!(feature.workspace, folder.at("feature"));
    assert_eq!(folder.of("feature/src"), feature);
    assert_eq!(folder.of("name/.git/worktrees/feature"), feature, "its part of the repository");
    assert_ne!(feature.repo_hash, main.repo_hash);
    assert_ne!(feature.repo_hash, other.repo_hash);

    let shared = folder.shared("name");
    for path in ["feature", "other", "feature/src"] {
        let identity = folder.shared(path);
        assert_eq!(identity.repo_hash, shared.repo_hash, "{path}");
        assert_eq!(identity.workspace, folder.at(path.split('/').next().unwrap()), "{path}");
    }
    fs::remove_dir_all(folder.at("feature")).unwrap();
    assert_eq!(
        folder.of("name/.git/worktrees/feature").workspace,
        folder.at("name"),
        "its work tree is gone"
    );

    folder.write("name/.git/config", "");
    let without_remote = folder.shared("name").repo_hash;
    assert_eq!(folder.shared("other").repo_hash, without_remote);
    assert_ne!(folder.of("other").repo_hash, without_remote);
    assert_eq!(without_remote, expected(&folder.at("name"), &[]));
}

#[test]
fn relative_paths_lead_to_work_trees_as_well() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin("../remote"));
    folder.work_tree("below/feature", "name/.git");
    let absolute = (folder.of("below/feature"), folder.shared("below/feature"));
    assert_eq!(absolute.0.remote, Some(folder.at("below/remote").display().to_string()));
    assert_eq!(absolute.1.remote, Some(folder.at("remote").display().to_string()), "one for all");
    folder.write("below/feature/.git", "gitdir: ../../name/.git/worktrees/feature");
    folder.write("name/.git/worktrees/feature/gitdir", "../../../../below/feature/.git");
    assert_eq!((folder.of("below/feature"), folder.shared("below/feature")), absolute);
}

#[test]
fn bare_repositories_are_their_own_workspace() {
    let folder = Folder::new();
    folder.repository("name.git", &origin(URL));
    let identity = folder.of("name.git");
    assert_eq!(identity.workspace, folder.at("name.git"));
    assert_eq!(identity.remote.as_deref(), Some("example.com/owner/name"));
    assert_eq!(identity.branch.as_deref(), Some("main"));
    assert_eq!(folder.of("name.git/refs"), identity);
    folder.work_tree("feature", "name.git");
    assert_eq!(folder.shared("feature").repo_hash, folder.shared("name.git").repo_hash);
    assert_ne!(folder.of("feature").repo_hash, identity.repo_hash);

    // A bare repository beside its work trees.
    folder.repository("all/.bare", &origin(URL));
    folder.write("all/.git", "gitdir: ./.bare\n");
    folder.work_tree("all/one", "all/.bare");
    assert_eq!(folder.of("all").workspace, folder.at("all"));
    assert_eq!(folder.shared("all/one").repo_hash, folder.shared("all").repo_hash);
    assert_ne!(folder.of("all/one").repo_hash, folder.of("all").repo_hash);
    let shared = expected(&folder.at("all"), &["example.com/owner/name"]);
    assert_eq!(folder.shared("all/.bare").repo_hash, shared);

    // Directories above it are ignored.
    folder.write(".git", "gitdir: nowhere");
    assert_eq!(folder.of("name.git/refs"), identity);
}

#[test]
fn submodules_have_an_identity_of_their_own() {
    let folder = Folder::new();
    folder.repository("name/.git", &origin(URL));
    let config =
        origin("https://example.com/owner/part.git") + "[core]\n\tworktree = ../../../part\n";
    folder.repository("name/.git/modules/part", &config);
    folder.write("name/part/.git", "gitdir: ../.git/modules/part\n");
    folder.directory("name/part/src");
    let part = folder.of("name/part");
    assert_eq!(part.workspace, folder.at("name/part"));
    assert_eq!(part.remote.as_deref(), Some("example.com/owner/part"));
    assert_eq!(folder.of("name/part/src"), part);
    assert_eq!(folder.of("name/.git/modules/part"), part, "its repository");
    assert_ne!(part.repo_hash, folder.of("name").repo_hash);
    let shared = folder.shared("name/part");
    assert_eq!(shared.repo_hash, expected(&folder.at("name/part"), &["example.com/owner/part"]));

    folder.work_tree("feature", "name/.git/modules/part");
    assert_eq!(folder.shared("feature").repo_hash, shared.repo_hash);
    // If work trees have configurations, this is the main one's.
    folder.write("name/.git/modules/part/config", origin("https://example.com/owner/part.git"));
    folder.write("name/.git/modules/part/config.worktree", "[core]\n\tworktree = ../../../part\n");
    assert_eq!(folder.shared("feature").repo_hash, shared.repo_hash);

    // A directory that does not refer back is not the work tree.
    folder.write("name/.git/modules/part/config.worktree", "[core]\n\tworktree = ../../..\n");
    assert_eq!(folder.of("name/.git/modules/part").workspace, folder.at("name/.git/modules/part"));
}

#[test]
fn a_repository_may_be_anywhere() {
    let folder = Folder::new();
    folder.repository("kept/elsewhere", &origin(URL));
    folder.write("name/.git", format!("gitdir: {}", folder.at("kept/elsewhere").display()));
    assert_eq!(folder.of("name").workspace, folder.at("name"));
    assert_eq!(folder.of("name").branch.as_deref(), Some("main"));
    folder.work_tree("feature", "kept/elsewhere");
    assert_eq!(folder.shared("feature").repo_hash, folder.shared("name").repo_hash);
    #[cfg(unix)]
    {
        folder.directory("linked");
        std::os::unix::fs::symlink(folder.at("kept/elsewhere"), folder.at("linked/.git")).unwrap();
        assert_eq!(folder.of("linked").workspace, folder.at("linked"));
        assert_eq!(folder.of("linked").branch.as_deref(), Some("main"));
    }
}
