//! Normalisation of remotes' URLs.

use std::{fs, path::Path};

use proptest::prelude::*;

use super::super::remote::normal_form;

fn form(url: &str) -> Option<String> {
    normal_form(url.as_bytes(), Path::new("/work/tree")).map(|form| form.to_string())
}

/// Normal forms, and spellings that give them.
const SAME: &[(&str, &[&str])] = &[
    (
        "github.com/owner/name",
        &[
            "https://github.com/owner/name",
            "https://github.com/owner/name.git",
            "https://github.com/owner/name/",
            "https://github.com/owner/name.git/",
            "https://github.com/owner/name.git//",
            "https://github.com//owner/name",
            "https://github.com:443/owner/name.git",
            "https://GitHub.COM/owner/name.git",
            "HTTPS://github.com:443/owner/name.git",
            "  https://github.com/owner/name.git\n",
            "https://github.com:/owner/name",
            "https://github.com/%6Fwner/n%61me%2Egit",
            "https://github.com/owner/name?ref=main",
            "https://github.com/owner/name.git?token=TOKEN#readme",
            "https://github.com/owner/name#TOKEN",
            "https://user@github.com/owner/name",
            "https://user:TOKEN@github.com/owner/name.git",
            "https://:TOKEN@github.com/owner/name.git",
            "https://TOKEN@github.com/owner/name.git",
            "https://TOKEN:@github.com/owner/name.git",
            "https://x-access-token:TOKEN@github.com/owner/name",
            "https://TOKEN:x-oauth-basic@github.com/owner/name",
            "https://user:to@k:en@github.com/owner/name",
            "https://TOKEN?x@github.com/owner/name",
            "https://TOKEN#x@github.com/owner/name",
            "https://user%40example.com:TOKEN@github.com/owner/name",
            "https://user:TOKEN@github.com:443/owner/name",
            "https://TOKEN%40github.com/owner/name",
            "http://github.com/owner/name.git",
            "http://github.com:80/owner/name",
            "ssh://git@github.com/owner/name.git",
            "ssh://git@github.com:22/owner/name.git",
            "ssh://github.com/owner/name",
            "ssh+git://git@github.com/owner/name",
            "git+ssh://git@github.com:22/owner/name.git",
            "git+https://github.com:443/owner/name.git",
            "git://github.com/owner/name.git",
            "git://github.com:9418/owner/name",
            "ftp://user:TOKEN@github.com:21/owner/name",
            "ftps://github.com:990/owner/name",
            "git@github.com:owner/name.git",
            "git@github.com:/owner/name",
            "git@GITHUB.com:owner/name/",
            "github.com:owner/name",
            "[git@github.com:22]:owner/name.git",
            "git@[github.com:22]:owner/name",
            "user:TOKEN@github.com:owner/name",
            "TOKEN:x-oauth-basic@github.com:owner/name",
            // The protocol is missing.
            "TOKEN@github.com/owner/name",
            "TOKEN:@github.com/owner/name.git",
            "x-access-token:TOKEN@github.com/owner/name",
            "gcrypt::https://user:TOKEN@github.com/owner/name",
            "gcrypt::git@github.com:owner/name.git",
            "file://github.com/owner/name",
        ],
    ),
    (
        "example.com:8443/owner/name",
        &[
            "https://example.com:8443/owner/name",
            "https://user:TOKEN@EXAMPLE.com:8443/owner/name.git",
            "ssh://git@example.com:8443/owner/name",
            "[git@example.com:8443]:owner/name",
            "git@[example.com:8443]:/owner/name.git",
        ],
    ),
    ("example.com:80/name", &["https://example.com:80/name", "ssh://example.com:80/name"]),
    ("example.com:443/name", &["http://example.com:443/name", "git://example.com:443/name"]),
    (
        "[2001:db8::1]/owner/name",
        &[
            "https://[2001:db8::1]/owner/name",
            "https://[2001:DB8:0::1]:443/owner/name.git",
            "ssh://git@[2001:db8::1]/owner/name",
            "ssh://git@[2001:db8::1]:22/owner/name",
            "ssh://git@[2001:db8::1]:/owner/name",
            "ssh://git@2001:db8::1/owner/name",
            "git://2001:db8::1:/owner/name",
            "git@[2001:db8::1]:owner/name.git",
            "[2001:db8::1]:owner/name",
            "[git@2001:db8::1]:owner/name",
        ],
    ),
    (
        "[2001:db8::1]:8443/name",
        &["https://[2001:db8::1]:8443/name", "ssh://[2001:db8::1]:8443/name"],
    ),
    ("[fe80::1%25eth0]/name", &["ssh://[fe80::1%25eth0]/name", "https://[fe80::1%25eth0]/name"]),
    (
        "host/~user/name",
        &[
            "ssh://host/~user/name.git",
            "ssh://host/%7Euser/name",
            "https://host/~user/name",
            "https://host/%7euser/name",
            "user@host:~user/name.git",
            "host:/~user/name",
        ],
    ),
    (
        "host/~user/a%2Fb",
        &["ssh://host/~user/a%2Fb", "git://host/~user/a%2fb.git", "https://host/~user/a%2Fb"],
    ),
    (
        "host/a%20b/%C3%A9%2F%25",
        &[
            "https://host/a%20b/%c3%a9%2f%25",
            "https://host/a%20b/é%2F%25.git",
            "ssh://host/a%20b/%C3%A9%2f%25",
        ],
    ),
    ("host/a%20b%2541", &["host:a b%41", "ssh://host/a%20b%2541"]),
    (
        "host/name",
        &["https://host/owner@name", "https://host/TOKEN%40name", "https://host/a@b@name"],
    ),
    ("host/@scope/name", &["https://host/@scope/name", "https://host/%40scope/name"]),
    // A mirror whose URL for fetching is set.
    (
        "mirror/https://github.com/owner/name",
        &[
            "https://mirror/https://github.com/owner/name",
            "https://mirror/https://user:TOKEN@github.com/owner/name.git",
        ],
    ),
    ("host", &["https://host", "https://host/", "https://host/.git", "https://host?TOKEN"]),
    ("repo", &["codecommit://profile@repo", "codecommit::us-east-1://profile@repo"]),
    ("host/2222/name", &["host:2222/name", "ssh://host/2222/name"]),
    // A query before the path belongs to the host, as git reads it.
    ("host/name", &["ssh://host?token=TOKEN/name", "ssh://host#TOKEN/name"]),
    (
        "C:/sources/name",
        &[
            r"C:\sources\name",
            "C:/sources/name.git",
            r"c:\sources\name.git\",
            "file:///C:/sources/name",
            "file:///c:/sources/name.git",
            "file://C:/sources/name",
        ],
    ),
    (
        "/nowhere/a b/name",
        &[
            "/nowhere/a b/name",
            "/nowhere/a b/name/",
            "/nowhere/./a b/other/../name.git",
            "/nowhere/a b/name/.git",
            "file:///nowhere/a%20b/name.git",
            "file://localhost/nowhere/a b/name",
        ],
    ),
    ("/work/name", &["../name", "../name.git", "./../name", "../../work/name/"]),
    ("/work/tree/name", &["name", "./name.git", "/work/tree/name"]),
    ("/work/tree/a:b", &["./a:b"]),
];

#[test]
fn spellings_of_one_remote_have_one_form() {
    if cfg!(windows) {
        return; // Other paths are absolute there.
    }
    for (expected, spellings) in SAME {
        for spelling in *spellings {
            assert_eq!(form(spelling).as_deref(), Some(*expected), "{spelling}");
        }
    }
}

#[test]
fn no_credential_is_kept() {
    for (_, spellings) in SAME {
        for spelling in *spellings {
            let form = form(spelling).unwrap().to_lowercase();
            assert!(!form.contains("token"), "{spelling}: {form}");
        }
    }
}

#[test]
fn different_remotes_differ() {
    let pairs = [
        ("https://github.com/owner/name", "https://www.github.com/owner/name"),
        ("https://github.com/owner/name", "https://gitlab.com/owner/name"),
        ("https://github.com/owner/name", "https://github.com/Owner/name"),
        ("https://github.com/owner/name", "https://github.com/owner/Name"),
        ("https://github.com/owner/name", "https://github.com/owner/name.wiki"),
        ("https://github.com/owner/name", "https://github.com/owner/namegit"),
        ("https://github.com/owner/name", "https://github.com/owner/name.GIT"),
        ("https://github.com/owner/name", "https://github.com/owner/name/more"),
        ("https://github.com/owner/name", "https://github.com:8443/owner/name"),
        ("https://github.com:8443/owner/name", "https://github.com:8444/owner/name"),
        ("https://github.com:8443/name", "https://github.com/8443/name"),
        ("https://host/a%2Fb", "https://host/a/b"),
        ("https://host/a%3Fb", "https://host/a?b"),
        ("https://host/a%2541", "https://host/aA"),
        ("host:a%41", "ssh://host/a%41"),
        ("https://host/~user/name", "https://host/user/name"),
        ("https://[2001:db8::1]/name", "https://[2001:db8::2]/name"),
        ("https://host/@scope/name", "https://host/scope/name"),
        ("host:name", "./host:name"),
        ("host:/nowhere/name", "/nowhere/name"),
        ("C:/name", "c:name"),
        ("../name", "./name"),
        ("/nowhere/name", "/nowhere/Name"),
        ("https://host/name", "/host/name"),
    ];
    for (one, other) in pairs {
        assert!(form(one).is_some(), "{one}");
        assert!(form(other).is_some(), "{other}");
        assert_ne!(form(one), form(other), "{one} {other}");
    }
}

#[test]
fn what_nobody_can_fetch_from_is_no_remote() {
    let unreadable = [
        "",
        "  \n",
        "https://",
        "https:///owner/name",
        "https://user:TOKEN@/owner/name",
        "https://host:port/name",
        "https://host:65536/name",
        "https://host:TOKEN/name",
        "https://user:TOKEN/@host/name",
        "https://ho st/name",
        "https://host/%zz",
        "https://[::1/name",
        "ssh://host",
        "ssh://%0ahost/name",
        "ssh://ho%25st/name",
        "ssh://[fe80::1%25a:b]/name",
        "host:",
        "TOKEN@host",
        "ext::ssh -i TOKEN user@host %S name",
        "ext::ssh user@host:name",
        "fd::17",
        "fd::17:host",
        "hg::/nowhere/name",
        "gcrypt::",
    ];
    for url in unreadable {
        assert_eq!(form(url), None, "{url}");
    }
}

#[test]
fn existing_paths_are_canonical() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let tree = root.join("tree");
    for directory in ["tree/me@work/name", "bare.git", "other/.git"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let form = |url: &str| {
        let form = normal_form(url.as_bytes(), &tree).unwrap().to_string();
        form.strip_prefix(root.to_str().unwrap()).map(str::to_owned).unwrap_or(form)
    };
    for (url, expected) in [
        ("../bare.git", "/bare"),
        ("../bare", "/bare"),
        ("../bare/", "/bare"),
        ("../other", "/other"),
        ("../other/.git", "/other"),
        ("me@work/name", "/tree/me@work/name"),
    ] {
        assert_eq!(form(url), expected, "{url}");
    }
    let absolute = root.join("bare.git");
    assert_eq!(form(absolute.to_str().unwrap()), "/bare");
    assert_eq!(form(&format!("file://{}", absolute.display())), "/bare");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&absolute, root.join("link.git")).unwrap();
        assert_eq!(form("../link.git"), "/bare", "a link");
        assert_eq!(form("../link"), "/bare", "a link without its suffix");
    }
}

#[cfg(unix)]
#[test]
fn paths_need_not_be_unicode() {
    let base = Path::new("/work");
    assert_eq!(normal_form(b"/nowhere/\xff.git", base).unwrap(), b"/nowhere/\xff".as_slice());
    assert_ne!(normal_form(b"/nowhere/\xff", base), normal_form(b"/nowhere/\xfe", base));
    assert_eq!(normal_form(b"https://host/\xff", base), None);
    assert_eq!(normal_form(b"host:\xff", base), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_read(url in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = normal_form(&url, Path::new("/work/tree"));
    }

    #[test]
    fn any_pieces_are_read(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "https", "ssh", "git+", "file", "ext", "C", "::", "://", ":", "/", "//", "@", "[", "]", "\\", "?", "#",
                "%", "%40", "%2F", "%3a", ".git", "..", "host", "::1", "é", " ", "~", "22", "443", "TOKEN",
            ]),
            0..12,
        ),
    ) {
        let url = pieces.concat();
        let form = form(&url);
        // Normalisation is idempotent, except for local paths. Hosts are in lower case, so that `C:` is a drive.
        if let Some(form) = form && !form.starts_with('/') && !form.starts_with("C:") {
            let again = self::form(&format!("unknown://{form}"));
            prop_assert_eq!(again.as_ref(), Some(&form), "{}", url);
        }
    }

    #[test]
    fn forms_are_kept(
        protocol in prop::sample::select(vec!["https", "http", "ssh", "git", "git+ssh", "ftp"]),
        host in "[a-zA-Z][a-zA-Z0-9.-]{0,8}|\\[(2001:DB8::|::)[0-9a-f]{1,4}\\]",
        port in prop::option::of(1..=u16::MAX),
        path in "(/[a-zA-Z0-9%+@:;,.~ é-]{0,5}){0,4}(\\.git)?/?",
    ) {
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        if let Some(form) = form(&format!("{protocol}://{host}{port}{path}")) {
            // A trailing slash is ignored; some protocols require a path.
            prop_assert_eq!(self::form(&format!("{protocol}://{form}/")), Some(form));
        }
    }

    #[test]
    fn what_stands_before_an_at_sign_is_dropped(
        protocol in prop::sample::select(vec!["https://", "http://", "ssh://", "git://", "git+ssh://", "other://", "x::https://", ""]),
        // `/` would end the user information.
        before in "[a-z:%?#@\\[\\] é=&.+-]{0,6}",
        after in "[a-z:%?#@\\[ é=&.+-]{0,6}",
        rest in prop::sample::select(vec!["host/owner/name", "host:8443/owner/name", "host:owner/name", "[::1]/name", "host"]),
    ) {
        let url = format!("{protocol}{before}S3CRET{after}@{rest}");
        if let Some(form) = form(&url) {
            prop_assert!(!form.to_lowercase().contains("s3cret"), "{}: {}", url, form);
        }
    }
}
